/**
 * @file test_nccl.c
 * Tests the times of NCCL's collectives. The tests compare NCCL's formulas with values computed by
 * hand and with public logs of nccl-tests, and the formulas with simulations of one or several
 * collectives.
 */
#include "tests/support/suite.h"
#include "tests/support/support.h"
#include "traces/nccl.h"

/*
 * GPU types with values from data sheets and from NCCL's src/graph/topo.h. No value is fitted,
 * unless a comment on a log below states it.
 */
static const dsgd_nccl a100 = {DSGD_GPU_AMPERE, 240e9, true, true, 0, 0, 1, 1, 1, 1, {0, NULL}};
static const dsgd_nccl h100 = {DSGD_GPU_HOPPER, 370.8e9, true, false, 0, 0, 1, 1, 1, 1, {0, NULL}};
static const dsgd_nccl gh200 = {DSGD_GPU_HOPPER, 370.8e9, false, false, 0, 0, 1, 1, 1, 1,
                                {0, NULL}};
static const dsgd_nccl p5 = {DSGD_GPU_HOPPER, 370.8e9, true, true, 75e-6, 30e-6, 1, 1, 1, 1,
                             {0, NULL}};
static const dsgd_nccl mi300x = {DSGD_GPU_HOPPER, 336e9, false, true, 0, 0, 1, 1, 1, 1, {0, NULL}};
static const dsgd_nccl v100 = {DSGD_GPU_VOLTA, 120e9, false, false, 0, 0, 1, 1, 1, 1, {0, NULL}};

static void expect_cost(dsgd_nccl_cost cost, const char *algorithm, const char *protocol,
                        double latency_us, double rate)
{
    ck_assert_str_eq(cost.algorithm, algorithm);
    ck_assert_str_eq(cost.protocol, protocol);
    ck_assert_double_eq_tol(cost.latency_s * 1e6, latency_us, 1e-9);
    ck_assert_double_eq_tol(cost.bytes_per_s / 1e9, rate, 1e-9);
}

SUITE(nccl, "nccl", .seconds = 120);

/**
 * Two nodes of eight A100 with eight NICs have eight channels of 24 GB/s. Their ring has 30 hops,
 * and two of these hops are between nodes. With an AMD processor, the protocol Simple needs three
 * operations of 2 us per hop. For large messages on several nodes, NCCL's formula multiplies the
 * ring's latency by 1.4.
 */
TEST(a_ring_of_two_nodes_by_hand)
{
    const dsgd_nccl_shape two = {2, 8, 8, 25e9, 0};
    const double ring_us = 1.4 * (8.4 + 28 * 6 + 2 * 14), rate = 8 * 24.0 * 16 / 30;
    expect_cost(dsgd_nccl_cost_of(&a100, &two, DSGD_NCCL_ALLREDUCE, 0x1p33), "Ring", "Simple",
                ring_us, rate);
    expect_cost(dsgd_nccl_cost_of(&a100, &two, DSGD_NCCL_SHARES, 0x1p33), "Ring", "Simple",
                8.4 + 14 * 6 + 14, 192.0 * 16 / 15);
    /*
     * A byte goes up and down a tree: seven hops with protocol LL within each node, and one hop
     * between nodes.
     */
    const dsgd_nccl_cost one = dsgd_nccl_cost_of(&a100, &two, DSGD_NCCL_ALLREDUCE, 1);
    ck_assert_str_eq(one.algorithm, "Tree");
    ck_assert_double_eq_tol(one.latency_s * 1e6, 6.8 + 2 * (7 * 0.6 + 5), 1e-9);
    ck_assert_double_eq_tol(dsgd_nccl_cost_of(&a100, &two, DSGD_NCCL_ALLREDUCE, 0x1p33).nic_share,
                            2.0 * 15 / 16 / 8, 1e-12);
}

/**
 * With one GPU per node, no time within a node hides the network. A hop of a ring then takes as
 * long as a hop of a tree.
 */
TEST_RANGE(rings_of_single_gpus_by_hand, 2, 5)
{
    const dsgd_nccl_shape shape = {_i, 1, 1, 25e9, 3e-6};
    const dsgd_nccl_cost cost = dsgd_nccl_cost_of(&a100, &shape, DSGD_NCCL_SHARES, 1);
    ck_assert_str_eq(cost.protocol, "LL");
    ck_assert_double_eq_tol(cost.latency_s * 1e6, 6.6 + (_i - 1) * (5 + 3), 1e-9);
}

