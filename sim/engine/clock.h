/**
 * @file clock.h Steps and their bounds: the state that steps.c writes, except members that name
 * another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The steps of a worker. */
typedef struct dsgd_clock {
    bool stopped; /* true if none of its actors continues */
    bool may_return; /* true if dsgd_next_step() has returned false */
    /* true if work() returned before dsgd_next_step() was false (written by run.c) */
    bool left_early;
    bool in_barrier; /* true while the worker waits in the barrier between two steps */
    int64_t steps; /* number of steps that are done */
    double since_s; /* start of the current step */
    /* time from the ends of computations to the ends of their steps, and between passes */
    double exposed_s;
    double squares_s2; /* sum of t^2 over the steps that are done, where t is the time of a step */
    size_t span; /* number of its span in the timeline */
    uint32_t draws; /* number of draws that the algorithm made in this step */
    uint32_t encodings; /* number of compressions started in this step (written by encodings.c) */
    const void *work_actor; /* dsgd_actor_self() of work() (written by run.c) */
    double turn_s; /* earliest time of the next turn of assist() */
    /* number of turns in a row during which progress.moves stayed at idle_moves */
    int64_t idle_turns;
    int64_t idle_moves;
} dsgd_clock;

/** The steps of a run. */
typedef struct dsgd_run_progress {
    int n_working; /* number of workers whose work() has not returned (written by run.c) */
    int64_t steps; /* number of steps of all workers */
    /* steps of all workers without the parts that were dropped (also written by accounting.c) */
    double whole_steps;
    /* bound on the steps of all workers; INT64_MAX for no bound (written by run.c) */
    int64_t bound;
    /* bound on the steps of each worker; 0 for no bound (written by waiting.c after the end) */
    int64_t most_steps;
    int n_resting; /* number of actors that take no turn before anything moves */
    /* number of steps made and computations started by all workers (written by actors.c) */
    int64_t moves;
} dsgd_run_progress;
