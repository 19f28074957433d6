/**
 * @file test_against_arrivals.c
 * Compares whole runs with emulations whose results depend on the order in which messages arrive
 * (tests/support/arrivals.h). The step times come from a file, in which one step in six takes up to
 * 6 s more. Each message has one byte and takes a microsecond.
 */
#include <unistd.h>

#include "tests/support/arrivals.h"
#include "tests/support/replay.h"
#include "tests/support/suite.h"

enum { MOST = REPLAY_MOST_WORKERS, ROWS = REPLAY_ROWS, N = REPLAY_N };

static support_pair *pair_new(const char *algorithm, int workers, double until_s)
{
    support_pair *const t = support_pair_new(algorithm, workers, 1);
    support_pair_lr(t, 0.005);
    t->c->config.until = (dsgd_until){.seconds = until_s};
    t->problem.until_s = until_s;
    return t;
}

static void expect_loss(const support_pair *t, const dsgd_point *point)
{
    const double want = support_loss(t->problem.argument, t->center);
    ck_assert_double_eq_tol(point->at.loss / want, 1, 4e-14);
}

/**
 * Compares three counts of a run with the counts of its emulation. The counts are the number of
 * late messages, the share of the workers' time in cancelled computations, and the ages of the
 * applied messages.
 */
static void expect_same_counts(const support_pair *t, const dsgd_run_result *r)
{
    const arrivals_result *const a = &t->arrived;
    const double worker_s = r->virtual_s * t->c->config.workers;
    ck_assert_double_eq((double)r->dropped, a->dropped);
    ck_assert_double_eq_tol(r->shares.lost, a->lost_s / worker_s, 1e-4);
    if (a->delay.n == 0)
        return;
    ck_assert_double_eq(r->gradient_staleness_max, a->delay.max);
    ck_assert_double_eq_tol(r->gradient_staleness_mean, a->delay.sum / a->delay.n, 1e-9);
}

/**
 * Compares the final models of the workers and of the server with the emulation. The evaluated
 * model must be the server's.
 */
static const support_outcome *expect_same(support_pair *t)
{
    const support_outcome *const got = support_ok(t->c);
    unlink(t->file);
    const size_t workers = (size_t)t->c->config.workers;
    double center[N];
    for (size_t i = 0; i < N; i++) {
        center[i] = (double)(workers + 1) * got->final_mean[i];
        for (size_t w = 0; w < workers; w++)
            center[i] -= got->x[w * N + i];
    }
    const double of_workers = support_distance(got->x, t->x, workers * N);
    const double of_server = support_distance(center, t->center, N);
    ck_assert_msg(of_workers <= 1e-12 && of_server <= 1e-12,
                  "%s: workers are off by %g, the server by %g", t->c->config.algorithm->about.name,
                  of_workers, of_server);
    ck_assert_double_gt(support_distance(center, t->initial, N), 0.01);
    expect_loss(t, &got->points[got->result.n_points - 1]);
    expect_same_counts(t, &got->result);
    return got;
}

static const int counts[] = {1, 2, 5, 12};
static const double ends_s[] = {7.77, 41.3};
enum { N_COUNTS = sizeof counts / sizeof counts[0], N_CASES = 2 * N_COUNTS };

static support_pair *pair_of(const char *algorithm, int i)
{
    return pair_new(algorithm, counts[i % N_COUNTS], ends_s[i / N_COUNTS % 2]);
}

SUITE(against_arrivals, "late", .seconds = 120);

/** The loop variable _i selects the number of workers, the end of the run and the slack. */
TEST_RANGE(ssp, 0, 4 * N_CASES)
{
    static const long slacks[] = {0, 1, 3, -1};
    support_pair *const t = pair_of("ssp", _i);
    const long slack = slacks[_i / N_CASES];
    support_option(t->c, "slack", (double)slack);
    arrivals_ssp(&t->problem, slack, &t->arrived);
    expect_same(t);
}

/**
 * The loop variable _i selects the number of workers, the end of the run, the number of backup
 * workers and the rule.
 */
TEST_RANGE(backup_workers, 0, 6 * N_CASES)
{
    static const int backups[] = {0, 1, 3};
    support_pair *const t = pair_of("backup_workers", _i);
    const int b = backups[_i / N_CASES % 3];
    const bool queues = _i >= 3 * N_CASES;
    const int fewer = b < t->problem.workers ? b : t->problem.workers - 1;
    OPTIONS(t->c, {"backups", fewer}, {"release", queues});
    support_pair_lr(t, 0.05);
    arrivals_backup_workers(&t->problem, fewer, queues, &t->arrived);
    expect_same(t);
}

