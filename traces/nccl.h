/**
 * @file nccl.h
 * What a collective of NVIDIA's NCCL takes when it meets no other traffic, by the formulas by which
 * NCCL itself chooses an algorithm and a protocol (src/graph/tuning.cc of NCCL 2.30; its search for
 * rings and trees, src/graph/search.cc, shortened to what bandwidths decide). AMD's RCCL has the
 * same structure.
 *
 * Measured machines differ from the formulas by a factor of rates and one of latencies, which a
 * platform states, between nodes and within one: NCCL takes every network for the InfiniBand of its
 * makers.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

/** Generations of GPUs that NCCL tells apart. */
typedef enum dsgd_gpu_generation {
    DSGD_GPU_VOLTA,
    DSGD_GPU_AMPERE,
    DSGD_GPU_HOPPER,
    DSGD_GPU_BLACKWELL
} dsgd_gpu_generation;

extern const char *const dsgd_gpu_generations[];

/** What it sums or copies, by the bytes that NCCL's tests call its size. */
typedef enum dsgd_nccl_call {
    DSGD_NCCL_ALLREDUCE,
    DSGD_NCCL_SHARES, /* allgather and reduce-scatter: the bytes of all shares together */
    DSGD_NCCL_BROADCAST /* broadcast and reduce */
} dsgd_nccl_call;

extern const char *const dsgd_nccl_calls[]; /* as nccl-tests call them */

/** A log of nccl-tests: a collective on all of some nodes' GPUs. */
typedef struct dsgd_nccl_table {
    dsgd_nccl_call call;
    int64_t nodes, gpus; /* per node */
    dsgd_numbers bytes, us; /* of each size, ascending, its time */
} dsgd_nccl_table;

/** The member `nccl` of a platform. */
typedef struct dsgd_nccl {
    int generation; /* dsgd_gpu_generation */
    double links_bytes_per_s; /* all NVLinks of a GPU, in each direction, as NCCL counts them */
    bool has_switch; /* NVSwitch: all GPUs of a node at once, and sums in the switch (NVLS) */
    bool amd_host; /* LL, and the posting of a message, are slower beside an AMD processor */
    double network_latency_s; /* what the network plug-in declares, for each message */
    double low_latency_s; /* what one of LL or LL128 takes where that is less; 0: the same */
    double bandwidth, latency; /* factors of what crosses nodes */
    double node_bandwidth, node_latency; /* and of what stays within one */
    dsgd_structs tables; /* of dsgd_nccl_table: they decide for their shapes */
} dsgd_nccl;

extern const dsgd_option dsgd_nccl_options[];

/** Whether the tables are such; DSGD_EUSAGE with a sentence. */
dsgd_status dsgd_nccl_check(const dsgd_nccl *nccl, dsgd_error *error);

/** The GPUs of a collective. */
typedef struct dsgd_nccl_shape {
    int n_nodes;
    double gpus; /* per node; the mean where nodes differ */
    int nics; /* of these GPUs, per node; the fewest where nodes differ */
    double nic_bytes_per_s;
    double added_latency_s; /* of a slow host, to each message */
} dsgd_nccl_shape;

/** What NCCL chooses, and what that takes: latency_s + bytes / bytes_per_s. */
typedef struct dsgd_nccl_cost {
    /* As NCCL calls them: Ring, Tree, NVLS, NVLSTree; LL, LL128, Simple. "log": a table's. */
    const char *algorithm, *protocol;
    double latency_s, bytes_per_s; /* of a table the least time, and what the rest makes */
    double nic_share; /* of the bytes: what each NIC of a node sends; 0 within a node */
    double gpu_share; /* likewise each GPU within its node */
} dsgd_nccl_cost;

/** The cheapest way, or what a table says; @p shape has two GPUs or more. */
dsgd_nccl_cost dsgd_nccl_cost_of(const dsgd_nccl *nccl, const dsgd_nccl_shape *shape,
                                 dsgd_nccl_call call, double bytes);

static inline double dsgd_nccl_s(const dsgd_nccl_cost *cost, double bytes)
{
    return cost->latency_s + bytes / cost->bytes_per_s;
}

/* --- by logs (nccl_fit.c) --------------------------------------------------------------------- */

/** What was measured on a shape. */
typedef struct dsgd_nccl_measured {
    dsgd_nccl_shape shape;
    dsgd_nccl_table table;
} dsgd_nccl_measured;

/** Mean |ln error|, each at most 0.3; what is below 8 MiB counts a quarter, below 64 KiB next to
 * nothing. */
double dsgd_nccl_error(const dsgd_nccl *nccl, const dsgd_nccl_measured *of);

/**
 * Sets the factors within nodes, and those between nodes, for which the mean of that over logs[n]
 * of one node, or of several, is least; where there is none, they stay.
 */
void dsgd_nccl_fit(dsgd_nccl *nccl, const dsgd_nccl_measured *logs, size_t n);
