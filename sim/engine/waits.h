/**
 * @file waits.h Actors that wait for other workers. actors.c writes this state, except members
 * whose comment names another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/network/cluster.h"

/**
 * Largest number of waits of a worker at the same time: one wait of work() and one wait of
 * assist().
 */
enum { DSGD_MAX_WAITS = 2 };

struct dsgd_worker;
struct dsgd_job; /* struct dsgd_job is declared in exchange/channels.h */

/** A verb in which a worker waits for other workers. The report of a deadlock prints it. */
typedef struct dsgd_waiting {
    const char *verb;
    /**
     * Returns true if worker @p host has not yet done its part, so that @p w must wait. Numbers
     * from n_workers on are servers. @p job may be NULL.
     */
    bool (*lacks)(const struct dsgd_worker *w, const struct dsgd_job *job, int host);
} dsgd_waiting;

/** A wait of an actor for other workers. */
typedef struct dsgd_wait {
    const dsgd_waiting *in; /* verb in which the actor waits; NULL if the actor does not wait */
    const struct dsgd_job *job; /* job that the actor waits for; may be NULL */
    double since_s;
    /*
     * number of the collective that the actor waits in, counted from 1 per worker; 0 for a verb
     * that is not a collective
     */
    int64_t collective;
    bool watched; /* true if the wait had not ended when the run ended (written by waiting.c) */
    size_t span; /* number of the wait's span in the timeline */
} dsgd_wait;

/** The waits of a worker's actors. */
typedef struct dsgd_waits {
    dsgd_semaphore *work; /* semaphore that wakes work() and assist() of a worker or server */
    /* number of actors that sleep at the semaphore `work`; work() and assist() may both sleep */
    int n_asleep;
    int64_t wakes; /* number of times that dsgd_work_wake() woke an actor */
    dsgd_semaphore *ready;
    int n_for_ready; /* number of actors that wait for computed chunks of the gradient */
    /* smallest number of chunks that an actor in dsgd_ready_sleep() waits for */
    size_t ready_awaited;
    int64_t locks, unlocks; /* number of calls of dsgd_lock() and dsgd_unlock() */
    /*
     * number of verbs that work() has called in this step, if the run is continued after its end
     * (written by waiting.c)
     */
    int64_t calls;
    dsgd_wait of[DSGD_MAX_WAITS]; /* current waits of work() and assist() for other workers */
} dsgd_waits;

/** The barrier of all workers. */
typedef struct dsgd_barrier_state {
    int n_there;
    int64_t round;
} dsgd_barrier_state;

/**
 * A run that continues after its end, without being counted, to find the workers that wait for
 * ever. waiting.c writes this state.
 */
typedef struct dsgd_watch {
    bool continued;
    int n; /* number of watched waits that have not ended */
    dsgd_semaphore *none_left; /* semaphore that is posted when n becomes 0 */
    /* result of the run at its end, while the run continues with another result */
    struct dsgd_run_result *counted;
    /* values of the run at its end, while the run continues without values */
    struct dsgd_values *computed;
} dsgd_watch;
