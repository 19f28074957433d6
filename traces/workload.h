/**
 * @file workload.h
 * A workload: the network whose time is modelled. Its bytes, tensors, seconds per step and samples
 * per step. The reduced model that is trained is another one (models/).
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

typedef enum dsgd_workload_memory { DSGD_MEMORY_DEVICE, DSGD_MEMORY_HOST } dsgd_workload_memory;

/**
 * A language model, of which the rest of a workload follows (dsgd_workload_derive()): a token takes
 * 6 operations for each parameter and 12 width x sequence for the attention of each layer, forward
 * and backward (Chowdhery et al., "PaLM", 2022, appendix B). What is computed anew counts as less
 * use.
 */
typedef struct dsgd_transformer {
    double parameters; /* 0: the workload is none */
    int64_t layers; /* equal ones; a tensor each */
    double width; /* of the residual stream; 0: without the operations of attention */
    double sequence; /* tokens */
    double batch; /* sequences per worker and step */
    double gpu_flops; /* per second, at most */
    double utilisation; /* share of these that is reached (MFU) */
    int64_t gpus; /* of a worker, which hold a part of the model each and exchange that */
} dsgd_transformer;

/** Schedules of pipelines, as sim/hybrid/schedule.h has them. */
typedef enum dsgd_pipeline_kind {
    DSGD_PIPELINE_GPIPE, /* all forward, then all backward, the last micro-batch first */
    DSGD_PIPELINE_1F1B, /* a backward as soon as there is one, then a forward: DAPPLE */
    DSGD_PIPELINE_INTERLEAVED, /* 1f1b where each host has several chunks: Megatron-LM */
    DSGD_PIPELINE_GEMS, /* two pipelines in opposite directions, one micro-batch at a time */
    DSGD_PIPELINE_CHIMERA, /* two pipelines in opposite directions at once */
    DSGD_PIPELINE_ZERO_BUBBLE, /* 1f1b; gradients of weights fill the bubbles: ZB-H1 */
    DSGD_PIPELINE_SWARM, /* several hosts for each stage, of which a micro-batch takes any: SWARM */
    DSGD_PIPELINE_KINDS,
    DSGD_PIPELINE_ORDERED = DSGD_PIPELINE_SWARM /* kinds before have an order for each host */
} dsgd_pipeline_kind;

/**
 * A worker that is a group of hosts: stages x shards x tensor of them, those of one tensor group
 * next to each other, then the shards of a stage; or stages x peers. Counts of 0 are 1.
 */
typedef struct dsgd_inner {
    struct {
        int64_t stages, micro_batches; /* micro_batches: of each job */
        int schedule; /* a dsgd_pipeline_kind */
        int64_t chunks; /* of each stage, of the schedule that interleaves */
        int64_t peers; /* hosts of each stage, of the schedule that chooses among them, like ... */
        int speeds; /* ... 0: known, 1: measured */
        double migrate_s; /* ... and between two moves of a peer to another stage; 0: they stay */
        int64_t jobs; /* that are independent, each with its part of the vector */
    } pipeline;
    int64_t tensor; /* hosts that divide each layer of a stage, and sum what passes between its
                       halves */
    int64_t shards; /* that divide a stage's samples, and its layers' parameters but for their own
                       turn */
    bool contention; /* what passes among them meets other messages */
    double activation_bytes; /* of a step, from a layer to the next; -1: to derive, or not known */
} dsgd_inner;

extern const char *const dsgd_pipeline_words[DSGD_PIPELINE_KINDS + 1]; /* NULL-terminated */

/** Filled by dsgd_workload_options from a YAML file (traces/workloads/ or the user's own). */
typedef struct dsgd_workload {
    const char *summary;
    const char *origin; /* of the figures */
    dsgd_transformer transformer;
    dsgd_inner inner;
    double bytes; /* of one gradient or model; 0 where tensors are given */
    double value_bytes; /* of a number of them, as it is exchanged; 0: 4 */
    dsgd_structs tensors; /* of dsgd_tensors, in backward order; none: one tensor of `bytes` */
    double step_s; /* seconds of one step on one GPU, without what `inherent` adds; -1: to derive */
    double samples; /* per worker and step; -1: to derive */
    const char *sample_unit; /* "images", "tokens", ... */
    double backward_share; /* share of step_s, at its end, in which gradients become ready */
    dsgd_workload_memory memory; /* where gradients and models are */
    dsgd_specs inherent; /* imbalance that belongs to the workload, out of dsgd_imbalance_kinds */
} dsgd_workload;

/** A row of a tensor list: @c count tensors of @c elements numbers each. */
typedef struct dsgd_tensors {
    int64_t elements;
    int64_t count;
    double uses; /* multiplications of each element per sample, forward */
    double sparse; /* numbers of the rows that a step's gradient has; 0: it is dense */
} dsgd_tensors;

extern const dsgd_option dsgd_workload_options[];

/** Of a part of `inner`: 0, not given, is 1. */
static inline int64_t dsgd_at_least_one(int64_t n)
{
    return n > 1 ? n : 1;
}

/** Hosts of a worker, by `inner`. */
int dsgd_workload_hosts(const dsgd_workload *workload);

/** GPUs of a worker, with a NIC each: what it draws and costs. */
int dsgd_workload_gpus(const dsgd_workload *workload);

/** Bytes of a number as it is exchanged. */
double dsgd_workload_value_bytes(const dsgd_workload *workload);

/**
 * Sets what is not given of tensors, step, samples and unit, by the transformer; without one,
 * DSGD_EUSAGE where step or samples are not given.
 */
dsgd_status dsgd_workload_derive(dsgd_workload *workload, dsgd_error *error);

/**
 * Whether the step follows from the default utilisation, of whole jobs: what `inner` simulates is
 * in that already.
 */
bool dsgd_workload_counts_twice(const dsgd_workload *workload);

/** DSGD_EUSAGE where neither or both of bytes and tensors are given, or `inner` lacks what it
 * needs. */
dsgd_status dsgd_workload_check(const dsgd_workload *workload, dsgd_error *error);

/** Bytes of one gradient. */
double dsgd_workload_bytes(const dsgd_workload *workload);

typedef struct dsgd_buckets {
    double bytes, first_bytes; /* 0: of the first one like of the others */
} dsgd_buckets;

/**
 * Splits one gradient into pieces, in backward order: whole tensors until a bucket reaches its
 * size; if that is 0, @p n_pieces equal pieces; if that is 0 too, one per tensor. Returns the
 * number of pieces; *bytes has their sizes, the caller frees it.
 */
size_t dsgd_workload_pieces(const dsgd_workload *workload, size_t n_pieces, dsgd_buckets buckets,
                            double **bytes);

/**
 * Bytes of the rows of tensor @p k, of all in order, that a step's gradient has; 0: it is dense.
 */
double dsgd_workload_sparse_bytes(const dsgd_workload *workload, size_t k);

/**
 * Multiplications of each piece, to scale: the backward pass of a piece takes its share of their
 * sum. [n_pieces], as many as @p bytes has; the caller frees it.
 */
double *dsgd_workload_work(const dsgd_workload *workload, size_t n_pieces, const double *bytes);
