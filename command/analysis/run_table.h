/**
 * @file run_table.h
 * A table with rows about runs, such as curves.csv, by the rows of runs.csv.
 */
#pragma once

#include <jansson.h>

#include "base/csv.h"

typedef struct dsgd_run_table {
    dsgd_csv csv;
    size_t *first, *n; /* [n_rows of runs.csv]: its first row, SIZE_MAX: none; how many it has */
    size_t *next; /* [csv.n_rows]: the next row about the same run; SIZE_MAX: none */
} dsgd_run_table;

/** Of FOLDER/@p name; @p error NULL: without that file it is empty. */
dsgd_status dsgd_run_table_open(dsgd_run_table *table, const dsgd_csv *runs, const char *folder,
                                const char *name, dsgd_error *error);

/** The first and the last number of a column in the rows about a run; NAN: there is none. */
void dsgd_run_table_ends(const dsgd_run_table *table, size_t row, const char *column, double *first,
                         double *last);

/** The configuration in manifest.json (NULL: there is none) of the run in a row of runs.csv; NULL:
 * it has none. */
const json_t *dsgd_run_of(const json_t *manifest, const dsgd_csv *runs, size_t row);

/** A member of a part of such a configuration; NULL: there is none. */
const json_t *dsgd_run_option(const json_t *run, const char *part, const char *key);

/** The unit of samples, such as images; "samples" where runs differ, or do not say it. */
const char *dsgd_sample_unit(const json_t *manifest, const dsgd_csv *runs);

/** A field of a table; "" where there is no such column. */
const char *dsgd_field_of(const dsgd_csv *csv, size_t row, const char *column);
