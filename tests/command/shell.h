/**
 * @file shell.h
 * Runs the program in a shell, as users do, in a folder that belongs to the test. Every test has
 * make_folder() and remove_folder() as its fixture. Returned texts are kept until the test ends.
 */
#pragma once

#include "tests/support/support.h"

/** The folder of the test. */
extern char folder[];

/** The `learn` section of an experiment, for write_experiment(). */
extern const char learn[];

void make_folder(void);
void remove_folder(void);

/** Runs a shell command, stores its output in *output, and returns the exit status. */
int shell(const char *command, char **output);

/** Runs the program in the folder, stores its output in *output, and returns the exit status. */
int dsgd(const char *arguments, char **output);

/** Runs the program, checks its exit status, and returns its output. */
char *dsgd_ends(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Runs a shell command in the folder, checks its exit status, and returns its output. */
char *shell_ends(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

void write_file(const char *name, const char *content);
char *read_file(const char *name);

/** Returns the path of a file of measurements that can be next to the project. If it is missing,
 * returns NULL and reports it on stderr. */
const char *measurement(const char *name);

/** Returns a text with each run of white space replaced by one space, which undoes wrapping. */
char *unwrapped(const char *text);

/** Opens the platform of a platform file or an experiment in the folder. */
dsgd_platform read_platform(const char *name);

/** Writes e.yaml, an experiment of six runs of ten steps, followed by @p more. */
void write_experiment(const char *more);

/** Returns a table without its column wall_s. */
char *without_wall(const char *csv);

/** Returns the field of a CSV file in a column and in the row that starts with @p row. */
char *cell_of(const char *file, const char *row, const char *column);
/** Returns the number in such a field, 0 if it has none. */
double cell_number(const char *file, const char *row, const char *column);
