/**
 * @file test_platforms.c
 * Tests platforms. Messages on each topology must take the time of its closed form, on an idle
 * machine and under traffic with a bottleneck. Hosts may differ. An invalid platform is rejected
 * with an error.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "base/draw.h"
#include "command/experiment/config.h"
#include "command/experiment/experiment.h"
#include "command/experiment/traces.h"
#include "sim/network/machine.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"
#include "traces/closed_form.h"

enum { MOST = 64 };

static const double gb = 1e9;
static const double us = 1e-6;

static double four_by_four[] = {4, 4};
static double one_by_two[] = {1, 2};
static double one_by_four[] = {1, 4};
static double two_of_each[] = {2, 2, 2, 2};
static double cables_three[] = {4, 3, 2};
static double four_by_eight[] = {4, 8};

/**
 * Returns a platform whose links have 10 GB/s, whose nearest hosts have a latency of 1 us, and
 * whose groups have eight hosts.
 */
static dsgd_platform shape(int topology)
{
    return (dsgd_platform){.topology = topology,
                           .host_bandwidth_bytes_per_s = 10 * gb,
                           .host_latency_s = us,
                           .group_hosts = 8,
                           .group_flow_bytes_per_s = 6 * gb,
                           .group_bytes_per_s = 20 * gb,
                           .group_latency_s = 2 * us,
                           .island_nics = 1};
}

static dsgd_platform islands(int topology, long nics)
{
    dsgd_platform p = shape(topology);
    p.island_hosts = 4;
    p.island_nics = nics;
    p.island_bytes_per_s = 100 * gb;
    p.island_latency_s = 0.2 * us;
    return p;
}

static dsgd_platform fat_tree(double *up)
{
    dsgd_platform p = shape(DSGD_TOPOLOGY_FAT_TREE);
    p.size = (dsgd_numbers){2, four_by_four};
    p.up = (dsgd_numbers){2, up};
    return p;
}

static dsgd_platform dragonfly(void)
{
    dsgd_platform p = shape(DSGD_TOPOLOGY_DRAGONFLY);
    p.size = (dsgd_numbers){4, two_of_each};
    p.cables = (dsgd_numbers){3, cables_three};
    return p;
}

static dsgd_platform torus(void)
{
    dsgd_platform p = shape(DSGD_TOPOLOGY_TORUS);
    p.size = (dsgd_numbers){2, four_by_eight};
    return p;
}

static int network = DSGD_NETWORK_FLOWS; /* network model that volley_s() uses */

/**
 * Returns the time in s until all messages have arrived, if each host i sends one message to host
 * to[i].
 */
static double volley_s(const dsgd_platform *platform, int n_hosts, const int *to, double bytes)
{
    const dsgd_machine machine = {.platform = platform, .network = network, .n_hosts = n_hosts};
    return support_volley_s(&machine, to, bytes);
}

static double message_s(const dsgd_platform *platform, int from, int to, double bytes)
{
    int pattern[MOST];
    for (int i = 0; i < MOST; i++)
        pattern[i] = i == from ? to : -1;
    return volley_s(platform, (from > to ? from : to) + 1, pattern, bytes);
}

static void expect_path(const dsgd_platform *p, int from, int to, double latency_s,
                        double bytes_per_s)
{
    const double empty_s = message_s(p, from, to, 1);
    const double full_s = message_s(p, from, to, gb);
    ck_assert_msg(fabs(empty_s - latency_s - 1 / bytes_per_s) < 1e-10, "%d to %d: %g s, not %g",
                  from, to, empty_s, latency_s);
    ck_assert_msg(fabs(full_s - latency_s - gb / bytes_per_s) < 1e-6 * full_s,
                  "%d to %d: %g GB/s, not %g", from, to, 1 / full_s, bytes_per_s / gb);
}

/** Checks the bandwidth of each message if all hosts i send to host (i + by) mod n at once. */
static void expect_shift(const dsgd_platform *p, int n, int by, double bytes_per_s)
{
    int to[MOST];
    for (int i = 0; i < n; i++)
        to[i] = (i + by) % n;
    const double s = volley_s(p, n, to, gb);
    ck_assert_msg(fabs(gb / bytes_per_s / s - 1) < 1e-4, "shift by %d: %g GB/s each, not %g", by,
                  1 / s, bytes_per_s / gb);
}

SUITE(platforms, "platforms", .seconds = 60);

TEST(a_switch_is_as_fast_as_its_nics)
{
    const dsgd_platform p = shape(DSGD_TOPOLOGY_SWITCH);
    expect_path(&p, 0, 1, us, 10 * gb);
    expect_path(&p, 3, 60, us, 10 * gb);
    expect_shift(&p, 64, 32, 10 * gb);
}

TEST(groups_limit_the_traffic_between_them)
{
    const dsgd_platform p = shape(DSGD_TOPOLOGY_GROUPS);
    expect_path(&p, 0, 7, us, 10 * gb);
    expect_path(&p, 7, 8, 3 * us, 6 * gb);
    expect_path(&p, 20, 1, 3 * us, 6 * gb);
    /* eight flows share the link of a group, which has 20 GB/s */
    expect_shift(&p, 16, 8, 2.5 * gb);
    expect_shift(&p, 8, 4, 10 * gb);
}

TEST_RANGE(an_island_has_its_own_network, 0, 2)
{
    static const int topologies[] = {DSGD_TOPOLOGY_SWITCH, DSGD_TOPOLOGY_GROUPS};
    const dsgd_platform rails = islands(topologies[_i], 4);
    expect_path(&rails, 0, 3, 0.2 * us, 100 * gb);
    expect_path(&rails, 6, 5, 0.2 * us, 100 * gb);
    expect_path(&rails, 3, 4, us, 10 * gb);
    expect_shift(&rails, 8, 4, 10 * gb); /* in this platform, each host has its own NIC */
    const dsgd_platform shared = islands(topologies[_i], 1);
    expect_path(&shared, 0, 3, 0.2 * us, 100 * gb);
    expect_path(&shared, 3, 4, us, 10 * gb);
    expect_shift(&shared, 8, 4, 2.5 * gb); /* in this platform, four hosts share a NIC */
    const dsgd_platform pairs = islands(topologies[_i], 2);
    expect_shift(&pairs, 8, 4, 5 * gb);
}

TEST(islands_lie_in_groups)
{
    const dsgd_platform p = islands(DSGD_TOPOLOGY_GROUPS, 4);
    expect_path(&p, 7, 8, 3 * us, 6 * gb);
    expect_shift(&p, 16, 8, 2.5 * gb);
}

TEST(the_last_island_may_be_cut_off)
{
    const dsgd_platform p = islands(DSGD_TOPOLOGY_SWITCH, 1);
    expect_path(&p, 4, 5, 0.2 * us, 100 * gb);
    expect_path(&p, 3, 5, us, 10 * gb);
}

