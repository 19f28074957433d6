/**
 * @file test_against_oracle.c
 * Whole runs against sequential emulations of the algorithms (tests/support/oracle.h), with nobody
 * late.
 */
#include <math.h>
#include <string.h>

#include "tests/support/oracle.h"
#include "tests/support/oracle_groups.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { WORKERS = 8, STEPS = 18, N = 33 };

/** A case, and the same for the oracle. */
typedef struct twin {
    support_case *c;
    oracle_problem problem;
    support_problem *data;
    double initial[WORKERS * N], want[WORKERS * N], center[N];
} twin;

static twin *twin_new(const char *algorithm)
{
    twin *const t = support_alloc(1, sizeof *t);
    t->c = support_new(algorithm, WORKERS);
    t->c->learning.optimizer.weight_decay = 0.01;
    t->c->config.until = (dsgd_until){0};
    t->c->config.steps_each = STEPS;
    t->c->config.exchange.pieces = 3;
    t->data = support_problem_new(t->c);
    ck_assert_uint_eq(t->data->network.n_params, N);
    dsgd_network_initial(&t->data->network, t->c->config.seed, t->center);
    for (size_t w = 0; w < WORKERS; w++)
        memcpy(t->initial + w * N, t->center, sizeof t->center);
    t->problem =
        (oracle_problem){WORKERS, N, STEPS, 0.05, 0.9, 0.01, support_gradient, t->data, t->initial};
    return t;
}

static void expect_same(const twin *t)
{
    const support_outcome *got = support_ok(t->c);
    const double distance = support_distance(got->x, t->want, WORKERS * N);
    ck_assert_msg(distance <= 1e-12, "off by %g", distance);
    ck_assert_double_gt(support_distance(got->x, t->initial, WORKERS * N), 0.01);
}

static const long in_order[WORKERS] = {0, 1, 2, 3, 4, 5, 6, 7};

SUITE(against_oracle, "emulated", .seconds = 120);

TEST(post_local_sgd)
{
    twin *const t = twin_new("local_sgd");
    support_option(t->c, "period", 4);
    support_option(t->c, "post_local", 7);
    oracle_local_sgd(&t->problem, 4, 7, t->want);
    expect_same(t);
}

enum { ROUNDS = 36 };

/** [rounds][P][P] of the graph that the case has picked. */
static double *matrices(const twin *t, bool doubly_stochastic)
{
    double *const w = dsgd_xcalloc((size_t)ROUNDS * WORKERS * WORKERS, sizeof *w);
    int to[WORKERS];
    int from[WORKERS];
    int other[WORKERS];
    double share[WORKERS];
    const dsgd_neighbour_room room = {to, from, other, share};
    for (long r = 0; r < ROUNDS; r++) {
        for (int j = 0; j < WORKERS; j++) {
            const dsgd_neighbours n = dsgd_graph_neighbours(
                t->c->config.params, WORKERS, t->c->config.seed, j, r, doubly_stochastic, &room);
            double *const of_round = w + r * WORKERS * WORKERS;
            of_round[j * WORKERS + j] = n.keep;
            for (int i = 0; i < n.n_to; i++)
                of_round[n.to[i] * WORKERS + j] = n.share[i];
        }
    }
    return kept(w);
}

static long path[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {1, 5}};

static void pick_graph(const twin *t, const char *kind)
{
    void *const params = support_pick(t->c, "graph", kind);
    if (strcmp(kind, "edges") == 0)
        *(dsgd_pairs *)params = (dsgd_pairs){sizeof path / sizeof path[0], path};
}

static const char *const kinds[] = {"ring",     "torus",    "exponential",
                                    "matching", "complete", "edges"};

TEST_RANGE(d_psgd, 0, 36) /* _i: graph, rounds, order */
{
    twin *const t = twin_new("d_psgd");
    const long rounds = 1 + _i / 6 % 2;
    const int order = _i / 12;
    pick_graph(t, kinds[_i % 6]);
    support_option(t->c, "rounds", (double)rounds);
    support_option(t->c, "order", order);
    double *const w = matrices(t, true);
    oracle_gossip(&t->problem, w, ROUNDS, rounds, order == 2, t->want);
    expect_same(t);
}

