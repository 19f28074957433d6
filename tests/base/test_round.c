/**
 * @file test_round.c
 * Tests that rounding up or down does not change a value that differs from an integer only by a
 * small rounding error.
 */
#include <math.h>

#include "base/round.h"
#include "tests/support/suite.h"

SUITE(round, "round");

TEST(integers_up_to_rounding_stay_unchanged)
{
    ck_assert_double_gt(0.07 * 100, 7);
    ck_assert_double_eq(dsgd_ceil(0.07 * 100), 7);
    ck_assert_double_eq(dsgd_ceil(7.0000001), 8);
    ck_assert_double_lt(0.3 / 0.1, 3);
    ck_assert_double_eq(dsgd_floor(0.3 / 0.1), 3);
    ck_assert_double_eq(dsgd_floor(2.9999999), 2);
    ck_assert_double_eq(dsgd_ceil(0), 0);
    ck_assert_double_eq(dsgd_ceil(1e-300), 1);
    ck_assert(isinf(dsgd_floor(INFINITY)));
}
