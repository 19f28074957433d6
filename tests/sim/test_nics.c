/**
 * @file test_nics.c
 * The network `nics` against SimGrid's flows: equal times where nothing but NICs is shared, stated
 * differences elsewhere; its events, its links, its stacks.
 */
#include "sim/network/coroutine.h"
#include "sim/network/events.h"
#include "sim/network/machine.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- every algorithm -------------------------------------------------------------------------- */

enum { WORKERS = 16 };

/** Unequal workers, of which two are late; an exchange takes 20 ms and more. */
static support_case *uneven(int algorithm, double step_s)
{
    support_case *c = support_new(dsgd_algorithms[algorithm]->name, WORKERS);
    c->platform.message_overhead_s = 1e-5;
    c->platform.reduction_s_per_byte = 1e-10;
    c->workload.bytes = 200e6;
    c->workload.step_s = step_s;
    c->config.exchange.pieces = 4;
    support_imbalance_number(c, "delay", "seconds", 0.7 * step_s);
    support_imbalance_number(c, "ramp", "seconds", 0.01 * step_s);
    support_no_learning(c);
    return c;
}

/** nics / flows - 1, of the time of a run. */
static double difference(support_case *c)
{
    c->config.network = DSGD_NETWORK_FLOWS;
    const support_outcome *const flows = support_ok(c);
    c->config.network = DSGD_NETWORK_NICS;
    const support_outcome *const nics = support_ok(c);
    ck_assert_int_eq(nics->result.outcome, DSGD_RUN_OK);
    ck_assert_double_eq(nics->result.steps, flows->result.steps);
    return nics->result.virtual_s / flows->result.virtual_s - 1;
}

/** Who mixes with whom, or computes once more, follows from who is first. */
static bool by_arrival(const support_case *c)
{
    return strstr(" cluster_based dedloc dsgd_aau ",
                  dsgd_xprintf(" %s ", c->config.algorithm->about.name)) != NULL;
}

enum { N_WAYS = 4 };

SUITE(nics, "nics", .seconds = 120);

TEST_RANGE(every_algorithm_takes_the_time_of_flows_on_a_switch, 0,
           N_WAYS *support_n_algorithms()) /* _i: algorithm, way */
{
    const bool blocking = _i % 2 == 0;
    const bool busy = _i % N_WAYS / 2 == 1; /* messages take as long as computation */
    support_case *c = uneven(_i / N_WAYS, busy ? 0.05 : 1);
    c->config.exchange.blocking = blocking;
    const double off = difference(c);
    printf("nics on a %sswitch, %s%s: %+.4f %%\n", busy ? "busy " : "",
           c->config.algorithm->about.name, blocking ? "" : ", pieces at once", 100 * off);
    /* 1.3 % with pieces of two collectives at once; and who meets whom may follow from who is
     * first. */
    ck_assert_double_le(fabs(off), !busy ? 0.002 : by_arrival(c) ? 0.1 : 0.015);
}

TEST_RANGE(several_servers_take_the_time_of_flows, 0,
           2 * support_n_algorithms()) /* _i: algorithm, busy or not */
{
    support_case *c = uneven(_i / 2, _i % 2 == 0 ? 1 : 0.05);
    if (dsgd_option_find(c->config.algorithm->about.options, "servers") == NULL)
        return;
    support_option(c, "servers", 3);
    ck_assert_double_le(fabs(difference(c)), 0.002);
}

/** As Piz Daint's groups, but of four hosts; a way out takes what they send, a flow each. */
TEST_RANGE(every_algorithm_takes_nearly_the_time_of_flows_between_groups, 0, support_n_algorithms())
{
    support_case *c = uneven(_i, 1);
    c->platform.topology = DSGD_TOPOLOGY_GROUPS;
    c->platform.group_hosts = 4;
    c->platform.host_bandwidth_bytes_per_s = 9.4e9;
    c->platform.group_flow_bytes_per_s = 6.3e9;
    c->platform.group_bytes_per_s = 4 * 6.3e9;
    c->platform.group_latency_s = 1.53e-6;
    const double off = difference(c);
    printf("nics between groups, %s: %+.4f %%\n", c->config.algorithm->about.name, 100 * off);
    ck_assert_double_le(fabs(off), by_arrival(c) ? 0.1 : 0.01);
}

