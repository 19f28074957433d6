/**
 * @file test_arrivals.c
 * The emulations in which the order of arrivals decides: values by hand, and laws.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/draw.h"
#include "tests/suites.h"
#include "tests/support/arrivals.h"
#include "tests/support/oracle.h"

enum { WORKERS = 5, N = 3, ROWS = 50, MODELS = WORKERS * N };

static const double rounding = 1e-12;
static const double start[N] = {2, -1, 3};
static double seconds[ROWS * WORKERS];

static void parabola(void *argument, int worker, long step, const double *x, double *g)
{
    (void)argument;
    for (int i = 0; i < N; i++)
        g[i] = (0.5 + i) * (x[i] - cos(worker + 1.0 + i) - 0.2 * sin((double)(3 * step + worker)));
}

/** Everybody takes 0.5 to 1.5 s; the last worker three times that. */
static emulation_problem parabolas(long steps)
{
    for (int i = 0; i < ROWS * WORKERS; i++) {
        const dsgd_draw at = {9, DSGD_DRAW_DATA, (uint32_t)i, 0, 0};
        seconds[i] = (0.5 + dsgd_draw_uniform(at)) * (i % WORKERS == WORKERS - 1 ? 3 : 1);
    }
    return (emulation_problem){.workers = WORKERS,
                               .n = N,
                               .pieces = 1,
                               .steps = steps,
                               .lr = 0.02,
                               .gradient = parabola,
                               .initial = start,
                               .seconds = seconds,
                               .rows = ROWS};
}

static void expect(const double *got, const double *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabs(got[i] - want[i]) <= rounding * (1 + fabs(want[i])),
                      "element %zu is %.17g, not %.17g", i, got[i], want[i]);
}

/* --- Rennala and Ringmaster: f = x^2 / 2, h = 1, 2, 5, lr .5 ---------------------------------- */

static void identity(void *argument, int worker, long step, const double *x, double *g)
{
    (void)argument;
    (void)worker;
    (void)step;
    *g = *x;
}

static const double h[3] = {1, 2, 5};

static emulation_problem three_paces(double until_s)
{
    static const double one = 1;
    return (emulation_problem){.workers = 3,
                               .n = 1,
                               .pieces = 1,
                               .until_s = until_s,
                               .lr = 0.5,
                               .gradient = identity,
                               .initial = &one,
                               .seconds = h,
                               .rows = 1};
}

typedef struct line {
    double at_s;
    int worker;
    long delay;
    double x;
} line;

typedef struct lines {
    const line *want;
    size_t n, seen;
} lines;

static void see(void *argument, double at_s, int worker, long delay, const double *center)
{
    lines *const l = argument;
    ck_assert_uint_lt(l->seen, l->n);
    const line *const want = &l->want[l->seen++];
    ck_assert_double_eq(at_s, want->at_s);
    ck_assert_int_eq(worker, want->worker);
    ck_assert_int_eq(delay, want->delay);
    ck_assert_double_eq(*center, want->x);
}

START_TEST(rennala_by_hand)
{
    static const line by_four[] = {{3, 0, 0, .5}, {6, 0, 0, .25}};
    static const line by_two[] = {{2, 0, 0, .5}, {4, 0, 0, .25}, {6, 0, 0, .125}};
    const emulation_problem p = three_paces(6.5);
    lines l = {by_four, 2, 0};
    arrivals_result r = {.seen = see, .argument = &l};
    arrivals_rennala(&p, 4, &r);
    ck_assert_uint_eq(l.seen, 2);
    l = (lines){by_two, 3, 0};
    r = (arrivals_result){.seen = see, .argument = &l};
    arrivals_rennala(&p, 2, &r);
    ck_assert_uint_eq(l.seen, 3);
    ck_assert_double_eq(r.cancelled, 6);
    ck_assert_double_eq(r.lost_s, 3 * (2 + 2));
}
END_TEST

START_TEST(a_round_of_rennala_ends_when_enough_have_arrived) /* _i: batch */
{
    const emulation_problem p = three_paces(1000);
    double at_s = 0;
    long arrived = 0;
    while (arrived < _i) {
        at_s++;
        arrived = 0;
        for (int w = 0; w < 3; w++)
            arrived += (long)floor(at_s / h[w]);
    }
    arrivals_result r = {0};
    arrivals_rennala(&p, _i, &r);
    ck_assert_double_eq(r.updates, floor(1000 / at_s));
}
END_TEST