/**
 * Sums in the NVLink switch (NVLS) have the rate 0.85 * 7/8 of the links of eight heads, which
 * counts twice. With the protocol Simple, an added latency also counts twice.
 */
TEST(sums_in_the_switch_by_hand)
{
    const dsgd_nccl_shape one = {1, 8, 8, 50e9, 0}, two = {2, 8, 8, 50e9, 1e-6};
    expect_cost(dsgd_nccl_cost_of(&h100, &one, DSGD_NCCL_ALLREDUCE, 0x1p33), "NVLS", "Simple", 25,
                370.8 * 0.85 * 7 / 8 * 2 * 8 / 14);
    expect_cost(dsgd_nccl_cost_of(&h100, &two, DSGD_NCCL_ALLREDUCE, 0x1p33), "NVLSTree", "Simple",
                25 + 2 * (20.9 + 2), 8 * 57.7 * 16 / 30);
    const dsgd_nccl_cost mesh = dsgd_nccl_cost_of(&gh200, &one, DSGD_NCCL_ALLREDUCE, 0x1p33);
    ck_assert_str_eq(mesh.algorithm, "Ring");
}

/**
 * Times in microseconds from logs of nccl-tests and rccl-tests. Each time is the mean of the in-
 * place and the out-of-place time. The machines are DGX A100 (two nodes, and four nodes of NVIDIA's
 * DeepLearningExamples), Sophia of ALCF, and Azure's NDv2 and NDv4. Further machines are GH200 of
 * CSCS's Alps, an MI300X node, and AWS's p5.
 */
