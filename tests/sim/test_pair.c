/**
 * @file test_pair.c
 * Tests pairs of workers: the times of an averaging and of a fetch, the mean that averaging keeps,
 * and the convergence to one model.
 */
#include "tests/sim/costs.h"
#include "tests/sim/gossiping.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { GOSSIP_PROCESS = 1, SHARED_COPY };

/**
 * A test algorithm in which rank 1 sends requests to rank 0 again and again. No worker computes.
 */
static void ask_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    const bool fetches = self->params != NULL;
    while (dsgd_next_step(self)) {
        if (self->rank == 1 && fetches)
            dsgd_pair_fetch(self, x, 0);
        else if (self->rank == 1)
            dsgd_pair_average(self, x, 0);
    }
}

static void ask_assist(dsgd_node *self)
{
    for (;;)
        dsgd_pair_answer(self, dsgd_model(self), DSGD_ANYONE);
}

TEST_ALGORITHM(asking, .work = ask_work, .assist = ask_assist);

static void late_assist(dsgd_node *self)
{
    for (int i = 0; i < 3; i++) /* three turns of the loop take some microseconds */
        dsgd_next_turn(self, 0);
    ask_assist(self);
}

TEST_ALGORITHM(asking_early, .work = ask_work, .assist = late_assist);

SUITE(pair, "pair", .seconds = 240);

TEST(an_averaging_sends_two_vectors_and_a_fetch_one)
{
    support_case *c = costly(NULL, 2);
    c->config.algorithm = &asking;
    c->config.steps_each = 10;
    expect_close(support_ok(c)->result.virtual_s / 10, 2 * (wire_s + treated_s));
    c->config.params = c; /* if params is set, rank 1 fetches a model */
    expect_close(support_ok(c)->result.virtual_s / 10, latency_s + overhead_s + wire_s + treated_s);
}

TEST(a_request_waits_for_the_first_answer)
{
    support_case *c = costly(NULL, 2);
    c->config.algorithm = &asking_early;
    c->config.steps_each = 10;
    const double later_s = support_ok(c)->result.virtual_s - 10 * 2 * (wire_s + treated_s);
    ck_assert(later_s > 1e-6 && later_s < 1e-5);
}

/**
 * A test algorithm that averages in pairs. The algorithm stops early enough for the last exchange
 * to end.
 */
static void pairs_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (self->rank % 2 == 1 && self->step > 0 && self->step < SUPPORT_MIXING_STEPS)
            dsgd_pair_average(self, x,
                              2 * (int)dsgd_random_below(self, (uint64_t)self->n_workers / 2));
        dsgd_local_step(self, x, g);
    }
}

static void pairs_assist(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    for (;;)
        dsgd_pair_answer(self, x, DSGD_ANYONE);
}

TEST_ALGORITHM(pairs, .work = pairs_work, .assist = pairs_assist);

TEST(pair_averaging_keeps_the_mean_under_message_delay)
{
    support_case *c = support_of(&pairs, 16);
    /*
     * a vector takes 0.3 s in each direction, so exchanges overlap with other exchanges and with
     * steps
     */
    c->workload.bytes = 3e9;
    support_imbalance_number(c, "ramp", "seconds", 0.013);
    support_expect_kept_mean(c);
}

TEST_RANGE(averaging_in_pairs_converges_to_one_model, 0, 10)
{
    static const struct {
        double variant;
        const char *graph;
        int workers;
    } ways[] = {
        {0, NULL, 2}, {0, NULL, 3},   {0, NULL, 7}, {0, "ring", 8}, {1, NULL, 8},
        {2, NULL, 8}, {2, "ring", 8}, {3, NULL, 7}, {3, NULL, 8},   {3, "torus", 9},
    };
    support_case *c = support_new("ad_psgd", ways[_i].workers);
    support_option(c, "variant", ways[_i].variant);
    if (ways[_i].variant == SHARED_COPY)
        support_option(c, "averagings", 1);
    /* with vectors of this size, a worker makes one averaging per step */
    if (ways[_i].variant == GOSSIP_PROCESS)
        c->workload.bytes = 5e9;
    if (ways[_i].graph != NULL)
        support_spec(c, "graph", ways[_i].graph);
    ck_assert_double_lt(consensus_after(c, 200), 1e-6); /* the initial values are between 0 and 1 */
}

/**
 * Returns the share of the distance to the mean that is left after one round of averagings of 64
 * workers.
 */
static double left_by_a_round(support_case *c)
{
    return pow(consensus_after(c, 60) / consensus_after(c, 40), 1.0 / 20);
}

/**
 * If peers are random, the measured share after a round is 3/4. On a ring, the slowest mode limits
 * the share, which is at most 1 - (2 - 2 cos(2 pi / 64)) / 4 = 0.998.
 */
