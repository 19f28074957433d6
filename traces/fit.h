/**
 * @file fit.h
 * Declares maximum-likelihood fits of distributions to measured step times, and an analysis of the
 * variance of step times between workers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "traces/family.h"

/**
 * A fitted distribution. Its parameters are the parameters of the imbalance kind with the same
 * name.
 */
typedef struct dsgd_fit {
    const dsgd_family *family;
    bool shifted; /* true if a shift is fitted in addition to mean and deviation */
    double mean_s, deviation_s; /* mean and standard deviation of the distribution before the shift
                                 * is added, in seconds */
    double shift_s;
    double log_likelihood;
    double aic; /* Akaike's criterion: 2 * number of parameters - 2 * log_likelihood */
    double ks; /* Kolmogorov-Smirnov distance: max |empirical - fitted distribution function| */
} dsgd_fit;

enum { DSGD_FITS = 5 };

/**
 * Fits normal, lognormal, gamma, shifted lognormal and shifted gamma distributions to @p n values.
 * The values must ascend and be above 0. There must be at least two values, and they must not all
 * be equal. The fit with the smallest AIC comes first. The fitted shift is a local maximum of the
 * likelihood below the smallest value, because the likelihood of the shifted lognormal is unbounded
 * at the smallest value.
 */
void dsgd_fit_all(const double *sorted_s, size_t n, dsgd_fit fits[DSGD_FITS]);

/** Returns the quantile of a fit at probability @p p in (0, 1), in seconds. */
double dsgd_fit_quantile(const dsgd_fit *fit, double p);

/** Values grouped by worker. */
typedef struct dsgd_fit_groups {
    size_t n;
    double *worker, *mean, *count; /* rank, mean and number of values of each worker, in ascending
                                    * order of ranks; n entries each */
    size_t *of; /* index of the group to which each value belongs */
} dsgd_fit_groups;

/**
 * Groups values by worker. Value i, seconds[i], belongs to rank worker[i]. The ranks can be in any
 * order.
 */
dsgd_fit_groups dsgd_fit_group(const double *seconds, const double *worker, size_t n);

/** Result of a one-way analysis of variance over workers. */
typedef struct dsgd_variance_components {
    size_t n_workers;
    double persistent_s; /* standard deviation of the means of the workers; at least 0 */
    double passing_s; /* standard deviation of a worker's values from step to step */
    double p_value; /* p-value of the F test: probability of at least this difference if all workers
                     * are equal */
} dsgd_variance_components;

/**
 * Analyses the variance of values over workers. Value i, seconds[i], belongs to rank worker[i]. The
 * ranks can be in any order. If there is only one worker, or only one value per worker, p_value is
 * 1.
 */
dsgd_variance_components dsgd_fit_components(const double *seconds, const double *worker, size_t n);

/**
 * Divides each value by the mean of its worker and multiplies the result by the mean of all values.
 */
void dsgd_fit_level(double *seconds, const double *worker, size_t n);