TEST_RANGE(gradient_tracking, 0, 8) /* _i: graph, the same in every step; form */
{
    static const int fixed[] = {0, 1, 4, 5};
    twin *const t = twin_new("gradient_tracking");
    pick_graph(t, kinds[fixed[_i % 4]]);
    support_option(t->c, "form", _i / 4);
    if (_i == 5) { /* the smallest eigenvalue of this torus is -1/2 */
        const support_outcome *const refused = support_simulate(t->c);
        ck_assert_int_eq(refused->status, DSGD_EUSAGE);
        ck_assert_has(refused->error.text, "a ring, or form: tracking, would do");
        return;
    }
    double *const w = matrices(t, true);
    oracle_gradient_tracking(&t->problem, w, _i / 4 == 1, t->want);
    expect_same(t);
}

TEST_RANGE(sgp, 0, 6)
{
    twin *const t = twin_new("sgp");
    double weights[WORKERS];
    pick_graph(t, kinds[_i]);
    double *const w = matrices(t, false);
    oracle_sgp(&t->problem, w, ROUNDS, t->want, weights);
    expect_same(t);
    if (strcmp(kinds[_i], "edges") == 0) /* else all weights stay 1 */
        ck_assert_double_gt(fabs(weights[0] - 1), 0.1);
}

TEST_RANGE(osgp, 0, 6)
{
    twin *const t = twin_new("osgp");
    double weights[WORKERS];
    pick_graph(t, kinds[_i]);
    double *const w = matrices(t, false);
    oracle_osgp(&t->problem, w, ROUNDS, t->want, weights);
    expect_same(t);
}

TEST_RANGE(elastic, 0, 4)
{
    const bool momentum = _i % 2 == 1;
    const long period = 1 + 3 * (_i / 2);
    twin *const t = twin_new(momentum ? "eamsgd" : "easgd");
    support_option(t->c, "period", (double)period);
    support_option(t->c, "beta", 0.8);
    support_imbalance_number(t->c, "ramp", "seconds", 0.001); /* they come in order of rank */
    if (momentum) {
        t->c->learning.optimizer.momentum = 0;
        support_option(t->c, "delta", 0.7);
    }
    oracle_easgd(&t->problem, 0.1, period, momentum ? 0.7 : 0, in_order, t->center, t->want);
    expect_same(t);
}

/** The synchronous variant: all forces at once. */
TEST(elastic_synchronous)
{
    const double alpha = 0.1;
    const long period = 2;
    twin *const t = twin_new("easgd");
    support_option(t->c, "centre", 1);
    support_option(t->c, "period", (double)period);
    support_option(t->c, "beta", alpha * WORKERS);
    double v[WORKERS * N] = {0};
    double e[WORKERS * N];
    double g[N];
    memcpy(t->want, t->initial, sizeof t->want);
    for (long step = 0; step < STEPS; step++) {
        memset(e, 0, sizeof e);
        for (size_t i = 0; i < WORKERS * N && step % period == 0; i++)
            e[i] = alpha * (t->want[i] - t->center[i % N]);
        for (size_t i = 0; i < WORKERS * N; i++)
            t->center[i % N] += e[i];
        for (size_t w = 0; w < WORKERS; w++) {
            double *const x = t->want + w * N;
            support_gradient(t->data, (int)w, step, x, g);
            for (size_t i = 0; i < N; i++) {
                v[w * N + i] = 0.9 * v[w * N + i] + g[i] + 0.01 * x[i];
                x[i] -= 0.05 * v[w * N + i] + e[w * N + i];
            }
        }
    }
    expect_same(t);
}

TEST_RANGE(diloco, 0, 3)
{
    twin *const t = twin_new("diloco");
    support_option(t->c, "period", 1 + 3 * _i);
    oracle_diloco(&t->problem, 1 + 3 * _i, 0.7, 0.9, t->want);
    expect_same(t);
}

TEST_RANGE(slowmo, 0, 3)
{
    twin *const t = twin_new("slowmo");
    support_option(t->c, "period", 1 + 3 * _i);
    support_option(t->c, "alpha", 0.8);
    oracle_slowmo(&t->problem, 1 + 3 * _i, 0.8, 0.7, t->want);
    expect_same(t);
}