static const struct {
    const dsgd_nccl *nccl;
    dsgd_nccl_shape shape;
    const char *log;
    dsgd_nccl_call call;
    double mib, us, within;
} logs[] = {
    {&v100, {2, 8, 1, 12e9, 0}, "ndv2_v100_n2", DSGD_NCCL_ALLREDUCE, 32, 4389.2, 0.04},
    {&v100, {2, 8, 1, 12e9, 0}, "ndv2_v100_n2", DSGD_NCCL_ALLREDUCE, 256, 31479, 0.08},
    {&v100, {2, 8, 1, 12e9, 0}, "ndv2_v100_n2", DSGD_NCCL_ALLREDUCE, 8192, 987129, 0.08},
    {&a100, {2, 8, 8, 25e9, 0}, "dgxa100_n2", DSGD_NCCL_ALLREDUCE, 8, 208.3, 0.22},
    {&a100, {2, 8, 8, 25e9, 0}, "dgxa100_n2", DSGD_NCCL_ALLREDUCE, 64, 910.4, 0.06},
    {&a100, {2, 8, 8, 25e9, 0}, "dgxa100_n2", DSGD_NCCL_ALLREDUCE, 512, 5610.9, 0.02},
    {&a100, {4, 8, 8, 25e9, 0}, "dgxa100_n4", DSGD_NCCL_ALLREDUCE, 16, 381.3, 0.12},
    {&a100, {4, 8, 8, 25e9, 0}, "dgxa100_n4", DSGD_NCCL_ALLREDUCE, 256, 3106.5, 0.08},
    {&a100, {4, 8, 8, 25e9, 0}, "dgxa100_n4", DSGD_NCCL_ALLREDUCE, 4096, 43498.5, 0.02},
    {&a100, {2, 8, 8, 25e9, 0}, "sophia_n2", DSGD_NCCL_ALLREDUCE, 16, 295.7, 0.08},
    {&a100, {2, 8, 8, 25e9, 0}, "sophia_n2", DSGD_NCCL_ALLREDUCE, 128, 1427.2, 0.14},
    {&a100, {2, 8, 8, 25e9, 0}, "sophia_n2", DSGD_NCCL_ALLREDUCE, 1024, 11287.5, 0.06},
    {&a100, {2, 8, 8, 25e9, 0}, "ndv4_a100_n2", DSGD_NCCL_ALLREDUCE, 64, 911.4, 0.06},
    {&a100, {2, 8, 8, 25e9, 0}, "ndv4_a100_n2", DSGD_NCCL_ALLREDUCE, 512, 5635.5, 0.04},
    {&a100, {2, 8, 8, 25e9, 0}, "ndv4_a100_n2", DSGD_NCCL_ALLREDUCE, 8192, 85390.0, 0.02},
    {&a100, {2, 8, 8, 25e9, 0}, "sophia_n2_allgather", DSGD_NCCL_SHARES, 16, 163.3, 0.14},
    {&a100, {2, 8, 8, 25e9, 0}, "sophia_n2_allgather", DSGD_NCCL_SHARES, 128, 771.5, 0.02},
    {&a100, {2, 8, 8, 25e9, 0}, "sophia_n2_allgather", DSGD_NCCL_SHARES, 1024, 5708.4, 0.08},
    {&gh200, {1, 4, 4, 25e9, 0}, "alps_gh200_n1", DSGD_NCCL_ALLREDUCE, 8, 62.1, 0.04},
    {&gh200, {1, 4, 4, 25e9, 0}, "alps_gh200_n1", DSGD_NCCL_ALLREDUCE, 64, 334.1, 0.10},
    {&gh200, {1, 4, 4, 25e9, 0}, "alps_gh200_n1", DSGD_NCCL_ALLREDUCE, 512, 2411.4, 0.08},
    {&gh200, {1, 4, 4, 25e9, 0}, "alps_gh200_n1", DSGD_NCCL_ALLREDUCE, 4096, 19006.5, 0.08},
    {&mi300x, {1, 8, 8, 50e9, 0}, "mi300x_n1", DSGD_NCCL_ALLREDUCE, 8, 86.3, 0.04},
    {&mi300x, {1, 8, 8, 50e9, 0}, "mi300x_n1", DSGD_NCCL_ALLREDUCE, 64, 437.8, 0.08},
    {&mi300x, {1, 8, 8, 50e9, 0}, "mi300x_n1", DSGD_NCCL_ALLREDUCE, 1024, 5993.5, 0.08},
    {&mi300x, {1, 8, 8, 50e9, 0}, "mi300x_n1", DSGD_NCCL_ALLREDUCE, 8192, 47600.5, 0.08},
    {&p5, {2, 8, 8, 50e9, 0}, "p5_n2", DSGD_NCCL_ALLREDUCE, 16, 298.2, 0.22},
    {&p5, {2, 8, 8, 50e9, 0}, "p5_n2", DSGD_NCCL_ALLREDUCE, 128, 873.5, 0.06},
    {&p5, {2, 8, 8, 50e9, 0}, "p5_n2", DSGD_NCCL_ALLREDUCE, 1024, 4586.6, 0.04},
    {&p5, {2, 8, 8, 50e9, 0}, "p5_n2", DSGD_NCCL_ALLREDUCE, 16384, 66120.5, 0.08},
    {&p5, {2, 8, 8, 50e9, 0}, "p5_n2_2223", DSGD_NCCL_ALLREDUCE, 64, 601.1, 0.08},
    {&p5, {2, 8, 8, 50e9, 0}, "p5_n2_2223", DSGD_NCCL_ALLREDUCE, 4096, 17257.5, 0.04},
};

TEST_ROWS(logs_say_the_same_with_nothing_fitted, logs)
{
    const double bytes = logs[_i].mib * 0x1p20;
    const dsgd_nccl_cost cost =
        dsgd_nccl_cost_of(logs[_i].nccl, &logs[_i].shape, logs[_i].call, bytes);
    const double us = 1e6 * dsgd_nccl_s(&cost, bytes);
    ck_assert_msg(fabs(us / logs[_i].us - 1) < logs[_i].within, "%s, %g MiB: %.1f us, logged %.1f",
                  logs[_i].log, logs[_i].mib, us, logs[_i].us);
}

/**
 * The network plug-in of p5 declares a latency. A message of the protocol LL does not use this
 * latency, but has its own latency. A message of the protocol Simple has the declared latency
 * twice.
 */
