/**
 * @file waits.h Actors that wait for each other: the state that actors.c writes, except members
 * that name another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/network/cluster.h"

enum { DSGD_MAX_WAITS = 2 /* waits of a worker at a time: of work() and of assist() */ };

struct dsgd_worker;
struct dsgd_job; /* declared in exchange/channels.h */

/** A verb in which a worker waits for others, as the report of a deadlock names it. */
typedef struct dsgd_waiting {
    const char *verb;
    /**
     * Returns true if worker @p host (a server from n_workers on) has not done its part yet. @p job
     * may be NULL.
     */
    bool (*lacks)(const struct dsgd_worker *w, const struct dsgd_job *job, int host);
} dsgd_waiting;

/** A wait of an actor for other workers. */
typedef struct dsgd_wait {
    const dsgd_waiting *in; /* verb of the wait; NULL if the actor does not wait */
    const struct dsgd_job *job; /* job that the actor waits for; may be NULL */
    double since_s;
    int64_t collective; /* number of the worker's collective, from 1; 0 for another verb */
    bool watched; /* true if the wait was not over when the run ended (written by waiting.c) */
    size_t span; /* number of its span in the timeline */
} dsgd_wait;

/** The waits of a worker's actors. */
typedef struct dsgd_waits {
    dsgd_semaphore *work; /* semaphore that wakes work() and assist(), also of a server */
    int n_asleep; /* number of actors that wait for `work`; work() and assist() may both wait */
    int64_t wakes; /* number of times that such actors were woken */
    dsgd_semaphore *ready;
    int n_for_ready; /* number of actors that wait for computed chunks */
    /* smallest number of ready chunks at which one of these actors must wake */
    size_t ready_awaited;
    int64_t locks, unlocks; /* number of calls of dsgd_lock() and dsgd_unlock() */
    /* number of verbs that work() called in this step while the run is continued (written by
     * waiting.c) */
    int64_t calls;
    dsgd_wait of[DSGD_MAX_WAITS]; /* waits for other workers */
} dsgd_waits;

/** The barrier of all workers. */
typedef struct dsgd_barrier_state {
    int n_there;
    int64_t round;
} dsgd_barrier_state;

/**
 * A run that continues after its end, without being counted, to find out which workers wait for
 * ever. Written by waiting.c.
 */
typedef struct dsgd_watch {
    bool continued;
    int n; /* number of watched waits */
    dsgd_semaphore *none_left; /* semaphore that is posted when n becomes 0 */
    struct dsgd_run_result *counted; /* counted result, while the run continues */
    struct dsgd_values *computed; /* values of the counted run */
} dsgd_watch;
