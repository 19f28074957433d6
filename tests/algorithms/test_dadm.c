/**
 * @file test_dadm.c
 * Compares DADM with SDCA without duality, which is written out here, and with the optimum. At a
 * constant rate, DADM reaches the optimum and SGD does not. DADM reaches the optimum only if the
 * model x stays the sum of the dual variables. If the sum lost a part, it would lead to another
 * model.
 */
#include "sim/engine/engine.h"
#include "sim/engine/vectors.h"
#include "tests/support/stream.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { N = 33, POINTS = 120, BATCH = 4, ROUNDS_OF_DATA = 6 };

static const double lambda = 0.3;

/** Sets all models to 0.5 at the start, because models of 0 would need no dual variables. */
static void begin(dsgd_engine *engine, void *argument)
{
    double x[N];
    for (int i = 0; i < N; i++)
        x[i] = 0.5;
    for (int w = 0; w < engine->n_workers; w++)
        for (size_t k = 0; k < engine->layout.n_pieces; k++)
            dsgd_piece_set(engine, &engine->workers[w].learner.model->piece[k],
                           dsgd_values_constant(engine->learning.values, k, x), 0);
}

static support_case *dadm(int workers, int64_t period, bool adding, double lr)
{
    support_case *const c = support_new("dadm", workers);
    support_set(c->learning.data.about, c->learning.data.params, "points", POINTS);
    SET(c, learning.optimizer = (dsgd_optimizer){.lr = adding ? lr / workers : lr},
        config.prepare = begin);
    OPTIONS(c, {"period", (double)period}, {"combine", adding}, {"lambda", lambda});
    return c;
}

/**
 * Returns the lowest index, in the training set, of a sample of a mini-batch. Dual variables are
 * stored under this index.
 */
static uint32_t key_of(const support_problem *p, int w, long t)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t j = 0; j < BATCH; j++) {
        const uint32_t i = stream_sample(&p->stream, (uint32_t)w, (uint64_t)t, j);
        least = i < least ? i : least;
    }
    return least;
}

/**
 * Emulates SDCA without duality (Shalev-Shwartz 2016). Each worker has POINTS / BATCH / workers
 * mini-batches. The changes of the models are averaged or added.
 */
static void emulate(const support_case *c, int64_t period, bool adding, long steps, double *x)
{
    support_problem *const problem = support_problem_new(c);
    const int workers = c->config.workers;
    const double n = POINTS / BATCH / workers * (adding ? workers : 1);
    const double eta = c->learning.optimizer.lr;
    double(*const alpha)[N] = support_alloc(POINTS, sizeof *alpha);
    double(*const w)[N] = support_alloc((size_t)workers, sizeof *w);
    double start[N];
    for (int i = 0; i < N; i++)
        start[i] = 0.5;
    for (size_t i = 0; i < POINTS * N; i++)
        alpha[i / N][i % N] = lambda * start[i % N];
    for (size_t i = 0; i < (size_t)workers * N; i++)
        w[i / N][i % N] = start[i % N];
    for (long t = 0; t < steps; t++) {
        for (int k = 0; k < workers; k++) {
            double g[N];
            double *const a = alpha[key_of(problem, k, t)];
            support_gradient(problem, k, t, w[k], g);
            for (int i = 0; i < N; i++) {
                const double v = g[i] + a[i];
                a[i] -= eta * lambda * n * v;
                w[k][i] -= eta * v;
            }
        }
        for (int i = 0; (t + 1) % period == 0 && i < N; i++) {
            double moved = 0;
            for (int k = 0; k < workers; k++)
                moved += (w[k][i] - start[i]) / (adding ? 1 : workers);
            start[i] += moved;
            for (int k = 0; k < workers; k++)
                w[k][i] = start[i];
        }
    }
    memcpy(x, w, (size_t)workers * sizeof *w);
}

SUITE(dadm, "dadm", .seconds = 60);

static const int worker_counts[] = {1, 2, 5, 10};

/** The loop variable _i selects the number of workers, the period and the way to combine changes.
 */
TEST_RANGE(dadm_equals_sdca_without_duality, 0, 16)
{
    const int workers = worker_counts[_i % 4];
    const int64_t period = 1 + 3 * (_i / 4 % 2);
    const bool adding = _i / 8 == 1;
    const long steps = ROUNDS_OF_DATA * POINTS / BATCH / workers;
    support_case *const c = dadm(workers, period, adding, 0.02);
    double *const want = support_alloc((size_t)workers * N, sizeof *want);
    support_steps_each(c, steps);
    emulate(c, period, adding, steps, want);
    const support_outcome *const got = support_ok(c);
    ck_assert_double_le(support_distance(got->x, want, (size_t)workers * N),
                        support_in_float() ? 1e-5 : 1e-12);
}