TEST(low_latency_protocols_have_their_own_latency)
{
    const dsgd_nccl_shape two = {2, 8, 8, 50e9, 0};
    const dsgd_nccl_cost least = dsgd_nccl_cost_of(&p5, &two, DSGD_NCCL_ALLREDUCE, 8);
    ck_assert_str_eq(least.protocol, "LL");
    ck_assert_double_eq_tol(least.latency_s * 1e6, 6.8 + 2 * (7 * 0.6 + 5 + 30), 1e-9);
    const dsgd_nccl_cost most = dsgd_nccl_cost_of(&p5, &two, DSGD_NCCL_ALLREDUCE, 0x1p33);
    ck_assert_double_eq_tol(most.latency_s * 1e6, 25 + 2 * (20.9 + 2 * 75), 1e-9);
}

/**
 * NCCL's search does not try rates below half of a rate that it has found. It therefore takes one
 * channel of 24 GB/s, not five channels of 5 GB/s.
 */
TEST(the_search_takes_high_rates_and_counts_slow_nics)
{
    const dsgd_nccl_shape hdr = {4, 4, 1, 25e9, 0};
    ck_assert_double_eq_tol(dsgd_nccl_cost_of(&a100, &hdr, DSGD_NCCL_SHARES, 0x1p33).bytes_per_s /
                                1e9,
                            24.0 * 16 / 15, 1e-9);
    const dsgd_nccl_shape slow = {4, 4, 1, 0.1e9, 0}, slow_rails = {4, 4, 4, 0.1e9, 0};
    ck_assert_double_eq_tol(
        dsgd_nccl_cost_of(&a100, &slow_rails, DSGD_NCCL_SHARES, 0x1p33).bytes_per_s,
        4 * dsgd_nccl_cost_of(&a100, &slow, DSGD_NCCL_SHARES, 0x1p33).bytes_per_s, 1);
}

TEST(nics_may_be_of_any_width)
{
    const dsgd_nccl_shape wide = {2, 8, 8, 40e9, 0}, endless = {2, 8, 8, 25e18, 0};
    const dsgd_nccl_cost of_wide = dsgd_nccl_cost_of(&a100, &wide, DSGD_NCCL_ALLREDUCE, 0x1p33);
    const dsgd_nccl_cost is = dsgd_nccl_cost_of(&a100, &endless, DSGD_NCCL_ALLREDUCE, 0x1p33);
    ck_assert_double_ge(is.bytes_per_s, of_wide.bytes_per_s);
    ck_assert_str_eq(is.algorithm, of_wide.algorithm);
}

TEST(no_factor_makes_nics_faster)
{
    dsgd_nccl fast = h100;
    fast.bandwidth = 10;
    for (int nodes = 2; nodes <= 16; nodes *= 2)
        for (double bytes = 8; bytes <= 0x1p34; bytes *= 4) {
            const dsgd_nccl_shape shape = {nodes, 8, 8, 50e9, 0};
            const dsgd_nccl_cost cost =
                dsgd_nccl_cost_of(&fast, &shape, DSGD_NCCL_ALLREDUCE, bytes);
            ck_assert_double_le(cost.nic_share * cost.bytes_per_s, 50e9 * (1 + 1e-12));
        }
}

TEST(factors_are_of_rates_and_latencies_between_nodes_or_within)
{
    dsgd_nccl measured = h100;
    measured.bandwidth = 0.5;
    measured.latency = 3;
    measured.node_bandwidth = 0.8;
    measured.node_latency = 2;
    for (int nodes = 1; nodes <= 2; nodes++) {
        const dsgd_nccl_shape shape = {nodes, 8, 8, 50e9, 0};
        const dsgd_nccl_cost was = dsgd_nccl_cost_of(&h100, &shape, DSGD_NCCL_ALLREDUCE, 0x1p34);
        const dsgd_nccl_cost is = dsgd_nccl_cost_of(&measured, &shape, DSGD_NCCL_ALLREDUCE, 0x1p34);
        const double rate = nodes == 1 ? 0.8 : 0.5, latency = nodes == 1 ? 2 : 3;
        expect_cost(is, was.algorithm, was.protocol, latency * was.latency_s * 1e6,
                    rate * was.bytes_per_s / 1e9);
    }
}

