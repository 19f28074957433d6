/**
 * @file step_times.h
 * Which columns of a CSV file hold step times as they were measured, for whoever reads some.
 */
#pragma once

#include "base/csv.h"
#include "base/unit.h"

/** Columns; that of the times is always there, others are csv->n_columns where they are not, or the
 * same. */
typedef struct dsgd_step_times {
    size_t time, worker, step;
    const dsgd_suffix *unit; /* of the times */
    bool is_named; /* their column is called seconds, or after a unit */
    double *seconds, *workers,
        *steps; /* [n_rows] of dsgd_step_times_read(); NULL: no such column */
} dsgd_step_times;

/**
 * The times are in column @p column, or NULL: in `seconds`, the only column, or the only one called
 * after a unit, such as step_time_ms; in the unit @p unit, or NULL: of their name, or seconds.
 * Workers are called worker or rank. DSGD_EIO where no column is the one.
 */
dsgd_status dsgd_step_times_find(const dsgd_csv *csv, const char *column, const char *unit,
                                 dsgd_step_times *out, dsgd_error *error);

/** Finds them, and reads them; times from @p least_s on. DSGD_EIO with file and line. */
dsgd_status dsgd_step_times_read(const dsgd_csv *csv, const char *column, const char *unit,
                                 double least_s, dsgd_step_times *out, dsgd_error *error);
