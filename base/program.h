/**
 * @file program.h
 * The running program: where it is, because its module and its shipped files lie beside it wherever it was installed; and its clock.
 */
#ifndef DSGD_BASE_PROGRAM_H
#define DSGD_BASE_PROGRAM_H

/** The folder of the running program; the caller frees it. */
char *dsgd_program_folder(void);

/** Seconds of wall time from some instant on. */
double dsgd_wall_s(void);

#endif
