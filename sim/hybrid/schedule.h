/**
 * @file schedule.h
 * Schedules of pipelines: the order in which each host of a pipeline does its tasks, and when it
 * does them. Pure: knows of no engine, no network. Bubbles and memory in closed form, with their
 * derivation: README.md.
 *
 * A pipeline has D hosts (swarm: K for each stage), and a model of D stages; each of N
 * micro-batches goes forward through all stages, and backward. What a host holds are its *slots*:
 * one stage; or two (gems, chimera), stage d in slot 0, and in slot 1 stage D - 1 - d of a second
 * pipeline, which goes the other way; or v chunks (interleaved), chunk c of host d being part c D +
 * d of the v D parts of the model.
 *
 * Micro-batches may be of J independent jobs, the first N / J of the first, and so on, which do not
 * wait for each other (gpipe: for each other's flush).
 */
#pragma once

#include "traces/workload.h"

/** What does not change from step to step. */
typedef struct dsgd_pipeline_shape {
    dsgd_pipeline_kind kind;
    int64_t n_stages; /* D, also the number of hosts; chimera: even */
    int64_t n_micro_batches; /* N, of a step, of all jobs; interleaved: a multiple of D */
    int64_t n_chunks; /* v, of interleaved; of all others it is not read */
    int64_t n_jobs; /* J, which divides N; 0: 1 */
    int64_t n_stage_hosts; /* K, of swarm: the hosts are D K, d K + p for stage d; 0: 1, as of all
                              others */
} dsgd_pipeline_shape;

/** Refuses what the kind does not allow, in one sentence without a place. */
dsgd_status dsgd_pipeline_check(const dsgd_pipeline_shape *shape, dsgd_error *error);

/** What a task does with one micro-batch. In zero-bubble backward is the gradient of the inputs
 * alone, and weights the rest. */
typedef enum dsgd_pipeline_phase {
    DSGD_FORWARD,
    DSGD_BACKWARD,
    DSGD_WEIGHTS,
    DSGD_LOST /* ended by a failure */
} dsgd_pipeline_phase;

typedef struct dsgd_pipeline_task {
    int32_t host, slot, part; /* that it is of; dsgd_pipeline_part() */
    int32_t micro_batch;
    int32_t needs; /* index of the task whose message it waits for; -1: none */
    int32_t link; /* over which that comes, of message_s; -1: it is of the same host */
    int32_t before; /* index of the task before it on its host; -1: none */
    dsgd_pipeline_phase phase;
} dsgd_pipeline_task;

/** A schedule: made once, never written again, so that any number of pipelines and threads share
 * it. */
typedef struct dsgd_pipeline {
    dsgd_pipeline_shape shape; /* with n_jobs and n_stage_hosts of 1 or more */
    int64_t n_slots; /* of a host: 1, 2 or v */
    int64_t n_tasks; /* 2 N D, v times as many if interleaved, 3 N D of zero-bubble */
    dsgd_pipeline_task *
        task; /* [n_tasks]; each stands behind those that it waits for, and each host's stand in its
               * order; swarm: NULL, as its order, and so what is held, is of each run (swarm.h) */
    double
        *held; /* [D] activations at the peak, in micro-batches of a whole stage, from the begin of
                * a forward to the end of the backward (zero-bubble: of the gradient of weights) */
    int64_t weights; /* copies of a stage's weights on each host: 1; of gems and chimera 2 */
} dsgd_pipeline;

/** Of a shape that dsgd_pipeline_check() accepts. Freed by the caller, with dsgd_pipeline_free().
 * O(n_tasks). */
dsgd_pipeline *dsgd_pipeline_new(const dsgd_pipeline_shape *shape);
void dsgd_pipeline_free(dsgd_pipeline *pipeline);

/** Which of the v D (interleaved) or D parts of the model a host has in a slot, in the order of the
 * forward. */
int64_t dsgd_pipeline_part(const dsgd_pipeline *pipeline, int64_t host, int64_t slot);

/** A task that is done. */
typedef struct dsgd_pipeline_pass {
    int64_t host; /* of swarm d K + p */
    int64_t micro_batch;
    dsgd_pipeline_phase phase;
    double since_s, end_s;
} dsgd_pipeline_pass;

/** A host of swarm that is not there, from a failure until it is known, and has its state again; or
 * that moves. */
typedef struct dsgd_absence {
    int64_t host;
    double since_s, known_s, end_s; /* of the step; since_s may be below 0 */
    bool moves;
} dsgd_absence;

/**
 * What swarm knows of a host's slowness: a moving mean and its weight; 0: nothing is known.
 */
typedef struct dsgd_measured {
    double mean, weight;
} dsgd_measured;

/** What may change with every step. All arrays are the caller's. */
typedef struct dsgd_pipeline_seconds {
    const double *forward_s, *backward_s; /* [D] of one micro-batch in a stage; backward_s with the
                                             gradient of weights */
    double weights_share; /* of backward_s, which zero-bubble takes apart; 0 to 1 */
    const double *message_s; /* [D] of one message, either way, between hosts d and d + 1, and [D -
                                1] of D - 1 and 0; NULL: 0 */
    const double *slowness; /* [D] (swarm: [D][K]) factor of all that host d does; NULL: 1 */
    const double *begin_s; /* likewise: when host d can begin; NULL: 0 */
    /* Of swarm: whose stage is which, [D K], NULL: d of hosts d K to d K + K - 1; what is measured,
     * likewise, also as it is at the end, NULL: slowness is known; and who is away, by since_s, a
     * host's one after another: at any time a stage has a running host. */
    const int32_t *stage_of;
    dsgd_measured *measured;
    const dsgd_absence *away; /* [n_away] */
    int64_t n_away;
    void (*done)(void *listener,
                 const dsgd_pipeline_pass *pass); /* is told of each task; NULL: nobody is */
    void *listener;
} dsgd_pipeline_seconds;

typedef struct dsgd_pipeline_times {
    double makespan_s; /* the end of all */
    double bubble_share; /* 1 - busy seconds of all hosts / (D makespan_s), of swarm / those that
                            they are there */
    double lost_s; /* of busy seconds: what is done again */
} dsgd_pipeline_times;

/**
 * When all is done: a host does one task at a time, in its order, each as soon as what it needs has
 * arrived; messages take no time of either host. One pass over the tasks, which allocates nothing
 * (swarm: dsgd_swarm_run()).
 * @param end_s [n_tasks] the end of each task (it began dsgd_pipeline_task_s() before).
 * @param gradient_s [D][n_slots][J] when a job's gradient of what a host has in a slot is complete;
 * 0: none of its micro-batches comes there; NULL: not asked.
 * @param busy_s [D] (swarm: [D][K]) seconds in which a host computes; NULL: not asked.
 */
dsgd_pipeline_times dsgd_pipeline_run(const dsgd_pipeline *pipeline,
                                      const dsgd_pipeline_seconds *seconds, double *end_s,
                                      double *gradient_s, double *busy_s);

/** Seconds of a task. */
double dsgd_pipeline_task_s(const dsgd_pipeline *pipeline, const dsgd_pipeline_seconds *seconds,
                            const dsgd_pipeline_task *task);
