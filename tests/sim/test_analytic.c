/**
 * @file test_analytic.c
 * Compares allreduces (of all workers or of groups) whose times are computed with the same
 * allreduces simulated message by message. Times may differ by a relative error of 1e-9. Counts and
 * models must be equal.
 */
#include "sim/exchange/analytic.h"
#include "tests/support/alike.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/**
 * Allowed difference of times in seconds. SimGrid does not distinguish events within a nanosecond.
 * Messages of a few bytes therefore arrive too early in each round. For example, drop_compute's
 * allgathers in a ring have 16 such messages. The parts of workers that an activation reaches
 * nanoseconds before another event are also early.
 */
static const double early_s = 1e-8;

static double slack_of(const support_case *c)
{
    const bool partial = ~c->config.algorithm->traits & DSGD_SENDS_ALLREDUCES;
    const bool early = support_has(c, "calibration") || partial;
    return early ? early_s : 0; /* allowed difference of times; a run takes several seconds */
}

/**
 * Simulates a case with computed and with simulated allreduces, and fails the test unless all
 * figures are equal. Returns the outcome of the computed run.
 */
static const support_outcome *expect_same_run(support_case *c, const char *where)
{
    const support_outcome *const a = support_simulate(c);
    c->config.network = DSGD_NETWORK_SIMGRID;
    const support_outcome *const b = support_simulate(c);
    c->config.network = DSGD_NETWORK_FLOWS;
    support_expect_alike(c, a, b, slack_of(c), where);
    return a;
}

/* --- platforms and delays --------------------------------------------------------------------- */

static void free_switch(support_case *c)
{
}

/**
 * Makes some hosts slower than others: one has less speed and bandwidth, and two have a higher
 * latency.
 */
static void uneven_switch(support_case *c)
{
    static dsgd_platform_entry entries[] = {
        {.first = 1, .count = 1, .speed = 0.9, .bandwidth = 0.3},
        {.first = 2, .count = 2, .speed = 1, .bandwidth = 1, .latency_s = 1e-4}};
    c->platform.hosts = (dsgd_structs){2, entries};
    SET(c, platform.message_overhead_s = 5e-6, platform.reduction_s_per_byte = 0.3e-9);
}

/**
 * Makes groups whose uplinks are exactly as wide as needed, and copies between device and host
 * memory.
 */
static void groups(support_case *c)
{
    SET(c, platform.topology = DSGD_TOPOLOGY_GROUPS, platform.group_hosts = 3,
        platform.group_flow_bytes_per_s = 6.3e9, platform.group_bytes_per_s = 3 * 6.3e9,
        platform.group_latency_s = 1.53e-6, platform.message_overhead_s = 1e-5,
        platform.reduction_s_per_byte = 0.7e-9, platform.staging_s_per_byte = 0.25e-9,
        platform.operation_s_per_byte = 0.4e-9, platform.rendezvous_s = 3e-5,
        platform.eager_bytes = 1e5, platform.partial_turn_s = 2e-5);
}

/**
 * Makes nodes of four GPUs that share a NIC. One NIC is slower, and one host has a higher latency.
 */
static void shared_nics(support_case *c)
{
    static dsgd_platform_entry entries[] = {
        {.first = 9, .count = 1, .speed = 0.95, .bandwidth = 0.7},
        {.first = 14, .count = 1, .speed = 1, .bandwidth = 1, .latency_s = 3e-6}};
    c->platform.hosts = (dsgd_structs){2, entries};
    SET(c, platform.island_hosts = 4, platform.island_nics = 1, platform.island_bytes_per_s = 50e9,
        platform.island_latency_s = 2e-6, platform.message_overhead_s = 0.15e-6,
        platform.reduction_s_per_byte = 0.7e-9);
}

/** Makes nodes in which every host has its own NIC. */
static void islands(support_case *c)
{
    SET(c, platform.island_hosts = c->platform.island_nics = 4, platform.island_bytes_per_s = 150e9,
        platform.island_latency_s = 2e-6, platform.reduction_s_per_byte = 0.75e-12);
}

static void no_delay(support_case *c)
{
}

