/**
 * @file test_collectives.c
 * Messages on the idle switch take their closed forms; overlap, freshness per piece, and where time goes.
 */
#include <math.h>

#include "tests/suites.h"
#include "tests/support.h"

enum { WORKERS = 16, BITS = 4 };

static const double bytes = 1e6;
static const double bandwidth = 10e9;
static const double latency_s = 1e-6;
static const double overhead_s = 5e-6;
static const double reduction_s_per_byte = 0.3e-9;

/** Seconds of one communication, everyone arriving together: a step takes 1 s of computation and then this. */
static double communication_s(const dsgd_algorithm *algorithm, int collective, int workers)
{
    support_case *c = support_new(NULL, workers);
    support_no_learning(c);
    support_algorithm(c, algorithm);
    c->config.collective = collective;
    c->platform.message_overhead_s = overhead_s;
    c->platform.reduction_s_per_byte = reduction_s_per_byte;
    c->config.until.steps = 10;
    return support_ok(c)->result.virtual_s / 10 - 1;
}

/** Within 1 % of the closed form (sim/messages.c). */
static void expect_close(double measured_s, double expected_s)
{
    ck_assert_msg(fabs(measured_s / expected_s - 1) < 0.01, "%.9g s, closed form %.9g s",
                  measured_s, expected_s);
}

START_TEST(recursive_doubling_takes_its_closed_form)
{
    const double phase_s =
        overhead_s + latency_s + bytes / bandwidth + reduction_s_per_byte * bytes;
    expect_close(communication_s(&support_averaging, DSGD_COLLECTIVE_RECURSIVE_DOUBLING, WORKERS),
                 BITS * phase_s);
}
END_TEST

START_TEST(rabenseifner_takes_its_closed_form)
{
    const double share = (WORKERS - 1.0) / WORKERS;
    const double expected_s = 2 * BITS * (overhead_s + latency_s) +
                              share * bytes * (2 / bandwidth + reduction_s_per_byte);
    expect_close(communication_s(&support_averaging, DSGD_COLLECTIVE_RABENSEIFNER, WORKERS),
                 expected_s);
}
END_TEST

START_TEST(ring_takes_its_closed_form)
{
    const double step_s = overhead_s + latency_s + bytes / WORKERS / bandwidth;
    const double expected_s =
        2 * (WORKERS - 1) * step_s + (WORKERS - 1.0) / WORKERS * bytes * reduction_s_per_byte;
    expect_close(communication_s(&support_averaging, DSGD_COLLECTIVE_RING, WORKERS), expected_s);
}
END_TEST

static const int odd_workers[] = {3, 5, 6, 7, 12};

START_TEST(a_fold_costs_one_reduction_and_one_copy_more)
{
    const int p = odd_workers[_i];
    const double copy_s = overhead_s + latency_s + bytes / bandwidth;
    const double phase_s = copy_s + reduction_s_per_byte * bytes;
    const double measured_s =
        communication_s(&support_averaging, DSGD_COLLECTIVE_RECURSIVE_DOUBLING, p);
    expect_close(measured_s, dsgd_log2(p) * phase_s + phase_s + copy_s);
}
END_TEST

START_TEST(auto_takes_recursive_doubling_for_short_and_rabenseifner_for_long_vectors)
{
    support_case *c = support_new(NULL, WORKERS);
    support_no_learning(c);
    support_algorithm(c, &support_averaging);
    c->workload.bytes = 1000;
    c->config.until.steps = 1;
    ck_assert_uint_eq(support_ok(c)->result.messages, WORKERS * BITS);
    c->workload.bytes = 1e6;
    ck_assert_uint_eq(support_ok(c)->result.messages, WORKERS * 2 * BITS);
}
END_TEST

/** A group of 4 sums its vectors, nobody late. */
static dsgd_group group_of_four(const void *params, int n_workers, long version)
{
    (void)params;
    (void)n_workers;
    return version % 2 == 0 ? 0x3 : 0xc;
}

static void group_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    const dsgd_partial_spec spec = {.initiator = DSGD_FIRST_ARRIVER, .group = group_of_four};
    dsgd_partial *average = dsgd_partial_new(self, spec, x);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_partial_mix(self, average, x, 4, 5);
    }
}

static const dsgd_algorithm group_algorithm = {.about = {.name = "group"}, .work = group_work};

