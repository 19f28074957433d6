/**
 * @file columns.h
 * Defines the schema of results, which contains all columns of all results files. The headers, the
 * rows, `dsgd describe results`, dsgd.json and the tables of the documentation are made from this
 * schema. Every file also has columns for swept values, which manifest.json lists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct dsgd_planned_run; /* type that command/experiment/experiment.h defines */
struct dsgd_run_result; /* type that sim/result.h defines */

/**
 * Statuses of runs for which the value of a column counts. The values of runs with status `failed`
 * or `timeout` never count.
 */
typedef enum dsgd_counts {
    /*
     * The value counts for status ok and diverged. Times, traffic and costs do not depend on
     * trained values.
     */
    DSGD_COUNTS_TIMED,
    /* The value counts only for status ok, because it is a result of training. */
    DSGD_COUNTS_LEARNED
} dsgd_counts;

/** Type of a cell, in memory and in the file. */
typedef enum dsgd_cell_kind {
    DSGD_CELL_NUMBER, /* a double, printed with all its digits; empty if it is NAN */
    DSGD_CELL_HUNDREDTHS, /* a double, printed with two decimals */
    /* a const char *, printed as text */
    DSGD_CELL_TEXT
} dsgd_cell_kind;

typedef struct dsgd_column {
    const char *name;
    const char *unit; /* unit such as "s", "B", "samples/s" or "J"; "1" for a share; NULL if the
                       * column has no unit */
    dsgd_counts counts;
    dsgd_cell_kind cell;
    size_t offset; /* offset of the value in the struct of a row, in bytes */
    const char *meaning; /* meaning of the column; NULL if the column has the same meaning as the
                          * previous column */
} dsgd_column;

/** A results file with the name NAME.csv. */
typedef struct dsgd_results_file {
    const char *name;
    const char *rows; /* text that explains what a row is, such as "per run" */
    const dsgd_column *columns; /* array of the columns after the key columns; a column without a
                                 * name ends the array */
} dsgd_results_file;

/**
 * First columns of every results file: run, algorithm, workers, seed. A column without a name ends
 * the array.
 */
extern const dsgd_column dsgd_key_columns[];

/** All results files, in the order of a part's sections. NULL ends the array. */
extern const dsgd_results_file *const dsgd_results_files[];

/**
 * Finds a column of runs.csv. Returns the column and stores its index in *place. Returns NULL if
 * the column does not exist or is a swept column.
 */
const dsgd_column *dsgd_column_find(const char *name, size_t *place);

/**
 * Returns true if the value of a column counts in a run with this status. @p column is NULL for a
 * swept column, which counts like a column of times.
 */
bool dsgd_column_counts(const dsgd_column *column, const char *status);

/** Returns true if a run with this status has results. Such a run is ok or diverged. */
bool dsgd_status_has_results(const char *status);

/* --- rows ------------------------------------------------------------------------------------- */

/** The cells that identify a run in every results file. */
typedef struct dsgd_run_key {
    size_t run; /* number of the run, from 1 */
    const char *label; /* label of the algorithm in the results */
    int workers;
    uint64_t seed;
    const char *swept; /* swept values with a comma before each value; they are the last cells of
                        * the row */
} dsgd_run_key;

/**
 * Returns the swept cells of a row, with a comma before each cell. texts[n] contains values or
 * column names. NULL gives an empty cell.
 */
const char *dsgd_swept_cells(const char *const *texts, size_t n);

/**
 * Writes the header line of a results file. @p swept contains the names of the swept columns, with
 * a comma before each name.
 */
void dsgd_results_header(FILE *stream, const dsgd_results_file *file, const char *swept);

/** Writes the rows of a run for the results file dsgd_results_files[k]. */
void dsgd_run_rows(FILE *stream, size_t k, const dsgd_run_key *key,
                   const struct dsgd_planned_run *run, const struct dsgd_run_result *result);

typedef enum dsgd_schema_form {
    DSGD_SCHEMA_TEXT,
    DSGD_SCHEMA_MARKDOWN, /* Markdown tables for the documentation */
    /* the file dsgd.json, which dsgd.py reads */
    DSGD_SCHEMA_JSON
} dsgd_schema_form;

/** Prints all results files with their columns, units and meanings, for `dsgd describe results`. */
void dsgd_schema_print(dsgd_schema_form form);
