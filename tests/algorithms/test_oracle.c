/**
 * @file test_oracle.c
 * The oracle obeys the laws that connect the algorithms, and small cases come out as by hand.
 */
#include "tests/support/oracle.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "tests/suites.h"

enum { WORKERS = 8, PARAMETERS = 5, STEPS = 24, MODELS = WORKERS * PARAMETERS };

static const long in_order[WORKERS] = {0, 1, 2, 3, 4, 5, 6, 7};
static const long shuffled[WORKERS] = {5, 2, 7, 0, 1, 6, 3, 4};
static double alike[MODELS]; /* initial models, all the same */
static double distinct[MODELS]; /* all different */

/**
 * A parabola per worker, each with its own optimum, which moves from step to step as a mini-batch's
 * does.
 */
static void own_parabola(void *argument, int worker, long step, const double *x, double *g)
{
    (void)argument;
    for (size_t i = 0; i < PARAMETERS; i++) {
        const double optimum =
            cos(1.0 + worker * (double)(i + 1)) + 0.3 * sin((double)(step * WORKERS + worker));
        g[i] = (0.5 + 0.25 * (double)i) * (x[i] - optimum);
    }
}

/** The mean over the workers. */
static void mean_parabola(void *argument, int worker, long step, const double *x, double *g)
{
    (void)worker;
    memset(g, 0, PARAMETERS * sizeof *g);
    for (int w = 0; w < WORKERS; w++) {
        double own[PARAMETERS];
        own_parabola(argument, w, step, x, own);
        for (size_t i = 0; i < PARAMETERS; i++)
            g[i] += own[i] / WORKERS;
    }
}

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

static void fill_initial(void)
{
    for (int i = 0; i < MODELS; i++) {
        alike[i] = 2 + 0.5 * (i % PARAMETERS);
        distinct[i] = alike[i] + 0.1 * i;
    }
}

static oracle_problem parabolas(void)
{
    return (oracle_problem){.workers = WORKERS,
                            .n = PARAMETERS,
                            .steps = STEPS,
                            .lr = 0.05,
                            .momentum = 0.9,
                            .weight_decay = 0.01,
                            .gradient = own_parabola,
                            .initial = alike};
}

