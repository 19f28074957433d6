/**
 * @file test_oracle.c
 * Small cases of both emulations come out as by hand.
 */
#include "tests/support/oracle.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "tests/support/arrivals.h"
#include "tests/support/oracle_encoded.h"
#include "tests/support/oracle_groups.h"
#include "tests/support/suite.h"

static const long in_order[2] = {0, 1};

/** One parameter; worker w's gradient is always w + 1. */
static void constant(void *argument, int worker, long step, const double *x, double *g)
{
    (void)argument;
    (void)step;
    (void)x;
    *g = worker + 1;
}

/** One parameter; the gradient is the model. */
static void identity(void *argument, int worker, long step, const double *x, double *g)
{
    (void)argument;
    (void)worker;
    (void)step;
    *g = *x;
}

/** One parameter, no momentum, no decay. */
static oracle_problem scalar(int workers, long steps, const double *initial)
{
    return (oracle_problem){.workers = workers,
                            .n = 1,
                            .steps = steps,
                            .lr = 1,
                            .gradient = constant,
                            .initial = initial};
}

static void expect(const double *got, const double *want, int n)
{
    for (int i = 0; i < n; i++)
        ck_assert_msg(fabs(got[i] - want[i]) <= 1e-12 * (1 + fabs(want[i])),
                      "element %d is %.17g, not %.17g", i, got[i], want[i]);
}

SUITE(oracle, "oracle");

TEST(push_sum_by_hand)
{
    /* Worker 0 sends half of its share to worker 1, which keeps everything. */
    static const double one_way[4] = {0.5, 0, 0.5, 1};
    const double initial[2] = {4, 8};
    oracle_problem p = scalar(2, 1, initial);
    double z[2], weights[2];
    oracle_sgp(&p, one_way, 1, z, weights); /* numerators 3, 6, then 1.5, 7.5 */
    expect(z, (double[]){3, 5}, 2);
    expect(weights, (double[]){0.5, 1.5}, 2);
    /* 2 leaves worker 0 before its step: 2 - 1 of 0.5; 8 - 2 of 1. */
    oracle_osgp(&p, one_way, 1, z, weights);
    expect(z, (double[]){2, 6}, 2);
    expect(weights, (double[]){0.5, 1}, 2);
    p.steps = 2; /* 0.5 - 1 of 0.25; 6 + 2 - 2 of 1.5 */
    oracle_osgp(&p, one_way, 1, z, weights);
    expect(z, (double[]){-2, 4}, 2);
    expect(weights, (double[]){0.25, 1.5}, 2);
}

TEST(easgd_by_hand)
{
    const double initial[2] = {1, 3};
    oracle_problem p = scalar(2, 1, initial);
    double x[2], center = 0;
    /* Worker 1: e = 1.5, centre 1.5. Worker 0: e = -0.25, centre 1.25. Then gradients 1 and 2. */
    oracle_easgd(&p, 0.5, 1, 0, (const long[]){1, 0}, &center, x);
    expect(&center, &(double){1.25}, 1);
    expect(x, (double[]){0.25, -0.5}, 2);
    p.gradient = identity; /* at the model before the force */
    center = 0;
    oracle_easgd(&p, 0.5, 1, 0, (const long[]){1, 0}, &center, x);
    expect(x, (double[]){0.25, -1.5}, 2);
    p = scalar(1, 3, initial); /* visits in steps 0 and 2: e = 0.5 at 1, e = -1 at -1.5 */
    center = 0;
    oracle_easgd(&p, 0.5, 2, 0, in_order, &center, x);
    expect(x, &(double){-1.5}, 1);
    expect(&center, &(double){-0.5}, 1);
}

TEST(the_look_ahead_by_hand)
{
    const double initial = 1;
    oracle_problem p = scalar(1, 2, &initial);
    p.gradient = identity;
    p.lr = 0.5;
    double x, center = 1;
    /* w = 0.5, v = -0.5; then v = -0.25, the gradient at 0.25, w = 0.125. No visit finds a
     * difference but the second. */
    oracle_easgd(&p, 0, 1, 0.5, in_order, &center, &x);
    expect(&x, &(double){0.125}, 1);
    expect(&center, &(double){1}, 1);
    oracle_easgd(&p, 0.5, 1, 0.5, in_order, &center, &x); /* e = -0.25 in the second step */
    expect(&x, &(double){0.375}, 1);
    expect(&center, &(double){0.75}, 1);
}

/** One parameter that begins at 0, workers who all take a second for a step. */
static emulation_problem equal_paces(long steps, double momentum)
{
    static const double zero = 0;
    static const double second[2] = {1, 1};
    return (emulation_problem){.workers = 2,
                               .n = 1,
                               .pieces = 1,
                               .steps = steps,
                               .lr = 1,
                               .momentum = momentum,
                               .gradient = constant,
                               .initial = &zero,
                               .seconds = second,
                               .rows = 1};
}

