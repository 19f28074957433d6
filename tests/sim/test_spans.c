/**
 * @file test_spans.c
 * Compares the spans that a run reports to a timeline (sim/timeline.h) with closed forms.
 */
#include <limits.h>

#include "sim/timeline.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { KINDS = DSGD_SPAN_USED + 1 };

/*
 * Indices of blocks in the notes of the simulating process. Each block has one entry per kind of
 * span.
 */
enum { COUNT = 0, SECONDS = KINDS, PIECES = 2 * KINDS, VERSIONS = 3 * KINDS, TURNS = 4 * KINDS };

static void take(void *listener, const dsgd_span *span)
{
    double *const note = support_current->note + span->kind;
    note[COUNT]++;
    note[SECONDS] += span->end_s - span->since_s;
    note[PIECES] += (double)span->piece;
    note[VERSIONS] += (double)span->version;
    if (span->kind == DSGD_SPAN_COMPUTE)
        note[TURNS] += span->turn_s - span->since_s;
}

static const bool all[8] = {true, true, true, true, true, true, true, true};

/** Runs @p c with all steps in the timeline, and returns the notes about its spans. */
static const double *notes_of(support_case *c)
{
    static dsgd_timeline timeline;
    timeline = (dsgd_timeline){.end_step = LONG_MAX, .chosen = all, .ended = take};
    support_no_learning(c);
    c->config.timeline = &timeline;
    return support_ok(c)->note;
}

static void expect(const double *note, dsgd_span_kind kind, double count, double seconds)
{
    ck_assert_msg(note[COUNT + kind] == count, "%g spans of kind %d instead of %g",
                  note[COUNT + kind], (int)kind, count);
    ck_assert_double_eq_tol(note[SECONDS + kind], seconds, 1e-3);
}

SUITE(spans, "spans", .seconds = 60);

/**
 * Worker i computes for 1 + 0.1 i seconds, and then communicates in two phases of 0.1 s. Ten steps
 * take 1.5 s each.
 */
TEST(spans_of_allreduces_are_those_of_computing_waiting_and_communicating)
{
    support_case *c = support_new("allreduce", 4);
    SET(c, workload.bytes = 1e9, config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
        config.exchange.overlap = false, config.until.steps = 10);
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    const double *const note = notes_of(c);
    expect(note, DSGD_SPAN_COMPUTE, 40, 10 * 4 * 1.15);
    expect(note, DSGD_SPAN_MESSAGE, 80, 80 * 0.1);
    expect(note, DSGD_SPAN_USED, 0, 0);
    expect(note, DSGD_SPAN_WAIT, 40, 10 * 4 * (1.5 - 1.15));
    ck_assert_double_eq_tol(note[SECONDS + DSGD_SPAN_COMMUNICATE], 40 * 0.2, 1e-3);
    /* Spans of computing and of waiting have piece -1 and version -1. */
    ck_assert_double_eq(note[PIECES + DSGD_SPAN_COMPUTE], -40);
    ck_assert_double_eq(note[VERSIONS + DSGD_SPAN_COMPUTE], -40);
    ck_assert_double_eq(note[PIECES + DSGD_SPAN_WAIT], -40);
    /* The backward pass is the second half of a gradient. A slow worker is slow in both halves. */
    ck_assert_double_ge(note[TURNS + DSGD_SPAN_COMPUTE], 40 * 0.5);
    ck_assert_double_le(note[TURNS + DSGD_SPAN_COMPUTE], 40 * 0.65 + 1e-9);
}

/** Every worker activates each of ten versions once for each of three pieces. */
TEST(activations_are_of_the_piece_and_version_that_they_begin)
{
    support_case *c = support_new("eager_solo", 4);
    SET(c, config.exchange.pieces = 3, config.steps_each = 10);
    const double *const note = notes_of(c);
    ck_assert_double_eq(note[COUNT + DSGD_SPAN_ACTIVATED], 4 * 3 * 10);
    ck_assert_double_eq(note[PIECES + DSGD_SPAN_ACTIVATED], 4 * 10 * (0 + 1 + 2));
    ck_assert_double_eq(note[VERSIONS + DSGD_SPAN_ACTIVATED], 4 * 3 * 45);
}

/**
 * Kind of vector that the root sends. ZEROS is a vector of zeros that no worker has made. NEW is
 * the root's model after the local step, and OLD is the root's model before the local step.
 */
static enum { ZEROS, NEW, OLD } sent;

static void broadcasting_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    /* a new vector contains zeros, which no worker has made */
    dsgd_vector *const y = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (sent == OLD)
            dsgd_copy(self, y, x);
        dsgd_local_step(self, x, g);
        if (sent == NEW)
            dsgd_copy(self, y, x);
        /* Without this wait, an older vector would be sent in the first step. */
        dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
        dsgd_collective_run(self, DSGD_BROADCAST, y, 0, DSGD_WORLD);
    }
}

TEST_ALGORITHM(broadcasting, .work = broadcasting_work);

/**
 * If a value is older than its user's steps, its use is marked by a span. Three receivers use the
 * value in each of ten steps.
 */
TEST_RANGE(stale_values_are_marked_and_zeros_are_not, ZEROS, OLD + 1)
{
    sent = (int)_i;
    support_case *c = support_of(&broadcasting, 4);
    c->config.until.steps = 10;
    const double *const note = notes_of(c);
    expect(note, DSGD_SPAN_USED, sent == OLD ? 3 * 10 : 0, 0);
    if (sent == OLD) /* the versions 0 to 9 are the owner's steps */
        ck_assert_double_eq(note[VERSIONS + DSGD_SPAN_USED], 3 * 45);
}

/**
 * Two workers push in turn, because their steps take 1 and 1.1 s. Each push except the first misses
 * one push of the other worker.
 */
TEST(a_stale_sum_of_a_server_is_marked)
{
    support_case *c = support_new("a_psgd", 2);
    c->config.until.steps = 5;
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    const double *const note = notes_of(c);
    expect(note, DSGD_SPAN_USED, 2 * 5 - 1, 0);
    ck_assert_double_eq(note[PIECES + DSGD_SPAN_USED], 0); /* all marked uses are uses of chunk 0 */
}

static void answering_serve(dsgd_node *self)
{
    for (;;)
        dsgd_send(self, dsgd_recv(self, INFINITY)->from, NULL, NULL, 0);
}

/*
 * if true, a worker sends its request during its gradient; if false, it sends it after the gradient
 */
static bool beside;

static void asking_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (!beside)
            dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
        dsgd_send(self, dsgd_server_address(self, 0), NULL, NULL, 0);
        dsgd_recv(self, INFINITY);
        dsgd_local_step(self, x, g);
    }
}

TEST_ALGORITHM(asking, .work = asking_work, .serve = answering_serve);

/**
 * A wait for a message has a span, whether the worker computes or not. A wait for the worker's own
 * gradient has no span.
 */
TEST_RANGE(waits_are_for_messages_and_not_for_gradients, 0, 2)
{
    beside = _i == 1;
    support_case *c = support_of(&asking, 2);
    c->platform.message_overhead_s = 0.05;
    support_steps_each(c, 10);
    const double *const note = notes_of(c);
    ck_assert_double_eq(note[COUNT + DSGD_SPAN_WAIT], 2 * 10);
    ck_assert_double_ge(note[SECONDS + DSGD_SPAN_WAIT], 2 * 10 * 0.1);
    ck_assert_double_le(note[SECONDS + DSGD_SPAN_WAIT], 2 * 10 * 0.2);
}
