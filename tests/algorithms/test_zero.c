/**
 * @file test_zero.c
 * ZeRO, and gradients pass by pass, of which its third stage is made.
 */
#include <math.h>

#include "tests/support/distance.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

SUITE(zero, "zero", .seconds = 120);

/* --- passes ------------------------------------------------------------------------------------- */

/** Like support_alone. */
static void by_passes_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self);
    dsgd_vector *const g = dsgd_vector_new(self);
    const size_t n = dsgd_units(self);
    const size_t each = dsgd_pieces(self, x) / n;
    while (dsgd_next_step(self)) {
        for (size_t u = n; u-- > 0;)
            dsgd_forward(self, dsgd_range(self, x, u * each, (u + 1) * each));
        for (size_t u = 0; u < n; u++)
            dsgd_backward(self, dsgd_range(self, g, u * each, (u + 1) * each),
                          dsgd_range(self, x, u * each, (u + 1) * each));
        dsgd_local_step(self, x, g);
    }
}

static const dsgd_algorithm by_passes = {.about = {.name = "by-passes"}, .work = by_passes_work};

static const long pieces[] = {1, 4, 7};

/** _i: pieces, overlap. */
TEST_RANGE(passes_take_what_a_gradient_takes, 0, 6)
{
    support_case *c = support_new(NULL, 5);
    c->config.until = (dsgd_until){0};
    c->config.steps_each = 20;
    c->config.exchange.pieces = pieces[_i / 2];
    c->config.exchange.overlap = _i % 2 == 0;
    support_imbalance_number(c, "delay", "seconds", 0.32);
    support_algorithm(c, &support_alone);
    const support_outcome *want = support_ok(c);
    support_algorithm(c, &by_passes);
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq_tol(got->result.virtual_s, want->result.virtual_s, 1e-8);
    ck_assert_double_eq_tol(got->result.shares.compute, want->result.shares.compute, 1e-8);
    ck_assert_double_eq_tol(got->result.exposed_mean_s, 0, 1e-8);
    ck_assert_double_eq(got->result.gradient_staleness_mean, 0);
    ck_assert_double_eq(support_distance(got->x, want->x, 5 * got->n_params), 0);
}

static enum { FIRST_UNIT, NO_BACKWARD } mistake;

static void wrong_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self);
    while (dsgd_next_step(self)) {
        if (mistake == FIRST_UNIT)
            dsgd_forward(self, dsgd_range(self, x, 0, 1));
        dsgd_forward(self, x);
    }
}

static const dsgd_algorithm wrong = {.about = {.name = "wrong"}, .work = wrong_work};

static const char *const sentences[] = {
    [FIRST_UNIT] =
        "worker 0 calls dsgd_forward() of pieces 0 to 1 in step 0, which are not the next",
    [NO_BACKWARD] = "worker 0 goes on in step 0 without dsgd_backward() of pieces from 0 on",
};

TEST_ROWS(passes_out_of_order_stop_the_program_with_a_sentence, sentences)
{
    support_case *c = support_new(NULL, 1);
    support_algorithm(c, &wrong);
    c->config.exchange.pieces = 4;
    mistake = _i;
    support_expect_abort(c, sentences[_i]);
}