static void delays(support_case *c)
{
    support_imbalance_number(c, "delay", "seconds", 0.32);
}

/**
 * Gives each worker its own random delay, and makes one worker a straggler. For some milliseconds,
 * only the early workers exchange messages.
 */
static void jitter_and_straggler(support_case *c)
{
    IMBALANCE(c, "lognormal", {"mean", 0.01}, {"deviation", 0.02});
    support_imbalance_number(c, "slow", "factor", 1.02);
}

static void (*const platforms[])(support_case *) = {free_switch, uneven_switch, groups, islands,
                                                    shared_nics};
static void (*const lateness[])(support_case *) = {no_delay, delays, jitter_and_straggler};
static const int workers[] = {4, 17, 64};
static const long pieces[] = {1, 16};
static const dsgd_collective collectives[] = {DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
                                              DSGD_COLLECTIVE_RABENSEIFNER, DSGD_COLLECTIVE_RING,
                                              DSGD_COLLECTIVE_BRUCK, DSGD_COLLECTIVE_NCCL};

enum {
    N_PLATFORMS = sizeof platforms / sizeof platforms[0],
    N_LATENESS = sizeof lateness / sizeof lateness[0],
    N_WORKERS = sizeof workers / sizeof workers[0],
    N_PIECES = sizeof pieces / sizeof pieces[0],
    N_COLLECTIVES = sizeof collectives / sizeof collectives[0],
    N_CASES = N_PLATFORMS * N_LATENESS * N_WORKERS * N_PIECES * N_COLLECTIVES
};

/**
 * Makes combination number @p i of platforms, delays, workers, pieces and collectives, with 4 steps
 * and 8 MB. Stores the description of the combination in @p where.
 */
static support_case *combination(const char *algorithm, int i, char *where, size_t room)
{
    const int platform = i % N_PLATFORMS, late = i / N_PLATFORMS % N_LATENESS;
    const int p = workers[i / N_PLATFORMS / N_LATENESS % N_WORKERS];
    const long n_pieces = pieces[i / N_PLATFORMS / N_LATENESS / N_WORKERS % N_PIECES];
    const int how = i / N_PLATFORMS / N_LATENESS / N_WORKERS / N_PIECES;
    support_case *const c = support_new(algorithm, p);
    platforms[platform](c);
    lateness[late](c);
    SET(c, workload.bytes = 8e6, workload.backward_share = 0.5, config.until.steps = 4,
        config.exchange.pieces = n_pieces, config.exchange.collective = collectives[how],
        platform.library = DSGD_LIBRARY_NCCL);
    c->platform.nccl = (dsgd_nccl){.links_bytes_per_s = 120e9,
                                   .bandwidth = 1,
                                   .latency = 1,
                                   .node_bandwidth = 1,
                                   .node_latency = 1};
    snprintf(where, room, "%s, %d workers, %ld pieces, platform %d, delays %d, %s", algorithm, p,
             n_pieces, platform, late, dsgd_collective_names[collectives[how]]);
    return c;
}

/** Makes the algorithm communicate in every step, or in two of the four steps. */
static void be_frequent(support_case *c)
{
    static const char *const periods[] = {"period", "tau", "inner_steps"};
    for (size_t i = 0; i < sizeof periods / sizeof periods[0]; i++)
        if (support_has(c, periods[i]))
            support_option(c, periods[i], 2);
    if (support_has(c, "calibration"))
        support_option(c, "calibration", 2);
    if (support_has(c, "spare"))
        support_option(c, "spare", 0);
}

SUITE(analytic, "closed", .seconds = 300);

/**
 * Tests algorithm number _i. Each algorithm tests another part of the combinations, because some
 * combinations are slow to simulate.
 */
TEST_RANGE(computed_times_equal_message_times, 0, support_n_algorithms())
{
    const dsgd_algorithm *const algorithm =
        support_new(dsgd_algorithms[_i]->name, 8)->config.algorithm;
    const int stride = SUPPORT_SLOW ? 151 : 11;
    if (~algorithm->traits & DSGD_SENDS_ALLREDUCES)
        return;
    for (int i = _i % stride; i < N_CASES; i += stride) {
        char where[160];
        support_case *const c = combination(algorithm->about.name, i, where, sizeof where);
        be_frequent(c);
        expect_same_run(c, where);
    }
}