START_TEST(ringmaster_by_hand)
{
    static const line three[] = {{1, 0, 0, .5},     {2, 0, 0, .25},     {2, 1, 2, -.25},
                                 {3, 0, 1, -.375},  {4, 0, 0, -.1875},  {4, 1, 2, -.0625},
                                 {5, 0, 1, .03125}, {6, 0, 0, .015625}, {6, 1, 2, .046875}};
    static const line two[] = {
        {1, 0, 0, .5}, {2, 0, 0, .25}, {3, 0, 0, .125}, {4, 0, 0, .0625}, {5, 0, 0, .03125}};
    static const line all[] = {{1, 0, 0, .5},     {2, 0, 0, .25},    {2, 1, 2, -.25},
                               {3, 0, 1, -.375},  {4, 0, 0, -.1875}, {4, 1, 2, -.0625},
                               {5, 0, 1, .03125}, {5, 2, 7, -.46875}};
    emulation_problem p = three_paces(5.5);
    lines l = {two, 5, 0};
    arrivals_result r = {.seen = see, .argument = &l};
    arrivals_ringmaster(&p, 2, true, &r);
    ck_assert_uint_eq(l.seen, 5);
    l = (lines){all, 8, 0};
    r = (arrivals_result){.seen = see, .argument = &l};
    arrivals_ringmaster(&p, 0, true, &r);
    ck_assert_uint_eq(l.seen, 8);
    emulation_problem alone = three_paces(6);
    l = (lines){three, 9, 0};
    r = (arrivals_result){.seen = see, .argument = &l};
    arrivals_ringmaster(&alone, 3, true, &r);
    ck_assert_uint_eq(l.seen, 9);
    ck_assert_double_eq(r.cancelled, 3);
    ck_assert_double_eq(r.lost_s, 2 + 2 + 2);
}
END_TEST

START_TEST(no_applied_delay_reaches_the_bound) /* _i: bound, cancels */
{
    emulation_problem p = parabolas(0);
    p.until_s = 60;
    arrivals_result r = {0};
    const int bound = 1 + _i / 2;
    arrivals_ringmaster(&p, bound, _i % 2, &r);
    ck_assert_double_lt(r.delay.max, bound);
    ck_assert_double_gt(_i % 2 ? r.cancelled : r.dropped, 0);
}
END_TEST

/* --- asynchronous local SGD ------------------------------------------------------------------- */

START_TEST(delayed_nesterov_by_hand)
{
    static const struct {
        long period;
        double c, want[6];
    } rows[] = {{3, 0, {-.033333, -.066667, -.15, -.183333, -.216667, -.325}},
                {3, .25, {-.033333, -.066667, -.125, -.170833, -.216667, -.2875}},
                {1, 0, {-.15, -.325, -.5125}}};
    for (size_t k = 0; k < 3; k++) {
        const arrivals_local_options o = {NULL, rows[k].period, .1, .5, rows[k].c};
        const double g = 1;
        double m = 0;
        double sum = 0;
        double w = 0;
        for (long t = 0; t < (rows[k].period == 1 ? 3 : 6); t++) {
            arrivals_delayed_nesterov(&o, 1, t, &g, &m, &sum, &w);
            ck_assert_double_eq_tol(w, rows[k].want[t], 6e-7);
        }
    }
}
END_TEST

/** Sixteen speeds; a local step of the fastest takes .238391 s, a round 32 of them. */
START_TEST(dynamic_local_steps_level_the_rounds)
{
    static const double speed[] = {.232, .907, .828, .347, .574, .531, .722, .194,
                                   .852, .132, .896, .107, .827, .515, .527, .788};
    double same_s = 0;
    double dynamic_s = 0;
    for (int i = 0; i < 16; i++) {
        const double step_s = .238391 * .907 / speed[i];
        same_s = fmax(same_s, 32 * step_s);
        dynamic_s = fmax(dynamic_s, (double)arrivals_local_steps(32, speed[i], .907) * step_s);
    }
    ck_assert_double_eq_tol(same_s, 64.66, 0.005);
    ck_assert_double_eq_tol(dynamic_s, 8.39, 0.005);
    ck_assert_int_eq(arrivals_local_steps(8, 0.001, 1), 1);
}
END_TEST

/** Momentum stays at the worker. */
START_TEST(one_worker_takes_local_steps_in_a_row)
{
    const long steps = 6;
    const double initial[N] = {2, -1, 3};
    emulation_problem p = parabolas(24);
    p.workers = 1;
    p.momentum = 0.9;
    double x[N], center[N], want[N];
    const oracle_problem plain = {.workers = 1,
                                  .n = N,
                                  .steps = 24,
                                  .lr = 0.02,
                                  .momentum = 0.9,
                                  .gradient = parabola,
                                  .initial = initial};
    arrivals_result r = {.x = x, .center = center};
    arrivals_local_sgd(&p, (arrivals_local_options){&steps, 1, 1, 0, 0}, &r);
    oracle_allreduce(&plain, want);
    expect(x, want, N);
    expect(center, want, N);
    arrivals_ssp(&p, 0, &r);
    expect(center, want, N);
    oracle_diloco(&plain, 6, 0.7, 0.9, want);
    arrivals_local_sgd(&p, (arrivals_local_options){&steps, 1, 0.7, 0.9, 0}, &r);
    expect(center, want, N);
}
END_TEST

