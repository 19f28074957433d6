/**
 * @file fit.h
 * Maximum-likelihood fits of distributions to measured step times, and the variance of step times
 * between workers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "traces/family.h"

/**
 * A fitted distribution. Its parameters are the parameters of the imbalance kind with the family's
 * name.
 */
typedef struct dsgd_fit {
    const dsgd_family *family;
    bool shifted; /* whether the shift is fitted, too */
    double mean_s, deviation_s; /* mean and standard deviation before the shift is added */
    double shift_s;
    double log_likelihood;
    double aic; /* Akaike's criterion: 2 * number of parameters - 2 * log_likelihood */
    double ks; /* Kolmogorov-Smirnov distance: max |empirical - fitted distribution function| */
} dsgd_fit;

enum { DSGD_FITS = 5 };

/**
 * Fits normal, lognormal, gamma, shifted lognormal and shifted gamma to @p n values. The values
 * must ascend, be above 0 and not be all equal; @p n must be at least 2. The fit with the smallest
 * AIC comes first. The fitted shift is a local maximum of the likelihood below the smallest value,
 * because the likelihood of the shifted lognormal is unbounded at the smallest value.
 */
void dsgd_fit_all(const double *sorted_s, size_t n, dsgd_fit fits[DSGD_FITS]);

/** Returns the quantile of a fit at probability @p p in (0, 1), in seconds. */
double dsgd_fit_quantile(const dsgd_fit *fit, double p);

/** Values grouped by worker. */
typedef struct dsgd_fit_groups {
    size_t n;
    double *worker, *mean, *count; /* rank, mean and number of values of each worker, in ascending
                                    * order of ranks; n entries */
    size_t *of; /* index of each value's group */
} dsgd_fit_groups;

/** Groups the values seconds[n] by the ranks worker[n], which can be in any order. */
dsgd_fit_groups dsgd_fit_group(const double *seconds, const double *worker, size_t n);

/** Result of a one-way analysis of variance over workers. */
typedef struct dsgd_variance_components {
    size_t n_workers;
    double persistent_s; /* standard deviation of the workers' means; at least 0 */
    double passing_s; /* standard deviation from step to step */
    double p_value; /* p-value of the F test: probability of this or a larger difference between
                     * equal workers */
} dsgd_variance_components;

/**
 * Analyses the values seconds[n] of the ranks worker[n], in any order. If there is only one worker,
 * or one value per worker, p_value is 1.
 */
dsgd_variance_components dsgd_fit_components(const double *seconds, const double *worker, size_t n);

/** Divides each value by the mean of its worker, and multiplies it by the mean of all values. */
void dsgd_fit_level(double *seconds, const double *worker, size_t n);
