/**
 * @file gpu.h
 * Gradients and what else a GPU does: the state that computation.c writes, but for members that
 * name another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/network/cluster.h"

/** A gradient's computation, under way or the last one. */
typedef struct dsgd_computation {
    int64_t number; /* from 0; -1: none yet */
    size_t ready; /* pieces that are done */
    double *ready_s; /* [n_pieces] when; of the last computation, up to `ready` */
    double compute_s; /* its length on a reference GPU */
    double backward_s; /* of that, at its end, in which pieces become ready */
    double since_s, end_s; /* of it, or of its last pass; end_s is valid when that is over */
    bool runs; /* it, or a pass of it */
    /*
     * Pieces whose forward pass was begun by itself, from the last one on, and whose backward pass
     * was, from the first one on; 0: it is computed as a whole.
     */
    size_t forward, backward;
    double pass_s; /* length of the pass that was begun last, on a reference GPU */
    double share; /* of the step's mini-batch that is computed */
    double group_s, ready_at_s; /* of a group's seconds each; when pieces became ready last */
    /* Of an algorithm that cancels: the gradient is described at its end, from this; else NULL. */
    struct dsgd_undescribed *undescribed;
    size_t span; /* timeline.c's number of it; 0: not watched. So all members of this name */
    /* What each piece does when it becomes ready, in the order of the calls. */
    struct dsgd_deferred *first_deferred, **end_of_deferred; /* where the next is hung */
} dsgd_computation;

/** The GPU of a worker. A server has the computation alone. */
typedef struct dsgd_gpu {
    bool waits;
    bool computes; /* when the current computation ends, ... */
    size_t until; /* ... this many pieces are ready */
    int n_collectives; /* of NCCL, which run on it */
    dsgd_semaphore *semaphore;
    dsgd_steps steps;
    dsgd_computation computation;
    double computed_s; /* seconds of use */
    double lost_s; /* seconds that were cancelled */
    double bubbles_s; /* of its steps */
    double task_s; /* seconds of the current task, where others may change them: ... */
    double asked_s; /* ... what it is to do besides, and has not begun */
    bool cancelled; /* the current step begins again */
    int64_t n_cancelled; /* steps that began again; steps.c's */
} dsgd_gpu;

/** The computations of a run. */
typedef struct dsgd_computations {
    int n_computing; /* workers */
    uint64_t *n_stepped; /* [n_pieces] local steps of all workers */
    int *stepped; /* [n_pieces][n_workers] worker that made the last ones: step s by [s % n_workers]
                   */
} dsgd_computations;