/* --- links ------------------------------------------------------------------------------------ */

enum { HOSTS = 32 };

static double volley_s(const dsgd_platform *platform, int network, const int *to, double bytes)
{
    const dsgd_machine machine = {.platform = platform, .network = network, .n_hosts = HOSTS};
    return support_volley_s(&machine, to, bytes);
}

static void expect_as_flows(const dsgd_platform *platform, const int *to, double bytes)
{
    const double flows_s = volley_s(platform, DSGD_NETWORK_FLOWS, to, bytes);
    const double nics_s = volley_s(platform, DSGD_NETWORK_NICS, to, bytes);
    ck_assert_double_eq_tol(nics_s / flows_s, 1, 1e-9);
}

static double tree_size[] = {4, 8};
static double tree_up[] = {1, 2};
static double dragonfly_size[] = {4, 2, 4, 1};
static double torus_size[] = {4, 8};
static double mesh_size[] = {2, 2, 4, 2};
static double slow_hosts[] = {1, 5};

/** A platform of every topology but XML. */
static dsgd_platform shape(int topology)
{
    dsgd_platform p = {.topology = (dsgd_platform_topology)topology,
                       .host_bandwidth_bytes_per_s = 10e9,
                       .host_latency_s = 1e-6,
                       .island_nics = 1};
    if (topology == DSGD_TOPOLOGY_GROUPS) {
        p.group_hosts = 8;
        p.group_flow_bytes_per_s = 6e9;
        p.group_bytes_per_s = 80e9;
        p.group_latency_s = 2e-6;
    } else if (topology == DSGD_TOPOLOGY_FAT_TREE) {
        p.size = (dsgd_numbers){2, tree_size};
        p.up = (dsgd_numbers){2, tree_up};
    } else if (topology == DSGD_TOPOLOGY_DRAGONFLY) {
        p.size = (dsgd_numbers){4, dragonfly_size};
    } else if (topology == DSGD_TOPOLOGY_TORUS) {
        p.size = (dsgd_numbers){2, torus_size};
    } else if (topology == DSGD_TOPOLOGY_HAMMING_MESH) {
        p.size = (dsgd_numbers){4, mesh_size};
        p.group_latency_s = 0.5e-6;
    } else if (topology == DSGD_TOPOLOGY_RAILS) {
        p.island_hosts = p.island_nics = 4;
        p.island_bytes_per_s = 100e9;
        p.island_latency_s = 2e-6;
        p.group_bytes_per_s = 40e9;
        p.group_latency_s = 0.5e-6;
    }
    return p;
}

TEST_RANGE(a_message_alone_takes_the_time_of_a_flow, 0,
           3 * DSGD_TOPOLOGY_XML) /* _i: topology, receiver */
{
    static const int receivers[] = {1, 5, 31};
    dsgd_platform p = shape(_i / 3);
    dsgd_platform_entry slower = {.first = -1,
                                  .count = 1,
                                  .list = {2, slow_hosts},
                                  .speed = 1,
                                  .bandwidth = 0.5,
                                  .latency_s = 3e-6};
    p.hosts = (dsgd_structs){1, &slower};
    int to[HOSTS];
    for (int i = 0; i < HOSTS; i++)
        to[i] = i == 0 ? receivers[_i % 3] : -1;
    expect_as_flows(&p, to, 0);
    expect_as_flows(&p, to, 1e6);
}

