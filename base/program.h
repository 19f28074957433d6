/**
 * @file program.h
 * Where the running program is: its module and its shipped files lie beside it, wherever it was installed.
 */
#ifndef DSGD_BASE_PROGRAM_H
#define DSGD_BASE_PROGRAM_H

/** The folder of the running program; the caller frees it. */
char *dsgd_program_folder(void);

#endif
