/**
 * @file test_communicators.c
 * Tests collectives among some of the workers (values, times, messages, order), and splits of all
 * workers.
 */
#include "base/draw.h"
#include "sim/exchange/reductions.h"
#include "tests/sim/costs.h"
#include "tests/support/alike.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- splits ----------------------------------------------------------------------------------- */

/* Settings of the groups. They are set before the simulation forks. */
static int size; /* number of workers in a group */
static enum { ROWS, STRIDES, RANDOM, N_WAYS } way;

/**
 * Makes groups of `size` workers. `way` selects consecutive ranks, ranks at equal distances, or
 * random ranks. The remaining workers are in no group.
 */
static void groups(const void *params, int n_workers, int *colour)
{
    const int n_groups = n_workers / size;
    const uint32_t p = (uint32_t)n_workers;
    const dsgd_draw draw = {.purpose = DSGD_DRAW_SHARED};
    for (int i = 0; i < n_workers; i++) {
        const int place = way == RANDOM ? (int)dsgd_draw_permuted(draw, p, (uint32_t)i) : i;
        const int group = way == STRIDES ? place % n_groups : place / size;
        colour[i] = place < n_groups * size ? group : -2 - i % 3;
    }
}

static const dsgd_comm *group_of(dsgd_node *self)
{
    return dsgd_comm_split(self, groups);
}

/** Returns the rank, among all workers, of member @p index of a communicator. */
static int worker_of(const dsgd_comm *comm, int index)
{
    return comm == DSGD_WORLD ? index : comm->rank[index];
}

static void split_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    int colour[1024];
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        const dsgd_comm *const comm = group_of(self);
        const dsgd_comm *const again = group_of(self);
        groups(self->params, self->n_workers, colour);
        double members = 0, before = 0;
        for (int i = 0; i < self->n_workers && colour[self->rank] >= 0; i++) {
            const bool is_member = colour[i] == colour[self->rank];
            before += is_member && i < self->rank;
            if (is_member && worker_of(comm, (int)members++) != i)
                return; /* if a member is wrong, the run hangs and the test fails */
        }
        support_current->note[self->rank % 64] +=
            comm == again && dsgd_comm_size(self, comm) == (int)members &&
            dsgd_comm_rank(self, comm) == (colour[self->rank] < 0 ? -1 : (int)before) &&
            dsgd_comm_rank(self, DSGD_WORLD) == self->rank &&
            dsgd_comm_size(self, DSGD_WORLD) == self->n_workers;
        if (colour[self->rank] >= 0)
            dsgd_allreduce_mean(self, g, comm);
        dsgd_local_step(self, x, g);
    }
}

static const dsgd_algorithm splitting = {
    .about = {.name = "splitting"}, .work = split_work, .traits = DSGD_SENDS_COLLECTIVES};

SUITE(communicators, "communicators", .seconds = 120);

TEST(a_split_has_the_members_of_each_colour_in_order)
{
    support_case *c = support_of(&splitting, 13);
    c->config.until.steps = 50;
    support_imbalance_number(c, "ramp", "seconds", 0.2);
    for (int w = ROWS; w < N_WAYS; w++)
        for (size = 1; size <= 13; size++) {
            way = (int)w;
            const support_outcome *got = support_ok(c);
            for (int i = 0; i < 13; i++)
                ck_assert_double_ge(got->note[i], size == 13 ? 50 : 10);
        }
}

/* --- Functions that call one collective per step ---------------------------------------------- */

typedef void collective_verb(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

static void allreduces(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_allreduce_mean(self, x, comm);
}

static void begins_and_ends(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_request_wait(self, dsgd_collective_begin(self, DSGD_ALLREDUCE, x, comm), x);
}

static void reduces(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_collective_run(self, DSGD_REDUCE, x, dsgd_comm_size(self, comm) / 2, comm);
}

static void broadcasts(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_collective_run(self, DSGD_BROADCAST, x, dsgd_comm_size(self, comm) / 2, comm);
}

static void scatters(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_collective_run(self, DSGD_REDUCE_SCATTER, x, 0, comm);
}

static void gathers_shares(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_collective_run(self, DSGD_ALLGATHER, x, 0, comm);
}

static void begins_and_ends_halves(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_request_wait(self, dsgd_collective_begin(self, DSGD_REDUCE_SCATTER, x, comm), x);
    dsgd_divide(self, x, dsgd_comm_size(self, comm));
    dsgd_request_wait(self, dsgd_collective_begin(self, DSGD_ALLGATHER, x, comm), x);
}

static void gathers_numbers(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    const double mine[2] = {self->rank + 0.5, (double)self->step};
    const double *const all = dsgd_allgather(self, mine, 2, comm);
    for (int i = 0; i < dsgd_comm_size(self, comm); i++)
        support_current->note[self->rank] +=
            all[2 * i] == worker_of(comm, i) + 0.5 && all[2 * i + 1] == (double)self->step;
}

/*
 * collective that the run calls; this variable and the variables below are set before the
 * simulation forks
 */
static collective_verb *tested;
/*
 * if true, the collective uses the communicator of all workers; if false, it uses a group of a
 * split
 */
static bool of_all;
static bool everyone; /* if true, workers in no group also call the collective */

static void one_collective_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    const dsgd_comm *const comm = of_all ? DSGD_WORLD : group_of(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (dsgd_comm_size(self, comm) > 0 || everyone)
            tested(self, g, comm);
        dsgd_local_step(self, x, g);
    }
}

