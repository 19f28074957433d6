/**
 * @file costs.c
 * Helper functions for tests of messages and their times.
 */
#include <check.h>

#include "tests/sim/costs.h"

double communication_s(const dsgd_algorithm *algorithm, dsgd_collective collective, int workers)
{
    support_case *c = support_no_learning(support_of(algorithm, workers));
    SET(c, config.exchange.collective = collective, platform.message_overhead_s = overhead_s,
        platform.reduction_s_per_byte = reduction_s_per_byte, config.until.steps = 10);
    return support_ok(c)->result.virtual_s / 10 - 1;
}

void expect_close(double measured_s, double expected_s)
{
    ck_assert_msg(fabs(measured_s / expected_s - 1) < 1e-5, "%.9g s, closed form %.9g s",
                  measured_s, expected_s);
}

support_case *costly(const char *algorithm, int workers)
{
    support_case *c = support_no_learning(support_new(algorithm, workers));
    SET(c, platform.message_overhead_s = overhead_s,
        platform.reduction_s_per_byte = reduction_s_per_byte, config.until.steps = 10);
    return c;
}