/**
 * Computes the model with the lowest mean loss + lambda/2 |x|^2, by gradient descent over all
 * mini-batches.
 */
static void optimum(const support_case *c, double *x)
{
    support_problem *const problem = support_problem_new(c);
    const int workers = c->config.workers, n = POINTS / BATCH / workers;
    double g[N];
    memset(x, 0, N * sizeof *x);
    for (int k = 0; k < 600; k++) {
        double sum[N] = {0};
        for (int i = 0; i < n * workers; i++) {
            support_gradient(problem, i / n, i % n, x, g);
            for (int f = 0; f < N; f++)
                sum[f] += g[f] / (n * workers);
        }
        for (int f = 0; f < N; f++)
            x[f] -= 0.3 * (sum[f] + lambda * x[f]);
    }
}

static double off_after(support_case *c, double steps, const double *best)
{
    c->config.until.steps = steps;
    return support_distance(support_ok(c)->x, best, N);
}

/**
 * Tests that DADM reaches the optimum also with momentum, because a dual variable changes by the
 * change of the model. Runs end at the end of a round. The loop variable _i selects the number of
 * workers, the way to combine changes, and momentum.
 */
TEST_RANGE(reaches_the_optimum_at_a_constant_rate, 0, 12)
{
    const int workers = worker_counts[_i % 3];
    support_case *const c = dadm(workers, 4, _i / 3 % 2 == 1, 0.03);
    c->learning.optimizer.momentum = _i / 6 == 1 ? 0.4 : 0;
    double best[N];
    optimum(c, best);
    if (support_in_float())
        return;
    const double early = off_after(c, 800, best), late = off_after(c, 2400, best);
    ck_assert_double_le(late, 1e-8);
    /* if each step reduces the distance by the same factor, `late` is the cube of `early` */
    ck_assert_double_le(late, early * early);
    support_case *const sgd = support_new("allreduce", workers);
    sgd->learning = c->learning;
    sgd->learning.optimizer.lr = 0.03;
    sgd->learning.optimizer.weight_decay = lambda;
    ck_assert_double_gt(off_after(sgd, 2400, best), 3e-3);
}

/**
 * If a step of a dual variable would go beyond the gradient g, the step is cut so that the variable
 * becomes -g.
 */
TEST(a_dual_never_goes_beyond_its_gradient)
{
    support_case *const c = dadm(1, 1, false, 0.02);
    support_option(c, "lambda", 1000);
    c->config.until.steps = 2 * POINTS / BATCH;
    const support_outcome *const got = support_ok(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_OK);
    for (int i = 0; i < N; i++)
        ck_assert_double_le(fabs(got->x[i]), 0.02);
}

static void expect_refused(const support_case *c, const char *why)
{
    const support_outcome *const got = support_simulate(c);
    ck_assert_int_eq(got->status, DSGD_EUSAGE);
    ck_assert_has(got->error.text, why);
}

static dsgd_spec picked(const dsgd_entry *const *registry, const char *name)
{
    return dsgd_spec_default(dsgd_entry_find(registry, name));
}

TEST(a_case_that_dadm_does_not_allow_is_rejected)
{
    support_case *c = dadm(POINTS + 1, 1, false, 0.01);
    expect_refused(c,
                   "split: 121 workers need at least one training sample each, but there are 120 "
                   "samples. Use at most 120 workers");
    c = dadm(4, 1, false, 0.01);
    SET(c, learning.model = picked(dsgd_model_kinds, "policy"),
        learning.data = picked(dsgd_data_sources, "navigation"));
    expect_refused(c, "Use data with samples");
    static double width = 65536;
    c = dadm(4, 1, false, 0.01);
    SET(c, learning.model = picked(dsgd_model_kinds, "mlp"),
        learning.data = picked(dsgd_data_sources, "sequences"));
    support_set(c->learning.data.about, c->learning.data.params, "points", 1e5);
    support_set(c->learning.data.about, c->learning.data.params, "longest", 1);
    SET(c, learning.batch = 1, config.until.steps = 1e6);
    const dsgd_option *const hidden = dsgd_option_find(c->learning.model.about->options, "hidden");
    *(dsgd_numbers *)(void *)((char *)c->learning.model.params + hidden->offset) =
        (dsgd_numbers){1, &width};
    expect_refused(c, "dadm keeps a vector for each of 100000 mini-batches, which takes ");
}
