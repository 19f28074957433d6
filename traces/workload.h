/**
 * @file workload.h
 * Declares a workload: the neural network whose time is modelled, with its bytes, tensors, seconds
 * per step and samples per step. The reduced model that is trained is another network (models/).
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

typedef enum dsgd_workload_memory { DSGD_MEMORY_DEVICE, DSGD_MEMORY_HOST } dsgd_workload_memory;

/**
 * A language model. dsgd_workload_derive() derives the other numbers of a workload from it. A token
 * takes 6 operations per parameter, plus 12 x width x sequence operations for the attention of each
 * layer. Both numbers include the forward and the backward pass (Chowdhery et al., "PaLM", 2022,
 * appendix B). Recomputation counts as a lower utilisation.
 */
typedef struct dsgd_transformer {
    double parameters; /* number of parameters; 0 means that the workload is not a transformer */
    int64_t layers; /* number of equal layers; each layer is a tensor */
    double width; /* width of the residual stream; 0 means that attention is not counted */
    double sequence; /* number of tokens per sequence */
    double batch; /* number of sequences per worker and step */
    double gpu_flops; /* peak speed of a GPU in operations per second */
    double utilisation; /* fraction of the peak speed that training reaches (MFU) */
    int64_t gpus; /* number of GPUs of a worker; each GPU holds and exchanges a part of the model */
} dsgd_transformer;

/** Kinds of pipeline schedules. sim/hybrid/schedule.h implements these schedules. */
typedef enum dsgd_pipeline_kind {
    DSGD_PIPELINE_GPIPE, /* all forward passes, then all backward passes, starting with the last
                          * micro-batch */
    DSGD_PIPELINE_1F1B, /* a backward pass as soon as possible, then a forward pass (DAPPLE) */
    DSGD_PIPELINE_INTERLEAVED, /* like 1f1b, with several model chunks per host (Megatron-LM) */
    DSGD_PIPELINE_GEMS, /* two pipelines in opposite directions, with one micro-batch at a time */
    DSGD_PIPELINE_CHIMERA, /* two pipelines in opposite directions at the same time */
    DSGD_PIPELINE_ZERO_BUBBLE, /* like 1f1b, but weight gradients fill the bubbles (ZB-H1) */
    DSGD_PIPELINE_SWARM, /* several hosts per stage; a micro-batch uses any host of a stage (SWARM)
                          */
    DSGD_PIPELINE_KINDS,
    /* first kind without a fixed order; all earlier kinds have a fixed order */
    DSGD_PIPELINE_ORDERED = DSGD_PIPELINE_SWARM
} dsgd_pipeline_kind;

/**
 * The hosts of a worker. There are stages x shards x tensor hosts, or stages x peers hosts. The
 * hosts of a tensor group have consecutive numbers. The shards of a stage follow each other. A
 * count of 0 means 1.
 */
typedef struct dsgd_inner {
    struct {
        int64_t stages, micro_batches; /* number of stages, and number of micro-batches per job */
        int schedule; /* pipeline schedule, a value of dsgd_pipeline_kind */
        int64_t chunks; /* number of model chunks per host (INTERLEAVED) */
        int64_t peers; /* number of hosts per stage (SWARM) */
        int speeds; /* speeds of peers (SWARM): 0 if the speeds are known, 1 if they are measured */
        double migrate_s; /* time between two migrations of a peer (SWARM); 0 means no migration */
        int64_t jobs; /* number of independent jobs; each job has its own part of the vector */
    } pipeline;
    int64_t tensor; /* number of hosts that share each layer of a stage (tensor parallelism) */
    /* number of hosts that share the samples and the parameters of a stage (FSDP) */
    int64_t shards;
    bool contention; /* true if messages within a worker share bandwidth with other messages */
    double activation_bytes; /* bytes of activations between two layers, per step; -1 if derived or
                              * unknown */
} dsgd_inner;

/* names of pipeline schedules; the last entry is NULL */
extern const char *const dsgd_pipeline_words[DSGD_PIPELINE_KINDS + 1];

/**
 * A workload. dsgd_workload_options reads it from a YAML file (in traces/workloads/, or the user's
 * file).
 */
