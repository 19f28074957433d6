/**
 * @file nccl.h
 * Times of collectives in NVIDIA's NCCL without other traffic. NCCL chooses an algorithm and a
 * protocol by a cost model, which nccl.c repeats (src/graph/tuning.cc of NCCL 2.30). NCCL's search
 * for rings and trees (src/graph/search.cc) is reduced to the part that bandwidths determine. AMD's
 * RCCL has the same structure.
 *
 * Measured machines differ from the model by a factor on bandwidths and a factor on latencies,
 * because NCCL treats every network like NVIDIA's InfiniBand. A platform gives both factors,
 * separately for messages between nodes and within a node.
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

/** Collectives. Their bytes are sizes as nccl-tests defines them. */
typedef enum dsgd_nccl_call {
    DSGD_NCCL_ALLREDUCE,
    DSGD_NCCL_SHARES, /* allgather and reduce-scatter; their bytes are the total of all shares */
    /* broadcast, also used for reduce */
    DSGD_NCCL_BROADCAST
} dsgd_nccl_call;

extern const char *const dsgd_nccl_calls[]; /* names of the collectives in nccl-tests */

/** A log of nccl-tests: times of a collective on all GPUs of some nodes. */
typedef struct dsgd_nccl_table {
    dsgd_nccl_call call;
    int64_t nodes, gpus; /* number of nodes, and of GPUs per node */
    dsgd_numbers bytes, us; /* ascending sizes in bytes, and the time of each in microseconds */
} dsgd_nccl_table;

/** The member `nccl` of a platform: parameters of the cost model. */
typedef struct dsgd_nccl {
    int generation; /* a value of dsgd_gpu_generation */
    double links_bytes_per_s; /* bandwidth of all NVLinks of a GPU, per direction, in NCCL */
    bool has_switch; /* whether an NVSwitch connects all GPUs of a node and can sum (NVLS) */
    bool amd_host; /* whether nodes have AMD processors, with which LL and posting are slower */
    double network_latency_s; /* latency of a message, as the network plug-in reports it */
    double low_latency_s; /* latency of a message with LL or LL128; 0: network_latency_s */
    double bandwidth, latency; /* factors for collectives between nodes */
    double node_bandwidth, node_latency; /* factors for collectives within a node */
    dsgd_structs tables; /* logs, of type dsgd_nccl_table; used instead of the model for groups of
                          * their shapes */
} dsgd_nccl;

extern const dsgd_option dsgd_nccl_options[];

/** Checks the tables. Returns DSGD_EUSAGE with an explanation if a table is invalid. */
dsgd_status dsgd_nccl_check(const dsgd_nccl *nccl, dsgd_error *error);

/** The GPUs and NICs that take part in a collective. */
typedef struct dsgd_nccl_shape {
    int n_nodes;
    double gpus; /* GPUs per node; the mean number if nodes differ */
    int nics; /* NICs per node of these GPUs; the smallest number if nodes differ */
    double nic_bytes_per_s;
    double added_latency_s; /* latency that a slow host adds to each message */
} dsgd_nccl_shape;

/** The choice of NCCL and its time, which is latency_s + bytes / bytes_per_s. */
typedef struct dsgd_nccl_cost {
    /*
     * NCCL's names: Ring, Tree, NVLS or NVLSTree, and LL, LL128 or Simple. Both are "log" if the
     * time is from a table.
     */
    const char *algorithm, *protocol;
    double latency_s, bytes_per_s; /* from a table: shortest time, and the rest as a bandwidth */
    double nic_share; /* share of the bytes that each NIC of a node sends; 0 within a node */
    double gpu_share; /* share of the bytes that each GPU sends within its node */
} dsgd_nccl_cost;

/**
 * Returns NCCL's cheapest choice, or the time from a table if one has this shape. @p shape must
 * have at least two GPUs.
 */
dsgd_nccl_cost dsgd_nccl_cost_of(const dsgd_nccl *nccl, const dsgd_nccl_shape *shape,
                                 dsgd_nccl_call call, double bytes);

static inline double dsgd_nccl_s(const dsgd_nccl_cost *cost, double bytes)
{
    return cost->latency_s + bytes / cost->bytes_per_s;
}

/* --- fits to logs (nccl_fit.c) ---------------------------------------------------------------- */

/** Measured times of a collective, and the GPUs that took part. */
typedef struct dsgd_nccl_measured {
    dsgd_nccl_shape shape;
    dsgd_nccl_table table;
} dsgd_nccl_measured;

/**
 * Returns the mean error of the model: the weighted mean of |ln error|, each at most 0.3. Sizes
 * below 8 MiB have weight 0.25, and sizes below 64 KiB almost no weight.
 */
double dsgd_nccl_error(const dsgd_nccl *nccl, const dsgd_nccl_measured *of);

/**
 * Fits the factors: the factors within nodes minimise the mean of dsgd_nccl_error() over the logs
 * of one node, and the factors between nodes over the logs of several nodes. Factors without a log
 * keep their values.
 */
void dsgd_nccl_fit(dsgd_nccl *nccl, const dsgd_nccl_measured *logs, size_t n);
