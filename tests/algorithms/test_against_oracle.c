/**
 * @file test_against_oracle.c
 * Compares whole runs with sequential emulations of the algorithms (tests/support/oracle*.h). No
 * worker is late.
 */
#include "base/draw.h"
#include "models/encodings/params.h"
#include "tests/support/lockstep.h"
#include "tests/support/oracle_encoded.h"
#include "tests/support/oracle_groups.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { WORKERS = 8, MOST = 12, STEPS = 18, N = 33, SEED = 1, ROUNDS = 36 };

/** A simulated case, and the same problem for the oracle. */
typedef struct twin {
    support_case *c;
    oracle_problem problem;
    support_problem *data;
    size_t pieces;
    double initial[MOST * N], want[MOST * N], center[N];
} twin;

static twin *twin_of(const char *algorithm, int workers, long pieces)
{
    twin *const t = support_alloc(1, sizeof *t);
    t->c = support_new(algorithm, workers);
    t->c->learning.optimizer.weight_decay = 0.01;
    support_steps_each(t->c, STEPS);
    t->c->config.exchange.pieces = pieces;
    t->pieces = (size_t)pieces;
    t->data = support_problem_new(t->c);
    ck_assert_uint_eq(t->data->network.n_params, N);
    dsgd_network_initial(&t->data->network, SEED, t->center);
    for (size_t w = 0; w < (size_t)workers; w++)
        memcpy(t->initial + w * N, t->center, sizeof t->center);
    t->problem = (oracle_problem){.workers = workers,
                                  .n = N,
                                  .steps = STEPS,
                                  .lr = 0.05,
                                  .momentum = 0.9,
                                  .weight_decay = 0.01,
                                  .gradient = support_gradient,
                                  .argument = t->data,
                                  .initial = t->initial};
    return t;
}

static twin *twin_new(const char *algorithm)
{
    return twin_of(algorithm, WORKERS, 3);
}

static void expect_same(const twin *t)
{
    const size_t n = (size_t)t->problem.workers * N;
    const support_outcome *const got = support_ok(t->c);
    const double distance = support_distance(got->x, t->want, n);
    ck_assert_msg(distance <= 1e-12, "%s is off by %g", t->c->config.algorithm->about.name,
                  distance);
    ck_assert_double_gt(support_distance(got->x, t->initial, n), 0.01);
}

/**
 * Returns the entry of a registry (for example, an encoding) that an option of the algorithm
 * selects.
 */
static dsgd_spec *picked(const twin *t, const char *option)
{
    const dsgd_option *const o = dsgd_option_find(t->c->config.algorithm->about.options, option);
    return (dsgd_spec *)(void *)((char *)(void *)t->c->config.params + o->offset);
}

/**
 * Returns the mixing matrices of the case's graph for the given number of rounds, as an array
 * [rounds][P][P].
 */
static double *mixing_of(const twin *t, long rounds, bool doubly_stochastic)
{
    const int workers = t->problem.workers;
    double *const w = support_alloc((size_t)(rounds * workers * workers), sizeof *w);
    int to[MOST], from[MOST], other[MOST];
    double share[MOST];
    const dsgd_neighbour_room room = {to, from, other, share};
    for (long r = 0; r < rounds; r++)
        for (int j = 0; j < workers; j++) {
            const dsgd_neighbours n = dsgd_graph_neighbours(picked(t, "graph"), workers, SEED, j, r,
                                                            doubly_stochastic, &room);
            double *const of_round = w + r * workers * workers;
            of_round[j * workers + j] = n.keep;
            for (int i = 0; i < n.n_to; i++)
                of_round[n.to[i] * workers + j] = n.share[i];
        }
    return w;
}

static const long in_order[WORKERS] = {0, 1, 2, 3, 4, 5, 6, 7};

SUITE(against_oracle, "emulated", .seconds = 120);