/* --- clocks ----------------------------------------------------------------------------------- */

typedef struct clocks {
    long finished[WORKERS], slack, widest;
} clocks;

static void watch_clocks(void *argument, double at_s, int worker, long delay, const double *center)
{
    clocks *const c = argument;
    (void)at_s;
    (void)delay;
    (void)center;
    c->finished[worker]++;
    for (int w = 0; w < WORKERS; w++)
        c->widest = c->finished[worker] - c->finished[w] > c->widest
                        ? c->finished[worker] - c->finished[w]
                        : c->widest;
}

START_TEST(clocks_differ_by_the_slack_and_one)
{
    const emulation_problem p = parabolas(40);
    double waited_s = INFINITY;
    for (long slack = 0; slack < 4; slack++) {
        clocks c = {.slack = slack};
        arrivals_result r = {.seen = watch_clocks, .argument = &c};
        arrivals_ssp(&p, slack, &r);
        ck_assert_int_eq(c.widest, slack + 1);
        ck_assert_double_lt(r.waited_s, waited_s);
        waited_s = r.waited_s;
    }
}
END_TEST

START_TEST(without_a_bound_it_is_a_psgd)
{
    emulation_problem p = parabolas(30);
    p.momentum = 0.5;
    p.weight_decay = 0.01;
    double x[2][MODELS], center[2][N];
    memcpy(center[1], start, sizeof start);
    arrivals_result r = {.x = x[0], .center = center[0]};
    emulation_result want = {.x = x[1], .center = center[1]};
    arrivals_ssp(&p, -1, &r);
    emulation_downpour(&p, 1, &want);
    expect(center[0], center[1], N);
    ck_assert_double_eq(r.delay.sum, want.push_versions.sum);
    ck_assert_double_eq(r.end_s, want.end_s);
    p.momentum = p.weight_decay = 0; /* which are the server's here */
    memcpy(center[1], start, sizeof start);
    emulation_downpour(&p, 1, &want);
    r = (arrivals_result){.center = center[0]};
    arrivals_ringmaster(&p, 0, true, &r);
    expect(center[0], center[1], N);
}
END_TEST

/** No slack: the sum of all gradients in every step; no backups, or a batch of all: their mean. */
START_TEST(without_freedom_all_are_synchronous)
{
    enum { STEPS = 20 };
    emulation_problem p = parabolas(STEPS);
    double initial[MODELS], x[MODELS], center[N];
    for (int i = 0; i < MODELS; i++)
        initial[i] = start[i % N];
    oracle_problem plain = {.workers = WORKERS,
                            .n = N,
                            .steps = STEPS,
                            .lr = 0.02,
                            .momentum = 0.5,
                            .gradient = parabola,
                            .initial = initial};
    arrivals_result r = {.center = center};
    p.momentum = 0.5;
    arrivals_backup_workers(&p, 0, &r);
    oracle_allreduce(&plain, x);
    expect(center, x, N);
    ck_assert_double_eq(r.updates, STEPS);
    ck_assert_double_eq(r.dropped, 0);
    for (int i = 0; i < ROWS * WORKERS; i++)
        seconds[i] = 1; /* equal paces */
    p.steps = 0;
    p.until_s = STEPS + 0.5;
    arrivals_rennala(&p, WORKERS, &r);
    expect(center, x, N);
    plain.lr = 0.02 * WORKERS;
    plain.momentum = 0;
    p = parabolas(STEPS);
    arrivals_ssp(&p, 0, &r);
    oracle_allreduce(&plain, x);
    expect(center, x, N);
}
END_TEST

/** A pace each: the slowest's gradients always come too late, and nobody waits for it. */
START_TEST(backups_leave_the_slowest_out)
{
    static const double pace[] = {1, 1.01, 1.02, 1.03, 10.5};
    emulation_problem p = parabolas(0);
    p.seconds = pace;
    p.rows = 1;
    p.until_s = 100;
    arrivals_result r = {0};
    arrivals_backup_workers(&p, 1, &r);
    /*
     * Its own at 10.5, 21, ..., and those of fast workers' second tokens, which come when the step
     * that they are of is over.
     */
    ck_assert_double_ge(r.dropped, 9);
    ck_assert_double_gt(r.updates, 45);
    arrivals_result all = {0};
    arrivals_backup_workers(&p, 0, &all);
    ck_assert_double_eq(all.updates, 9);
}
END_TEST

