/**
 * @file round.h The greater and the smaller of two numbers, and rounding of products and quotients
 * of decimal fractions: dsgd_ceil(0.07 * 100) is 7, whereas ceil() gives 8.
 */
#pragma once

#include <float.h>
#include <math.h>
#include <stdbool.h>

/**
 * Like fmax() and fmin() for numbers that are not NaN, but without a function call, because they
 * are used millions of times per second.
 */
static inline double dsgd_greater(double a, double b)
{
    return a > b ? a : b;
}

static inline double dsgd_less(double a, double b)
{
    return a < b ? a : b;
}

/** Returns true if @p x is an integer, up to the rounding of a few operations. */
static inline bool dsgd_is_whole(double x)
{
    return fabs(x - round(x)) <= 4 * DBL_EPSILON * fabs(x);
}

/**
 * Returns the smallest integer >= @p x. Treats @p x as an integer if it differs from one only by
 * rounding.
 */
static inline double dsgd_ceil(double x)
{
    return dsgd_is_whole(x) ? round(x) : ceil(x);
}

/**
 * Returns the largest integer <= @p x. Treats @p x as an integer if it differs from one only by
 * rounding.
 */
static inline double dsgd_floor(double x)
{
    return dsgd_is_whole(x) ? round(x) : floor(x);
}