TEST(post_local_sgd)
{
    twin *const t = twin_new("local_sgd");
    OPTIONS(t->c, {"period", 4}, {"post_local", 7});
    oracle_local_sgd(&t->problem, 4, 7, t->want);
    expect_same(t);
}

static long path[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {1, 5}};

static void pick_graph(const twin *t, const char *kind)
{
    void *const params = support_spec(t->c, "graph", kind);
    if (strcmp(kind, "edges") == 0)
        *(dsgd_pairs *)params = (dsgd_pairs){sizeof path / sizeof path[0], path};
}

static const char *const kinds[] = {"ring",     "torus",    "exponential",
                                    "matching", "complete", "edges"};

/** The loop variable _i selects the graph, the number of rounds and the order of mixing and local
 * step. */
TEST_RANGE(d_psgd, 0, 36)
{
    twin *const t = twin_new("d_psgd");
    const long rounds = 1 + _i / 6 % 2;
    const int order = _i / 12;
    pick_graph(t, kinds[_i % 6]);
    OPTIONS(t->c, {"rounds", (double)rounds}, {"order", order});
    double *const w = mixing_of(t, ROUNDS, true);
    oracle_gossip(&t->problem, w, ROUNDS, rounds, order == 2, t->want);
    expect_same(t);
}

/** The loop variable _i selects the number of workers, the graph and the form. */
TEST_RANGE(gradient_tracking, 0, 24)
{
    static const struct {
        const char *graph;
        int workers;
    } rows[] = {{"ring", 3},  {"ring", 5},     {"ring", 8},     {"ring", 12},
                {"torus", 6}, {"torus", 8},    {"torus", 9},    {"ring", 9},
                {"edges", 8}, {"complete", 2}, {"complete", 7}, {"complete", 8}};
    const int row = _i / 2;
    const bool d2 = _i % 2 == 1;
    twin *const t = twin_of("gradient_tracking", rows[row].workers, 1 + 3 * (row % 2));
    pick_graph(t, rows[row].graph);
    support_option(t->c, "form", d2);
    /* the smallest eigenvalue of this torus is -1/2, which is too low for D2 */
    if (d2 && row == 5) {
        const support_outcome *const refused = support_simulate(t->c);
        ck_assert_int_eq(refused->status, DSGD_EUSAGE);
        ck_assert_has(refused->error.text, "Use graph: ring or form: tracking");
        return;
    }
    oracle_gradient_tracking(&t->problem, mixing_of(t, 1, true), d2, t->want);
    expect_same(t);
}

TEST_RANGE(sgp, 0, 6)
{
    twin *const t = twin_new("sgp");
    double weights[WORKERS];
    pick_graph(t, kinds[_i]);
    double *const w = mixing_of(t, ROUNDS, false);
    oracle_sgp(&t->problem, w, ROUNDS, t->want, weights);
    expect_same(t);
    if (strcmp(kinds[_i], "edges") == 0) /* in other graphs, all edges keep the weight 1 */
        ck_assert_double_gt(fabs(weights[0] - 1), 0.1);
}

TEST_RANGE(osgp, 0, 6)
{
    twin *const t = twin_new("osgp");
    double weights[WORKERS];
    pick_graph(t, kinds[_i]);
    double *const w = mixing_of(t, ROUNDS, false);
    oracle_osgp(&t->problem, w, ROUNDS, t->want, weights);
    expect_same(t);
}

TEST_RANGE(elastic, 0, 4)
{
    const bool momentum = _i % 2 == 1;
    const long period = 1 + 3 * (_i / 2);
    twin *const t = twin_new(momentum ? "eamsgd" : "easgd");
    OPTIONS(t->c, {"period", (double)period}, {"beta", 0.8});
    /* with this imbalance, workers arrive in the order of their ranks */
    support_imbalance_number(t->c, "ramp", "seconds", 0.001);
    if (momentum) {
        t->c->learning.optimizer.momentum = 0;
        support_option(t->c, "delta", 0.7);
    }
    oracle_easgd(&t->problem, 0.1, period, momentum ? 0.7 : 0, in_order, t->center, t->want);
    expect_same(t);
}