TEST_RANGE(scaffold, 0, 4) /* its option II is of plain SGD */
{
    twin *const t = twin_new("scaffold");
    t->problem.momentum = t->c->learning.optimizer.momentum = 0;
    t->problem.weight_decay = t->c->learning.optimizer.weight_decay = 0;
    support_option(t->c, "period", 1 + 2 * _i);
    support_option(t->c, "global_lr", 0.9);
    oracle_scaffold(&t->problem, 1 + 2 * _i, 0.9, t->want);
    expect_same(t);
}

TEST_RANGE(co2, 0, 6) /* _i: period, penalty; the clip is felt */
{
    twin *const t = twin_new("co2");
    const oracle_co2_options o = {1 + 2 * (_i / 2), 0.7, 0.3, 0.05, _i % 2 == 1};
    support_option(t->c, "period", (double)o.period);
    support_option(t->c, "outer_momentum", o.outer_momentum);
    support_option(t->c, "clip", o.clip);
    support_option(t->c, "penalty", o.penalty);
    oracle_co2(&t->problem, o, t->want);
    expect_same(t);
}

/** Local SGD where no interval ends; a step takes 1 s. */
TEST_RANGE(adacomm, 0, 6) /* _i: interval, tau */
{
    static const double intervals[] = {1e9, 4.5, 0.5};
    twin *const t = twin_new("adacomm");
    const oracle_adacomm_options o = {4 + 3 * (_i % 2), intervals[_i / 2], 0.5, support_batch_loss};
    support_option(t->c, "tau", (double)o.tau);
    support_option(t->c, "interval", o.interval);
    if (_i / 2 == 0)
        oracle_local_sgd(&t->problem, o.tau, 0, t->want);
    else
        oracle_adacomm(&t->problem, o, t->want);
    expect_same(t);
}

static int micro_batches;

/** Micro-batches that begin within 0.9 s, where worker w computes for 1 + 0.2 w seconds in all. */
static int begun_by_threshold(int w)
{
    const double each_s = (1 + 0.2 * w) / micro_batches;
    int begun = 0;
    while (begun < micro_batches && begun * each_s <= 0.9)
        begun++;
    return begun;
}

/** Of the four samples of a mini-batch, the next whole number. */
static double samples_by_threshold(int w)
{
    return round(4.0 * begun_by_threshold(w) / micro_batches);
}

/** The gradient of the micro-batches that begin, whose mean the oracle weighs by their share. */
static void dropping_gradient(void *problem, int worker, long step, const double *x, double *g)
{
    support_problem *const p = problem;
    p->count = step < 2 ? 4 : (uint32_t)samples_by_threshold(worker);
    support_gradient(p, worker, step, x, g);
}

TEST_RANGE(drop_compute, 0, 2)
{
    twin *const t = twin_new("drop_compute");
    support_option(t->c, "threshold", 0.9);
    micro_batches = 4 - _i;
    support_option(t->c, "micro_batches", micro_batches);
    support_option(t->c, "spare", 2);
    t->c->workload.backward_share = 1; /* nothing is begun in vain */
    support_imbalance_number(t->c, "ramp", "seconds", 0.2);
    double share[STEPS * WORKERS];
    for (int i = 0; i < STEPS * WORKERS; i++)
        share[i] = i < 2 * WORKERS ? 1 : samples_by_threshold(i % WORKERS) / 4;
    ck_assert_int_eq(begun_by_threshold(0), micro_batches);
    ck_assert_int_eq(begun_by_threshold(7), 2);
    t->problem.gradient = dropping_gradient;
    oracle_drop_compute(&t->problem, share, t->want);
    expect_same(t);
    double whole = 0;
    for (int i = 0; i < STEPS * WORKERS; i++)
        whole += i < 2 * WORKERS ? 1 : (double)begun_by_threshold(i % WORKERS) / micro_batches;
    ck_assert_double_eq_tol(support_ok(t->c)->result.samples, whole * t->c->workload.samples, 1e-9);
}

