/**
 * @file observe.h
 * What happens in a run, for its accounts, its timeline and its ledger.
 */
#pragma once

#include "sim/engine/engine.h"

/* --- accounting.c: time, messages and staleness ----------------------------------------------- */

/** Counts from_s to now as communication, but for what computation hides or was counted before. */
void dsgd_count_communication(dsgd_worker *w, double from_s);

/**
 * Likewise from_s to to_s in the past, in the order of to_s. While w->n_uncounted is not 0, all
 * computations are remembered for it, and other communication is counted when its turn comes.
 * dsgd_count_later_end() counts one down.
 */
void dsgd_count_communication_by(dsgd_worker *w, double from_s, double to_s);
void dsgd_count_later_end(dsgd_worker *w);

/** Before a computation begins, which becomes the last: the last but one becomes an earlier one. */
void dsgd_count_computation(dsgd_worker *w);

/**
 * Counts a use by @p user of a piece that @p owner made:
 *     age = max(0, min(owner's local steps, user's local steps) - stamp).
 * A null contribution (stamp -1) is not counted.
 */
void dsgd_count_age(dsgd_worker *user, int owner, size_t piece, int64_t stamp, double weight);

/** Contributions made at the same step, by owners who have made as many local steps by now. */
typedef struct dsgd_alike {
    int64_t stamp, owner_steps;
    int64_t n;
} dsgd_alike;

/**
 * Counts alike[n], like as many calls of dsgd_count_age() in any order. False, and nothing is
 * counted, where rounding makes the sums depend on that order.
 */
bool dsgd_count_ages(dsgd_worker *user, size_t piece, const dsgd_alike *alike, size_t n,
                     double weight);

/** Ages of one use: of several contributions their mean and their largest. */
typedef struct dsgd_lag {
    double mean, max;
} dsgd_lag;

/** Counts how far a use is behind the iteration in which it is made. */
void dsgd_count_lag(dsgd_engine *engine, dsgd_lag lag, double weight);

/**
 * Of a contribution that a worker sent in a step of its: what it was computed from does not count
 * as samples.
 */
void dsgd_count_dropped(dsgd_worker *sender, int64_t step, double share);

/** Counts the application of a gradient. */
void dsgd_count_gradient(dsgd_engine *engine, dsgd_lag age, double weight);

/** Tells the run's progress that @p n things have moved, and the virtual time. */
void dsgd_count_events(const dsgd_engine *engine, uint64_t n);

/** Counts @p n messages of as many bytes each. */
void dsgd_count_messages(dsgd_engine *engine, uint64_t n, double bytes);

/** Counts what a vector travels by, of all workers or of a group. */
void dsgd_count_collective(dsgd_engine *engine, bool partial, dsgd_collective how, double bytes);

/** Counts bytes that arrive before the end of the run, for what links take alone; hosts of the
 * cluster. */
void dsgd_count_carried(dsgd_engine *engine, int from, int to, double bytes);

/** Returns the number of links that have names, and their loads; the caller frees *loads and its
 * texts. (loads.c) */
size_t dsgd_list_loads(const dsgd_engine *engine, dsgd_load **loads);

/** Counts the time of a step, unless the run has ended. */
void dsgd_count_step_time(dsgd_engine *engine, double step_s);

/** Fills the result with all that was counted. */
void dsgd_sum_up(dsgd_engine *engine);
/** Likewise, when the run ends and while its network is there, what links have carried. */
void dsgd_sum_up_loads(dsgd_engine *engine);

/* --- timeline.c: what happens, for who watches ------------------------------------------------ */

/* They do nothing where nobody watches. Of a dsgd_span host and step, and where it begins or is an
 * instant its times, are set there. A span's number is 0 where it is not recorded. */

void dsgd_timeline_open(dsgd_engine *engine);
/** At the end of the window or of the run. */
void dsgd_timeline_close(dsgd_engine *engine);

size_t dsgd_timeline_begin(const dsgd_worker *w, dsgd_span span);
void dsgd_timeline_end(const dsgd_engine *engine, size_t span);
/** For observe.c, which sets host and times. */
size_t dsgd_timeline_record(dsgd_engine *engine, dsgd_span span);

/** An instant; of @p mark all but host and time is set. */
void dsgd_timeline_mark(const dsgd_worker *w, dsgd_span mark);

/** The send buffer is sampled for a version, by the job of that span. */
void dsgd_timeline_contribute(const dsgd_worker *w, size_t exchange, dsgd_span mark);

