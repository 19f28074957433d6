/**
 * @file columns.h
 * The schema of results: each column of each file that runs add rows to. Headers, rows, `dsgd
 * describe results`, columns.json and the tables of the manual are made of it. Columns of swept
 * values follow in every file; manifest.json lists them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct dsgd_planned_run; /* command/experiment/experiment.h */
struct dsgd_run_result; /* sim/result.h */

/** Which statuses of a run a column's value counts for. What `failed` or `timeout` left counts
 * nowhere. */
typedef enum dsgd_counts {
    DSGD_COUNTS_TIMED, /* ok and diverged: times, traffic and costs never wait for numbers */
    DSGD_COUNTS_LEARNED /* ok alone: what was learned */
} dsgd_counts;

/** What a cell is, in a row in memory and in its file. */
typedef enum dsgd_cell_kind {
    DSGD_CELL_NUMBER, /* a double, with all its digits; empty where it is NAN */
    DSGD_CELL_HUNDREDTHS, /* a double, with two decimals */
    DSGD_CELL_TEXT /* a const char * */
} dsgd_cell_kind;

typedef struct dsgd_column {
    const char *name;
    const char *unit; /* "s", "B", "samples/s", "J", "1" of a share; NULL: none */
    dsgd_counts counts;
    dsgd_cell_kind cell;
    size_t offset; /* in a row of its file */
    const char *meaning; /* NULL: it goes with the column before */
} dsgd_column;

/** A file of results, NAME.csv. */
typedef struct dsgd_results_file {
    const char *name;
    const char *rows; /* what a row is: "per run" */
    const dsgd_column *columns; /* behind the key's; the last has no name */
} dsgd_results_file;

/** The first columns in every file: run, algorithm, workers, seed; the last has no name. */
extern const dsgd_column dsgd_key_columns[];

/** All files, in the order of a part's sections; NULL behind the last. */
extern const dsgd_results_file *const dsgd_results_files[];

/** A column of runs.csv, and its place in a line from 0; NULL: there is none, or it is swept. */
const dsgd_column *dsgd_column_find(const char *name, size_t *place);

/** Whether a column's value counts in a run of that status; NULL, a swept column, as times do. */
bool dsgd_column_counts(const dsgd_column *column, const char *status);

/** Whether a run of that status has results: ok or diverged. */
bool dsgd_status_has_results(const char *status);

/* --- rows ------------------------------------------------------------------------------------- */

/** The cells that a run has in every file. */
typedef struct dsgd_run_key {
    size_t run; /* from 1 */
    const char *label; /* of the algorithm */
    int workers;
    uint64_t seed;
    const char *swept; /* its last cells, each behind a comma */
} dsgd_run_key;

/**
 * The last cells of a row, each behind a comma: the swept values or columns texts[n], NULL for an
 * empty one.
 */
const char *dsgd_swept_cells(const char *const *texts, size_t n);

/** The first line of a file. @p swept: names of the swept columns, each behind a comma. */
void dsgd_results_header(FILE *stream, const dsgd_results_file *file, const char *swept);

/** Writes the rows of a run into dsgd_results_files[k]. */
void dsgd_run_rows(FILE *stream, size_t k, const dsgd_run_key *key,
                   const struct dsgd_planned_run *run, const struct dsgd_run_result *result);

typedef enum dsgd_schema_form {
    DSGD_SCHEMA_TEXT,
    DSGD_SCHEMA_MARKDOWN, /* tables, as in the manual */
    DSGD_SCHEMA_JSON /* dsgd.json, which dsgd.py reads */
} dsgd_schema_form;

/** `dsgd describe results`: prints every file with its columns, units and meanings. */
void dsgd_schema_print(dsgd_schema_form form);
