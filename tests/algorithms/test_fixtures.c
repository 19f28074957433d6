/**
 * @file test_fixtures.c
 * The younger half of the oracle: values by hand, and laws that its algorithms obey.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/draw.h"
#include "tests/suites.h"
#include "tests/support/arrivals.h"
#include "tests/support/oracle_encoded.h"
#include "tests/support/oracle_groups.h"

enum { WORKERS = 6, N = 12, STEPS = 20, MODELS = WORKERS * N, MOST = 64 };

static void expect(const double *got, const double *want, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabs(got[i] - want[i]) <= tolerance, "element %zu is %.17g, not %.17g", i,
                      got[i], want[i]);
}

static const double rounding = 1e-12;

static double drawn(uint32_t worker, uint32_t step, size_t i)
{
    const dsgd_draw at = {3, DSGD_DRAW_DATA, worker, step, (uint32_t)i};
    return dsgd_draw_uniform(at);
}

/** A parabola per worker, whose optimum moves from step to step. */
static void parabola(void *argument, int worker, long step, const double *x, double *g)
{
    const size_t n = argument == NULL ? N : *(const size_t *)argument;
    for (size_t i = 0; i < n; i++)
        g[i] = (0.5 + 1.5 / (double)(i + 1)) *
               (x[i] - 3 * cos(worker + 1.0) - drawn((uint32_t)worker, (uint32_t)step, i));
}

static double alike[MODELS];

static oracle_problem parabolas(void)
{
    for (int i = 0; i < MODELS; i++)
        alike[i] = 1 + 0.25 * (i % N);
    return (oracle_problem){.workers = WORKERS,
                            .n = N,
                            .steps = STEPS,
                            .lr = 0.05,
                            .momentum = 0.9,
                            .weight_decay = 0.01,
                            .gradient = parabola,
                            .initial = alike};
}

/** Plain steps by gradients that worker and step decide alone: their sum is what was put in. */
static void unmoved(void *argument, int worker, long step, const double *x, double *g)
{
    (void)argument;
    (void)x;
    for (size_t i = 0; i < N; i++)
        g[i] = drawn((uint32_t)worker, (uint32_t)step, i) - 0.3;
}

static oracle_problem unmoved_by_models(void)
{
    oracle_problem p = parabolas();
    p.gradient = unmoved;
    p.lr = 1;
    p.momentum = p.weight_decay = 0;
    return p;
}

/** What is left and what was applied are what all gradients sum up to. */
static void expect_conservation(const oracle_problem *p, const double *residual, const double *x)
{
    for (size_t i = 0; i < N; i++) {
        double in = 0;
        double out = p->workers * (p->initial[i] - x[i]);
        for (int w = 0; w < p->workers; w++) {
            out += residual[(size_t)w * N + i];
            for (long t = 0; t < p->steps; t++) {
                double g[N];
                unmoved(NULL, w, t, NULL, g);
                in += g[i];
            }
        }
        ck_assert_double_eq_tol(out, in, 1e-10);
    }
}

static void ring(int workers, double *mixing)
{
    memset(mixing, 0, (size_t)(workers * workers) * sizeof *mixing);
    for (int i = 0; i < workers; i++)
        for (int d = -1; d <= 1; d++)
            mixing[i * workers + (i + d + workers) % workers] += 1.0 / 3;
}

/* --- encodings and error feedback ------------------------------------------------------------- */

static void two_constants(void *argument, int worker, long step, const double *x, double *g)
{
    static const double of[2][3] = {{3, -1, 2}, {.5, 4, 2.5}};
    (void)argument;
    (void)step;
    (void)x;
    memcpy(g, of[worker], sizeof of[worker]);
}

