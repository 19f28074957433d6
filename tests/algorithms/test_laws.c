/**
 * @file test_laws.c
 * Identities between algorithms, and what mixing must keep. Models are compared in double unless a test says otherwise.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suites.h"
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

/* --- P workers are one worker with a large batch ------------------------------------------------------------------------------------ */

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

START_TEST(allreduce_is_one_worker_with_a_large_batch)
{
    expect_large_batch(support_new("allreduce", some_workers[_i]), 1e-11);
}
END_TEST

START_TEST(allreduce_in_float_is_one_worker_with_a_large_batch)
{
    support_case *c = support_new("allreduce", some_workers[_i]);
    support_use_mlp(c);
    c->learning.precision = DSGD_PRECISION_FLOAT;
    c->learning.optimizer.lr = 0.02;
    expect_large_batch(c, 1e-5);
}
END_TEST

START_TEST(allreduce_of_1024_workers_is_one_worker_with_a_large_batch)
{
    support_case *c = support_new("allreduce", 1024);
    support_use_mlp(c);
    c->learning.optimizer.lr = 0.02;
    expect_large_batch(c, 1e-11);
}
END_TEST

/* --- model averaging in every step ------------------------------------------------------------------------------------------------------ */

static const support_outcome *averaging(const support_case *c)
{
    support_case copy = *c;
    support_algorithm(&copy, &support_averaging);
    copy.config.params = NULL;
    return support_ok(&copy);
}

static const int group_sizes[] = {1, 2, 4, 8, 16};

START_TEST(wagma_with_period_one_averages_models_in_every_step)
{
    support_case *c = support_new("wagma", 16);
    support_option(c, "group", group_sizes[_i]);
    support_option(c, "period", 1);
    support_imbalance_number(c, "ramp", "seconds", 0.05);
    const support_outcome *want = averaging(c);
    expect_models(support_ok(c), want->x, want->n_params, 16, 1e-12);
}
END_TEST

static const int periods[] = {1, 2, 3, 10, 1000};

START_TEST(wagma_of_one_group_without_imbalance_averages_models_in_every_step)
{
    support_case *c = support_new("wagma", 16);
    support_option(c, "group", 16);
    support_option(c, "period", periods[_i]);
    const support_outcome *want = averaging(c);
    expect_models(support_ok(c), want->x, want->n_params, 16, 1e-12);
}
END_TEST

START_TEST(dasgd_without_delay_and_own_weight_averages_models_in_every_step)
{
    support_case *c = support_new("dasgd", 6);
    support_option(c, "tau", 1);
    support_option(c, "d", 0);
    support_option(c, "xi", 0);
    const support_outcome *want = averaging(c);
    expect_models(support_ok(c), want->x, want->n_params, 6, 1e-12);
}
END_TEST

/* --- staleness ------------------------------------------------------------------------------------------------------------------------- */

START_TEST(wagma_is_never_as_stale_as_its_period)
{
    static const int some_periods[] = {2, 4, 8};
    support_case *c = support_new("wagma", 16);
    support_no_learning(c);
    support_option(c, "period", some_periods[_i]);
    support_imbalance_number(c, "delay", "seconds",
                             20); /* one worker, so long that the others finish their round */
    c->config.until.steps = 64;
    const support_outcome *got = support_ok(c);
    ck_assert_double_gt(got->result.staleness_max, 0);
    ck_assert_double_lt(got->result.staleness_max, some_periods[_i]);
}
END_TEST

START_TEST(dasgd_uses_averages_d_steps_old)
{
    support_case *c = support_new("dasgd", 8);
    support_no_learning(c);
    support_option(c, "tau", 4);
    support_option(c, "d", _i);
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.staleness_mean, _i);
    ck_assert_double_eq(got->result.staleness_max, _i);
}
END_TEST

START_TEST(synchronous_sgd_is_never_stale)
{
    support_case *c = support_new("allreduce", 8);
    support_no_learning(c);
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    ck_assert_double_eq(support_ok(c)->result.staleness_max, 0);
}
END_TEST

/* --- the mean of the models ------------------------------------------------------------------------------------------------------------- */

enum { MIXING_STEPS = 10, QUIET_STEPS = 14 };