static const dsgd_algorithm one_collective = {.about = {.name = "one-collective"},
                                              .work = one_collective_work,
                                              .traits = DSGD_SENDS_COLLECTIVES};

static support_case *case_of(collective_verb *verb, int workers, dsgd_collective how)
{
    support_case *c = costly(NULL, workers);
    c->config.algorithm = &one_collective;
    c->config.exchange.collective = how;
    support_steps_each(c, 10);
    tested = verb;
    of_all = everyone = false;
    return c;
}

static const dsgd_collective collectives[] = {
    DSGD_COLLECTIVE_AUTO, DSGD_COLLECTIVE_RECURSIVE_DOUBLING, DSGD_COLLECTIVE_RABENSEIFNER,
    DSGD_COLLECTIVE_RING, DSGD_COLLECTIVE_BRUCK};
static collective_verb *const verbs[] = {
    allreduces, begins_and_ends, reduces,         broadcasts,
    scatters,   gathers_shares,  gathers_numbers, begins_and_ends_halves};
static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16};

enum {
    N_COLLECTIVES = sizeof collectives / sizeof collectives[0],
    N_VERBS = sizeof verbs / sizeof verbs[0],
    N_SIZES = sizeof sizes / sizeof sizes[0]
};

/**
 * Tests that a collective takes as long in many groups at once as in a run in which all workers
 * form one group. The loop variable _i selects the collective and the call.
 */
TEST_RANGE(a_group_takes_as_long_as_a_run_of_its_size, 0, N_COLLECTIVES *N_VERBS)
{
    for (int i = 0; i < N_SIZES; i++) {
        size = sizes[i];
        support_case *c = case_of(verbs[_i / N_COLLECTIVES], size, collectives[_i % N_COLLECTIVES]);
        of_all = true;
        const support_outcome *alone = support_ok(c);
        of_all = false;
        way = (_i + i) % N_WAYS;
        c->config.workers = 16;
        const support_outcome *got = support_ok(c);
        const int n_groups = 16 / size;
        const double groups_n = n_groups;
        ck_assert_msg(fabs(got->result.virtual_s / alone->result.virtual_s - 1) < 1e-9,
                      "%d of 16, way %d: %.12g s, alone %.12g s", size, (int)way,
                      got->result.virtual_s, alone->result.virtual_s);
        ck_assert_double_eq((double)got->result.messages,
                            groups_n * (double)alone->result.messages);
        ck_assert_double_eq_tol(got->result.bytes, groups_n * alone->result.bytes, 1);
    }
}

/* --- closed forms ----------------------------------------------------------------------------- */

static double step_of(collective_verb *verb, dsgd_collective how)
{
    size = 8;
    way = RANDOM;
    return support_ok(case_of(verb, 24, how))->result.virtual_s / 10 - 1;
}

/**
 * Fails the test unless a time equals its closed form for groups of 8 = 2^3 workers with 1 MB. The
 * closed form adds the overheads and latencies of m messages, and the time to send and to add parts
 * of the bytes.
 */
static void expect_form(double measured_s, double m, double sent, double added)
{
    expect_close(measured_s, m * (overhead_s + latency_s) +
                                 bytes * (sent / bandwidth + added * reduction_s_per_byte));
}

