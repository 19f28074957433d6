/**
 * @file observe.h Functions that report the events of a run to its accounts, its timeline and its
 * ledger.
 */
#pragma once

#include "sim/engine/engine.h"

/* --- functions of accounting.c: time, messages and staleness ---------------------------------- */

/**
 * Counts the time from from_s to now as communication of worker @p w, except parts that overlap
 * with computation or were counted before.
 */
void dsgd_count_communication(dsgd_worker *w, double from_s);

/**
 * Like dsgd_count_communication(), for a time in the past: from from_s to to_s. Calls must be in
 * the order of to_s. If n_uncounted of the worker's accounts is not 0, all computations are kept
 * for later calls of this function. Calls of dsgd_count_communication() are then postponed.
 * dsgd_count_later_end() decreases n_uncounted.
 */
void dsgd_count_communication_by(dsgd_worker *w, double from_s, double to_s);
void dsgd_count_later_end(dsgd_worker *w);

/**
 * Keeps the worker's last computation as an earlier one, if communication may overlap with it. Must
 * be called before each computation begins.
 */
void dsgd_count_computation(dsgd_worker *w);

/**
 * Counts the age of a chunk that @p owner made and @p user uses:
 *     age = max(0, min(owner's local steps, user's local steps) - stamp).
 * A contribution of zeros (stamp -1) is not counted.
 */
void dsgd_count_age(dsgd_worker *user, int owner, size_t piece, int64_t stamp, double weight);

/**
 * A group of n contributions that have the same stamp. All their owners now have the same number of
 * local steps.
 */
typedef struct dsgd_alike {
    int64_t stamp, owner_steps;
    int64_t n;
} dsgd_alike;

/**
 * Counts the ages of alike[n], with the same result as single calls of dsgd_count_age(). If the
 * sums depend on the order of the contributions because of rounding, counts nothing and returns
 * false.
 */
bool dsgd_count_ages(dsgd_worker *user, size_t piece, const dsgd_alike *alike, size_t n,
                     double weight);

/** The age of a used value: mean and maximum over its contributions. */
typedef struct dsgd_lag {
    double mean, max;
} dsgd_lag;

/** Counts the lag of a used value: the number of iterations between its computation and its use. */
void dsgd_count_lag(dsgd_engine *engine, dsgd_lag lag, double weight);

/**
 * Counts a contribution that was dropped. The share of the mini-batch that @p sender computed for
 * it in step @p step does not count as samples.
 */
void dsgd_count_dropped(dsgd_worker *sender, int64_t step, double share);

/** Counts the age of a gradient that is applied to a model. */
void dsgd_count_gradient(dsgd_engine *engine, dsgd_lag age, double weight);

/** Adds @p n events to the run's progress report, and updates its virtual time. */
void dsgd_count_events(const dsgd_engine *engine, uint64_t n);

/** Counts @p n messages of @p bytes bytes each. */
void dsgd_count_messages(dsgd_engine *engine, uint64_t n, double bytes);

/**
 * Records the collective algorithm @p how of an allreduce of all workers, or of a partial
 * collective, if no larger vector was sent before.
 */
void dsgd_count_collective(dsgd_engine *engine, bool partial, dsgd_collective how, double bytes);

/**
 * Counts bytes between two hosts of the cluster that arrive before the end of the run. The sums
 * give the least time that the links need.
 */
void dsgd_count_carried(dsgd_engine *engine, int from, int to, double bytes);

/**
 * Lists the loads of all links that have names. Returns their number. The caller frees *loads and
 * its texts. Defined in loads.c.
 */
size_t dsgd_list_loads(const dsgd_engine *engine, dsgd_load **loads);

/**
 * Counts the time of a step in the histogram of step times. Does nothing after the end of the run.
 */
void dsgd_count_step_time(dsgd_engine *engine, double step_s);

/** Fills the result with all numbers that were counted. */
void dsgd_sum_up(dsgd_engine *engine);
/**
 * Fills the result with the loads of the links. Must be called at the end of the run, while its
 * network still exists.
 */
void dsgd_sum_up_loads(dsgd_engine *engine);

/* --- functions of timeline.c that record events of a run -------------------------------------- */

/*
 * The functions of timeline.c do nothing if the run has no timeline. They set host, step and times
 * of a dsgd_span. The number of a span is 0 if the span is not recorded.
 */

void dsgd_timeline_open(dsgd_engine *engine);
/** Ends the recording. Called at the end of the window or of the run. */
void dsgd_timeline_close(dsgd_engine *engine);

size_t dsgd_timeline_begin(const dsgd_worker *w, dsgd_span span);
void dsgd_timeline_end(const dsgd_engine *engine, size_t span);
/** Records a span whose host and times the caller has set. Returns the span's number. */
size_t dsgd_timeline_record(dsgd_engine *engine, dsgd_span span);

/** Records an event without duration. @p mark has all members except host and time. */
void dsgd_timeline_mark(const dsgd_worker *w, dsgd_span mark);

/**
 * Records that an exchange takes the contents of the send buffer for a version of a partial
 * collective. @p exchange is the span of the exchange.
 */
void dsgd_timeline_contribute(const dsgd_worker *w, size_t exchange, dsgd_span mark);

