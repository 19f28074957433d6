/**
 * @file round.h
 * Rounding of products and quotients of decimal fractions: dsgd_ceil(0.07 * 100) is 7, where ceil()
 * gives 8.
 */
#ifndef DSGD_BASE_ROUND_H
#define DSGD_BASE_ROUND_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

/** Whether a number is whole, up to the rounding of a few operations. */
static inline bool dsgd_is_whole(double x)
{
    return fabs(x - round(x)) <= 4 * DBL_EPSILON * fabs(x);
}

/** The least whole number that is not below @p x, up to rounding. */
static inline double dsgd_ceil(double x)
{
    return dsgd_is_whole(x) ? round(x) : ceil(x);
}

/** The largest whole number that is not above @p x, up to rounding. */
static inline double dsgd_floor(double x)
{
    return dsgd_is_whole(x) ? round(x) : floor(x);
}

#endif