TEST(many_to_one_share_its_link_as_flows_do)
{
    dsgd_platform p = shape(DSGD_TOPOLOGY_SWITCH);
    int to[HOSTS];
    for (int i = 0; i < HOSTS; i++)
        to[i] = i == 0 ? -1 : 0;
    const double nics_s = volley_s(&p, DSGD_NETWORK_NICS, to, 1e6);
    ck_assert_double_eq_tol(nics_s, 1e-6 + (HOSTS - 1) * 1e6 / 10e9, 1e-15);
    expect_as_flows(&p, to, 1e6);
    p.island_hosts = 4; /* one NIC for four; three to one in its island */
    p.island_bytes_per_s = 100e9;
    p.island_latency_s = 5e-7;
    expect_as_flows(&p, to, 1e6);
}

/** What one host receives from others that send one after another, and share it. */
TEST(islands_and_shared_nics_are_those_of_flows)
{
    dsgd_platform p = shape(DSGD_TOPOLOGY_SWITCH);
    p.island_hosts = 8;
    p.island_nics = 2;
    p.island_bytes_per_s = 100e9;
    p.island_latency_s = 5e-7;
    int to[HOSTS];
    for (int i = 0; i < HOSTS; i++)
        to[i] = (i + 8) % HOSTS;
    expect_as_flows(&p, to, 1e6);
    for (int i = 0; i < HOSTS; i++)
        to[i] = i ^ 1;
    expect_as_flows(&p, to, 1e6);
}

TEST(xml_is_refused)
{
    support_case *c = support_new("allreduce", 4);
    c->config.network = DSGD_NETWORK_NICS;
    c->platform.topology = DSGD_TOPOLOGY_XML;
    c->platform.file = "cluster.xml";
    const support_outcome *const got = support_simulate(c);
    ck_assert_int_eq(got->status, DSGD_EUSAGE);
    ck_assert_has(got->error.text, "cluster.xml is XML");
}

/* --- actors ----------------------------------------------------------------------------------- */

static void waiting_work(dsgd_node *self)
{
    dsgd_semaphore *const never = dsgd_semaphore_new();
    while (dsgd_next_step(self)) {
        for (int i = 0; i < 3; i++) {
            if (self->rank % 2 == 0)
                ck_assert(!dsgd_semaphore_wait_for(never, 0.1));
            else
                dsgd_sleep(0.1);
        }
        support_current->note[self->rank] = dsgd_now_s();
    }
}

static const dsgd_algorithm waiting = {.about = {.name = "waiting"}, .work = waiting_work};

/** Who gives up a semaphore at the instant at which others wake takes none of them with it. */
TEST(actors_whose_time_comes_at_one_instant_all_go_on)
{
    support_case *c = support_of(&waiting, 6);
    c->config.network = DSGD_NETWORK_NICS;
    support_steps_each(c, 2);
    support_no_learning(c);
    const support_outcome *const got = support_ok(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_OK);
    for (int i = 0; i < 6; i++)
        ck_assert_double_eq_tol(got->note[i], 0.6, 1e-12);
}

/* --- events and stacks ------------------------------------------------------------------------ */

TEST(a_heap_gives_the_least_first_and_equals_by_number)
{
    enum { N = 5000 };
    dsgd_heap heap = {0};
    uint32_t state = 1;
    for (uint64_t i = 0; i < N; i++) {
        state = state * 1664525u + 1013904223u;
        dsgd_heap_push(&heap, state >> 24, i, NULL);
    }
    struct dsgd_heap_entry last = {-1, 0, NULL};
    for (int i = 0; i < N; i++) {
        const struct dsgd_heap_entry next = dsgd_heap_pop(&heap);
        ck_assert(next.key > last.key || (next.key == last.key && next.number > last.number));
        last = next;
    }
    ck_assert_uint_eq(heap.n, 0);
    free(heap.entry);
}

