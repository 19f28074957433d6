/**
 * @file test_collectives.c
 * Tests that collectives on an idle switch take the times of their closed forms.
 */
#include "sim/exchange/plan.h"
#include "tests/sim/costs.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

SUITE(collectives, "closed forms", .seconds = 60);

TEST(recursive_doubling_takes_its_closed_form)
{
    const double phase_s =
        overhead_s + latency_s + bytes / bandwidth + reduction_s_per_byte * bytes;
    expect_close(communication_s(&support_averaging, DSGD_COLLECTIVE_RECURSIVE_DOUBLING, WORKERS),
                 BITS * phase_s);
}

/**
 * In an allreduce of n members, each number is added n - 1 times in total. In a ring or in Bruck's
 * algorithm, each member makes the same number of additions.
 */
TEST_RANGE(an_allreduce_adds_each_number_once_per_other_member, 2, 25)
{
    const double whole = 1e6;
    for (int how = DSGD_COLLECTIVE_RABENSEIFNER; how <= DSGD_COLLECTIVE_RINGS; how++) {
        const dsgd_way way = {.how = (dsgd_collective)how, .along = {{4, 3, 2, 1}}};
        const dsgd_plan plan = dsgd_plan_of(way, DSGD_ALLREDUCE, _i, whole);
        double all = 0;
        for (int m = 0; m < _i; m++) {
            double mine = 0;
            for (int round = 0; round < plan.n_rounds; round++) {
                const dsgd_phase phase = dsgd_plan_phase(&plan, round, m);
                mine += phase.reduced;
                if (phase.to >= 0)
                    ck_assert_int_eq(dsgd_plan_phase(&plan, round, phase.to).from, m);
            }
            all += mine;
            if (plan.extra == 0)
                ck_assert_double_eq_tol(mine, 1e6 * (_i - 1) / _i, 1e-6);
        }
        ck_assert_double_eq_tol(all, 1e6 * (_i - 1), 1e-5);
    }
}

static void summing_work(dsgd_node *self)
{
    dsgd_vector *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, dsgd_model(self));
        dsgd_allreduce_sum(self, g, DSGD_WORLD);
    }
}

TEST_ALGORITHM(summing, .work = summing_work);

TEST(a_sum_takes_as_long_as_a_mean)
{
    expect_close(communication_s(&summing, DSGD_COLLECTIVE_RING, WORKERS),
                 communication_s(&support_averaging, DSGD_COLLECTIVE_RING, WORKERS));
}

TEST(rabenseifner_takes_its_closed_form)
{
    const double share = (WORKERS - 1.0) / WORKERS;
    const double expected_s = 2 * BITS * (overhead_s + latency_s) +
                              share * bytes * (2 / bandwidth + reduction_s_per_byte);
    expect_close(communication_s(&support_averaging, DSGD_COLLECTIVE_RABENSEIFNER, WORKERS),
                 expected_s);
}

TEST(ring_takes_its_closed_form)
{
    const double step_s = overhead_s + latency_s + bytes / WORKERS / bandwidth;
    const double expected_s =
        2 * (WORKERS - 1) * step_s + (WORKERS - 1.0) / WORKERS * bytes * reduction_s_per_byte;
    expect_close(communication_s(&support_averaging, DSGD_COLLECTIVE_RING, WORKERS), expected_s);
}

/** The loop variable _i is the number of bytes by which a message exceeds the eager limit. */
TEST_RANGE(a_message_that_is_not_eager_takes_a_rendezvous, 0, 2)
{
    static const double rendezvous_s = 7e-6;
    support_case *c = costly(NULL, WORKERS);
    c->config.algorithm = &support_averaging;
    SET(c, config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
        platform.rendezvous_s = rendezvous_s, platform.eager_bytes = bytes - _i);
    const double message_s = overhead_s + (_i == 0 ? 0 : rendezvous_s) + latency_s;
    expect_close(support_ok(c)->result.virtual_s / 10 - 1,
                 BITS * (message_s + bytes * (1 / bandwidth + reduction_s_per_byte)));
}

