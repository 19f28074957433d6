/**
 * @file test_outer.c
 * Algorithms with outer steps, and of clusters: published values of Streaming DiLoCo (torchft's
 * fixtures) and a worked example of NoLoCo, both with local steps that are given; what they have in
 * common with simpler ones.
 */
#include <math.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- the algorithms with given local steps ------------------------------------------------------ */

/** x <- x + what a local step of this worker adds, in every element. */
static void given_step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g);

/** Place of a rank in the order of a round. */
static int given_place(const dsgd_colouring *at, int rank);

#define dsgd_local_step given_step
#define dsgd_shuffled given_place
#define dsgd_algorithm_streaming_diloco given_streaming_diloco
#define dsgd_algorithm_noloco given_noloco
#include "algorithms/noloco.c" /* NOLINT(bugprone-suspicious-include): with other steps */
#include "algorithms/streaming_diloco.c" /* NOLINT(bugprone-suspicious-include) */
#undef dsgd_local_step
#undef dsgd_shuffled

static double given[4]; /* by rank; set before the simulation forks */

static void given_step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g)
{
    dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    double elements[SUPPORT_PARAMS];
    for (size_t i = 0; i < SUPPORT_PARAMS; i++)
        elements[i] = given[self->rank];
    DSGD_FOR_PIECES (k, g) {
        dsgd_piece_wait(g, k);
        dsgd_vector_set(g, k, dsgd_values_constant(engine->values, k, elements), 0);
    }
    dsgd_combine(self, x, 1, 1, g);
}

/** (0, 2)(1, 3), then (0, 1)(2, 3): of places that are alike modulo 2. */
static int given_place(const dsgd_colouring *at, int rank)
{
    static const int places[2][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}};
    return places[at->round % 2][rank];
}

static double begin_at;

static void set_models(dsgd_engine *engine, void *outcome)
{
    (void)outcome;
    double elements[SUPPORT_PARAMS];
    for (size_t i = 0; i < SUPPORT_PARAMS; i++)
        elements[i] = begin_at;
    for (int w = 0; w < engine->n_workers; w++)
        for (size_t k = 0; k < engine->n_pieces; k++)
            dsgd_piece_set(engine, &engine->workers[w].model->piece[k],
                           dsgd_values_constant(engine->values, k, elements), 0);
}

static support_case *given_case(const char *name, const dsgd_algorithm *algorithm, int workers)
{
    support_case *c = support_new(name, workers);
    c->config.algorithm = algorithm; /* with the options of the one that it is made of */
    c->config.prepare = set_models;
    c->config.exchange.pieces = 2;
    c->config.until = (dsgd_until){0};
    return c;
}

/** Element of a worker's first or last piece after so many steps. */
static double value_after(support_case *c, long steps, int worker, bool last)
{
    c->config.steps_each = steps;
    const support_outcome *got = support_ok(c);
    return got->x[(size_t)worker * got->n_params + (last ? got->n_params - 1 : 0)];
}

/* --- Streaming DiLoCo ---------------------------------------------------------------------------- */

/** Two fragments, behind the steps 3, 6, 9, 12 and 15 of which one is exchanged in turn. */
static const struct {
    long delay;
    double mixing;
    double after[5]; /* of the fragment exchanged */
} fixtures[] = {{0, 0, {-11, -23, -35, -47, -59}},       {0, 0.5, {-8, -17, -24.5, -32, -40.25}},
                {0, 1, {-5, -11, -17, -23, -29}},        {1, 0, {-7, -19, -27, -39, -47}},
                {1, 0.5, {-6, -15, -21.5, -29, -35.75}}, {1, 1, {-5, -11, -17, -23, -29}}};

enum { N_FIXTURES = sizeof fixtures / sizeof fixtures[0] };

SUITE(outer, "outer", .seconds = 60);

/** Local steps of -2, outer plain SGD of rate 2; between exchanges a fragment moves by -2 a step. */
TEST_RANGE(streaming_diloco_has_the_values_of_its_fixtures, 0, N_FIXTURES)
{
    support_case *c = given_case("streaming_diloco", &given_streaming_diloco, 2);
    begin_at = 1;
    given[0] = given[1] = -2;
    support_option(c, "period", 6);
    support_option(c, "fragments", 2);
    support_option(c, "delay", (double)fixtures[_i].delay);
    support_option(c, "mixing", fixtures[_i].mixing);
    support_option(c, "outer_lr", 2);
    support_option(c, "outer_momentum", 0);
    for (int i = 0; i < 5; i++) {
        const double want = fixtures[_i].after[i];
        for (int worker = 0; worker < 2; worker++) {
            ck_assert_double_eq(value_after(c, 3 * (i + 1), worker, i % 2 == 1), want);
            ck_assert_double_eq(value_after(c, 3 * (i + 1) + 2, worker, i % 2 == 1), want - 4);
        }
    }
}