TEST(a_fat_tree_is_full_or_tapered)
{
    const dsgd_platform full = fat_tree(one_by_four);
    expect_path(&full, 0, 3, us, 10 * gb);
    expect_path(&full, 3, 4, 2 * us, 10 * gb); /* the route from host 3 to host 4 has four links */
    expect_path(&full, 0, 15, 2 * us, 10 * gb);
    expect_shift(&full, 16, 8, 10 * gb);
    const dsgd_platform tapered = fat_tree(one_by_two);
    expect_path(&tapered, 0, 15, 2 * us, 10 * gb);
    expect_shift(&tapered, 16, 8, 5 * gb);
    expect_shift(&tapered, 16, 1, 10 * gb); /* only one of four flows leaves its switch */
}

/**
 * Tests that two groups are connected by a link between one router of each group. Cables multiply
 * the bandwidth of this link.
 */
TEST(a_dragonfly_has_one_gateway_between_groups)
{
    dsgd_platform p = dragonfly();
    expect_path(&p, 0, 1, us, 10 * gb); /* the two hosts are on one router */
    expect_path(&p, 0, 2, 1.5 * us, 10 * gb); /* the two hosts are in one chassis */
    expect_path(&p, 0, 4, 1.5 * us, 10 * gb); /* the two hosts are in one group */
    /* if there were latencies, flows with longer paths would get less of a link */
    p.host_latency_s = 0;
    expect_shift(&p, 16, 8, 5 * gb); /* eight flows share the four cables between two groups */
}

TEST(a_torus_is_routed_dimension_by_dimension)
{
    const dsgd_platform p = torus();
    expect_path(&p, 0, 1, us, 10 * gb);
    expect_path(&p, 0, 3, us, 10 * gb); /* the wrap-around link leads from host 0 to 3 */
    expect_path(&p, 0, 4, us, 10 * gb); /* host 4 is one hop away in the second dimension */
    expect_path(&p, 0, 18, 6 * us, 10 * gb);
    expect_shift(&p, 32, 8, 5 * gb); /* each message has two hops in the second dimension */
}

/* --- hosts that differ ------------------------------------------------------------------------ */

static double listed[] = {3, 9};

/**
 * Entries of the key `hosts`. Hosts 1 and 2 have a tenth of the bandwidth. Hosts 3 and 9 have an
 * additional latency of 5 us. Host 3 also computes at a quarter of the speed.
 */
static dsgd_platform_entry entries[] = {
    {.first = 1, .count = 2, .speed = 1, .bandwidth = 0.1},
    {.first = -1, .count = 1, .list = {2, listed}, .speed = 1, .bandwidth = 1, .latency_s = 5e-6},
    {.first = 3, .count = 1, .speed = 0.25, .bandwidth = 1},
};

static dsgd_platform nth_shape(int i)
{
    return i == 0   ? shape(DSGD_TOPOLOGY_SWITCH)
           : i == 1 ? shape(DSGD_TOPOLOGY_GROUPS)
           : i == 2 ? islands(DSGD_TOPOLOGY_SWITCH, 4)
           : i == 3 ? fat_tree(one_by_four)
           : i == 4 ? dragonfly()
                    : torus();
}

enum { SHAPES = 6 };

TEST_RANGE(hosts_differ_on_every_generated_shape, 0, SHAPES)
{
    dsgd_platform even = nth_shape(_i);
    dsgd_platform odd = even;
    odd.hosts = (dsgd_structs){3, entries};
    /* Each pair of hosts is in different nodes. On the torus, the hosts are neighbours. */
    static const int pairs[][2] = {{0, 4}, {1, 5}, {6, 2}, {7, 3}, {9, 5}};
    static const double factor[] = {1, 0.1, 0.1, 1, 1};
    static const double later_s[] = {0, 0, 0, 5e-6, 5e-6};
    for (size_t k = 0; k < 5; k++) {
        const int a = pairs[k][0];
        const int b = pairs[k][1];
        const double latency_s = message_s(&even, a, b, 1) - 1 / (10 * gb);
        const double bytes_per_s = gb / (message_s(&even, a, b, gb) - latency_s);
        expect_path(&odd, a, b, latency_s + later_s[k], fmin(bytes_per_s, 10 * gb * factor[k]));
    }
    /* The key `hosts` does not change the network within a node. */
    if (even.island_hosts > 0)
        expect_path(&odd, 1, 2, 0.2 * us, 100 * gb);
}

TEST(shared_nic_has_the_quality_of_its_worst_host)
{
    dsgd_platform p = islands(DSGD_TOPOLOGY_SWITCH, 1);
    p.hosts = (dsgd_structs){3, entries};
    expect_path(&p, 0, 4, 6 * us, 1 * gb);
}

/**
 * Tests a run in which all workers wait for worker 3, which computes at a quarter of the speed.
 * Then tests a worker 0 with half the speed, which must not change the speed of other workers.
 */
TEST_RANGE(a_slow_host_computes_longer, 0, SHAPES)
{
    support_case *c = support_no_learning(support_of(&support_averaging, 4));
    c->workload.bytes = 1;
    c->platform = nth_shape(_i);
    c->platform.hosts = (dsgd_structs){3, entries};
    c->config.until.steps = 10;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 40, 0.01);
    static dsgd_platform_entry first = {.count = 1, .speed = 0.5, .bandwidth = 1};
    c->platform.hosts = (dsgd_structs){1, &first};
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 20, 0.01);
    const dsgd_time_shares shares = support_ok(c)->result.shares;
    ck_assert_double_eq_tol(shares.compute, (1 + 3 * 0.5) / 4, 0.01);
}

/* --- Tests of closed forms of all shapes ------------------------------------------------------ */

/** Compares simulated times of single messages with the closed form, for hosts that differ. */
TEST_RANGE(messages_take_their_closed_form, 0, SHAPES)
{
    dsgd_platform p = nth_shape(_i);
    p.hosts = (dsgd_structs){3, entries};
    for (int from = 0; from < 4; from++) {
        for (int to = from + 1; to < 16; to += from + 1) {
            int pattern[MOST];
            for (int i = 0; i < MOST; i++)
                pattern[i] = i == from ? to : -1;
            for (double bytes = 1; bytes <= gb; bytes *= gb) {
                const double promised_s = dsgd_closed_form_s(&p, 16, pattern, bytes);
                const double s = volley_s(&p, 16, pattern, bytes);
                ck_assert_msg(fabs(s / promised_s - 1) < 1e-6, "%d to %d: %g s, not %g", from, to,
                              s, promised_s);
            }
            ck_assert_double_eq_tol(dsgd_closed_form_latency_s(&p, from, to),
                                    dsgd_closed_form_s(&p, 16, pattern, 0), 1e-15);
        }
    }
}

