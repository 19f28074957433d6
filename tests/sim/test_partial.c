/**
 * @file test_partial.c
 * Tests partial collectives: their times, their versions, and the values that a late worker gets.
 * (tests/algorithms/test_emulation.c tests that no gradient is lost and which sums are not used.)
 */
#include "tests/sim/costs.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- closed forms ----------------------------------------------------------------------------- */

/** Returns the group of a version, which has four members. */
static dsgd_group group_of_four(const void *params, int n_workers, long version)
{
    return version % 2 == 0 ? 0x3 : 0xc;
}

static void group_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    const dsgd_partial_spec spec = {.initiator = DSGD_FIRST_ARRIVER, .group = group_of_four};
    dsgd_partial *average = dsgd_partial_new(self, spec, x);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_partial_mix(self, average, x, 4, 5);
    }
}

static const dsgd_algorithm group_algorithm = {.about = {.name = "group"}, .work = group_work};

static int group_size; /* number of members of a group; set before the simulation forks */

/** Returns a group of group_size workers, which differ in the upper bits of their ranks. */
static dsgd_group upper_bits(const void *params, int n_workers, long version)
{
    return (dsgd_group)(n_workers - n_workers / group_size);
}

static void sized_group_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    const dsgd_partial_spec spec = {.initiator = DSGD_FIRST_ARRIVER, .group = upper_bits};
    dsgd_partial *average = dsgd_partial_new(self, spec, x);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_partial_mix(self, average, x, group_size, group_size + 1);
    }
}

static const dsgd_algorithm sized_group = {.about = {.name = "sized group"},
                                           .work = sized_group_work};

/** Returns the time of an allreduce of n members by the closed form of sim/exchange/schedules.c. */
static double allreduce_s(dsgd_collective how, double n)
{
    const double phases = log2(n), share = (n - 1) / n;
    if (how == DSGD_COLLECTIVE_RECURSIVE_DOUBLING)
        return phases * (overhead_s + latency_s + bytes / bandwidth + reduction_s_per_byte * bytes);
    if (how == DSGD_COLLECTIVE_RABENSEIFNER)
        return 2 * phases * (overhead_s + latency_s) +
               share * bytes * (2 / bandwidth + reduction_s_per_byte);
    return 2 * (n - 1) * (overhead_s + latency_s + bytes / n / bandwidth) +
           share * bytes * reduction_s_per_byte;
}

static double group_s(int workers, dsgd_collective all, int partial)
{
    support_case *c = costly(NULL, workers);
    c->config.algorithm = &sized_group;
    SET(c, config.exchange.collective = all, config.exchange.partial_collective = partial);
    return support_ok(c)->result.virtual_s / 10 - 1;
}

SUITE(partial, "partial", .seconds = 120);

/** Tests groups of 2 to 16 members, among 2 to 64 workers. */
TEST_RANGE(a_group_sums_by_the_collective_that_is_chosen, DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
           DSGD_COLLECTIVE_RING + 1)
{
    const dsgd_collective how = (dsgd_collective)_i;
    for (int workers = 2; workers <= 64; workers *= 2) {
        for (group_size = 2; group_size <= 16 && group_size <= workers; group_size *= 2) {
            const double expected_s = allreduce_s(how, group_size);
            expect_close(group_s(workers, DSGD_COLLECTIVE_AUTO, DSGD_PARTIAL_COLLECTIVE + _i),
                         expected_s);
            expect_close(group_s(workers, how, DSGD_PARTIAL_AS_COLLECTIVE), expected_s);
        }
    }
}

TEST(by_default_a_group_sums_long_vectors_by_rabenseifner_and_short_ones_by_doubling)
{
    group_size = 8;
    expect_close(group_s(16, DSGD_COLLECTIVE_AUTO, DSGD_PARTIAL_AS_COLLECTIVE),
                 allreduce_s(DSGD_COLLECTIVE_RABENSEIFNER, 8));
    support_case *c = costly(NULL, 16);
    c->config.algorithm = &sized_group;
    SET(c, workload.bytes = 1000, config.until.steps = 1);
    const uint64_t activations = 15;
    ck_assert_uint_ge(support_ok(c)->result.messages, 16 * 3);
    ck_assert_uint_le(support_ok(c)->result.messages, 16 * 3 + 16 * activations);
}

TEST(rotating_groups_sum_by_a_ring_too)
{
    expect_close(communication_s(&group_algorithm, DSGD_COLLECTIVE_RING, WORKERS),
                 allreduce_s(DSGD_COLLECTIVE_RING, 4));
}

/**
 * The sum of a partial collective is one linear combination in the order of ranks. The sum does not
 * depend on the messages.
 */
TEST(learning_does_not_depend_on_the_collective)
{
    support_case *c = support_new("wagma", 16);
    support_option(c, "group", 8);
    c->config.exchange.partial_collective =
        DSGD_PARTIAL_COLLECTIVE + DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    const support_outcome *doubling = support_ok(c);
    for (int how = DSGD_COLLECTIVE_RABENSEIFNER; how <= DSGD_COLLECTIVE_RING; how++) {
        c->config.exchange.partial_collective = DSGD_PARTIAL_COLLECTIVE + how;
        const support_outcome *other = support_ok(c);
        ck_assert_mem_eq(doubling->x, other->x, 16 * other->n_params * sizeof other->x[0]);
    }
}

/**
 * A single worker does not wait, but each of its calls costs time. With overlap, all calls except
 * the call for the last piece are hidden during the backward pass.
 */