static oracle_problem frozen(void)
{
    oracle_problem p = parabolas();
    p.lr = 0;
    p.initial = distinct;
    return p;
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

static void expect_sums(const double *got, const double *want)
{
    for (int i = 0; i < PARAMETERS; i++) {
        double sums[2] = {0, 0};
        for (int w = 0; w < WORKERS; w++) {
            sums[0] += got[w * PARAMETERS + i];
            sums[1] += want[w * PARAMETERS + i];
        }
        expect(&sums[0], &sums[1], 1);
    }
}

/** All weights 1/P. */
static void complete_graph(double *mixing)
{
    for (int i = 0; i < WORKERS * WORKERS; i++)
        mixing[i] = 1.0 / WORKERS;
}

/** Doubly stochastic: thirds to me and to both neighbours at this distance. */
static void ring(int distance, double *mixing)
{
    memset(mixing, 0, WORKERS * WORKERS * sizeof *mixing);
    for (int i = 0; i < WORKERS; i++) {
        mixing[i * WORKERS + i] += 1.0 / 3;
        mixing[i * WORKERS + (i + distance) % WORKERS] += 1.0 / 3;
        mixing[i * WORKERS + (i + WORKERS - distance) % WORKERS] += 1.0 / 3;
    }
}

/**
 * Column-stochastic, and far from row-stochastic: all send half to the next, and the even ones a
 * quarter to worker 1 as well.
 */
static void lopsided(double *mixing)
{
    memset(mixing, 0, WORKERS * WORKERS * sizeof *mixing);
    for (int j = 0; j < WORKERS; j++) {
        const double extra = j % 2 == 0 ? 0.25 : 0;
        mixing[j * WORKERS + j] += 0.5 - extra;
        mixing[(j + 1) % WORKERS * WORKERS + j] += 0.5;
        mixing[1 * WORKERS + j] += extra;
    }
}

START_TEST(averaging_models_each_step_is_averaging_gradients)
{
    const oracle_problem p = parabolas();
    oracle_problem mean = p;
    mean.workers = 1;
    mean.gradient = mean_parabola;
    double x[MODELS], y[MODELS];
    oracle_allreduce(&p, x);
    oracle_local_sgd(&p, 1, 0, false, y);
    expect(y, x, MODELS);
    oracle_allreduce(&mean, y);
    for (int w = 0; w < WORKERS; w++)
        expect(x + w * PARAMETERS, y, PARAMETERS);
}
END_TEST

START_TEST(a_period_of_one_comes_first_in_post_local_sgd)
{
    oracle_problem p = parabolas();
    double x[MODELS], y[MODELS];
    oracle_local_sgd(&p, 5, STEPS, false, x);
    oracle_local_sgd(&p, 1, 0, false, y);
    expect(x, y, MODELS);
    const double zero[2] = {0, 0};
    p = scalar(2, 5, zero); /* averages after steps 0, 1 and 3 */
    oracle_local_sgd(&p, 2, 2, false, x);
    expect(x, (double[]){-7, -8}, 2);
    oracle_local_sgd(&p, 2, 2, true,
                     x); /* before: -1 and -2 apply to the mean of the step before */
    expect(x, (double[]){-6.5, -8.5}, 2);
}
END_TEST

START_TEST(the_complete_graph_is_local_sgd)
{
    const oracle_problem p = parabolas();
    double mixing[WORKERS * WORKERS], x[MODELS], y[MODELS], weights[WORKERS];
    complete_graph(mixing);
    for (int cta = 0; cta < 2; cta++) {
        oracle_local_sgd(&p, 1, 0, cta, x);
        oracle_gossip(&p, mixing, 1, 1, !cta, y);
        expect(y, x, MODELS);
    }
    oracle_local_sgd(&p, 1, 0, false, x);
    oracle_sgp(&p, mixing, 1, y, weights);
    expect(y, x, MODELS);
}
END_TEST

START_TEST(mixing_keeps_the_sum)
{
    const oracle_problem p = frozen();
    double mixing[2][WORKERS * WORKERS], x[MODELS];
    ring(1, mixing[0]);
    ring(2, mixing[1]);
    for (int atc = 0; atc < 2; atc++) {
        oracle_gossip(&p, mixing[0], 2, 1, atc, x);
        expect_sums(x, distinct);
    }
    oracle_wagma(&p, 4, 5, false, x);
    expect_sums(x, distinct);
}
END_TEST

START_TEST(rounds_of_gossip_take_turns)
{
    /* Two rounds by the two halves of a hypercube of 4: one step is the mean of all. */
    static const double halves[2][16] = {
        {0.5, 0.5, 0, 0, 0.5, 0.5, 0, 0, 0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5},
        {0.5, 0, 0.5, 0, 0, 0.5, 0, 0.5, 0.5, 0, 0.5, 0, 0, 0.5, 0, 0.5}};
    const double initial[4] = {1, 2, 4, 9};
    oracle_problem p = scalar(4, 1, initial);
    p.lr = 0;
    double x[4];
    oracle_gossip(&p, halves[0], 2, 2, true, x);
    expect(x, (double[]){4, 4, 4, 4}, 4);
    oracle_gossip(&p, halves[0], 2, 1, true, x);
    expect(x, (double[]){1.5, 1.5, 6.5, 6.5}, 4);
    p.lr = 1;
    oracle_gossip(&p, halves[0], 2, 1, false, x);
    expect(x, (double[]){0.5, -0.5, 3.5, 2.5}, 4);
    p.gradient = identity; /* taken at the model before mixing */
    oracle_gossip(&p, halves[0], 2, 1, false, x);
    expect(x, (double[]){0.5, -0.5, 2.5, -2.5}, 4);
    p.weight_decay = 1; /* of the model after mixing */
    oracle_gossip(&p, halves[0], 2, 1, false, x);
    expect(x, (double[]){-1, -2, -4, -9}, 4);
}
END_TEST

START_TEST(push_sum_keeps_numerators_and_weights)
{
    const oracle_problem p = frozen();
    double mixing[WORKERS * WORKERS], x[MODELS], weights[WORKERS];
    lopsided(mixing);
    oracle_sgp(&p, mixing, 1, x, weights);
    double sum = 0;
    double farthest = 0;
    for (int w = 0; w < WORKERS; w++) {
        sum += weights[w];
        farthest = fmax(farthest, fabs(weights[w] - 1));
    }
    for (int i = 0; i < MODELS; i++)
        x[i] *= weights[i / PARAMETERS];
    expect(&sum, &(double){WORKERS}, 1);
    ck_assert_double_gt(farthest, 0.1);
    expect_sums(x, distinct);
}
END_TEST

START_TEST(de_biased_models_stay_where_all_agree)
{
    oracle_problem p = frozen();
    p.initial = alike;
    double mixing[WORKERS * WORKERS], x[MODELS], weights[WORKERS];
    lopsided(mixing);
    oracle_sgp(&p, mixing, 1, x, weights);
    expect(x, alike, MODELS);
    oracle_osgp(&p, mixing, 1, x, weights);
    expect(x, alike, MODELS);
}
END_TEST

START_TEST(push_sum_by_hand)
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
END_TEST

START_TEST(the_elastic_force_keeps_the_sum)
{
    const oracle_problem p = frozen();
    double x[MODELS], center[PARAMETERS] = {3, 1, 4, 1, 5};
    double before[MODELS];
    memcpy(before, distinct, sizeof before);
    for (int i = 0; i < PARAMETERS; i++)
        before[i] += center[i];
    oracle_easgd(&p, 0.3, 2, 0, shuffled, center, x);
    for (int i = 0; i < PARAMETERS; i++)
        x[i] += center[i];
    expect_sums(x, before);
}
END_TEST

START_TEST(easgd_by_hand)
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
END_TEST

START_TEST(the_look_ahead_by_hand)
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
END_TEST

START_TEST(downpour_by_hand)
{
    const double initial[2] = {0, 0};
    oracle_problem p = scalar(2, 2, initial);
    p.momentum = 1; /* changes -1, -2 and then -2, -4 */
    double x[2], center = 10;
    oracle_downpour(&p, 2, (const long[]){1, 0}, &center, x);
    expect(&center, &(double){1}, 1);
    expect(x, (double[]){1, 4}, 2);
    p.steps = 3; /* -3, -6, not pushed */
    center = 10;
    oracle_downpour(&p, 2, (const long[]){1, 0}, &center, x);
    expect(&center, &(double){1}, 1);
    expect(x, (double[]){-2, -2}, 2);
}
END_TEST

START_TEST(degenerate_rounds_are_local_sgd)
{
    const oracle_problem p = parabolas();
    double want[MODELS], x[MODELS];
    oracle_local_sgd(&p, _i, 0, false, want);
    oracle_diloco(&p, _i, 1, 0, x);
    expect(x, want, MODELS);
    oracle_slowmo(&p, _i, 1, 0, x);
    expect(x, want, MODELS);
    oracle_dasgd(&p, _i, 0, 0, x);
    expect(x, want, MODELS);
    oracle_wagma(&p, 1, _i, false, x);
    expect(x, want, MODELS);
    oracle_local_sgd(&p, _i, 0, true, want);
    oracle_wagma(&p, 1, _i, true, x);
    expect(x, want, MODELS);
}
END_TEST

START_TEST(dasgd_by_hand)
{
    const double initial[2] = {0, 0};
    oracle_problem p = scalar(2, 3, initial);
    double x[2];
    /* After the first round -2, -4, mean -3; the third step gives -3, -6. */
    oracle_dasgd(&p, 2, 1, 0.25, x);
    expect(x, (double[]){-3, -3.75}, 2);
    p.steps = 4; /* d = tau: mixed in only after the fourth step, -4 and -8 */
    oracle_dasgd(&p, 2, 2, 0.5, x);
    expect(x, (double[]){-3.5, -5.5}, 2);
    p.steps = 6; /* -5.5, -9.5 meet the mean -4.5 of what the last round left after mixing */
    oracle_dasgd(&p, 2, 2, 0.5, x);
    expect(x, (double[]){-5, -7}, 2);
    p.steps = 2;
    oracle_dasgd(&p, 2, 0, 0.5, x);
    expect(x, (double[]){-2.5, -3.5}, 2);
}
END_TEST

START_TEST(outer_momentum_by_hand)
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
END_TEST

START_TEST(dropped_samples_count_as_zero)
{
    oracle_problem p = parabolas();
    p.weight_decay = 0;
    double share[STEPS * WORKERS], x[MODELS], want[MODELS];
    for (int i = 0; i < STEPS * WORKERS; i++)
        share[i] = 0.5;
    oracle_drop_compute(&p, share, x);
    p.lr /= 2;
    oracle_allreduce(&p, want);
    expect(x, want, MODELS);
    const double initial[2] = {0, 0};
    p = scalar(2, 2, initial);
    oracle_drop_compute(&p, (const double[]){1, 0.25, 0, 1}, x); /* -(1 + 0.5) / 2 - 2 / 2 */
    expect(x, (double[]){-1.75, -1.75}, 2);
}
END_TEST

START_TEST(groups_rotate_as_in_the_paper)
{
    /* 2^w marks the members of a sum; groups of 4 in 8 by bits {0,1}, {2,0}, {1,2}. */
    static const unsigned members[3][8] = {{0x0f, 0x0f, 0x0f, 0x0f, 0xf0, 0xf0, 0xf0, 0xf0},
                                           {0x33, 0x33, 0xcc, 0xcc, 0x33, 0x33, 0xcc, 0xcc},
                                           {0x55, 0xaa, 0x55, 0xaa, 0x55, 0xaa, 0x55, 0xaa}};
    double initial[8], x[8], want[8];
    for (int w = 0; w < 8; w++)
        initial[w] = want[w] = 1 << w;
    oracle_problem p = scalar(8, 0, initial);
    p.lr = 0;
    for (int t = 0; t < 3; t++) {
        double next[8] = {0};
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++)
                next[i] += (members[t][i] >> j & 1) * want[j] / 4;
        memcpy(want, next, sizeof want);
        p.steps = t + 1;
        oracle_wagma(&p, 4, 0, false, x);
        expect(x, want, 8);
    }
}
END_TEST

