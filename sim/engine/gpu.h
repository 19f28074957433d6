/**
 * @file gpu.h Gradients and other work of a GPU: the state that computation.c writes, except
 * members that name another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/network/cluster.h"

/** The computation of a gradient: the current one, or the last one. */
typedef struct dsgd_computation {
    int64_t number; /* number of the computation, from 0; -1 before the first */
    size_t ready; /* number of chunks that are ready */
    double *ready_s; /* [n_pieces] times at which chunks became ready, up to chunk `ready` */
    double compute_s; /* its time on a reference GPU */
    double backward_s; /* last part of compute_s, in which chunks become ready */
    /* start and end of the computation or of its last pass; end_s is valid when it has ended */
    double since_s, end_s;
    bool runs; /* true while the computation, or a pass of it, runs */
    /*
     * Number of chunks whose forward pass was started by itself, from the last chunk on, and number
     * of chunks whose backward pass was, from the first chunk on. 0 if the gradient is computed as
     * a whole.
     */
    size_t forward, backward;
    double pass_s; /* time of the pass that was started last, on a reference GPU */
    double share; /* share of the step's mini-batch that is computed */
    /*
     * For a group of hosts: seconds per second of its schedule, and the last time at which chunks
     * became ready.
     */
    double group_s, ready_at_s;
    /*
     * For an algorithm that cancels gradients: data to compute the gradient's value at its end;
     * else NULL.
     */
    struct dsgd_undescribed *undescribed;
    /* number of its span in the timeline; 0 if it is not recorded (as all members of this name) */
    size_t span;
    /*
     * First of the updates to apply when chunks become ready, in the order of the calls, and
     * pointer to which the next update is appended.
     */
    struct dsgd_deferred *first_deferred, **end_of_deferred;
} dsgd_computation;

/** The GPU of a worker. A server uses only `computation`. */
typedef struct dsgd_gpu {
    bool waits;
    bool computes; /* true while it computes */
    size_t until; /* number of chunks that are ready when the current computation ends */
    int n_collectives; /* number of NCCL collectives that run on it */
    dsgd_semaphore *semaphore;
    dsgd_steps steps;
    dsgd_computation computation;
    double computed_s; /* time of use */
    double lost_s; /* time of computations that were cancelled */
    double bubbles_s; /* time that pipeline stages waited in its steps */
    double task_s; /* time of the current task, if other work can change it */
    double asked_s; /* time of other work that it must do and has not started */
    bool cancelled; /* true if the current step starts again */
    int64_t n_cancelled; /* number of steps that started again (written by steps.c) */
} dsgd_gpu;

/** The computations of a run. */
typedef struct dsgd_computations {
    int n_computing; /* number of workers that compute */
    uint64_t *n_stepped; /* [n_pieces] number of local steps of all workers */
    /*
     * [n_pieces][n_workers] ranks of the workers that made the last local steps; step s is at [s %
     * n_workers]
     */
    int *stepped;
} dsgd_computations;