TEST(parts_of_an_allreduce_take_their_closed_forms)
{
    static const dsgd_collective in_shares[] = {DSGD_COLLECTIVE_AUTO, DSGD_COLLECTIVE_RABENSEIFNER,
                                                DSGD_COLLECTIVE_BRUCK};
    const double s = 7.0 / 8;
    for (int i = 0; i < 3; i++) {
        expect_form(step_of(scatters, in_shares[i]), 3, s, s);
        expect_form(step_of(gathers_shares, in_shares[i]), 3, s, 0);
        expect_form(step_of(reduces, in_shares[i]), 6, 2 * s, s);
        expect_form(step_of(broadcasts, in_shares[i]), 6, 2 * s, 0);
    }
    expect_form(step_of(scatters, DSGD_COLLECTIVE_RING), 7, s, s);
    expect_form(step_of(gathers_shares, DSGD_COLLECTIVE_RING), 7, s, 0);
    expect_form(step_of(reduces, DSGD_COLLECTIVE_RING), 10, 2 * s, s);
    expect_form(step_of(broadcasts, DSGD_COLLECTIVE_RING), 10, 2 * s, 0);
    expect_form(step_of(reduces, DSGD_COLLECTIVE_RECURSIVE_DOUBLING), 3, 3, 3);
    expect_form(step_of(broadcasts, DSGD_COLLECTIVE_RECURSIVE_DOUBLING), 3, 3, 0);
}

static collective_verb *whole_verb;

/* --- Tests that compare computed and simulated collectives ------------------------------------ */

static void free_switch(support_case *c)
{
}

/** Makes nodes of four hosts that share a NIC. */
static void shared_nics(support_case *c)
{
    c->platform.island_hosts = 4;
    c->platform.island_nics = 1;
    c->platform.island_bytes_per_s = 50e9;
    c->platform.island_latency_s = 2e-6;
}

static void own_nics(support_case *c)
{
    SET(c, platform.island_hosts = c->platform.island_nics = 4, platform.island_bytes_per_s = 150e9,
        platform.island_latency_s = 2e-6);
}

static void (*const platforms[])(support_case *) = {free_switch, shared_nics, own_nics};
static const int some_sizes[] = {2, 3, 4, 8, 16};

/**
 * Calls two collectives of different communicators one after another. The run delays one worker
 * after another.
 */
static void two_in_turn(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    if (dsgd_comm_size(self, comm) > 0)
        whole_verb(self, x, comm);
    dsgd_allreduce_mean(self, x, DSGD_WORLD);
}

/** The loop variable _i selects the platform and the call. */
TEST_RANGE(computed_times_equal_those_of_messages, 0, 3 * N_VERBS)
{
    /* one test takes every 6th case; the tests of the other calls take the other cases */
    const int every = SUPPORT_SLOW ? 17 : 6;
    for (int i = _i % every; i < N_COLLECTIVES * 5 * N_WAYS; i += every) {
        size = some_sizes[i / N_COLLECTIVES % 5];
        way = i / N_COLLECTIVES / 5 % N_WAYS;
        support_case *c = case_of(two_in_turn, 16, collectives[i % N_COLLECTIVES]);
        whole_verb = verbs[_i % N_VERBS];
        everyone = true;
        SET(c, workload.bytes = 8e6, config.steps_each = 4, config.exchange.pieces = 3);
        platforms[_i / N_VERBS](c);
        support_imbalance_number(c, "delay", "seconds", 0.32);
        const support_outcome *computed = support_ok(c);
        c->config.network = DSGD_NETWORK_SIMGRID;
        char where[80];
        snprintf(where, sizeof where, "groups of %d, way %d, setting %d", size, way,
                 i % N_COLLECTIVES);
        support_expect_alike(c, computed, support_ok(c), 0, where);
    }
}

/* --- values ----------------------------------------------------------------------------------- */

static void scatters_and_gathers(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_collective_run(self, DSGD_REDUCE_SCATTER, x, 0, comm);
    dsgd_divide(self, x, dsgd_comm_size(self, comm));
    dsgd_collective_run(self, DSGD_ALLGATHER, x, 0, comm);
}

static void reduces_and_broadcasts(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    const int root = dsgd_comm_size(self, comm) - 1;
    dsgd_collective_run(self, DSGD_REDUCE, x, root, comm);
    if (dsgd_comm_rank(self, comm) == root)
        dsgd_divide(self, x, dsgd_comm_size(self, comm));
    dsgd_collective_run(self, DSGD_BROADCAST, x, root, comm);
}

static void mixing_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self);
    while (dsgd_next_step(self)) {
        const dsgd_comm *const comm = group_of(self);
        if (dsgd_comm_size(self, comm) == 0)
            continue;
        tested(self, x, comm);
        const dsgd_comm *const same = group_of(self);
        /* when this allgather ends, all members have completed the call */
        const double mine = dsgd_comm_rank(self, same);
        dsgd_allgather(self, &mine, 1, comm);
        const dsgd_engine *const engine = dsgd_worker_of(self)->engine;
        /* The first member may already be in its next step, but in no later step. */
        const dsgd_vector *const first = engine->workers[worker_of(comm, 0)].learner.model;
        support_current->note[self->rank] +=
            dsgd_value_equal(first->piece[0].value, x->piece[0].value);
    }
}

