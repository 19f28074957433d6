/**
 * @file test_scalars.c
 * Verbs that change elements, and scalars: their numbers, their times, and who may read them.
 */
#include "sim/engine/vectors.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { PIECES = 3, N = 33 };

/* --- elements --------------------------------------------------------------------------------- */

/** As soon as the gradient is under way: each piece follows. */
static void elements_work(dsgd_node *self)
{
    enum { PRODUCT, QUOTIENT, ROOT, CLIPPED, OF_ZEROS, ZEROS, N_VECTORS };
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self), *v[N_VECTORS];
    double *const note = support_current->note;
    double of[N_VECTORS][N], of_g[N], of_x[N];
    for (size_t i = 0; i < N_VECTORS; i++)
        v[i] = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        for (size_t i = 0; i < ZEROS; i++)
            dsgd_copy(self, v[i], i == ROOT ? x : g);
        dsgd_multiply(self, v[PRODUCT], x);
        dsgd_divide_by(self, v[QUOTIENT], x, 0.5);
        dsgd_multiply(self, v[ROOT], v[ROOT]);
        dsgd_root(self, v[ROOT], 0.25);
        dsgd_clip(self, v[CLIPPED], 0.01);
        dsgd_combine(self, v[ZEROS], 0, 0, g);
        dsgd_divide_by(self, v[OF_ZEROS], v[ZEROS], 0.5);
        dsgd_root(self, v[ZEROS], 0.25);
        note[1] = dsgd_time_s(self);
        dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
        for (size_t i = 0; i < N_VECTORS; i++)
            dsgd_vector_read(v[i], of[i]);
        dsgd_vector_read(g, of_g);
        dsgd_vector_read(x, of_x);
        for (size_t i = 0; i < N; i++) {
            const double want[N_VECTORS] = {of_g[i] * of_x[i],
                                            of_g[i] / (of_x[i] + 0.5),
                                            sqrt(of_x[i] * of_x[i] + 0.25),
                                            fmin(fmax(of_g[i], -0.01), 0.01),
                                            of_g[i] / 0.5,
                                            0.5};
            for (size_t k = 0; k < N_VECTORS; k++)
                note[0] = fmax(note[0], fabs(of[k][i] - want[k]));
        }
        dsgd_local_step(self, x, g);
    }
}

TEST_ALGORITHM(elements, .work = elements_work);

SUITE(scalars, "scalars", .seconds = 60);

TEST(elements_have_their_formulas_and_take_no_time)
{
    support_case *c = support_of(&elements, 1);
    SET(c, config.exchange.pieces = PIECES, config.until.steps = 2);
    const support_outcome *const got = support_ok(c);
    ck_assert_double_le(got->note[0], support_in_float() ? 1e-4 : 1e-15); /* of numbers up to 100 */
    ck_assert_double_eq_tol(got->note[1], 1, 1e-12); /* the second begins then */
    ck_assert_double_eq_tol(got->result.virtual_s, 2, 1e-12);
}

/* --- scalars ---------------------------------------------------------------------------------- */

static const double reads_s = 1e-3; /* a vector */
static double limit_s = INFINITY; /* of the gradient; set before the simulation */

/** Notes, of its second worker: what is off, and how long it took. */
static void scalars_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    double unused[64] = {0};
    double *const note = self->rank == self->n_workers - 1 ? support_current->note : unused;
    double of_g[N], of_x[N];
    while (dsgd_next_step(self)) {
        dsgd_gradient_until(self, g, x, 4, limit_s);
        const double norm = dsgd_norm(self, g);
        note[0] = dsgd_time_s(self);
        const double dot = dsgd_dot(self, g, x);
        note[1] = dsgd_time_s(self);
        note[2] = dsgd_loss(self);
        note[3] = dsgd_time_s(self);
        double squares = 0, inner = 0, of_parts = 0;
        note[8] = norm;
        for (size_t i = 0; i < PIECES; i++)
            of_parts += pow(dsgd_norm(self, dsgd_fragment(self, g, i, PIECES)), 2);
        note[4] = dsgd_time_s(self);
        if (dsgd_worker_of(self)->engine->learning.values == NULL)
            continue;
        dsgd_vector_read(g, of_g);
        dsgd_vector_read(x, of_x);
        for (size_t i = 0; i < N; i++) {
            squares += of_g[i] * of_g[i];
            inner += of_g[i] * of_x[i];
        }
        note[5] = fabs(norm / sqrt(squares) - 1);
        note[6] = fabs(dot / inner - 1);
        note[7] = fabs(of_parts / squares - 1);
        dsgd_local_step(self, x, g);
    }
}

TEST_ALGORITHM(scalars, .work = scalars_work, .reads = DSGD_READS_TO_COMPUTE);

static support_case *scalars_of(int workers, double steps)
{
    support_case *c = support_of(&scalars, workers);
    SET(c, config.exchange.pieces = PIECES,
        platform.reduction_s_per_byte = reads_s / c->workload.bytes, config.until.steps = steps);
    return c;
}