TEST(a_log_sets_times_only_for_its_own_shape)
{
    static double sizes[] = {8, 1e6, 1e9}, us[] = {100, 200, 20000};
    dsgd_nccl_table table = {DSGD_NCCL_ALLREDUCE, 2, 8, {3, sizes}, {3, us}};
    dsgd_nccl logged = h100;
    logged.tables = (dsgd_structs){1, &table};
    const dsgd_nccl_shape two = {2, 8, 8, 50e9, 0}, four = {4, 8, 8, 50e9, 0};
    const double at[] = {1, 8, 1e6, sqrt(1e6 * 1e9), 1e9, 4e9};
    const double expected[] = {100, 100, 200, 2000, 20000, 80000};
    for (int i = 0; i < 6; i++) {
        const dsgd_nccl_cost cost = dsgd_nccl_cost_of(&logged, &two, DSGD_NCCL_ALLREDUCE, at[i]);
        ck_assert_str_eq(cost.algorithm, "log");
        ck_assert_double_eq_tol(1e6 * dsgd_nccl_s(&cost, at[i]), expected[i], 1e-6 * expected[i]);
    }
    const dsgd_nccl_cost other = dsgd_nccl_cost_of(&logged, &four, DSGD_NCCL_ALLREDUCE, 1e6);
    ck_assert_str_ne(other.algorithm, "log");
    const dsgd_nccl_cost shares = dsgd_nccl_cost_of(&logged, &two, DSGD_NCCL_SHARES, 1e6);
    ck_assert_str_ne(shares.algorithm, "log");
    dsgd_error error;
    ck_assert_int_eq(dsgd_nccl_check(&logged, &error), DSGD_OK);
    sizes[1] = 4;
    ck_assert_int_eq(dsgd_nccl_check(&logged, &error), DSGD_EUSAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "4 follows 8"));
}

/* --- simulated collectives -------------------------------------------------------------------- */

enum { STEPS = 4 };
static const double vector_bytes = 64e6;

/** Makes nodes of eight H100 on a switch, with one NIC per GPU and steps of 1 s. */
static support_case *nodes_of_eight(int workers)
{
    support_case *const c = support_no_learning(support_new("allreduce", workers));
    SET(c, workload.bytes = vector_bytes, platform.library = DSGD_LIBRARY_NCCL,
        platform.nccl = h100, platform.island_hosts = c->platform.island_nics = 8,
        platform.island_bytes_per_s = 370.8e9, platform.host_bandwidth_bytes_per_s = 50e9,
        config.exchange.pieces = 1, config.until.steps = STEPS);
    return c;
}

static const dsgd_run_result *result;

static double seconds_of(support_case *c)
{
    result = &support_ok(c)->result;
    return result->virtual_s / STEPS - 1;
}

static void expect_shape(support_case *c, dsgd_nccl_shape shape)
{
    const dsgd_nccl_cost cost = dsgd_nccl_cost_of(&h100, &shape, DSGD_NCCL_ALLREDUCE, vector_bytes);
    const double expected_s = dsgd_nccl_s(&cost, vector_bytes), got_s = seconds_of(c);
    ck_assert_msg(fabs(got_s / expected_s - 1) < 1e-6, "%.9g s, by the formula %.9g s", got_s,
                  expected_s);
}

static const int sizes_of_groups[] = {8, 16, 24, 80};

/** Tests the computed network if _i is below 4, and the streams in SimGrid otherwise. */
TEST_RANGE(allreduce_time_equals_the_formula, 0, 4 * 2)
{
    const int workers = sizes_of_groups[_i % 4];
    support_case *const c = nodes_of_eight(workers);
    c->config.network = _i / 4;
    expect_shape(c, (dsgd_nccl_shape){workers / 8, 8, 8, 50e9, 0});
    ck_assert_uint_eq(result->messages, (uint64_t)(STEPS * workers));
    ck_assert_double_eq_tol(result->bytes, STEPS * 2.0 * (workers - 1) * vector_bytes, 1);
    ck_assert_int_eq(result->collective, DSGD_COLLECTIVE_NCCL);
    const unsigned expected = DSGD_TIMED_BY_ARITHMETIC;
    if (_i / 4 == 0 || workers == 8)
        ck_assert_uint_eq(result->timed_by, expected);
    else
        ck_assert_uint_ne(result->timed_by, expected);
}

/**
 * If a run has one GPU on each of four nodes, a node uses one NIC. If it has two GPUs, a node uses
 * two NICs.
 */
