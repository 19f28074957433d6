/**
 * @file steps.h
 * Measured step times, and entries of an experiment's imbalance that are fitted to them.
 *
 * Entries are relative to the mean and scale: they shape any workload's step, and give the measured
 * seconds back where the workload's step is the mean.
 */
#pragma once

#include "base/csv.h"
#include "command/import/reader.h"
#include "traces/fit.h"

/** What was measured, and what became of it. */
typedef struct dsgd_steps {
    const char *file, *column;
    size_t n;
    double *seconds; /* [n]; from step to step alone, once the workers' own part is taken out */
    double *worker, *step; /* [n], NULL where the file does not say */
    double common; /* standard deviation of what all workers of a step have in common, as a share of
                      the mean */
    double all_mean_s, deviation_s, min_s, max_s; /* as measured */
    double mean_s; /* without what outliers take longer */
    dsgd_variance_components parts;
    bool persistent; /* there is such a part */
    const char *unit; /* of the column */
    size_t n_outliers;
    double *outliers,
        *factors; /* [n_outliers] workers, and their means as multiples of the median */
    double warm_up; /* the first step, taken out, as a multiple of the median; 0: it is like the
                       others */
    bool can_replay; /* the file has the columns for it */
    dsgd_fit fits[DSGD_FITS];
} dsgd_steps;

/** The column of what is known to have no waiting in it. */
#define DSGD_COMPUTING "computing"

/** Fewer values are not fitted. */
enum { DSGD_LEAST_STEPS = 10 };

/**
 * Fills m->seconds and m->worker from a CSV file; m->column and m->unit say which column it is,
 * NULL: by the header. DSGD_EIO with file and line.
 */
dsgd_status dsgd_steps_read(const dsgd_csv *csv, dsgd_steps *m, dsgd_error *error);

/** Fits, to what dsgd_steps_read() or another filled. DSGD_EIO where there is nothing to fit. */
dsgd_status dsgd_steps_fit(dsgd_steps *m, dsgd_error *error);

/** Prints what was found, and where the best fit misses the tail. */
void dsgd_steps_print(const dsgd_steps *m);

/** Lines of a list: the best fit, or the quantiles as measured; both with slow workers. Ends in a
 * line break. */
char *dsgd_steps_entries(const dsgd_steps *m, bool as_measured);

/** Prints who is slow, and appends the entries to the imbalance; the mean without slow workers,
 * NAN: too few values. */
double dsgd_import_steps(dsgd_import *in, dsgd_steps *m);

/** "shifted gamma" */
const char *dsgd_steps_title(const dsgd_fit *fit);
