/**
 * @file program.h The running program: its start and end, the folder of its executable (next to
 * which its module and shipped files are installed), and its clock.
 */
#pragma once

#include "base/status.h"

/** Returns the folder of the executable, or "." if it is unknown. */
char *dsgd_program_folder(void);

/**
 * Must be called at the start of main(). If standard input, output or error is closed, the next
 * file that is opened would take its place; this function prevents that. Reading such an input
 * gives nothing; writing such an output fails. From now on jansson's values and texts are kept
 * (dsgd_keep()): json_decref() and free() are not necessary for them, and free() is not allowed.
 */
void dsgd_program_begin(void);

/**
 * Must be called before output to stderr: if stdout and stderr go to the same place, no line of
 * stdout is split.
 */
void dsgd_program_flush(void);

/**
 * Must be called at the end of main(). Prints the sentence of a failure, closes standard output,
 * and returns the exit status. Output that could not be written is a failure. A file that exists
 * but could not be read is also one, even if the program continued without it.
 */
dsgd_status dsgd_program_end(const char *program, dsgd_status status, const dsgd_error *error);

/** Returns the seconds of a monotonic wall clock. */
double dsgd_wall_s(void);

/** Returns the bytes of memory of the machine. */
size_t dsgd_physical_bytes(void);