START_TEST(top_k_by_hand) /* _i: steps */
{
    static const double want[3][3] = {{-1.5, -2, 0}, {-1.5, -2, -4.5}, {-4.5, -6, -4.5}};
    const double zero[6] = {0};
    const oracle_encoding one = {.encode = oracle_top_k, .density = 1.0 / 3};
    const oracle_problem p = {
        .workers = 2, .n = 3, .steps = _i, .lr = 1, .gradient = two_constants, .initial = zero};
    double x[6], e[6];
    oracle_feedback(&p, &one, 1, true, e, x);
    expect(x, want[_i - 1], 3, rounding);
    expect(x + 3, want[_i - 1], 3, rounding);
    if (_i == 3)
        expect(e, (double[]){0, -3, 2, 1.5, 0, 2.5}, 6, rounding);
    oracle_momentum_correction(&p, &one, 1, 0.5, x);
    if (_i == 3)
        expect(x, (double[]){-5.25, -7, -5.625}, 3, rounding);
}
END_TEST

START_TEST(feedback_forgets_nothing) /* _i: encoding */
{
    const oracle_encoding encodings[] = {{.encode = oracle_top_k, .density = 0.2},
                                         {.encode = oracle_sign}};
    const oracle_problem p = unmoved_by_models();
    double x[MODELS], e[MODELS];
    oracle_feedback(&p, &encodings[_i], 3, true, e, x);
    expect_conservation(&p, e, x);
    oracle_ok_topk(&p,
                   (oracle_ok_topk_options){
                       .density = 0.2, .pieces = 1 + (size_t)_i, .thresholds = 4, .borders = 8},
                   e, x);
    expect_conservation(&p, e, x);
}
END_TEST

START_TEST(all_of_it_is_allreduce)
{
    const oracle_problem p = parabolas();
    const oracle_encoding all = {.encode = oracle_top_k, .density = 1};
    const oracle_encoding same = {.encode = oracle_identity};
    double want[MODELS], x[MODELS];
    oracle_allreduce(&p, want);
    oracle_feedback(&p, &all, 5, true, NULL, x);
    expect(x, want, MODELS, rounding);
    oracle_feedback(&p, &same, 1, false, NULL, x);
    expect(x, want, MODELS, rounding);
    oracle_momentum_correction(&p, &all, 1, 0, x);
    expect(x, want, MODELS, rounding);
    oracle_ok_topk(
        &p, (oracle_ok_topk_options){.density = 1, .pieces = 2, .thresholds = 1, .borders = 1},
        NULL, x);
    expect(x, want, MODELS, rounding);
}
END_TEST

START_TEST(ok_topk_is_the_top_k_of_the_sum_of_top_ks)
{
    oracle_problem p = unmoved_by_models();
    p.steps = 1;
    const oracle_encoding top = {.encode = oracle_top_k, .density = 0.25};
    double x[MODELS], g[N], own[N], sum[N] = {0}, want[N];
    for (int w = 0; w < WORKERS; w++) {
        unmoved(NULL, w, 0, NULL, g);
        oracle_top_k(&top, (oracle_place){0}, N, g, own);
        for (int i = 0; i < N; i++)
            sum[i] += own[i];
    }
    oracle_top_k(&top, (oracle_place){0}, N, sum, want);
    for (int i = 0; i < N; i++)
        want[i] = alike[i] - want[i] / WORKERS;
    oracle_ok_topk(
        &p, (oracle_ok_topk_options){.density = 0.25, .pieces = 1, .thresholds = 1, .borders = 1},
        NULL, x);
    expect(x, want, N, rounding);
}
END_TEST

START_TEST(ok_topk_sends_less_than_6k_whatever_the_number_of_workers) /* _i: workers */
{
    enum { LARGE = 400, K = 40 };
    static double initial[MOST * LARGE], x[MOST * LARGE];
    size_t n = LARGE;
    double to_owners = 0;
    double to_all = 0;
    const oracle_problem p = {.workers = _i,
                              .n = LARGE,
                              .steps = 3,
                              .lr = 0.1,
                              .gradient = parabola,
                              .argument = &n,
                              .initial = initial};
    oracle_ok_topk(&p,
                   (oracle_ok_topk_options){.density = (double)K / LARGE,
                                            .pieces = 1,
                                            .thresholds = 1,
                                            .borders = 1,
                                            .sent_to_owners = &to_owners,
                                            .sent_to_all = &to_all},
                   NULL, x);
    const double bytes = 8 * (to_owners + to_all) / _i / 3;
    ck_assert_double_le(bytes, 24.0 * K);
    ck_assert_double_gt(bytes, 8.0 * K * (_i - 1) / _i);
}
END_TEST

