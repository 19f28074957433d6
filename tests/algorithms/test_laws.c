/**
 * @file test_laws.c
 * Tests laws that no algorithm declares (test_conformance.c tests declared laws). P workers equal
 * one worker with a large batch, and mixing keeps the mean of the models. Models are compared in
 * double unless a test states otherwise.
 */
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- Tests that P workers equal one worker with a large batch --------------------------------- */

static void expect_large_batch(support_case *c, double tolerance)
{
    const int p = c->config.workers;
    const support_outcome *many = support_ok(c);
    c->config.workers = 1;
    c->learning.batch *= p;
    const support_outcome *one = support_ok(c);
    ck_assert_uint_gt(many->n_params, 0);
    for (size_t w = 0; w < (size_t)p; w++) {
        const double distance =
            support_distance(many->x + w * many->n_params, one->x, many->n_params);
        ck_assert_msg(distance <= tolerance, "worker %zu is off by %g", w, distance);
    }
}

static const int some_workers[] = {2, 3, 4, 7, 16, 64};

SUITE(laws, "laws", .seconds = 120);

TEST_RANGE(allreduce_is_one_worker_with_a_large_batch, 0, 6)
{
    expect_large_batch(support_new("allreduce", some_workers[_i]), 1e-11);
}

TEST_RANGE(allreduce_in_float_is_one_worker_with_a_large_batch, 0, 6)
{
    support_case *c = support_new("allreduce", some_workers[_i]);
    support_use_mlp(c);
    SET(c, learning.precision = DSGD_PRECISION_FLOAT, learning.optimizer.lr = 0.02);
    expect_large_batch(c, 1e-5);
}

/* --- Tests that mixing keeps the mean of the models ------------------------------------------- */

TEST(full_averaging_keeps_the_mean)
{
    support_case *c = support_of(&support_averaging, 12);
    support_expect_kept_mean(c);
}

TEST(on_time_group_averaging_keeps_the_mean)
{
    support_case *c = support_new("wagma", 16);
    support_option(c, "period", 1000);
    support_expect_kept_mean(c);
}

SUITE(laws_long, "laws", .seconds = 120);

TEST(allreduce_of_1024_workers_is_one_worker_with_a_large_batch)
{
    support_case *c = support_new("allreduce", 1024);
    support_use_mlp(c);
    c->learning.optimizer.lr = 0.02;
    expect_large_batch(c, 1e-11);
}
