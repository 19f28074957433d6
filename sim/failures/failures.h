/**
 * @file failures.h
 * Workers that fail and rejoin; checkpoints; links that are slower for a while. The state is in
 * presence.h.
 */
#pragma once

#include "sim/engine/engine.h"

/* --- for the engine --------------------------------------------------------------------------- */

/**
 * Opens the failures of a run, once the places of its hosts are known; @p period is the
 * algorithm's. DSGD_EUSAGE with a sentence where the configuration does not fit.
 */
dsgd_status dsgd_failures_of_run_open(dsgd_engine *engine, int64_t period, dsgd_error *error);
/** Begins them, once there are workers. */
void dsgd_failures_of_run_begin(dsgd_engine *engine);
void dsgd_failures_of_run_close(dsgd_engine *engine);

/** Starts the actor that changes bandwidths of links, if the run has any. (slow_links.c) */
void dsgd_slow_links_open(dsgd_engine *engine);

/** Seconds of progress at which the clock must act next; INFINITY: never. */
double dsgd_next_failure_or_end_s(const dsgd_engine *engine);
/** Handles what is due at that time. Returns true at the end of the run. */
bool dsgd_handle_failure(dsgd_engine *engine);

/** Begins a checkpoint after a step, if one is due. */
void dsgd_failures_of_run_step(dsgd_engine *engine);

/**
 * Waits until a worker that is down is repaired and has its state. Returns false if it stays away.
 */
bool dsgd_rejoin(dsgd_worker *w);

/**
 * By quorum, before the next step of a worker that is away: waits until a running worker has begun
 * that step, and, if the worker rejoins in it, until it has a copy of the state.
 */
void dsgd_quorum_follow(dsgd_worker *w);
/** By quorum, before the next step of a running worker: lets those that rejoin follow. */
void dsgd_quorum_lead(dsgd_worker *w);
/** Time at which the others detect the failure of this worker, and form a communicator without it.
 */
double dsgd_failure_detected_s(const dsgd_worker *w);
/** Counts that the other workers of ranks[n] have waited for this one, which is away. */
void dsgd_quorum_count_wait(const dsgd_worker *w, const int *ranks, int n);

/** Marks the failure of a worker as reported to the server. */
void dsgd_clear_failure_notice(dsgd_worker *w);
/** Time at which the server must be notified of the worker's failure. */
double dsgd_failure_notice_s(const dsgd_worker *w);

/** Waits until a failure of @p peer is detected. Returns whether it is down. */
bool dsgd_wait_failure_detected(dsgd_worker *w, dsgd_worker *peer);

/** Fills the failures' part of the result. */
void dsgd_failures_of_run_sum_up(dsgd_engine *engine);

/** All virtual time: progress, and time away. */
static inline double dsgd_time_now_s(const dsgd_engine *engine)
{
    return dsgd_now_s() + engine->failures.away_s;
}

/* --- among failures.c, restart.c and rejoin.c --------------------------------------------------
 */

/** Failures without progress between them: so many are taken for an endless run. */
enum { DSGD_MOST_IN_A_ROW = 100000 };

/** Steps of which a deadline is made. */
enum { DSGD_ROUNDS_TIMED = 16 };

struct dsgd_failure_state {
    dsgd_failures_config config;
    dsgd_failures *source;
    dsgd_failure next;
    int64_t in_a_row; /* without progress */
    int64_t steps; /* of all workers, at the last failure after which the others continued */
    int64_t period; /* of the algorithm */
    double copy_bytes; /* by quorum: of a state, on each host of a worker */
    /* By quorum: a ring of the last steps' lengths; when the last one was begun. */
    double round_s[DSGD_ROUNDS_TIMED], led_s;
    int64_t n_rounds;
    double cost_s, interval_s; /* of checkpoints */
    double noticed_s; /* in all time: the failure whose notice made the last checkpoint */
    /* In seconds of progress: the last checkpoint that is whole; the last that was begun; the state
     * in one that is written during the steps, and when it is whole (INFINITY: none). */
    double saved_s, begun_s, snapshot_s, written_s;
};

/**
 * Lists the workers in each failure domain (host, island or group), by rank. @p which as in
 * dsgd_failure_units.
 */
dsgd_failure_units dsgd_failures_of_run_units(const dsgd_engine *engine, int which);
/** Whether single hosts of a stage fail, and not whole workers. */
bool dsgd_stage_hosts_fail(const dsgd_run_config *config);
/** Whether all workers restart together. */
bool dsgd_all_restart(const dsgd_engine *engine);
/** The first worker that fails in this failure. */
int dsgd_failed_worker(const dsgd_engine *engine, const dsgd_failure *failure);
/** Takes a worker down without an event of the failure model, from @p down_s of all time on. */
void dsgd_fail_worker(dsgd_worker *w, double down_s, double up_s);
/** Takes the next failure out of the list. */
dsgd_failure dsgd_next_failure(dsgd_engine *engine);
/** Ends the run as failed, at @p all_s of all time. Returns false. */
bool dsgd_give_up_run(dsgd_engine *engine, double all_s, const char *why);

/* rejoin.c */
/** Takes the workers of the failure that is due down. */
void dsgd_failure_take_down(dsgd_engine *engine);
/** Counts the time since the last change of the worker's state, and changes it. */
void dsgd_presence_set(dsgd_worker *w, dsgd_presence_state to);
/** The next running worker by rank; -1: none. */
int dsgd_live_peer(const dsgd_worker *w);
