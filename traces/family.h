/**
 * @file family.h
 * Declares parametric families of distributions of step times. A family is given by mean and
 * standard deviation. Random numbers and fits use these families.
 */
#pragma once

/** The two parameters of a distribution in its family: location and scale. */
typedef struct dsgd_natural {
    double location; /* mean (normal), mean of the logarithm (lognormal), or shape (gamma) */
    double scale; /* deviation (normal), deviation of the logarithm (lognormal), or scale (gamma) */
} dsgd_natural;

/**
 * A family of distributions. Values are positive and the mean is above 0, except in the normal
 * family. `mean` and `deviation` have the unit of the values.
 */
typedef struct dsgd_family {
    const char *name; /* name of the family and of its imbalance kind */
    dsgd_natural (*natural)(double mean, double deviation);
    double (*cumulative)(double x, dsgd_natural of);
    double (*inverse)(double p, dsgd_natural of); /* returns the quantile at probability p, which
                                                   * must be in (0, 1) */
    double (*log_density)(double x, dsgd_natural of); /* returns the logarithm of the density at x;
                                                       * -INFINITY outside the support */
} dsgd_family;

extern const dsgd_family dsgd_family_normal, dsgd_family_lognormal, dsgd_family_gamma;