/** The loop variable _i selects the number of workers, the end of the run and the batch. */
TEST_RANGE(rennala, 0, 3 * N_CASES + N_COUNTS)
{
    static const long batches[] = {1, 3, -1, 11};
    /* a batch of -1 stands for the number of workers */
    const long batch = batches[_i / N_CASES];
    /* a batch of 11 gradients needs the case with the later end */
    support_pair *const t = pair_of("rennala", batch > 3 ? N_COUNTS + _i : _i);
    support_option(t->c, "batch", (double)batch);
    support_pair_lr(t, 0.05);
    arrivals_rennala(&t->problem, batch < 0 ? t->problem.workers : batch, &t->arrived);
    expect_same(t);
}

/** The loop variable _i selects the number of workers, the end of the run and the delay. */
TEST_RANGE(ringmaster, 0, 4 * N_CASES)
{
    static const long delays[] = {1, 3, -1, -2};
    support_pair *const t = pair_of("ringmaster", _i);
    /* a delay of -1 stands for the number of workers, and -2 stands for infinity */
    const long option = delays[_i / N_CASES];
    const long delay = option == -1 ? t->problem.workers : option;
    support_option(t->c, "delay", (double)option);
    /*
     * Momentum and weight decay are 0, because the emulation uses them at the server and the
     * simulator at the worker.
     */
    t->problem.momentum = t->problem.weight_decay = 0;
    t->c->learning.optimizer.momentum = t->c->learning.optimizer.weight_decay = 0;
    arrivals_ringmaster(&t->problem, delay < 0 ? 0 : delay, true, &t->arrived);
    expect_same(t);
}

/** The loop variable _i selects the number of workers, the end of the run and the options. */
TEST_RANGE(async_local_sgd, 0, 5 * N_CASES)
{
    static const struct {
        long period, delay;
        double lr, momentum, c, grace;
    } rows[] = {{1, 1, 0.7, 0.9, 0, 0},
                {3, 4, 1, 0.5, 0, 0},
                {2, 3, 0.7, 0.8, 0.25, 0},
                {2, 3, 0.7, 0.8, 0.25, 0.3137},
                {1, 4, 0.7, 0.9, 0, 0.8713}};
    const size_t row = (size_t)(_i / N_CASES);
    support_pair *const t = pair_of("async_local_sgd", _i);
    long steps[MOST];
    for (int w = 0; w < MOST; w++)
        steps[w] = rows[row].period;
    OPTIONS(t->c, {"period", (double)rows[row].period}, {"delay", (double)rows[row].delay},
            {"outer_lr", rows[row].lr}, {"momentum", rows[row].momentum}, {"c", rows[row].c},
            {"grace", rows[row].grace});
    support_pair_lr(t, 0.02);
    arrivals_local_sgd(&t->problem,
                       (arrivals_local_options){steps, rows[row].delay, rows[row].lr,
                                                rows[row].momentum, rows[row].c, rows[row].grace},
                       &t->arrived);
    expect_same(t);
}

/**
 * All workers exchange the times of their first steps before they continue. The numbers of their
 * local steps follow from the speeds that these times give.
 */
TEST_RANGE(dynamic_local_updates, 0, 3)
{
    enum { PERIOD = 6 };
    support_pair *const t = pair_new("async_local_sgd", counts[1 + _i], 30.3);
    const int workers = t->problem.workers;
    long steps[MOST];
    /* the factors of imbalance give each worker its own speed */
    for (int w = 0; w < workers; w++) {
        for (int row = 0; row < ROWS; row++)
            t->seconds[row * workers + w] = 1 + 0.313 * w + 1e-3 * row;
        steps[w] = arrivals_local_steps(PERIOD, 1 / t->seconds[w], 1);
    }
    unlink(t->file);
    t->c->config.imbalance.n = 0;
    support_replay(t->c, t->seconds, ROWS, t->file);
    OPTIONS(t->c, {"period", PERIOD}, {"delay", 4}, {"outer_lr", 1}, {"dylu", true}, {"grace", 0});
    support_pair_lr(t, 0.02);
    arrivals_local_sgd(&t->problem, (arrivals_local_options){steps, 4, 1, 0.9, 0, 0}, &t->arrived);
    expect_same(t);
}

/* --- evaluated models ------------------------------------------------------------------------- */

/**
 * One of eight workers is a hundred times slower. The slow worker still has the start model, which
 * no server has any more. Evaluations must use the server's model. The loop variable _i selects the
 * algorithm.
 */
