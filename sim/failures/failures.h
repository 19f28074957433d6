/**
 * @file failures.h Workers that fail and rejoin, checkpoints, and links that are slower for a
 * while. presence.h declares the state.
 */
#pragma once

#include "sim/engine/engine.h"

/* --- functions for the engine ----------------------------------------------------------------- */

/**
 * Opens the failures of a run. The positions of the run's hosts on the platform must be known. @p
 * period is the algorithm's period. Returns DSGD_EUSAGE if the configuration is not valid.
 */
dsgd_status dsgd_failures_of_run_open(dsgd_engine *engine, int64_t period, dsgd_error *error);
/** Starts the failures. The workers must have been made before. */
void dsgd_failures_of_run_begin(dsgd_engine *engine);
void dsgd_failures_of_run_close(dsgd_engine *engine);

/**
 * Starts the actor that changes the bandwidths of links, if the run changes any. Defined in
 * slow_links.c.
 */
void dsgd_slow_links_open(dsgd_engine *engine);

/**
 * Returns the progress time, in seconds, at which the clock must act next: at a failure or at the
 * end of the run. Returns INFINITY if there is no such time.
 */
double dsgd_next_failure_or_end_s(const dsgd_engine *engine);
/**
 * Handles the failure or the end that dsgd_next_failure_or_end_s() returned. Returns true at the
 * end of the run.
 */
bool dsgd_handle_failure(dsgd_engine *engine);

/** Begins a checkpoint if one is due. Called after each step. */
void dsgd_failures_of_run_step(dsgd_engine *engine);

/**
 * Waits until a failed worker is repaired and has its state. Returns false if the worker is never
 * repaired.
 */
bool dsgd_rejoin(dsgd_worker *w);

/**
 * With policy quorum, a worker that is down calls this function before its next step. Waits until a
 * running worker has begun that step. If the failed worker rejoins in that step, waits until it has
 * a copy of the state.
 */
void dsgd_quorum_follow(dsgd_worker *w);
/**
 * With policy quorum, a running worker calls this function before its next step. If this worker is
 * the first to begin the step, lets workers that are down follow.
 */
void dsgd_quorum_lead(dsgd_worker *w);
/**
 * With policy quorum, returns the time at which the other workers have detected the failure of this
 * worker and have formed a communicator without it.
 */
double dsgd_failure_detected_s(const dsgd_worker *w);
/**
 * Counts the time that the workers ranks[n] waited for worker @p w, which has failed and not
 * rejoined.
 */
void dsgd_quorum_count_wait(const dsgd_worker *w, const int *ranks, int n);

/** Marks the failure of a worker as reported to the server. */
void dsgd_clear_failure_notice(dsgd_worker *w);
/** Returns the time at which the server is notified of the worker's failure. */
double dsgd_failure_notice_s(const dsgd_worker *w);

/**
 * If @p peer is down, waits until its failure is detected and returns true. If @p peer runs,
 * returns false.
 */
bool dsgd_wait_failure_detected(dsgd_worker *w, dsgd_worker *peer);

/** Fills in the part of the result that concerns failures. */
void dsgd_failures_of_run_sum_up(dsgd_engine *engine);

/** Returns the total virtual time: the time of progress, plus the time without progress. */
static inline double dsgd_time_now_s(const dsgd_engine *engine)
{
    return dsgd_now_s() + engine->failures.away_s;
}

/* --- functions that failures.c, restart.c and rejoin.c share ---------------------------------- */

/** Number of failures without a step between them at which a run is given up. */
enum { DSGD_MOST_IN_A_ROW = 100000 };

/** Number of recent steps from which the deadline for the detection of a failure is computed. */
enum { DSGD_ROUNDS_TIMED = 16 };

struct dsgd_failure_state {
    dsgd_failures_config config;
    dsgd_failures *source;
    dsgd_failure next;
    int64_t in_a_row; /* number of failures since the last step */
    /* number of steps of all workers at the last failure after which the other workers continued */
    int64_t steps;
    int64_t period; /* period of the algorithm, in steps */
    /*
     * bytes of the state that a rejoining worker copies to each of its hosts; only for policy
     * quorum
     */
    double copy_bytes;
    /*
     * For policy quorum only. round_s contains the times of recent steps (a ring buffer). led_s is
     * the start of the last step.
     */
    double round_s[DSGD_ROUNDS_TIMED], led_s;
    int64_t n_rounds;
    double cost_s, interval_s; /* time that a checkpoint takes, and time between checkpoints */
    double noticed_s; /* total time of the failure whose announcement started the last checkpoint */
    /*
     * Times in seconds of progress. saved_s: state in the last complete checkpoint. begun_s: start
     * of the last checkpoint. snapshot_s: state in the checkpoint that is written during the steps.
     * written_s: time at which that checkpoint is complete; INFINITY if no checkpoint is being
     * written.
     */
    double saved_s, begun_s, snapshot_s, written_s;
};

/**
 * Returns the failure domains (hosts, islands or groups) of all workers, by rank. @p which is a
 * member of dsgd_failure_units.
 */
dsgd_failure_units dsgd_failures_of_run_units(const dsgd_engine *engine, int which);
/** Returns true if single hosts of a stage fail instead of whole workers. */
bool dsgd_stage_hosts_fail(const dsgd_run_config *config);
/** Returns true if all workers restart together when a worker fails. */
bool dsgd_all_restart(const dsgd_engine *engine);
/** Returns the rank of the first worker that fails in this failure. */
int dsgd_failed_worker(const dsgd_engine *engine, const dsgd_failure *failure);
/**
 * Makes a worker fail at @p down_s, in total time, although the failure model contains no such
 * failure.
 */
void dsgd_fail_worker(dsgd_worker *w, double down_s, double up_s);
/** Removes the next failure from the list and returns it. */
dsgd_failure dsgd_next_failure(dsgd_engine *engine);
/** Ends the run with the outcome "failed", at the total time @p all_s. Returns false. */
bool dsgd_give_up_run(dsgd_engine *engine, double all_s, const char *why);

/* The following functions are defined in rejoin.c. */
/** Takes the next failure from the list, and makes all workers fail that belong to it. */
void dsgd_take_workers_down(dsgd_engine *engine);
/**
 * Adds the time since the last change of the worker's presence to the result. Then changes the
 * presence.
 */
void dsgd_presence_set(dsgd_worker *w, dsgd_presence_state to);
/** Returns the rank of the next running worker after @p w, or -1 if no other worker runs. */
int dsgd_live_peer(const dsgd_worker *w);
