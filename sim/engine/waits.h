/**
 * @file waits.h
 * Actors that wait for each other: the state that actors.c writes, but for members that name
 * another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/network/cluster.h"

enum { DSGD_MAX_WAITS = 2 /* of a worker at a time: work and assist */ };

struct dsgd_worker;
struct dsgd_job; /* exchange/channels.h */

/** A verb in which a worker waits for others, as the report of a run that hangs names them. */
typedef struct dsgd_waiting {
    const char *verb;
    /** Whether a worker (from n_workers on: a server) has yet to do its part; @p job may be NULL.
     */
    bool (*lacks)(const struct dsgd_worker *w, const struct dsgd_job *job, int host);
} dsgd_waiting;

/** An actor's wait for others. */
typedef struct dsgd_wait {
    const dsgd_waiting *in; /* NULL: none */
    const struct dsgd_job *job; /* waited for; may be NULL */
    double since_s;
    int64_t collective; /* which of the worker's it is, from 1; 0: another verb */
    bool watched; /* was under way when the run ended; waiting.c's */
    size_t span; /* timeline.c's */
} dsgd_wait;

/** The waits of a worker's actors. */
typedef struct dsgd_waits {
    dsgd_semaphore *work; /* also of a server */
    int n_asleep; /* actors that wait for it: work and assist may both wait for the same */
    int64_t wakes; /* of such actors */
    dsgd_semaphore *ready;
    int n_for_ready; /* actors that wait for computed pieces, ... */
    size_t ready_awaited; /* ... and the least number of pieces for which one of them has to wake */
    int64_t locks, unlocks; /* by dsgd_lock() and dsgd_unlock() */
    int64_t
        calls; /* while the run is continued: verbs that work() began in this step; waiting.c's */
    dsgd_wait of[DSGD_MAX_WAITS]; /* for others */
} dsgd_waits;

/** A barrier of all workers. */
typedef struct dsgd_barrier_state {
    int n_there;
    int64_t round;
} dsgd_barrier_state;

/** A run that is continued after its end, uncounted, to see who waits for ever. waiting.c's. */
typedef struct dsgd_watch {
    bool continued;
    int n; /* waits that are watched */
    dsgd_semaphore *none_left; /* posted when n becomes 0 */
    struct dsgd_run_result *counted; /* the result, while the run is continued, ... */
    struct dsgd_values *computed; /* ... and the values */
} dsgd_watch;
