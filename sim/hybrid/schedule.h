/**
 * @file schedule.h Schedules of pipelines: the order in which each host of a pipeline performs its
 * tasks, and the times of the tasks. This file depends neither on the engine nor on the network.
 * README.md derives closed forms of bubbles and memory.
 *
 * A pipeline has D hosts (swarm: K hosts per stage) and a model of D stages. Each of N
 * micro-batches goes forward and then backward through all stages. A host has one or more *slots*,
 * each with a part of the model. With gems and chimera, host d has stage d in slot 0 and, in slot
 * 1, stage D - 1 - d of a second pipeline that goes the other way. With interleaved, host d has v
 * chunks, and chunk c is part c D + d of the v D parts of the model. With all other kinds host d
 * has stage d in its only slot.
 *
 * Micro-batches may belong to J independent jobs: the first N / J to the first job, and so on. Jobs
 * do not wait for each other (gpipe: for each other's flush).
 */
#pragma once

#include "traces/workload.h"

/** The properties of a pipeline that are the same in every step. */
typedef struct dsgd_pipeline_shape {
    dsgd_pipeline_kind kind;
    int64_t n_stages; /* D, also the number of hosts; even for chimera */
    /* N, number of micro-batches of all jobs in a step; a multiple of D for interleaved */
    int64_t n_micro_batches;
    int64_t n_chunks; /* v, number of chunks of a host; used only by interleaved */
    int64_t n_jobs; /* J, number of jobs, which divides N; 0 means 1 */
    /*
     * K, number of hosts of a stage of swarm, in which host p of stage d is d K + p; 0 means 1, as
     * for all other kinds
     */
    int64_t n_stage_hosts;
} dsgd_pipeline_shape;

/** Rejects a shape that its kind does not allow. The sentence has no file name or line. */
dsgd_status dsgd_pipeline_check(const dsgd_pipeline_shape *shape, dsgd_error *error);

/**
 * The kind of a task. With zero-bubble, BACKWARD computes only the gradient of the inputs, and
 * WEIGHTS the gradient of the weights.
 */
typedef enum dsgd_pipeline_phase {
    DSGD_FORWARD,
    DSGD_BACKWARD,
    DSGD_WEIGHTS,
    DSGD_LOST /* task that a failure ended */
} dsgd_pipeline_phase;

typedef struct dsgd_pipeline_task {
    int32_t host, slot, part; /* host, slot and part of the model: dsgd_pipeline_part() */
    int32_t micro_batch;
    int32_t needs; /* index of the task whose message it waits for; -1 if there is none */
    /* link of the message, an index of message_s; -1 if both tasks are on the same host */
    int32_t link;
    int32_t before; /* index of the task before it on its host; -1 if there is none */
    dsgd_pipeline_phase phase;
} dsgd_pipeline_task;

/** A schedule. It is made once and never changed, so pipelines and threads can share it. */
typedef struct dsgd_pipeline {
    dsgd_pipeline_shape shape; /* n_jobs and n_stage_hosts are 1 or more */
    int64_t n_slots; /* slots of a host: 1, 2 or v */
    int64_t n_tasks; /* number of tasks: 2 N D; 2 N D v for interleaved, 3 N D for zero-bubble */
    /* [n_tasks]; every task follows the tasks that it waits for, and the tasks of a host are in its
     * order. NULL for swarm, whose order, and so whose memory, differs from run to run (swarm.h).
     */
    dsgd_pipeline_task *task;
    /* [D] peak number of stored activations, in micro-batches of a whole stage. An activation is
     * stored from the start of its forward pass to the end of its backward pass (zero-bubble: of
     * the gradient of the weights). */
    double *held;
    /* copies of each stage's weights, and stages per host: 1; 2 for gems and chimera */
    int64_t weights;
} dsgd_pipeline;