/**
 * Compares simulated times with the closed form if all hosts send at once. Latencies are 0, because
 * otherwise flows with longer paths would get less of a shared link.
 */
TEST_RANGE(traffic_takes_its_closed_form, 0, SHAPES)
{
    dsgd_platform p = nth_shape(_i);
    p.host_latency_s = p.group_latency_s = p.island_latency_s = 0;
    for (int by = 1; by <= 8; by *= 2) {
        int to[16];
        for (int i = 0; i < 16; i++)
            to[i] = (i + by) % 16;
        const double promised_s = dsgd_closed_form_s(&p, 16, to, gb);
        const double s = volley_s(&p, 16, to, gb);
        ck_assert_msg(fabs(s / promised_s - 1) < 0.01, "shift by %d: %g s, not %g", by, s,
                      promised_s);
    }
}

/* --- bottlenecks ------------------------------------------------------------------------------ */

static bool meet_at_nics(const dsgd_platform *p, int n_hosts, int stride, int at_once)
{
    int places[MOST];
    for (int i = 0; i < n_hosts; i++)
        places[i] = i * stride;
    const dsgd_platform_use use = {n_hosts, places, at_once};
    return dsgd_platform_meets_at_nics(p, &use);
}

TEST(messages_meet_only_at_nics_without_other_bottlenecks)
{
    const dsgd_platform flat = shape(DSGD_TOPOLOGY_SWITCH);
    ck_assert(meet_at_nics(&flat, 64, 1, 0));
    const dsgd_platform rails = islands(DSGD_TOPOLOGY_SWITCH, 4);
    ck_assert(meet_at_nics(&rails, 16, 1, 0));
    const dsgd_platform shared = islands(DSGD_TOPOLOGY_SWITCH, 1);
    ck_assert(!meet_at_nics(&shared, 16, 1, 0));
    ck_assert(meet_at_nics(&shared, 4, 1, 0)); /* in this call, all hosts are in one island */
    ck_assert(meet_at_nics(&shared, 16, 4, 0)); /* in this call, each host has its own NIC */
    const dsgd_platform tree = fat_tree(one_by_four);
    ck_assert(meet_at_nics(&tree, 4, 1, 0));
    ck_assert(!meet_at_nics(&tree, 5, 1, 0));
    const dsgd_platform fly = dragonfly();
    ck_assert(meet_at_nics(&fly, 2, 1, 0));
    ck_assert(!meet_at_nics(&fly, 3, 1, 0));
    const dsgd_platform ring = torus();
    ck_assert(!meet_at_nics(&ring, 2, 1, 0));
}

/**
 * Tests whether NICs are the only bottleneck for messages between groups. Eight NICs of a group
 * have 10 GB/s each, the group's uplink has 20 GB/s, and a single message has 6 GB/s.
 */
TEST(group_uplink_is_a_bottleneck_if_demand_exceeds_it)
{
    dsgd_platform p = shape(DSGD_TOPOLOGY_GROUPS);
    ck_assert(meet_at_nics(&p, 8, 1, 0)); /* with eight hosts, no host is in another group */
    ck_assert(meet_at_nics(&p, 10, 1, 0)); /* two hosts in the other group receive 20 GB/s */
    ck_assert(!meet_at_nics(&p, 11, 1, 0));
    ck_assert(meet_at_nics(&p, 11, 1, 1)); /* 3 messages at once need 18 GB/s */
    ck_assert(!meet_at_nics(&p, 12, 1, 1)); /* 4 messages at once need 24 GB/s */
    ck_assert(!meet_at_nics(&p, 11, 1, 2)); /* 6 messages could use 36 GB/s, but 3 NICs have 30 */
    p.group_bytes_per_s = 80 * gb; /* the uplink carries the traffic of eight NICs */
    ck_assert(meet_at_nics(&p, 64, 1, 0));
    p.group_bytes_per_s = 48 * gb;
    ck_assert(!meet_at_nics(&p, 64, 1, 0));
    ck_assert(meet_at_nics(&p, 64, 1, 1));
    p.hosts = (dsgd_structs){3, entries}; /* these entries give hosts 1 and 2 a NIC of 1 GB/s */
    p.group_bytes_per_s = 62 * gb;
    ck_assert(meet_at_nics(&p, 16, 1, 0));
    p.group_bytes_per_s = 61.99 * gb;
    ck_assert(!meet_at_nics(&p, 16, 1, 0));
}

/* --- placement -------------------------------------------------------------------------------- */

/**
 * Returns the time in s of a small message from worker 0 to worker 1, on a platform with groups of
 * eight hosts.
 */
static double placed_message_s(dsgd_lines placement, int workers, uint64_t seed)
{
    const dsgd_platform p = shape(DSGD_TOPOLOGY_GROUPS);
    const dsgd_machine machine = {
        .platform = &p, .n_hosts = workers, .placement = placement, .seed = seed};
    int to[MOST];
    for (int i = 0; i < workers; i++)
        to[i] = i == 0 ? 1 : -1;
    return support_volley_s(&machine, to, 1);
}

/* A limit between the times of a message: 1 us within a group, and 3 us between groups. */
static const double within_s = 1.5e-6;

TEST(placement_determines_the_hosts_of_workers)
{
    static const char *far[] = {"8", "n7"};
    static const char *near[] = {"n30", "31", "0"};
    ck_assert(placed_message_s((dsgd_lines){2, far}, 2, 1) > within_s);
    ck_assert(placed_message_s((dsgd_lines){3, near}, 2, 1) < within_s);
}

/**
 * Tests that a random placement uses the hosts that the seed selects. Gateways of groups must not
 * count as hosts.
 */
TEST(a_random_order_is_drawn_from_the_seed)
{
    static const char *word[] = {"random"};
    int n_far = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        int group[2];
        for (uint32_t i = 0; i < 2; i++)
            group[i] = (int)dsgd_draw_permuted(
                           (dsgd_draw){.seed = seed, .purpose = DSGD_DRAW_PLACEMENT}, 16, i) /
                       8;
        const bool far = placed_message_s((dsgd_lines){1, word}, 16, seed) > within_s;
        ck_assert(far == (group[0] != group[1]));
        n_far += far;
    }
    ck_assert(n_far > 3 && n_far < 17);
}

/* --- files ------------------------------------------------------------------------------------ */

#define LINK "host_bandwidth: 1GB/s, host_latency: 1us"