static long qsgd_seed;

static double qsgd_draw(oracle_place at, size_t i)
{
    return dsgd_draw_uniform((dsgd_draw){(uint64_t)qsgd_seed, DSGD_DRAW_DATA, (uint32_t)at.worker,
                                         (uint32_t)at.step, (uint32_t)i});
}

START_TEST(qsgd_is_right_on_average) /* _i: bucket */
{
    enum { SEEDS = 4000, LEVELS = 4 };
    const oracle_encoding e = {
        .encode = oracle_qsgd, .levels = LEVELS, .bucket = (size_t)_i, .draw = qsgd_draw};
    const double v[5] = {1, -2, 0, 0.3, 5};
    const double zero[5] = {0};
    double mean[5] = {0};
    double q[5];
    for (qsgd_seed = 0; qsgd_seed < SEEDS; qsgd_seed++) {
        oracle_qsgd(&e, (oracle_place){0}, 5, v, q);
        for (int i = 0; i < 5; i++) {
            mean[i] += q[i] / SEEDS;
            ck_assert_double_le(fabs(q[i] - v[i]), sqrt(30.09) / LEVELS + rounding);
        }
    }
    expect(mean, v, 5, 6 * sqrt(30.09) / LEVELS / 2 / sqrt(SEEDS));
    oracle_qsgd(&e, (oracle_place){0}, 5, zero, q);
    expect(q, zero, 5, 0);
}
END_TEST

START_TEST(signs_keep_the_mean_size)
{
    const double v[4] = {1, -2, 0, 5};
    const double same[3] = {-2, -2, -2};
    double q[4];
    oracle_sign(NULL, (oracle_place){0}, 4, v, q);
    expect(q, (double[]){2, -2, 2, 2}, 4, rounding);
    oracle_sign(NULL, (oracle_place){0}, 3, same, q);
    expect(q, same, 3, rounding);
}
END_TEST

/* --- PowerSGD --------------------------------------------------------------------------------- */

static void one_matrix(void *argument, int worker, long step, const double *x, double *g)
{
    (void)argument;
    (void)worker;
    (void)step;
    (void)x;
    memcpy(g, (double[]){3, 1, 1, 2}, 4 * sizeof *g);
}

static double unit_start(size_t matrix, bool right, size_t row, size_t column)
{
    (void)matrix;
    (void)right;
    return row == column;
}

static double drawn_start(size_t matrix, bool right, size_t row, size_t column)
{
    return drawn((uint32_t)matrix, right, row * 10 + column) - 0.5;
}

START_TEST(power_sgd_by_hand) /* _i: steps */
{
    static const double u[3][4] = {{3, 1, 0, 0}, {3, 1, 3, 1}, {1.5, 3, 1.5, 3}};
    static const double left[3][4] = {{0, 0, 1, 2}, {0, 0, -1, 3}, {1.5, -2, -1.5, 2}};
    const double zero[4] = {0};
    const oracle_matrix m = {0, 2, 2, 0};
    const oracle_problem p = {
        .workers = 1, .n = 4, .steps = _i, .lr = 1, .gradient = one_matrix, .initial = zero};
    double want[4] = {0}, x[4], e[4];
    for (int t = 0; t < _i; t++)
        for (int i = 0; i < 4; i++)
            want[i] -= u[t][i];
    oracle_power_sgd(
        &p,
        (oracle_power_options){
            .rank = 1, .matrix = &m, .n_matrices = 1, .iterations = 1, .start = unit_start},
        e, x);
    expect(x, want, 4, 1e-15 + rounding);
    expect(e, left[_i - 1], 4, rounding);
}
END_TEST

