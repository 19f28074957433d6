/**
 * @file program.h
 * Functions of the running program: its start and end, its clock, and the folder of its executable.
 * Its module and shipped files are installed next to that folder.
 */
#pragma once

#include "base/status.h"

/** Returns the folder of the executable, or "." if the folder is unknown. */
char *dsgd_program_folder(void);

/**
 * Must be called at the start of main(). If standard input, output or error is closed, the function
 * opens a substitute; otherwise the next file that is opened would take its place. Reading such an
 * input gives nothing, and writing such an output fails. From this call on, values and texts of
 * jansson are memory of dsgd_keep(). They need neither json_decref() nor free(), and free() is not
 * allowed.
 */
void dsgd_program_begin(void);

/**
 * Flushes stdout. Must be called before output to stderr, so that no line of stdout is split if
 * both streams go to the same place.
 */
void dsgd_program_flush(void);

/**
 * Must be called at the end of main(). Prints the error message of a failure, closes standard
 * output, and returns the exit status. Two more conditions count as failures: output could not be
 * written, or a file exists but could not be read. The second condition is a failure even if the
 * program continued without the file.
 */
dsgd_status dsgd_program_end(const char *program, dsgd_status status, const dsgd_error *error);

/** Returns the time of a monotonic wall clock, in seconds. */
double dsgd_wall_s(void);

/** Returns the size of the machine's memory in bytes. */
size_t dsgd_physical_bytes(void);
