/**
 * @file nccl.c
 * Implements NCCL's own cost model of its collectives. Each algorithm and protocol has a latency
 * and a bandwidth, and NCCL uses the cheapest choice. As in NCCL, bandwidths are in GB/s and
 * latencies in us.
 */
#include "traces/nccl.h"

const char *const dsgd_gpu_generations[] = {"volta", "ampere", "hopper", "blackwell", NULL};

const char *const dsgd_nccl_calls[] = {"all_reduce", "all_gather", "broadcast", NULL};

static const dsgd_option table_options[] = {
    DSGD_OPTION_CHOICE(dsgd_nccl_table, call, dsgd_nccl_calls,
                       "collective, by the name in nccl-tests. all_gather also stands for "
                       "reduce_scatter, and broadcast for reduce"),
    DSGD_OPTION_LONG(dsgd_nccl_table, nodes, 0, 1, 1 << 20, NULL, "number of nodes",
                     .required = true),
    DSGD_OPTION_LONG(dsgd_nccl_table, gpus, 0, 1, 4096, NULL, "GPUs per node", .required = true),
    DSGD_OPTION_NUMBERS(dsgd_nccl_table, bytes, 1, 1e15, "sizes, ascending", .required = true,
                        .unit = "bytes"),
    DSGD_OPTION_NUMBERS(dsgd_nccl_table, us, 1e-3, 1e12, "time of each size in microseconds",
                        .required = true),
    DSGD_OPTION_END,
};

const dsgd_option dsgd_nccl_options[] = {
    DSGD_OPTION_CHOICE(dsgd_nccl, generation, dsgd_gpu_generations,
                       "GPU generation, which determines the bandwidth of one NCCL channel; use "
                       "hopper for an MI300X"),
    DSGD_OPTION_DOUBLE_AS("links", dsgd_nccl, links_bytes_per_s, 0, 0, 1e15, "bytes/s",
                          "bandwidth of all NVLinks of a GPU, per direction, as NCCL counts it: 20 "
                          "GB/s per link, 20.6 on Hopper, 40.1 on Blackwell; for PCIe 12 GB/s"),
    DSGD_OPTION_AS(
        "switch", BOOL, dsgd_nccl, has_switch,
        "true: the nodes have an NVSwitch, which on Hopper reduces data in the switch (NVLS)"),
    DSGD_OPTION_BOOL(dsgd_nccl, amd_host, false, "true: the nodes have AMD processors"),
    DSGD_OPTION_DOUBLE_AS("network_latency", dsgd_nccl, network_latency_s, 0, 0, 10, "s",
                          "latency of a message that the network plug-in reports to NCCL"),
    DSGD_OPTION_DOUBLE_AS(
        "low_latency", dsgd_nccl, low_latency_s, 0, 0, 10, "s",
        "latency of a message with the low-latency protocols LL and LL128; 0: network_latency"),
    DSGD_OPTION_DOUBLE(dsgd_nccl, bandwidth, 1, 0.01, 100, NULL,
                       "factor on the model's bandwidth between nodes, from measurements"),
    DSGD_OPTION_DOUBLE(dsgd_nccl, latency, 1, 0.01, 1000, NULL,
                       "factor on the model's latency between nodes, from measurements"),
    DSGD_OPTION_DOUBLE(dsgd_nccl, node_bandwidth, 1, 0.01, 100, NULL,
                       "factor on the model's bandwidth within a node, from measurements"),
    DSGD_OPTION_DOUBLE(dsgd_nccl, node_latency, 1, 0.01, 1000, NULL,
                       "factor on the model's latency within a node, from measurements"),
    DSGD_OPTION_STRUCTS(
        dsgd_nccl, tables, dsgd_nccl_table, table_options,
        "measured times of nccl-tests, used instead of the model for groups of the same shape"),
    DSGD_OPTION_END,
};