static void expect_kept_mean(support_case *c)
{
    const int p = c->config.workers;
    c->drop =
        (dsgd_lr_drop){1, 0}; /* one step makes the models differ, then only mixing moves them */
    c->learning.optimizer.decay = (dsgd_records){1, &c->drop};
    c->learning.optimizer.momentum = 0;
    c->config.until.steps = QUIET_STEPS;
    const support_outcome *mixed = support_ok(c);
    support_algorithm(c, &support_alone);
    const support_outcome *alone = support_ok(c);
    const double *mean = support_mean_model(mixed, p);
    const double *want = support_mean_model(alone, p);
    ck_assert_double_gt(support_distance(alone->x, want, mixed->n_params),
                        1e-3); /* they did differ */
    ck_assert_double_lt(support_distance(mixed->x, alone->x, mixed->n_params * (size_t)p), 10);
    ck_assert_double_gt(support_distance(mixed->x, alone->x, mixed->n_params * (size_t)p),
                        1e-3); /* and mixing moved them */
    ck_assert_double_le(support_distance(mean, want, mixed->n_params), 1e-12);
}

START_TEST(full_averaging_keeps_the_mean)
{
    support_case *c = support_new(NULL, 12);
    support_algorithm(c, &support_averaging);
    expect_kept_mean(c);
}
END_TEST

START_TEST(on_time_group_averaging_keeps_the_mean)
{
    support_case *c = support_new("wagma", 16);
    support_option(c, "period", 1000);
    expect_kept_mean(c);
}
END_TEST

/** Pair averaging that stops early enough for the last exchange to end. */
static void pairs_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (self->rank % 2 == 1 && self->step > 0 && self->step < MIXING_STEPS)
            dsgd_pair_average(self, x,
                              2 * (int)dsgd_random_below(self, (uint64_t)self->n_workers / 2));
        dsgd_local_step(self, x, g);
    }
}

static void pairs_assist(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    for (;;)
        dsgd_pair_answer(self, x);
}

static const dsgd_algorithm pairs = {
    .about = {.name = "pairs"}, .work = pairs_work, .assist = pairs_assist};

START_TEST(pair_averaging_keeps_the_mean_under_message_delay)
{
    support_case *c = support_new(NULL, 16);
    support_algorithm(c, &pairs);
    c->workload.bytes =
        3e9; /* 0.3 s each way, so that exchanges overlap with each other and with steps */
    support_imbalance_number(c, "ramp", "seconds", 0.013);
    expect_kept_mean(c);
}
END_TEST

/* --- eager-SGD loses no gradient ------------------------------------------------------------------------------------------------------- */

enum { AUDITED_STEPS = 30 };

/** Sums all gradients, takes off what rank 0 (never late) received, and what is left in the send buffers. */
static void audit_work(dsgd_node *self, dsgd_initiator initiator)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *balance = dsgd_vector_new(self);
    dsgd_partial *sum =
        dsgd_partial_new(self, (dsgd_partial_spec){.initiator = initiator, .draining = true}, NULL);
    while (dsgd_next_step(self) && self->step < AUDITED_STEPS) {
        dsgd_gradient(self, g, x);
        dsgd_combine(self, balance, 1, 1, g);
        dsgd_partial_sum(self, sum, g, g);
        if (self->rank == 0)
            dsgd_combine(self, balance, 1, -1, g);
        dsgd_local_step(self, x, g);
    }
    dsgd_barrier(self);
    dsgd_partial_take(self, sum, g);
    dsgd_combine(self, balance, 1, -1, g);
    dsgd_copy(self, x, balance);
    dsgd_next_step(self);
}

static void audit_first(dsgd_node *self)
{
    audit_work(self, DSGD_FIRST_ARRIVER);
}

static void audit_random(dsgd_node *self)
{
    audit_work(self, DSGD_RANDOM_WORKER);
}

static const dsgd_algorithm audits[] = {
    {.about = {.name = "audit-solo"}, .work = audit_first},
    {.about = {.name = "audit-majority"}, .work = audit_random},
};