/** It is received now, and was on the network from @p since_s. */
void dsgd_timeline_arrive(const dsgd_engine *engine, size_t message, double since_s);
/** The activation of version * n_pieces + piece is. */
void dsgd_timeline_arrive_activation(const dsgd_worker *to, int from, int64_t position);

/** A wait begins, and ends. */
size_t dsgd_timeline_wait(const dsgd_worker *w, const dsgd_wait *wait);
void dsgd_timeline_wait_end(const dsgd_worker *w, const dsgd_wait *wait);
/** A host may have done its part: whoever waits may wait for fewer now. */
void dsgd_timeline_look(const dsgd_engine *engine, int host);

/** A gradient is cancelled: its span ends. */
void dsgd_timeline_cancel(const dsgd_engine *engine, size_t span);

/** The worker begins its step. */
void dsgd_timeline_step(dsgd_worker *w);

/* --- ledger.c: which values there are --------------------------------------------------------- */

/** Before the models of time 0 are set; does nothing where no ledger is wanted. */
void dsgd_ledger_open(dsgd_engine *engine);
/** At the end of the run: records no more. */
void dsgd_ledger_end(const dsgd_engine *engine);
/** After the run, while its values are held: reads them. */
void dsgd_ledger_close(dsgd_engine *engine);

/** Enters what happens to @p value now; host, step, time and value are set there. */
void dsgd_ledger_add(const dsgd_worker *w, dsgd_ledger_entry entry, dsgd_value value);
/** The same where a ledger is wanted; inline, so that no entry is filled in vain. */
static inline void dsgd_ledger_enter(const dsgd_worker *w, dsgd_ledger_entry entry,
                                     dsgd_value value)
{
    if (w->engine->accounts.ledger != NULL)
        dsgd_ledger_add(w, entry, value);
}

/* --- observe.c: what happens, told once to accounts, timeline and ledger ---------------------- */

/* Hosts are as in engine->workers, or hosts of theirs by lanes. A message's number is for its
 * arrival; 0: it is not recorded. */

/** A message is sent now. Returns its number. */
size_t dsgd_observe_sent(dsgd_engine *engine, int from, int to, double bytes);
/** The same of an activation for a version, computed to arrive at @p end_s; INFINITY: simulated. */
void dsgd_observe_activation(dsgd_engine *engine, int from, int to, int64_t position, double end_s);

/** What is sent on a lane arrives, with @p content (NULL: none); it was on the network from @p
 * since_s. */
void dsgd_observe_arrived(const dsgd_worker *w, int from, int lane, double bytes, size_t message,
                          double since_s, const dsgd_piece *content);

/** Notes that arithmetic, or else the network, has timed something of the run. */
void dsgd_count_timed_by(dsgd_engine *engine, bool computed);

/** A simulated message from its start to its arrival, which is now. */
void dsgd_observe_passed(dsgd_engine *engine, int from, int to, int lane, double bytes,
                         double since_s);

/** A computed message, one of many that dsgd_count_messages() counts together. */
void dsgd_observe_computed(dsgd_engine *engine, int from, int to, double bytes, double since_s,
                           double end_s);

/** A verb sends a piece. */
static inline void dsgd_observe_sends(const dsgd_worker *w, const dsgd_piece *x, const char *verb)
{
    dsgd_ledger_enter(w, (dsgd_ledger_entry){.kind = DSGD_ENTRY_SENT, .verb = verb}, x->value);
}

/** A host gets a value that another host had. */
void dsgd_observe_received(const dsgd_worker *w, int from, dsgd_value value, int64_t stamp);

/** A worker contributes to a sum, and uses it. */
void dsgd_observe_sampled(const dsgd_worker *w, uint64_t scope, uint64_t number, dsgd_value value,
                          int64_t stamp);
void dsgd_observe_sum(const dsgd_worker *w, uint64_t scope, uint64_t number, dsgd_value sum);

/** A contribution of another worker is used: its age, and its lag, max(0, user's steps - stamp). */
void dsgd_observe_used(dsgd_worker *user, int owner, size_t piece, int64_t stamp, double weight);

/**
 * A gradient that @p from has sent is used, as old as @p missed updates; of @p span piece, version
 * and made are set.
 */
void dsgd_observe_gradient_used(const dsgd_worker *user, int from, double missed, double weight,
                                dsgd_span span);

/** The send buffer is sampled for a version, by the job of that span. */
void dsgd_observe_contributed(const dsgd_worker *w, size_t exchange, bool fresh, dsgd_span mark);