dsgd_status dsgd_nccl_check(const dsgd_nccl *nccl, dsgd_error *error)
{
    const dsgd_nccl_table *const tables = nccl->tables.v;
    for (size_t i = 0; i < nccl->tables.n; i++) {
        const dsgd_numbers *const bytes = &tables[i].bytes;
        if (bytes->n != tables[i].us.n || bytes->n < 2)
            return dsgd_refuse(error,
                               "platform: nccl: tables: bytes and us must have the same number of "
                               "values, at least 2, got %zu and %zu",
                               bytes->n, tables[i].us.n);
        for (size_t k = 1; k < bytes->n; k++)
            if (bytes->v[k] <= bytes->v[k - 1])
                return dsgd_refuse(error,
                                   "platform: nccl: tables: bytes must ascend, but %g follows %g",
                                   bytes->v[k], bytes->v[k - 1]);
    }
    return DSGD_OK;
}

enum { RING, TREE, NVLS, NVLS_TREE, ALGORITHMS };
enum { LL, LL128, SIMPLE, PROTOCOLS };
static const char *const algorithms[] = {"Ring", "Tree", "NVLS", "NVLSTree"};
static const char *const protocols[] = {"LL", "LL128", "Simple"};

/* --- NCCL's constants ------------------------------------------------------------------------- */

static const double base_us[ALGORITHMS][PROTOCOLS] = {{6.6, 14, 8.4}, {6.8, 14, 8.4}};

/**
 * kinds of hops, each with its latency: over NVLink within a node, over PCIe within a node, between
 * nodes
 */
enum { NVLINK, PCI, NETWORK, WAYS };
static const double hop_us[WAYS][ALGORITHMS][PROTOCOLS] = {
    [NVLINK] = {{0.6, 1.9, 3.4}, {0.6, 1.25, 4}, {0, 0, 25}, {0, 0, 25}},
    [PCI] = {{1, 2.5, 5.7}, {1, 1.9, 4}},
    [NETWORK] = {{2.7, 4, 14}, {5, 8.5, 14}, {0, 0, 18}, {0, 0, 20.9}}};

/*
 * Largest bandwidths of protocol LL, by GPU generation and number of nodes (1, 2, more). With
 * several nodes, the limits depend on the processor: Intel (0) or AMD (1).
 */
