/**
 * @file alike.h
 * Compares two runs of one test case. The first run computes a result directly, and the second run
 * exchanges messages for the same result. Both runs must report the same figures.
 */
#pragma once

#include "tests/support/support.h"

/**
 * Fails the test unless all figures of two runs of a case are equal. Times may differ by a relative
 * error of 1e-9 plus @p slack_s seconds. Counts and models must be exactly equal.
 */
void support_expect_alike(const support_case *c, const support_outcome *a, const support_outcome *b,
                          double slack_s, const char *where);