static const struct {
    /* Text of a platform file, and the expected error, or NULL if the file is valid. */
    const char *platform, *sentence;
} files[] = {
    {"{topology: fat_tree, size: [4, 4], up: [1, 2], " LINK "}", NULL},
    {"{topology: fat_tree, size: [4, 4], up: [1, 2], cables: [1, 2], " LINK "}", NULL},
    {"{topology: fat_tree}", "size is missing; topology: fat_tree needs it"},
    {"{topology: fat_tree, size: [4, 4], up: [1]}",
     "topology: fat_tree needs 2 numbers in up, got 1"},
    {"{topology: fat_tree, size: [4, 4], up: [1, 1], cables: [1]}", "needs 2 numbers in cables"},
    {"{topology: fat_tree, size: [2, 1.5], up: [1, 1]}",
     "size must contain only whole numbers, got 1.5"},
    {"{topology: fat_tree, size: [2, 0], up: [1, 1]}", "between 1 and"},
    {"{topology: fat_tree, size: [1, 2], up: [1, 1]}", "size: 2 hosts, but 4"},
    {"{topology: fat_tree, size: [99999, 99999], up: [1, 1]}", "maximum is 1048576"},
    {"{topology: dragonfly, size: [2, 2, 2, 2]}", NULL},
    {"{topology: dragonfly, size: [3, 2, 2, 2]}", "per chassis, 2, got 3"},
    {"{topology: dragonfly, size: [2, 2, 2]}", "needs 4 numbers in size, got 3"},
    {"{topology: dragonfly, size: [2, 2, 2, 2], up: [1]}", "needs 0 numbers in up"},
    {"{topology: torus, size: [2, 2]}", NULL},
    {"{topology: torus, size: [1, 4]}", "must have at least 2 hosts"},
    {"{topology: torus, size: [2, 2], cables: [1, 1]}", "needs 0 numbers in cables"},
    {"{topology: switch, size: [4]}", NULL},
    {"{topology: switch, size: [3]}", "size: 3 hosts, but 4"},
    {"{topology: switch, size: [2, 2]}", "needs 1 numbers in size"},
    {"{topology: fattree, size: [4]}", "did you mean `fat_tree`"},
    {"{topology: switch, island_hosts: 2, island_bandwidth: 9GB/s}", NULL},
    {"{topology: switch, island_hosts: 2}", "island_bandwidth must be above 0"},
    {"{topology: switch, island_hosts: 4, island_nics: 3, island_bandwidth: 1GB/s}",
     "must divide island_hosts (4), got 3"},
    {"{topology: torus, size: [4], island_hosts: 2, island_bandwidth: 1GB/s}",
     "needs topology: switch, groups or rails, got torus"},
    {"{name: piz-daint, island_hosts: 5, island_bandwidth: 1GB/s}",
     "must be a multiple of island_hosts"},
    {"{name: piz-daint, hosts: [{first: 1, speed: 0.5}]}", NULL},
    {"{name: piz-daint, hosts: [{first: 1, count: 2000, speed: {sweep: [1, 2]}}]}", NULL},
    {"{name: piz-daint, hosts: [{speed: 0.5}]}", "first or list is missing"},
    {"{name: piz-daint, hosts: [{first: 1, sped: 0.5}]}", "did you mean `speed`"},
    {"{name: piz-daint, hosts: [{first: 1, speed: 0}]}", "between 1e-06"},
    {"{name: piz-daint, hosts: [{list: [0.5]}]}",
     "hosts: list must contain only whole numbers, got 0.5"},
    {"{topology: torus, size: [4], hosts: [{first: 3, count: 2}]}",
     "unknown host 4. Valid hosts: 0 to 3"},
    {"{name: p.xml, hosts: [{first: 3}]}", "must be absent for topology: xml"},
#define REGIONS "topology: groups, group_hosts: 2, regions: [{name: a}, {name: b, hosts: 2}]"
#define ROUTE "{from: a, to: b, latency: 1ms, bandwidth: 1Gb/s}"
    {"{" REGIONS ", routes: [" ROUTE "]}", NULL},
    {"{" REGIONS "}", "routes: there is no route from `a` to `b`"},
    {"{" REGIONS ", group_flow_bandwidth: 1GB/s}", NULL},
    {"{" REGIONS ", routes: [{from: a, to: c}]}", "unknown region `c`. Add it to regions"},
    {"{" REGIONS ", routes: [{from: a, to: b, latency: 1ms, round_trip: 2ms}]}",
     "must have only one of"},
    {"{routes: [" ROUTE "]}", "unknown region `a`"},
    {"{topology: groups, group_hosts: 1, regions: [{name: a, hosts: 2}]}",
     ":1:12: platform: regions: `a`: hosts must be at most group_hosts, 1, got 2"},
    {"{topology: groups, group_hosts: 4, regions: [{name: a}, {name: a}]}",
     ":1:12: platform: regions: the name `a` occurs twice"},
    {"{" REGIONS ", routes: [" ROUTE "], size: [4]}", "group_hosts and hosts determine"},
    {"{topology: groups, group_hosts: 3, regions: [{name: a}]}", "3 hosts, but 4"},
    {"{topology: groups, group_hosts: 3, regions: [{name: a, hosts: 3}, {name: b, hosts: 1}], "
     "group_flow_bandwidth: 1}",
     NULL},
    {"{topology: groups, group_hosts: 3, regions: [{name: a, hosts: 2}, {name: b, hosts: 1}], "
     "group_flow_bandwidth: 1}",
     "platform: regions: 3 hosts, but 4"},
    {"{" REGIONS ", routes: [" ROUTE "], library: nccl}",
     "regions need topology: groups and library: mpi"},
    {"{topology: switch, regions: [{name: a}]}", "regions need topology: groups"},
    {"{topology: groups, group_hosts: 4, regions: [{name: a, price: 1}]}",
     "`a` has a price, but the platform has none"},
};

/** Opens an experiment with four workers, to which two lines are added. */
static dsgd_status open_lines(const char *first, const char *second, dsgd_error *error)
{
    char path[] = "/tmp/dsgd-test-XXXXXX";
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    FILE *const stream = fdopen(file, "w");
    fprintf(stream,
            "%s\n%s\nworkload: {bytes: 1, step: 1, samples: 1}\nworkers: 4\n"
            "algorithms: allreduce\nuntil: {steps: 1}\n",
            first, second);
    fclose(stream);
    dsgd_experiment experiment;
    const dsgd_status status =
        dsgd_experiment_open(path, NULL, 0, DSGD_NUMERICS_OFF, &experiment, error);
    remove(path);
    return status;
}

TEST_ROWS(platforms_of_a_file_are_read_or_rejected, files)
{
    char *const line = dsgd_xprintf("platform: %s", files[_i].platform);
    dsgd_error error = {""};
    const dsgd_status status = open_lines(line, "", &error);
    ck_assert_int_eq(status, files[_i].sentence == NULL ? DSGD_OK : DSGD_EUSAGE);
    if (files[_i].sentence != NULL)
        ck_assert_has(error.text, files[_i].sentence);
}

