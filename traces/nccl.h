/**
 * @file nccl.h
 * Times of collectives in NVIDIA's NCCL without other traffic. NCCL chooses an algorithm and a
 * protocol by a cost model, which is repeated here (src/graph/tuning.cc of NCCL 2.30). Its search
 * for rings and trees (src/graph/search.cc) is reduced to the part that bandwidths determine. AMD's
 * RCCL has the same structure.
 *
 * Measured machines differ from the model by a factor on bandwidths and one on latencies, because
 * NCCL treats every network like NVIDIA's InfiniBand. A platform gives both factors, separately
 * for messages between nodes and within a node.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

/** GPU generations that NCCL distinguishes. */
typedef enum dsgd_gpu_generation {
    DSGD_GPU_VOLTA,
    DSGD_GPU_AMPERE,
    DSGD_GPU_HOPPER,
    DSGD_GPU_BLACKWELL
} dsgd_gpu_generation;

extern const char *const dsgd_gpu_generations[];

/** Collectives. Their bytes are the size in the terms of nccl-tests. */
typedef enum dsgd_nccl_call {
    DSGD_NCCL_ALLREDUCE,
    DSGD_NCCL_SHARES, /* allgather and reduce-scatter; bytes: of all shares together */
    DSGD_NCCL_BROADCAST /* broadcast and reduce */
} dsgd_nccl_call;

extern const char *const dsgd_nccl_calls[]; /* names in nccl-tests */

/** A log of nccl-tests: a collective on all GPUs of some nodes. */
typedef struct dsgd_nccl_table {
    dsgd_nccl_call call;
    int64_t nodes, gpus; /* per node */
    dsgd_numbers bytes, us; /* sizes, ascending, and the time of each */
} dsgd_nccl_table;

/** The member `nccl` of a platform. */
typedef struct dsgd_nccl {
    int generation; /* dsgd_gpu_generation */
    double links_bytes_per_s; /* all NVLinks of a GPU, in each direction, as NCCL counts them */
    bool has_switch; /* NVSwitch, which connects all GPUs of a node and can sum (NVLS) */
    bool amd_host; /* AMD processors, with which LL and posting a message are slower */
    double network_latency_s; /* of a message, as the network plug-in reports it */
    double low_latency_s; /* of a message with LL or LL128; 0: network_latency_s */
    double bandwidth, latency; /* factors for collectives between nodes */
    double node_bandwidth, node_latency; /* factors for collectives within a node */
    dsgd_structs tables; /* of dsgd_nccl_table: used instead of the model for their shapes */
} dsgd_nccl;

extern const dsgd_option dsgd_nccl_options[];

/** Checks the tables. Returns DSGD_EUSAGE with a sentence if one is invalid. */
dsgd_status dsgd_nccl_check(const dsgd_nccl *nccl, dsgd_error *error);

/** The GPUs of a collective. */
typedef struct dsgd_nccl_shape {
    int n_nodes;
    double gpus; /* per node; the mean if nodes differ */
    int nics; /* of these GPUs, per node; the smallest number if nodes differ */
    double nic_bytes_per_s;
    double added_latency_s; /* added to each message by a slow host */
} dsgd_nccl_shape;

/** The choice of NCCL and its time: latency_s + bytes / bytes_per_s. */
typedef struct dsgd_nccl_cost {
    /* NCCL's names: Ring, Tree, NVLS, NVLSTree; LL, LL128, Simple. "log": from a table. */
    const char *algorithm, *protocol;
    double latency_s, bytes_per_s; /* from a table: the shortest time, and the rest as bandwidth */
    double nic_share; /* share of the bytes that each NIC of a node sends; 0 within a node */
    double gpu_share; /* share of the bytes that each GPU sends within its node */
} dsgd_nccl_cost;

/** Returns the cheapest choice, or the time from a table. @p shape must have at least two GPUs. */
dsgd_nccl_cost dsgd_nccl_cost_of(const dsgd_nccl *nccl, const dsgd_nccl_shape *shape,
                                 dsgd_nccl_call call, double bytes);

static inline double dsgd_nccl_s(const dsgd_nccl_cost *cost, double bytes)
{
    return cost->latency_s + bytes / cost->bytes_per_s;
}

/* --- fits to logs (nccl_fit.c) ---------------------------------------------------------------- */

/** Measured times of a shape. */
typedef struct dsgd_nccl_measured {
    dsgd_nccl_shape shape;
    dsgd_nccl_table table;
} dsgd_nccl_measured;

/**
 * Returns the weighted mean of |ln error|, each at most 0.3. Sizes below 8 MiB have weight 0.25,
 * those below 64 KiB almost none.
 */
double dsgd_nccl_error(const dsgd_nccl *nccl, const dsgd_nccl_measured *of);

/**
 * Sets the factors within nodes to those that minimise the mean of dsgd_nccl_error() over the
 * logs[n] of one node, and the factors between nodes over the logs of several nodes. Factors
 * without a log keep their values.
 */
void dsgd_nccl_fit(dsgd_nccl *nccl, const dsgd_nccl_measured *logs, size_t n);