static const double most_of_ll[][3] = {
    {39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
static const double channel_ring_ll128[] = {20, 20, 36.7, 40};
static const double channel_tree_ll128[][3] = {
    {20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
static const double channel_tree[][3] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
static const double channel_nvls_tree[][3] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}};
static const double nvls_efficiency[] = {0, 0, 0.85, 0.74};

/** bandwidths of a channel that NCCL's search for rings tries, within a node and between nodes */
static const double rates_within[][14] = {{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3},
                                          {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3},
                                          {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3},
                                          {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18}};
static const double rates_between[][21] = {
    {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12},
    {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12},
    {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12},
    {96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12}};

/** share of its bandwidth that a tree reaches, for message sizes in powers of two from 64 bytes */
static const double tree_correction[PROTOCOLS][24] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

/* --- simplified search for rings -------------------------------------------------------------- */

enum { MOST_CHANNELS = 16 }; /* largest number of channels before NCCL doubles the number */

typedef struct graph {
    int channels;
    double rate; /* bandwidth of one channel of a ring, in GB/s */
    double tree_rate; /* bandwidth of one channel of a tree within a node; with two nodes it can
                       * exceed the bandwidth between nodes */
} graph;

/**
 * Returns the rings with the largest total bandwidth: their number of channels and the bandwidth of
 * a channel. Does not try bandwidths below about half of the best bandwidth so far.
 */
static graph graph_of(const dsgd_nccl *nccl, const dsgd_nccl_shape *shape)
{
    const bool one_node = shape->n_nodes == 1;
    const double *const rates =
        one_node ? rates_within[nccl->generation] : rates_between[nccl->generation];
    const double links = nccl->links_bytes_per_s / 1e9, nic = shape->nic_bytes_per_s / 1e9;
    /* This is the result if the NICs are slower than all bandwidths of the table. */
    graph best = {one_node ? 1 : shape->nics, one_node ? links : nic, 0};
    double most = 0;
    for (int i = 0; rates[i] > 0 && (most == 0 || rates[i] > 0.49 * best.rate); i++) {
        double all = one_node ? MOST_CHANNELS : shape->nics * floor(nic / rates[i] + 1e-9);
        if (shape->gpus > 1 && all * rates[i] > links)
            all = floor(links / rates[i] + 1e-9);
        const int channels = (int)fmin(all, MOST_CHANNELS);
        if (channels * rates[i] <= most + 1e-9)
            continue;
        most = channels * rates[i];
        best = (graph){channels, rates[i], 0};
    }
    const bool is_wide = nccl->generation >= DSGD_GPU_HOPPER && best.rate < 50 && best.channels > 4;
    if (best.rate >= 25 && !is_wide)
        best = (graph){2 * best.channels, best.rate / 2, 0};
    best.tree_rate = best.rate;
    if (shape->n_nodes != 2 || shape->gpus <= 1)
        return best;
    const double all = links * shape->gpus / (shape->gpus - 1);
    for (int i = 20; i >= 0; i--)
        if (rates[i] > best.tree_rate && best.tree_rate < 2 * best.rate &&
            best.channels * rates[i] <= all)
            best.tree_rate = rates[i];
    return best;
}

/* --- rates and latencies ---------------------------------------------------------------------- */

/** A collective whose cost is to be computed. */
typedef struct question {
    const dsgd_nccl *nccl;
    const dsgd_nccl_shape *shape;
    dsgd_nccl_call call;
    graph graph;
    double n; /* total number of GPUs in the collective */
    double steps; /* number of steps of a ring */
    int nodes; /* class of the number of nodes: 0 means one node, 1 means two, 2 means more */
} question;

static bool is_offered(const question *q, int algorithm, int protocol)
{
    if (algorithm == RING)
        return true;
    if (q->call == DSGD_NCCL_BROADCAST || (q->call == DSGD_NCCL_SHARES && algorithm != NVLS))
        return false;
    if (algorithm == TREE)
        return true;
    return protocol == SIMPLE && q->nccl->has_switch && q->nccl->generation >= DSGD_GPU_HOPPER &&
           q->shape->gpus > 1 && (algorithm == NVLS) == (q->shape->n_nodes == 1);
}

/** Returns the bus bandwidth of all channels of NVLS, which sums in the NVSwitch. */
static double nvls_rate(const question *q, int algorithm)
{
    const double gpus = q->shape->gpus;
    const int heads = gpus < 2 ? 2 : (int)gpus;
    double rate = q->nccl->links_bytes_per_s / 1e9 / heads * nvls_efficiency[q->nccl->generation] *
                  (heads - 1) / heads;
    rate *= q->call == DSGD_NCCL_ALLREDUCE ? 2 : (gpus - 1) / gpus;
    if (algorithm == NVLS_TREE) {
        const double between = q->shape->nics * q->shape->nic_bytes_per_s / 1e9 / heads;
        rate = fmin(rate, between * (q->nodes == 1 ? 2 : 1));
        rate = fmin(rate, channel_nvls_tree[q->nccl->generation][q->nodes]);
    }
    return heads * rate;
}

/** Returns the bus bandwidth of all channels of a ring or tree. */
static double channels_rate(const question *q, bool is_tree, int protocol)
{
    const int channels = q->graph.channels, generation = q->nccl->generation;
    const int row = q->nodes == 0 ? generation : q->nccl->amd_host;
    const double all = is_tree ? fmin(channels * q->graph.tree_rate * 0.92,
                                      channels * channel_tree[generation][q->nodes])
                               : channels * q->graph.rate;
    const double tree_share = q->nodes == 0 ? 7.0 / 9 : 120.0 / 128;
    if (protocol == LL)
        return fmin(is_tree ? all / 3.8 : all * 0.5, most_of_ll[row][q->nodes]);
    if (protocol == LL128)
        return fmin(all * (is_tree ? tree_share : 0.92),
                    channels * (is_tree ? channel_tree_ll128[generation][q->nodes]
                                        : channel_ring_ll128[generation]));
    return all;
}

/** Returns the bandwidth of the collective with an algorithm and a protocol, in GB/s. */
static double rate_of(const question *q, int algorithm, int protocol)
{
    if (algorithm == TREE)
        return channels_rate(q, true, protocol) / 2;
    const double all =
        algorithm == RING ? channels_rate(q, false, protocol) : nvls_rate(q, algorithm);
    return algorithm != RING && q->call == DSGD_NCCL_SHARES ? all : all * q->n / q->steps;
}

static double ring_latency_us(const question *q, int protocol, double hop, double between)
{
    const int nodes = q->shape->n_nodes;
    if (q->call == DSGD_NCCL_BROADCAST) /* A broadcast pays the latency of one hop, because the
                                         * other hops are pipelined. */
        return q->nodes == 0 ? hop : hop_us[NETWORK][RING][protocol];
    const double posted = (q->nccl->amd_host ? 2.0 : 1.0) * (protocol == SIMPLE ? 3 : 1);
    if (nodes > 1)
        hop = fmax(hop, posted);
    const double crossings = (nodes - 1) * (q->call == DSGD_NCCL_ALLREDUCE ? 2.0 : 1.0);
    return (q->steps - crossings) * hop + crossings * between;
}

static double latency_us(const question *q, int algorithm, int protocol)
{
    static const double pci_bytes_per_s = 16e9; /* bandwidth of a PCIe link; NVLinks are faster */
    const double gpus = q->shape->gpus;
    const int way = q->nccl->links_bytes_per_s > pci_bytes_per_s ? NVLINK : PCI;
    const double hop = hop_us[way][algorithm][protocol];
    /*
     * With one GPU per node, nothing hides the latency of the network. Protocol Simple also
     * flushes, which doubles this latency.
     */
    const double declared_s = q->nccl->network_latency_s, low_s = q->nccl->low_latency_s;
    const double network_s = protocol == SIMPLE || low_s <= 0 ? declared_s : low_s;
    const double between =
        hop_us[NETWORK][gpus > 1 ? algorithm : TREE][protocol] +
        (network_s + q->shape->added_latency_s) * 1e6 * (protocol == SIMPLE ? 2 : 1);
    const double base = base_us[algorithm][protocol];
    const int levels = (int)log2(q->shape->n_nodes);
    if (algorithm == RING)
        return base + ring_latency_us(q, protocol, hop, between);
    if (algorithm == TREE)
        return base + 2 * ((gpus - 1) * hop + levels * between);
    return base + hop + 2 * levels * between;
}

/* share of useful bytes in the sent bytes, by protocol */
static const double payload[PROTOCOLS] = {1.0 / 2, 120.0 / 128, 1};

static dsgd_nccl_cost cost_of(const question *q, int algorithm, int protocol, double bytes)
{
    const bool within = q->nodes == 0;
    double rate =
        rate_of(q, algorithm, protocol) * (within ? q->nccl->node_bandwidth : q->nccl->bandwidth);
    double latency =
        latency_us(q, algorithm, protocol) * (within ? q->nccl->node_latency : q->nccl->latency);
    const int power = bytes < 64 ? -1 : (int)log2(bytes / 64);
    if (algorithm == TREE && power >= 0 && power < 23)
        rate *= tree_correction[protocol][power];
    if (algorithm == RING && protocol == SIMPLE && q->nodes > 0 && q->call == DSGD_NCCL_ALLREDUCE &&
        bytes / (q->graph.channels * q->n) >= 64)
        latency *= q->nccl->generation == DSGD_GPU_VOLTA ? 1.9 : 1.4;
    const double turns = q->call == DSGD_NCCL_ALLREDUCE ? 2 : 1, gpus = q->shape->gpus;
    const double of_ring = turns * (q->n - 1) / q->n;
    const double by_nics = algorithm == RING ? of_ring : q->shape->n_nodes > 2 ? 2 : 1;
    const double nic_share = within ? 0 : by_nics / q->shape->nics;
    /*
     * The bandwidth of the NICs limits the bandwidth of the collective. LL and LL128 also send
     * flags.
     */
    if (!within)
        rate = fmin(rate, q->shape->nic_bytes_per_s / 1e9 / nic_share * payload[protocol]);
    const double by_gpu = algorithm == RING ? of_ring
                          /* With NVLS, a GPU sends its data to the switch and receives the sum. */
                          : algorithm == TREE ? 2 * (gpus - 1) / gpus
                                              : 1 + 1 / gpus;
    return (dsgd_nccl_cost){.algorithm = algorithms[algorithm],
                            .protocol = protocols[protocol],
                            .latency_s = latency * 1e-6,
                            .bytes_per_s = rate * 1e9,
                            .nic_share = nic_share,
                            .gpu_share = by_gpu};
}

/* --- measured times from logs ----------------------------------------------------------------- */

static const dsgd_nccl_table *table_of(const dsgd_nccl *nccl, const dsgd_nccl_shape *shape,
                                       dsgd_nccl_call call)
{
    const dsgd_nccl_table *const tables = nccl->tables.v;
    for (size_t i = 0; i < nccl->tables.n; i++)
        if (tables[i].nodes == shape->n_nodes && (double)tables[i].gpus == shape->gpus &&
            tables[i].call == call)
            return &tables[i];
    return NULL;
}

/**
 * Returns the measured time for a message size, in microseconds. Interpolates the logarithms
 * linearly. Below the smallest size, the time is constant. Above the largest size, the bandwidth is
 * constant.
 */
static double measured_us(const dsgd_nccl_table *table, double bytes)
{
    const double *const x = table->bytes.v, *const y = table->us.v;
    const size_t n = table->bytes.n;
    if (bytes <= x[0])
        return y[0];
    if (bytes >= x[n - 1])
        return y[n - 1] * bytes / x[n - 1];
    size_t k = 1;
    while (x[k] < bytes)
        k++;
    const double share = log(bytes / x[k - 1]) / log(x[k] / x[k - 1]);
    return y[k - 1] * pow(y[k] / y[k - 1], share);
}

/** Replaces the time from the model by the measured time from a log. */
static void set_measured(const dsgd_nccl_table *table, double bytes, dsgd_nccl_cost *cost)
{
    const double us = measured_us(table, bytes);
    double least_us = us;
    for (size_t k = 0; k < table->us.n; k++)
        least_us = fmin(least_us, table->us.v[k]);
    cost->algorithm = cost->protocol = "log";
    cost->latency_s = least_us * 1e-6;
    cost->bytes_per_s = bytes / ((us - least_us) * 1e-6);
}

dsgd_nccl_cost dsgd_nccl_cost_of(const dsgd_nccl *nccl, const dsgd_nccl_shape *shape,
                                 dsgd_nccl_call call, double bytes)
{
    const double n = shape->n_nodes * shape->gpus;
    const question q = {.nccl = nccl,
                        .shape = shape,
                        .call = call,
                        .graph = graph_of(nccl, shape),
                        .n = n,
                        .steps = call == DSGD_NCCL_ALLREDUCE ? 2 * (n - 1)
                                 : call == DSGD_NCCL_SHARES  ? n - 1
                                                             : n,
                        .nodes = shape->n_nodes < 3 ? shape->n_nodes - 1 : 2};
    dsgd_nccl_cost best = {.bytes_per_s = 0};
    for (int algorithm = 0; algorithm < ALGORITHMS; algorithm++)
        for (int protocol = 0; protocol < PROTOCOLS; protocol++) {
            if (!is_offered(&q, algorithm, protocol))
                continue;
            const dsgd_nccl_cost cost = cost_of(&q, algorithm, protocol, bytes);
            if (best.bytes_per_s <= 0 || dsgd_nccl_s(&cost, bytes) < dsgd_nccl_s(&best, bytes))
                best = cost;
        }
    const dsgd_nccl_table *const table = table_of(nccl, shape, call);
    if (table != NULL)
        set_measured(table, bytes, &best);
    return best;
}
