/**
 * @file program.h
 * The running program: its folder, beside which its module and shipped files are installed, and its
 * clock.
 */
#ifndef DSGD_BASE_PROGRAM_H
#define DSGD_BASE_PROGRAM_H

/** The folder of the executable; the caller frees it. */
char *dsgd_program_folder(void);

/** Seconds of a monotonic wall clock. */
double dsgd_wall_s(void);

#endif