TEST_RANGE(a_partial_call_costs_its_caller_per_piece, 0, 2)
{
    support_case *c = costly("eager_solo", 1);
    support_option(c, "limiter", 4); /* two of ten steps make an allreduce of all workers */
    SET(c, config.exchange.pieces = 4, config.exchange.overlap = _i == 1);
    const double without_s = support_ok(c)->result.virtual_s;
    c->platform.partial_turn_s = 2e-3; /* a turn takes 2 ms, and a call takes half a turn */
    const double calls = _i == 1 ? 1 : 4;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s - without_s, 8 * calls * 1e-3, 1e-9);
}

/**
 * Each message of the library of partial collectives takes a turn, also in sums over all workers.
 * Such a message needs no rendezvous.
 */
TEST(a_message_of_the_library_of_partial_collectives_takes_a_turn)
{
    static const double turn_s = 2e-3;
    support_case *c = costly("wagma", 16);
    support_option(c, "group", 4);
    support_option(c, "period", 5); /* two of ten steps sum over all workers */
    c->config.exchange.partial_collective =
        DSGD_PARTIAL_COLLECTIVE + DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    const double without_s = support_ok(c)->result.virtual_s;
    SET(c, platform.partial_turn_s = turn_s, platform.rendezvous_s = 1);
    /* All workers arrive at once, so activations cost no time. */
    const double turns = 8 * (2 + 0.5) + 2 * 4;
    expect_close(support_ok(c)->result.virtual_s - without_s, turns * turn_s);
}

/* --- versions --------------------------------------------------------------------------------- */

/**
 * A test algorithm with partial averages of two workers. Each worker notes the time at the end of
 * each step.
 */
static void note_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    const dsgd_partial_spec spec = {.initiator = self->params == NULL ? DSGD_FIRST_ARRIVER
                                                                      : DSGD_EACH_IN_TURN};
    dsgd_partial *average = dsgd_partial_new(self, spec, x);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_partial_mix(self, average, x, 2, 3);
        support_current->note[2 * self->step + self->rank] = dsgd_now_s();
    }
}

TEST_ALGORITHM(noting, .work = note_work);

TEST(a_late_worker_takes_part_when_it_is_notified_of_the_version)
{
    const double notified_s = latency_s + 4 / bandwidth + overhead_s;
    support_case *c = costly(NULL, 2);
    c->config.algorithm = &noting;
    support_imbalance_number(c, "ramp", "seconds", 1);
    SET(c, config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING, config.steps_each = 1);
    const support_outcome *got = support_ok(c);
    expect_close(got->note[0] - 1, notified_s + wire_s + treated_s);
    ck_assert_double_eq(got->note[1], 2); /* worker 1 finds that the sum already exists */
    ck_assert_double_eq(got->result.partial_active_mean, 1);
    ck_assert_uint_eq(got->result.partial_skipped, 0);
}

/**
 * Worker 0 starts the first version. Worker 1 starts the second version, and worker 0 waits for it.
 */
TEST(in_turn_everyone_begins_a_version)
{
    support_case *c = costly(NULL, 2);
    c->config.algorithm = &noting;
    c->config.params = c; /* if params is set, workers start versions one after another */
    support_imbalance_number(c, "ramp", "seconds", 1);
    c->config.steps_each = 2;
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq_tol(got->note[0], 1, 1e-3);
    ck_assert_double_eq_tol(got->note[1], 2, 1e-3);
    ck_assert_double_eq_tol(got->note[2], 4, 1e-3);
    ck_assert_double_eq_tol(got->note[3], 4, 1e-3);
}

/**
 * In the only step, worker 1 is late only for its first piece. The later pieces wait for each
 * other, because a piece takes longer on the wire than in the backward pass.
 */
TEST(wagma_decides_per_piece_which_worker_is_late)
{
    support_case *c = support_new("wagma", 2);
    OPTIONS(c, {"group", 2}, {"period", 1000});
    c->workload.bytes = 8e9; /* four pieces of 2 GB take 0.2 s each */
    c->workload.backward_share = 0.2; /* the backward pass takes 50 ms per piece */
    SET(c, config.exchange.pieces = 4, config.until.steps = 1,
        learning.optimizer = (dsgd_optimizer){.lr = 0.05});
    support_imbalance_number(c, "ramp", "seconds", 0.12);
    const support_outcome *mixed = support_ok(c);
    c->config.algorithm = &support_alone;
    c->config.params = NULL;
    const support_outcome *alone = support_ok(c);
    c->learning.optimizer.lr = 0;
    const support_outcome *initial = support_ok(c);

    const size_t n = mixed->n_params;
    ck_assert_uint_eq(n, 33);
    for (size_t i = 0; i < n; i++) {
        const double w0 = alone->x[i], w1 = alone->x[n + i];
        const bool late = i < 8; /* the first piece has round(33 / 4) parameters */
        const double at_0 = late ? (w0 + initial->x[n + i]) / 2 : (w0 + w1) / 2;
        const double at_1 = late ? (w0 + initial->x[n + i] + w1) / 3 : (w0 + w1) / 2;
        ck_assert_double_eq_tol(mixed->x[i], at_0, 1e-12);
        ck_assert_double_eq_tol(mixed->x[n + i], at_1, 1e-12);
    }
}

/**
 * Eager-SGD rejects 13 workers. The message must name the powers of two below and above this
 * number.
 */
TEST(eager_sums_need_a_power_of_two_of_workers)
{
    const support_outcome *const got = support_simulate(support_new("eager_solo", 13));
    ck_assert_int_eq(got->status, DSGD_EUSAGE);
    ck_assert_has(got->error.text, "such as 8 or 16, got 13");
}
