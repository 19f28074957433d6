/**
 * @file gpu.h Gradients and other work of a GPU. computation.c writes this state, except
 * members whose comment names another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/network/cluster.h"

/** The computation of a gradient: the current one, or the last one. */
typedef struct dsgd_computation {
    int64_t number; /* number of the computation, counted from 0; -1 before the first computation */
    size_t ready; /* number of chunks of the gradient that are ready */
    double *ready_s; /* [n_pieces] time at which each ready chunk became ready */
    double compute_s; /* time of the computation on a reference GPU */
    /*
     * time of the backward pass, during which chunks become ready; it is the last part of compute_s
     */
    double backward_s;
    /* start and end of the computation or of its last pass; end_s is valid only after the end */
    double since_s, end_s;
    bool runs; /* true while the computation, or a pass of it, runs */
    /*
     * Numbers of chunks whose passes were started chunk by chunk: forward passes from the last
     * chunk on, and backward passes from the first chunk on. Both numbers are 0 if the gradient is
     * computed as a whole.
     */
    size_t forward, backward;
    double pass_s; /* time of the last started pass, on a reference GPU */
    double share; /* share of the step's mini-batch that is computed, from 0 to 1 */
    /*
     * For a group of hosts: number of virtual seconds per second of the group's schedule, and time
     * within the computation at which chunks last became ready.
     */
    double group_s, ready_at_s;
    /*
     * For an algorithm that cancels gradients: inputs from which the gradient's value is computed
     * at the end of the gradient. NULL for other algorithms.
     */
    struct dsgd_undescribed *undescribed;
    /*
     * number of the computation's span in the timeline; 0 if it is not recorded. All members `span`
     * have this meaning.
     */
    size_t span;
    /*
     * Updates to apply when chunks become ready, in the order of the calls: the first update, and
     * the pointer to which the next update is appended.
     */
    struct dsgd_deferred *first_deferred, **end_of_deferred;
} dsgd_computation;

/** The GPU of a worker. A server uses only the member `computation`. */
typedef struct dsgd_gpu {
    bool waits;
    bool computes; /* true while the GPU computes */
    /* number of chunks that are ready when the current part of the computation ends */
    size_t until;
    int n_collectives; /* number of NCCL collectives that run on the GPU */
    dsgd_semaphore *semaphore;
    dsgd_steps steps;
    dsgd_computation computation;
    double computed_s; /* time in which the GPU computed */
    double lost_s; /* time of the computations that were cancelled */
    double bubbles_s; /* time in which pipeline stages of the worker were idle during its steps */
    /* time of the current part of the computation, if other work or a collective can change it */
    double task_s;
    double asked_s; /* time of other work that the GPU must do and has not yet started */
    /* true if the algorithm cancelled the gradient, so that the current step starts again */
    bool cancelled;
    int64_t n_cancelled; /* number of steps that started again (written by steps.c) */
} dsgd_gpu;

/** The computations of a run. */
typedef struct dsgd_computations {
    int n_computing; /* number of workers that compute now */
    uint64_t *n_stepped; /* [n_pieces] number of local steps of all workers with each chunk */
    /*
     * [n_pieces][n_workers] ranks of the workers that made the last local steps; element [s %
     * n_workers] is for local step s
     */
    int *stepped;
} dsgd_computations;
