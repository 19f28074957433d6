/**
 * @file fit.h
 * Maximum-likelihood fits of distributions to measured step times, and their variance between
 * workers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "traces/family.h"

/** A fitted distribution, with the parameters of the imbalance kind that has the family's name. */
typedef struct dsgd_fit {
    const dsgd_family *family;
    bool shifted; /* the shift is fitted, too */
    double mean_s, deviation_s; /* before the shift */
    double shift_s;
    double log_likelihood;
    double aic; /* Akaike's criterion: 2 * number of parameters - 2 * log_likelihood */
    double ks; /* Kolmogorov-Smirnov distance: max |empirical - fitted distribution function| */
} dsgd_fit;

enum { DSGD_FITS = 5 };

/**
 * Fits normal, lognormal, gamma, shifted lognormal and shifted gamma to @p n >= 2 ascending values
 * above 0 that are not all equal. The fit with the smallest AIC comes first. A shift is a local
 * maximum of the likelihood below the smallest value, because at that value the likelihood of the
 * shifted lognormal is unbounded.
 */
void dsgd_fit_all(const double *sorted_s, size_t n, dsgd_fit fits[DSGD_FITS]);

/** Returns quantile @p p in (0, 1) of a fit, in seconds. */
double dsgd_fit_quantile(const dsgd_fit *fit, double p);

/** Values grouped by worker. */
typedef struct dsgd_fit_groups {
    size_t n;
    double *worker, *mean, *count; /* [n] in ascending order of the rank */
    size_t *of; /* group of each value */
} dsgd_fit_groups;

/** Groups seconds[n] of worker[n], which can be in any order. */
dsgd_fit_groups dsgd_fit_group(const double *seconds, const double *worker, size_t n);

/** One-way analysis of variance over workers. */
typedef struct dsgd_variance_components {
    size_t n_workers;
    double
        persistent_s; /* standard deviation of the workers' means; 0 if its estimate is below 0 */
    double passing_s; /* standard deviation from step to step */
    double p_value; /* of the F test: probability of this difference or more for equal workers */
} dsgd_variance_components;

/** Analyses seconds[n] of worker[n], in any order. With one worker, or one value per worker,
 * p_value is 1. */
dsgd_variance_components dsgd_fit_components(const double *seconds, const double *worker, size_t n);

/** Divides each value by its worker's mean and multiplies it by the mean of all. */
void dsgd_fit_level(double *seconds, const double *worker, size_t n);
