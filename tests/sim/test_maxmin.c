/**
 * @file test_maxmin.c
 * Tests max-min fair shares. The tests compare them with a solver that fills all pipes again at
 * each event, with whole runs in SimGrid, and with closed forms.
 */
#include <unistd.h>

#include "base/draw.h"
#include "sim/network/maxmin.h"
#include "tests/support/alike.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/**
 * Allowed difference of times in seconds. SimGrid does not distinguish events within a picosecond,
 * and this error adds up over messages.
 */
static const double early_s = 1e-10;

/* --- experiments ------------------------------------------------------------------------------ */

static const struct {
    const char *algorithm;
    struct {
        const char *name;
        double value;
    } option[2];
} kinds[] = {{"ad_psgd", {{NULL, 0}}},
             {"ad_psgd", {{"averagings", 3}}},
             {"ad_psgd", {{"variant", 1}}},
             {"ad_psgd", {{"variant", 2}, {"averagings", 2}}},
             {"ad_psgd", {{"variant", 3}}},
             {"easgd", {{"period", 1}, {"servers", 3}}},
             {"easgd", {{"period", 2}, {"centre", 1}}},
             {"eamsgd", {{"period", 3}, {"servers", 2}}},
             {"d_psgd", {{NULL, 0}}},
             {"sgp", {{NULL, 0}}},
             {"osgp", {{NULL, 0}}},
             {"choco", {{NULL, 0}}},
             {"dsgd_aau", {{NULL, 0}}},
             {"gradient_tracking", {{NULL, 0}}},
             {"a_psgd", {{"servers", 2}}},
             {"ssp", {{"slack", 1}}},
             {"rennala", {{NULL, 0}}},
             {"async_local_sgd", {{"period", 2}}},
             {"hierarchical", {{"between", 1}}}};

enum { N_KINDS = sizeof kinds / sizeof kinds[0], MOST_HOSTS = 32 };

static uint64_t draw(int experiment, int what, uint64_t below)
{
    const dsgd_draw at = {.seed = 1,
                          .worker = (uint32_t)experiment,
                          .purpose = DSGD_DRAW_SHARED,
                          .step = (uint32_t)what};
    return dsgd_draw_below(at, below);
}

/**
 * Makes a platform in which every host has a different NIC or link. The tree is tapered, and the
 * dragonfly has one cable between any two groups. DSGD_TOPOLOGY_XML stands for nodes with NICs.
 */
