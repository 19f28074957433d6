/**
 * @file summary.h
 * Means over seeds with their confidence intervals.
 */
#ifndef DSGD_COMMAND_ANALYSIS_SUMMARY_H
#define DSGD_COMMAND_ANALYSIS_SUMMARY_H

#include <stddef.h>

/**
 * Mean of x[n] and half width of its 95 % confidence interval (Student's t). NAN: the interval for
 * n < 2, the mean for n = 0.
 */
void dsgd_mean(const double *x, size_t n, double *mean, double *ci);

#endif
