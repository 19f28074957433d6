/**
 * @file steps.h
 * Fits entries of an experiment's imbalance to measured step times.
 *
 * Entries are relative to the mean and have `scale`: they shape the step of any workload, and give
 * the measured seconds if the step of the workload is the mean.
 */
#pragma once

#include "base/csv.h"
#include "command/import/reader.h"
#include "traces/fit.h"

/** The measured values, and the results of the fit. */
typedef struct dsgd_steps {
    const char *file, *column;
    size_t n;
    /* [n] values; without the differences between workers after these were removed */
    double *seconds;
    double *worker, *step; /* [n] NULL if the file does not contain them */
    bool is_whole; /* steps of a whole job, not of single workers */
    /*
     * standard deviation of the part that all workers of a step have in common, as a share of the
     * mean
     */
    double common;
    double all_mean_s, deviation_s, min_s, max_s; /* as measured */
    double mean_s; /* mean without the extra time of outliers */
    dsgd_variance_components parts;
    bool persistent; /* workers differ by more than chance */
    const char *unit; /* unit of the column */
    size_t n_outliers;
    double *outliers,
        /* [n_outliers] slow or fast workers, and their means as multiples of the median */
        *factors;
    /* the removed first step as a multiple of the median; 0 if it is like the others */
    double warm_up;
    bool can_replay; /* the file has the columns that `replay` needs */
    dsgd_fit fits[DSGD_FITS];
} dsgd_steps;

/** Name of a column of times that contain no waiting. */
#define DSGD_COMPUTING "computing"

/** Least number of values for a fit. */
enum { DSGD_LEAST_STEPS = 10 };

/**
 * Reads m->seconds and m->worker from a CSV file. m->column and m->unit name the column, or are
 * NULL to use the header. Returns DSGD_EIO with file and line.
 */
dsgd_status dsgd_steps_read(const dsgd_csv *csv, dsgd_steps *m, dsgd_error *error);

/** Fits distributions to the values. Returns DSGD_EIO if they cannot be fitted. */
dsgd_status dsgd_steps_fit(dsgd_steps *m, dsgd_error *error);

/** Prints the results, and whether the best fit misses the tail. */
void dsgd_steps_print(const dsgd_steps *m);

/**
 * Returns lines of a YAML list: the best fit, or the quantiles as measured, both with slow workers.
 * The text ends in a line break.
 */
char *dsgd_steps_entries(const dsgd_steps *m, bool as_measured);

/**
 * Prints which workers are slow, and appends the entries to the imbalance. Returns the mean without
 * slow workers; NAN if there are too few values.
 */
double dsgd_import_steps(dsgd_import *in, dsgd_steps *m);

/** Returns a name such as "shifted gamma". */
const char *dsgd_steps_title(const dsgd_fit *fit);
