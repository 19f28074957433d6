/**
 * @file family.h
 * The parametric families of step times, each by its mean and standard deviation, for draws and for
 * fits.
 */
#pragma once

/** The usual parameters of a family. */
typedef struct dsgd_natural {
    double location; /* normal: mean; lognormal: mean of ln; gamma: shape */
    double scale; /* normal: deviation; lognormal: deviation of ln; gamma: scale */
} dsgd_natural;

/** One family; the values of all but normal are positive, with a mean > 0. `mean` and `deviation`
 * are in the unit of the values. */
typedef struct dsgd_family {
    const char *name; /* also of the kind of imbalance */
    dsgd_natural (*natural)(double mean, double deviation);
    double (*cumulative)(double x, dsgd_natural of);
    double (*inverse)(double p, dsgd_natural of); /* p in (0, 1) */
    double (*log_density)(double x, dsgd_natural of); /* -INFINITY outside of the support */
} dsgd_family;

extern const dsgd_family dsgd_family_normal, dsgd_family_lognormal, dsgd_family_gamma;