/**
 * Makes the schedule of a shape that dsgd_pipeline_check() accepts, in O(n_tasks). The caller frees
 * it with dsgd_pipeline_free().
 */
dsgd_pipeline *dsgd_pipeline_new(const dsgd_pipeline_shape *shape);
void dsgd_pipeline_free(dsgd_pipeline *pipeline);

/**
 * Returns which of the D (interleaved: v D) parts of the model, in forward order, a host has in a
 * slot.
 */
int64_t dsgd_pipeline_part(const dsgd_pipeline_shape *shape, int64_t host, int64_t slot);

/** A task that has ended. */
typedef struct dsgd_pipeline_pass {
    int64_t host; /* index of the host; d K + p for swarm */
    int64_t micro_batch;
    dsgd_pipeline_phase phase;
    double since_s, end_s;
} dsgd_pipeline_pass;

/**
 * The absence of a host of swarm: from a failure until it is repaired and has its state, or during
 * a move to another stage.
 */
typedef struct dsgd_absence {
    int64_t host;
    /*
     * times since the start of the step: start (may be negative), detection, and end of the absence
     */
    double since_s, known_s, end_s;
    bool moves;
} dsgd_absence;

/**
 * A measurement of a host's slowness for swarm: a moving average and its weight. The weight is 0 if
 * nothing has been measured.
 */
typedef struct dsgd_measured {
    double mean, weight;
} dsgd_measured;

/** The times of one step. The caller owns all arrays. */
typedef struct dsgd_pipeline_seconds {
    /* [D] time of one micro-batch in a stage; backward_s includes the gradient of the weights */
    const double *forward_s, *backward_s;
    /* share of the gradient of the weights in backward_s, from 0 to 1; for zero-bubble */
    double weights_share;
    /*
     * [D] time of one message between hosts d and d + 1, in either direction; [D - 1] is for hosts
     * D - 1 and 0; NULL means 0
     */
    const double *message_s;
    /* [D] (swarm: [D][K]) factor of all computation times of a host; NULL means 1 */
    const double *slowness;
    /*
     * For swarm:
     * - stage_of[D K] is the stage of each host; NULL: stage d has the hosts d K to d K + K - 1.
     * - measured[D K] has the measurements, which the step updates; NULL: the slowness is known.
     * - away[n_away] has the absences, sorted by since_s; those of one host do not overlap. At any
     *   time every stage has a running host.
     */
    const int32_t *stage_of;
    dsgd_measured *measured;
    const dsgd_absence *away; /* [n_away] absences */
    int64_t n_away;
    void (*done)(void *listener,
                 const dsgd_pipeline_pass *pass); /* called for each task; may be NULL */
    void *listener;
} dsgd_pipeline_seconds;

typedef struct dsgd_pipeline_times {
    double makespan_s; /* end of the last task */
    /*
     * 1 - busy seconds of all hosts / (D makespan_s); for swarm, / the seconds in which hosts run
     */
    double bubble_share;
    double lost_s; /* busy seconds of work that is repeated */
} dsgd_pipeline_times;

/**
 * Computes the times of a step. A host performs one task at a time, in its order, and starts each
 * task as soon as the data that it needs has arrived. Messages take no time of their hosts. One
 * pass over the tasks, without allocations (swarm: dsgd_swarm_run()).
 * @param end_s [n_tasks] end of each task (which started dsgd_pipeline_task_s() before).
 * @param gradient_s [D][n_slots][J] time at which a job's gradient of the part in a slot is
 * complete; 0 if none of the job's micro-batches goes there.
 */
dsgd_pipeline_times dsgd_pipeline_run(const dsgd_pipeline *pipeline,
                                      const dsgd_pipeline_seconds *seconds, double *end_s,
                                      double *gradient_s);

/** Returns the seconds of a task. */
double dsgd_pipeline_task_s(const dsgd_pipeline *pipeline, const dsgd_pipeline_seconds *seconds,
                            const dsgd_pipeline_task *task);
