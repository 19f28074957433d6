/**
 * @file columns.h
 * The schema of results: every column of every file to which runs add rows. Headers, rows, `dsgd
 * describe results`, dsgd.json and the tables of the documentation are made from it. Every file
 * also has columns for swept values, which manifest.json lists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct dsgd_planned_run; /* command/experiment/experiment.h */
struct dsgd_run_result; /* sim/result.h */

/**
 * The statuses of runs in which the value of a column counts. Values of runs with status `failed`
 * or `timeout` never count.
 */
typedef enum dsgd_counts {
    /* ok and diverged: times, traffic and costs do not depend on the values that are trained */
    DSGD_COUNTS_TIMED,
    DSGD_COUNTS_LEARNED /* only ok: results of training */
} dsgd_counts;

/** The type of a cell, in a row in memory and in its file. */
typedef enum dsgd_cell_kind {
    DSGD_CELL_NUMBER, /* a double with all its digits; empty if it is NAN */
    DSGD_CELL_HUNDREDTHS, /* a double, with two decimals */
    DSGD_CELL_TEXT /* a const char * */
} dsgd_cell_kind;

typedef struct dsgd_column {
    const char *name;
    const char *unit; /* "s", "B", "samples/s", "J"; "1" for a share; NULL if there is none */
    dsgd_counts counts;
    dsgd_cell_kind cell;
    size_t offset; /* offset of the value in a row of its file */
    const char *meaning; /* NULL if the column shares the meaning of the one before it */
} dsgd_column;

/** A file of results, NAME.csv. */
typedef struct dsgd_results_file {
    const char *name;
    const char *rows; /* meaning of a row, such as "per run" */
    const dsgd_column *columns; /* columns after the key columns; the last has no name */
} dsgd_results_file;

/** The first columns of every file: run, algorithm, workers, seed. The last has no name. */
extern const dsgd_column dsgd_key_columns[];

/** All files, in the order of the sections of a part, and then NULL. */
extern const dsgd_results_file *const dsgd_results_files[];

/**
 * Returns a column of runs.csv, and its index from 0 in *place. NULL if there is none, or if it is
 * a swept column.
 */
const dsgd_column *dsgd_column_find(const char *name, size_t *place);

/**
 * Returns whether the value of a column counts in a run with this status. @p column is NULL for a
 * swept column, which counts as times do.
 */
bool dsgd_column_counts(const dsgd_column *column, const char *status);

/** Returns whether a run with this status has results: ok or diverged. */
bool dsgd_status_has_results(const char *status);

/* --- rows ------------------------------------------------------------------------------------- */

/** The cells of a run that are in every file. */
typedef struct dsgd_run_key {
    size_t run; /* number of the run, from 1 */
    const char *label; /* of the algorithm */
    int workers;
    uint64_t seed;
    const char *swept; /* its last cells, each after a comma */
} dsgd_run_key;

/**
 * Returns the last cells of a row, each after a comma: the swept values or columns texts[n], NULL
 * for an empty cell.
 */
const char *dsgd_swept_cells(const char *const *texts, size_t n);

/**
 * Writes the first line of a file. @p swept contains the names of the swept columns, each after a
 * comma.
 */
void dsgd_results_header(FILE *stream, const dsgd_results_file *file, const char *swept);

/** Writes the rows of a run into dsgd_results_files[k]. */
void dsgd_run_rows(FILE *stream, size_t k, const dsgd_run_key *key,
                   const struct dsgd_planned_run *run, const struct dsgd_run_result *result);

typedef enum dsgd_schema_form {
    DSGD_SCHEMA_TEXT,
    DSGD_SCHEMA_MARKDOWN, /* tables, as in the documentation */
    DSGD_SCHEMA_JSON /* dsgd.json, which dsgd.py reads */
} dsgd_schema_form;

/** Prints every file with its columns, units and meanings, for `dsgd describe results`. */
void dsgd_schema_print(dsgd_schema_form form);
