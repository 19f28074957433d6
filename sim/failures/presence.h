/**
 * @file presence.h The state of running and failed workers. The files of sim/failures/ write this
 * state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** State of a worker: running, failed, or repaired but not yet running. */
typedef enum dsgd_presence_state {
    DSGD_HERE,
    DSGD_DOWN, /* the worker is down: it has failed */
    /* the worker joins: it is repaired, and restores its state */
    DSGD_JOINS
} dsgd_presence_state;

/** The presence of a worker. Written by rejoin.c. */
typedef struct dsgd_presence {
    dsgd_presence_state state;
    double changed_s; /* time at which `state` last changed */
    double up_s; /* time at which the worker is repaired */
    /* time at which the other workers detect the failure, unless the worker is repaired before */
    double given_up_s;
    int copied_from; /* rank of the worker whose state this worker has copied */
    bool unnotified; /* true if the server has not been notified of the failure yet */
    double dies_s; /* time after which the worker begins no step (written by failures.c) */
    size_t away_span; /* number of the span of the worker's absence in the timeline */
} dsgd_presence;

/** The failures of a run. Written by failures.c, except members that name another file. */
typedef struct dsgd_absences {
    bool others_continue; /* true if the other workers continue while some workers are down */
    bool by_quorum; /* true if the collectives of the other workers cover only running workers */
    int64_t led; /* last step that any running worker has begun (written by rejoin.c) */
    /* number of failures for which the server has not been notified yet (written by rejoin.c) */
    int n_unnotified;
    /*
     * total time without progress, at failures and checkpoints (written by restart.c);
     * dsgd_time_now_s() adds it to dsgd_now_s()
     */
    double away_s;
    struct dsgd_failure_state *state; /* state of failures.c; NULL if nothing can fail */
} dsgd_absences;
