/**
 * @file test_splits.c
 * Tests the communicators that workers get by a split into colours.
 */
#include "sim/exchange/reductions.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

static void halves(const void *params, int n_workers, int *colour)
{
    for (int i = 0; i < n_workers; i++)
        colour[i] = 2 * i / n_workers;
}

static void pairs(const void *params, int n_workers, int *colour)
{
    for (int i = 0; i < n_workers; i++)
        colour[i] = i / 2;
}

/** Puts ranks 0 and 4 of eight workers in one group. The other workers have no colour. */
static void ends(const void *params, int n_workers, int *colour)
{
    for (int i = 0; i < n_workers; i++)
        colour[i] = i % 4 == 0 ? 7 : -1;
}

static void step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g)
{
    dsgd_gradient(self, g, x);
    dsgd_local_step(self, x, g);
}

static void two_colourings_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        const dsgd_comm *const half = dsgd_comm_split(self, halves);
        const dsgd_comm *const pair = dsgd_comm_split(self, pairs);
        const dsgd_comm *const end = dsgd_comm_split(self, ends);
        support_current->note[self->rank] +=
            dsgd_comm_size(self, half) == 4 && dsgd_comm_size(self, pair) == 2 &&
            dsgd_comm_rank(self, half) == self->rank % 4 &&
            dsgd_comm_rank(self, pair) == self->rank % 2 &&
            dsgd_comm_rank(self, end) == (self->rank % 4 == 0 ? self->rank / 4 : -1) &&
            dsgd_comm_split(self, halves) == half && dsgd_comm_split(self, pairs) == pair &&
            dsgd_comm_split(self, ends) == end;
        step(self, x, g);
    }
}

TEST_ALGORITHM(two_colourings, .work = two_colourings_work);

SUITE(splits, "splits", .seconds = 60);

TEST(two_colourings_are_two_splits)
{
    support_case *c = support_no_learning(support_of(&two_colourings, 8));
    support_steps_each(c, 5);
    const support_outcome *const got = support_ok(c);
    for (int i = 0; i < 8; i++)
        ck_assert_double_eq(got->note[i], 5);
}

/**
 * Gives colour 0 to the first two workers. The other workers get no colour: each of them has a
 * different negative number.
 */
static void strangers(const void *params, int n_workers, int *colour)
{
    for (int i = 0; i < n_workers; i++)
        colour[i] = i < 2 ? 0 : -i;
}

/* communicator of the first worker without a colour; set in the simulating process */
static const dsgd_comm *nobody;

static void strangers_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        const dsgd_comm *const comm = dsgd_comm_split(self, strangers);
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