/* --- Tests of partial collectives and groups -------------------------------------------------- */

/**
 * Gives each worker its own random delay. Without these delays, rounding would decide which of
 * several simultaneous workers an activation still reaches. Two workers are late by three versions.
 */
static void jitter_and_late_versions(support_case *c)
{
    lateness[2](c);
    c->workload.step_s = 0.1;
    support_imbalance_number(c, "delay", "seconds", 0.32);
}

static const struct {
    const char *algorithm, *option;
    long value;
} partial[] = {
    {"eager_solo", "limiter", -1}, {"eager_solo", "limiter", 3}, {"eager_majority", "limiter", -1},
    {"wagma", "group", 2},         {"wagma", "group", 4},        {"wagma", "period", 3},
    {"eager_solo", "late", 1},     {"wagma", "order", 1}};

enum { N_PARTIAL = sizeof partial / sizeof partial[0], PARTIAL_STRIDE = SUPPORT_SLOW ? 29 : 11 };

static support_case *partial_combination(int i, char *where, size_t room)
{
    static const int powers[] = {4, 16, 64};
    const int which = i % N_PARTIAL, platform = i / N_PARTIAL % N_PLATFORMS;
    const int p = powers[i / N_PARTIAL / N_PLATFORMS % 3], how = i / N_PARTIAL / N_PLATFORMS / 3;
    support_case *const c = support_new(partial[which].algorithm, p);
    support_option(c, partial[which].option, (double)partial[which].value);
    platforms[platform](c);
    (i % 3 == 0 ? jitter_and_straggler : jitter_and_late_versions)(c);
    SET(c, workload.bytes = 8e6, workload.backward_share = 0.5);
    /* each worker has its own number of steps, so it is certain which worker makes the last step */
    c->config.until = (dsgd_until){0};
    SET(c, config.steps_each = 6, config.exchange.pieces = i % 2 == 0 ? 16 : 1,
        config.exchange.partial_collective = DSGD_PARTIAL_COLLECTIVE + collectives[how]);
    snprintf(where, room, "%s, %s %ld, %d workers, platform %d, %s", partial[which].algorithm,
             partial[which].option, partial[which].value, p, platform,
             dsgd_collective_names[collectives[how]]);
    return c;
}

CASE("groups", .seconds = 300);

/** The loop variable _i is the number of the first combination that the test simulates. */
TEST_RANGE(computed_partial_collectives_equal_simulated_ones, 0, 7)
{
    double missed = 0, stale = 0;
    for (int i = _i; i < N_PARTIAL * N_PLATFORMS * 3 * N_COLLECTIVES; i += PARTIAL_STRIDE * 7) {
        char where[160];
        support_case *const c = partial_combination(i, where, sizeof where);
        const support_outcome *const got = expect_same_run(c, where);
        missed += got->result.partial_skipped;
        stale += got->result.staleness_mean;
    }
    ck_assert_double_gt(missed, 0);
    ck_assert_double_gt(stale, 0);
}

/**
 * An algorithm that declares no traits sends each activation as a message. Such a message slows
 * other messages by nanoseconds. The results must nevertheless be the same as with alarms.
 */
TEST_RANGE(activations_are_alarms_at_the_times_of_messages, 0, 4)
{
    support_case *const c = support_new(_i < 2 ? "eager_solo" : "wagma", 16);
    static dsgd_algorithm any;
    uneven_switch(c);
    jitter_and_late_versions(c);
    c->workload.bytes = 8e6;
    c->config.network = _i % 2 == 0 ? DSGD_NETWORK_FLOWS : DSGD_NETWORK_SIMGRID;
    const support_outcome *const alarms = support_simulate(c);
    any = *c->config.algorithm;
    any.traits &= ~(unsigned)DSGD_SENDS_ALLREDUCES;
    c->config.algorithm = &any;
    const support_outcome *const messages = support_simulate(c);
    support_expect_alike(c, alarms, messages, 1e-6, any.about.name);
}

