/**
 * @file round.h
 * The greater of two numbers; rounding of products and quotients of decimal fractions:
 * dsgd_ceil(0.07 * 100) is 7, where ceil() gives 8.
 */
#pragma once

#include <float.h>
#include <math.h>
#include <stdbool.h>

/**
 * As fmax() and fmin() of numbers that are no NaN, without a call: millions per second are asked.
 */
static inline double dsgd_greater(double a, double b)
{
    return a > b ? a : b;
}

static inline double dsgd_less(double a, double b)
{
    return a < b ? a : b;
}

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