START_TEST(eager_contributions_and_what_remains_are_all_gradients)
{
    support_case *c = support_new(NULL, 8);
    support_algorithm(c, &audits[_i]);
    support_imbalance_number(c, "ramp", "seconds", 0.3);
    c->config.until.steps = AUDITED_STEPS + 1;
    const support_outcome *got = support_ok(c);
    ck_assert_double_gt(got->result.staleness_max, 0);
    const double *mean = support_mean_model(got, 8);
    double largest = 0;
    for (size_t i = 0; i < 8 * got->n_params; i++)
        largest = fmax(largest, fabs(got->x[i]));
    ck_assert_double_gt(largest, 1);
    for (size_t i = 0; i < got->n_params; i++)
        ck_assert_double_le(fabs(mean[i]), 1e-12 * largest);
}
END_TEST

/* --- propagation -------------------------------------------------------------------------------------------------------------------------- */

static bool perturb; /* set before the simulation forks */

static dsgd_group halves(const void *params, int n_workers, long t)
{
    (void)params;
    const int half = dsgd_log2(n_workers) / 2;
    return (dsgd_group)((1 << half) - 1) << (t % 2 * half);
}

static void propagate_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    const dsgd_partial_spec spec = {.initiator = DSGD_FIRST_ARRIVER, .group = halves};
    dsgd_partial *average = dsgd_partial_new(self, spec, x);
    const double size = sqrt(self->n_workers);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (perturb && self->rank == 5 && self->step == 0)
            dsgd_combine(self, g, 1, 1, x);
        dsgd_local_step(self, x, g);
        dsgd_partial_mix(self, average, x, size, size + 1);
    }
}

static const dsgd_algorithm propagate = {.about = {.name = "propagate"}, .work = propagate_work};

/** Ranks whose model after @p steps depends on rank 5's first gradient. */
static int reached(support_case *c, double steps)
{
    c->config.until.steps = steps;
    perturb = false;
    const support_outcome *before = support_ok(c);
    perturb = true;
    const support_outcome *after = support_ok(c);
    int n = 0;
    for (int w = 0; w < c->config.workers; w++)
        n += support_distance(after->x + (size_t)w * after->n_params,
                              before->x + (size_t)w * before->n_params, before->n_params) > 0;
    return n;
}

START_TEST(a_change_reaches_all_ranks_in_two_iterations)
{
    support_case *c = support_new(NULL, 16);
    support_algorithm(c, &propagate);
    ck_assert_int_eq(reached(c, 1), 4);
    ck_assert_int_eq(reached(c, 2), 16);
}
END_TEST

static Suite *suite_of(const char *name, TCase **t)
{
    Suite *s = suite_create(name);
    *t = tcase_create("laws");
    tcase_set_timeout(*t, 120);
    suite_add_tcase(s, *t);
    return s;
}

Suite *laws_suite(void)
{
    TCase *t = NULL;
    Suite *s = suite_of("laws", &t);
    tcase_add_loop_test(t, allreduce_is_one_worker_with_a_large_batch, 0, 6);
    tcase_add_loop_test(t, allreduce_in_float_is_one_worker_with_a_large_batch, 0, 6);
    tcase_add_loop_test(t, wagma_with_period_one_averages_models_in_every_step, 0, 5);
    tcase_add_loop_test(t, wagma_of_one_group_without_imbalance_averages_models_in_every_step, 0,
                        5);
    tcase_add_test(t, dasgd_without_delay_and_own_weight_averages_models_in_every_step);
    tcase_add_loop_test(t, wagma_is_never_as_stale_as_its_period, 0, 3);
    tcase_add_loop_test(t, dasgd_uses_averages_d_steps_old, 0, 5);
    tcase_add_test(t, synchronous_sgd_is_never_stale);
    tcase_add_test(t, full_averaging_keeps_the_mean);
    tcase_add_test(t, on_time_group_averaging_keeps_the_mean);
    tcase_add_test(t, pair_averaging_keeps_the_mean_under_message_delay);
    tcase_add_loop_test(t, eager_contributions_and_what_remains_are_all_gradients, 0, 2);
    tcase_add_test(t, a_change_reaches_all_ranks_in_two_iterations);
    return s;
}

Suite *laws_long_suite(void)
{
    TCase *t = NULL;
    Suite *s = suite_of("laws, at scale", &t);
    tcase_add_test(t, allreduce_of_1024_workers_is_one_worker_with_a_large_batch);
    return s;
}