TEST_RANGE(scalars_have_their_formulas_and_the_time_of_reading, 0, 6) /* _i: workers, steps */
{
    const int workers = 1 + _i / 2 * 2;
    support_case *c = scalars_of(workers, 1 + _i % 2);
    support_problem *const p = support_problem_new(c);
    const support_outcome *const got = support_ok(c);
    const double begin_s = _i % 2 == 0 ? 0 : got->note[4] - 1 - (3 + 1. / PIECES) * reads_s;
    for (size_t i = 5; i < 8; i++)
        ck_assert_double_le(got->note[i], support_in_float() ? 1e-6 : 1e-14);
    /* that of all pieces but the last is hidden */
    ck_assert_double_eq_tol(got->note[0] - begin_s, 1 + reads_s / PIECES, 1e-12);
    ck_assert_double_eq_tol(got->note[1] - got->note[0], 2 * reads_s, 1e-12);
    ck_assert_double_eq(got->note[3], got->note[1]);
    ck_assert_double_eq_tol(got->note[4] - got->note[3], reads_s, 1e-12);
    if (_i % 2 == 1 && workers > 1) /* models are written out for the first worker */
        return;
    const double *const at = support_plain_sgd(c, _i % 2);
    const double want = support_batch_loss(p, workers - 1, _i % 2, at);
    ck_assert_double_eq_tol(got->note[2] / want, 1, support_in_float() ? 1e-5 : 1e-12);
}

TEST(scalars_have_the_same_bits_with_more_threads)
{
    support_case *c = scalars_of(4, 6);
    const support_outcome *const one = support_ok(c);
    c->config.threads = 3;
    const support_outcome *const more = support_ok(c);
    ck_assert_mem_eq(one->note, more->note, sizeof one->note);
    ck_assert_mem_eq(one->x, more->x, 4 * N * sizeof(double));
}

/** In a quarter of the mini-batch, or in none. */
TEST_RANGE(a_loss_is_of_the_samples_that_are_left, 0, 2)
{
    support_case *c = scalars_of(1, 1);
    support_problem *const p = support_problem_new(c);
    limit_s = _i == 0 ? 0.2 : -1;
    p->count = p->stream.batch / 4;
    const double want = support_batch_loss(p, 0, 0, support_plain_sgd(c, 0));
    const double got = support_ok(c)->note[2];
    ck_assert(_i == 0 ? fabs(got / want - 1) < 1e-5 : isnan(got));
}

/* --- who may read ----------------------------------------------------------------------------- */

TEST(who_decides_by_scalars_needs_numerics_and_who_computes_with_them_gets_1)
{
    support_case *c = scalars_of(2, 3);
    const double with_s = support_ok(c)->result.virtual_s;
    c->config.numerics = DSGD_NUMERICS_OFF;
    const support_outcome *const without = support_ok(c);
    ck_assert_double_eq(without->result.virtual_s, with_s);
    ck_assert_double_eq(without->note[8], 1);
    dsgd_algorithm deciding = scalars;
    deciding.reads = DSGD_READS_TO_DECIDE;
    c->config.algorithm = &deciding;
    ck_assert_has(support_simulate(c)->error.text,
                  "scalars reads losses or norms, so that it needs numerics, but they are off; "
                  "--numerics cpu computes them");
    c->config.learning = NULL;
    ck_assert_has(support_simulate(c)->error.text, "nothing is learned in this run");
}

static void misusing_work(dsgd_node *self)
{
    dsgd_next_step(self);
    if (self->params == NULL)
        dsgd_loss(self);
    dsgd_clip(self, dsgd_model(self), -1);
}

TEST(misuse_is_told)
{
    static const dsgd_algorithm undeclared = {.about = {.name = "undeclared"},
                                              .work = misusing_work};
    static const dsgd_algorithm early = {
        .about = {.name = "early"}, .work = misusing_work, .reads = DSGD_READS_TO_COMPUTE};
    support_case *c = support_of(&undeclared, 2);
    support_expect_abort(c, "undeclared calls dsgd_loss(), but does not say that it reads values");
    c->config.algorithm = &early;
    support_expect_abort(c, "worker 0 asks for the loss of step 0 before its gradient");
    c->config.params = c;
    support_expect_abort(c, "worker 0 clips to -1 in step 0; a limit is 0 or more");
}

TEST(scalars_are_undefined_after_a_divergence)
{
    support_case *c = scalars_of(2, 40);
    c->learning.optimizer.lr = 1e30;
    for (uint32_t threads = 0; threads < 4; threads++) {
        c->config.threads = threads;
        const support_outcome *const got = support_simulate(c);
        ck_assert_int_eq(got->result.outcome, DSGD_RUN_DIVERGED);
        ck_assert(isnan(got->note[8]) && isnan(got->note[2]));
    }
}
