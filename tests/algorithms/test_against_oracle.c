/**
 * @file test_against_oracle.c
 * Whole runs against sequential emulations of the algorithms (tests/support/oracle.h), with nobody
 * late.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suites.h"
#include "tests/support/oracle.h"
#include "tests/support/oracle_groups.h"
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

/** Workers come to servers in the order of their ranks, in every step. */
static void keep_order(twin *t)
{
    support_imbalance_number(t->c, "ramp", "seconds", 0.001);
}

START_TEST(local_sgd)
{
    twin *const t = twin_new("local_sgd");
    const bool post = _i == 2;
    const bool cta = _i == 1;
    support_option(t->c, "period", 4);
    support_option(t->c, "order", cta);
    if (post)
        support_option(t->c, "post_local", 7);
    oracle_local_sgd(&t->problem, 4, post ? 7 : 0, cta, t->want);
    expect_same(t);
}
END_TEST

START_TEST(wagma)
{
    static const long groups[] = {2, 4, 8, 4, 2};
    static const long periods[] = {5, 3, 10, 1, 6};
    twin *const t = twin_new("wagma");
    const bool cta = _i % 2 == 1;
    support_option(t->c, "group", groups[_i]);
    support_option(t->c, "period", periods[_i]);
    support_option(t->c, "order", cta);
    oracle_wagma(&t->problem, (int)groups[_i], periods[_i], cta, t->want);
    expect_same(t);
}
END_TEST

/**
 * Two workers, the second 0.5 s late, and no learning: the average of step 0 starts with the first
 * worker's gradient, from models that had been there before. The second comes late to it.
 */
START_TEST(wagma_cta_averages_when_the_gradient_is_ready)
{
    support_case *c = support_new("wagma", 2);
    support_option(c, "order", 1);
    support_imbalance_number(c, "ramp", "seconds", 0.5);
    c->config.exchange.pieces = 3;
    c->config.until = (dsgd_until){0};
    c->config.steps_each = 1;
    c->learning.optimizer.lr = 0;
    support_spread(c);
    const support_outcome *got = support_ok(c);
    support_algorithm(c, &support_alone);
    const support_outcome *first = support_ok(c);
    double want[2 * N];
    for (int i = 0; i < N; i++) {
        const double sum = first->x[i] + first->x[N + i];
        want[i] = sum / 2;
        want[N + i] = (sum + first->x[N + i]) / 3;
    }
    ck_assert_double_le(support_distance(got->x, want, sizeof want / sizeof want[0]), 1e-12);
}
END_TEST

START_TEST(dasgd)
{
    static const long tau[] = {4, 4, 3, 5};
    static const long d[] = {1, 4, 0, 2};
    twin *const t = twin_new("dasgd");
    support_option(t->c, "tau", tau[_i]);
    support_option(t->c, "d", d[_i]);
    oracle_dasgd(&t->problem, tau[_i], d[_i], 0.25, t->want);
    expect_same(t);
}
END_TEST

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
    return w;
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

START_TEST(d_psgd) /* _i: graph, rounds, order */
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
    free(w);
}
END_TEST

START_TEST(gradient_tracking) /* _i: graph, the same in every step; form */
{
    static const int fixed[] = {0, 1, 4, 5};
    twin *const t = twin_new("gradient_tracking");
    pick_graph(t, kinds[fixed[_i % 4]]);
    support_option(t->c, "form", _i / 4);
    double *const w = matrices(t, true);
    oracle_gradient_tracking(&t->problem, w, _i / 4 == 1, NULL, t->want);
    expect_same(t);
    free(w);
}
END_TEST

START_TEST(sgp)
{
    twin *const t = twin_new("sgp");
    double weights[WORKERS];
    pick_graph(t, kinds[_i]);
    double *const w = matrices(t, false);
    oracle_sgp(&t->problem, w, ROUNDS, t->want, weights);
    expect_same(t);
    if (strcmp(kinds[_i], "edges") == 0) /* else all weights stay 1 */
        ck_assert_double_gt(fabs(weights[0] - 1), 0.1);
    free(w);
}
END_TEST

