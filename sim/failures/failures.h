/**
 * @file failures.h
 * Workers that fail and come back.
 */
#pragma once

#include "sim/engine/engine.h"

/* --- for the engine --------------------------------------------------------------------------- */

/** Once places are known, @p period the algorithm's; and when there are workers. */
dsgd_status dsgd_failing_open(dsgd_engine *engine, int64_t period, dsgd_error *error);
void dsgd_failing_begin(dsgd_engine *engine);
void dsgd_failing_close(dsgd_engine *engine);

/** Starts what slows links, if anything does. (slow_links.c) */
void dsgd_slowing_open(dsgd_engine *engine);

/** When the clock is to look, of progress: at a failure, or the end; INFINITY: never. */
double dsgd_failing_until_s(const dsgd_engine *engine);
/** That has come. True: it was the run's end. */
bool dsgd_failing_come(dsgd_engine *engine);

/** A step is made: a checkpoint may be due. */
void dsgd_failing_step(dsgd_engine *engine);

/** Of a worker that is down: until it is back, and has its state. False: it stays away. */
bool dsgd_come_back(dsgd_worker *w);

/* By quorum: of a worker that is away, before its next step: until one that is there has begun
 * that, and, if it comes back in it, until it has a copy of the state. Of one that is there, behind
 * it. */
void dsgd_follow_others(dsgd_worker *w);
void dsgd_lead_others(dsgd_worker *w);
/** When the others know that this worker has failed, and are a communicator without it. */
double dsgd_known_s(const dsgd_worker *w);
/** The others of ranks[n] have waited for this worker, which is away: counts it. */
void dsgd_others_waited_for(const dsgd_worker *w, const int *ranks, int n);

/** The failure is no news to the server, or is none any more. */
void dsgd_tell_of(dsgd_worker *w);
/** When a failure that the server is to be told of is known. */
double dsgd_to_be_told_s(const dsgd_worker *w);

/** Whether @p peer is down; waits until that is detected. */
bool dsgd_give_up_on(dsgd_worker *w, dsgd_worker *peer);

/** When the result is summed up. */
void dsgd_failing_sum_up(dsgd_engine *engine);

/** Of all time. */
static inline double dsgd_time_now_s(const dsgd_engine *engine)
{
    return dsgd_now_s() + engine->away_s;
}

/* --- among failures.c, restart.c and rejoin.c ------------------------------------------ */

/** Failures without progress between them: so many are taken for an endless run. */
enum { DSGD_MOST_IN_A_ROW = 100000 };

/** Steps of which a deadline is made. */
enum { DSGD_ROUNDS_TIMED = 16 };

struct dsgd_failing {
    dsgd_failures_config config;
    dsgd_failures *source;
    dsgd_failure next;
    int64_t in_a_row; /* without progress */
    int64_t steps; /* of all workers, at the last failure that the others outlived */
    int64_t period; /* of the algorithm */
    double copy_bytes; /* by quorum: of a state, on each host of a worker */
    /* By quorum: lengths of steps, round about; since when the last is led. */
    double round_s[DSGD_ROUNDS_TIMED], led_s;
    int64_t n_rounds;
    /* Of checkpoints, in seconds of progress: the last one that is whole, and that was begun; one
     * that is written beside the steps, and when it is (INFINITY: none). */
    double cost_s, interval_s;
    /* Of the failure, in all time, before which the last one was begun by notice. */
    double noticed_s;
    double saved_s, begun_s, snapshot_s, written_s;
};

/** Workers by what fails together, in the order of ranks: with each island or group in which they
 * have a host. @p which as there. */
dsgd_failure_units dsgd_failing_units(const dsgd_engine *engine, int which);
/** Whether single hosts fail: of peers, if any does. */
bool dsgd_peers_fail(const dsgd_run_config *config);
/** Whether all workers restart together. */
bool dsgd_all_restart(const dsgd_engine *engine);
/** The first worker that fails. */
int dsgd_failed_worker(const dsgd_engine *engine, const dsgd_failure *failure);
/** A worker fails that nothing else says, from @p down_s of all time on. */
void dsgd_fail_worker(dsgd_worker *w, double down_s, double up_s);
/** Takes the next failure out of the list. */
dsgd_failure dsgd_next_failure(dsgd_engine *engine);
/** Ends the run as failed, at @p all_s of all time. Returns false. */
bool dsgd_give_up_run(dsgd_engine *engine, double all_s, const char *why);

/* rejoin.c */
/** The next failure has come: its workers are down. */
void dsgd_go_down(dsgd_engine *engine);
/** Counts the time since the last change; changes. */
void dsgd_presence_set(dsgd_worker *w, dsgd_presence to);
/** The next worker by rank that is there; -1: none. */
int dsgd_live_peer(const dsgd_worker *w);