/**
 * Some pairs of workers are faster than others. Their activations of the next piece arrive before
 * another pair finishes its piece. Values that the members of this pair publish at that instant
 * must belong to the next piece, on both networks.
 */
TEST(values_published_when_a_piece_ends_are_in_the_next)
{
    static dsgd_algorithm any;
    support_case *const c = support_new("wagma", 8);
    support_option(c, "group", 2);
    islands(c);
    c->platform.island_hosts = c->platform.island_nics = 3;
    jitter_and_straggler(c);
    SET(c, workload.bytes = 1e8, config.exchange.pieces = 7, config.exchange.overlap = false);
    support_steps_each(c, 12);
    const dsgd_algorithm *const wagma = c->config.algorithm;
    any = *wagma;
    /* without the trait, the algorithm sends activations as messages */
    any.traits &= ~(unsigned)DSGD_SENDS_ALLREDUCES;
    double age = -1;
    for (int how = 0; how < 4; how++) {
        c->config.network = how % 2 == 0 ? DSGD_NETWORK_FLOWS : DSGD_NETWORK_SIMGRID;
        c->config.algorithm = how < 2 ? wagma : &any;
        const double got = support_ok(c)->result.staleness_mean;
        if (how > 0)
            ck_assert_double_eq_tol(got, age, 1e-9);
        age = got;
    }
    ck_assert_double_gt(age, 0);
}

/**
 * A test algorithm. Its first collective covers all workers. The workers then create their partial
 * collective up to three steps later.
 */
static void late_listeners_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    const dsgd_partial_spec spec = {.initiator = DSGD_FIRST_ARRIVER};
    dsgd_partial *sum = NULL;
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if (self->step >= self->rank % 4 && sum == NULL)
            sum = dsgd_partial_new(self, spec, x);
        if (self->step >= 4 || (sum != NULL && self->rank % 4 < 2))
            dsgd_partial_mix(self, sum, x, self->n_workers, self->n_workers + 1);
    }
}

static const dsgd_algorithm late_listeners = {.about = {.name = "late_listeners"},
                                              .work = late_listeners_work,
                                              .traits = DSGD_SENDS_COLLECTIVES};

TEST(a_late_listener_receives_earlier_activations)
{
    static dsgd_algorithm any;
    support_case *const c = support_of(&late_listeners, 8);
    lateness[2](c);
    const support_outcome *const alarms = support_simulate(c);
    any = late_listeners;
    any.traits &= ~(unsigned)DSGD_SENDS_ALLREDUCES;
    c->config.algorithm = &any;
    support_expect_alike(c, alarms, support_simulate(c), 1e-6, "late listeners");
    ck_assert_int_eq(alarms->result.outcome, DSGD_RUN_OK);
}

/* --- Tests of overlap with computations and of the ends of runs ------------------------------- */

CASE("closed", .seconds = 300);

/**
 * Allreduces of 0.4 s run during four steps of 0.1 s. One worker is slow, and some allreduces are
 * unfinished at the end. If _i is 1, each worker has its own number of steps.
 */
TEST_RANGE(computations_hide_computed_allreduces_like_messages, 0, 2)
{
    support_case *c = support_no_learning(support_new("dasgd", 9));
    OPTIONS(c, {"tau", 5}, {"d", 4});
    SET(c, workload.step_s = 0.1, workload.bytes = 1e9, config.exchange.pieces = 1,
        config.until.steps = 33);
    lateness[2](c);
    support_imbalance_number(c, "slow", "factor", 3);
    if (_i == 1) {
        support_steps_each(c, 15);
    }
    expect_same_run(c, "dasgd");
}

/**
 * The run ends at instant number _i, while messages are in flight. Some messages have been sent
 * only in part.
 */