static const dsgd_algorithm mixing = {
    .about = {.name = "mixing"}, .work = mixing_work, .traits = DSGD_SENDS_COLLECTIVES};

static void does_nothing(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
}

/** Returns the models of a run that does not mix. Also limits the case to one step. */
static const support_outcome *untouched(support_case *c)
{
    tested = does_nothing;
    support_steps_each(c, 1);
    return support_ok(c);
}

/**
 * Groups compute means in five ways, in one step. All members of a group get the same handle of a
 * value.
 */
TEST(members_get_the_mean_of_their_group_as_one_value)
{
    static collective_verb *const means[] = {allreduces, begins_and_ends, scatters_and_gathers,
                                             reduces_and_broadcasts, begins_and_ends_halves};
    support_case *c = support_of(&mixing, 12);
    support_spread(c);
    way = ROWS;
    for (size = 1; size <= 12; size++)
        for (int verb = 0; verb < 5; verb++) {
            const support_outcome *before = untouched(c);
            tested = means[verb];
            const support_outcome *after = support_ok(c);
            const size_t n = after->n_params;
            for (int w = 0; w < 12; w++) {
                const int first = w / size * size;
                const bool in_group = first + size <= 12;
                for (size_t i = 0; i < n; i++) {
                    double mean = 0;
                    for (int m = first; m < first + size && in_group; m++)
                        mean += before->x[(size_t)m * n + i] / size;
                    if (!in_group)
                        mean = before->x[(size_t)w * n + i];
                    ck_assert_double_eq_tol(after->x[(size_t)w * n + i], mean, 1e-13);
                }
                ck_assert_double_eq(after->note[w], in_group);
            }
        }
}

static void changes_shares_otherwise(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_collective_run(self, DSGD_REDUCE_SCATTER, x, 0, comm);
    dsgd_divide(self, x, 1 + self->rank);
    dsgd_collective_run(self, DSGD_ALLGATHER, x, 0, comm);
}

/**
 * Each member divides its share of a sum by another number. The owner of a share is the member that
 * computes it. After the allgather, all members must have the values that the owners have computed.
 */
TEST(a_gathered_share_equals_the_share_of_its_owner)
{
    enum { MEMBERS = 4 };
    support_case *c = support_of(&mixing, MEMBERS);
    support_spread(c);
    c->config.exchange.pieces = 1;
    way = ROWS;
    size = MEMBERS;
    const support_outcome *before = untouched(c);
    tested = changes_shares_otherwise;
    const support_outcome *after = support_ok(c);
    const size_t n = after->n_params;
    for (size_t owner = 0; owner < MEMBERS; owner++)
        for (size_t i = n * owner / MEMBERS; i < n * (owner + 1) / MEMBERS; i++) {
            double want = 0;
            for (size_t w = 0; w < MEMBERS; w++)
                want += before->x[w * n + i] / (double)(1 + owner);
            for (size_t w = 0; w < MEMBERS; w++)
                ck_assert_double_eq_tol(after->x[w * n + i], want, 1e-13);
        }
    for (int w = 0; w < MEMBERS; w++)
        ck_assert_double_eq(after->note[w], 1);
}

static void reduces_only(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_collective_run(self, DSGD_REDUCE, x, 1, comm);
}

TEST(a_reduce_changes_only_the_root)
{
    support_case *c = support_of(&mixing, 6);
    support_spread(c);
    way = ROWS;
    size = 3;
    const support_outcome *before = untouched(c);
    tested = reduces_only;
    const support_outcome *after = support_ok(c);
    const size_t n = after->n_params;
    for (size_t w = 0; w < 6; w++)
        for (size_t i = 0; i < n; i++) {
            const double *const x = &before->x[w / 3 * 3 * n + i];
            const double want = w % 3 == 1 ? x[0] + x[n] + x[2 * n] : before->x[w * n + i];
            ck_assert_double_eq_tol(after->x[w * n + i], want, 1e-13);
        }
}

/* --- Tests of the order of calls and of misuse ------------------------------------------------ */

static void pairs(const void *params, int n_workers, int *colour)
{
    for (int i = 0; i < n_workers; i++)
        colour[i] = i / 2;
}