START_TEST(power_sgd_forgets_nothing) /* _i: form, rank */
{
    const oracle_matrix m[] = {{0, 2, 3, 0}, {6, 2, 0, 0}, {8, 2, 3, 4}};
    const oracle_problem p = unmoved_by_models();
    double x[MODELS], e[MODELS];
    oracle_power_sgd(&p,
                     (oracle_power_options){.rank = 1 + (size_t)(_i / 2 % 2),
                                            .matrix = m,
                                            .n_matrices = 3,
                                            .both = _i % 2 == 1,
                                            .iterations = 1 + 2 * (_i / 4),
                                            .dense_steps = _i,
                                            .start = drawn_start},
                     e, x);
    expect_conservation(&p, e, x);
}
END_TEST

START_TEST(power_sgd_of_full_rank_is_allreduce)
{
    const oracle_matrix m[] = {{0, 2, 3, 0}, {6, 2, 0, 0}, {8, 2, 2, 0}};
    const oracle_problem p = parabolas();
    double x[MODELS], want[MODELS];
    oracle_power_sgd(
        &p,
        (oracle_power_options){
            .rank = 2, .matrix = m, .n_matrices = 3, .both = true, .start = drawn_start},
        NULL, x);
    oracle_allreduce(&p, want);
    expect(x, want, MODELS, 1e-10);
}
END_TEST

/* --- CHOCO ------------------------------------------------------------------------------------ */

static void still(void *argument, int worker, long step, const double *x, double *g)
{
    (void)worker;
    (void)step;
    (void)x;
    memset(g, 0, *(const size_t *)argument * sizeof *g);
}

START_TEST(choco_by_hand) /* _i: steps of the paper's order */
{
    static const double want[4][8] = {{1, 0, 0, 4, -2, 1, 3, -2},
                                      {1.1667, .6667, -.1667, 2.6667, -.8333, 1.6667, 1.8333, -2},
                                      {1.3333, .5556, -.3333, 2.1667, .3333, 1.2222, .6667, -.9444},
                                      {1, .3611, -.0556, 1.8333, .3333, .6944, .7222, .1111}};
    static const double initial[8] = {1, 0, 0, 4, -2, 1, 3, -2};
    size_t n = 2;
    double mixing[16], x[8];
    ring(4, mixing);
    const oracle_encoding top = {.encode = oracle_top_k, .density = 0.5};
    oracle_choco_options o = {mixing, 0.5, &top, 1, false, false};
    oracle_problem p = {.workers = 4,
                        .n = 2,
                        .steps = _i,
                        .lr = 1,
                        .gradient = still,
                        .argument = &n,
                        .initial = initial};
    oracle_choco(&p, o, x);
    expect(x, want[_i], 8, 6e-5);
    o.mixes_first = true;
    p.steps = _i + 1;
    oracle_choco(&p, o, x);
    expect(x, want[_i], 8, 6e-5);
    p.steps = 200; /* linear to the mean */
    oracle_choco(&p, o, x);
    for (int w = 0; w < 4; w++)
        expect(x + 2 * w, (double[]){.5, .75}, 2, 1e-3);
}
END_TEST

static void expect_means(const double *got, const double *want)
{
    for (int i = 0; i < N; i++) {
        double sums[2] = {0, 0};
        for (int w = 0; w < WORKERS; w++) {
            sums[0] += got[w * N + i];
            sums[1] += want[w * N + i];
        }
        expect(&sums[0], &sums[1], 1, 1e-10);
    }
}

START_TEST(choco_of_everything_is_gossip)
{
    const oracle_problem p = parabolas();
    const oracle_encoding same = {.encode = oracle_identity};
    double mixing[WORKERS * WORKERS], x[MODELS], want[MODELS];
    ring(WORKERS, mixing);
    oracle_gossip(&p, mixing, 1, 1, true, want);
    oracle_choco(&p, (oracle_choco_options){mixing, 1, &same, 3, _i == 1, false}, x);
    expect(x, want, MODELS, rounding);
}
END_TEST