START_TEST(osgp)
{
    twin *const t = twin_new("osgp");
    double weights[WORKERS];
    pick_graph(t, kinds[_i]);
    double *const w = matrices(t, false);
    oracle_osgp(&t->problem, w, ROUNDS, t->want, weights);
    expect_same(t);
    free(w);
}
END_TEST

START_TEST(servers)
{
    twin *const t = twin_new("a_psgd");
    const long period = 1 + 2 * _i;
    support_option(t->c, "period", (double)period);
    support_option(t->c, "servers", 1 + _i);
    keep_order(t);
    oracle_downpour(&t->problem, period, in_order, t->center, t->want);
    expect_same(t);
}
END_TEST

START_TEST(elastic)
{
    const bool momentum = _i % 2 == 1;
    const long period = 1 + 3 * (_i / 2);
    twin *const t = twin_new(momentum ? "eamsgd" : "easgd");
    support_option(t->c, "period", (double)period);
    support_option(t->c, "beta", 0.8);
    keep_order(t);
    if (momentum) {
        t->c->learning.optimizer.momentum = 0;
        support_option(t->c, "delta", 0.7);
    }
    oracle_easgd(&t->problem, 0.1, period, momentum ? 0.7 : 0, in_order, t->center, t->want);
    expect_same(t);
}
END_TEST

/** The synchronous variant: all forces at once. */
START_TEST(elastic_synchronous)
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
END_TEST

START_TEST(diloco)
{
    twin *const t = twin_new("diloco");
    support_option(t->c, "period", 1 + 3 * _i);
    oracle_diloco(&t->problem, 1 + 3 * _i, 0.7, 0.9, t->want);
    expect_same(t);
}
END_TEST

START_TEST(slowmo)
{
    twin *const t = twin_new("slowmo");
    support_option(t->c, "period", 1 + 3 * _i);
    support_option(t->c, "alpha", 0.8);
    oracle_slowmo(&t->problem, 1 + 3 * _i, 0.8, 0.7, t->want);
    expect_same(t);
}
END_TEST

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

START_TEST(drop_compute)
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
END_TEST

/* --- eager-SGD -------------------------------------------------------------------------------- */

START_TEST(eager_on_time_is_allreduce) /* _i: initiator, and which option */
{
    static const char *const options[] = {NULL, "late", "limiter", "period"};
    static const double values[] = {0, 1, 3, 4};
    twin *const t = twin_new(_i % 2 == 0 ? "eager_solo" : "eager_majority");
    if (_i / 2 > 0)
        support_option(t->c, options[_i / 2], values[_i / 2]);
    twin *const baseline = twin_new("allreduce");
    memcpy(t->want, support_ok(baseline->c)->x, sizeof t->want);
    expect_same(t);
}
END_TEST

/**
 * Two workers, of which one always comes after the version of its step, and steps so small that
 * gradients hardly change. With a limiter all gradients are in the sum by a synchronous step; a
 * late one that is discarded is in no sum but that one's.
 */
START_TEST(eager_keeps_late_gradients_unless_it_discards_them)
{
    enum { LATE_STEPS = 12, LIMITER = 3 };
    const bool discards = _i == 1;
    support_case *c = support_new("eager_solo", 2);
    support_option(c, "limiter", LIMITER);
    support_option(c, "late", discards);
    support_imbalance_number(c, "ramp", "seconds", 0.5);
    c->learning.optimizer = (dsgd_optimizer){.lr = 1e-6};
    c->config.steps_each = LATE_STEPS;
    support_problem *const data = support_problem_new(c);
    double initial[N];
    double sum[N] = {0};
    double g[N];
    dsgd_network_initial(&data->network, c->config.seed, initial);
    for (int w = 0; w < 2; w++) {
        for (long step = 0; step < LATE_STEPS; step++) {
            support_gradient(data, w, step, initial, g);
            for (int i = 0; i < N; i++)
                sum[i] += discards && w == 1 && (step + 1) % (LIMITER + 1) != 0 ? 0 : g[i];
        }
    }
    const support_outcome *got = support_ok(c);
    double moved[N];
    for (int i = 0; i < N; i++)
        moved[i] = (initial[i] - got->x[i]) / 1e-6 * 2;
    ck_assert_double_lt(support_distance(moved, sum, N), 1e-4);
}
END_TEST

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