START_TEST(a_group_sum_takes_its_closed_form)
{
    const double phase_s =
        overhead_s + latency_s + bytes / bandwidth + reduction_s_per_byte * bytes;
    expect_close(communication_s(&group_algorithm, DSGD_COLLECTIVE_AUTO, WORKERS), 2 * phase_s);
}
END_TEST

START_TEST(overlap_hides_all_but_the_last_piece)
{
    support_case *c = support_new(NULL, 4);
    support_no_learning(c);
    support_algorithm(c, &support_averaging);
    c->workload.bytes =
        400e6; /* 2 phases of 40 ms for a piece of 100 MB, 125 ms of backward pass each */
    c->config.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    c->config.exchange.pieces = 4;
    c->config.until.steps = 10;
    const double piece_s = 2 * (100e6 / bandwidth + latency_s);
    expect_close(support_ok(c)->result.virtual_s / 10, 1 + piece_s);
    c->config.exchange.overlap = false;
    expect_close(support_ok(c)->result.virtual_s / 10, 1 + 4 * piece_s);
}
END_TEST

START_TEST(shares_of_time_say_who_computed_waited_and_communicated)
{
    support_case *c = support_new(NULL, 4);
    support_no_learning(c);
    support_algorithm(c, &support_averaging);
    c->workload.bytes = 1e9; /* 2 phases of 0.1 s */
    c->config.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    support_imbalance_number(c, "ramp", "seconds",
                             0.1); /* worker i computes 1 + 0.1 i seconds of a step of 1.5 */
    const dsgd_time_shares shares = support_ok(c)->result.shares;
    ck_assert_double_eq_tol(shares.compute, 1.15 / 1.5, 1e-3);
    ck_assert_double_eq_tol(shares.wait, 0.15 / 1.5, 1e-3);
    ck_assert_double_eq_tol(shares.communicate, 0.2 / 1.5, 1e-3);
}
END_TEST

/** One step in which worker 1 is late for its first piece only: the wire is slower than the backward pass. */
START_TEST(wagma_decides_per_piece_who_was_late)
{
    support_case *c = support_new("wagma", 2);
    support_option(c, "group", 2);
    support_option(c, "period", 1000);
    c->workload.bytes = 8e9; /* four pieces of 2 GB: 0.2 s each */
    c->workload.backward_share = 0.2; /* 50 ms each */
    c->config.exchange.pieces = 4;
    c->config.until.steps = 1;
    c->learning.optimizer = (dsgd_optimizer){.lr = 0.05};
    support_imbalance_number(c, "ramp", "seconds", 0.12);
    const support_outcome *mixed = support_ok(c);
    support_algorithm(c, &support_alone);
    c->config.params = NULL;
    const support_outcome *alone = support_ok(c);
    c->learning.optimizer.lr = 0;
    const support_outcome *initial = support_ok(c);

    const size_t n = mixed->n_params;
    ck_assert_uint_eq(n, 33);
    for (size_t i = 0; i < n; i++) {
        const double w0 = alone->x[i];
        const double w1 = alone->x[n + i];
        const bool late = i < 8; /* the first piece has round(33 / 4) parameters */
        const double at_0 = late ? (w0 + initial->x[n + i]) / 2 : (w0 + w1) / 2;
        const double at_1 = late ? (w0 + initial->x[n + i] + w1) / 3 : (w0 + w1) / 2;
        ck_assert_double_eq_tol(mixed->x[i], at_0, 1e-12);
        ck_assert_double_eq_tol(mixed->x[n + i], at_1, 1e-12);
    }
}
END_TEST

Suite *collectives_suite(void)
{
    Suite *s = suite_create("collectives");
    TCase *t = tcase_create("closed forms");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, recursive_doubling_takes_its_closed_form);
    tcase_add_test(t, rabenseifner_takes_its_closed_form);
    tcase_add_test(t, ring_takes_its_closed_form);
    tcase_add_loop_test(t, a_fold_costs_one_reduction_and_one_copy_more, 0, 5);
    tcase_add_test(t, auto_takes_recursive_doubling_for_short_and_rabenseifner_for_long_vectors);
    tcase_add_test(t, a_group_sum_takes_its_closed_form);
    tcase_add_test(t, overlap_hides_all_but_the_last_piece);
    tcase_add_test(t, shares_of_time_say_who_computed_waited_and_communicated);
    tcase_add_test(t, wagma_decides_per_piece_who_was_late);
    suite_add_tcase(s, t);
    return s;
}
