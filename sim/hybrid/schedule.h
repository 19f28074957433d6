/**
 * @file schedule.h Schedules of pipelines: the order in which each host of a pipeline performs its
 * tasks, and the times of the tasks. This file depends neither on the engine nor on the network.
 * README.md derives closed forms of bubbles and memory.
 *
 * A pipeline has D hosts (swarm: K hosts per stage) and a model of D stages. Each of N
 * micro-batches goes forward and then backward through all stages. A host has one or more *slots*,
 * each with a part of the model. With gems and chimera, host d has stage d in slot 0. In slot 1 it
 * has stage D - 1 - d of a second pipeline that goes in the opposite direction. With interleaved,
 * host d has v chunks, and chunk c is part c D + d of the v D parts of the model. With all other
 * kinds, host d has stage d in its only slot.
 *
 * Micro-batches may belong to J independent jobs: the first N / J micro-batches to the first job,
 * and so on. Jobs do not wait for each other. Exception: with gpipe, a job waits for the flush of
 * the previous job.
 */
#pragma once

#include "traces/workload.h"

/** The properties of a pipeline that are the same in every step. */
typedef struct dsgd_pipeline_shape {
    dsgd_pipeline_kind kind;
    int64_t n_stages; /* D, number of stages and of hosts; must be even for chimera */
    /* N, number of micro-batches of all jobs in a step; must be a multiple of D for interleaved */
    int64_t n_micro_batches;
    int64_t n_chunks; /* v, number of chunks of a host; only interleaved reads it */
    int64_t n_jobs; /* J, number of jobs, which must divide N; 0 means 1 */
    /*
     * K, number of hosts of each stage for swarm, where host p of stage d is d K + p. For all other
     * kinds K is 1, or 0, which means 1.
     */
    int64_t n_stage_hosts;
} dsgd_pipeline_shape;

/**
 * Rejects a shape that its kind of pipeline does not allow. The message has no file name or line.
 */
dsgd_status dsgd_pipeline_check(const dsgd_pipeline_shape *shape, dsgd_error *error);

/**
 * The kind of a task. With zero-bubble, DSGD_BACKWARD computes only the gradient of the inputs, and
 * DSGD_WEIGHTS computes the gradient of the weights.
 */
typedef enum dsgd_pipeline_phase {
    DSGD_FORWARD,
    DSGD_BACKWARD,
    DSGD_WEIGHTS,
    /* phase of a task that a failure ended */
    DSGD_LOST
} dsgd_pipeline_phase;

typedef struct dsgd_pipeline_task {
    /* host and slot of the task, and part of the model, which dsgd_pipeline_part() returns */
    int32_t host, slot, part;
    int32_t micro_batch;
    /* index of the task whose message this task waits for; -1 if it waits for none */
    int32_t needs;
    /*
     * link of the needed message, which is an index of message_s; -1 if both tasks are on the same
     * host
     */
    int32_t link;
    int32_t before; /* index of the previous task on the same host; -1 for the first task */
    dsgd_pipeline_phase phase;
} dsgd_pipeline_task;

/** A schedule. It is made once and never changed, so several workers and threads can share it. */
typedef struct dsgd_pipeline {
    dsgd_pipeline_shape shape; /* shape, in which n_jobs and n_stage_hosts are at least 1 */
    int64_t n_slots; /* number of slots of a host: 1, 2 or v */
    /* number of tasks: 2 N D v for interleaved, 3 N D for zero-bubble, else 2 N D */
    int64_t n_tasks;
    /*
     * [n_tasks] all tasks; each task comes after the tasks that it waits for, and after the
     * previous task of its host. NULL for swarm, whose order of tasks differs from run to run
     * (swarm.h).
     */
    dsgd_pipeline_task *task;
    /*
     * [D] largest number of stored activations at a time, in micro-batches of a whole stage. An
     * activation is stored from the start of its forward pass to the end of its backward pass
     * (zero-bubble: to the end of the gradient of the weights). NULL for swarm.
     */
    double *held;
    /*
     * number of hosts that have the weights of a stage, and also number of stages of a host: 2 for
     * gems and chimera, else 1
     */
    int64_t weights;
} dsgd_pipeline;

/**
 * Makes the schedule of a shape that dsgd_pipeline_check() accepts, in O(n_tasks). The caller frees
 * it with dsgd_pipeline_free().
 */
