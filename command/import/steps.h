/**
 * @file steps.h
 * Fits imbalance entries of an experiment to measured step times.
 *
 * The entries are relative to the mean and have the option `scale`, so that they apply to the step
 * time of any workload. If the workload's step time is the mean, the entries reproduce the measured
 * seconds.
 */
#pragma once

#include "base/csv.h"
#include "command/import/reader.h"
#include "traces/fit.h"

/** Measured step times, and the results of the fit. */
typedef struct dsgd_steps {
    const char *file, *column;
    size_t n;
    /*
     * array of n step times in seconds; the fit removes differences between workers from these
     * times
     */
    double *seconds;
    double *worker, *step; /* array with the worker of each time, and array with the step of each
                            * time; NULL if the file lacks them */
    bool is_whole; /* true if each time is a step of the whole job instead of a single worker */
    /*
     * standard deviation of the part that all workers of a step have in common, as a share of the
     * mean
     */
    double common;
    double all_mean_s, deviation_s, min_s, max_s; /* mean, standard deviation, minimum and maximum
                                                   * of the measured times, in seconds */
    double mean_s; /* mean step time in seconds, without the extra time of outliers */
    dsgd_variance_components parts;
    bool persistent; /* true if the differences between workers are larger than chance allows */
    const char *unit; /* unit of the column of step times */
    size_t n_outliers;
    double *outliers,
        /*
         * arrays of n_outliers: rank of a slow or fast worker, and its mean as a multiple of the
         * median
         */
        *factors;
    /* time of the removed first step, as a multiple of the median; 0 if the first step is kept */
    double warm_up;
    bool can_replay; /* true if the file has all columns that the imbalance kind `replay` needs */
    dsgd_fit fits[DSGD_FITS];
} dsgd_steps;

/** name of a column with computing times, which contain no waiting */
#define DSGD_COMPUTING "computing"

/** smallest number of values from which distributions are fitted */
enum { DSGD_LEAST_STEPS = 10 };

/**
 * Reads m->seconds, m->worker and m->step from a CSV file. m->column and m->unit select the column
 * of times and its unit. If they are NULL, the header of the file determines them. Returns DSGD_EIO
 * with file and line if the file is invalid.
 */
dsgd_status dsgd_steps_read(const dsgd_csv *csv, dsgd_steps *m, dsgd_error *error);

/** Fits distributions to the step times. Returns DSGD_EIO if the fit is not possible. */
dsgd_status dsgd_steps_fit(dsgd_steps *m, dsgd_error *error);

/**
 * Prints the results of the fit. Also prints a note if the best fit differs from the measured tail.
 */
void dsgd_steps_print(const dsgd_steps *m);

/**
 * Returns the lines of a YAML list, with a line break at the end. If @p as_measured is true, the
 * list contains the measured quantiles; otherwise, it contains the best fit. Both lists also
 * contain entries for slow workers.
 */
char *dsgd_steps_entries(const dsgd_steps *m, bool as_measured);

/**
 * Prints the slow workers. Appends the fitted entries to the imbalance of the experiment. Returns
 * the mean step time without the extra time of slow workers. Returns NAN if there are too few
 * values.
 */
double dsgd_import_steps(dsgd_import *in, dsgd_steps *m);

/** Returns the name of a fitted distribution, such as "shifted gamma". */
const char *dsgd_steps_title(const dsgd_fit *fit);
