/**
 * @file observe.h The events of a run, which are reported to its accounts, its timeline and its
 * ledger.
 */
#pragma once

#include "sim/engine/engine.h"

/* --- accounting.c: time, messages and staleness ----------------------------------------------- */

/**
 * Counts the time from from_s to now as communication, except parts that overlap with computation
 * or were counted before.
 */
void dsgd_count_communication(dsgd_worker *w, double from_s);

/**
 * Counts the time from from_s to to_s, in the past, in the same way. Calls must be in the order of
 * to_s. While n_uncounted of the worker's accounts is not 0, all computations are kept for later
 * calls, and other communication is counted later, in the order of the ends. dsgd_count_later_end()
 * decreases n_uncounted.
 */
void dsgd_count_communication_by(dsgd_worker *w, double from_s, double to_s);
void dsgd_count_later_end(dsgd_worker *w);

/** Must be called before a computation begins: keeps the last computation as an earlier one. */
void dsgd_count_computation(dsgd_worker *w);

/**
 * Counts a use by @p user of a chunk that @p owner made:
 *     age = max(0, min(owner's local steps, user's local steps) - stamp).
 * A null contribution (stamp -1) is not counted.
 */
void dsgd_count_age(dsgd_worker *user, int owner, size_t piece, int64_t stamp, double weight);

/**
 * The number of contributions that were made at the same step, by owners that have the same number
 * of local steps now.
 */
typedef struct dsgd_alike {
    int64_t stamp, owner_steps;
    int64_t n;
} dsgd_alike;

/**
 * Counts alike[n], like as many calls of dsgd_count_age() in any order. Returns false, and counts
 * nothing, if rounding makes the sums depend on that order.
 */
bool dsgd_count_ages(dsgd_worker *user, size_t piece, const dsgd_alike *alike, size_t n,
                     double weight);

/** The age of one use: mean and maximum of its contributions. */
typedef struct dsgd_lag {
    double mean, max;
} dsgd_lag;

/** Counts the number of iterations by which a use lags behind the iteration in which it is made. */
void dsgd_count_lag(dsgd_engine *engine, dsgd_lag lag, double weight);

/**
 * Counts a contribution that was dropped: the data that the worker computed it from in step @p step
 * does not count as samples.
 */
void dsgd_count_dropped(dsgd_worker *sender, int64_t step, double share);

/** Counts the application of a gradient. */
void dsgd_count_gradient(dsgd_engine *engine, dsgd_lag age, double weight);

/** Adds @p n events and the virtual time to the run's progress report. */
void dsgd_count_events(const dsgd_engine *engine, uint64_t n);

/** Counts @p n messages of @p bytes each. */
void dsgd_count_messages(dsgd_engine *engine, uint64_t n, double bytes);

/**
 * Records the algorithm of a collective of all workers, or of a partial collective, if no larger
 * vector came before.
 */
void dsgd_count_collective(dsgd_engine *engine, bool partial, dsgd_collective how, double bytes);

/**
 * Counts bytes between two hosts of the cluster that arrive before the end of the run. The sums
 * give the time that the links need at least.
 */
void dsgd_count_carried(dsgd_engine *engine, int from, int to, double bytes);

/**
 * Returns the number of links that have names, and their loads. The caller frees *loads and its
 * texts. (loads.c)
 */
size_t dsgd_list_loads(const dsgd_engine *engine, dsgd_load **loads);

/** Counts the time of a step, unless the run has ended. */
void dsgd_count_step_time(dsgd_engine *engine, double step_s);

/** Fills the result with all that was counted. */
void dsgd_sum_up(dsgd_engine *engine);
/**
 * Fills the result with the loads of the links, at the end of the run while its network still
 * exists.
 */
void dsgd_sum_up_loads(dsgd_engine *engine);

/* --- timeline.c: events for observers of a run ------------------------------------------------ */

/*
 * All these functions do nothing if nothing is recorded. They set host, step and times of a
 * dsgd_span where it begins or is an instant. The number of a span is 0 if the span is not
 * recorded.
 */

void dsgd_timeline_open(dsgd_engine *engine);
/** Ends the recording, at the end of the window or of the run. */
void dsgd_timeline_close(dsgd_engine *engine);

size_t dsgd_timeline_begin(const dsgd_worker *w, dsgd_span span);
void dsgd_timeline_end(const dsgd_engine *engine, size_t span);
/** Records a span whose host and times observe.c has set. */
size_t dsgd_timeline_record(dsgd_engine *engine, dsgd_span span);

/** Records an instant. @p mark has all members except host and time. */
void dsgd_timeline_mark(const dsgd_worker *w, dsgd_span mark);

/** Records that the send buffer is sampled for a version, by the job of span @p exchange. */
void dsgd_timeline_contribute(const dsgd_worker *w, size_t exchange, dsgd_span mark);

