/**
 * @file test_servers.c
 * Tests algorithms whose servers make decisions, on networks without cost and with fixed speeds of
 * workers. The tests check the bounds that the papers of the algorithms state.
 * (test_against_arrivals.c compares the order and the delays of applied updates.)
 */
#include <unistd.h>

#include "sim/timeline.h"
#include "tests/support/replay.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/**
 * Makes a run in which worker i needs h[i] s per step and messages take a nanosecond. At most four
 * values of h may differ from 1.
 */
static support_case *at_speeds(const char *algorithm, int workers, const double *h)
{
    support_case *c = support_new(algorithm, workers);
    SET(c, platform.host_bandwidth_bytes_per_s = 1e18, platform.host_latency_s = 1e-9,
        learning.optimizer.momentum = 0);
    for (int i = 0; i < workers; i++)
        if (h[i] != 1)
            IMBALANCE(c, "slow", {"worker", i}, {"factor", h[i]});
    return c;
}

SUITE(servers, "servers", .seconds = 120);

/**
 * If a step needs n gradients of P workers, it takes the n-th shortest time of a gradient. The
 * gradient of the slowest worker is dropped in every step. The loop variable _i selects the factor
 * of the slow worker, and whether the option `backups` is set.
 */
TEST_RANGE(backup_workers_step_lasts_until_its_last_needed_gradient, 0, 4)
{
    double h[] = {1, 1, 1, 1, 1, 1, 1, _i % 2 == 0 ? 3 : 100};
    support_case *c = at_speeds("backup_workers", 8, h);
    if (_i < 2)
        support_option(c, "backups", 1);
    support_no_learning(c);
    c->config.until = (dsgd_until){.seconds = 600.5};
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.steps * 8 - 7 * 600, floor(600.5 / h[7]));
    ck_assert_uint_eq(got->result.dropped, (uint64_t)(600.5 / h[7]));
}

/* --- laws ------------------------------------------------------------------------------------- */

/** A test algorithm that adds the sum of all workers' updates to the model x. */
static void summing_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self), *u = dsgd_vector_new(self);
    dsgd_vector *fetched = dsgd_vector_new(self);
    dsgd_copy(self, fetched, x);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_copy(self, u, x);
        dsgd_combine(self, u, 1, -1, fetched);
        dsgd_allreduce_sum(self, u, DSGD_WORLD);
        dsgd_copy(self, x, fetched);
        dsgd_combine(self, x, 1, 1, u);
        dsgd_copy(self, fetched, x);
    }
}

TEST_ALGORITHM(summing, .work = summing_work);

static const double uneven[] = {1, 1, 1.31, 1.07, 1};

/** The loop variable _i is the number of chunks. */
TEST_RANGE(ssp_without_slack_is_synchronous, 1, 4)
{
    support_case *c = at_speeds("ssp", 5, uneven);
    SET(c, learning.optimizer.lr = 0.01, config.exchange.pieces = _i);
    support_option(c, "slack", 0);
    support_steps_each(c, 12);
    const support_outcome *got = support_ok(c);
    const dsgd_run_config config = c->config;
    c->config.algorithm = &summing;
    const support_outcome *want = support_ok(c);
    c->config = config;
    ck_assert(support_distance(got->x, want->x, 5 * got->n_params) < support_rounding());
    SET(c, config.steps_each = 0, config.until.steps = 10);
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 13.1, 1e-6);
}

static const double distinct[] = {1, 1.013, 1.31, 1.07, 1.029}; /* no two workers arrive together */

/**
 * Tests that ssp with infinite slack and ringmaster with infinite delay equal a_psgd if a vector
 * has one chunk. The loop variable _i selects the algorithm.
 */
TEST_RANGE(infinite_slack_is_an_asynchronous_server, 0, 2)
{
    support_case *c = at_speeds(_i == 0 ? "ssp" : "ringmaster", 5, distinct);
    support_case *server = at_speeds("a_psgd", 5, distinct);
    support_option(c, _i == 0 ? "slack" : "delay", _i == 0 ? -1 : -2);
    SET(c, learning.optimizer.momentum = server->learning.optimizer.momentum = 0.5,
        platform.host_bandwidth_bytes_per_s = server->platform.host_bandwidth_bytes_per_s = 1e8,
        config.until.steps = server->config.until.steps = 10,
        platform.message_overhead_s = server->platform.message_overhead_s = 1e-3);
    const support_outcome *got = support_ok(c), *want = support_ok(server);
    ck_assert_double_eq_tol(got->result.virtual_s, want->result.virtual_s, 1e-9);
    /* a message at the end of the run counts in one run and may not count in the other */
    ck_assert_double_eq_tol((double)got->result.messages, (double)want->result.messages, 1.5);
    ck_assert_double_eq_tol(got->result.bytes, want->result.bytes, 1.1e6);
    ck_assert_mem_eq(got->final_mean, want->final_mean, got->n_params * sizeof(double));
    ck_assert_double_eq_tol(got->result.gradient_staleness_mean,
                            want->result.gradient_staleness_mean, 1e-12);
}