typedef struct dsgd_workload {
    const char *summary;
    const char *origin; /* sources of the workload's numbers */
    dsgd_transformer transformer;
    dsgd_inner inner;
    double bytes; /* size of one gradient or model in bytes; 0 if a list of tensors is given */
    double value_bytes; /* number of bytes per element in exchanges; 0 means 4 */
    dsgd_structs tensors; /* list of dsgd_tensors in backward order; if the list is empty, `bytes`
                           * is used */
    double step_s; /* time of one step on one GPU in seconds, without `inherent`; -1 if it must be
                    * derived */
    double samples; /* number of samples per worker and step; -1 if it must be derived */
    const char *sample_unit; /* name of a sample, such as "images" or "tokens" */
    double backward_share; /* share of step_s in which gradients become ready; it is the last part
                            * of the step */
    dsgd_workload_memory memory; /* memory that contains gradients and models */
    dsgd_specs inherent; /* list of imbalance entries that belong to the workload itself, from
                          * dsgd_imbalance_kinds */
} dsgd_workload;

/** A row of a tensor list: `count` tensors of `elements` elements each. */
typedef struct dsgd_tensors {
    int64_t elements;
    int64_t count;
    double uses; /* number of multiplications per element and sample in the forward pass */
    double sparse; /* number of elements in the rows of a sparse gradient; 0 if the gradient is
                    * dense */
} dsgd_tensors;

extern const dsgd_option dsgd_workload_options[];

/** Returns a count of option `inner`. The value 0 (not given) means 1. */
static inline int64_t dsgd_at_least_one(int64_t n)
{
    return n > 1 ? n : 1;
}

/** Returns the number of hosts of a worker, which option `inner` determines. */
int dsgd_workload_hosts(const dsgd_workload *workload);

/** Returns the number of GPUs of a worker, for energy and cost. Each GPU has a NIC. */
int dsgd_workload_gpus(const dsgd_workload *workload);

/** Returns the number of bytes per element in an exchange. */
double dsgd_workload_value_bytes(const dsgd_workload *workload);

/**
 * Derives tensors, step, samples and unit from the transformer, unless they are given. If there is
 * no transformer and step or samples are missing, returns DSGD_EUSAGE.
 */
dsgd_status dsgd_workload_derive(dsgd_workload *workload, dsgd_error *error);

/**
 * Returns true if communication counts twice. This is the case if the step is derived from the
 * default utilisation although `inner` simulates communication. The default utilisation was
 * measured for whole jobs, so it already includes this communication.
 */
bool dsgd_workload_counts_twice(const dsgd_workload *workload);

/**
 * Returns DSGD_EUSAGE if both or neither of bytes and tensors are given, or if `inner` is invalid.
 */
dsgd_status dsgd_workload_check(const dsgd_workload *workload, dsgd_error *error);

/** Returns the size of one gradient in bytes. */
double dsgd_workload_bytes(const dsgd_workload *workload);

typedef struct dsgd_buckets {
    double bytes, first_bytes; /* bytes: size of a bucket; first_bytes: size of the first bucket, 0
                                * if it equals the others */
} dsgd_buckets;

/**
 * Splits one gradient into chunks, in backward order. A bucket collects whole tensors until it
 * reaches its size. Without buckets there are @p n_pieces equal chunks. If there are no buckets and
 * @p n_pieces is 0, each tensor is a chunk. Returns the number of chunks and stores their sizes in
 * *bytes. The caller frees *bytes.
 */
size_t dsgd_workload_pieces(const dsgd_workload *workload, size_t n_pieces, dsgd_buckets buckets,
                            double **bytes);

/**
 * Returns the size of the rows in the sparse gradient of tensor @p k, in bytes. Returns 0 if the
 * gradient is dense.
 */
double dsgd_workload_sparse_bytes(const dsgd_workload *workload, size_t k);

/**
 * Returns the relative work of each chunk. Chunk k has bytes[k] bytes; the array has n_pieces
 * entries. The share of a chunk in the total work is its share of the backward pass. The caller
 * frees the array.
 */
double *dsgd_workload_work(const dsgd_workload *workload, size_t n_pieces, const double *bytes);
