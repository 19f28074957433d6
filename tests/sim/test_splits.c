/**
 * @file test_splits.c
 * Which communicators a worker has: of two colourings, and of the last rounds of one.
 */
#include "sim/exchange/reductions.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

static void halves(const dsgd_colouring *at, int *colour)
{
    for (int i = 0; i < at->n_workers; i++)
        colour[i] = 2 * i / at->n_workers;
}

static void pairs(const dsgd_colouring *at, int *colour)
{
    for (int i = 0; i < at->n_workers; i++)
        colour[i] = i / 2;
}

/** Three with ranks 0 and 4, nobody's else. */
static void ends(const dsgd_colouring *at, int *colour)
{
    for (int i = 0; i < at->n_workers; i++)
        colour[i] = i % 4 == 0 ? 7 : -1;
}

enum { PROMISED = 8 }; /* rounds of a colouring that a worker has (sim/verbs/collectives.h) */

static void step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g)
{
    dsgd_gradient(self, g, x);
    dsgd_local_step(self, x, g);
}

static void two_colourings_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        const dsgd_comm *const half = dsgd_comm_split(self, halves, 3);
        const dsgd_comm *const pair = dsgd_comm_split(self, pairs, 3);
        const dsgd_comm *const end = dsgd_comm_split(self, ends, 3);
        support_current->note[self->rank] +=
            dsgd_comm_size(self, half) == 4 && dsgd_comm_size(self, pair) == 2 &&
            dsgd_comm_rank(self, half) == self->rank % 4 &&
            dsgd_comm_rank(self, pair) == self->rank % 2 &&
            dsgd_comm_rank(self, end) == (self->rank % 4 == 0 ? self->rank / 4 : -1) &&
            dsgd_comm_split(self, halves, 3) == half && dsgd_comm_split(self, pairs, 3) == pair &&
            dsgd_comm_split(self, ends, 3) == end;
        step(self, x, g);
    }
}

TEST_ALGORITHM(two_colourings, .work = two_colourings_work);

SUITE(splits, "splits", .seconds = 60);

TEST(two_colourings_of_one_round_are_two_splits)
{
    support_case *c = support_no_learning(support_of(&two_colourings, 8));
    support_steps_each(c, 5);
    const support_outcome *const got = support_ok(c);
    for (int i = 0; i < 8; i++)
        ck_assert_double_eq(got->note[i], 5);
}

/** The ids of the last rounds, asked for again from the newest to the oldest, and the other way. */
static void last_rounds_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        uint64_t id[PROMISED];
        const long first = self->step * PROMISED;
        for (int r = 0; r < PROMISED; r++)
            id[r] = dsgd_comm_split(self, halves, first + r)->id;
        for (int r = PROMISED - 1; r >= 0; r--)
            support_current->note[0] += dsgd_comm_split(self, halves, first + r)->id == id[r];
        for (int r = 0; r < PROMISED; r++)
            support_current->note[1] += dsgd_comm_split(self, halves, first + r)->id == id[r];
        step(self, x, g);
    }
}

TEST_ALGORITHM(last_rounds, .work = last_rounds_work);

TEST(a_worker_keeps_the_last_eight_rounds_of_a_colouring)
{
    support_case *c = support_of(&last_rounds, 1); /* nobody else keeps them */
    support_no_learning(c);
    support_steps_each(c, 5);
    const support_outcome *const got = support_ok(c);
    ck_assert_double_eq(got->note[0], 5 * PROMISED);
    ck_assert_double_eq(got->note[1], 5 * PROMISED);
}

/** All but the first two have no colour, each in its own way. */
static void strangers(const dsgd_colouring *at, int *colour)
{
    for (int i = 0; i < at->n_workers; i++)
        colour[i] = i < 2 ? 0 : -i;
}

static const dsgd_comm *nobody; /* of the first that asks, in the simulating process */

static void strangers_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        const dsgd_comm *const comm = dsgd_comm_split(self, strangers, 0);
        if (self->rank >= 2 && nobody == NULL)
            nobody = comm;
        support_current->note[self->rank] +=
            (comm == nobody) == (self->rank >= 2) &&
            dsgd_comm_size(self, comm) == (self->rank < 2 ? 2 : 0) &&
            dsgd_comm_rank(self, comm) == (self->rank < 2 ? self->rank : -1);
        step(self, x, g);
    }
}

TEST_ALGORITHM(strangers_all, .work = strangers_work);

TEST(workers_without_a_colour_get_an_empty_communicator)
{
    support_case *c = support_no_learning(support_of(&strangers_all, 8));
    support_imbalance_number(c, "ramp", "seconds", 0.01);
    support_steps_each(c, 3);
    const support_outcome *const got = support_ok(c);
    for (int i = 2; i < 8; i++)
        ck_assert_double_eq(got->note[i], 3);
}
