/**
 * @file summary.c
 * Student's t.
 */
#include "command/analysis/summary.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

void dsgd_mean(const double *x, size_t n, double *mean, double *ci)
{
    *mean = n < 1 ? NAN : gsl_stats_mean(x, 1, n);
    *ci = n < 2 ? NAN
                : gsl_cdf_tdist_Pinv(0.975, (double)(n - 1)) * gsl_stats_sd(x, 1, n) /
                      sqrt((double)n);
}
