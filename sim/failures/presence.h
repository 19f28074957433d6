/**
 * @file presence.h
 * Who runs and who has failed: the state that the files of this folder write.
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

/** A worker's presence. rejoin.c writes it. */
typedef struct dsgd_presence {
    dsgd_presence_state state;
    double changed_s; /* when the state changed */
    double up_s; /* when it is repaired */
    double given_up_s; /* when the others detect the failure, unless it is repaired before */
    int copied_from; /* rank of the worker whose state it has copied */
    bool unnotified; /* the server has yet to be notified of the failure */
    double dies_s; /* the worker begins no step from then on; failures.c's */
    size_t away_span; /* timeline.c's number of the span of its absence */
} dsgd_presence;

/** Failures of a run. failures.c writes what has no other name beside it. */
typedef struct dsgd_absences {
    bool others_continue; /* the other workers continue while some are down */
    bool by_quorum; /* their collectives are those of the workers that run */
    int64_t led; /* the last step that one of these has begun; rejoin.c's */
    int n_unnotified; /* workers whose failure the server has yet to be notified of; rejoin.c's */
    double away_s; /* time without progress, at failures and checkpoints: dsgd_time_now_s() adds it
                      to dsgd_now_s(); restart.c's */
    struct dsgd_failure_state *state; /* NULL: nothing fails */
} dsgd_absences;