TEST_RANGE(messages_in_flight_at_the_end_are_counted_in_the_same_way, 0, 12)
{
    static const char *const algorithms[] = {"allreduce", "dasgd"};
    for (size_t i = 0; i < 2; i++) {
        support_case *c = support_no_learning(support_new(algorithms[i], 11));
        uneven_switch(c);
        lateness[2](c);
        SET(c, workload.bytes = 1e9, config.exchange.pieces = 3,
            config.exchange.collective = collectives[_i % N_COLLECTIVES],
            config.until = (dsgd_until){.seconds = 6.9 + 0.037 * _i});
        expect_same_run(c, algorithms[i]);
    }
}

CASE("groups", .seconds = 300);

/** The loop variable _i selects the instant at which the run ends. */
TEST_RANGE(groups_in_flight_at_the_end_are_counted_in_the_same_way, 0, 12)
{
    support_case *c = support_no_learning(support_new(_i % 2 == 0 ? "wagma" : "eager_solo", 16));
    uneven_switch(c);
    jitter_and_late_versions(c);
    c->workload.bytes = 1e8;
    c->config.exchange.partial_collective =
        DSGD_PARTIAL_COLLECTIVE + collectives[_i % N_COLLECTIVES];
    c->config.until = (dsgd_until){.seconds = 1.9 + 0.037 * _i};
    expect_same_run(c, "groups");
}

CASE("closed", .seconds = 300);

TEST_RANGE(computed_fused_allreduces_equal_simulated_ones, 0, N_LATENESS)
{
    support_case *c = support_new("allreduce", 12);
    groups(c);
    lateness[_i](c);
    SET(c, workload.bytes = 8e6, config.exchange.pieces = 8, config.exchange.fusion_bytes = 3e6,
        config.exchange.cycle_s = 0.03);
    expect_same_run(c, "allreduce");
}

static void first_rounds_alone_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (self->rank != 5 || self->step < 2)
            dsgd_allreduce_mean(self, g, DSGD_WORLD);
        if (self->rank == 5 && self->step == 2)
            dsgd_lock(self), dsgd_lock(self);
    }
}

static const dsgd_algorithm first_rounds_alone = {.about = {.name = "first_rounds_alone"},
                                                  .work = first_rounds_alone_work,
                                                  .traits = DSGD_SENDS_ALLREDUCES};

/**
 * If one member of an allreduce is missing, the run stops when all other messages have arrived. The
 * run has no time bound if _i is 0, and a time bound if _i is 1.
 */
TEST_RANGE(a_run_with_a_missing_member_ends_the_same, 0, 2)
{
    support_case *c = support_of(&first_rounds_alone, 8);
    SET(c, workload.bytes = 1e9, platform.message_overhead_s = 0.01);
    if (_i == 1)
        c->config.until = (dsgd_until){.seconds = 4};
    expect_same_run(c, "one missing");
    ck_assert_int_eq(support_simulate(c)->result.outcome, DSGD_RUN_FAILED);
}

/* --- Tests of the conditions for a closed form ------------------------------------------------ */

/**
 * The plan for which a run asks whether a closed form exists. The plan covers all ranks, or the
 * ranks of a group.
 */
static dsgd_plan asked = {.how = DSGD_COLLECTIVE_RABENSEIFNER, .members.leader = -1};

static void asking_work(dsgd_node *self)
{
    support_current->note[0] = dsgd_collective_is_analytic(dsgd_worker_of(self)->engine, &asked);
    while (dsgd_next_step(self))
        ;
}

static const dsgd_algorithm asking = {
    .about = {.name = "asking"}, .work = asking_work, .traits = DSGD_SENDS_ALLREDUCES};
static const dsgd_algorithm asking_others = {.about = {.name = "asking_others"},
                                             .work = asking_work};

static bool is_closed(const support_case *c)
{
    return support_ok(c)->note[0] != 0;
}

TEST(schedules_are_closed_where_messages_cannot_meet)
{
    support_case *c = support_of(&asking, 12);
    ck_assert(is_closed(c));
    SET(c, config.exchange.pieces = 2, config.exchange.blocking = false);
    ck_assert(!is_closed(c));
    c->config.exchange.blocking = true;
    ck_assert(is_closed(c));
    c->config.network = DSGD_NETWORK_SIMGRID;
    ck_assert(!is_closed(c));
    c->config.network = DSGD_NETWORK_FLOWS;
    c->config.algorithm = &asking_others;
    ck_assert(!is_closed(c));
}