START_TEST(choco_keeps_the_mean)
{
    const oracle_problem p = unmoved_by_models();
    const oracle_encoding sign = {.encode = oracle_sign};
    double mixing[WORKERS * WORKERS], x[MODELS], want[MODELS];
    ring(WORKERS, mixing);
    oracle_allreduce(&p, want);
    oracle_choco(&p, (oracle_choco_options){mixing, 0.4, &sign, 2, _i == 1, _i == 2}, x);
    expect_means(x, want);
}
END_TEST

/* --- gradient tracking ------------------------------------------------------------------------ */

static void towards_own(void *argument, int worker, long step, const double *x, double *g)
{
    static const double b[4] = {0, 1, 2, 5};
    (void)argument;
    (void)step;
    *g = *x - b[worker];
}

START_TEST(tracking_by_hand)
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
            oracle_gradient_tracking(&p, mixing, rows[i].form == 1, NULL, x);
        expect(x, rows[i].want, 4, 6e-7);
        const double mean = (x[0] + x[1] + x[2] + x[3]) / 4;
        ck_assert_double_eq_tol(mean, 2 * (1 - pow(.9, (double)rows[i].steps)), rounding);
    }
}
END_TEST

START_TEST(tracking_corrects_nothing_on_average) /* _i: form */
{
    const oracle_problem p = parabolas();
    double mixing[WORKERS * WORKERS], c[MODELS], x[MODELS], want[MODELS];
    const double zero[MODELS] = {0};
    ring(WORKERS, mixing);
    oracle_gradient_tracking(&p, mixing, _i, c, x);
    expect_means(c, zero);
    for (int i = 0; i < WORKERS * WORKERS; i++)
        mixing[i] = 1.0 / WORKERS;
    oracle_gradient_tracking(&p, mixing, _i, c, x);
    oracle_allreduce(&p, want);
    expect(x, want, MODELS, rounding);
}
END_TEST

/* --- groups ----------------------------------------------------------------------------------- */

START_TEST(one_level_is_local_sgd)
{
    const oracle_problem p = parabolas();
    const oracle_level level = {4, WORKERS};
    double x[MODELS], want[MODELS];
    oracle_local_sgd(&p, 4, 0, false, want);
    oracle_hierarchical(&p, (oracle_hierarchy){&level, 1, 1, 0, .at_ends = true}, x);
    expect(x, want, MODELS, rounding);
    oracle_allreduce(&p, want);
    oracle_hierarchical(&p, (oracle_hierarchy){&level, 1, WORKERS, 0, .at_ends = true}, x);
    expect(x, want, MODELS, rounding);
    oracle_hierarchical(&p, (oracle_hierarchy){&level, 1, 1, STEPS, .at_ends = true}, x);
    expect(x, want, MODELS, rounding);
}
END_TEST

START_TEST(only_the_largest_group_that_is_due_averages)
{
    static const oracle_level levels[] = {{2, 2}, {4, 6}};
    static const double initial[6] = {1, 2, 4, 8, 16, 32};
    static const double want[4][6] = {{1.5, 1.5, 6, 6, 24, 24},
                                      {10.5, 10.5, 10.5, 10.5, 10.5, 10.5},
                                      {10.5, 10.5, 10.5, 10.5, 10.5, 10.5},
                                      {1, 2, 4, 8, 16, 32}};
    size_t n = 1;
    double x[6];
    for (int i = 0; i < 4; i++) {
        const oracle_problem p = {.workers = 6,
                                  .n = 1,
                                  .steps = i < 2 ? 2 * (i + 1) : 3 - i,
                                  .lr = 1,
                                  .gradient = still,
                                  .argument = &n,
                                  .initial = initial};
        oracle_hierarchical(&p, (oracle_hierarchy){levels, 2, 1, 0, .at_ends = i < 2}, x);
        expect(x, want[i], 6, rounding);
    }
}
END_TEST