/** One fragment and no delay: DiLoCo, in values, time and messages. _i: pieces. */
TEST_RANGE(streaming_diloco_of_one_fragment_is_diloco, 1, 4)
{
    support_case *c = support_new("streaming_diloco", 8);
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    c->config.exchange.pieces = _i;
    support_option(c, "period", 4);
    support_option(c, "fragments", 1);
    support_option(c, "delay", 0);
    support_option(c, "mixing", 0);
    const support_outcome *streaming = support_ok(c);
    support_case *d = support_new("diloco", 8);
    support_imbalance_number(d, "ramp", "seconds", 0.1);
    d->config.exchange.pieces = _i;
    support_option(d, "period", 4);
    const support_outcome *diloco = support_ok(d);
    ck_assert_double_eq_tol(streaming->result.virtual_s, diloco->result.virtual_s, 1e-9);
    ck_assert_uint_eq(streaming->result.messages, diloco->result.messages);
    ck_assert_double_le(support_distance(streaming->x, diloco->x, 8 * diloco->n_params),
                        support_rounding());
}

/** An exchange of 0.9 s of a fragment is hidden behind a local step, and one of 1.8 s is not. */
TEST(a_delay_hides_the_exchange_of_a_fragment)
{
    support_case *c = support_new("streaming_diloco", 2);
    support_no_learning(c);
    support_option(c, "period", 8);
    support_option(c, "fragments", 4);
    support_option(c, "delay", 1);
    c->config.exchange.pieces = 4;
    c->config.exchange.overlap = false;
    c->config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    c->config.until.steps = 16;
    c->platform.host_latency_s = 0;
    c->workload.bytes = 4 * 9e9;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 16, 1e-3);
    c->workload.bytes = 4 * 18e9;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 16 + 8 * 0.8, 1e-3);
}

/* --- NoLoCo --------------------------------------------------------------------------------------- */

/** Worker i = 1 to 4 moves by -i in a round. */
TEST(noloco_has_the_values_of_its_example)
{
    static const double want[2][4] = {{-1.4, -2.1, -1.4, -2.1}, {-3.395, -3.955, -4.795, -5.355}};
    support_case *c = given_case("noloco", &given_noloco, 4);
    begin_at = 0;
    for (int i = 0; i < 4; i++)
        given[i] = -(i + 1) / 2.0;
    support_option(c, "period", 2);
    for (int round = 0; round < 2; round++)
        for (int w = 0; w < 4; w++)
            ck_assert_double_eq_tol(value_after(c, 2 * (round + 1), w, false), want[round][w],
                                    1e-14);
}

/* --- clusters -------------------------------------------------------------------------------------- */

static const support_outcome *clusters_of(double cluster, double inside, double between,
                                          const char *other)
{
    support_case *c = support_new(other != NULL ? other : "hierarchical", 12);
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    c->platform.message_overhead_s = 5e-6;
    c->config.exchange.pieces = 2;
    if (other == NULL) {
        support_option(c, "cluster", cluster);
        support_option(c, "inside", inside);
        support_option(c, "between", between);
    }
    if (other == NULL || strcmp(other, "local_sgd") == 0)
        support_option(c, "period", 5);
    return support_ok(c);
}

static void expect_alike(const support_outcome *got, const support_outcome *want, bool in_time)
{
    ck_assert_double_le(support_distance(got->x, want->x, 12 * want->n_params), support_rounding());
    if (!in_time)
        return;
    ck_assert_double_eq_tol(got->result.virtual_s, want->result.virtual_s, 1e-9);
    ck_assert_uint_eq(got->result.messages, want->result.messages);
}

TEST(clusters_of_one_are_local_sgd)
{
    const support_outcome *want = clusters_of(0, 0, 0, "local_sgd");
    for (int inside = 0; inside < 2; inside++)
        for (int between = 0; between < 2; between++)
            expect_alike(clusters_of(1, inside, between, NULL), want, true);
}

/** Somebody is late by a second in every step: of another cluster in another round, at times. */
TEST(delayed_corrections_wait_for_the_round_before)
{
    double virtual_s[3];
    for (int between = 1; between < 3; between++) {
        support_case *c = support_new("hierarchical", 8);
        support_no_learning(c);
        support_imbalance_number(c, "delay", "seconds", 1);
        support_option(c, "period", 2);
        support_option(c, "between", between);
        virtual_s[between] = support_ok(c)->result.virtual_s;
    }
    ck_assert_double_lt(virtual_s[2], 0.95 * virtual_s[1]);
}