static const int odd_workers[] = {3, 5, 6, 7, 12};

TEST_RANGE(a_fold_adds_one_reduction_and_one_copy, 0, 5)
{
    const int p = odd_workers[_i];
    const double copy_s = overhead_s + latency_s + bytes / bandwidth;
    const double phase_s = copy_s + reduction_s_per_byte * bytes;
    const double measured_s =
        communication_s(&support_averaging, DSGD_COLLECTIVE_RECURSIVE_DOUBLING, p);
    expect_close(measured_s, dsgd_log2(p) * phase_s + phase_s + copy_s);
}

/**
 * Returns the time in seconds of an allreduce of p workers without a fold. The time consists of the
 * overheads and latencies of all phases, and of the time to send and add all bytes of a vector.
 */
static double without_a_fold_s(int p)
{
    const int phases = 2 * (dsgd_log2(p) + ((p & (p - 1)) != 0));
    return phases * (overhead_s + latency_s) +
           (p - 1.0) / p * bytes * (2 / bandwidth + reduction_s_per_byte);
}

static const int any_workers[] = {2, 3, 5, 6, 7, 12, 15, 16, 17, 33};

TEST_RANGE(bruck_takes_its_closed_form_at_any_number_of_workers, 0, 10)
{
    const int p = any_workers[_i];
    expect_close(communication_s(&support_averaging, DSGD_COLLECTIVE_BRUCK, p),
                 without_a_fold_s(p));
}

/**
 * By the closed forms, 17 workers need 10 phases, and 16 workers need 8 phases. With 17 workers,
 * each worker sends an additional 1/16 - 1/17 of the bytes.
 */
TEST(one_worker_above_a_power_of_two_costs_little_by_default)
{
    const double at_16_s = communication_s(&support_averaging, DSGD_COLLECTIVE_AUTO, 16);
    const double at_17_s = communication_s(&support_averaging, DSGD_COLLECTIVE_AUTO, 17);
    expect_close(at_16_s, without_a_fold_s(16));
    expect_close(at_17_s, without_a_fold_s(17));
    ck_assert_double_lt(at_17_s / at_16_s, 1.05);
}

TEST(auto_takes_recursive_doubling_for_short_and_rabenseifner_for_long_vectors)
{
    support_case *c = support_no_learning(support_of(&support_averaging, WORKERS));
    SET(c, workload.bytes = 1000, config.until.steps = 1);
    ck_assert_uint_eq(support_ok(c)->result.messages, WORKERS * BITS);
    c->workload.bytes = 1e6;
    ck_assert_uint_eq(support_ok(c)->result.messages, WORKERS * 2 * BITS);
}

/**
 * A test algorithm in which every worker contributes two numbers to an allgather: its rank and its
 * step.
 */
static void table_work(dsgd_node *self)
{
    while (dsgd_next_step(self)) {
        const double mine[2] = {self->rank + 0.5, (double)self->step};
        const double *const all = dsgd_allgather(self, mine, 2, DSGD_WORLD);
        for (int i = 0; i < self->n_workers; i++)
            support_current->note[self->rank] +=
                all[2 * i] == i + 0.5 && all[2 * i + 1] == (double)self->step;
    }
}

TEST_ALGORITHM(table, .work = table_work);

TEST(a_table_travels_as_one_allreduce)
{
    support_case *c = support_no_learning(support_of(&table, WORKERS));
    SET(c, platform.message_overhead_s = overhead_s,
        platform.reduction_s_per_byte = reduction_s_per_byte, config.steps_each = 3);
    const double table_bytes = WORKERS * 2 * 8;
    const double phase_s =
        overhead_s + latency_s + table_bytes / bandwidth + reduction_s_per_byte * table_bytes;
    const support_outcome *got = support_ok(c);
    expect_close(got->result.virtual_s / 3, BITS * phase_s);
    for (int w = 0; w < WORKERS; w++)
        ck_assert_double_eq(got->note[w], 3 * WORKERS);
}
