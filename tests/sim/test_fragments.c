/**
 * @file test_fragments.c
 * Tests views of vectors. A verb on all fragments of a vector must have the same effect as on the
 * whole vector.
 */
#include "tests/sim/costs.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { MEMBERS = 4, PIECES = 7, FRAGMENTS = 3 };

/* --- Tests of verbs on vectors and on fragments ----------------------------------------------- */

/** A verb with two vectors of a worker. The verb changes x, and may read or change y. */
typedef void part_verb(dsgd_node *self, dsgd_vector *x, dsgd_vector *y);

static const dsgd_neighbours *ring(dsgd_node *self)
{
    const int p = self->n_workers;
    int *const to = support_alloc(1, sizeof *to), *const from = support_alloc(1, sizeof *from);
    double *const share = support_alloc(1, sizeof *share);
    dsgd_neighbours *const n = support_alloc(1, sizeof *n);
    *to = (self->rank + 1) % p;
    *from = (self->rank + p - 1) % p;
    *share = 0.25;
    *n = (dsgd_neighbours){1, 1, to, from, 0.75, share};
    return n;
}

static void copies(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    dsgd_copy(self, y, x);
    dsgd_combine(self, x, 0.5, 0.25, y);
    dsgd_divide(self, x, 0.75);
}

static void masks(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    dsgd_copy(self, y, x);
    dsgd_mask(self, y, x);
}

static void allreduces(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    dsgd_copy(self, y, x);
    dsgd_allreduce_sum(self, y, DSGD_WORLD);
    dsgd_combine(self, x, 0.5, 0.125, y);
    dsgd_allreduce_mean(self, x, DSGD_WORLD);
}

static void allreduces_meanwhile(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    dsgd_request *const request = dsgd_collective_begin(self, DSGD_ALLREDUCE, x, DSGD_WORLD);
    dsgd_divide(self, x, 2);
    dsgd_request_wait(self, request, y);
    dsgd_combine(self, x, 1, 0.5, y);
}

static void gossips(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    dsgd_gossip(self, x, ring(self));
    dsgd_debias(self, y, x);
    dsgd_combine(self, x, 0.5, 0.5, y);
}

static void gossips_meanwhile(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    dsgd_request *const request = dsgd_gossip_begin(self, x, ring(self));
    dsgd_copy(self, y, x);
    dsgd_request_wait(self, request, x);
}

/**
 * Averages in pairs with the next rank. The order of the averages follows the ranks, so the result
 * does not depend on time.
 */
static void averages_in_pairs(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    if (self->rank % 2 == 0)
        dsgd_pair_average(self, x, self->rank + 1);
    if (self->rank % 2 == 0)
        dsgd_pair_average(self, x, self->rank + 1);
}

static void fetches(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    if (self->rank % 2 == 0)
        dsgd_pair_fetch(self, y, self->rank + 1);
    dsgd_combine(self, x, 0.5, 0.5, y);
}

static void asks_a_server(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    if (self->rank > 0)
        return;
    dsgd_server_exchange(self, NULL, y);
    dsgd_combine(self, y, -0.25, 0.5, x);
    dsgd_server_exchange(self, y, NULL);
    dsgd_server_exchange(self, y, x);
}

static void publishes(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    /* partial collectives of the members, in the simulating process */
    static dsgd_partial *partial[MEMBERS];
    if (partial[self->rank] == NULL)
        partial[self->rank] =
            dsgd_partial_new(self, (dsgd_partial_spec){.initiator = DSGD_EACH_IN_TURN}, NULL);
    dsgd_partial_take(self, partial[self->rank], y);
    dsgd_combine(self, x, 0.5, 0.25, y);
    dsgd_partial_publish(self, partial[self->rank], x);
}

static void averages_copies(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    dsgd_average(self, x, y);
}

static const struct {
    part_verb *verb;
    bool asks, serves;
} verbs[] = {{copies},
             {masks},
             {allreduces},
             {allreduces_meanwhile},
             {gossips},
             {gossips_meanwhile},
             {averages_in_pairs, .asks = true},
             {fetches, .asks = true},
             {asks_a_server, .serves = true},
             {publishes},
             {averages_copies}};

enum { N_VERBS = sizeof verbs / sizeof verbs[0] };

/* --- test algorithms -------------------------------------------------------------------------- */

/*
 * verb that the run calls; this variable and the variables below are set before the simulation
 * forks
 */
static part_verb *tested;
static enum { WHOLE, AS_FRAGMENTS, AS_RANGES, NESTED } way;
/* if true, a local step precedes the verb, so pieces of x are still being computed */
static bool steps_before;