static int n_computed[8];

/** Stores the largest difference between the workers' numbers of finished gradients. */
static void watch_spread(void *nothing, const dsgd_span *span)
{
    if (span->kind != DSGD_SPAN_COMPUTE || span->host >= 5)
        return;
    n_computed[span->host]++;
    int least = n_computed[0], most = n_computed[0];
    for (int i = 1; i < 5; i++) {
        least = n_computed[i] < least ? n_computed[i] : least;
        most = n_computed[i] > most ? n_computed[i] : most;
    }
    support_current->note[0] = fmax(support_current->note[0], most - least);
}

/**
 * The loop variable _i is the slack s. If one worker is slow enough, the other workers lead by
 * exactly s + 1 steps.
 */
TEST_RANGE(ssp_workers_lead_by_at_most_slack_and_one_step, 0, 4)
{
    static const double h[] = {1, 1, 1, 1, 9};
    const bool chosen[5] = {true, true, true, true, true};
    dsgd_timeline seen = {.end_step = INT32_MAX, .chosen = chosen, .ended = watch_spread};
    support_case *c = at_speeds("ssp", 5, h);
    support_option(c, "slack", _i);
    support_no_learning(c);
    SET(c, config.timeline = &seen, config.until = (dsgd_until){.seconds = 60});
    ck_assert_double_eq(support_ok(c)->note[0], _i + 1);
}

TEST(ssp_waits_less_with_more_slack)
{
    double before = 1;
    for (int slack = 0; slack < 6; slack++) {
        support_case *c = support_no_learning(support_new("ssp", 8));
        support_imbalance_number(c, "delay", "seconds", 1.7); /* each step delays another worker */
        support_option(c, "slack", slack);
        c->config.until.steps = 200;
        const double wait = support_ok(c)->result.shares.wait;
        ck_assert_double_lt(wait, before);
        before = wait;
    }
}

/* --- times ------------------------------------------------------------------------------------ */

enum { SPEEDS = 4 };
static const double speeds[SPEEDS] = {1, 1.2345, 2.3456, 4.5678};

/**
 * Returns the length of a round of Rennala: the smallest t at which workers have finished B
 * gradients. Worker i finishes floor(t / h_i).
 */
static double round_s(int batch)
{
    double best_s = INFINITY;
    for (int i = 0; i < SPEEDS; i++)
        for (int n = 1; n <= batch; n++) {
            int sum = 0;
            for (int j = 0; j < SPEEDS; j++)
                sum += (int)floor(n * speeds[i] / speeds[j] + 1e-12);
            if (sum >= batch)
                best_s = fmin(best_s, n * speeds[i]);
        }
    return best_s;
}

/** The loop variable _i is the batch B. */
TEST_RANGE(rennala_round_is_the_shortest_possible, 1, 8)
{
    enum { ROUNDS = 5 };
    support_case *c = at_speeds("rennala", SPEEDS, speeds);
    support_no_learning(c);
    support_option(c, "batch", _i);
    for (int k = 1; k <= ROUNDS; k++)
        for (int late = 0; late < 2; late++) {
            c->config.until = (dsgd_until){.seconds = k * round_s(_i) + (late ? 1e-5 : -1e-5)};
            const support_outcome *got = support_ok(c);
            /*
             * The sender of a gradient gets an answer. Each other worker gets a notice, sends a
             * request, and gets the model.
             */
            const int others = (k - 1 + late) * (SPEEDS - 1);
            const double gradients = got->result.steps * SPEEDS;
            ck_assert_double_eq((double)got->result.messages, 2 * gradients + 3 * others);
        }
}

/**
 * The loop variable _i is the delay R. R updates take at most twice the minimum, over m, of (mean
 * of 1 / h_i)^-1 (1 + R / m). The mean is over the m fastest workers.
 */
TEST_RANGE(ringmaster_makes_r_updates_in_its_bound, 1, 9)
{
    double bound_s = INFINITY, rate = 0;
    for (int m = 1; m <= SPEEDS; m++) {
        rate += 1 / speeds[m - 1];
        bound_s = fmin(bound_s, 2 * m / rate * (1 + (double)_i / m));
    }
    support_case *c = at_speeds("ringmaster", SPEEDS, speeds);
    support_no_learning(c);
    support_option(c, "delay", _i);
    const double n_steps = 40.0 * _i;
    c->config.until = (dsgd_until){.steps = n_steps / SPEEDS};
    const support_outcome *got = support_ok(c);
    ck_assert_double_le(got->result.virtual_s, 40 * bound_s);
    ck_assert_double_le(got->result.gradient_staleness_max, _i - 1);
}

/**
 * Tests that Ringmaster applies no update with a delay of R = _i or more, even if messages or
 * workers are very late.
 */