TEST_RANGE(downpour_by_hand, 0,
           2) /* _i: steps - 2; what the third one changes, -3 and -6, is kept */
{
    static const double want[2][2] = {{7, 1}, {4, -5}};
    const emulation_problem p = equal_paces(2 + _i, 1); /* changes -1, -2 and then -2, -4 */
    double x[2], center = 10;
    emulation_downpour(&p, 2, &(emulation_result){.x = x, .center = &center});
    expect(&center, &(double){1}, 1);
    expect(x, want[_i], 2);
}

static const struct {
    long steps, tau, d;
    double xi, want[2];
} dasgds[] = {
    {3, 2, 1, 0.25, {-3, -3.75}}, /* -2, -4 have the mean -3; the third step gives -3, -6 */
    {4, 2, 2, 0.5, {-3.5, -5.5}}, /* d = tau: mixed in only after the fourth step, -4, -8 */
    {6, 2, 2, 0.5, {-5, -7}}, /* -5.5, -9.5 meet the mean -4.5 that the last round left */
    {2, 2, 0, 0.5, {-2.5, -3.5}},
};

TEST_ROWS(dasgd_by_hand, dasgds) /* _i: row of dasgds */
{
    const emulation_problem p = equal_paces(dasgds[_i].steps, 0);
    double x[2];
    emulation_dasgd(&p, dasgds[_i].tau, dasgds[_i].d, dasgds[_i].xi, &(emulation_result){.x = x});
    expect(x, dasgds[_i].want, 2);
}

TEST(outer_momentum_by_hand)
{
    const double initial[2] = {0, 0};
    oracle_problem p = scalar(2, 4, initial);
    double x[2];
    /* Each round moves the mean by -3: D = 3, u = 3 and then 4.5. */
    oracle_diloco(&p, 2, 0.5, 0.5, x); /* - 0.5 (3 + 1.5) - 0.5 (3 + 2.25) */
    expect(x, (double[]){-4.875, -4.875}, 2);
    p.lr = 2; /* rounds of -6, and u in gradients: 3 and 4.5 */
    oracle_slowmo(&p, 2, 0.5, 0.5, x); /* - 3 - 4.5 */
    expect(x, (double[]){-7.5, -7.5}, 2);
}

TEST(dropped_samples_count_as_zero)
{
    const double initial[2] = {0, 0};
    const oracle_problem p = scalar(2, 2, initial);
    double x[2];
    oracle_drop_compute(&p, (const double[]){1, 0.25, 0, 1}, x); /* -(1 + 0.5) / 2 - 2 / 2 */
    expect(x, (double[]){-1.75, -1.75}, 2);
}

static const struct {
    long delay;
    double c;
    double w[6]; /* from 0, at g = 1 */
} nesterov[] = {
    {3, 0, {-1.0 / 30, -2.0 / 30, -.15, -.15 - 1.0 / 30, -.15 - 2.0 / 30, -.325}},
    {3, .25, {-1.0 / 30, -2.0 / 30, -.125, -.125 - .0125 - 1.0 / 30, -.15 - 2.0 / 30, -.2875}},
    {1, 0, {-.15, -.325, -.5125, -.70625, -.903125, -1.1015625}},
};

TEST_ROWS(delayed_nesterov_by_hand, nesterov)
{
    const arrivals_local_options o = {
        .period = nesterov[_i].delay, .outer_lr = 0.1, .outer_momentum = 0.5, .c = nesterov[_i].c};
    double m = 0, sum = 0, w = 0;
    for (long t = 0; t < 6; t++) {
        arrivals_delayed_nesterov(&o, 1, t, &(double){1}, &m, &sum, &w);
        expect(&w, &nesterov[_i].w[t], 1);
    }
}

/* --- what sends less than it has -------------------------------------------------------------- */

/** The same gradient in every step: row w of a table. */
typedef struct table {
    size_t n;
    const double *rows;
} table;

static void of_table(void *argument, int worker, long step, const double *x, double *g)
{
    const table *const t = argument;
    (void)step, (void)x;
    memcpy(g, t->rows + (size_t)worker * t->n, t->n * sizeof *g);
}

static oracle_problem tabled(int workers, table *t, long steps, const double *initial)
{
    oracle_problem p = scalar(workers, steps, initial);
    p.n = t->n;
    p.gradient = of_table;
    p.argument = t;
    return p;
}

TEST(top_k_by_hand)
{
    static const double zeros[6] = {0};
    static const double want[3][3] = {{-1.5, -2, 0}, {-1.5, -2, -4.5}, {-4.5, -6, -4.5}};
    const oracle_encoding top = {.encode = oracle_top_k, .density = 0.34};
    table t = {3, (const double[]){3, -1, 2, 0.5, 4, 2.5}};
    double x[6];
    oracle_problem p = tabled(2, &t, 0, zeros);
    for (p.steps = 1; p.steps <= 3; p.steps++) {
        oracle_feedback(&p, &top, 1, true, false, x);
        expect(x, want[p.steps - 1], 3);
        expect(x + 3, want[p.steps - 1], 3);
    }
    p.steps = 3;
    oracle_momentum_correction(&p, &top, 1, 0.5, x);
    expect(x, (double[]){-5.25, -7, -5.625}, 3);
}