START_TEST(slow_momentum_is_in_units_of_the_learning_rate)
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
END_TEST

enum { GOSSIP_PROCESS = 1, SHARED_COPY, PULL };

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
START_TEST(released_pairs) /* _i: the variant */
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
END_TEST

/** The previous gradient becomes l->g; then one of the step that begins, at the model without it. */
static void begin_step(learner *l, support_problem *data, int worker, long step, double *next)
{
    memcpy(l->g, next, sizeof l->g);
    support_gradient(data, worker, step, l->x, next);
}

/**
 * SGP's AD-PSGD by two workers: averagings of 0.37 s in an endless loop beside steps of 1 s. What
 * the active one sends arrives after half of that, when the passive one takes the mean; it has the
 * mean at the end, and between two averagings it applies the gradient of the previous step. The
 * passive one does so at once.
 */
START_TEST(gossip_process)
{
    static const double half_s = 0.185;
    twin *const t = twin_new("ad_psgd");
    t->c->config.workers = 2;
    t->c->config.exchange.pieces = 1;
    t->c->workload.bytes = (half_s - 1e-6) * 10e9;
    t->c->config.steps_each = 0;
    t->c->config.until = (dsgd_until){.seconds = STEPS - 0.1};
    support_option(t->c, "variant", GOSSIP_PROCESS);
    support_problem *const data = support_problem_new(t->c);
    learner l[2] = {0};
    double next[2][N] = {{0}}; /* gradients of the step under way */
    double sent[N];
    double answer[N];
    long step = -1; /* under way */
    bool waits = false; /* rank 1's gradient, for the end of an averaging */
    for (int w = 0; w < 2; w++)
        memcpy(l[w].x, t->initial, sizeof l[w].x);
    for (long half = 0; (double)half * half_s < STEPS - 0.1; half++) {
        const double now_s = (double)half * half_s;
        for (; step + 1 <= now_s; step++) {
            for (int w = 0; w < 2; w++)
                begin_step(&l[w], data, w, step + 1, next[w]);
            waits = step >= 0;
            if (step >= 0)
                learn(&l[0], 0.05);
        }
        if (half % 2 == 1) { /* arrives */
            memcpy(answer, l[0].x, sizeof answer);
            mean_of_two(l[0].x, sent);
            continue;
        }
        for (int i = 0; i < N && half > 0; i++)
            l[1].x[i] += (answer[i] - sent[i]) / 2;
        if (waits)
            learn(&l[1], 0.05);
        waits = false;
        memcpy(sent, l[1].x, sizeof sent);
    }
    const support_outcome *got = support_ok(t->c);
    for (int w = 0; w < 2; w++)
        ck_assert_double_le(support_distance(got->x + w * N, l[w].x, N), 1e-12);
}
END_TEST

Suite *against_oracle_suite(void)
{
    Suite *s = suite_create("against_oracle");
    TCase *t = tcase_create("emulated");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, local_sgd, 0, 3);
    tcase_add_loop_test(t, wagma, 0, 5);
    tcase_add_test(t, wagma_cta_averages_when_the_gradient_is_ready);
    tcase_add_loop_test(t, dasgd, 0, 4);
    tcase_add_loop_test(t, d_psgd, 0, 36);
    tcase_add_loop_test(t, gradient_tracking, 0, 8);
    tcase_add_loop_test(t, sgp, 0, 6);
    tcase_add_loop_test(t, osgp, 0, 6);
    tcase_add_loop_test(t, servers, 0, 3);
    tcase_add_loop_test(t, elastic, 0, 4);
    tcase_add_test(t, elastic_synchronous);
    tcase_add_loop_test(t, diloco, 0, 3);
    tcase_add_loop_test(t, slowmo, 0, 3);
    tcase_add_loop_test(t, drop_compute, 0, 2);
    tcase_add_loop_test(t, eager_on_time_is_allreduce, 0, 8);
    tcase_add_loop_test(t, eager_keeps_late_gradients_unless_it_discards_them, 0, 2);
    tcase_add_test(t, slow_momentum_is_in_units_of_the_learning_rate);
    tcase_add_test(t, gossip_process);
    tcase_add_loop_test(t, released_pairs, SHARED_COPY, PULL + 1);
    suite_add_tcase(s, t);
    return s;
}