static void make_platform(support_case *c, int experiment, dsgd_platform_topology topology)
{
    static dsgd_platform_entry entries[MOST_HOSTS];
    static double tree[] = {4, 8}, up[] = {1, 2}, groups[] = {2, 2, 4, 2}, boards[] = {3, 2, 3, 2};
    for (int i = 0; i < MOST_HOSTS; i++)
        entries[i] =
            (dsgd_platform_entry){.first = i,
                                  .count = 1,
                                  .speed = 1,
                                  .bandwidth = 0.5 + (double)draw(experiment, 100 + i, 1000) / 2000,
                                  .latency_s = (double)draw(experiment, 200 + i, 1000) * 1e-9};
    c->platform.hosts = (dsgd_structs){MOST_HOSTS, entries};
    SET(c, platform.message_overhead_s = (double)draw(experiment, 1, 3) * 7.7e-6,
        platform.reduction_s_per_byte = (double)draw(experiment, 2, 2) * 0.3e-9,
        platform.staging_s_per_byte = (double)draw(experiment, 3, 2) * 0.25e-9,
        platform.operation_s_per_byte = c->platform.staging_s_per_byte / 2,
        platform.rendezvous_s = c->platform.message_overhead_s,
        platform.partial_turn_s = 2 * c->platform.message_overhead_s, platform.topology = topology);
    switch (topology) {
    case DSGD_TOPOLOGY_GROUPS:
        SET(c, platform.group_hosts = 3, platform.group_flow_bytes_per_s = 6.3e9,
            platform.group_bytes_per_s = (double)(1 + 2 * draw(experiment, 13, 2)) * 6.3e9,
            platform.group_latency_s = 1.53e-6);
        break;
    case DSGD_TOPOLOGY_FAT_TREE:
        c->platform.up = (dsgd_numbers){2, up};
        c->platform.size = (dsgd_numbers){2, tree};
        break;
    case DSGD_TOPOLOGY_TORUS:
        c->platform.size = (dsgd_numbers){2, tree};
        break;
    case DSGD_TOPOLOGY_DRAGONFLY:
        c->platform.size = (dsgd_numbers){4, groups};
        break;
    case DSGD_TOPOLOGY_HAMMING_MESH:
        c->platform.size = (dsgd_numbers){4, boards};
        c->platform.group_latency_s = 0.4e-6;
        break;
    case DSGD_TOPOLOGY_RAILS: /* on rails, random numbers select a spine with too little bandwidth,
                               * or no spine */
        SET(c, platform.island_hosts = c->platform.island_nics = 4,
            platform.island_bytes_per_s = 40e9, platform.island_latency_s = 2e-6,
            platform.group_bytes_per_s = (double)draw(experiment, 13, 2) * 6.3e9,
            platform.group_latency_s = 0.5e-6);
        break;
    case DSGD_TOPOLOGY_XML: /* random numbers select one NIC per host, or one NIC per two hosts */
        SET(c, platform.topology = DSGD_TOPOLOGY_SWITCH, platform.island_hosts = 4,
            platform.island_nics = draw(experiment, 5, 2) == 0 ? 4 : 2,
            platform.island_bytes_per_s = 150e9, platform.island_latency_s = 2e-6);
        break;
    default:
        break;
    }
}

static void make_late(support_case *c)
{
    IMBALANCE(c, "lognormal", {"mean", 0.02}, {"deviation", 0.03});
}

/**
 * Ends the run at a time at which no worker sends. A message at the end of a run could count in one
 * run and not in the other run.
 */
static void make_short(support_case *c)
{
    SET(c, workload.bytes = 8e6, workload.step_s = 0.1, workload.backward_share = 0.5,
        config.until = (dsgd_until){.seconds = 0.7123});
}

static support_case *new_experiment(int experiment, char *where, size_t room)
{
    static const int workers[] = {2, 8, 16};
    static const long pieces[] = {1, 3, 16};
    const int kind = experiment % N_KINDS, p = workers[draw(experiment, 10, 3)];
    support_case *const c = support_new(kinds[kind].algorithm, p);
    for (int i = 0; i < 2 && kinds[kind].option[i].name != NULL; i++)
        support_option(c, kinds[kind].option[i].name, kinds[kind].option[i].value);
    static const dsgd_platform_topology topologies[] = {
        DSGD_TOPOLOGY_SWITCH,    DSGD_TOPOLOGY_GROUPS, DSGD_TOPOLOGY_FAT_TREE,
        DSGD_TOPOLOGY_DRAGONFLY, DSGD_TOPOLOGY_TORUS,  DSGD_TOPOLOGY_XML};
    const bool is_fabric = draw(experiment, 14, 3) == 0;
    make_platform(c, experiment,
                  is_fabric
                      ? DSGD_TOPOLOGY_HAMMING_MESH + (dsgd_platform_topology)draw(experiment, 15, 2)
                      : topologies[draw(experiment, 4, 6)]);
    static const char *random[] = {DSGD_PLACEMENT_RANDOM};
    if (c->platform.size.n > 0 && draw(experiment, 6, 2) == 0)
        c->config.placement = (dsgd_lines){1, random};
    make_late(c);
    make_short(c);
    SET(c, config.seed = (uint64_t)experiment,
        config.exchange.pieces = pieces[draw(experiment, 11, 3)],
        config.exchange.blocking = draw(experiment, 12, 2) == 0);
    snprintf(where, room, "experiment %d, %s, %s %g, %d workers, %ld pieces", experiment,
             kinds[kind].algorithm,
             kinds[kind].option[0].name == NULL ? "own" : kinds[kind].option[0].name,
             kinds[kind].option[0].value, p, c->config.exchange.pieces);
    return c;
}

