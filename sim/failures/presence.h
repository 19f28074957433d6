/**
 * @file presence.h Which workers run and which have failed: the state that the files of this folder
 * write.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether a worker runs. */
typedef enum dsgd_presence_state {
    DSGD_HERE,
    DSGD_DOWN, /* it has failed */
    DSGD_JOINS /* it is repaired, and restores its state */
} dsgd_presence_state;

/** The presence of a worker. Written by rejoin.c. */
typedef struct dsgd_presence {
    dsgd_presence_state state;
    double changed_s; /* time at which the state changed */
    double up_s; /* time at which the worker is repaired */
    /* time at which the others detect the failure, unless the worker is repaired before */
    double given_up_s;
    int copied_from; /* rank of the worker whose state it has copied */
    bool unnotified; /* true if the server has yet to be notified of the failure */
    double dies_s; /* time from which on the worker begins no step (written by failures.c) */
    size_t away_span; /* number of the span of its absence in the timeline */
} dsgd_presence;

/** The failures of a run. Written by failures.c, except members that name another file. */
typedef struct dsgd_absences {
    bool others_continue; /* true if the other workers continue while some are down */
    bool by_quorum; /* true if their collectives cover only the running workers */
    int64_t led; /* last step that a running worker has begun (written by rejoin.c) */
    /* number of failures that the server has yet to be notified of (written by rejoin.c) */
    int n_unnotified;
    /*
     * time without progress, at failures and checkpoints (written by restart.c); dsgd_time_now_s()
     * adds it to dsgd_now_s()
     */
    double away_s;
    struct dsgd_failure_state *state; /* NULL if nothing can fail */
} dsgd_absences;
