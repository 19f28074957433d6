/**
 * @file test_cancel.c
 * Tests cancelled gradients. The worker is free at once, its time counts as lost, and the gradient
 * is not computed. The same mini-batch is used later, and nothing else changes.
 */
#include "sim/timeline.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/**
 * A test algorithm that makes plain SGD and cancels gradients 0.25 s after their start. It cancels
 * once in step 1, and twice in step 3.
 */
static void giving_up_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    long *given_up = dsgd_memory_new(self, 4, sizeof *given_up);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if ((self->step == 1 && given_up[1] < 1) || (self->step == 3 && given_up[3] < 2)) {
            given_up[self->step]++;
            dsgd_wait_any(self, DSGD_ON_MESSAGE, dsgd_time_s(self) + 0.25);
            dsgd_cancel(self);
            continue;
        }
        dsgd_local_step(self, x, g);
    }
}

static const dsgd_algorithm giving_up = {
    .about = {.name = "giving_up"}, .work = giving_up_work, .traits = DSGD_CANCELS};

SUITE(cancel, "cancel", .seconds = 60);

/** The loop variable _i is the number of chunks. */
TEST_RANGE(a_cancelled_gradient_is_lost_and_computed_again, 1, 4)
{
    support_case *c = support_of(&giving_up, 2);
    SET(c, config.exchange.pieces = _i, config.until.steps = 6);
    const support_outcome *got = support_ok(c);
    const dsgd_run_result *r = &got->result;
    ck_assert_double_eq_tol(r->virtual_s, 6.75, 1e-12);
    ck_assert_double_eq(r->steps, 6);
    ck_assert_double_eq(r->samples, 2 * 6 * 128);
    ck_assert_double_eq_tol(r->shares.compute, 6 / 6.75, 1e-12);
    ck_assert_double_eq_tol(r->shares.lost, 0.75 / 6.75, 1e-12);
    ck_assert_double_eq_tol(r->shares.wait, r->shares.lost, 1e-12);
    ck_assert_double_eq(r->shares.communicate, 0);
    ck_assert_uint_eq(r->numerics.gradients, 2 * 6);
    c->config.algorithm = &support_alone;
    const support_outcome *want = support_ok(c);
    ck_assert_mem_eq(got->x, want->x, 2 * got->n_params * sizeof(double));
    ck_assert_double_eq_tol(want->result.virtual_s, 6, 1e-12);
}

/**
 * After a cancelled gradient, the environment of the policy has the same state as before the
 * gradient.
 */
TEST(a_model_state_is_as_before)
{
    support_case *c = support_of(&giving_up, 2);
    SET(c, learning.model = support_picked(dsgd_model_kinds, "policy", NULL, 0),
        learning.data = support_picked(dsgd_data_sources, "navigation", NULL, 0),
        config.until.steps = 6);
    const support_outcome *got = support_ok(c);
    c->config.algorithm = &support_alone;
    const support_outcome *want = support_ok(c);
    ck_assert_uint_eq(got->n_params, want->n_params);
    ck_assert_mem_eq(got->x, want->x, 2 * got->n_params * sizeof(double));
}

/**
 * A repeated step draws a new step time. The times of steps that are not cancelled stay the same.
 */
TEST(the_time_of_a_repeated_step_is_drawn_again)
{
    support_case *c = support_no_learning(support_of(&giving_up, 2));
    c->config.until.steps = 2;
    support_imbalance_number(c, "ramp", "seconds", 0.5);
    support_set(dsgd_entry_find(dsgd_imbalance_kinds, "ramp"), c->imbalance[0].params, "rotate", 1);
    /*
     * Worker 0 takes 1 s in step 0. Step 1 of worker 0 would take 1.5 s and is cancelled after 0.25
     * s. The repeated step takes 1 s. Worker 1 takes 1.5 s in step 0. Its step 1 would take 1 s and
     * is cancelled, and the repeated step takes 1.5 s.
     */
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 1.5 + 0.25 + 1.5, 1e-12);
}

/* --- cancellation by a message ---------------------------------------------------------------- */

/**
 * Worker 1 sends a message to worker 0 after its first step. Worker 0 cancels its gradient when the
 * message arrives, unless the gradient has ended before.
 */
static void interrupted_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    double *note = support_current->note;
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        const unsigned events = dsgd_wait_any(self, DSGD_ON_MESSAGE | DSGD_ON_GRADIENT, INFINITY);
        if (self->rank == 1 && self->step == 0)
            dsgd_send(self, 0, NULL, NULL, 0);
        if (self->rank == 1 || (events & DSGD_ON_MESSAGE) == 0)
            continue;
        dsgd_recv(self, INFINITY);
        dsgd_cancel(self);
        note[0] = dsgd_time_s(self);
        note[1] = events;
    }
}

static const dsgd_algorithm interrupted = {
    .about = {.name = "interrupted"}, .work = interrupted_work, .traits = DSGD_CANCELS};

TEST(a_message_interrupts_a_computation_when_it_arrives)
{
    support_case *c = support_no_learning(support_of(&interrupted, 2));
    support_imbalance_number(c, "slow", "factor", 1.4); /* worker 0 takes 1.4 s per step */
    c->config.until = (dsgd_until){.seconds = 3};
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->note[1], DSGD_ON_MESSAGE);
    ck_assert_double_eq_tol(got->note[0], 1 + 1e-6, 1e-12);
    ck_assert_double_eq_tol(got->result.shares.lost, 1.000001 / 3 / 2, 1e-9);
    /*
     * From the cancellation on, worker 0 computes until the end: a step of 1.4 s and part of
     * another. Worker 1 always computes.
     */
    ck_assert_double_eq_tol(got->result.shares.compute, (3 + 3 - 1.000001) / 6, 1e-9);
}

static void undeclared_work(dsgd_node *self)
{
    dsgd_vector *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, dsgd_model(self));
        if (self->params != NULL)
            dsgd_local_step(self, dsgd_model(self), g);
        dsgd_cancel(self);
    }
}

static const dsgd_algorithm undeclared = {.about = {.name = "undeclared"}, .work = undeclared_work};
static const dsgd_algorithm followed = {
    .about = {.name = "followed"}, .work = undeclared_work, .traits = DSGD_CANCELS};

TEST(misuse_of_cancel_stops_the_program)
{
    support_case *c = support_of(&undeclared, 2);
    support_expect_abort(c, "undeclared cancels a gradient, but does not declare it");
    c->config.algorithm = &followed;
    c->config.params = c;
    support_expect_abort(c, "worker 0 cancels in step 0 a gradient that an update follows");
}

/* --- Tests of cancelled gradients in a timeline ----------------------------------------------- */

static void hear(void *nothing, const dsgd_span *span)
{
    double *const note = support_current->note;
    if (span->host != 0 || span->kind != DSGD_SPAN_COMPUTE)
        return;
    note[dsgd_is_cancelled(span)]++;
    note[2] += dsgd_is_cancelled(span) ? span->end_s - span->since_s : 0;
}

TEST(a_timeline_marks_cancelled_gradients)
{
    support_case *c = support_of(&giving_up, 2);
    const bool chosen[2] = {true, true};
    dsgd_timeline seen = {.end_step = 5, .chosen = chosen, .ended = hear};
    c->config.timeline = &seen;
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq_tol(got->result.virtual_s, 5.75, 1e-9);
    ck_assert_double_eq(got->note[0], 5);
    ck_assert_double_eq(got->note[1], 3);
    ck_assert_double_eq_tol(got->note[2], 0.75, 1e-9);
}
