/**
 * @file shell.h
 * Functions that run the program in a shell, as users do. Each test has its own folder, which the
 * fixture make_folder() creates and remove_folder() deletes. Returned texts are kept until the test
 * ends.
 */
#pragma once

#include "tests/support/support.h"

/** The path of the test's folder. */
extern char folder[];

/** The lines of the section `learn`, as an argument of write_experiment(). */
extern const char learn[];

void make_folder(void);
void remove_folder(void);

/** Runs a shell command, stores its output in *output, and returns the exit status. */
int shell(const char *command, char **output);

/**
 * Runs the program in the test's folder, stores its output in *output, and returns the exit status.
 */
int dsgd(const char *arguments, char **output);

/** Runs the program, checks that its exit status is @p status, and returns its output. */
char *dsgd_ends(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/**
 * Runs a shell command in the test's folder, checks that its exit status is @p status, and returns
 * its output.
 */
char *shell_ends(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

void write_file(const char *name, const char *content);
char *read_file(const char *name);

/**
 * Returns the path of a file of measurements, which is kept outside the project. If the file is
 * missing, reports it on stderr and returns NULL.
 */
const char *measurement(const char *name);

/**
 * Returns a copy of @p text in which one space replaces each run of white space, so that wrapped
 * lines are joined.
 */
char *unwrapped(const char *text);

/** Opens the platform in the file @p name, a platform or an experiment in the test's folder. */
dsgd_platform read_platform(const char *name);

/**
 * Writes e.yaml, an experiment of six runs of ten steps. @p more contains further lines for the
 * experiment.
 */
void write_experiment(const char *more);

/** Returns the table @p csv without its column wall_s. */
char *without_wall(const char *csv);

/**
 * Returns a field of a CSV file: in the column @p column, and in the row that starts with @p row.
 */
char *cell_of(const char *file, const char *row, const char *column);
/** Returns a field of a CSV file as a number, or 0 if the field contains no number. */
double cell_number(const char *file, const char *row, const char *column);
