/**
 * @file alike.h
 * Compares two runs of a case. One run computes a result directly, and the other run exchanges the
 * messages for it. Both must report the same figures.
 */
#pragma once

#include "tests/support/support.h"

/**
 * Fails the test unless all figures of two runs of a case are equal. Times may differ by a factor
 * of 1e-9 and by another @p slack_s seconds. Counts and models must be exactly equal.
 */
void support_expect_alike(const support_case *c, const support_outcome *a, const support_outcome *b,
                          double slack_s, const char *where);
