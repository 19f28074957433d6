/**
 * @file run_table.h
 * Tables whose rows belong to runs, such as curves.csv, indexed by the rows of runs.csv.
 */
#pragma once

#include <jansson.h>

#include "base/csv.h"

/** Reads runs.csv of a results folder. Returns DSGD_EIO with the command that makes one if it is
 * missing. */
dsgd_status dsgd_runs_read(dsgd_csv *runs, const char *folder, dsgd_error *error);

typedef struct dsgd_run_table {
    dsgd_csv csv;
    size_t *first; /* [n_rows of runs.csv]: first row of the run in csv; SIZE_MAX if it has none */
    size_t *n; /* [n_rows of runs.csv]: number of rows of the run */
    size_t *next; /* [csv.n_rows]: next row of the same run; SIZE_MAX after the last */
} dsgd_run_table;

/** Reads FOLDER/@p name. If @p error is NULL, a missing file gives an empty table. */
dsgd_status dsgd_run_table_open(dsgd_run_table *table, const dsgd_csv *runs, const char *folder,
                                const char *name, dsgd_error *error);

/** Finds the first and the last number of a column in the rows of a run; NAN if none exists. */
void dsgd_run_table_ends(const dsgd_run_table *table, size_t row, const char *column, double *first,
                         double *last);

/**
 * Returns the configuration, in manifest.json, of the run in a row of runs.csv; NULL if it has none
 * or @p manifest is NULL.
 */
const json_t *dsgd_run_of(const json_t *manifest, const dsgd_csv *runs, size_t row);

/** Returns a member of a part of such a configuration, or NULL. */
const json_t *dsgd_run_option(const json_t *run, const char *part, const char *key);

/** Returns the unit of samples, such as images; "samples" if it is unknown or runs differ in it. */
const char *dsgd_sample_unit(const json_t *manifest, const dsgd_csv *runs);

/** Returns a field of a table, "" if there is no such column. */
const char *dsgd_field_of(const dsgd_csv *csv, size_t row, const char *column);
