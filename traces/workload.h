/**
 * @file workload.h
 * A workload: the neural network whose time is modelled, with its bytes, tensors, seconds per step
 * and samples per step. The reduced model that is trained is another network (models/).
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

typedef enum dsgd_workload_memory { DSGD_MEMORY_DEVICE, DSGD_MEMORY_HOST } dsgd_workload_memory;

/**
 * A language model, from which dsgd_workload_derive() derives the rest of a workload. A token takes
 * 6 operations per parameter, and 12 x width x sequence operations for the attention of each layer,
 * forward and backward (Chowdhery et al., "PaLM", 2022, appendix B). Recomputation counts as lower
 * utilisation.
 */
typedef struct dsgd_transformer {
    double parameters; /* number of parameters; 0: the workload has no transformer */
    int64_t layers; /* number of equal layers; each layer is a tensor */
    double width; /* width of the residual stream; 0: attention is not counted */
    double sequence; /* tokens per sequence */
    double batch; /* sequences per worker and step */
    double gpu_flops; /* peak operations per second */
    double utilisation; /* fraction of the peak that is reached (MFU) */
    int64_t gpus; /* GPUs of a worker; each holds and exchanges a part of the model */
} dsgd_transformer;

/** Pipeline schedules, which sim/hybrid/schedule.h implements. */
typedef enum dsgd_pipeline_kind {
    DSGD_PIPELINE_GPIPE, /* all forward passes, then all backward passes, the last micro-batch first
                          */
    DSGD_PIPELINE_1F1B, /* a backward pass as soon as one is ready, then a forward pass (DAPPLE) */
    DSGD_PIPELINE_INTERLEAVED, /* like 1f1b, with several model chunks per host (Megatron-LM) */
    DSGD_PIPELINE_GEMS, /* two pipelines in opposite directions, one micro-batch at a time */
    DSGD_PIPELINE_CHIMERA, /* two pipelines in opposite directions at the same time */
    DSGD_PIPELINE_ZERO_BUBBLE, /* like 1f1b, with weight gradients in the bubbles (ZB-H1) */
    DSGD_PIPELINE_SWARM, /* several hosts per stage, of which a micro-batch uses any (SWARM) */
    DSGD_PIPELINE_KINDS,
    /* all earlier kinds have a fixed order */
    DSGD_PIPELINE_ORDERED = DSGD_PIPELINE_SWARM
} dsgd_pipeline_kind;

/**
 * The hosts of a worker: stages x shards x tensor hosts, or stages x peers hosts. The hosts of a
 * tensor group are consecutive, then the shards of a stage. A count of 0 means 1.
 */
typedef struct dsgd_inner {
    struct {
        int64_t stages, micro_batches; /* number of stages, and of micro-batches per job */
        int schedule; /* pipeline schedule, a dsgd_pipeline_kind */
        int64_t chunks; /* model chunks per host (INTERLEAVED) */
        int64_t peers; /* hosts per stage (SWARM) */
        int speeds; /* speeds of peers (SWARM); 0: known, 1: measured */
        double migrate_s; /* time between migrations of a peer (SWARM); 0: no migration */
        int64_t jobs; /* number of independent jobs, each with its part of the vector */
    } pipeline;
    int64_t tensor; /* hosts that share each layer of a stage (tensor parallelism) */
    int64_t shards; /* hosts that share the samples and the parameters of a stage (FSDP) */
    bool contention; /* whether messages within a worker contend with other messages */
    double activation_bytes; /* bytes of activations between two layers, per step; -1: derived, or
                              * unknown */
} dsgd_inner;

extern const char *const dsgd_pipeline_words[DSGD_PIPELINE_KINDS + 1]; /* ends with NULL */

/**
 * A workload. dsgd_workload_options fills it from a YAML file (traces/workloads/ or the user's).
 */
typedef struct dsgd_workload {
    const char *summary;
    const char *origin; /* sources of the numbers */
    dsgd_transformer transformer;
    dsgd_inner inner;
    double bytes; /* size of one gradient or model; 0 if tensors are given */
    double value_bytes; /* bytes per element in exchanges; 0 means 4 */
    dsgd_structs tensors; /* list of dsgd_tensors in backward order; if empty: `bytes` */
    double step_s; /* seconds of one step on one GPU, without `inherent`; -1: to be derived */
    double samples; /* samples per worker and step; -1: to be derived */
    const char *sample_unit; /* name of a sample, such as "images" or "tokens" */
    double backward_share; /* share of step_s, at its end, in which gradients become ready */
    dsgd_workload_memory memory; /* memory that contains gradients and models */
    dsgd_specs inherent; /* imbalance of the workload itself, of dsgd_imbalance_kinds */
} dsgd_workload;

/** A row of a tensor list: `count` tensors of `elements` elements each. */
typedef struct dsgd_tensors {
    int64_t elements;
    int64_t count;
    double uses; /* multiplications per element and sample in the forward pass */
    double sparse; /* elements of the rows in a sparse gradient; 0: a dense gradient */
} dsgd_tensors;

extern const dsgd_option dsgd_workload_options[];

/** Returns a count of `inner`. The value 0 (not given) means 1. */
static inline int64_t dsgd_at_least_one(int64_t n)
{
    return n > 1 ? n : 1;
}

/** Returns the number of hosts of a worker, as `inner` determines it. */
int dsgd_workload_hosts(const dsgd_workload *workload);

/** Returns the number of GPUs of a worker, for energy and cost. Each GPU has a NIC. */
int dsgd_workload_gpus(const dsgd_workload *workload);

/** Returns the bytes per element in an exchange. */
double dsgd_workload_value_bytes(const dsgd_workload *workload);

/**
 * Derives tensors, step, samples and unit from the transformer, unless they are given. If there is
 * no transformer, returns DSGD_EUSAGE if step or samples are missing.
 */
dsgd_status dsgd_workload_derive(dsgd_workload *workload, dsgd_error *error);

/**
 * Returns true if the step is derived from the default utilisation although `inner` simulates
 * communication. The default was measured for whole jobs, so it already includes this
 * communication.
 */
bool dsgd_workload_counts_twice(const dsgd_workload *workload);

/**
 * Returns DSGD_EUSAGE if not exactly one of bytes and tensors is given, or if `inner` is invalid.
 */
dsgd_status dsgd_workload_check(const dsgd_workload *workload, dsgd_error *error);

/** Returns the bytes of one gradient. */
double dsgd_workload_bytes(const dsgd_workload *workload);

typedef struct dsgd_buckets {
    double bytes, first_bytes; /* size of a bucket, and of the first one; first_bytes 0: the first
                                * bucket is like the others */
} dsgd_buckets;

/**
 * Splits one gradient into chunks, in backward order. A bucket collects whole tensors until it
 * reaches its size. Without buckets there are @p n_pieces equal chunks. If @p n_pieces is 0, too,
 * there is one chunk per tensor. Returns the number of chunks, and their sizes in *bytes, which the
 * caller frees.
 */
size_t dsgd_workload_pieces(const dsgd_workload *workload, size_t n_pieces, dsgd_buckets buckets,
                            double **bytes);

/**
 * Returns the bytes of the rows in the sparse gradient of tensor @p k, or 0 if the gradient is
 * dense.
 */
double dsgd_workload_sparse_bytes(const dsgd_workload *workload, size_t k);

/**
 * Returns the relative work of each chunk. Chunk k has bytes[k] bytes; the array has n_pieces
 * entries. The backward pass of a chunk takes the chunk's share of the total work. The caller frees
 * the array.
 */
double *dsgd_workload_work(const dsgd_workload *workload, size_t n_pieces, const double *bytes);