/** Tests the synchronous variant of EASGD, in which all workers and the centre change at once. */
TEST(elastic_synchronous)
{
    const double alpha = 0.1;
    const long period = 2;
    twin *const t = twin_new("easgd");
    OPTIONS(t->c, {"centre", 1}, {"period", (double)period}, {"beta", alpha * WORKERS});
    double v[WORKERS * N] = {0}, e[WORKERS * N], g[N];
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
    OPTIONS(t->c, {"period", 1 + 3 * _i}, {"alpha", 0.8});
    oracle_slowmo(&t->problem, 1 + 3 * _i, 0.8, 0.7, t->want);
    expect_same(t);
}

/** Option II of SCAFFOLD is defined for plain SGD. */
TEST_RANGE(scaffold, 0, 4)
{
    twin *const t = twin_new("scaffold");
    t->problem.momentum = t->c->learning.optimizer.momentum = 0;
    t->problem.weight_decay = t->c->learning.optimizer.weight_decay = 0;
    OPTIONS(t->c, {"period", 1 + 2 * _i}, {"global_lr", 0.9});
    oracle_scaffold(&t->problem, 1 + 2 * _i, 0.9, t->want);
    expect_same(t);
}

static int micro_batches;

/**
 * Returns the number of micro-batches that worker w starts within 0.9 s. The worker computes for 1
 * + 0.2 w seconds per step.
 */
static int begun_by_threshold(int w)
{
    const double each_s = (1 + 0.2 * w) / micro_batches;
    int begun = 0;
    while (begun < micro_batches && begun * each_s <= 0.9)
        begun++;
    return begun;
}

/**
 * Returns the number of computed samples of worker w, rounded to a whole number of the four samples
 * of a mini-batch.
 */
static double samples_by_threshold(int w)
{
    return round(4.0 * begun_by_threshold(w) / micro_batches);
}

/**
 * Computes the mean gradient of the samples that are computed. The oracle multiplies this mean by
 * their share.
 */
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
    OPTIONS(t->c, {"micro_batches", micro_batches}, {"spare", 2});
    t->c->workload.backward_share = 1; /* each micro-batch that starts also ends */
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

/* --- Tests of runs with one or two workers ---------------------------------------------------- */

/** A worker that makes momentum SGD, in an emulation. */
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
    t->c->learning.optimizer.decay = (dsgd_structs){1, &t->c->drop};
    OPTIONS(t->c, {"period", PERIOD}, {"alpha", 0.8});
    support_problem *const data = support_problem_new(t->c);
    learner l = {0};
    double start[N], u[N] = {0};
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