TEST(schedules_are_simulated_where_links_are_shared)
{
    support_case *c = support_of(&asking, 12);
    groups(c);
    ck_assert(is_closed(c));
    c->platform.group_bytes_per_s *= 0.999;
    ck_assert(!is_closed(c));
    c->platform.group_hosts = 12; /* all hosts are in one group, so no message leaves the group */
    ck_assert(is_closed(c));
    c = support_new(NULL, 12);
    c->config.algorithm = &asking;
    islands(c);
    ck_assert(is_closed(c));
    /* The four hosts of a NIC are not a hypercube of the plan. */
    c->platform.island_nics = 1;
    asked.how = DSGD_COLLECTIVE_RING;
    ck_assert(!is_closed(c));
    asked.how = DSGD_COLLECTIVE_RABENSEIFNER;
    c->platform.island_hosts = 12; /* all hosts are in one node, so no message passes a NIC */
    ck_assert(is_closed(c));
    static double shape[] = {2, 6};
    SET(c, platform.topology = DSGD_TOPOLOGY_TORUS, platform.island_hosts = 0);
    c->platform.size = (dsgd_numbers){2, shape};
    ck_assert(!is_closed(c));
}

/**
 * A closed form exists only if the members that share a NIC form hypercubes. Members that form no
 * hypercube use the NIC one after another, or at times that are not known.
 */
TEST(schedules_are_closed_where_rows_share_a_nic)
{
    support_case *c = support_of(&asking, 16);
    shared_nics(c);
    ck_assert(is_closed(c));
    asked.members = (dsgd_members){NULL, 3, 0};
    ck_assert(is_closed(c));
    asked.members.group = 6;
    ck_assert(!is_closed(c));
    asked = (dsgd_plan){.how = DSGD_COLLECTIVE_RECURSIVE_DOUBLING, .members = DSGD_ALL_WORKERS};
    ck_assert(is_closed(c));
    asked.extra = 1;
    ck_assert(!is_closed(c));
    asked = (dsgd_plan){.how = DSGD_COLLECTIVE_RING, .members = DSGD_ALL_WORKERS};
    ck_assert(!is_closed(c));
    asked.how = DSGD_COLLECTIVE_RABENSEIFNER;
    ck_assert(is_closed(c));
    c->config.workers = 14;
    ck_assert(!is_closed(c));
    SET(c, config.workers = 12, platform.island_hosts = 3);
    ck_assert(!is_closed(c));
}

/**
 * A test algorithm that averages in pairs, although it declares only collectives. The false
 * declaration makes computed times wrong.
 */
static void lying_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    while (dsgd_next_step(self))
        dsgd_pair_average(self, x, self->rank ^ 1);
}

static void broadcasting_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    while (dsgd_next_step(self))
        dsgd_collective_run(self, DSGD_BROADCAST, x, 0, DSGD_WORLD);
}

static const dsgd_algorithm lying[] = {
    {.about = {.name = "lying"}, .work = lying_work, .traits = DSGD_SENDS_ALLREDUCES},
    {.about = {.name = "lying"}, .work = broadcasting_work, .traits = DSGD_SENDS_ALLREDUCES},
    {.about = {.name = "lying"}, .work = lying_work, .traits = DSGD_SENDS_COLLECTIVES}};

/**
 * Tests blocking and non-blocking exchanges. Only blocking exchanges guarantee by themselves that a
 * worker has one message at a time.
 */
TEST_RANGE(a_false_declaration_of_exchanges_aborts, 0, 6)
{
    static const char *const by[] = {"lying exchanges otherwise than by allreduces of all workers",
                                     "lying exchanges otherwise than by allreduces of all workers",
                                     "lying exchanges otherwise than by collectives"};
    support_case *c = support_of(&lying[_i / 2], 2);
    c->config.exchange.blocking = _i % 2 == 0;
    support_expect_abort(c, by[_i / 2]);
}
