/**
 * @file shell.h
 * The program as its users run it: by a shell, in a folder of the test's own. Every test has
 * make_folder() and remove_folder() as its fixture. Texts that functions return are kept().
 */
#pragma once

#include "tests/support/support.h"

/** The folder of the test. */
extern char folder[];

/** An experiment's `learn:` entry, to be appended by write_experiment(). */
extern const char learn[];

void make_folder(void);
void remove_folder(void);

/** Runs a command of the shell; its output is in *output. Gives the exit status. */
int shell(const char *command, char **output);

/** Runs the program in the folder; its output is in *output. Gives the exit status. */
int dsgd(const char *arguments, char **output);

/** The output of the program with the arguments, which has to end with a status. */
char *dsgd_ends(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The same of a command of the shell, in the folder. */
char *shell_ends(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

void write_file(const char *name, const char *content);
char *read_file(const char *name);

/** The path of a file of the measurements that may be beside the project; NULL: it is not there,
 * which is reported on stderr. */
const char *measurement(const char *name);

/** A text with one space for each run of white space, as one that has been wrapped is read. */
char *unwrapped(const char *text);

/** The platform of a file in the folder, or of an experiment there. */
dsgd_platform read_platform(const char *name);

/** Writes e.yaml, an experiment of six runs of ten steps, followed by @p more. */
void write_experiment(const char *more);

/** The table without its column wall_s. */
char *without_wall(const char *csv);

/** The field of a CSV file in a column, and in the row that begins with @p row. */
char *cell_of(const char *file, const char *row, const char *column);
/** The number in that field; 0 if it has none. */
double cell_number(const char *file, const char *row, const char *column);
