/**
 * @file run_table.h
 * Reads tables whose rows belong to runs, such as curves.csv, and indexes them by the rows of
 * runs.csv.
 */
#pragma once

#include <jansson.h>

#include "base/csv.h"

/**
 * Reads the table runs.csv of a results folder. If the file is missing, returns DSGD_EIO. The error
 * message contains the command that makes the file.
 */
dsgd_status dsgd_runs_read(dsgd_csv *runs, const char *folder, dsgd_error *error);

typedef struct dsgd_run_table {
    dsgd_csv csv;
    size_t *first; /* array [n_rows of runs.csv]: first row of each run in csv; SIZE_MAX if csv
                    * contains no row of the run */
    size_t *n; /* array [n_rows of runs.csv]: number of rows of each run */
    /* array [csv.n_rows]: next row of the same run; SIZE_MAX at the run's last row */
    size_t *next;
} dsgd_run_table;

/**
 * Reads the table FOLDER/@p name. If @p error is NULL and the file is missing, the table is empty.
 */
dsgd_status dsgd_run_table_open(dsgd_run_table *table, const dsgd_csv *runs, const char *folder,
                                const char *name, dsgd_error *error);

/**
 * Finds the first and the last number that a run has in a column. Sets both to NAN if the run has
 * no numbers.
 */
void dsgd_run_table_ends(const dsgd_run_table *table, size_t row, const char *column, double *first,
                         double *last);

/**
 * Returns the configuration of the run in a row of runs.csv, from manifest.json. Returns NULL if
 * the manifest lacks the run or if @p manifest is NULL.
 */
const json_t *dsgd_run_of(const json_t *manifest, const dsgd_csv *runs, size_t row);

/**
 * Returns the value of a key in a part of a run's configuration. Returns NULL if the key does not
 * exist.
 */
const json_t *dsgd_run_option(const json_t *run, const char *part, const char *key);

/**
 * Returns the unit of samples, such as "images". Returns "samples" if the unit is unknown or
 * differs between runs.
 */
const char *dsgd_sample_unit(const json_t *manifest, const dsgd_csv *runs);

/** Returns a field of a table, or "" if the table lacks the column. */
const char *dsgd_field_of(const dsgd_csv *csv, size_t row, const char *column);