dsgd_pipeline *dsgd_pipeline_new(const dsgd_pipeline_shape *shape);
void dsgd_pipeline_free(dsgd_pipeline *pipeline);

/**
 * Returns the part of the model that a host has in a slot. The model has D parts (interleaved: v
 * D), in forward order.
 */
int64_t dsgd_pipeline_part(const dsgd_pipeline_shape *shape, int64_t host, int64_t slot);

/** A task that has ended. */
typedef struct dsgd_pipeline_pass {
    int64_t host; /* index of the host that performs the task; for swarm, this is d K + p */
    int64_t micro_batch;
    dsgd_pipeline_phase phase;
    double since_s, end_s;
} dsgd_pipeline_pass;

/**
 * The absence of a host of swarm: from a failure until the host is repaired and has its state, or
 * during a move to another stage.
 */
typedef struct dsgd_absence {
    int64_t host;
    /*
     * start (may be negative), detection and end of the absence, in seconds since the start of the
     * step
     */
    double since_s, known_s, end_s;
    bool moves;
} dsgd_absence;

/**
 * The measured slowness of a host of swarm: a moving average and its weight. The weight is 0 if
 * nothing has been measured yet.
 */
typedef struct dsgd_measured {
    double mean, weight;
} dsgd_measured;

/** The durations of the tasks and messages of one step. The caller owns all arrays. */
typedef struct dsgd_pipeline_seconds {
    /*
     * [D] times of the forward and backward pass of a micro-batch in a stage; backward_s includes
     * the gradient of the weights
     */
    const double *forward_s, *backward_s;
    /*
     * time of the gradient of the weights, as a share of backward_s, from 0 to 1; only zero-bubble
     * reads it
     */
    double weights_share;
    /*
     * [D] Time of a message between hosts d and d + 1, in either direction. Element [D - 1] is the
     * time between hosts D - 1 and 0. NULL means that all times are 0.
     */
    const double *message_s;
    /*
     * [D] (swarm: [D][K]) factor of all computation times of each host; NULL means that all factors
     * are 1
     */
    const double *slowness;
    /*
     * The following members are for swarm.
     *
     * - stage_of[D K] is the stage of each host. If it is NULL, stage d has the hosts d K to d K +
     * K - 1.
     *
     * - measured[D K] has the measured slowness of each host, which the step updates. If it is
     * NULL, the true slowness is used.
     *
     * - away[n_away] has the absences, sorted by since_s. The absences of one host do not overlap.
     * At any time every stage has a running host.
     */
    const int32_t *stage_of;
    dsgd_measured *measured;
    const dsgd_absence *away; /* [n_away] absences of hosts, for swarm */
    int64_t n_away;
    /* function that is called for each task; may be NULL */
    void (*done)(void *listener, const dsgd_pipeline_pass *pass);
    void *listener;
} dsgd_pipeline_seconds;

typedef struct dsgd_pipeline_times {
    double makespan_s; /* time at which the last task of the step ends */
    /*
     * share of the hosts' time in which they are idle: 1 - busy seconds of all hosts / (D
     * makespan_s). With swarm the divisor is the sum of the times in which hosts run.
     */
    double bubble_share;
    double lost_s; /* busy seconds of the work that hosts must repeat */
} dsgd_pipeline_times;

/**
 * Computes the times of a step. A host performs one task at a time, in its order, and starts each
 * task as soon as the data that the task needs has arrived. Messages take no computation time of
 * hosts. The function makes one pass over the tasks and allocates no memory. Exception: swarm (see
 * dsgd_swarm_run()).
 * @param end_s [n_tasks] end of each task; the task starts dsgd_pipeline_task_s() earlier
 * @param gradient_s [D][n_slots][J] time at which a job's gradient is complete in the part of a
 * slot; 0 if no micro-batch of the job uses that slot
 */
dsgd_pipeline_times dsgd_pipeline_run(const dsgd_pipeline *pipeline,
                                      const dsgd_pipeline_seconds *seconds, double *end_s,
                                      double *gradient_s);

/** Returns the time of a task in seconds. */
double dsgd_pipeline_task_s(const dsgd_pipeline *pipeline, const dsgd_pipeline_seconds *seconds,
                            const dsgd_pipeline_task *task);
