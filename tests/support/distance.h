/**
 * @file distance.h
 * Relative distance between two vectors, for all tests. (The command `dsgd test` has its own
 * distance function, which the tests check.)
 */
#pragma once

#include <math.h>
#include <stddef.h>

/** Returns the relative distance ||a - b|| / ||b||, or 0 if both vectors are 0. */
static inline double support_distance(const double *a, const double *b, size_t n)
{
    double difference = 0;
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return difference == 0 ? 0 : sqrt(difference / norm);
}
