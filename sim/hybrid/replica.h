/**
 * @file replica.h
 * A worker that is a group of hosts (`workload: inner`): which of them has which part of the model,
 * and when in a step its gradients are ready. It knows neither engine nor network: the caller
 * passes the times of messages inside the worker.
 *
 * Host h of a worker belongs to stage h / (shards x tensor); with swarm to stage h / K. h % tensor
 * is its place in its tensor group. The model has as many parts as the pipeline has stages, or
 * chunks of these; each has an even number of the transformer's layers, or of the bytes. Of several
 * jobs each has such parts of its own, an even share of the vector, the first job's at its end: a
 * backward order begins with them.
 */
#pragma once

#include "sim/hybrid/schedule.h"
#include "traces/workload.h"

typedef struct dsgd_replica {
    const dsgd_inner *inner;
    int n_hosts; /* of a worker */
    int n_stages, n_tensor;
    int n_shards; /* of a stage; with swarm its K hosts, each of which has all of it */
    int n_stage_hosts; /* K of swarm; else 1 */
    int n_beside; /* hosts of a stage */
    int n_groups; /* of hosts that compute a micro-batch: stages, or hosts of stages with swarm */
    double forward_s, backward_s; /* of a host that has all layers, with a micro-batch */
    size_t n_parts; /* of the vector, in the order of the forward pass; ... */
    size_t n_parts_each; /* ... and of each job's */
    double *begin; /* [n_parts + 1] share of the model before each; the last is 1 */
    double *layers; /* [n_stages] of the transformer, on each host of a stage; 1 without one */
    double *share; /* [n_stages] of the model, likewise */
    dsgd_pipeline *pipeline;
    double *end_s, *gradient_s, *seconds; /* of an evaluation */
    double *slowness; /* [n_groups] for who draws it */
} dsgd_replica;

/** Seconds of messages inside a worker with nothing else on the wires, each [n_stages]. */
typedef struct dsgd_replica_costs {
    double *message_s; /* of a micro-batch to the next stage: dsgd_pipeline_seconds */
    double *sum_s; /* of what a micro-batch has in a layer, over the tensor group */
    double *gather_s,
        *scatter_s; /* of a layer's parameters, and of its gradient, over the shards */
    double *merge_s; /* of a job's gradients of a stage that two hosts have, or K with swarm */
    double *copy_s; /* of a stage's state from one of its hosts to another */
} dsgd_replica_costs;

/** What a host sends another of its worker in a step. */
typedef struct dsgd_inner_stream {
    int from, to; /* hosts of the cluster */
    bool on_wires; /* not inside an island */
    double bytes;
} dsgd_inner_stream;

/** Of one worker: its messages, and its last step. */
typedef struct dsgd_replica_state {
    dsgd_replica_costs costs;
    size_t n_streams;
    dsgd_inner_stream *streams; /* [n_streams] */
    double *slow; /* [n_stages] sum of slowness over its steps */
    double *lane_slow; /* [n_hosts] of each host, likewise */
    double *slowness; /* [n_groups] of which the rest follows, ... */
    bool is_current; /* ... as of any next step of that slowness */
    double step_s, bubble_share;
    double lost_s; /* of its hosts: what was done again */
    /* With swarm: the stage of each host, hosts that are away in the step, and measured speeds
     * before and after it. */
    int32_t *stage_of; /* [n_groups] */
    int64_t n_away;
    dsgd_absence *away; /* [n_away] the caller's */
    dsgd_measured *measured, *measured_then; /* [n_groups] */
    double *
        ready_s; /* [n_parts] when the gradient of a part is complete, from the step's begin; ... */
    double
        *tail_s; /* ... and in so many seconds before that it becomes so, from its last layer on */
} dsgd_replica_state;

/** NULL: a worker is one host. Refuses a pipeline that there is not. */
dsgd_status dsgd_replica_open(const dsgd_workload *workload, dsgd_replica **replica,
                              dsgd_error *error);
/** May be NULL. */
void dsgd_replica_close(dsgd_replica *replica);

/** With costs of 0. */
dsgd_replica_state *dsgd_replica_state_new(const dsgd_replica *replica);
void dsgd_replica_state_free(dsgd_replica_state *member);

/** Cuts pieces of a vector, in backward order, where another part begins; frees the old array.
 * Returns how many there are then. */
size_t dsgd_replica_cut(const dsgd_replica *replica, size_t n, double **bytes);

/** The part at a share of the vector, in backward order; and the stage that exchanges it. */
size_t dsgd_replica_part(const dsgd_replica *replica, double share);
static inline int dsgd_replica_stage(const dsgd_replica *replica, size_t part)
{
    return (int)(part % (size_t)replica->n_stages);
}

/**
 * Sets step_s and what follows it, unless they are of such a step already.
 * @param slowness [n_groups] factors of all that the hosts of a group compute
 */
void dsgd_replica_step(const dsgd_replica *replica, dsgd_replica_state *member,
                       const double *slowness);

/** Seconds of a micro-batch in a stage, both ways, of a host that is not slow. */
double dsgd_replica_work_s(const dsgd_replica *replica, const dsgd_replica_state *member,
                           int stage);

/** The last step is made: the next one begins with what was measured in it. */
void dsgd_replica_next(const dsgd_replica *replica, dsgd_replica_state *member);

/** Tells of each pass of the last step, whose host is one of n_groups, in seconds from the step's
 * begin. */
void dsgd_replica_watch(const dsgd_replica *replica, const dsgd_replica_state *member,
                        void (*done)(void *listener, const dsgd_pipeline_pass *pass),
                        void *listener);

/**
 * Slowness of a stage in the last step. With swarm: K, divided by the sum of speeds of its running
 * hosts.
 */
double dsgd_replica_slowness(const dsgd_replica *replica, const dsgd_replica_state *member,
                             int stage);

/** Workers of a run that are groups of hosts. */
typedef struct dsgd_hybrid {
    dsgd_replica *replica; /* NULL: a worker is one host */
    struct dsgd_stage_hosts *stage_hosts; /* NULL: all run, and stay in their stages */
    bool on_wires; /* messages inside workers meet other messages; inner_messages.c's */
} dsgd_hybrid;