static const struct {
    const char *placement; /* value of `placement`, in which %s is the path of a file */
    const char *file;
    const char *sentence; /* expected error, or NULL if the placement is valid */
} placements[] = {
    {"natural", "", NULL},
    {"random", "", NULL},
    {"[3, 1, 2, 0]", "", NULL},
    {"{sweep: [natural, [n3, n1, n2, n0, n9]]}", "", NULL},
    {"%s", "# hosts\nn3\n 2 # the slow one\r\n\n1\n0", NULL},
    {"natrual", "", "valid values without a file: natural, random or outer"},
    {"/nonexistent", "", "/nonexistent: the file of placement cannot be read"},
    {"{a: b}", "", "placement must be a text, got a mapping"},
    {"[3, 1, 2]", "", "3 hosts are listed, but 4"},
    {"[3, 1, 2, 3]", "", "entry 4 is `3`, which is entry 1 too"},
    {"[3, 1, 2, n3]", "", "entry 4 is `n3`, which is entry 1 too"},
    {"[3, 1, 2, 16]", "", "entry 4 is `16`, but the platform's hosts are 0 to 15, or n0 to n15"},
    {"[3, 1, 2, -1]", "", "entry 4 is `-1`"},
    {"[3, 1, 2, 0x1]", "", "entry 4 is `0x1`"},
    {"[3, 1, 2, 4, host]", "", "entry 5 is `host`"},
    {"[3, 1, 2, [4]]", "", "placement must be a text, got a list"},
    {"%s", "3\n2\n1\n", "3 hosts are listed"},
    {"%s", "3\n2 1\n", ":2: expected one word, got `2 1`"},
};

TEST_ROWS(placements_of_a_file_are_read_or_rejected, placements)
{
    char path[] = "/tmp/dsgd-test-XXXXXX";
    const int file = mkstemp(path);
    FILE *const stream = fdopen(file, "w");
    fputs(placements[_i].file, stream);
    fclose(stream);
    const char *const value = placements[_i].placement;
    char *const line = dsgd_xprintf("placement: %s", strcmp(value, "%s") == 0 ? path : value);
    dsgd_error error = {""};
    const dsgd_status status = open_lines("platform: {topology: torus, size: [16]}", line, &error);
    remove(path);
    ck_assert((status == DSGD_OK) == (placements[_i].sentence == NULL));
    if (placements[_i].sentence != NULL)
        ck_assert_has(error.text, placements[_i].sentence);
}

/** Tests placements that use the names of hosts in a platform file of the user. */
TEST(hosts_of_an_xml_file_have_names)
{
    static const char xml[] =
        "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"gpu\" suffix=\".org\" "
        "radical=\"0-10\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\"/></platform>\n";
    static const struct {
        const char *placement, *sentence;
    } cases[] = {
        {"[gpu10.org, gpu2.org, 0, 1]", NULL},
        {"[gpu10.org, gpu11.org, 0, 1]",
         "entry 2 is `gpu11.org`, but the platform's hosts are 0 to 10, or gpu0.org to gpu10.org"},
        {"[gpu10.org, 10, 0, 1]", "entry 2 is `10`, which is entry 1 too"},
    };
    char path[] = "/tmp/dsgd-test-XXXXXX.xml";
    const int file = mkstemps(path, 4);
    FILE *const stream = fdopen(file, "w");
    fputs(xml, stream);
    fclose(stream);
    char *const platform = dsgd_xprintf("platform: %s", path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *const line = dsgd_xprintf("placement: %s", cases[i].placement);
        dsgd_error error = {""};
        const dsgd_status status = open_lines(platform, line, &error);
        ck_assert_msg((status == DSGD_OK) == (cases[i].sentence == NULL), "%s", error.text);
        if (cases[i].sentence != NULL)
            ck_assert_has(error.text, cases[i].sentence);
    }
    remove(path);
}

/**
 * Tests platform files with missing routes. SimGrid would find them only at the first message, and
 * would then end the process.
 */
