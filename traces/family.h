/**
 * @file family.h
 * Parametric families of step times, given by mean and standard deviation, for random numbers and
 * for fits.
 */
#pragma once

/** The parameters of a family of distributions: location and scale. */
typedef struct dsgd_natural {
    double location; /* mean (normal), mean of ln (lognormal), or shape (gamma) */
    double scale; /* deviation (normal), deviation of ln (lognormal), or scale (gamma) */
} dsgd_natural;

/**
 * A family of distributions. Except for normal, values are positive and the mean is above 0. `mean`
 * and `deviation` have the unit of the values.
 */
typedef struct dsgd_family {
    const char *name; /* name of the family and of its imbalance kind */
    dsgd_natural (*natural)(double mean, double deviation);
    double (*cumulative)(double x, dsgd_natural of);
    double (*inverse)(double p, dsgd_natural of); /* p must be in (0, 1) */
    double (*log_density)(double x, dsgd_natural of); /* -INFINITY outside the support */
} dsgd_family;

extern const dsgd_family dsgd_family_normal, dsgd_family_lognormal, dsgd_family_gamma;