/* --- eager-SGD -------------------------------------------------------------------------------- */

/* --- one worker and two ----------------------------------------------------------------------- */

/** Momentum SGD by one worker of an emulation. */
typedef struct learner {
    double x[N], v[N], g[N];
} learner;

static void learn(learner *l, double lr)
{
    for (int i = 0; i < N; i++) {
        l->v[i] = 0.9 * l->v[i] + l->g[i] + 0.01 * l->x[i];
        l->x[i] -= lr * l->v[i];
    }
}

TEST(slow_momentum_is_in_units_of_the_learning_rate)
{
    enum { PERIOD = 3, DROP = 7 };
    twin *const t = twin_new("slowmo");
    t->c->config.workers = 1;
    t->c->drop = (dsgd_lr_drop){DROP, 0.1};
    t->c->learning.optimizer.decay = (dsgd_records){1, &t->c->drop};
    support_option(t->c, "period", PERIOD);
    support_option(t->c, "alpha", 0.8);
    support_problem *const data = support_problem_new(t->c);
    learner l = {0};
    double start[N];
    double u[N] = {0};
    memcpy(l.x, t->initial, sizeof l.x);
    memcpy(start, l.x, sizeof start);
    for (long step = 0; step < STEPS; step++) {
        const double lr = step < DROP ? 0.05 : 0.005;
        support_gradient(data, 0, step, l.x, l.g);
        learn(&l, lr);
        for (int i = 0; i < N && (step + 1) % PERIOD == 0; i++) {
            u[i] = 0.7 * u[i] + (start[i] - l.x[i]) / lr;
            l.x[i] = start[i] -= 0.8 * lr * u[i];
        }
    }
    ck_assert_double_le(support_distance(support_ok(t->c)->x, l.x, N), 1e-12);
}

enum { SHARED_COPY = 2, PULL };

static void mean_of_two(double *y, const double *x)
{
    for (int i = 0; i < N; i++)
        y[i] = (y[i] + x[i]) / 2;
}

/** At the end of a step; then the round behind its local steps. */
static void shared_copy_step(learner *l, double copy[2][N])
{
    for (int w = 0; w < 2; w++) {
        mean_of_two(l[w].x, copy[w]);
        memcpy(copy[w], l[w].x, sizeof copy[w]);
        learn(&l[w], 0.05);
    }
    mean_of_two(copy[0], copy[1]);
    memcpy(copy[1], copy[0], sizeof copy[1]);
}

static void pull_step(learner *l, double saved[2][N])
{
    mean_of_two(l[0].x, saved[1]);
    mean_of_two(l[1].x, saved[0]);
    for (int w = 0; w < 2; w++) {
        learn(&l[w], 0.05);
        memcpy(saved[w], l[w].x, sizeof saved[w]);
    }
}

/** AD-PSGD's variants by two workers in lock-step, one averaging per gradient. */
TEST_RANGE(released_pairs, SHARED_COPY, PULL + 1) /* _i: the variant */
{
    twin *const t = twin_new("ad_psgd");
    t->c->config.workers = 2;
    support_option(t->c, "variant", _i);
    if (_i == SHARED_COPY)
        support_option(t->c, "averagings", 1);
    support_problem *const data = support_problem_new(t->c);
    learner l[2] = {0};
    double second[2][N];
    double next[2][N];
    for (int w = 0; w < 2; w++) {
        memcpy(l[w].x, t->initial, sizeof l[w].x);
        memcpy(second[w], t->initial, sizeof second[w]);
    }
    for (long step = 0; step < STEPS; step++) {
        for (int w = 0; w < 2; w++)
            support_gradient(data, w, step, l[w].x, next[w]);
        for (int w = 0; w < 2; w++)
            memcpy(l[w].g, next[w], sizeof next[w]);
        if (_i == SHARED_COPY)
            shared_copy_step(l, second);
        if (_i == PULL)
            pull_step(l, second);
    }
    const support_outcome *got = support_ok(t->c);
    for (int w = 0; w < 2; w++)
        ck_assert_double_le(support_distance(got->x + w * N, l[w].x, N), 1e-12);
}