TEST_RANGE(evaluations_are_of_the_servers_model, 0, 4)
{
    static const char *const names[] = {"ssp", "a_psgd", "ringmaster", "async_local_sgd"};
    static const long period[] = {5, 5, 5, 5, 5, 5, 5, 5};
    support_pair *const t = pair_new(names[_i], 8, 0);
    for (int i = 0; i < 8 * ROWS; i++)
        t->seconds[i] = (i % 8 == 3 ? 100 : 1) * (1 + 0.0131 * (i % 8));
    unlink(t->file);
    t->c->config.imbalance.n = 0;
    support_replay(t->c, t->seconds, ROWS, t->file);
    static const char *const options[] = {"slack", "servers", "delay", "delay"};
    /* negative values of the option stand for infinity */
    static const double of_options[] = {-1, 3, -2, 2};
    support_option(t->c, options[_i], of_options[_i]);
    if (_i == 3) {
        OPTIONS(t->c, {"period", 5}, {"grace", 0}, {"outer_lr", 0.7}, {"momentum", 0.9});
    }
    /* without overlap, all chunks of a vector are pushed together */
    t->c->config.exchange.overlap = false;
    /*
     * Momentum and weight decay are 0, because the emulation uses them at the server and the
     * simulator at the worker.
     */
    t->problem.momentum = t->problem.weight_decay = 0;
    SET(t->c, learning.optimizer.momentum = t->c->learning.optimizer.weight_decay = 0,
        config.until = (dsgd_until){.steps = 60}, learning.evaluate.every = 5);
    const support_outcome *const got = support_ok(t->c);
    unlink(t->file);
    ck_assert_uint_eq(got->result.n_points, 60 / 5 + 1);
    for (size_t i = 1; i < got->result.n_points; i++) {
        t->problem.until_s = got->points[i].virtual_s;
        if (_i < 2)
            arrivals_ssp(&t->problem, -1, &t->arrived);
        else if (_i == 2)
            arrivals_ringmaster(&t->problem, 0, true, &t->arrived);
        else
            arrivals_local_sgd(&t->problem, (arrivals_local_options){period, 2, 0.7, 0.9, 0},
                               &t->arrived);
        expect_loss(t, &got->points[i]);
    }
}

/**
 * All workers arrive within the grace period of the first worker, so N = P arrivals are one
 * Nesterov step, as in DiLoCo. The loop variable _i selects the number of workers, and whether they
 * differ by a millisecond.
 */
TEST_RANGE(async_local_sgd_at_equal_speeds_is_diloco, 0, 4)
{
    const int workers = _i % 2 == 0 ? 2 : 8;
    double *x[2];
    for (int i = 0; i < 2; i++) {
        support_case *const c = support_new(i == 0 ? "async_local_sgd" : "diloco", workers);
        c->config.until.steps = 60;
        OPTIONS(c, {"period", 5}, {"outer_lr", 0.7});
        support_option(c, i == 0 ? "momentum" : "outer_momentum", 0.9);
        if (_i >= 2)
            support_imbalance_number(c, "ramp", "seconds", 1e-3);
        x[i] = support_mean_model(support_ok(c), workers);
    }
    const double distance = support_distance(x[0], x[1], N);
    ck_assert_msg(distance <= support_rounding(), "off by %g", distance);
}

/* --- DSGD-AAU --------------------------------------------------------------------------------- */

static int ring_distance(const emulation_problem *p, int i, int j)
{
    const int distance = (i - j + p->workers) % p->workers;
    return 2 * distance > p->workers ? p->workers - distance : distance;
}

static bool on_ring(const emulation_problem *p, int i, int j)
{
    return ring_distance(p, i, j) == 1;
}

static bool anywhere(const emulation_problem *p, int i, int j)
{
    return ring_distance(p, i, j) > 0;
}

/**
 * The server of DSGD-AAU has no model, and only names the workers that mix. The loop variable _i
 * selects the number of workers, the end of the run and the graph.
 */
TEST_RANGE(dsgd_aau, 0, 2 * N_CASES)
{
    static const struct {
        const char *name;
        bool (*edge)(const emulation_problem *p, int i, int j);
    } graphs[] = {{"ring", on_ring}, {"complete", anywhere}};
    support_pair *const t = pair_of("dsgd_aau", _i);
    support_spec(t->c, "graph", graphs[_i / N_CASES].name);
    support_option(t->c, "grace", 0);
    arrivals_dsgd_aau(&t->problem, graphs[_i / N_CASES].edge, &t->arrived);
    const support_outcome *const got = support_ok(t->c);
    unlink(t->file);
    const size_t n = (size_t)t->problem.workers * N;
    const double distance = support_distance(got->x, t->x, n);
    ck_assert_msg(distance <= 1e-12, "off by %g; waits %g s, not %g s", distance,
                  got->result.shares.wait, t->arrived.waited_s);
    /* this comparison needs the case with the later end of the run */
    if (t->problem.workers > 1 && _i / N_COUNTS % 2 == 1)
        ck_assert_double_ge(t->arrived.epochs, 1);
}
