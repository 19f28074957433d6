/**
 * @file step_times.h
 * Finds and reads the columns of a CSV file with measured step times.
 */
#pragma once

#include "base/csv.h"
#include "base/unit.h"

/**
 * Columns of a CSV file with step times. The column of times always exists. worker and step are
 * csv->n_columns if these columns are absent or would be the column of times.
 */
typedef struct dsgd_step_times {
    size_t time, worker, step;
    const dsgd_suffix *unit; /* unit of the times */
    bool is_named; /* true if the column of times is called seconds or its name ends in a unit */
    /*
     * Values of the columns, with n_rows entries each. dsgd_step_times_read() sets them. NULL if
     * the file has no such column.
     */
    double *seconds, *workers, *steps;
} dsgd_step_times;

/**
 * Finds the columns of a file. If @p column is NULL, the column of times is `seconds`, the only
 * column, or the only column whose name ends in a unit, such as step_time_ms. If @p unit is NULL,
 * the name of the column contains the unit, or the unit is seconds. The column of ranks is called
 * worker or rank. Returns DSGD_EIO if the column of times cannot be determined.
 */
dsgd_status dsgd_step_times_find(const dsgd_csv *csv, const char *column, const char *unit,
                                 dsgd_step_times *out, dsgd_error *error);

/**
 * Finds the columns of a file and reads their values. Times must be at least @p least_s. If a value
 * is invalid, returns DSGD_EIO, with file and line.
 */
dsgd_status dsgd_step_times_read(const dsgd_csv *csv, const char *column, const char *unit,
                                 double least_s, dsgd_step_times *out, dsgd_error *error);