static void mean_of_two(double *y, const double *x)
{
    for (int i = 0; i < N; i++)
        y[i] = (y[i] + x[i]) / 2;
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

/**
 * Tests variant pull of AD-PSGD with two workers in lock-step. (test_emulation.c tests the other
 * variants.)
 */
TEST(pulled_pairs)
{
    enum { PULL = 3 };
    twin *const t = twin_new("ad_psgd");
    t->c->config.workers = 2;
    support_option(t->c, "variant", PULL);
    support_problem *const data = support_problem_new(t->c);
    learner l[2] = {0};
    double saved[2][N];
    for (int w = 0; w < 2; w++) {
        memcpy(l[w].x, t->initial, sizeof l[w].x);
        memcpy(saved[w], t->initial, sizeof saved[w]);
    }
    for (long step = 0; step < STEPS; step++) {
        for (int w = 0; w < 2; w++)
            support_gradient(data, w, step, l[w].x, l[w].g);
        pull_step(l, saved);
    }
    const support_outcome *got = support_ok(t->c);
    for (int w = 0; w < 2; w++)
        ck_assert_double_le(support_distance(got->x + w * N, l[w].x, N), 1e-12);
}

static const int counts[] = {2, 3, 5, 8, 12};
enum { N_COUNTS = sizeof counts / sizeof counts[0] };

/* --- top_k ------------------------------------------------------------------------------------ */

/** The loop variable _i selects the number of workers, the density and the momentum correction. */
TEST_RANGE(top_k, 0, 4 * N_COUNTS)
{
    static const double density[] = {0.01, 0.2, 0.5};
    twin *const t = twin_of("top_k", counts[_i % N_COUNTS], 1 + _i % 3);
    const oracle_encoding top = {.encode = oracle_top_k, .density = density[_i / N_COUNTS % 3]};
    support_option(t->c, "density", top.density);
    /* the learning rate is lower, because error feedback sends sums of gradients */
    t->problem.lr = t->c->learning.optimizer.lr = 0.02;
    if (_i < 3 * N_COUNTS) {
        oracle_feedback(&t->problem, &top, t->pieces, true, false, t->want);
    } else {
        t->problem.momentum = t->c->learning.optimizer.momentum = 0;
        support_option(t->c, "correction", 0.7);
        oracle_momentum_correction(&t->problem, &top, t->pieces, 0.7, t->want);
    }
    expect_same(t);
}

/* --- Tests of sums of compressed vectors ------------------------------------------------------ */

static double drawn(oracle_place at, size_t index)
{
    const uint32_t of_sums = at.sum ? 1u << 31 : 0;
    const dsgd_draw draw = {SEED, DSGD_DRAW_ENCODING + of_sums, (uint32_t)at.worker,
                            (uint32_t)at.step, (uint32_t)(at.first + index)};
    return dsgd_draw_uniform(draw);
}

static const struct {
    const char *name, *option;
    double value;
    oracle_encoding same;
} encodings[] = {
    {"none", NULL, 0, {.encode = oracle_identity}},
    {"top_k", "share", 0.3, {.encode = oracle_top_k, .density = 0.3}},
    {"random_k", "share", 0.3, {.encode = oracle_random_k, .density = 0.3, .draw = drawn}},
    {"threshold", "at", 0.1, {.encode = oracle_threshold, .at = 0.1}},
    {"low_rank", "rank", 1, {.encode = oracle_low_rank, .draw = drawn}},
    {"sign", NULL, 0, {.encode = oracle_sign}},
    {"uniform", "bits", 4, {.encode = oracle_uniform, .levels = 7}},
    {"qsgd", "levels", 12, {.encode = oracle_qsgd, .levels = 12, .draw = drawn}},
};
enum { N_ENCODINGS = sizeof encodings / sizeof encodings[0], N_GATHERED = N_ENCODINGS - 3 };

/**
 * Returns encoding number @p e of the table of encodings with the given options, in newly allocated
 * memory.
 */
static dsgd_spec encoding_of(size_t e, bool feedback, bool again)
{
    const dsgd_spec pick = support_picked(dsgd_encoding_kinds, encodings[e].name,
                                          encodings[e].option, encodings[e].value);
    if (feedback)
        support_set(pick.about, pick.params, "feedback", true);
    if (again)
        support_set(pick.about, pick.params, "reduce", 1);
    return pick;
}

/**
 * Tests that the workers get the sum of the compressed values. With feedback, the values that were
 * left out are sent later. The loop variable _i selects the form, the number of workers and the
 * encoding.
 */
TEST_RANGE(an_encoded_exchange_of_allreduce, 0, 4 * N_COUNTS * N_ENCODINGS)
{
    const size_t e = (size_t)_i / 4 / N_COUNTS;
    const bool feedback = _i % 2 == 1, again = _i / 2 % 2 == 1;
    ck_assert(dsgd_encoding_kinds[e] != NULL && dsgd_encoding_kinds[N_ENCODINGS] == NULL);
    if (e == 0 ? feedback || again : again && e < N_GATHERED)
        return;
    twin *const t = twin_of("allreduce", counts[_i / 4 % N_COUNTS], 3);
    t->c->config.exchange.encoding = encoding_of(e, feedback, again);
    t->problem.lr = t->c->learning.optimizer.lr = 0.02;
    oracle_feedback(&t->problem, &encodings[e].same, t->pieces, feedback, again, t->want);
    expect_same(t);
}

/**
 * Tests that Ok-Topk equals the encoding top_k with reduction and feedback: a worker keeps the
 * values that the sum leaves out. The loop variable _i selects the number of workers, the number of
 * chunks and the form.
 */
TEST_RANGE(ok_topk, 0, 3 * N_COUNTS)
{
    const bool itself = _i < 2 * N_COUNTS;
    twin *const t =
        twin_of(itself ? "ok_topk" : "allreduce", counts[_i % N_COUNTS], _i < N_COUNTS ? 1 : 3);
    if (itself)
        support_option(t->c, "density", 0.3);
    else
        t->c->config.exchange.encoding = encoding_of(1, true, true);
    t->problem.lr = t->c->learning.optimizer.lr = 0.02;
    oracle_ok_topk(&t->problem, 0.3, t->pieces, t->want);
    expect_same(t);
}

/** The loop variable _i selects the number of workers and the encoding. */
TEST_RANGE(ef21, 0, N_COUNTS *N_ENCODINGS)
{
    const size_t e = (size_t)_i / N_COUNTS;
    twin *const t = twin_of("ef21", counts[_i % N_COUNTS], 1 + 2 * (_i % 2));
    *picked(t, "encoding") = encoding_of(e, false, false);
    t->problem.lr = t->c->learning.optimizer.lr = 0.02;
    oracle_ef21(&t->problem, &encodings[e].same, t->pieces, t->want);
    expect_same(t);
}

/* --- PowerSGD --------------------------------------------------------------------------------- */

static oracle_matrix matrices[N];

/**
 * Returns an initial value of a factor of PowerSGD. The values are drawn from (-1, 1), column by
 * column, before the first step. All workers have the same initial values.
 */
static double drawn_factor(size_t matrix, bool right, size_t row, size_t column)
{
    const oracle_matrix *const m = &matrices[matrix];
    const size_t index = column * (right ? m->columns : m->rows) + row;
    const dsgd_draw at = {SEED, DSGD_DRAW_ENCODING + (right ? 256 : 0), UINT32_MAX, 0,
                          (uint32_t)(m->first + index)};
    return 2 * dsgd_draw_uniform(at) - 1;
}

/**
 * Sets the matrices of the chunks. Each chunk becomes a nearly square matrix, and the last row may
 * be shorter. Chunks that are too small stay dense.
 */
static void cut_into_matrices(size_t pieces, size_t rank)
{
    for (size_t k = 0; k < pieces; k++) {
        const size_t first = lockstep_cut(N, k, pieces), n = lockstep_cut(N, k + 1, pieces) - first;
        size_t rows = 1;
        while ((rows + 1) * (rows + 1) <= n)
            rows++;
        const size_t columns = (n + rows - 1) / rows;
        const bool pays = rank * (rows + columns) <= n;
        matrices[k] =
            pays ? (oracle_matrix){first, rows, columns, n} : (oracle_matrix){first, n, 0, n};
    }
}

/** The loop variable _i selects the number of workers, the form, the rank and the number of chunks.
 */
TEST_RANGE(power_sgd, 0, 8 * N_COUNTS)
{
    static const size_t ranks[] = {1, 2, 1, 1};
    static const long pieces[] = {1, 1, 3, 8};
    const size_t way = (size_t)(_i / (2 * N_COUNTS));
    const bool both = _i / N_COUNTS % 2 == 1;
    twin *const t = twin_of("power_sgd", counts[_i % N_COUNTS], pieces[way]);
    OPTIONS(t->c, {"rank", (double)ranks[way]}, {"products", both ? 2 : 1});
    t->problem.lr = t->c->learning.optimizer.lr = 0.02;
    cut_into_matrices(t->pieces, ranks[way]);
    oracle_power_sgd(&t->problem,
                     (oracle_power_options){.rank = ranks[way],
                                            .matrix = matrices,
                                            .n_matrices = t->pieces,
                                            .both = both,
                                            .start = drawn_factor},
                     t->want);
    expect_same(t);
}

/* --- CHOCO-SGD -------------------------------------------------------------------------------- */

/** The loop variable _i selects the number of workers, the graph and the encoding. */
TEST_RANGE(choco, 0, N_COUNTS *N_ENCODINGS)
{
    const size_t e = (size_t)(_i / N_COUNTS % N_ENCODINGS);
    twin *const t = twin_of("choco", counts[_i % N_COUNTS], 1 + 2 * (_i % 2));
    support_option(t->c, "gamma", 0.3);
    support_spec(t->c, "graph", _i % N_COUNTS == 2 ? "complete" : "ring");
    *picked(t, "encoding") = encoding_of(e, false, false);
    oracle_choco(&t->problem,
                 (oracle_choco_options){mixing_of(t, 1, true), 0.3, &encodings[e].same, t->pieces},
                 t->want);
    expect_same(t);
}

/* --- groups and fragments --------------------------------------------------------------------- */

/** The loop variable _i selects the number of workers and the options. */
TEST_RANGE(streaming_diloco, 0, 5 * N_COUNTS)
{
    static const struct {
        long period, fragments, delay, pieces;
        double mixing;
    } rows[] = {
        {6, 1, 0, 1, 0}, {6, 2, 0, 3, 0.5}, {6, 2, 1, 5, 0}, {9, 3, 2, 3, 0.5}, {8, 2, 3, 7, 0.25}};
    const size_t row = (size_t)(_i / N_COUNTS);
    twin *const t = twin_of("streaming_diloco", counts[_i % N_COUNTS], rows[row].pieces);
    OPTIONS(t->c, {"period", (double)rows[row].period}, {"fragments", (double)rows[row].fragments},
            {"delay", (double)rows[row].delay}, {"mixing", rows[row].mixing});
    size_t fragment[N];
    for (size_t k = 0; k < t->pieces; k++)
        for (size_t i = lockstep_cut(N, k, t->pieces); i < lockstep_cut(N, k + 1, t->pieces); i++)
            fragment[i] = k % (size_t)rows[row].fragments;
    oracle_streaming_diloco(&t->problem,
                            (oracle_streaming_options){fragment, (size_t)rows[row].fragments,
                                                       rows[row].period, rows[row].delay,
                                                       rows[row].mixing, 0.7, 0.9},
                            NULL, t->want);
    expect_same(t);
}

/** The loop variable _i selects the averages between and inside clusters, and the number of
 * workers. */
TEST_RANGE(hierarchical, 0, 24)
{
    static const int workers[] = {12, 9, 8, 3}, clusters[] = {4, 3, 1, 3};
    const int between = _i % 3;
    const bool of_models = _i / 3 % 2 == 1;
    const size_t row = (size_t)(_i / 6);
    const long period = 3 + _i / 6;
    twin *const t = twin_of("hierarchical", workers[row], 3);
    OPTIONS(t->c, {"cluster", clusters[row]}, {"period", (double)period}, {"inside", of_models},
            {"between", between});
    const oracle_level levels[] = {{1, clusters[row]}, {period, workers[row]}};
    oracle_hierarchical(&t->problem,
                        (oracle_hierarchy){.level = of_models ? levels : levels + 1,
                                           .n_levels = of_models ? 2 : 1,
                                           .machine = of_models ? 1 : clusters[row],
                                           .delayed = between == 2},
                        t->want);
    expect_same(t);
}