/* --- DSGD-AAU --------------------------------------------------------------------------------- */

static bool on_ring(const emulation_problem *p, int i, int j)
{
    const int d = (i - j + p->workers) % p->workers;
    return d == 1 || d == p->workers - 1;
}

static double mean_of(const double *x, int workers, int i)
{
    double mean = 0;
    for (int w = 0; w < workers; w++)
        mean += x[w * N + i] / workers;
    return mean;
}

/** Gradients that models do not change. */
static void unmoved(void *argument, int worker, long step, const double *x, double *g)
{
    (void)argument;
    (void)x;
    for (int i = 0; i < N; i++)
        g[i] = worker + i + 0.1 * (double)step;
}

START_TEST(an_epoch_lasts_as_long_as_the_slowest)
{
    static const double pace[] = {1, 1.01, 1.02, 1.03, 10.5};
    emulation_problem p = parabolas(0);
    p.seconds = pace;
    p.rows = 1;
    p.until_s = 107;
    arrivals_result r = {0};
    arrivals_dsgd_aau(&p, on_ring, &r);
    ck_assert_double_ge(r.epochs, 9);
    ck_assert_double_le(r.epochs, 10);
    ck_assert_double_le(r.updates, (r.epochs + 1) * (WORKERS - 1));
    p = parabolas(8); /* the mean moves by gradients alone */
    p.gradient = unmoved;
    p.until_s = 0;
    double x[MODELS];
    r = (arrivals_result){.x = x};
    arrivals_dsgd_aau(&p, on_ring, &r);
    ck_assert_double_gt(r.updates, 0);
    double want[N] = {0};
    for (int i = 0; i < N; i++)
        want[i] = start[i];
    for (int w = 0; w < WORKERS; w++)
        for (int i = 0; i < N; i++)
            for (long t = 0; t < 8; t++)
                want[i] -= 0.02 * (w + i + 0.1 * (double)t) / WORKERS;
    /* At the end somebody may wait for ever, with fewer steps. */
    for (int i = 0; i < N; i++)
        ck_assert_double_lt(fabs(mean_of(x, WORKERS, i) - want[i]), 0.3);
}
END_TEST

/** By hand: 0 and 1 mix at 2 s, and again only once worker 2 has come; all three then mix. */
START_TEST(aau_by_hand)
{
    static const double pace[] = {1, 2, 3.5};
    static const double zero[N] = {0};
    double x[3 * N];
    emulation_problem p = {.workers = 3,
                           .n = N,
                           .pieces = 1,
                           .until_s = 3.9,
                           .lr = 1,
                           .gradient = unmoved,
                           .initial = zero,
                           .seconds = pace,
                           .rows = 1};
    arrivals_result r = {.x = x};
    arrivals_dsgd_aau(&p, on_ring, &r);
    ck_assert_double_eq(r.updates, 2);
    ck_assert_double_eq(r.epochs, 1);
    /* At 2 s (0 - 1) / 2 for both; worker 0 again at 3 s: -.5 - .1; worker 2 at 3.5 s: -2. */
    ck_assert_double_eq_tol(x[0], (-0.6 - 2) / 2, rounding);
    ck_assert_double_eq_tol(x[2 * N], (-0.6 - 2) / 2, rounding);
    ck_assert_double_eq_tol(x[N], -0.5, rounding);
    ck_assert_double_eq(r.waited_s, 1 + 0.5);
}
END_TEST

Suite *arrivals_suite(void)
{
    Suite *s = suite_create("arrivals");
    TCase *t = tcase_create("arrivals");
    tcase_add_test(t, rennala_by_hand);
    tcase_add_loop_test(t, a_round_of_rennala_ends_when_enough_have_arrived, 1, 12);
    tcase_add_test(t, ringmaster_by_hand);
    tcase_add_loop_test(t, no_applied_delay_reaches_the_bound, 0, 8);
    tcase_add_test(t, delayed_nesterov_by_hand);
    tcase_add_test(t, dynamic_local_steps_level_the_rounds);
    tcase_add_test(t, one_worker_takes_local_steps_in_a_row);
    tcase_add_test(t, clocks_differ_by_the_slack_and_one);
    tcase_add_test(t, without_a_bound_it_is_a_psgd);
    tcase_add_test(t, without_freedom_all_are_synchronous);
    tcase_add_test(t, backups_leave_the_slowest_out);
    tcase_add_test(t, an_epoch_lasts_as_long_as_the_slowest);
    tcase_add_test(t, aau_by_hand);
    suite_add_tcase(s, t);
    return s;
}