TEST_RANGE(no_applied_delay_reaches_r, 1, 6)
{
    for (uint64_t seed = 1; seed < 4; seed++) {
        support_case *c = support_no_learning(support_new("ringmaster", 8));
        support_imbalance_number(c, "delay", "seconds", 3.1);
        support_imbalance_number(c, "ramp", "seconds", 0.2);
        support_option(c, "delay", _i);
        SET(c, config.seed = seed, config.exchange.pieces = 3, workload.bytes = 1e9,
            config.until.steps = 60);
        const support_outcome *got = support_ok(c);
        ck_assert_double_le(got->result.gradient_staleness_max, _i - 1);
        ck_assert_double_gt(got->result.shares.lost, 0);
    }
}

/* --- Tests of local steps and of adaptive asynchronous updates -------------------------------- */

TEST(slow_workers_make_fewer_local_steps)
{
    static const double h[] = {1, 2.6, 3.9, 40};
    support_case *c = at_speeds("async_local_sgd", 4, h);
    support_no_learning(c);
    OPTIONS(c, {"period", 8}, {"grace", 0});
    support_option(c, "dylu", 1); /* ceil(8 / h) steps: 8, 4, 3, 1 */
    c->config.until = (dsgd_until){.seconds = 80.5};
    const support_outcome *got = support_ok(c);
    /*
     * Each round consists of a push and an answer. At the start, the workers exchange the table of
     * step times.
     */
    const double rounds = 10 + floor(80 / 2.6 / 4) + floor(80 / 3.9 / 3) + 2;
    ck_assert_double_eq_tol(got->result.bytes, 2 * rounds * (1e6 + 8), 1000);
}

/** The loop variable _i is the number of workers. */
TEST_RANGE(aau_at_equal_speeds_is_d_psgd, 2, 8)
{
    support_case *c = support_new("dsgd_aau", _i), *d = support_new("d_psgd", _i);
    support_option(d, "order", 2); /* order atc */
    SET(c, config.until.steps = d->config.until.steps = 0,
        config.steps_each = d->config.steps_each = 10);
    const support_outcome *got = support_ok(c), *want = support_ok(d);
    ck_assert(support_distance(got->x, want->x, (size_t)_i * got->n_params) < support_rounding());
    ck_assert_double_le(got->result.virtual_s, want->result.virtual_s + 10 * (1e-3 + 1e-4));
}

/**
 * An epoch lasts for one step of the slowest worker. In an epoch, each other worker makes two
 * steps. The second of these steps ends together with the step of the slowest worker.
 */
TEST(aau_needs_a_straggler_once_per_epoch)
{
    static const double h[] = {1, 1, 1, 10};
    support_case *c = at_speeds("dsgd_aau", 4, h);
    support_no_learning(c);
    c->config.until = (dsgd_until){.seconds = 100.9};
    /* At the end of the run, the eleventh epoch is incomplete. */
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.steps * 4, 10 * (2 * 3 + 1));
    ck_assert_double_eq_tol(got->result.shares.wait, (3 * 8.0 / 10) / 4, 0.01);
}

/**
 * A worker that finishes within the grace period of the first two workers mixes with them. A worker
 * that finishes later does not mix with them. The loop variable _i selects how late the third
 * worker is.
 */
TEST_RANGE(aau_waits_for_its_grace_and_no_longer, 0, 2)
{
    const double h[] = {1, 1, _i == 0 ? 1.18 : 1.22};
    support_case *c = at_speeds("dsgd_aau", 3, h);
    support_spec(c, "graph", "complete");
    support_option(c, "grace", 0.2);
    support_spread(c);
    SET(c, learning.optimizer.lr = 0, config.until = (dsgd_until){.seconds = 1.3});
    const support_outcome *const got = support_ok(c);
    const double apart = support_distance(got->x, got->x + 2 * got->n_params, got->n_params);
    ck_assert_int_eq(apart < support_rounding(), _i == 0);
}

/**
 * In a ring of four workers, one pair is always half a step later than the other pair.
 * Nevertheless, all models converge to one mean, because an epoch joins the pairs. If _i is 1, the
 * run uses the default grace period.
 */
TEST_RANGE(aau_pairs_out_of_step_agree, 0, 2)
{
    static const double first[] = {1, 1, 1.5, 1.5};
    double seconds[40 * 4];
    char file[64];
    support_case *c = support_new("dsgd_aau", 4);
    for (int i = 0; i < 40 * 4; i++)
        seconds[i] = i < 4 ? first[i] : 1;
    support_replay(c, seconds, 40, file);
    if (_i == 0)
        support_option(c, "grace", 0);
    support_spread(c);
    SET(c, learning.optimizer.lr = 0, config.until = (dsgd_until){.seconds = 30.25});
    const support_outcome *const got = support_ok(c);
    unlink(file);
    for (int w = 1; w < 4; w++)
        ck_assert_double_le(
            support_distance(got->x, got->x + (size_t)w * got->n_params, got->n_params), 1e-4);
}

TEST(as_many_backups_as_workers_are_rejected)
{
    support_case *c = support_new("backup_workers", 4);
    support_option(c, "backups", 4);
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->status, DSGD_EUSAGE);
    ck_assert_has(got->error.text, "backups must be from 0 to 3 with 4 workers, got 4");
    support_option(c, "backups", 3);
    support_ok(c);
}
