/**
 * @file test_laws.c
 * Identities between algorithms, and what mixing must keep. Models are compared in double unless a
 * test says otherwise.
 */
#include <math.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/support/support.h"

/** All workers' models agree with one vector, or with those of another run. */
static void expect_models(const support_outcome *got, const double *want, size_t stride,
                          int workers, double tolerance)
{
    ck_assert_uint_gt(got->n_params, 0);
    for (int w = 0; w < workers; w++) {
        const double distance = support_distance(got->x + (size_t)w * got->n_params,
                                                 want + (size_t)w * stride, got->n_params);
        ck_assert_msg(distance <= tolerance, "worker %d is off by %g", w, distance);
    }
}

/* --- P workers are one worker with a large batch ---------------------------------------------- */

static void expect_large_batch(support_case *c, double tolerance)
{
    const int p = c->config.workers;
    const support_outcome *many = support_ok(c);
    c->config.workers = 1;
    c->learning.batch *= p;
    const support_outcome *one = support_ok(c);
    expect_models(many, one->x, 0, p, tolerance);
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
    c->learning.precision = DSGD_PRECISION_FLOAT;
    c->learning.optimizer.lr = 0.02;
    expect_large_batch(c, 1e-5);
}

/* --- model averaging in every step ------------------------------------------------------------ */

static const support_outcome *averaging(const support_case *c)
{
    support_case copy = *c;
    support_algorithm(&copy, &support_averaging);
    copy.config.params = NULL;
    return support_ok(&copy);
}

static const int group_sizes[] = {1, 2, 4, 8, 16};

TEST_RANGE(wagma_with_period_one_averages_models_in_every_step, 0, 5)
{
    support_case *c = support_new("wagma", 16);
    support_option(c, "group", group_sizes[_i]);
    support_option(c, "period", 1);
    support_imbalance_number(c, "ramp", "seconds", 0.05);
    const support_outcome *want = averaging(c);
    expect_models(support_ok(c), want->x, want->n_params, 16, 1e-12);
}

static const int periods[] = {1, 2, 3, 10, 1000};

TEST_RANGE(wagma_of_one_group_without_imbalance_averages_models_in_every_step, 0, 5)
{
    support_case *c = support_new("wagma", 16);
    support_option(c, "group", 16);
    support_option(c, "period", periods[_i]);
    const support_outcome *want = averaging(c);
    expect_models(support_ok(c), want->x, want->n_params, 16, 1e-12);
}

TEST(dasgd_without_delay_and_own_weight_averages_models_in_every_step)
{
    support_case *c = support_new("dasgd", 6);
    support_option(c, "tau", 1);
    support_option(c, "d", 0);
    support_option(c, "xi", 0);
    const support_outcome *want = averaging(c);
    expect_models(support_ok(c), want->x, want->n_params, 6, 1e-12);
}

/* --- the mean of the models ------------------------------------------------------------------- */

TEST(full_averaging_keeps_the_mean)
{
    support_case *c = support_new(NULL, 12);
    support_algorithm(c, &support_averaging);
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
