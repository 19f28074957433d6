/**
 * @file family.h
 * The parametric families of step times, each by its mean and standard deviation: what draws from them and what fits them share.
 */
#ifndef DSGD_TRACES_FAMILY_H
#define DSGD_TRACES_FAMILY_H

#include <stdbool.h>

/** The parameters that a family has in textbooks. */
typedef struct dsgd_natural {
    double location; /* mean; mean of the logarithm; shape */
    double scale; /* standard deviation; of the logarithm; scale */
} dsgd_natural;

/** One family. `mean` and `deviation` are in the unit of the values; where `positive`, mean has to be above 0. */
typedef struct dsgd_family {
    const char *name; /* the kind of imbalance has it too */
    bool positive; /* its values are */
    dsgd_natural (*natural)(double mean, double deviation);
    double (*cumulative)(double x, dsgd_natural of);
    double (*inverse)(double p, dsgd_natural of); /* p in (0, 1) */
    double (*log_density)(double x, dsgd_natural of); /* -INFINITY outside of the support */
} dsgd_family;

extern const dsgd_family dsgd_family_normal, dsgd_family_lognormal, dsgd_family_gamma;

extern const dsgd_family *const dsgd_families[]; /* NULL-terminated */

#endif