/** As many times as are remembered, and ten times as many, which forget each other. */
TEST_RANGE(an_agenda_gives_the_next_time_first_and_equals_as_they_were_added, 0, 2)
{
    enum { N = 20000 };
    dsgd_agenda agenda = {0};
    uint32_t state = 1;
    uint64_t n_taken = 0;
    double last_time = 0;
    uint64_t last = 0;
    for (uint64_t i = 1; i <= N || n_taken < N; i++) {
        state = state * 1664525u + 1013904223u;
        if (i <= N)
            dsgd_agenda_add(&agenda, last_time + (double)((state >> 16) % (_i == 0 ? 64 : 640)), i,
                            NULL);
        if (i % 3 == 0 && i <= N)
            continue; /* it grows, then shrinks */
        const double time = dsgd_agenda_time(&agenda);
        uint64_t number = 0;
        dsgd_agenda_take(&agenda, &number);
        ck_assert(n_taken == 0 || time > last_time || (time == last_time && number > last));
        last_time = time;
        last = number;
        n_taken++;
    }
    ck_assert(dsgd_agenda_is_empty(&agenda));
    dsgd_agenda_close(&agenda);
}

static int n_happened;
static double happened_s;

static void happen(dsgd_event *event)
{
    (void)event;
    n_happened++;
    happened_s = dsgd_events_now_s();
}

TEST(an_event_happens_when_it_was_planned_last)
{
    dsgd_event moved = {.happen = happen};
    dsgd_event cancelled = {.happen = happen};
    dsgd_event_plan(&moved, 1);
    dsgd_event_plan(&cancelled, 2);
    dsgd_event_plan(&moved, 3);
    dsgd_event_cancel(&cancelled);
    ck_assert(dsgd_events_next());
    ck_assert_int_eq(n_happened, 1);
    ck_assert_double_eq(happened_s, 3);
    ck_assert(!dsgd_events_next());
    dsgd_events_close();
}

enum { N_COROUTINES = 100000 };

static dsgd_coroutine caller, called;
static int n_called;

static void call_back(void *argument)
{
    volatile char frame[2048]; /* some of the stack */
    frame[0] = *(const char *)argument;
    n_called += frame[0];
    dsgd_coroutine_switch(&called, &caller);
    n_called += frame[0];
    dsgd_coroutine_end(&called, &caller);
}

/** 100,000 stacks of 128 KiB are 12 GiB. */
TEST(a_stack_is_used_again)
{
    char one = 1;
    char *first = NULL;
    for (int i = 0; i < N_COROUTINES; i++) {
        dsgd_coroutine_open(&called, call_back, &one);
        first = i == 0 ? called.stack : first;
        ck_assert_ptr_eq(called.stack, first);
        dsgd_coroutine_switch(&caller, &called);
        dsgd_coroutine_switch(&caller, &called);
    }
    ck_assert_int_eq(n_called, 2 * N_COROUTINES);
    dsgd_coroutines_close();
}

/** More actors than a process may have mappings. */
TEST(tens_of_thousands_of_workers_make_steps)
{
    support_case *c = support_new("d_psgd", SUPPORT_SLOW ? 1000 : 24000);
    c->config.network = DSGD_NETWORK_NICS;
    c->config.until.steps = 2;
    support_no_learning(c);
    const support_outcome *const got = support_ok(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_OK);
    ck_assert_double_eq(got->result.steps, 2);
}

/** What a run left of time, of its end or of a deadlock would show in the next one's. */
TEST(one_run_after_another_in_a_process_is_as_in_processes_of_their_own)
{
    support_case *c = support_new("d_psgd", WORKERS);
    support_no_learning(c);
    dsgd_run_result alone, first, again;
    for (int network = DSGD_NETWORK_FLOWS; network <= DSGD_NETWORK_NICS; network++) {
        c->config.network = network;
        alone = support_ok(c)->result; /* in a child process */
        dsgd_error error = {""};
        ck_assert_int_eq(dsgd_simulate(&c->config, &first, &error), DSGD_OK);
        ck_assert_int_eq(dsgd_simulate(&c->config, &again, &error), DSGD_OK);
        ck_assert_double_eq(first.virtual_s, alone.virtual_s);
        ck_assert_double_eq(again.virtual_s, alone.virtual_s);
        ck_assert_double_eq(again.steps, alone.steps);
        ck_assert_double_eq(again.bytes, alone.bytes);
    }
}
