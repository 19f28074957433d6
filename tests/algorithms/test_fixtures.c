/**
 * @file test_fixtures.c
 * The younger half of the oracle: values by hand.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "tests/support/oracle_encoded.h"
#include "tests/support/oracle_groups.h"
#include "tests/support/suite.h"

enum { WORKERS = 6, N = 12, MODELS = WORKERS * N };

static void expect(const double *got, const double *want, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabs(got[i] - want[i]) <= tolerance, "element %zu is %.17g, not %.17g", i,
                      got[i], want[i]);
}

static const double rounding = 1e-12;

/** Gradients that differ between workers and elements. */
static void unlike(void *argument, int worker, long step, const double *x, double *g)
{
    (void)argument;
    (void)step;
    (void)x;
    for (int i = 0; i < N; i++)
        g[i] = cos(5.3 * worker + 1.7 * i);
}

static void ring(int workers, double *mixing)
{
    memset(mixing, 0, (size_t)(workers * workers) * sizeof *mixing);
    for (int i = 0; i < workers; i++)
        for (int d = -1; d <= 1; d++)
            mixing[i * workers + (i + d + workers) % workers] += 1.0 / 3;
}

/* --- encodings and error feedback ------------------------------------------------------------- */

SUITE(fixtures, "encoded");

TEST(ok_topk_is_the_top_k_of_the_sum_of_top_ks)
{
    const double zero[MODELS] = {0};
    const oracle_problem p = {
        .workers = WORKERS, .n = N, .steps = 1, .lr = 1, .gradient = unlike, .initial = zero};
    const oracle_encoding top = {.encode = oracle_top_k, .density = 0.25};
    double x[MODELS], g[N], own[N], sum[N] = {0}, want[N];
    for (int w = 0; w < WORKERS; w++) {
        unlike(NULL, w, 0, NULL, g);
        oracle_top_k(&top, (oracle_place){0}, N, g, own);
        for (int i = 0; i < N; i++)
            sum[i] += own[i];
    }
    oracle_top_k(&top, (oracle_place){0}, N, sum, want);
    for (int i = 0; i < N; i++)
        want[i] = -want[i] / WORKERS;
    oracle_ok_topk(&p, 0.25, 1, x);
    expect(x, want, N, rounding);
}

/* --- PowerSGD --------------------------------------------------------------------------------- */

/* --- CHOCO ------------------------------------------------------------------------------------ */

static void still(void *argument, int worker, long step, const double *x, double *g)
{
    (void)worker;
    (void)step;
    (void)x;
    memset(g, 0, *(const size_t *)argument * sizeof *g);
}

/* --- gradient tracking ------------------------------------------------------------------------ */

static void towards_own(void *argument, int worker, long step, const double *x, double *g)
{
    static const double b[4] = {0, 1, 2, 5};
    (void)argument;
    (void)step;
    *g = *x - b[worker];
}

TEST(tracking_by_hand)
{
    static const struct {
        long steps;
        int form; /* tracking, d2, neither */
        double want[4];
    } rows[] = {
        {1, 0, {.2, .1, .266667, .233333}},
        {1, 1, {.2, .1, .266667, .233333}},
        {2, 0, {.337778, .358889, .38, .443333}},
        {2, 1, {.337778, .358889, .38, .443333}},
        {3, 0, {.539778, .511889, .561333, .555}},
        {3, 1, {.562, .511889, .568741, .52537}},
        {10, 0, {1.302593, 1.30253, 1.302702, 1.302748}},
        {200, 2, {1.978022, 1.879121, 2.07326, 2.069597}},
    };
    const double zero[4] = {0};
    double mixing[16], x[4];
    ring(4, mixing);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const oracle_problem p = {.workers = 4,
                                  .n = 1,
                                  .steps = rows[i].steps,
                                  .lr = .1,
                                  .gradient = towards_own,
                                  .initial = zero};
        if (rows[i].form == 2)
            oracle_gossip(&p, mixing, 1, 1, true, x);
        else
            oracle_gradient_tracking(&p, mixing, rows[i].form == 1, x);
        expect(x, rows[i].want, 4, 6e-7);
        const double mean = (x[0] + x[1] + x[2] + x[3]) / 4;
        ck_assert_double_eq_tol(mean, 2 * (1 - pow(.9, (double)rows[i].steps)), rounding);
    }
}

/* --- groups ----------------------------------------------------------------------------------- */

TEST(only_the_largest_group_that_is_due_averages)
{
    static const oracle_level levels[] = {{2, 2}, {4, 6}};
    static const double initial[6] = {1, 2, 4, 8, 16, 32};
    static const double want[2][6] = {{1.5, 1.5, 6, 6, 24, 24},
                                      {10.5, 10.5, 10.5, 10.5, 10.5, 10.5}};
    size_t n = 1;
    double x[6];
    for (int i = 0; i < 2; i++) {
        const oracle_problem p = {.workers = 6,
                                  .n = 1,
                                  .steps = 2 * (i + 1),
                                  .lr = 1,
                                  .gradient = still,
                                  .argument = &n,
                                  .initial = initial};
        oracle_hierarchical(&p, (oracle_hierarchy){levels, 2, 1, false}, x);
        expect(x, want[i], 6, rounding);
    }
}
