/**
 * @file alike.h
 * Demands that what is computed is what its messages would have taken.
 */
#pragma once

#include "tests/support/support.h"

/**
 * Demands that all figures of two runs of a case are the same: times to 1e-9 of them and
 * @p slack_s seconds more, counts and models exactly.
 */
void support_expect_alike(const support_case *c, const support_outcome *a, const support_outcome *b,
                          double slack_s, const char *where);