static double first_column(size_t matrix, bool right, size_t row, size_t column)
{
    (void)matrix, (void)right, (void)column;
    return row == 0;
}

TEST(power_sgd_by_hand)
{
    static const double zeros[4] = {0};
    static const double want[3][4] = {{-3, -1, 0, 0}, {-6, -2, -3, -1}, {-7.5, -5, -4.5, -4}};
    static const oracle_matrix square = {0, 2, 2, 4};
    table t = {4, (const double[]){3, 1, 1, 2}};
    double x[4];
    oracle_problem p = tabled(1, &t, 0, zeros);
    for (p.steps = 1; p.steps <= 3; p.steps++) {
        oracle_power_sgd(&p, (oracle_power_options){1, &square, 1, false, first_column}, x);
        expect(x, want[p.steps - 1], 4);
    }
}

TEST(choco_by_hand) /* on a ring, from models that differ, without steps of their own */
{
    static const double initial[8] = {1, 0, 0, 4, -2, 1, 3, -2};
    static const double third = 1.0 / 3;
    static const double want[3][8] = {/* 36ths */
                                      {42, 24, -6, 96, -30, 60, 66, -72},
                                      {48, 20, -12, 78, 12, 44, 24, -34},
                                      {36, 13, -2, 66, 12, 25, 26, 4}};
    double ring[16], x[8];
    for (int i = 0; i < 16; i++)
        ring[i] = (i / 4 - i % 4) % 2 == 0 && i / 4 != i % 4 ? 0 : third;
    const oracle_encoding half = {.encode = oracle_top_k, .density = 0.5};
    oracle_problem p = scalar(4, 0, initial);
    p.n = 2;
    p.gradient = of_table;
    p.argument = &(table){2, (const double[8]){0}};
    for (p.steps = 1; p.steps <= 3; p.steps++) {
        oracle_choco(&p, (oracle_choco_options){ring, 0.5, &half, 1}, x);
        for (int i = 0; i < 8; i++)
            expect(&x[i], &(double){want[p.steps - 1][i] / 36}, 1);
    }
}

/* --- outer steps ------------------------------------------------------------------------------ */

/**
 * torchft's: two fragments, one of which is exchanged after the steps 3, 6, 9, 12 and 15 in turn.
 */
static const struct {
    long delay;
    double mixing;
    double after[5]; /* of the fragment exchanged */
} fixtures[] = {{0, 0, {-11, -23, -35, -47, -59}},       {0, 0.5, {-8, -17, -24.5, -32, -40.25}},
                {0, 1, {-5, -11, -17, -23, -29}},        {1, 0, {-7, -19, -27, -39, -47}},
                {1, 0.5, {-6, -15, -21.5, -29, -35.75}}, {1, 1, {-5, -11, -17, -23, -29}}};

/**
 * Local steps of -2, outer plain SGD of rate 2; between exchanges a fragment moves by -2 a step.
 */
TEST_ROWS(streaming_diloco_has_the_values_of_its_fixtures, fixtures)
{
    static const double ones[4] = {1, 1, 1, 1};
    static const size_t fragment[2] = {0, 1};
    table t = {2, (const double[]){2, 2, 2, 2}};
    oracle_problem p = tabled(2, &t, 0, ones);
    const oracle_streaming_options o = {fragment, 2, 6, fixtures[_i].delay, fixtures[_i].mixing,
                                        2,        0};
    for (long i = 0; i < 5; i++)
        for (int more = 0; more <= 2; more += 2) {
            double x[4];
            p.steps = 3 * (i + 1) + more;
            oracle_streaming_diloco(&p, o, NULL, x);
            for (int worker = 0; worker < 2; worker++)
                expect(&x[2 * worker + i % 2], &(double){fixtures[_i].after[i] - 2 * more}, 1);
        }
}

/** Entries 0 and 2, 1 and 3 of these are pairs. */
static void in_pairs(const oracle_problem *p, long round, int *workers)
{
    static const int order[2][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}};
    memcpy(workers, order[round % 2], (size_t)p->workers * sizeof *workers);
}

/** Worker i = 1 to 4 moves by -i in a round of two steps. */
TEST(noloco_by_hand)
{
    static const double zeros[4] = {0};
    const oracle_noloco_options o = {2, 2, 0.7, 0.5, in_pairs};
    oracle_problem p = scalar(4, 2, zeros);
    double x[4];
    p.lr = 0.5;
    oracle_noloco(&p, o, x);
    expect(x, (double[]){-1.4, -2.1, -1.4, -2.1}, 4);
    p.steps = 4;
    oracle_noloco(&p, o, x);
    expect(x, (double[]){-3.395, -3.955, -4.795, -5.355}, 4);
}