enum { PARTS = 6, N_EXPERIMENTS = (SUPPORT_SLOW ? 1 : 6) * N_KINDS };

SUITE(maxmin, "maxmin", .seconds = 300);

/** The loop variable _i is the index of the first of the test's experiments. */
TEST_RANGE(runs_take_as_long_as_in_simgrid, 0, PARTS)
{
    double messages = 0;
    for (int i = _i; i < N_EXPERIMENTS; i += PARTS) {
        char where[160];
        support_case *const c = new_experiment(i, where, sizeof where);
        const support_outcome *const own = support_ok(c);
        c->config.network = DSGD_NETWORK_SIMGRID;
        support_expect_alike(c, own, support_ok(c), early_s, where);
        ck_assert_msg((own->result.timed_by & DSGD_TIMED_BY_SIMGRID) == 0, "%s", where);
        messages += (double)own->result.messages;
    }
    ck_assert_double_gt(messages, 0);
}

/* --- Tests of simultaneous messages of all algorithms ----------------------------------------- */

/**
 * Makes a case with equal hosts. If @p ground is even, all steps take the same time. The hosts are
 * on a switch if @p ground is below 2; otherwise, they are in groups.
 */
static support_case *new_even(int algorithm, int ground)
{
    /* the sum combines each algorithm with each kind of setting */
    const int kind = algorithm + ground;
    support_case *const c = support_new(dsgd_algorithms[algorithm]->name, 8 << kind % 3);
    make_short(c);
    if (ground % 2 == 1)
        make_late(c);
    if (ground / 2 == 1) {
        SET(c, platform.topology = DSGD_TOPOLOGY_GROUPS, platform.group_hosts = 4,
            platform.group_flow_bytes_per_s = 6.3e9, platform.group_bytes_per_s = 2 * 6.3e9,
            platform.group_latency_s = 1.53e-6);
    }
    if (support_has(c, "period") && !support_has(c, "fragments"))
        support_option(c, "period", 2);
    SET(c, config.exchange.pieces = kind % 4 < 2 ? 3 : 1, config.exchange.blocking = kind % 2 == 1);
    return c;
}

/** The loop variable _i selects whether steps take the same time, and the network (see new_even()).
 */
TEST_RANGE(simultaneous_messages_have_the_order_of_simgrid, 0, 4)
{
    for (int i = 0; i < 2 * support_n_algorithms(); i += SUPPORT_SLOW ? 7 : 1) {
        support_case *const c = new_even(i / 2, _i);
        const char *const where = dsgd_algorithms[i / 2]->name;
        if (i % 2 == 1)
            c->config.until = (dsgd_until){.steps = 5};
        const support_outcome *const own = support_ok(c);
        c->config.network = DSGD_NETWORK_SIMGRID;
        const support_outcome *const simgrid = support_ok(c);
        if (i % 2 == 0)
            support_expect_alike(c, own, simgrid, early_s, where);
        ck_assert_msg(fabs(own->result.virtual_s - simgrid->result.virtual_s) <=
                          1e-9 * simgrid->result.virtual_s,
                      "%s: %.17g s, by SimGrid %.17g s", where, own->result.virtual_s,
                      simgrid->result.virtual_s);
    }
}

static const struct {
    dsgd_platform_topology topology;
    unsigned timed_by;
} files[] = {{DSGD_TOPOLOGY_TORUS, DSGD_TIMED_BY_FLOWS},
             /* the limits of single flows are not shared links */
             {DSGD_TOPOLOGY_GROUPS, DSGD_TIMED_BY_SIMGRID}};