TEST(incomplete_xml_file_is_rejected)
{
    static const struct {
        const char *routing;
        /*
         * Route to omit. The value 5 omits the route between hosts 2 and 3, and 0 omits one
         * direction between hosts 0 and 1. The value -1 omits no route.
         */
        int left_out;
        const char *sentence;
    } cases[] = {
        {"Full", -1, NULL},
        {"Full", 5, "host 2 has no connecting path to host 3 of 4"},
        {"Full", 0, "host 1 has no connecting path to host 0 of 4"},
        {"None", -1, "There can't be route in an Empty zone"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[] = "/tmp/dsgd-test-XXXXXX.xml";
        FILE *const stream = fdopen(mkstemps(path, 4), "w");
        fprintf(stream,
                "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
                "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n"
                "<zone id=\"z\" routing=\"%s\">\n",
                cases[i].routing);
        for (int k = 0; k < 4; k++)
            fprintf(stream, "<host id=\"n%d\" speed=\"1Gf\"/>\n", k);
        fputs("<link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\"/>\n", stream);
        for (int from = 0, n = 0; strcmp(cases[i].routing, "Full") == 0 && from < 4; from++)
            for (int to = from + 1; to < 4; to++, n++)
                if (n != cases[i].left_out || n == 0)
                    fprintf(stream,
                            "<route src=\"n%d\" dst=\"n%d\"%s><link_ctn id=\"l\"/></route>\n", from,
                            to, n == cases[i].left_out ? " symmetrical=\"no\"" : "");
        fputs("</zone></platform>\n", stream);
        fclose(stream);
        char *const platform = dsgd_xprintf("platform: %s", path);
        dsgd_error error = {""};
        const dsgd_status status = open_lines(platform, "", &error);
        ck_assert_msg((status == DSGD_OK) == (cases[i].sentence == NULL), "%s", error.text);
        if (cases[i].sentence != NULL)
            ck_assert_has(error.text, cases[i].sentence);
        remove(path);
    }
}

/**
 * Tests the time to read a file with 16,384 hosts. SimGrid needs a third of a second to count its
 * hosts. If it counted them for each host, it would need minutes.
 */
TEST(a_large_xml_file_is_read_in_little_time)
{
    static const char xml[] =
        "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" "
        "radical=\"0-16383\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\"/></platform>\n";
    enum { MOST_CPU_S = 30 };
    char path[] = "/tmp/dsgd-test-XXXXXX.xml";
    FILE *const stream = fdopen(mkstemps(path, 4), "w");
    fputs(xml, stream);
    fclose(stream);
    char *const platform = dsgd_xprintf("platform: %s", path);
    dsgd_error error = {""};
    ck_assert_msg(open_lines(platform, "", &error) == DSGD_OK, "%s", error.text);
    struct rusage children;
    ck_assert_int_eq(getrusage(RUSAGE_CHILDREN, &children), 0);
    ck_assert_int_lt(children.ru_utime.tv_sec, MOST_CPU_S);
    remove(path);
}

/** Tests that a platform file can be `like` another file, but not like itself. */
TEST(platform_file_can_be_based_on_another)
{
    dsgd_config *config = NULL;
    dsgd_platform p;
    dsgd_error error = {""};
    char path[] = "/tmp/dsgd-test-XXXXXX.yaml";
    for (int circle = 0; circle < 2; circle++) {
        FILE *const stream = circle == 0 ? fdopen(mkstemps(path, 5), "w") : fopen(path, "w");
        fprintf(stream, "name: %s\nhost_bandwidth: 12GB/s\n", circle == 0 ? "dgx-a100" : path);
        fclose(stream);
        const dsgd_status status = dsgd_platform_open(path, &config, &p, &error);
        ck_assert_msg(status == (circle == 0 ? DSGD_OK : DSGD_EUSAGE), "%s", error.text);
        ck_assert(circle == 1 || p.host_bandwidth_bytes_per_s == 12e9);
        ck_assert(circle == 1 || p.island_bytes_per_s == 300e9);
    }
    ck_assert_has(error.text, "is the chain a circle?");
    remove(path);
}

/* --- regions ---------------------------------------------------------------------------------- */

/**
 * Returns a platform with two hosts in region a, eight hosts in region b, and eight hosts in region
 * c. The platform has no route between the regions a and c.
 */
static dsgd_platform regions(void)
{
    static dsgd_region of[] = {{.name = "a", .hosts = 2}, {.name = "b"}, {.name = "c"}};
    static dsgd_region_route routes[] = {
        {"a", "b", .round_trip_s = 0.1, .flow_bytes_per_s = 1e9, .bytes_per_s = 1.5e9},
        {"b", "a", .latency_s = 0.02, .flow_bytes_per_s = 2e9},
        {"c", "b", .bytes_per_s = 3e9}};
    dsgd_platform p = shape(DSGD_TOPOLOGY_GROUPS);
    p.regions = (dsgd_structs){3, of};
    p.routes = (dsgd_structs){3, routes};
    p.route_bandwidth = p.route_latency = 1;
    ck_assert_int_eq(dsgd_platform_derive(&p, NULL), DSGD_OK);
    return p;
}

/** The loop variable _i selects the network model: flows or SimGrid. */
TEST_RANGE(regions_take_their_latency_and_bandwidth, 0, 2)
{
    network = _i;
    dsgd_platform p = regions();
    expect_path(&p, 0, 1, us, 10 * gb);
    expect_path(&p, 1, 2, us + 0.05, gb); /* the third host is the first host of region b */
    expect_path(&p, 2, 1, us + 0.02, 2 * gb);
    /* between regions without a route, the values of groups apply */
    expect_path(&p, 0, 10, 3 * us, 6 * gb);
    expect_path(&p, 10, 2, us, 3 * gb);
    expect_path(&p, 2, 10, us, 3 * gb); /* a route between regions applies in both directions */
    static const int both[] = {2, 3, -1, -1}; /* two messages share 1.5 GB/s */
    ck_assert_double_eq_tol(volley_s(&p, 4, both, gb), us + 0.05 + 1 / 0.75, 1e-6);
    p.n_there = 0; /* only the closed form needs the places of hosts */
    static const int shift[] = {8, 9, -1, -1, -1, -1, -1, -1, -1, -1};
    ck_assert_double_eq_tol(dsgd_closed_form_s(&p, 10, shift, gb), us + 0.05 + 1 / 0.75, 1e-9);
    ck_assert_double_eq_tol(volley_s(&p, 10, shift, gb), us + 0.05 + 1 / 0.75, 1e-6);
    p.route_bandwidth = 2;
    p.route_latency = 0.5;
    ck_assert_double_eq_tol(volley_s(&p, 10, shift, gb), us + 0.025 + 1 / 1.5, 1e-6);
}

/**
 * Tests a random placement on two regions that have one host each. A message between the workers
 * must always use the route between the regions.
 */
TEST(a_random_order_takes_hosts_that_are_there)
{
    static const char *word[] = {"random"};
    dsgd_platform p = regions();
    dsgd_region one_each[] = {{.name = "a", .hosts = 1}, {.name = "b", .hosts = 1}};
    p.regions = (dsgd_structs){2, one_each};
    p.routes.n = 2;
    ck_assert_int_eq(dsgd_platform_derive(&p, NULL), DSGD_OK);
    const int to[] = {1, -1};
    int n_ab = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        const dsgd_machine machine = {
            .platform = &p, .n_hosts = 2, .placement = {1, word}, .seed = seed};
        double s = 0;
        ck_assert_int_eq(dsgd_machine_time(&machine, to, 1, &s, NULL), DSGD_OK);
        const bool ab = fabs(s - us - 0.05) < 1e-6;
        ck_assert_msg(ab || fabs(s - us - 0.02) < 1e-6, "seed %d: %g s", (int)seed, s);
        n_ab += ab;
    }
    ck_assert(n_ab > 0 && n_ab < 8);
}

static const struct {
    const char *name;
    int regions, routes;
    const char *from, *to;
    double latency_s, flow_bytes_per_s; /* one-way latency and bandwidth between the two regions */
} areas[] = {
    {"wan-aws", 10, 45, "Tokyo", "Oregon", 0.048, 0.523e9 / 8},
    {"wan-gcp", 12, 66, "Germany", "Belgium", 0.004, 0.2425 * 0x1p30},
    {"wan-halos", 4, 6, "fourth", "second", 0, 0.117e9 / 8},
};

static double limited_s(const dsgd_platform *p, const char *algorithm, bool blocking);