static void in_parts(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    const size_t n = dsgd_pieces(self, x);
    for (size_t i = 0; i < FRAGMENTS && way == AS_FRAGMENTS; i++)
        tested(self, support_fragment(self, x, i, FRAGMENTS),
               support_fragment(self, y, i, FRAGMENTS));
    for (size_t at = 0; at < n && way == AS_RANGES; at += 2) {
        const size_t end = at + 2 < n ? at + 2 : n;
        tested(self, dsgd_slice(self, x, at, end, 1), dsgd_slice(self, y, at, end, 1));
    }
    for (size_t i = 0; i < 4 && way == NESTED; i++) {
        dsgd_vector *const half = support_fragment(self, x, i % 2, 2);
        dsgd_vector *const other = support_fragment(self, y, i % 2, 2);
        if (i % 2 == 0) {
            tested(self, support_fragment(self, half, i / 2, 2),
                   support_fragment(self, other, i / 2, 2));
            continue;
        }
        const size_t m = dsgd_pieces(self, half);
        const size_t first = i / 2 * (m / 2), end = i / 2 == 0 ? m / 2 : m;
        tested(self, dsgd_slice(self, half, first, end, 1), dsgd_slice(self, other, first, end, 1));
    }
    if (way == WHOLE)
        tested(self, x, y);
}

static void parts_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const y = dsgd_vector_new(self);
    dsgd_vector *const g = dsgd_vector_new(self);
    dsgd_copy(self, y, x);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (steps_before && way == AS_FRAGMENTS)
            for (size_t i = 0; i < FRAGMENTS; i++)
                dsgd_local_step(self, support_fragment(self, x, i, FRAGMENTS),
                                support_fragment(self, g, i, FRAGMENTS));
        else if (steps_before)
            dsgd_local_step(self, x, g);
        in_parts(self, x, y);
        if (!steps_before)
            dsgd_local_step(self, x, g);
    }
}

static void assist_by(dsgd_node *self)
{
    for (;;)
        dsgd_pair_answer(self, dsgd_model(self), DSGD_ANYONE);
}

TEST_ALGORITHM(parts, .work = parts_work);
TEST_ALGORITHM(asking, .work = parts_work, .assist = assist_by);
TEST_ALGORITHM(serving, .work = parts_work, .serve = dsgd_serve);

static support_case *case_of(int verb)
{
    support_case *c = support_of(verbs[verb].asks     ? &asking
                                 : verbs[verb].serves ? &serving
                                                      : &parts,
                                 MEMBERS);
    support_spread(c);
    c->config.exchange.pieces = PIECES;
    support_steps_each(c, 3);
    tested = verbs[verb].verb;
    return c;
}

SUITE(fragments, "fragments", .seconds = 60);

/** The loop variable _i selects the verb, and whether a local step precedes the verb. */
TEST_RANGE(verb_on_all_parts_equals_verb_on_the_whole, 0, 2 * N_VERBS)
{
    support_case *c = case_of(_i / 2);
    /* with such a verb, a worker that answers must not change its model at the same time */
    steps_before = _i % 2 == 1 && !verbs[_i / 2].asks;
    for (int blocking = 0; blocking < 2; blocking++) {
        c->config.exchange.blocking = blocking == 1;
        way = WHOLE;
        const support_outcome *whole = support_ok(c);
        for (int i = AS_FRAGMENTS; i <= NESTED; i++) {
            way = (int)i;
            const support_outcome *got = support_ok(c);
            ck_assert_uint_eq(got->result.messages, whole->result.messages);
            ck_assert_double_eq_tol(got->result.bytes, whole->result.bytes, 1e-3);
            for (size_t k = 0; k < MEMBERS * whole->n_params; k++)
                ck_assert_msg(got->x[k] == whole->x[k], "way %d: %.17g, but of the whole %.17g", i,
                              got->x[k], whole->x[k]);
        }
    }
}

/* --- pieces and times ------------------------------------------------------------------------- */

static void reduce_one_fragment_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_vector *const part = support_fragment(self, g, 1, 4);
        support_current->note[self->rank] = (double)dsgd_pieces(self, part);
        dsgd_gradient(self, g, x);
        dsgd_allreduce_mean(self, part, DSGD_WORLD);
        dsgd_local_step(self, x, g);
    }
}

static const dsgd_algorithm reducing_one_fragment = {.about = {.name = "reducing"},
                                                     .work = reduce_one_fragment_work};

/**
 * A worker reduces pieces 1 and 5 of 7, with 1/7 MB each. The exchanges overlap with the backward
 * pass, unless overlap is off.
 */
TEST(a_fragment_costs_only_its_pieces)
{
    support_case *c = costly(NULL, WORKERS);
    c->config.algorithm = &reducing_one_fragment;
    SET(c, config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
        config.exchange.pieces = PIECES);
    const double piece_s =
        BITS * (overhead_s + latency_s + bytes / PIECES * (1 / bandwidth + reduction_s_per_byte));
    for (int overlap = 0; overlap < 2; overlap++) {
        c->config.exchange.overlap = overlap == 1;
        const support_outcome *got = support_ok(c);
        ck_assert_double_eq(got->note[3], 2);
        ck_assert_uint_eq(got->result.messages, 10 * 2 * WORKERS * BITS);
        ck_assert_double_eq_tol(got->result.bytes, 10 * 2 * WORKERS * BITS * bytes / PIECES, 1e-3);
        if (overlap == 0)
            expect_close(got->result.virtual_s / 10, 1 + 2 * piece_s);
        else
            expect_close(got->result.virtual_s / 10, 1); /* the exchanges end before the seventh
                                                          * piece is ready */
    }
}

