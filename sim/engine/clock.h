/**
 * @file clock.h
 * Steps and their bounds: the state that steps.c writes, but for members that name another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A worker's steps. */
typedef struct dsgd_clock {
    bool stopped; /* none of its actors continues */
    bool may_return; /* dsgd_next_step() was false */
    bool left_early; /* work() has returned before; run.c's */
    bool in_barrier; /* after a step, before the next */
    int64_t steps; /* done */
    double since_s; /* start of the current step */
    double exposed_s; /* from the ends of computations to the ends of their steps; between passes */
    double squares_s2; /* sum of t^2 over the steps done, t the time of a step */
    size_t span; /* timeline.c's */
    uint32_t draws; /* made by the algorithm in this step */
    uint32_t encodings; /* begun in this step; encodings.c's */
    const void *work_actor; /* dsgd_actor_self() of work(); run.c's */
    double turn_s; /* when assist() may take its next turn */
    int64_t idle_turns; /* the last ones, since progress.moves was idle_moves */
    int64_t idle_moves;
} dsgd_clock;

/** The steps of a run. */
typedef struct dsgd_run_progress {
    int n_working; /* workers whose work() has not returned; run.c's */
    int64_t steps; /* of all workers */
    double whole_steps; /* of all workers; dropped parts do not count; accounting.c's, too */
    int64_t bound; /* of steps of all workers; INT64_MAX: none; run.c's */
    int64_t most_steps; /* of each worker; 0: no such bound; waiting.c's after the end */
    int n_resting; /* actors that take no turn before anything moves */
    int64_t moves; /* steps made and computations begun, of all workers; actors.c's */
} dsgd_run_progress;