TEST_ROWS(shared_links_of_a_file_are_timed_by_flows, files)
{
    char path[] = "/tmp/dsgd-test-XXXXXX.xml";
    ck_assert_int_ge(close(mkstemps(path, 4)), 0);
    support_case *const c = support_new("d_psgd", 16);
    make_platform(c, 0, files[_i].topology);
    ck_assert_int_eq(dsgd_platform_write(&c->platform, MOST_HOSTS, path, NULL), DSGD_OK);
    ck_assert_int_eq(system(dsgd_xprintf("sed -i s/1000000000f/800000000f/ %s", path)), 0);
    c->platform = (dsgd_platform){.topology = DSGD_TOPOLOGY_XML, .file = path};
    c->config.until.steps = 5;
    const support_outcome *const own = support_ok(c);
    ck_assert_uint_eq(own->result.timed_by, files[_i].timed_by);
    c->config.network = DSGD_NETWORK_SIMGRID;
    support_expect_alike(c, own, support_ok(c), early_s, "as a file");
    unlink(path);
}

/* --- Tests of which code computed the times of messages --------------------------------------- */

static const struct {
    const char *algorithm;
    int workers;
    dsgd_network_kind network;
    const char *word;
} timed[] = {{"allreduce", 4, DSGD_NETWORK_FLOWS, "arithmetic"},
             {"allreduce", 4, DSGD_NETWORK_SIMGRID, "simgrid"},
             {"allreduce", 1, DSGD_NETWORK_FLOWS, "none"},
             {"eager_solo", 4, DSGD_NETWORK_FLOWS, "arithmetic"},
             {"easgd", 4, DSGD_NETWORK_FLOWS, "flows"},
             {"easgd", 4, DSGD_NETWORK_SIMGRID, "simgrid"},
             {"d_psgd", 4, DSGD_NETWORK_FLOWS, "flows"},
             {"hierarchical", 8, DSGD_NETWORK_FLOWS, "flows+arithmetic"}};

TEST_ROWS(a_run_reports_the_code_that_timed_its_messages, timed)
{
    support_case *const c = support_new(timed[_i].algorithm, timed[_i].workers);
    c->config.network = timed[_i].network;
    c->config.until.steps = 16;
    /* with this option, the reductions and broadcasts of the algorithm are simulated */
    if (strcmp(timed[_i].algorithm, "hierarchical") == 0)
        support_option(c, "between", 1);
    ck_assert_str_eq(dsgd_timed_by_name(support_ok(c)->result.timed_by), timed[_i].word);
}

/* --- flows without a run ---------------------------------------------------------------------- */

enum { MOST_FLOWS = 40, N_PIPES = 8, MOST_PIPES = 4 };

/** A flow of a trial, with its start time and its expected end. */
static struct trial_flow {
    dsgd_event arrival; /* the field `arrival` must be the first member, because of a cast */
    dsgd_flow flow;
    dsgd_pipe *pipe[MOST_PIPES];
    size_t place[MOST_PIPES];
    double begins_s, expected_s, arrived_s;
    double left, rate;
    bool solved;
} flows[MOST_FLOWS];
static dsgd_pipe pipes[N_PIPES];

static void note_arrival(dsgd_event *arrival)
{
    ((struct trial_flow *)arrival)->arrived_s = dsgd_events_now_s();
}

/** Returns how often the path of a flow contains a pipe. */
static int uses(const struct trial_flow *f, const dsgd_pipe *pipe)
{
    int n = 0;
    for (size_t i = 0; i < f->flow.n_pipes; i++)
        n += f->flow.pipe[i] == pipe;
    return n;
}

static bool is_under_way(const struct trial_flow *f, double now_s)
{
    return f->begins_s <= now_s && isinf(f->expected_s);
}