static void always_two(void *argument, int worker, long step, const double *x, double *g)
{
    (void)argument;
    (void)worker;
    (void)step;
    (void)x;
    g[0] = g[1] = 2;
}

START_TEST(streaming_by_hand) /* _i: delay, mixing */
{
    static const struct {
        long delay;
        double mixing, local[2][3], global[2][2]; /* of fragments 0 and 1 */
    } rows[] = {
        {0, 0, {{-11, -35, -59}, {-23, -47}}, {{-11, -35}, {-23, -47}}},
        {0, .5, {{-8, -24.5, -40.25}, {-17, -32}}, {{-11, -29}, {-23, -35}}},
        {0, 1, {{-5, -17, -29}, {-11, -23}}, {{-11, -23}, {-23, -23}}},
        {1, 0, {{-7, -27, -47}, {-19, -39}}, {{-7, -27}, {-19, -39}}},
        {1, .5, {{-6, -21.5, -35.75}, {-15, -29}}, {{-7, -25}, {-19, -31}}},
        {1, 1, {{-5, -17, -29}, {-11, -23}}, {{-7, -23}, {-19, -23}}},
    };
    static const size_t fragment[2] = {0, 1};
    static const double one[4] = {1, 1, 1, 1};
    const oracle_streaming_options o = {fragment, 2, 6, rows[_i].delay, rows[_i].mixing, 2, 0};
    for (int sync = 0; sync < 5; sync++) {
        const oracle_problem p = {.workers = 2,
                                  .n = 2,
                                  .steps = 3 * (sync + 1),
                                  .lr = 1,
                                  .gradient = always_two,
                                  .initial = one};
        double x[4], g[2];
        oracle_streaming_diloco(&p, o, g, x);
        const int f = sync % 2;
        expect(&x[f], &rows[_i].local[f][sync / 2], 1, rounding);
        expect(&x[2 + f], &rows[_i].local[f][sync / 2], 1, rounding);
        if (sync < 4)
            expect(&g[f], &rows[_i].global[f][sync / 2], 1, rounding);
    }
}
END_TEST

START_TEST(one_fragment_is_diloco)
{
    const oracle_problem p = parabolas();
    const size_t fragment[N] = {0};
    double x[MODELS], want[MODELS];
    oracle_diloco(&p, 4, 0.7, 0.9, want);
    oracle_streaming_diloco(&p, (oracle_streaming_options){fragment, 1, 4, 0, 0, 0.7, 0.9}, NULL,
                            x);
    expect(x, want, MODELS, rounding);
    oracle_local_sgd(&p, 4, 0, false, want);
    oracle_streaming_diloco(&p, (oracle_streaming_options){fragment, 1, 4, 0, 0, 1, 0}, NULL, x);
    expect(x, want, MODELS, rounding);
}
END_TEST

static void two_pairings(const oracle_problem *p, long round, int *workers)
{
    static const int order[2][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}};
    (void)p;
    memcpy(workers, order[round % 2], sizeof order[0]);
}

static void own_number(void *argument, int worker, long step, const double *x, double *g)
{
    (void)argument;
    (void)step;
    (void)x;
    *g = worker + 1;
}

START_TEST(noloco_by_hand)
{
    static const double want[2][4] = {{-1.4, -2.1, -1.4, -2.1}, {-3.395, -3.955, -4.795, -5.355}};
    const double zero[4] = {0};
    double x[4], phi[4];
    for (int rounds = 1; rounds <= 2; rounds++) {
        const oracle_problem p = {.workers = 4,
                                  .n = 1,
                                  .steps = rounds,
                                  .lr = 1,
                                  .gradient = own_number,
                                  .initial = zero};
        oracle_noloco(&p, (oracle_noloco_options){1, 2, 0.7, 0.5, two_pairings}, phi, x);
        expect(phi, want[rounds - 1], 4, rounding);
        expect(x, want[rounds - 1], 4, rounding);
    }
}
END_TEST

