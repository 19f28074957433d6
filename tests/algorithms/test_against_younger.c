/**
 * @file test_against_younger.c
 * Whole runs against the younger half of the oracle (tests/support/oracle_encoded.h,
 * oracle_groups.h), with nobody late.
 */
#include <string.h>

#include "base/draw.h"
#include "models/encodings/params.h"
#include "tests/support/lockstep.h"
#include "tests/support/oracle_encoded.h"
#include "tests/support/oracle_groups.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { MOST = 12, STEPS = 18, N = 33, SEED = 1 };

/** A case, and the same for the oracle. */
typedef struct twin {
    support_case *c;
    oracle_problem problem;
    size_t pieces;
    double initial[MOST * N], want[MOST * N];
} twin;

static twin *twin_new(const char *algorithm, int workers, long pieces)
{
    twin *const t = support_alloc(1, sizeof *t);
    t->c = support_new(algorithm, workers);
    t->c->learning.optimizer.weight_decay = 0.01;
    t->c->config.until = (dsgd_until){0};
    t->c->config.steps_each = STEPS;
    t->c->config.exchange.pieces = pieces;
    t->pieces = (size_t)pieces;
    support_problem *const data = support_problem_new(t->c);
    ck_assert_uint_eq(data->network.n_params, N);
    dsgd_network_initial(&data->network, SEED, t->initial);
    for (size_t w = 1; w < (size_t)workers; w++)
        memcpy(t->initial + w * N, t->initial, N * sizeof *t->initial);
    t->problem = (oracle_problem){.workers = workers,
                                  .n = N,
                                  .steps = STEPS,
                                  .lr = 0.05,
                                  .momentum = 0.9,
                                  .weight_decay = 0.01,
                                  .gradient = support_gradient,
                                  .argument = data,
                                  .initial = t->initial};
    return t;
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

static const int counts[] = {2, 3, 5, 8, 12};
enum { N_COUNTS = sizeof counts / sizeof counts[0] };

/* --- selections ------------------------------------------------------------------------------- */

SUITE(against_younger, "emulated", .seconds = 120);

TEST_RANGE(top_k, 0, 4 * N_COUNTS) /* _i: workers, density, correction */
{
    static const double density[] = {0.01, 0.2, 0.5};
    twin *const t = twin_new("top_k", counts[_i % N_COUNTS], 1 + _i % 3);
    const oracle_encoding top = {.encode = oracle_top_k, .density = density[_i / N_COUNTS % 3]};
    support_option(t->c, "density", top.density);
    t->problem.lr = t->c->learning.optimizer.lr = 0.02; /* what was kept comes at once */
    if (_i < 3 * N_COUNTS) {
        oracle_feedback(&t->problem, &top, t->pieces, true, false, t->want);
    } else {
        t->problem.momentum = t->c->learning.optimizer.momentum = 0;
        support_option(t->c, "correction", 0.7);
        oracle_momentum_correction(&t->problem, &top, t->pieces, 0.7, t->want);
    }
    expect_same(t);
}

/* --- sums of what was sent -------------------------------------------------------------------- */

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

/** One of these, in fresh memory. */
static dsgd_pick encoding_of(size_t e, bool feedback, bool again)
{
    const dsgd_about *const about = dsgd_about_find(dsgd_encoding_kinds, encodings[e].name);
    const dsgd_pick pick = {about, support_alloc(1, about->params_size + 1)};
    dsgd_options_default(about->options, pick.params);
    if (encodings[e].option != NULL)
        support_set(about, pick.params, encodings[e].option, encodings[e].value);
    if (feedback)
        support_set(about, pick.params, "feedback", true);
    if (again)
        support_set(about, pick.params, "reduce", 1);
    return pick;
}

/** Of an algorithm's option. */
static dsgd_pick *picked(const twin *t, const char *option)
{
    const dsgd_option *const o = dsgd_option_find(t->c->config.algorithm->about.options, option);
    return (dsgd_pick *)(void *)((char *)(void *)t->c->config.params + o->offset);
}

/** What is added is what was sent, and with feedback the rest comes later. _i: form, workers, encoding */
TEST_RANGE(an_encoded_exchange_of_allreduce, 0, 4 * N_COUNTS * N_ENCODINGS)
{
    const size_t e = (size_t)_i / 4 / N_COUNTS;
    const bool feedback = _i % 2 == 1;
    const bool again = _i / 2 % 2 == 1;
    ck_assert(dsgd_encoding_kinds[e] != NULL && dsgd_encoding_kinds[N_ENCODINGS] == NULL);
    if (e == 0 ? feedback || again : again && e < N_GATHERED)
        return;
    twin *const t = twin_new("allreduce", counts[_i / 4 % N_COUNTS], 3);
    t->c->config.exchange.encoding = encoding_of(e, feedback, again);
    t->problem.lr = t->c->learning.optimizer.lr = 0.02;
    oracle_feedback(&t->problem, &encodings[e].same, t->pieces, feedback, again, t->want);
    expect_same(t);
}

/** Which is top_k in regions with feedback: what the sum leaves out stays where it was. */
TEST_RANGE(ok_topk, 0, 3 * N_COUNTS) /* _i: workers, pieces and form */
{
    const bool itself = _i < 2 * N_COUNTS;
    twin *const t =
        twin_new(itself ? "ok_topk" : "allreduce", counts[_i % N_COUNTS], _i < N_COUNTS ? 1 : 3);
    if (itself)
        support_option(t->c, "density", 0.3);
    else
        t->c->config.exchange.encoding = encoding_of(1, true, true);
    t->problem.lr = t->c->learning.optimizer.lr = 0.02;
    oracle_ok_topk(&t->problem, 0.3, t->pieces, t->want);
    expect_same(t);
}

TEST_RANGE(ef21, 0, N_COUNTS *N_ENCODINGS) /* _i: workers, encoding */
{
    const size_t e = (size_t)_i / N_COUNTS;
    twin *const t = twin_new("ef21", counts[_i % N_COUNTS], 1 + 2 * (_i % 2));
    *picked(t, "encoding") = encoding_of(e, false, false);
    t->problem.lr = t->c->learning.optimizer.lr = 0.02;
    oracle_ef21(&t->problem, &encodings[e].same, t->pieces, t->want);
    expect_same(t);
}

/* --- PowerSGD --------------------------------------------------------------------------------- */

static oracle_matrix matrices[N];

/** Drawn column by column from (-1, 1), the same for all, before the first step. */
static double drawn_factor(size_t matrix, bool right, size_t row, size_t column)
{
    const oracle_matrix *const m = &matrices[matrix];
    const size_t index = column * (right ? m->columns : m->rows) + row;
    const dsgd_draw at = {SEED, DSGD_DRAW_ENCODING + (right ? 256 : 0), UINT32_MAX, 0,
                          (uint32_t)(m->first + index)};
    return 2 * dsgd_draw_uniform(at) - 1;
}

/** A piece is a matrix, nearly a square, whose last row may be short; too small ones stay dense. */
static void cut_into_matrices(size_t pieces, size_t rank)
{
    for (size_t k = 0; k < pieces; k++) {
        const size_t first = lockstep_cut(N, k, pieces);
        const size_t n = lockstep_cut(N, k + 1, pieces) - first;
        size_t rows = 1;
        while ((rows + 1) * (rows + 1) <= n)
            rows++;
        const size_t columns = (n + rows - 1) / rows;
        const bool pays = rank * (rows + columns) <= n;
        matrices[k] =
            pays ? (oracle_matrix){first, rows, columns, n} : (oracle_matrix){first, n, 0, n};
    }
}

TEST_RANGE(power_sgd, 0, 8 * N_COUNTS) /* _i: workers, form, rank and pieces */
{
    static const size_t ranks[] = {1, 2, 1, 1};
    static const long pieces[] = {1, 1, 3, 8};
    const size_t way = (size_t)(_i / (2 * N_COUNTS));
    const bool both = _i / N_COUNTS % 2 == 1;
    twin *const t = twin_new("power_sgd", counts[_i % N_COUNTS], pieces[way]);
    support_option(t->c, "rank", (double)ranks[way]);
    support_option(t->c, "products", both ? 2 : 1);
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

/* --- neighbours ------------------------------------------------------------------------------- */

/** [P][P] of a graph that is the same in every step. */
static void mixing_of(const dsgd_pick *graph, int workers, double *w)
{
    int to[MOST], from[MOST], other[MOST];
    double share[MOST];
    const dsgd_neighbour_room room = {to, from, other, share};
    memset(w, 0, (size_t)(workers * workers) * sizeof *w);
    for (int j = 0; j < workers; j++) {
        const dsgd_neighbours n =
            dsgd_graph_neighbours(graph, workers, SEED, j, 0, DSGD_DOUBLY_STOCHASTIC, &room);
        w[j * workers + j] = n.keep;
        for (int i = 0; i < n.n_to; i++)
            w[n.to[i] * workers + j] = n.share[i];
    }
}

TEST_RANGE(choco, 0, N_COUNTS *N_ENCODINGS) /* _i: workers and graph, encoding */
{
    const size_t e = (size_t)(_i / N_COUNTS % N_ENCODINGS);
    twin *const t = twin_new("choco", counts[_i % N_COUNTS], 1 + 2 * (_i % 2));
    double mixing[MOST * MOST];
    support_option(t->c, "gamma", 0.3);
    support_pick(t->c, "graph", _i % N_COUNTS == 2 ? "complete" : "ring");
    *picked(t, "encoding") = encoding_of(e, false, false);
    mixing_of(picked(t, "graph"), t->problem.workers, mixing);
    oracle_choco(&t->problem, (oracle_choco_options){mixing, 0.3, &encodings[e].same, t->pieces},
                 t->want);
    expect_same(t);
}

TEST_RANGE(gradient_tracking, 0, 16) /* _i: workers, graph, form */
{
    static const struct {
        const char *graph;
        int workers;
    } rows[] = {{"ring", 3},  {"ring", 5}, {"ring", 12},    {"torus", 6},
                {"torus", 9}, {"ring", 9}, {"complete", 2}, {"complete", 7}};
    const int row = _i / 2;
    const bool d2 = _i % 2 == 1;
    twin *const t = twin_new("gradient_tracking", rows[row].workers, 1 + 3 * (row % 2));
    double mixing[MOST * MOST];
    support_pick(t->c, "graph", rows[row].graph);
    support_option(t->c, "form", d2);
    mixing_of(picked(t, "graph"), t->problem.workers, mixing);
    oracle_gradient_tracking(&t->problem, mixing, d2, t->want);
    expect_same(t);
}

/* --- groups and fragments --------------------------------------------------------------------- */

TEST_RANGE(streaming_diloco, 0, 5 * N_COUNTS) /* _i: workers, options */
{
    static const struct {
        long period, fragments, delay, pieces;
        double mixing;
    } rows[] = {
        {6, 1, 0, 1, 0}, {6, 2, 0, 3, 0.5}, {6, 2, 1, 5, 0}, {9, 3, 2, 3, 0.5}, {8, 2, 3, 7, 0.25}};
    const size_t row = (size_t)(_i / N_COUNTS);
    twin *const t = twin_new("streaming_diloco", counts[_i % N_COUNTS], rows[row].pieces);
    support_option(t->c, "period", (double)rows[row].period);
    support_option(t->c, "fragments", (double)rows[row].fragments);
    support_option(t->c, "delay", (double)rows[row].delay);
    support_option(t->c, "mixing", rows[row].mixing);
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

/** The order in which the simulator has shuffled all. */
static void shuffled(const oracle_problem *p, long round, int *workers)
{
    const dsgd_draw draw = {SEED, DSGD_DRAW_SHARED, 1, (uint32_t)round, 0};
    for (int w = 0; w < p->workers; w++)
        workers[dsgd_draw_permuted(draw, (uint32_t)p->workers, (uint32_t)w)] = w;
}

TEST_RANGE(noloco, 0, 7) /* _i: options */
{
    static const struct {
        int workers, group;
        long period;
    } rows[] = {{2, 2, 3}, {8, 2, 4}, {12, 3, 2}, {12, 4, 1}, {9, 3, 5}, {5, 5, 3}, {7, 1, 2}};
    twin *const t = twin_new("noloco", rows[_i].workers, 3);
    support_option(t->c, "period", (double)rows[_i].period);
    support_option(t->c, "group", rows[_i].group);
    oracle_noloco(&t->problem,
                  (oracle_noloco_options){rows[_i].period, rows[_i].group, 0.7, 0.5, shuffled},
                  t->want);
    expect_same(t);
}

TEST_RANGE(hierarchical, 0, 24) /* _i: between, inside, workers */
{
    static const int workers[] = {12, 9, 8, 3};
    static const int clusters[] = {4, 3, 1, 3};
    const int between = _i % 3;
    const bool of_models = _i / 3 % 2 == 1;
    const size_t row = (size_t)(_i / 6);
    const long period = 3 + _i / 6;
    twin *const t = twin_new("hierarchical", workers[row], 3);
    support_option(t->c, "cluster", clusters[row]);
    support_option(t->c, "period", (double)period);
    support_option(t->c, "inside", of_models);
    support_option(t->c, "between", between);
    const oracle_level levels[] = {{1, clusters[row]}, {period, workers[row]}};
    oracle_hierarchical(&t->problem,
                        (oracle_hierarchy){.level = of_models ? levels : levels + 1,
                                           .n_levels = of_models ? 2 : 1,
                                           .machine = of_models ? 1 : clusters[row],
                                           .delayed = between == 2},
                        t->want);
    expect_same(t);
}