TEST(pairs_agree_as_fast_as_their_graph_lets_them)
{
    support_case *c = support_new("ad_psgd", 64);
    /* in this run, peers are random passive workers */
    ck_assert_double_eq_tol(left_by_a_round(c), 0.75, 0.04);
    support_spec(c, "graph", "ring");
    ck_assert_double_eq_tol(left_by_a_round(c), 0.99, 0.008);
}

/* --- Tests of loops that average during the computation --------------------------------------- */

/* Seconds of an averaging with the costs of costly(). */
static const double averaging_s = 2 * (1e-6 + 1e6 / 10e9 + 5e-6 + 0.3e-9 * 1e6);

/**
 * The share of an averaging's time that the worker itself spends on the mean with its copy, in the
 * variant shared_copy.
 */
static const double own_share = 0.3e-9 * 1e6 / (2 * (1e-6 + 1e6 / 10e9 + 5e-6 + 0.3e-9 * 1e6));

/**
 * Two workers average again and again, as often as fits into ten steps. The averagings do not make
 * the steps longer.
 */
TEST_RANGE(a_released_loop_averages_without_a_pause, GOSSIP_PROCESS, 3)
{
    support_case *c = costly("ad_psgd", 2);
    support_option(c, "variant", _i);
    const support_outcome *got = support_ok(c);
    expect_close(got->result.virtual_s,
                 10 * (1 + (_i == SHARED_COPY ? own_share * averaging_s : 0)));
    ck_assert_double_eq_tol((double)got->result.messages / 2, got->result.virtual_s / averaging_s,
                            2);
    if (_i == GOSSIP_PROCESS)
        return;
    support_option(c, "averagings", 3);
    ck_assert_double_eq_tol((double)support_ok(c)->result.messages / 2, 10 * 3, 3);
}

/**
 * An averaging takes 3.3 s, and a step takes 1 s. In the variant gossip_process, the active
 * worker's process applies one gradient between two averagings, and the passive worker's process
 * applies gradients at once. In the variant shared_copy, no worker waits.
 */
TEST_RANGE(a_loop_delays_the_gradients_of_its_process, GOSSIP_PROCESS, 3)
{
    const double times = 3.3 / averaging_s;
    support_case *c = costly("ad_psgd", 2);
    support_option(c, "variant", _i);
    c->workload.bytes *= times;
    c->platform.host_latency_s *= times;
    c->platform.message_overhead_s *= times;
    SET(c, config.steps_each = 0, config.until = (dsgd_until){.seconds = 330.5});
    const support_outcome *got = support_ok(c);
    const double steps = _i == GOSSIP_PROCESS ? 330 + 330 / 3.3 : 2 * 330 / (1 + own_share * 3.3);
    ck_assert_double_eq_tol(got->result.steps * 2, steps, 3);
}

/**
 * A message without latency takes 0.1 ns, but each turn of a loop takes a microsecond. Time
 * therefore passes.
 */
TEST_RANGE(a_loop_passes_time_where_messages_cost_none, GOSSIP_PROCESS, 3)
{
    support_case *c = support_new("ad_psgd", 2);
    support_option(c, "variant", _i);
    support_no_learning(c);
    SET(c, workload.bytes = 1, workload.step_s = 1e-3, platform.host_latency_s = 0,
        config.until.steps = 3);
    const support_outcome *got = support_ok(c);
    expect_close(got->result.virtual_s, 3e-3);
    ck_assert_double_eq_tol((double)got->result.messages / 2, 3000, 3);
}

/**
 * Worker 0 answers worker 3 first, which sends its request after two steps. Worker 0 then answers
 * worker 1, whose request arrived at once.
 */
static void scheduled_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        if (self->step == (self->rank == 3 ? 2 : 0) && self->rank % 2 == 1)
            dsgd_pair_average(self, x, 0);
        support_current->note[4 * self->step + self->rank] = dsgd_time_s(self);
        dsgd_gradient(self, g, x);
    }
}

static void scheduled_assist(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_pair_answer(self, x, 3);
    dsgd_pair_answer(self, x, 1);
}

TEST_ALGORITHM(scheduled, .work = scheduled_work, .assist = scheduled_assist);

TEST(an_early_worker_waits_for_its_turn)
{
    support_case *c = support_no_learning(support_of(&scheduled, 4));
    c->config.exchange.pieces = 3;
    support_steps_each(c, 3);
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq_tol(got->note[4 * 2 + 3], 2, 0.01);
    ck_assert_double_eq_tol(got->note[1], 2, 0.01);
    ck_assert_double_gt(got->note[1], got->note[4 * 2 + 3]);
}
