/**
 * @file round.h Functions for the greater and the smaller of two numbers, and for rounding.
 * dsgd_ceil() and dsgd_floor() ignore rounding errors of products and quotients of decimal
 * fractions: for example, dsgd_ceil(0.07 * 100) is 7, but ceil(0.07 * 100) is 8.
 */
#pragma once

#include <float.h>
#include <math.h>
#include <stdbool.h>

/**
 * dsgd_greater() and dsgd_less() replace fmax() and fmin() for numbers that are not NaN. They need
 * no call of a library function, because they are used millions of times per second.
 */
static inline double dsgd_greater(double a, double b)
{
    return a > b ? a : b;
}

static inline double dsgd_less(double a, double b)
{
    return a < b ? a : b;
}

/** Returns true if @p x is an integer, except for the rounding error of a few operations. */
static inline bool dsgd_is_whole(double x)
{
    return fabs(x - round(x)) <= 4 * DBL_EPSILON * fabs(x);
}

/**
 * Returns the smallest integer >= @p x. If @p x differs from an integer only by a rounding error,
 * returns that integer.
 */
static inline double dsgd_ceil(double x)
{
    return dsgd_is_whole(x) ? round(x) : ceil(x);
}

/**
 * Returns the largest integer <= @p x. If @p x differs from an integer only by a rounding error,
 * returns that integer.
 */
static inline double dsgd_floor(double x)
{
    return dsgd_is_whole(x) ? round(x) : floor(x);
}
