/**
 * @file replica.h A worker that is a group of hosts (`workload: inner`). The functions compute
 * which host has which part of the model, and at which time in a step the gradients are ready. This
 * file depends neither on the engine nor on the network. The caller passes the times of the
 * messages inside the worker.
 *
 * Host h of a worker belongs to stage h / (shards x tensor), or with swarm to stage h / K. Its
 * index in its tensor group is h % tensor. The model has one part per stage of the pipeline or,
 * with interleaved, one part per chunk of a stage. All parts have the same number of layers of the
 * transformer or, if there is no transformer, the same number of bytes. With several jobs, each job
 * has its own parts, and all jobs have equal shares of the vector. The first job's parts are at the
 * end of the vector, because the backward order starts at the end.
 */
#pragma once

#include "sim/hybrid/schedule.h"
#include "traces/workload.h"

typedef struct dsgd_replica {
    const dsgd_inner *inner;
    int n_hosts; /* number of hosts of a worker */
    int n_stages, n_tensor;
    /*
     * number of shards of a stage; with swarm, the number K of hosts of a stage, each of which has
     * the whole stage
     */
    int n_shards;
    int n_stage_hosts; /* with swarm, number K of hosts of a stage; else 1 */
    int n_beside; /* number of hosts of a stage, including tensor groups and shards */
    /*
     * Number of groups of hosts that compute a micro-batch together. With swarm each host is a
     * group; otherwise each stage is a group.
     */
    int n_groups;
    /* times of the forward and backward pass of a micro-batch on a host that has all layers */
    double forward_s, backward_s;
    size_t n_parts; /* number of parts of the vector; parts are in forward order */
    size_t n_parts_each; /* number of parts of each job */
    /* [n_parts + 1] share of the model that precedes each part; the last element is 1 */
    double *begin;
    /*
     * [n_stages] number of layers of the transformer on each host of a stage; 1 without a
     * transformer
     */
    double *layers;
    double *share; /* [n_stages] share of the model on each host of a stage */
    dsgd_pipeline *pipeline;
    /* scratch memory for the results of a step: see dsgd_pipeline_run() */
    double *end_s, *gradient_s, *seconds;
    double *slowness; /* [n_groups] scratch memory of the caller for the slowness of the groups */
} dsgd_replica;

/**
 * The times of messages inside a worker, if no other messages compete with them. Each array has
 * n_stages elements.
 */
typedef struct dsgd_replica_costs {
    /* time to send a micro-batch to the next stage, as in dsgd_pipeline_seconds */
    double *message_s;
    double *sum_s; /* time to sum the data of a micro-batch in a layer over the tensor group */
    double *gather_s,
        /* times to gather a layer's parameters, and to scatter its gradient, over the shards */
        *scatter_s;
    /*
     * time to sum a job's gradients of a stage over the two hosts that have the stage (with swarm:
     * over K hosts)
     */
    double *merge_s;
    double *copy_s; /* time to copy the state of a stage from one of its hosts to another */
} dsgd_replica_costs;

/** A stream: the bytes that a host sends to another host of its worker in each step. */
typedef struct dsgd_inner_stream {
    int from, to; /* numbers of the hosts in the cluster */
    bool on_wires; /* true if the bytes use the network, because the hosts are on different nodes */
    double bytes;
} dsgd_inner_stream;

/** The state of one worker that is a group of hosts: its messages, and its last step. */
typedef struct dsgd_replica_state {
    dsgd_replica_costs costs;
    size_t n_streams;
    dsgd_inner_stream *streams; /* [n_streams] streams of each step */
    double *slow; /* [n_stages] slowness of each stage, summed over all steps of the worker */
    double *lane_slow; /* [n_hosts] slowness of each host, summed over all steps of the worker */
    /*
     * [n_groups] slowness of each group in the last step; the following members were computed from
     * it
     */
    double *slowness;
    bool is_current; /* true if a step with the same slowness would give the same results */
    double step_s, bubble_share;
    double lost_s; /* time that hosts of the worker spent on work that failures made worthless */
    /*
     * The following members are for swarm. The array `away` lists the hosts that are absent during
     * the step.
     */
    int32_t *stage_of; /* [n_groups] stage of each host */
    int64_t n_away;
    dsgd_absence *away; /* [n_away] absences; the caller owns the array */
    /* [n_groups] measured speeds of the hosts before the step, and after the step */
    dsgd_measured *measured, *measured_then;
    /*
     * ready_s: [n_parts] time from the start of the step until the gradient of a part is complete.
     * tail_s: [n_parts] length of the last period of ready_s, during which the layers' gradients
     * become complete one after another, from the last layer on.
     */
    double *ready_s, *tail_s;
} dsgd_replica_state;

/**
 * Sets *replica to the description of a worker, or to NULL if a worker is one host. Rejects
 * pipelines that are impossible.
 */
dsgd_status dsgd_replica_open(const dsgd_workload *workload, dsgd_replica **replica,
                              dsgd_error *error);
/** Frees @p replica, which may be NULL. */
void dsgd_replica_close(dsgd_replica *replica);

/** Makes the state of a worker. The costs of all messages are 0. */
dsgd_replica_state *dsgd_replica_state_new(const dsgd_replica *replica);
void dsgd_replica_state_free(dsgd_replica_state *member);

/**
 * Cuts the chunks of a vector at the borders of parts. The chunks are in backward order. Frees the
 * old array and stores a new one in *bytes. Returns the new number of chunks.
 */
size_t dsgd_replica_cut(const dsgd_replica *replica, size_t n, double **bytes);

/**
 * Returns the part of the model at a position of the vector. The position is a share of the vector,
 * in backward order. dsgd_replica_stage() returns the stage that exchanges a part.
 */
size_t dsgd_replica_part(const dsgd_replica *replica, double share);
static inline int dsgd_replica_stage(const dsgd_replica *replica, size_t part)
{
    return (int)(part % (size_t)replica->n_stages);
}

/**
 * Computes the times of a step and stores them in @p member. Does nothing if @p member already
 * contains these times.
 * @param slowness [n_groups] factor of all computation times of each group of hosts
 */
void dsgd_replica_step(const dsgd_replica *replica, dsgd_replica_state *member,
                       const double *slowness);

/** Returns the forward and backward time of a micro-batch in a stage, on a host with slowness 1. */
double dsgd_replica_work_s(const dsgd_replica *replica, const dsgd_replica_state *member,
                           int stage);

/** Ends the step. The next step starts with the measured speeds of this step. */
void dsgd_replica_next(const dsgd_replica *replica, dsgd_replica_state *member);

/**
 * Calls done() for each pass of the last step. In these calls, the host of a pass is the index of a
 * group, below n_groups. The times of a pass are in seconds since the start of the step.
 */
void dsgd_replica_watch(const dsgd_replica *replica, const dsgd_replica_state *member,
                        void (*done)(void *listener, const dsgd_pipeline_pass *pass),
                        void *listener);

/**
 * Returns the slowness of a stage in the last step. With swarm the slowness is K, divided by the
 * sum of the speeds of the stage's running hosts.
 */
double dsgd_replica_slowness(const dsgd_replica *replica, const dsgd_replica_state *member,
                             int stage);

/** State of a run whose workers are groups of hosts. */
typedef struct dsgd_hybrid {
    dsgd_replica *replica; /* description of each worker; NULL if a worker is one host */
    /* state of the hosts that fail and move; NULL if all hosts run and stay in their stages */
    struct dsgd_stage_hosts *stage_hosts;
    /*
     * true if messages inside workers compete with other messages for the network (written by
     * inner_messages.c)
     */
    bool on_wires;
} dsgd_hybrid;
