/**
 * @file steps.h
 * Fits entries of an experiment's imbalance to measured step times.
 *
 * The entries are relative to the mean and have `scale`, so that they apply to the step time of any
 * workload. If the workload's step time is the mean, they reproduce the measured seconds.
 */
#pragma once

#include "base/csv.h"
#include "command/import/reader.h"
#include "traces/fit.h"

/** Measured step times, and the results of the fit. */
typedef struct dsgd_steps {
    const char *file, *column;
    size_t n;
    /* array of n step times in seconds; differences between workers are removed during the fit */
    double *seconds;
    double *worker, *step; /* arrays of n workers and n steps; NULL if the file does not contain
                            * them */
    bool is_whole; /* true if the times are of whole jobs, and not of single workers */
    /*
     * standard deviation of the part that all workers of a step have in common, as a share of the
     * mean
     */
    double common;
    double all_mean_s, deviation_s, min_s, max_s; /* mean, standard deviation, minimum and maximum
                                                   * as measured, in seconds */
    double mean_s; /* mean in seconds, without the extra time of outliers */
    dsgd_variance_components parts;
    bool persistent; /* true if workers differ by more than chance */
    const char *unit; /* unit of the column of step times */
    size_t n_outliers;
    double *outliers,
        /*
         * arrays of n_outliers slow or fast workers, and of their means as multiples of the median
         */
        *factors;
    /*
     * time of the removed first step as a multiple of the median; 0 if the first step is not
     * removed
     */
    double warm_up;
    bool can_replay; /* true if the file has the columns that imbalance of kind `replay` needs */
    dsgd_fit fits[DSGD_FITS];
} dsgd_steps;

/** Name of a column of computing times, which contain no waiting. */
#define DSGD_COMPUTING "computing"

/** Smallest number of values for a fit. */
enum { DSGD_LEAST_STEPS = 10 };

/**
 * Reads m->seconds, m->worker and m->step from a CSV file. m->column and m->unit select the column
 * of times; if they are NULL, the header selects it. Returns DSGD_EIO with file and line.
 */
dsgd_status dsgd_steps_read(const dsgd_csv *csv, dsgd_steps *m, dsgd_error *error);

/** Fits distributions to the step times. Returns DSGD_EIO if they cannot be fitted. */
dsgd_status dsgd_steps_fit(dsgd_steps *m, dsgd_error *error);

/** Prints the results of the fit, and a note if the best fit misses the tail. */
void dsgd_steps_print(const dsgd_steps *m);

/**
 * Returns lines of a YAML list, ending in a line break: the measured quantiles if @p as_measured is
 * true, else the best fit. Both contain entries for slow workers.
 */
char *dsgd_steps_entries(const dsgd_steps *m, bool as_measured);

/**
 * Prints the slow workers, and appends the fitted entries to the imbalance. Returns the mean
 * without the extra time of slow workers, or NAN if there are too few values.
 */
double dsgd_import_steps(dsgd_import *in, dsgd_steps *m);

/** Returns the name of a fitted distribution, such as "shifted gamma". */
const char *dsgd_steps_title(const dsgd_fit *fit);
