/**
 * @file program.h
 * The running program: its beginning and end, its folder, beside which its module and shipped files
 * are installed, and its clock.
 */
#pragma once

#include "base/status.h"

/** The folder of the executable; ".": unknown. */
char *dsgd_program_folder(void);

/**
 * For the beginning of main(): where standard input, output or error is closed, the next file that
 * is opened would take its place. Reading such an input gives nothing; writing such an output
 * fails. From now on jansson's values and texts are kept (dsgd_keep()): json_decref() and free()
 * need not be called, and free() may not.
 */
void dsgd_program_begin(void);

/** Before something on stderr: where both go to one place, no line of stdout is cut. */
void dsgd_program_flush(void);

/**
 * For the end of main(): prints the sentence of a failure, closes standard output, and gives the
 * exit status. Output that could not be written is a failure, and so is a file that is there and
 * could not be read, whatever was made of it.
 */
dsgd_status dsgd_program_end(const char *program, dsgd_status status, const dsgd_error *error);

/** Seconds of a monotonic wall clock. */
double dsgd_wall_s(void);

/** Memory of the machine. */
size_t dsgd_physical_bytes(void);