START_TEST(the_group_of_all_is_local_sgd)
{
    const oracle_problem p = parabolas();
    double x[MODELS], want[MODELS];
    for (int cta = 0; cta < 2; cta++) {
        oracle_local_sgd(&p, 1, 0, cta, want);
        oracle_wagma(&p, WORKERS, 7, cta, x);
        expect(x, want, MODELS);
    }
}
END_TEST

/** By hand, once: momentum and decay. */
static void plain_sgd(const oracle_problem *p, double *x)
{
    double v[PARAMETERS] = {0}, g[PARAMETERS];
    memcpy(x, p->initial, sizeof v);
    for (long t = 0; t < p->steps; t++) {
        p->gradient(p->argument, 0, t, x, g);
        for (int i = 0; i < PARAMETERS; i++) {
            v[i] = p->momentum * v[i] + g[i] + p->weight_decay * x[i];
            x[i] -= p->lr * v[i];
        }
    }
}

START_TEST(one_worker_alone_is_plain_sgd)
{
    oracle_problem p = parabolas();
    p.workers = 1;
    const double one = 1;
    double x[PARAMETERS], want[PARAMETERS], center[PARAMETERS], weight, share[STEPS];
    plain_sgd(&p, want);
    for (int cta = 0; cta < 2; cta++) {
        oracle_local_sgd(&p, 4, 3, cta, x);
        expect(x, want, PARAMETERS);
        oracle_gossip(&p, &one, 1, 2, !cta, x);
        expect(x, want, PARAMETERS);
        oracle_wagma(&p, 1, 4, cta, x);
        expect(x, want, PARAMETERS);
    }
    oracle_allreduce(&p, x);
    expect(x, want, PARAMETERS);
    oracle_sgp(&p, &one, 1, x, &weight);
    expect(x, want, PARAMETERS);
    oracle_osgp(&p, &one, 1, x, &weight);
    expect(x, want, PARAMETERS);
    oracle_dasgd(&p, 4, 0, 0.3, x);
    expect(x, want, PARAMETERS);
    oracle_diloco(&p, 4, 1, 0, x);
    expect(x, want, PARAMETERS);
    oracle_slowmo(&p, 4, 1, 0, x);
    expect(x, want, PARAMETERS);
    memcpy(center, alike, sizeof center);
    oracle_downpour(&p, 4, in_order, center, x);
    expect(x, want, PARAMETERS);
    expect(center, want, PARAMETERS); /* 4 divides the steps */
    oracle_easgd(&p, 0, 4, 0, in_order, center, x);
    expect(x, want, PARAMETERS);
    for (int t = 0; t < STEPS; t++)
        share[t] = 1;
    oracle_drop_compute(&p, share, x);
    expect(x, want, PARAMETERS);
}
END_TEST