TEST_RANGE(some_gpus_of_each_node_use_only_their_own_nics, 1, 3)
{
    static const char *one[] = {"0", "8", "16", "24"};
    static const char *two[] = {"0", "1", "8", "9", "16", "17", "24", "25"};
    const int workers = 4 * _i;
    support_case *const c = nodes_of_eight(workers);
    c->config.placement = _i == 1 ? (dsgd_lines){4, one} : (dsgd_lines){8, two};
    expect_shape(c, (dsgd_nccl_shape){4, _i, _i, 50e9, 0});
}

/** If four GPUs share a NIC, a node has two NICs. One slow NIC slows all NICs. */
TEST(gpus_that_share_a_nic_send_one_stream_through_it)
{
    support_case *const c = nodes_of_eight(32);
    c->platform.island_nics = 2;
    expect_shape(c, (dsgd_nccl_shape){4, 8, 2, 50e9, 0});
    static dsgd_platform_entry slow[] = {
        {.first = 9, .count = 1, .speed = 1, .bandwidth = 0.5, .latency_s = 3e-6}};
    c->platform.hosts = (dsgd_structs){1, slow};
    expect_shape(c, (dsgd_nccl_shape){4, 8, 2, 25e9, 3e-6});
}

TEST_RANGE(a_limit_between_groups_is_none_within_one, 1, 3)
{
    support_case *const c = nodes_of_eight(16 * _i);
    SET(c, platform.topology = DSGD_TOPOLOGY_GROUPS, platform.group_hosts = 16,
        platform.group_flow_bytes_per_s = 20e9, platform.group_bytes_per_s = 1e15);
    expect_shape(c, (dsgd_nccl_shape){2 * _i, 8, 8, _i == 1 ? 50e9 : 20e9, 0});
}

TEST(all_begin_when_the_last_has_come)
{
    double seconds[2];
    for (int network = 0; network < 2; network++) {
        support_case *const c = nodes_of_eight(16);
        c->config.network = network;
        support_imbalance_number(c, "delay", "seconds", 0.3);
        seconds[network] = seconds_of(c);
        const dsgd_nccl_shape shape = {2, 8, 8, 50e9, 0};
        const dsgd_nccl_cost cost =
            dsgd_nccl_cost_of(&h100, &shape, DSGD_NCCL_ALLREDUCE, vector_bytes);
        ck_assert_double_eq_tol(seconds[network], 0.3 + dsgd_nccl_s(&cost, vector_bytes), 1e-6);
    }
    ck_assert_double_eq_tol(seconds[0], seconds[1], 1e-9);
}

/** The times of the computed network and of SimGrid must agree to a fraction of a byte. */
TEST(time_of_a_short_vector_equals_its_streams)
{
    double seconds[2];
    for (int network = 0; network < 2; network++) {
        support_case *const c = nodes_of_eight(16);
        c->config.network = network;
        c->workload.bytes = 4001;
        seconds[network] = seconds_of(c);
    }
    ck_assert_double_eq_tol(seconds[0], seconds[1], 2e-12);
}

/**
 * Two concurrent collectives get half of each NIC. In this test, the collectives are two chunks
 * that do not wait for each other. The loop variable _i selects the network.
 */
TEST_RANGE(two_concurrent_collectives_share_the_nics, 0, 2)
{
    const dsgd_nccl_shape shape = {2, 8, 8, 50e9, 0};
    const dsgd_nccl_cost cost =
        dsgd_nccl_cost_of(&h100, &shape, DSGD_NCCL_ALLREDUCE, vector_bytes / 2);
    support_case *const c = nodes_of_eight(16);
    c->config.network = _i;
    c->config.exchange.pieces = 2;
    c->config.exchange.overlap = false;
    const double one_after_another_s = seconds_of(c);
    ck_assert_double_eq_tol(one_after_another_s, 2 * dsgd_nccl_s(&cost, vector_bytes / 2), 1e-7);
    c->config.exchange.blocking = false;
    const double expected_s = cost.latency_s + vector_bytes / cost.bytes_per_s;
    ck_assert_double_eq_tol(seconds_of(c), expected_s, 0.01 * expected_s);
}

/* --- Tests of the effect of collectives on computation ---------------------------------------- */

/**
 * Makes a run with a vector in two halves. The first half is ready after 2/3 s of computation, and
 * the second half is ready after 1 s.
 */