/** Records that a message is received now. The message was on the network since @p since_s. */
void dsgd_timeline_arrive(const dsgd_engine *engine, size_t message, double since_s);
/** Records that an activation is received now. @p position is version * n_pieces + piece. */
void dsgd_timeline_arrive_activation(const dsgd_worker *to, int from, int64_t position);

/**
 * dsgd_timeline_wait() records the start of a wait for other workers, and dsgd_timeline_wait_end()
 * records its end.
 */
size_t dsgd_timeline_wait(const dsgd_worker *w, const dsgd_wait *wait);
void dsgd_timeline_wait_end(const dsgd_worker *w, const dsgd_wait *wait);
/**
 * Checks whether waits are over, or have fewer hosts to wait for, because @p host may have done its
 * part.
 */
void dsgd_timeline_look(const dsgd_engine *engine, int host);

/** Ends the span of a gradient that is cancelled. */
void dsgd_timeline_cancel(const dsgd_engine *engine, size_t span);

/** Records that the worker begins a step. */
void dsgd_timeline_step(dsgd_worker *w);

/* --- functions of ledger.c that record values of a run ---------------------------------------- */

/**
 * Opens the ledger. Must be called before the models of time 0 are set. Does nothing if the run has
 * no ledger.
 */
void dsgd_ledger_open(dsgd_engine *engine);
/** Stops the recording of values at the end of the run. */
void dsgd_ledger_end(const dsgd_engine *engine);
/**
 * Reads the elements of all recorded values. Must be called after the run, while the value store
 * still exists.
 */
void dsgd_ledger_close(dsgd_engine *engine);

/** Adds an entry about @p value to the ledger. Sets the entry's host, step, time and value. */
void dsgd_ledger_add(const dsgd_worker *w, dsgd_ledger_entry entry, dsgd_value value);
/**
 * Like dsgd_ledger_add(), but does nothing if the run has no ledger. This function is inline, so
 * that no entry is made without a ledger.
 */
static inline void dsgd_ledger_enter(const dsgd_worker *w, dsgd_ledger_entry entry,
                                     dsgd_value value)
{
    if (w->engine->accounts.ledger != NULL)
        dsgd_ledger_add(w, entry, value);
}

/* --- functions of observe.c that report events to all records --------------------------------- */

/*
 * In the following functions, hosts are indices of engine->workers, and lanes are hosts of one
 * worker. The number of a message identifies the message when it arrives. The number is 0 if the
 * message is not recorded.
 */

/** Reports that a message is sent now. Returns its number. */
size_t dsgd_observe_sent(dsgd_engine *engine, int from, int to, double bytes);
/**
 * Reports that an activation message of a partial collective is sent now. The activation arrives at
 * the computed time @p end_s. If the message is simulated, @p end_s is INFINITY.
 */
void dsgd_observe_activation(dsgd_engine *engine, int from, int to, int64_t position, double end_s);

/**
 * Reports that a message arrives on a lane of worker @p w. The message was on the network since @p
 * since_s. @p content is its chunk; it may be NULL.
 */
void dsgd_observe_arrived(const dsgd_worker *w, int from, int lane, double bytes, size_t message,
                          double since_s, const dsgd_piece *content);

/**
 * Records whether the time of a message was computed by formulas (@p computed is true) or simulated
 * by the network.
 */
void dsgd_count_timed_by(dsgd_engine *engine, bool computed);

/**
 * Reports a simulated message that arrives now and was not reported when it was sent, at @p
 * since_s.
 */
void dsgd_observe_passed(dsgd_engine *engine, int from, int to, int lane, double bytes,
                         double since_s);

/**
 * Reports a message with computed times. The caller counts such messages with
 * dsgd_count_messages().
 */
void dsgd_observe_computed(dsgd_engine *engine, int from, int to, double bytes, double since_s,
                           double end_s);

/** Reports that a verb sends a chunk. */
static inline void dsgd_observe_sends(const dsgd_worker *w, const dsgd_piece *x, const char *verb)
{
    dsgd_ledger_enter(w, (dsgd_ledger_entry){.kind = DSGD_ENTRY_SENT, .verb = verb}, x->value);
}

/** Reports that worker @p w receives the value of host @p from. */
void dsgd_observe_received(const dsgd_worker *w, int from, dsgd_value value, int64_t stamp);

/**
 * dsgd_observe_sampled() reports that a worker contributes a value to a sum. dsgd_observe_sum()
 * reports that the worker uses the sum.
 */
void dsgd_observe_sampled(const dsgd_worker *w, uint64_t scope, uint64_t number, dsgd_value value,
                          int64_t stamp);
void dsgd_observe_sum(const dsgd_worker *w, uint64_t scope, uint64_t number, dsgd_value sum);

/**
 * Reports that @p user uses a contribution of worker @p owner. Counts its age and its lag, which is
 * max(0, user's local steps - stamp).
 */
void dsgd_observe_used(dsgd_worker *user, int owner, size_t piece, int64_t stamp, double weight);

/**
 * Reports that @p user applies a gradient of worker @p from after @p missed updates of the model.
 * The caller sets piece, version and made of @p span.
 */
void dsgd_observe_gradient_used(const dsgd_worker *user, int from, double missed, double weight,
                                dsgd_span span);

/**
 * Reports that an exchange takes the contents of the send buffer for a version of a partial
 * collective. @p exchange is the span of the exchange.
 */
void dsgd_observe_contributed(const dsgd_worker *w, size_t exchange, bool fresh, dsgd_span mark);
