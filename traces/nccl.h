/**
 * @file nccl.h
 * Computes times of collectives in NVIDIA's NCCL without other traffic. NCCL chooses an algorithm
 * and a protocol by a cost model. nccl.c implements the same model (src/graph/tuning.cc of NCCL
 * 2.30). NCCL's search for rings and trees (src/graph/search.cc) is reduced to the part that
 * depends on bandwidths. AMD's RCCL has the same structure.
 *
 * Measured machines differ from the model by a factor on bandwidths and a factor on latencies,
 * because NCCL treats every network like NVIDIA's InfiniBand. A platform has both factors for
 * messages between nodes, and both factors for messages within a node.
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

/** Collectives. The sizes of their messages are sizes as nccl-tests defines them. */
typedef enum dsgd_nccl_call {
    DSGD_NCCL_ALLREDUCE,
    DSGD_NCCL_SHARES, /* allgather and reduce-scatter; the message size is the total of all shares
                       */
    /* broadcast; the model of reduce is the same */
    DSGD_NCCL_BROADCAST
} dsgd_nccl_call;

extern const char *const dsgd_nccl_calls[]; /* names of the collectives in nccl-tests */

/** A log of nccl-tests: measured times of a collective on all GPUs of some nodes. */
typedef struct dsgd_nccl_table {
    dsgd_nccl_call call;
    int64_t nodes, gpus; /* nodes: number of nodes; gpus: number of GPUs per node */
    dsgd_numbers bytes, us; /* bytes: message sizes in ascending order; us: time of each size in
                             * microseconds */
} dsgd_nccl_table;

/** Member `nccl` of a platform: the parameters of NCCL's cost model. */
typedef struct dsgd_nccl {
    int generation; /* GPU generation, a value of dsgd_gpu_generation */
    double links_bytes_per_s; /* bandwidth of all NVLinks of a GPU, per direction, as NCCL assumes
                               * it */
    bool has_switch; /* true if an NVSwitch connects all GPUs of a node and can compute sums (NVLS)
                      */
    bool amd_host; /* true if nodes have AMD processors, with which LL and the posting of messages
                    * are slower */
    double network_latency_s; /* latency of a message, as the network plug-in reports it */
    double low_latency_s; /* latency of a message with LL or LL128; 0 means that it equals
                           * network_latency_s */
    double bandwidth, latency; /* factors on bandwidth and latency for collectives between nodes */
    double node_bandwidth, node_latency; /* factors on bandwidth and latency for collectives within
                                          * a node */
    dsgd_structs tables; /* logs, of type dsgd_nccl_table; a group of GPUs with the shape of a log
                          * uses the log instead of the model */
} dsgd_nccl;

extern const dsgd_option dsgd_nccl_options[];

/**
 * Checks the tables of measured times. Returns DSGD_EUSAGE with an explanation if a table is
 * invalid.
 */
dsgd_status dsgd_nccl_check(const dsgd_nccl *nccl, dsgd_error *error);

/** The GPUs and NICs that take part in a collective. */
typedef struct dsgd_nccl_shape {
    int n_nodes;
    double gpus; /* number of GPUs per node; the mean number if nodes differ */
    int nics; /* number of NICs that these GPUs use per node; the smallest number if nodes differ */
    double nic_bytes_per_s;
    double added_latency_s; /* latency that a slow host adds to each message, in seconds */
} dsgd_nccl_shape;

/** NCCL's choice and its time. The time is latency_s + bytes / bytes_per_s. */
typedef struct dsgd_nccl_cost {
    /*
     * NCCL's names of the algorithm (Ring, Tree, NVLS or NVLSTree) and of the protocol (LL, LL128
     * or Simple). Both are "log" if the time is from a table.
     */
    const char *algorithm, *protocol;
    double latency_s, bytes_per_s; /* if the time is from a table: shortest time, and the remaining
                                    * time as a bandwidth */
    double nic_share; /* share of the bytes that each NIC of a node sends; 0 within a node */
    double gpu_share; /* share of the bytes that each GPU sends within its node */
} dsgd_nccl_cost;

/**
 * Returns the cost of NCCL's cheapest choice. If a table has the shape @p shape, returns the time
 * from this table. @p shape must have at least two GPUs.
 */
dsgd_nccl_cost dsgd_nccl_cost_of(const dsgd_nccl *nccl, const dsgd_nccl_shape *shape,
                                 dsgd_nccl_call call, double bytes);

static inline double dsgd_nccl_s(const dsgd_nccl_cost *cost, double bytes)
{
    return cost->latency_s + bytes / cost->bytes_per_s;
}

/* --- fits to logs (nccl_fit.c) ---------------------------------------------------------------- */

/** Measured times of a collective, and the shape of the GPUs that took part. */
typedef struct dsgd_nccl_measured {
    dsgd_nccl_shape shape;
    dsgd_nccl_table table;
} dsgd_nccl_measured;

/**
 * Returns the mean error of the model compared with a log. This error is a weighted mean of
 * |ln(model / log)| over sizes, with at most 0.3 per size. Sizes below 8 MiB have a weight of 0.25,
 * and sizes below 64 KiB have almost no weight.
 */
double dsgd_nccl_error(const dsgd_nccl *nccl, const dsgd_nccl_measured *of);

/**
 * Fits the factors of a platform to logs. The factors within nodes minimise the mean of
 * dsgd_nccl_error() over the logs of one node. The factors between nodes minimise the mean over the
 * logs of several nodes. Factors without a log keep their values.
 */
void dsgd_nccl_fit(dsgd_nccl *nccl, const dsgd_nccl_measured *logs, size_t n);