static support_case *beside_computation(double bytes, double share)
{
    support_case *const c = nodes_of_eight(16);
    SET(c, workload.bytes = bytes, workload.step_s = 1, workload.backward_share = 2.0 / 3,
        platform.collective_share = share, config.exchange.pieces = 2,
        config.exchange.overlap = true);
    return c;
}

static double half_s(double bytes)
{
    const dsgd_nccl_shape shape = {2, 8, 8, 50e9, 0};
    const dsgd_nccl_cost cost = dsgd_nccl_cost_of(&h100, &shape, DSGD_NCCL_ALLREDUCE, bytes / 2);
    return dsgd_nccl_s(&cost, bytes / 2);
}

static void expect_step(support_case *c, double step_s, double computed_s)
{
    const double got_s = 1 + seconds_of(c), got_computed_s = result->shares.compute * got_s;
    ck_assert_msg(fabs(got_s / step_s - 1) < 1e-6 && fabs(got_computed_s / computed_s - 1) < 1e-6,
                  "%.9g s, %.9g of them computing; not %.9g and %.9g", got_s, got_computed_s,
                  step_s, computed_s);
}

/**
 * A collective of C seconds takes share s of the GPU while the GPU computes. If the collective ends
 * before the computation, the computation takes s C longer. If it ends later, it stretches the
 * whole computation from T to T / (1 - s). Tests the computed network and the streams in SimGrid.
 */
TEST_RANGE(collective_takes_its_share_of_concurrent_computation, 0, 2 * 3 * 3)
{
    static const double shares[] = {0, 0.25, 0.9}, sizes[] = {1e9, 20e9, 100e9};
    const double share = shares[_i % 3], bytes = sizes[_i / 3 % 3], each_s = half_s(bytes);
    support_case *const c = beside_computation(bytes, share);
    c->config.network = _i / 9;
    const double ready_s = 2.0 / 3;
    const double rest_s = fmin(1.0 / 3 + share * each_s, 1.0 / 3 / (1 - share));
    expect_step(c, ready_s + fmax(rest_s, each_s) + each_s, ready_s + rest_s);
}

/**
 * One worker is late by 0.2 s, so the collective starts 0.2 s later. The workers that wait in the
 * collective are slowed during this time.
 */
TEST(workers_that_wait_in_a_collective_are_slowed)
{
    support_case *const c = beside_computation(1e9, 0.5);
    support_imbalance_number(c, "delay", "seconds", 0.2);
    const double each_s = half_s(1e9), loss_s = 0.5 * each_s;
    const double others_s = 1 + 0.5 * (0.2 + each_s);
    expect_step(c, 1.2 + loss_s + each_s, (1.2 + loss_s + 15 * others_s) / 16);
}

/**
 * Each collective starts after its launch and after the copies of a half of the vector. The launch
 * and the copies take time of the GPU. A single worker has only these costs.
 */
TEST_RANGE(launches_and_copies_keep_a_gpu_from_computing, 0, 2)
{
    support_case *const c = beside_computation(1e9, 0);
    SET(c, platform.collective_launch_s = 0.003, platform.collective_copy_s_per_byte = 4e-12);
    const double extra_s = 0.003 + 0.5e9 * 4e-12;
    if (_i == 1)
        c->config.workers = 1;
    const double each_s = _i == 1 ? 0 : half_s(1e9);
    expect_step(c, 1 + 2 * extra_s + each_s, 1 + extra_s);
    c->workload.memory = DSGD_MEMORY_HOST; /* no GPU copies data or launches anything */
    expect_step(c, 1 + each_s, 1);
}

TEST(a_platform_without_gpus_has_no_nccl)
{
    support_case *const c = nodes_of_eight(8);
    SET(c, platform.library = DSGD_LIBRARY_MPI, config.exchange.collective = DSGD_COLLECTIVE_NCCL);
    dsgd_error error;
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_EUSAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "this platform has library: mpi"));
    SET(c, platform.library = DSGD_LIBRARY_RCCL, platform.nccl.links_bytes_per_s = 0);
    ck_assert_int_eq(dsgd_platform_check(&c->platform, &error), DSGD_EUSAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "library: rccl needs nccl"));
    SET(c, platform.library = DSGD_LIBRARY_MPI, platform.collective_share = 0.1);
    ck_assert_int_eq(dsgd_platform_check(&c->platform, &error), DSGD_EUSAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "collective_share"));
}