static void gossip_twice_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    const dsgd_neighbours *const n = ring(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        for (size_t k = 0; k < dsgd_pieces(self, x) && way == AS_RANGES; k++) {
            dsgd_gossip(self, dsgd_slice(self, x, k, k + 1, 1), n);
            dsgd_gossip(self, dsgd_slice(self, x, k, k + 1, 1), n);
        }
        for (int i = 0; i < 2 && way == WHOLE; i++)
            dsgd_gossip(self, x, n);
    }
}

static const dsgd_algorithm gossiping_twice = {.about = {.name = "twice"},
                                               .work = gossip_twice_work};

/**
 * Each of four pieces travels for 0.05 s in each of two exchanges. One piece becomes ready every
 * 0.125 s of the backward pass. If the second exchange of a piece follows the first, only the
 * exchanges of the last piece are exposed. If whole vectors are exchanged twice, the second
 * exchange of all pieces is exposed.
 */
TEST(two_exchanges_in_a_row_overlap_piece_by_piece)
{
    support_case *c = support_no_learning(support_of(&gossiping_twice, MEMBERS));
    SET(c, platform.host_latency_s = 0, workload.bytes = 4 * 0.05 * 10e9,
        config.exchange.pieces = 4, config.until.steps = 10);
    way = AS_RANGES;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * 1.1, 1e-3);
    way = WHOLE;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * (1.05 + 0.2), 1e-3);
}

/* --- misuse ----------------------------------------------------------------------------------- */

static void mixes(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    dsgd_copy(self, support_fragment(self, x, 0, 2), y);
}

static void ends_otherwise(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    dsgd_request *const request =
        dsgd_collective_begin(self, DSGD_ALLREDUCE, support_fragment(self, x, 0, 2), DSGD_WORLD);
    dsgd_request_wait(self, request, support_fragment(self, y, 1, 2));
}

static void takes_a_gradient_of_a_part(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    dsgd_gradient(self, dsgd_slice(self, y, 0, 2, 1), x);
}

static void sums_a_part(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    dsgd_partial *const partial = dsgd_partial_new(self, (dsgd_partial_spec){0}, NULL);
    dsgd_partial_sum(self, partial, dsgd_slice(self, x, 0, 2, 1), dsgd_slice(self, y, 0, 2, 1));
}

static void mixes_a_part(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    dsgd_partial *const partial = dsgd_partial_new(self, (dsgd_partial_spec){0}, NULL);
    dsgd_partial_mix(self, partial, dsgd_slice(self, x, 0, 2, 1), 0.25, 0.2);
}

static void publishes_a_part_first(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    (void)y;
    dsgd_partial_new(self, (dsgd_partial_spec){0}, dsgd_slice(self, x, 0, 2, 1));
}

static void takes_too_many(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    (void)y;
    dsgd_slice(self, x, 3, PIECES + 1, 1);
}

static void gossips_another(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    (void)y;
    dsgd_gossip(self, support_fragment(self, x, (size_t)self->rank % 2, 2), ring(self));
}

static const struct {
    part_verb *verb;
    const char *says;
} misuses[] = {
    {mixes, "two vectors of different pieces to a verb in step 0; take the same fragment"},
    {ends_otherwise, "two vectors of different pieces to a verb in step 0"},
    {takes_a_gradient_of_a_part, "calls dsgd_gradient() with a view of a vector in step 0"},
    {sums_a_part, "calls dsgd_partial_sum() with a view of a vector in step 0"},
    {mixes_a_part, "calls dsgd_partial_mix() with a view of a vector in step 0"},
    {publishes_a_part_first, "calls dsgd_partial_new() with a view of a vector in step 0"},
    {takes_too_many, "takes pieces 3 to 8, each 1-th, of a vector of 7 in step 0"},
    {gossips_another, "both ends of an edge exchange the same pieces in one order"},
};

TEST_ROWS(misused_views_stop_the_program_with_a_sentence, misuses)
{
    support_case *c = case_of(0);
    tested = misuses[_i].verb;
    way = WHOLE;
    steps_before = false;
    support_expect_abort(c, misuses[_i].says);
}

static long five_pieces(const void *params, int n_workers)
{
    return n_workers > 1 ? 5 : 1;
}

TEST_ALGORITHM(demanding, .work = parts_work, .least_pieces = five_pieces);

TEST(fewer_pieces_than_an_algorithm_needs_are_rejected)
{
    support_case *c = case_of(0);
    c->config.algorithm = &demanding;
    dsgd_error error = {""};
    c->config.exchange.pieces = 4;
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_EUSAGE);
    ck_assert_str_eq(error.text, "exchange: pieces must be at least 5 for demanding with these "
                                 "options, got 4. Use exchange: {pieces: 5}");
    c->config.exchange.pieces = 5;
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_OK);
    SET(c, config.exchange.pieces = 1, config.workers = 1);
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_OK);
}
