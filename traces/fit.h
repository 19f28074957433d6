/**
 * @file fit.h
 * Distributions fitted to measured step times by maximum likelihood, and what of their variance belongs to the worker.
 */
#ifndef DSGD_TRACES_FIT_H
#define DSGD_TRACES_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "traces/family.h"

/** One fitted distribution, in the terms of the kind of imbalance that has the family's name. */
typedef struct dsgd_fit {
    const dsgd_family *family;
    bool shifted; /* the shift was fitted too */
    double mean_s, deviation_s; /* before the shift */
    double shift_s;
    double log_likelihood;
    double aic; /* Akaike's criterion, 2 parameters - 2 log_likelihood: the less the better */
    double
        ks; /* Kolmogorov and Smirnov's distance, the largest between the two distribution functions */
} dsgd_fit;

enum { DSGD_FITS = 5 };

/**
 * Fits normal, lognormal, gamma, and the last two shifted, to @p n >= 2 values in rising order, all above 0 and not all the same. The
 * least AIC comes first. A shift lies below the least value, at a local maximum of the likelihood: at the value itself the likelihood
 * of the shifted lognormal has no bound.
 */
void dsgd_fit_all(const double *sorted_s, size_t n, dsgd_fit fits[DSGD_FITS]);

/** The fitted value that a share @p p in (0, 1) of all lies below. */
double dsgd_fit_quantile(const dsgd_fit *fit, double p);

/** One-way analysis of variance over workers. */
typedef struct dsgd_variance_components {
    size_t n_workers;
    double
        persistent_s; /* standard deviation of the workers' own means; 0 where the sample has none to show */
    double passing_s; /* standard deviation from step to step */
    double p_value; /* of F: how often workers that are alike would differ as much or more */
} dsgd_variance_components;

/** Of @p n values, of worker[i] each, in any order and any number of each. p_value is 1 where there is but one worker, or one value of each. */
dsgd_variance_components dsgd_fit_components(const double *seconds, const double *worker, size_t n);

/** Divides each value by its worker's mean and multiplies it by the mean of all. */
void dsgd_fit_level(double *seconds, const double *worker, size_t n);

#endif
