/**
 * @file failures.h Workers that fail and rejoin, checkpoints, and links that are slower for a
 * while. presence.h declares the state.
 */
#pragma once

#include "sim/engine/engine.h"

/* --- functions for the engine ----------------------------------------------------------------- */

/**
 * Opens the failures of a run, after the places of its hosts are known. @p period is the
 * algorithm's period. Returns DSGD_EUSAGE if the configuration does not fit.
 */
dsgd_status dsgd_failures_of_run_open(dsgd_engine *engine, int64_t period, dsgd_error *error);
/** Starts the failures, after the workers have been made. */
void dsgd_failures_of_run_begin(dsgd_engine *engine);
void dsgd_failures_of_run_close(dsgd_engine *engine);

/** Starts the actor that changes the bandwidths of links, if the run has any. (slow_links.c) */
void dsgd_slow_links_open(dsgd_engine *engine);

/**
 * Returns the progress time, in seconds, at which the clock must act next: at a failure or at the
 * end of the run; INFINITY if never.
 */
double dsgd_next_failure_or_end_s(const dsgd_engine *engine);
/** Handles the failure that is due at that time. Returns true at the end of the run. */
bool dsgd_handle_failure(dsgd_engine *engine);

/** Begins a checkpoint after a step, if one is due. */
void dsgd_failures_of_run_step(dsgd_engine *engine);

/**
 * Waits until a worker that is down is repaired and has its state. Returns false if it stays down.
 */
bool dsgd_rejoin(dsgd_worker *w);

/**
 * With policy quorum, before the next step of a worker that is down: waits until a running worker
 * has begun that step and, if the worker rejoins in it, until it has a copy of the state.
 */
void dsgd_quorum_follow(dsgd_worker *w);
/** With policy quorum, before the next step of a running worker: lets rejoining workers follow. */
void dsgd_quorum_lead(dsgd_worker *w);
/**
 * Returns the time at which the others detect the failure of this worker and form a communicator
 * without it.
 */
double dsgd_failure_detected_s(const dsgd_worker *w);
/** Counts the time that the workers ranks[n] waited for this worker, which is away. */
void dsgd_quorum_count_wait(const dsgd_worker *w, const int *ranks, int n);

/** Marks the failure of a worker as reported to the server. */
void dsgd_clear_failure_notice(dsgd_worker *w);
/** Returns the time at which the server must be notified of the worker's failure. */
double dsgd_failure_notice_s(const dsgd_worker *w);

/** Waits until a failure of @p peer is detected. Returns true if the peer was down. */
bool dsgd_wait_failure_detected(dsgd_worker *w, dsgd_worker *peer);

/** Fills in the part of the result that concerns failures. */
void dsgd_failures_of_run_sum_up(dsgd_engine *engine);

/** Returns the total virtual time: progress, plus time without progress. */
static inline double dsgd_time_now_s(const dsgd_engine *engine)
{
    return dsgd_now_s() + engine->failures.away_s;
}

/* --- functions that failures.c, restart.c and rejoin.c share --------------------------------------
 */

/** Number of failures without progress between them at which a run counts as endless. */
enum { DSGD_MOST_IN_A_ROW = 100000 };

/** Number of recent steps from which a deadline is computed. */
enum { DSGD_ROUNDS_TIMED = 16 };

struct dsgd_failure_state {
    dsgd_failures_config config;
    dsgd_failures *source;
    dsgd_failure next;
    int64_t in_a_row; /* number of failures without progress between them */
    int64_t steps; /* steps of all workers at the last failure after which the others continued */
    int64_t period; /* period of the algorithm */
    double copy_bytes; /* with policy quorum: bytes of the state on each host of a worker */
    /* With policy quorum: ring buffer of the times of recent steps, and start of the last step. */
    double round_s[DSGD_ROUNDS_TIMED], led_s;
    int64_t n_rounds;
    double cost_s, interval_s; /* cost and interval of checkpoints */
    double noticed_s; /* total time of the failure whose notice triggered the last checkpoint */
    /*
     * Times in seconds of progress: state of the last complete checkpoint; start of the last
     * checkpoint; state in a checkpoint that is written during the steps, and time at which it is
     * complete (INFINITY if there is none).
     */
    double saved_s, begun_s, snapshot_s, written_s;
};

/**
 * Returns the failure domains (hosts, islands or groups) with their workers by rank. @p which as in
 * dsgd_failure_units.
 */
dsgd_failure_units dsgd_failures_of_run_units(const dsgd_engine *engine, int which);
/** Returns true if single hosts of a stage fail, and not whole workers. */
bool dsgd_stage_hosts_fail(const dsgd_run_config *config);
/** Returns true if all workers restart together. */
bool dsgd_all_restart(const dsgd_engine *engine);
/** Returns the rank of the first worker that fails in this failure. */
int dsgd_failed_worker(const dsgd_engine *engine, const dsgd_failure *failure);
/** Makes a worker fail at @p down_s, in total time, without an event of the failure model. */
void dsgd_fail_worker(dsgd_worker *w, double down_s, double up_s);
/** Takes the next failure out of the list and returns it. */
dsgd_failure dsgd_next_failure(dsgd_engine *engine);
/** Ends the run as failed, at @p all_s of the total time. Returns false. */
bool dsgd_give_up_run(dsgd_engine *engine, double all_s, const char *why);

/* rejoin.c */
/** Takes down the workers of the failure that is due. */
void dsgd_take_workers_down(dsgd_engine *engine);
/** Counts the time since the last change of the worker's state, and changes the state. */
void dsgd_presence_set(dsgd_worker *w, dsgd_presence_state to);
/** Returns the rank of the next running worker, or -1 if there is none. */
int dsgd_live_peer(const dsgd_worker *w);