TEST_ROWS(wide_areas_have_all_pairs_and_more_bandwidth_is_never_slower, areas)
{
    static const char *const algorithms[] = {"allreduce", "d_psgd"};
    dsgd_config *config = NULL;
    dsgd_platform p;
    dsgd_error error = {""};
    ck_assert_msg(dsgd_platform_open(areas[_i].name, &config, &p, &error) == DSGD_OK, "%s",
                  error.text);
    const dsgd_region *const of = p.regions.v;
    const int n = areas[_i].regions;
    ck_assert_uint_eq(p.regions.n, n);
    ck_assert_uint_eq(p.routes.n, areas[_i].routes);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            const dsgd_between way = dsgd_platform_between(&p, a, b);
            ck_assert(a == b || (way.latency_s < 0.14 && way.flow_bytes_per_s < 1e9));
            if (strcmp(of[a].name, areas[_i].from) == 0 && strcmp(of[b].name, areas[_i].to) == 0) {
                ck_assert_double_eq_tol(way.latency_s, areas[_i].latency_s, 1e-9);
                ck_assert_double_eq_tol(way.flow_bytes_per_s, areas[_i].flow_bytes_per_s, 1);
            }
        }
    p.group_hosts = 8;
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        double before_s = 1e9, first_s = 0;
        for (int k = 1; k <= 16; k *= 4) {
            p.route_bandwidth = k;
            const double s = limited_s(&p, algorithms[i], true);
            ck_assert_msg(s <= before_s, "%s, %d: %g s after %g", algorithms[i], k, s, before_s);
            before_s = s;
            first_s = k == 1 ? s : first_s;
        }
        ck_assert_double_lt(before_s, first_s);
    }
}

/* --- shipped platforms ------------------------------------------------------------------------ */

/**
 * Time of a small message and bandwidth of a large one on shipped platforms: within a node, and to
 * the farthest of 512 GPUs.
 */
static const struct {
    const char *name;
    double near_s, near_bytes_per_s, far_s, far_bytes_per_s;
} shipped[] = {
    {"aws-p5", 0.936e-6, 400e9, 30e-6, 50e9},      {"dgx-a100", 2e-6, 300e9, 7e-6, 25e9},
    {"gcp-a3-mega", 0.936e-6, 400e9, 50e-6, 25e9}, {"mi300x", 2e-6, 336e9, 35e-6, 50e9},
    {"alps-slingshot", 2e-6, 150e9, 3.7e-6, 25e9}, {"cloud", 23e-6, 2.6e9, 23e-6, 2.6e9},
    {"dgx-h100", 0.936e-6, 400e9, 1.5e-6, 50e9},   {"dgx1-v100-100g", 2e-6, 150e9, 1.3e-6, 12e9},
    {"dgx1-v100-10g", 2e-6, 150e9, 27e-6, 1.25e9}, {"dgx1-v100-400g", 2e-6, 150e9, 1.3e-6, 12e9},
    {"pascal-25g", 2e-6, 12e9, 7e-6, 3e9},         {"ethernet-10g", 27e-6, 1.25e9, 27e-6, 1.25e9},
    {"idle-switch", 1e-6, 10e9, 1e-6, 10e9},       {"piz-daint", 1.07e-6, 9.4e9, 2.6e-6, 6.3e9},
    {"s822lc-edr", 2e-6, 40e9, 1.6e-6, 11.2e9},    {"azure-ndv4", 2e-6, 300e9, 7e-6, 25e9},
    {"azure-ndv2", 2e-6, 150e9, 5e-6, 12.5e9},     {"pcie-2080ti", 5e-6, 3e9, 27e-6, 1.25e9},
};

enum { FAR = 511 };

static double shipped_message_s(const dsgd_platform *p, int to_whom, double bytes)
{
    int to[FAR + 1];
    for (int i = 0; i <= FAR; i++)
        to[i] = i == 0 ? to_whom : -1;
    return volley_s(p, FAR + 1, to, bytes);
}

TEST_ROWS(shipped_platform_has_its_cited_bandwidth_and_latency, shipped)
{
    dsgd_config *config = NULL;
    dsgd_platform p;
    dsgd_error error = {""};
    ck_assert_msg(dsgd_platform_open(shipped[_i].name, &config, &p, &error) == DSGD_OK, "%s",
                  error.text);
    const double near_s = shipped_message_s(&p, 1, 1);
    const double far_s = shipped_message_s(&p, FAR, 1);
    ck_assert_double_eq_tol(near_s, shipped[_i].near_s, 2e-9);
    ck_assert_double_eq_tol(far_s, shipped[_i].far_s, 2e-9);
    ck_assert_double_eq_tol(gb / (shipped_message_s(&p, 1, gb) - near_s) / gb,
                            shipped[_i].near_bytes_per_s / gb, 1e-3);
    ck_assert_double_eq_tol(gb / (shipped_message_s(&p, FAR, gb) - far_s) / gb,
                            shipped[_i].far_bytes_per_s / gb, 1e-3);
}

/** Checks that each number of a shipped platform has a comment, on its line or above it. */
TEST_ROWS(every_shipped_number_has_a_comment, shipped)
{
    char *const path =
        dsgd_xprintf("%s/traces/platforms/%s.yaml", DSGD_SOURCE_DIR, shipped[_i].name);
    FILE *const stream = fopen(path, "r");
    ck_assert_ptr_nonnull(stream);
    char line[512];
    bool remarked = false;
    bool origin = false;
    int powers = 0;
    while (fgets(line, sizeof line, stream) != NULL) {
        const char *const value = strchr(line, ':');
        const bool figure = line[0] != '#' && line[0] != ' ' && value != NULL &&
                            value[1 + strspn(value + 1, " ")] >= '0' &&
                            value[1 + strspn(value + 1, " ")] <= '9';
        if (figure && strcmp(shipped[_i].name, "idle-switch") != 0)
            ck_assert_msg(remarked || strchr(line, '#') != NULL, "%s: %s", path, line);
        remarked = line[0] == '#';
        origin = origin || strncmp(line, "origin:", 7) == 0;
        powers += strncmp(line, "busy_power:", 11) == 0 || strncmp(line, "idle_power:", 11) == 0;
    }
    ck_assert(origin);
    ck_assert_int_eq(powers, 2); /* the file has lines for both powers */
    fclose(stream);
}

/* --- limits of groups ------------------------------------------------------------------------- */

/**
 * Writes the platform of shape() as a SimGrid file. For each limit that all flows share, the file
 * has a link outside the crossbars.
 */
