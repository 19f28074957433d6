/**
 * @file test_server.c
 * Servers: pushes and fetches take their closed forms, at several servers too, and wait for
 * what they send.
 */
#include <string.h>

#include "tests/sim/costs.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

SUITE(server, "server", .seconds = 60);

/**
 * A push, and the answer that acknowledges it. In pieces the answers travel beside the later
 * pushes: only the last one's comes on top.
 */
TEST_RANGE(a_push_and_its_answer_take_their_closed_form, 1, 9)
{
    const double pieces = _i;
    support_case *c = costly("a_psgd", 1);
    c->config.exchange.pieces = _i;
    c->config.exchange.overlap = false; /* all pieces are pushed after the computation */
    const double step_s = support_ok(c)->result.virtual_s / 10;
    const double piece_s =
        latency_s + overhead_s + (wire_s - latency_s) / pieces + (treated_s - overhead_s) / pieces;
    expect_close(step_s - 1, (pieces + 1) * piece_s);
}

/**
 * Two workers push at once: the server receives and adds one after the other, and answers the first
 * while it receives the second.
 */
TEST(pushes_and_answers_take_turns_at_a_server)
{
    support_case *c = costly("a_psgd", 2);
    c->config.steps_each = 1;
    expect_close(support_ok(c)->result.virtual_s - 1, 3 * (wire_s + treated_s));
}

/**
 * Workers that come together visit the servers one after another, in one order. Server s is busy
 * from the first worker's part on, which comes s parts later, so that what counts is the parts of
 * all at one server; and at the end the last worker treats the answers of all.
 */
TEST_RANGE(several_servers_are_busy_at_once, 0, 4 * 9) /* _i: servers, workers */
{
    const int servers = 1 + _i / 9;
    const int workers = 1 + _i % 9;
    support_case *c = costly("a_psgd", workers);
    support_option(c, "servers", servers);
    c->config.steps_each = 1;
    c->config.exchange.overlap = false;
    const double wire_part_s = latency_s + (wire_s - latency_s) / servers;
    const double treated_part_s = overhead_s + (treated_s - overhead_s) / servers;
    expect_close(support_ok(c)->result.virtual_s - 1,
                 (workers + 1) * (wire_part_s + treated_part_s) + (servers - 1) * treated_part_s);
}

/** Fetches over a local step under way, and pushes gradients where it has parameters. */
static void hasty_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if (self->params != NULL)
            dsgd_server_push(self, g);
        dsgd_server_fetch(self, x);
    }
}

static const dsgd_algorithm hasty = {
    .about = {.name = "hasty"}, .work = hasty_work, .serve = dsgd_serve};

TEST(a_push_waits_for_the_gradient_and_a_fetch_for_the_local_step)
{
    support_case *c = costly(NULL, 1);
    support_algorithm(c, &hasty);
    c->config.steps_each = 3;
    c->config.learning = &c->learning;
    const support_outcome *fetched = support_ok(c);
    ck_assert_double_eq(fetched->result.virtual_s, 3);
    ck_assert_mem_eq(fetched->final_mean, fetched->x, fetched->n_params * sizeof(double));
    c->config.params = c; /* pushes */
    expect_close(support_ok(c)->result.virtual_s / 3 - 1,
                 2 * (wire_s + treated_s + latency_s + overhead_s));
}
