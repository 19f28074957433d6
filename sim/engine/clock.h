/**
 * @file clock.h The steps of workers, and the bounds on steps. steps.c writes this state, except
 * members whose comment names another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The steps of a worker. */
typedef struct dsgd_clock {
    bool stopped; /* true if the worker's actors must stop */
    bool may_return; /* true if dsgd_next_step() has returned false, so that work() may return */
    /* true if work() returned before dsgd_next_step() returned false (written by run.c) */
    bool left_early;
    bool in_barrier; /* true while the worker waits in the barrier between two steps */
    int64_t steps; /* number of steps that the worker has completed */
    double since_s; /* start time of the current step */
    /*
     * sum of the times in which a worker does not compute: from the end of each computation to the
     * end of its step, and between passes
     */
    double exposed_s;
    double squares_s2; /* sum of t^2 over all completed steps, where t is the time of a step */
    size_t span; /* number of the current step's span in the timeline */
    uint32_t draws; /* number of random draws that the algorithm made in this step */
    uint32_t encodings; /* number of compressions started in this step (written by encodings.c) */
    const void *work_actor; /* result of dsgd_actor_self() in the actor `work` (written by run.c) */
    double turn_s; /* earliest time at which assist() may take its next turn */
    /*
     * number of consecutive turns of assist() during which progress.moves stayed equal to
     * idle_moves
     */
    int64_t idle_turns;
    int64_t idle_moves;
} dsgd_clock;

/** The steps of a run. */
typedef struct dsgd_run_progress {
    int n_working; /* number of workers whose work() has not returned yet (written by run.c) */
    int64_t steps; /* number of completed steps of all workers */
    /*
     * steps of all workers, where a step counts only with the share of its mini-batch that was used
     * (also written by accounting.c)
     */
    double whole_steps;
    /* upper bound on the steps of all workers; INT64_MAX for no bound (written by run.c) */
    int64_t bound;
    /*
     * upper bound on the steps of each worker; 0 for no bound (written by waiting.c after the end
     * of the run)
     */
    int64_t most_steps;
    /* number of actors assist() that sleep until a worker makes a step or starts a computation */
    int n_resting;
    /* number of completed steps and started computations of all workers (written by actors.c) */
    int64_t moves;
} dsgd_run_progress;