Suite *oracle_suite(void)
{
    Suite *s = suite_create("oracle");
    TCase *t = tcase_create("oracle");
    tcase_add_unchecked_fixture(t, fill_initial, NULL);
    tcase_add_test(t, averaging_models_each_step_is_averaging_gradients);
    tcase_add_test(t, a_period_of_one_comes_first_in_post_local_sgd);
    tcase_add_test(t, the_complete_graph_is_local_sgd);
    tcase_add_test(t, mixing_keeps_the_sum);
    tcase_add_test(t, rounds_of_gossip_take_turns);
    tcase_add_test(t, push_sum_keeps_numerators_and_weights);
    tcase_add_test(t, de_biased_models_stay_where_all_agree);
    tcase_add_test(t, push_sum_by_hand);
    tcase_add_test(t, the_elastic_force_keeps_the_sum);
    tcase_add_test(t, easgd_by_hand);
    tcase_add_test(t, the_look_ahead_by_hand);
    tcase_add_test(t, downpour_by_hand);
    tcase_add_loop_test(t, degenerate_rounds_are_local_sgd, 1, 6);
    tcase_add_test(t, dasgd_by_hand);
    tcase_add_test(t, outer_momentum_by_hand);
    tcase_add_test(t, dropped_samples_count_as_zero);
    tcase_add_test(t, groups_rotate_as_in_the_paper);
    tcase_add_test(t, the_group_of_all_is_local_sgd);
    tcase_add_test(t, one_worker_alone_is_plain_sgd);
    suite_add_tcase(s, t);
    return s;
}