/** Another rotation in every round. */
static void rotated(const oracle_problem *p, long round, int *workers)
{
    for (int w = 0; w < p->workers; w++)
        workers[w] = (int)((w * 5 + round) % p->workers);
}

START_TEST(one_group_of_all_is_local_sgd)
{
    const oracle_problem p = parabolas();
    double x[MODELS], want[MODELS];
    oracle_local_sgd(&p, 4, 0, false, want);
    oracle_noloco(&p, (oracle_noloco_options){4, WORKERS, 1, 0, rotated}, NULL, x);
    expect(x, want, MODELS, rounding);
}
END_TEST

/** Whatever the groups, if gradients do not depend on the models. */
START_TEST(the_mean_of_noloco_is_heavy_ball)
{
    enum { PERIOD = 4 };
    const oracle_problem p = unmoved_by_models();
    double want[N], m[N] = {0}, moved[N] = {0}, g[N], x[MODELS], phi[MODELS];
    memcpy(want, alike, sizeof want);
    for (long t = 0; t < STEPS; t++) {
        for (int w = 0; w < WORKERS; w++) {
            unmoved(NULL, w, t, NULL, g);
            for (int i = 0; i < N; i++)
                moved[i] -= g[i] / WORKERS;
        }
        for (int i = 0; i < N && (t + 1) % PERIOD == 0; i++) {
            m[i] = 0.5 * m[i] + 0.7 * moved[i];
            want[i] += m[i];
            moved[i] = 0;
        }
    }
    for (int group = 1; group <= WORKERS; group++) {
        if (WORKERS % group != 0)
            continue;
        oracle_noloco(&p, (oracle_noloco_options){PERIOD, group, 0.7, 0.5, rotated}, phi, x);
        for (int i = 0; i < N; i++) {
            double mean = 0;
            for (int w = 0; w < WORKERS; w++)
                mean += phi[w * N + i] / WORKERS;
            ck_assert_double_eq_tol(mean, want[i], 1e-10);
        }
    }
}
END_TEST

Suite *fixtures_suite(void)
{
    Suite *s = suite_create("fixtures");
    TCase *t = tcase_create("encoded");
    tcase_add_loop_test(t, top_k_by_hand, 1, 4);
    tcase_add_loop_test(t, feedback_forgets_nothing, 0, 2);
    tcase_add_test(t, all_of_it_is_allreduce);
    tcase_add_test(t, ok_topk_is_the_top_k_of_the_sum_of_top_ks);
    for (int workers = 2; workers <= MOST; workers = 2 * workers + 1)
        tcase_add_loop_test(t, ok_topk_sends_less_than_6k_whatever_the_number_of_workers, workers,
                            workers + 1);
    tcase_add_loop_test(t, qsgd_is_right_on_average, 0, 3);
    tcase_add_test(t, signs_keep_the_mean_size);
    tcase_add_loop_test(t, power_sgd_by_hand, 1, 4);
    tcase_add_loop_test(t, power_sgd_forgets_nothing, 0, 8);
    tcase_add_test(t, power_sgd_of_full_rank_is_allreduce);
    tcase_add_loop_test(t, choco_by_hand, 0, 4);
    tcase_add_loop_test(t, choco_of_everything_is_gossip, 0, 2);
    tcase_add_loop_test(t, choco_keeps_the_mean, 0, 3);
    tcase_add_test(t, tracking_by_hand);
    tcase_add_loop_test(t, tracking_corrects_nothing_on_average, 0, 2);
    tcase_add_test(t, one_level_is_local_sgd);
    tcase_add_test(t, only_the_largest_group_that_is_due_averages);
    tcase_add_loop_test(t, streaming_by_hand, 0, 6);
    tcase_add_test(t, one_fragment_is_diloco);
    tcase_add_test(t, noloco_by_hand);
    tcase_add_test(t, one_group_of_all_is_local_sgd);
    tcase_add_test(t, the_mean_of_noloco_is_heavy_ball);
    suite_add_tcase(s, t);
    return s;
}
