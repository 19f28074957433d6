/**
 * @file replica.h A worker that is a group of hosts (`workload: inner`): which host has which part
 * of the model, and when in a step its gradients are ready. This file depends neither on the engine
 * nor on the network. The caller passes the times of the messages inside the worker.
 *
 * Host h of a worker belongs to stage h / (shards x tensor), or with swarm to stage h / K. Its
 * index in its tensor group is h % tensor. The model has one part per stage of the pipeline or,
 * with interleaved, per chunk of a stage. All parts have the same number of layers of the
 * transformer or, if there is no transformer, the same number of bytes. With several jobs each job
 * has its own parts, which are an equal share of the vector. The first job's parts are at the end
 * of the vector, because a backward order begins with them.
 */
#pragma once

#include "sim/hybrid/schedule.h"
#include "traces/workload.h"

typedef struct dsgd_replica {
    const dsgd_inner *inner;
    int n_hosts; /* hosts of a worker */
    int n_stages, n_tensor;
    /* shards of a stage; with swarm, its K hosts, each of which has the whole stage */
    int n_shards;
    int n_stage_hosts; /* K for swarm, else 1 */
    int n_beside; /* hosts of a stage */
    /*
     * groups of hosts that compute a micro-batch together: stages, or with swarm the hosts of
     * stages
     */
    int n_groups;
    double forward_s, backward_s; /* times of a micro-batch on a host that has all layers */
    size_t n_parts; /* parts of the vector, in forward order */
    size_t n_parts_each; /* parts of each job */
    double *begin; /* [n_parts + 1] share of the model before each part; the last is 1 */
    /* [n_stages] layers of the transformer on each host of a stage; 1 without a transformer */
    double *layers;
    double *share; /* [n_stages] share of the model on each host of a stage */
    dsgd_pipeline *pipeline;
    double *end_s, *gradient_s, *seconds; /* results of a step: see dsgd_pipeline_run() */
    double *slowness; /* [n_groups] slowness of the groups, for the caller's use */
} dsgd_replica;

/**
 * The times of messages inside a worker without other traffic; each array has n_stages elements.
 */
typedef struct dsgd_replica_costs {
    double *message_s; /* message of a micro-batch to the next stage: dsgd_pipeline_seconds */
    double *sum_s; /* sum over the tensor group of a micro-batch's data in a layer */
    double *gather_s,
        /* gather of a layer's parameters, and scatter of its gradient, over the shards */
        *scatter_s;
    /* sum of a job's gradients of a stage that two hosts have (with swarm: K hosts) */
    double *merge_s;
    double *copy_s; /* copy of a stage's state from one of its hosts to another */
} dsgd_replica_costs;

/** The bytes that a host sends to another host of its worker in a step. */
typedef struct dsgd_inner_stream {
    int from, to; /* hosts of the cluster */
    bool on_wires; /* true if the hosts share no island */
    double bytes;
} dsgd_inner_stream;

/** The state of one worker: its messages, and its last step. */
typedef struct dsgd_replica_state {
    dsgd_replica_costs costs;
    size_t n_streams;
    dsgd_inner_stream *streams; /* [n_streams] streams of a step */
    double *slow; /* [n_stages] sum of the slowness of a stage over the worker's steps */
    double *lane_slow; /* [n_hosts] sum of the slowness of a host over the worker's steps */
    double *slowness; /* [n_groups] slowness from which the following members were computed */
    bool is_current; /* true if another step with this slowness gives the same results */
    double step_s, bubble_share;
    double lost_s; /* time of its hosts for work that was repeated */
    /*
     * For swarm: the stage of each host, the hosts that are away in the step, and the measured
     * speeds before and after it.
     */
    int32_t *stage_of; /* [n_groups] stage of each host */
    int64_t n_away;
    dsgd_absence *away; /* [n_away] absences, owned by the caller */
    dsgd_measured *measured, *measured_then; /* [n_groups] before and after */
    /*
     * [n_parts] time from the start of the step until the gradient of a part is complete, and
     * length of the period at the end of that time in which the gradient becomes complete, from its
     * last layer on.
     */
    double *ready_s, *tail_s;
} dsgd_replica_state;

/**
 * Sets *replica to the description of a worker, or to NULL if a worker is one host. Rejects
 * pipelines that are not possible.
 */
dsgd_status dsgd_replica_open(const dsgd_workload *workload, dsgd_replica **replica,
                              dsgd_error *error);
/** Frees @p replica, which may be NULL. */
void dsgd_replica_close(dsgd_replica *replica);

/** Makes the state of a worker, with costs of 0. */
dsgd_replica_state *dsgd_replica_state_new(const dsgd_replica *replica);
void dsgd_replica_state_free(dsgd_replica_state *member);

/**
 * Cuts the chunks of a vector, in backward order, at the borders between parts. Frees the old
 * array. Returns the new number of chunks.
 */
size_t dsgd_replica_cut(const dsgd_replica *replica, size_t n, double **bytes);

/**
 * Returns the part at a position of the vector, given as a share of the vector in backward order.
 * dsgd_replica_stage() returns the stage that exchanges a part.
 */
size_t dsgd_replica_part(const dsgd_replica *replica, double share);
static inline int dsgd_replica_stage(const dsgd_replica *replica, size_t part)
{
    return (int)(part % (size_t)replica->n_stages);
}

/**
 * Computes step_s and all that depends on it, unless the state has them already.
 * @param slowness [n_groups] factors of all computation times of the hosts of a group
 */
void dsgd_replica_step(const dsgd_replica *replica, dsgd_replica_state *member,
                       const double *slowness);

/**
 * Returns the seconds of a micro-batch in a stage, forward and backward, on a host that is not
 * slow.
 */
double dsgd_replica_work_s(const dsgd_replica *replica, const dsgd_replica_state *member,
                           int stage);

/** Ends the step: the next step begins with the measurements of this one. */
void dsgd_replica_next(const dsgd_replica *replica, dsgd_replica_state *member);

/**
 * Calls done() for each pass of the last step. The host of a pass is one of n_groups; its times are
 * in seconds since the start of the step.
 */
void dsgd_replica_watch(const dsgd_replica *replica, const dsgd_replica_state *member,
                        void (*done)(void *listener, const dsgd_pipeline_pass *pass),
                        void *listener);

/**
 * Returns the slowness of a stage in the last step. With swarm it is K, divided by the sum of the
 * speeds of the stage's running hosts.
 */
double dsgd_replica_slowness(const dsgd_replica *replica, const dsgd_replica_state *member,
                             int stage);

/** The workers of a run that are groups of hosts. */
typedef struct dsgd_hybrid {
    dsgd_replica *replica; /* description of a worker; NULL if a worker is one host */
    /* hosts that fail and move; NULL if all hosts run and stay in their stages */
    struct dsgd_stage_hosts *stage_hosts;
    /* true if messages inside workers compete with other messages (written by inner_messages.c) */
    bool on_wires;
} dsgd_hybrid;