/** A fault in which two workers use two communicators in opposite orders. */
static void crosses(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    const dsgd_comm *const other = dsgd_comm_split(self, pairs);
    const bool first = self->rank % 2 == 0;
    dsgd_allreduce_mean(self, x, first ? comm : other);
    dsgd_allreduce_mean(self, x, first ? other : comm);
}

static void crosses_meanwhile(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    const dsgd_comm *const other = dsgd_comm_split(self, pairs);
    const bool first = self->rank % 2 == 0;
    dsgd_request *const a = dsgd_collective_begin(self, DSGD_ALLREDUCE, x, first ? comm : other);
    dsgd_request *const b = dsgd_collective_begin(self, DSGD_ALLREDUCE, x, first ? other : comm);
    dsgd_request_wait(self, a, x);
    dsgd_request_wait(self, b, x);
}

static void lets_one_out(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    if (self->rank != 1)
        dsgd_collective_run(self, DSGD_BROADCAST, x, 1, comm);
}

static void reduces_without_one(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    if (self->rank != 3)
        dsgd_collective_run(self, DSGD_REDUCE, x, 2, comm);
}

static const struct {
    collective_verb *verb;
    int size;
    const char *says;
} faults[] = {
    {crosses, 2, "worker 0 waits in dsgd_allreduce_mean (its 1st collective) for worker 1 since"},
    {crosses_meanwhile, 2, "worker 0 waits in dsgd_request_wait (its 1st collective) for worker 1"},
    {lets_one_out, 2,
     "worker 0 waits in dsgd_collective_run(DSGD_BROADCAST) (its 1st collective) for worker 1 "
     "since"},
    {reduces_without_one, 4,
     "worker 2 waits in dsgd_collective_run(DSGD_REDUCE) (its 1st collective) for worker 3"},
};

enum { N_FAULTS = sizeof faults / sizeof faults[0] };

/** The loop variable _i selects the fault, and whether all messages are simulated. */
TEST_RANGE(a_violated_order_is_reported_as_a_hang, 0, 2 * N_FAULTS)
{
    size = faults[_i / 2].size;
    way = ROWS;
    support_case *c = case_of(faults[_i / 2].verb, 4, DSGD_COLLECTIVE_AUTO);
    c->config.network = _i % 2 == 0 ? DSGD_NETWORK_FLOWS : DSGD_NETWORK_SIMGRID;
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_has(got->result.why.text, faults[_i / 2].says);
}

static void calls_on_anothers(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    /* the communicator of worker 0, which worker 3 uses by mistake */
    static const dsgd_comm *first;
    if (self->rank == 0)
        first = comm;
    else if (self->rank == 3)
        dsgd_allreduce_mean(self, x, first);
}

static void names_no_member(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_collective_run(self, DSGD_BROADCAST, x, 2, comm);
}

static void calls_others(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_collective_run(self, DSGD_REDUCE, x, dsgd_comm_rank(self, comm), comm);
}

static void takes_other_parts(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    dsgd_allreduce_mean(self, support_fragment(self, x, (size_t)self->rank % 2, 2), comm);
}

static void calls_another_verb(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    if (dsgd_comm_rank(self, comm) == 0)
        dsgd_collective_run(self, DSGD_BROADCAST, x, 0, comm);
    else
        dsgd_allreduce_mean(self, x, comm);
}

static const struct {
    collective_verb *verb;
    const char *says;
} misuses[] = {
    {calls_on_anothers, "worker 3 calls dsgd_allreduce_mean in step 0 on a communicator of which "
                        "it is not a member"},
    {names_no_member, "names member 2 as root in step 0, but they are 0 to 1"},
    {calls_others, "(piece 0 of 500000 bytes, root 1) where worker 0 called "
                   "dsgd_collective_run(DSGD_REDUCE) (piece "
                   "0 of 500000 bytes, root 0); all must call the same in one order"},
    {takes_other_parts, "worker 1 calls dsgd_allreduce_mean in step 0 (piece 1 of 500000 bytes, "
                        "root 0) where worker 0 called dsgd_allreduce_mean (piece 0 of"},
    {calls_another_verb, "dsgd_collective_run(DSGD_BROADCAST) (piece 0 of 500000 bytes, root 0)"},
};

TEST_ROWS(misused_communicators_stop_the_program_with_a_sentence, misuses)
{
    size = 2;
    way = ROWS;
    support_case *c = support_of(&one_collective, 4);
    c->config.exchange.pieces = 2;
    tested = misuses[_i].verb;
    of_all = everyone = false;
    support_expect_abort(c, misuses[_i].says);
}