/** Computes the rates of all active flows by progressive filling of all pipes. */
static void fill_all(int n, double now_s)
{
    int n_left = 0;
    for (int i = 0; i < n; i++) {
        flows[i].solved = !is_under_way(&flows[i], now_s);
        n_left += !flows[i].solved;
    }
    while (n_left > 0) {
        double least = INFINITY;
        const dsgd_pipe *first = NULL;
        for (int p = 0; p < N_PIPES; p++) {
            double free_bytes_per_s = pipes[p].bytes_per_s, weight = 0;
            for (int i = 0; i < n; i++) {
                const int times = is_under_way(&flows[i], now_s) ? uses(&flows[i], &pipes[p]) : 0;
                free_bytes_per_s -= flows[i].solved ? times * flows[i].rate : 0;
                weight += flows[i].solved ? 0 : times * flows[i].flow.weight;
            }
            if (weight > 0 && free_bytes_per_s / weight < least) {
                least = free_bytes_per_s / weight;
                first = &pipes[p];
            }
        }
        struct trial_flow *limited = NULL;
        for (int i = 0; i < n; i++)
            if (!flows[i].solved &&
                flows[i].flow.limit_bytes_per_s / flows[i].flow.weight < least) {
                least = flows[i].flow.limit_bytes_per_s / flows[i].flow.weight;
                limited = &flows[i];
            }
        for (int i = 0; i < n; i++)
            if (limited == NULL ? !flows[i].solved && uses(&flows[i], first)
                                : &flows[i] == limited) {
                flows[i].solved = true;
                flows[i].rate = least * flows[i].flow.weight;
                n_left--;
            }
    }
}

/** Computes the expected end time of each flow, independently of the code under test. */
static void expect_ends(int n)
{
    double now_s = 0;
    for (;;) {
        fill_all(n, now_s);
        double next_s = INFINITY;
        for (int i = 0; i < n; i++) {
            if (flows[i].begins_s > now_s)
                next_s = fmin(next_s, flows[i].begins_s);
            else if (is_under_way(&flows[i], now_s))
                next_s = fmin(next_s, now_s + flows[i].left / flows[i].rate);
        }
        if (isinf(next_s))
            return;
        for (int i = 0; i < n; i++) {
            if (!is_under_way(&flows[i], now_s))
                continue;
            flows[i].left -= flows[i].rate * (next_s - now_s);
            if (flows[i].left < 1e-9)
                flows[i].expected_s = next_s;
        }
        now_s = next_s;
    }
}

TEST_RANGE(flows_end_as_if_all_pipes_were_filled_at_each_event, 0, 200)
{
    const double since_s = dsgd_events_now_s();
    const int n = 2 + (int)draw(_i, 1, MOST_FLOWS - 2);
    for (int p = 0; p < N_PIPES; p++)
        pipes[p] = (dsgd_pipe){.bytes_per_s = (double)(1 + draw(_i, 10 + p, 4))};
    for (int i = 0; i < n; i++) {
        struct trial_flow *const f = &flows[i];
        *f = (struct trial_flow){.arrival.happen = note_arrival, .expected_s = INFINITY};
        f->flow = (dsgd_flow){.arrival = &f->arrival,
                              .pipe = f->pipe,
                              .place = f->place,
                              .weight = 1 / (double)(1 + draw(_i, 100 + i, 3)),
                              .limit_bytes_per_s = draw(_i, 200 + i, 3) == 0 ? 0.3 : INFINITY,
                              .bytes = (double)(1 + draw(_i, 300 + i, 5))};
        const size_t most = 1 + draw(_i, 400 + i, MOST_PIPES);
        for (size_t k = 0; k < most; k++)
            f->flow.pipe[f->flow.n_pipes++] = &pipes[draw(_i, 500 + 4 * i + (int)k, N_PIPES)];
        f->begins_s = (double)draw(_i, 700 + i, 8) / 2; /* some flows start at the same instant */
        f->left = f->flow.bytes;
    }
    expect_ends(n);
    for (int i = 0; i < n; i++)
        dsgd_flow_begin(&flows[i].flow, flows[i].begins_s);
    while (dsgd_events_next())
        ;
    for (int i = 0; i < n; i++)
        ck_assert_double_eq_tol(flows[i].arrived_s - since_s, flows[i].expected_s, 1e-9);
    for (int p = 0; p < N_PIPES; p++) {
        ck_assert_uint_eq(pipes[p].n + pipes[p].n_held, 0);
        free(pipes[p].flow);
    }
    dsgd_maxmin_close();
}