/** Records that a message is received now, and was on the network since @p since_s. */
void dsgd_timeline_arrive(const dsgd_engine *engine, size_t message, double since_s);
/** Records that the activation of version * n_pieces + piece is received now. */
void dsgd_timeline_arrive_activation(const dsgd_worker *to, int from, int64_t position);

/** Record the start and the end of a wait. */
size_t dsgd_timeline_wait(const dsgd_worker *w, const dsgd_wait *wait);
void dsgd_timeline_wait_end(const dsgd_worker *w, const dsgd_wait *wait);
/** Checks which waits have fewer hosts to wait for, because @p host may have done its part. */
void dsgd_timeline_look(const dsgd_engine *engine, int host);

/** Ends the span of a gradient that is cancelled. */
void dsgd_timeline_cancel(const dsgd_engine *engine, size_t span);

/** Records that the worker begins its step. */
void dsgd_timeline_step(dsgd_worker *w);

/* --- ledger.c: the values of a run ------------------------------------------------------------ */

/** Opens the ledger, before the models of time 0 are set. Does nothing if no ledger is wanted. */
void dsgd_ledger_open(dsgd_engine *engine);
/** Stops the recording, at the end of the run. */
void dsgd_ledger_end(const dsgd_engine *engine);
/** Reads the elements of the values, after the run, while its values are held. */
void dsgd_ledger_close(dsgd_engine *engine);

/** Adds an entry about @p value; sets host, step, time and value. */
void dsgd_ledger_add(const dsgd_worker *w, dsgd_ledger_entry entry, dsgd_value value);
/**
 * Like dsgd_ledger_add(), but does nothing if no ledger is wanted. Inline, so that no entry is
 * filled for nothing.
 */
static inline void dsgd_ledger_enter(const dsgd_worker *w, dsgd_ledger_entry entry,
                                     dsgd_value value)
{
    if (w->engine->accounts.ledger != NULL)
        dsgd_ledger_add(w, entry, value);
}

/* --- observe.c: events for accounts, timeline and ledger -------------------------------------- */

/*
 * Hosts are indices of engine->workers; lanes are hosts of one worker. The number of a message
 * identifies it when it arrives; 0 if the message is not recorded.
 */

/** Reports that a message is sent now. Returns its number. */
size_t dsgd_observe_sent(dsgd_engine *engine, int from, int to, double bytes);
/**
 * Reports that an activation for a version is sent now. It will arrive at the computed time @p
 * end_s, or INFINITY if it is simulated.
 */
void dsgd_observe_activation(dsgd_engine *engine, int from, int to, int64_t position, double end_s);

/**
 * Reports that a message on a lane arrives, with @p content (may be NULL). It was on the network
 * since @p since_s.
 */
void dsgd_observe_arrived(const dsgd_worker *w, int from, int lane, double bytes, size_t message,
                          double since_s, const dsgd_piece *content);

/** Records whether a message was timed by formulas (@p computed) or by the network. */
void dsgd_count_timed_by(dsgd_engine *engine, bool computed);

/** Reports a simulated message that arrives now, from its start on. */
void dsgd_observe_passed(dsgd_engine *engine, int from, int to, int lane, double bytes,
                         double since_s);

/**
 * Reports a message with computed times, one of many that dsgd_count_messages() counts together.
 */
void dsgd_observe_computed(dsgd_engine *engine, int from, int to, double bytes, double since_s,
                           double end_s);

/** Reports that a verb sends a chunk. */
static inline void dsgd_observe_sends(const dsgd_worker *w, const dsgd_piece *x, const char *verb)
{
    dsgd_ledger_enter(w, (dsgd_ledger_entry){.kind = DSGD_ENTRY_SENT, .verb = verb}, x->value);
}

/** Reports that a host receives the value of another host. */
void dsgd_observe_received(const dsgd_worker *w, int from, dsgd_value value, int64_t stamp);

/** Report that a worker contributes to a sum, and that it uses the sum. */
void dsgd_observe_sampled(const dsgd_worker *w, uint64_t scope, uint64_t number, dsgd_value value,
                          int64_t stamp);
void dsgd_observe_sum(const dsgd_worker *w, uint64_t scope, uint64_t number, dsgd_value sum);

/**
 * Reports that a contribution of another worker is used: counts its age and its lag, max(0, user's
 * steps - stamp).
 */
void dsgd_observe_used(dsgd_worker *user, int owner, size_t piece, int64_t stamp, double weight);

/**
 * Reports that a gradient of worker @p from is used after @p missed updates of the model. @p span
 * has piece, version and made.
 */
void dsgd_observe_gradient_used(const dsgd_worker *user, int from, double missed, double weight,
                                dsgd_span span);

/** Reports that the send buffer is sampled for a version, by the job of span @p exchange. */
void dsgd_observe_contributed(const dsgd_worker *w, size_t exchange, bool fresh, dsgd_span mark);