static void write_all_limits(const dsgd_platform *p, int n_hosts, const char *path)
{
    FILE *const xml = fopen(path, "w");
    ck_assert_ptr_nonnull(xml);
    fputs("<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\"><zone id=\"all\" routing=\"Full\">\n",
          xml);
    const int n_groups = n_hosts / (int)p->group_hosts;
    for (int g = 0; g < n_groups; g++) {
        fprintf(xml, "<zone id=\"g%d\" routing=\"Cluster\">\n", g);
        for (int i = 0; i <= p->group_hosts; i++) {
            /* The last host of a zone stands for the uplink of the group. */
            char name[16];
            const bool out = i == p->group_hosts;
            snprintf(name, sizeof name, out ? "out%d" : "n%d",
                     out ? g : g * (int)p->group_hosts + i);
            fprintf(xml,
                    "<host id=\"%s\" speed=\"1Gf\"/><link id=\"l%s\" bandwidth=\"%.17gBps\" "
                    "latency=\"%.17gs\" sharing_policy=\"SPLITDUPLEX\"/>"
                    "<host_link id=\"%s\" up=\"l%s_UP\" down=\"l%s_DOWN\"/>\n",
                    name, name, out ? p->group_bytes_per_s : p->host_bandwidth_bytes_per_s,
                    out ? 0 : p->host_latency_s / 2, name, name, name);
        }
        fputs("</zone>\n", xml);
    }
    fprintf(xml,
            "<link id=\"flow\" bandwidth=\"%.17gBps\" latency=\"%.17gs\" "
            "sharing_policy=\"FATPIPE\"/>\n",
            p->group_flow_bytes_per_s, p->group_latency_s);
    for (int a = 0; a < n_groups; a++)
        for (int b = a + 1; b < n_groups; b++)
            fprintf(xml,
                    "<zoneRoute src=\"g%d\" dst=\"g%d\" gw_src=\"out%d\" gw_dst=\"out%d\">"
                    "<link_ctn id=\"flow\"/></zoneRoute>\n",
                    a, b, a, b);
    fputs("</zone></platform>\n", xml);
    fclose(xml);
}

enum { LIMITED = 32 };

/** Returns the time in s of six steps, in which workers are delayed in turn and exchange 40 MB. */
static double limited_s(const dsgd_platform *p, const char *algorithm, bool blocking)
{
    support_case *c = support_no_learning(support_new(algorithm, LIMITED));
    support_spread(c);
    c->platform = *p;
    c->workload.bytes = 40e6;
    c->workload.step_s = 1e-2;
    c->config.exchange.pieces = 3;
    c->config.exchange.blocking = blocking;
    c->config.until.steps = 6;
    return support_ok(c)->result.virtual_s;
}

/**
 * Bandwidths of the uplink of eight NICs with 10 GB/s each. An uplink of 20 GB/s is always a
 * bottleneck, and an uplink of 80 GB/s is never a bottleneck. An uplink of 48 GB/s is a bottleneck
 * unless a message is limited to 6 GB/s.
 */
static const double ways_out[] = {20e9, 48e9, 80e9};

TEST_ROWS(group_uplinks_take_the_time_of_simgrid_links, ways_out)
{
    static const char *const algorithms[] = {"allreduce", "wagma", "eager_solo", "local_sgd",
                                             "d_psgd",    "osgp",  "a_psgd"};
    dsgd_platform p = shape(DSGD_TOPOLOGY_GROUPS);
    p.group_bytes_per_s = ways_out[_i];
    dsgd_platform all = p;
    char path[] = "/tmp/dsgd-test-XXXXXX.xml";
    close(mkstemps(path, 4));
    write_all_limits(&p, LIMITED + 8, path); /* eight more hosts are a group for the server */
    all.topology = DSGD_TOPOLOGY_XML;
    all.file = path;
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i += SUPPORT_SLOW ? 3 : 1)
        for (int blocking = 0; blocking < 2; blocking++) {
            const double s = limited_s(&p, algorithms[i], blocking);
            const double all_s = limited_s(&all, algorithms[i], blocking);
            /* Messages of four bytes that start an average use links only in the XML file. */
            const bool activates =
                strcmp(algorithms[i], "wagma") == 0 || strcmp(algorithms[i], "eager_solo") == 0;
            ck_assert_msg(fabs(s / all_s - 1) < (activates ? 1e-6 : 1e-9), "%s: %.12g s, not %.12g",
                          algorithms[i], s, all_s);
        }
    remove(path);
}

/* --- link time -------------------------------------------------------------------------------- */

/** Simulates 4 steps of 1 ms whose exchanges of 256 MB fill the links, and returns the result. */
static dsgd_run_result busy(const dsgd_platform *p, const char *algorithm, int workers)
{
    support_case *c = support_no_learning(support_new(algorithm, workers));
    c->platform = *p;
    c->workload.bytes = 256e6;
    c->workload.step_s = 1e-3;
    c->config.exchange.pieces = 3;
    c->config.until.steps = 4;
    return support_ok(c)->result;
}

static void expect_bound(const dsgd_platform *p, int workers)
{
    static const char *const everywhere[] = {"allreduce", "d_psgd", "osgp", "ad_psgd", "a_psgd"};
    for (size_t i = 0; i < sizeof everywhere / sizeof everywhere[0]; i++) {
        const dsgd_run_result r = busy(p, everywhere[i], workers - (int)(i % 2));
        /* A run of AD-PSGD may end before a message uses a link. */
        if (strcmp(everywhere[i], "ad_psgd") != 0)
            ck_assert_double_gt(r.link_s, 0);
        ck_assert_msg(r.link_s <= r.virtual_s, "%s: %g > %g", everywhere[i], r.link_s, r.virtual_s);
    }
    const dsgd_run_result r = busy(p, "wagma", workers);
    ck_assert_double_gt(r.link_s, 0);
    ck_assert_double_le(r.link_s, r.virtual_s);
}

TEST_ROWS(link_time_is_at_most_the_run_time_on_shipped_platforms, shipped)
{
    dsgd_config *config = NULL;
    dsgd_platform p;
    dsgd_error error = {""};
    ck_assert_msg(dsgd_platform_open(shipped[_i].name, &config, &p, &error) == DSGD_OK, "%s",
                  error.text);
    expect_bound(&p, 8);
    expect_bound(&p, 16);
}

TEST_RANGE(link_time_is_at_most_the_run_time_on_any_shape, 0, SHAPES)
{
    dsgd_platform p = nth_shape(_i);
    expect_bound(&p, 8);
    p.hosts = (dsgd_structs){3, entries};
    expect_bound(&p, 8);
}

/**
 * Tests the time in which links carry bytes. In a ring of P workers, each worker sends 2 (P - 1) /
 * P vectors. The receiver is in the same node. If a node has four workers, one of them sends to the
 * next node.
 */
TEST_RANGE(link_time_counts_the_links_that_carry_the_bytes, 0, 3)
{
    const dsgd_platform even = nth_shape(_i == 0 ? 0 : 2);
    const int workers = _i == 1 ? 4 : 8;
    support_case *c = support_no_learning(support_new("allreduce", workers));
    c->platform = even;
    c->platform.island_nics = 1;
    c->workload.bytes = 256e6;
    c->config.exchange.collective = DSGD_COLLECTIVE_RING;
    /* Number of bytes that a worker sends in a step. */
    const double each = 2.0 * (workers - 1) / workers * 256e6;
    /* In a node with four workers, one of them sends to the next node. */
    const double bytes_per_s = _i == 1 ? 100 * gb : 10 * gb;
    ck_assert_double_eq_tol(support_ok(c)->result.link_s, 20 * each / bytes_per_s, 1e-9);
}
