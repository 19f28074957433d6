/**
 * @file distance.h
 * How far two vectors are apart, for all tests. (`dsgd test` has its own: the tests check that.)
 */
#pragma once

#include <math.h>
#include <stddef.h>

/** ||a - b|| / ||b||; 0 where both are 0. */
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
