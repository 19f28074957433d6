/**
 * @file observe.h
 * What happens in a run, told once: feeds accounting, timeline and ledger, whichever want it.
 *
 * Hosts are as in engine->workers. A message's number is for its arrival; 0: it is not recorded.
 */
#ifndef DSGD_SIM_ENGINE_OBSERVE_H
#define DSGD_SIM_ENGINE_OBSERVE_H

#include "sim/engine/engine.h"

/* --- messages --------------------------------------------------------------------------------- */

/** A message is sent now. Returns its number. */
size_t dsgd_observe_sent(dsgd_engine *engine, int from, int to, double bytes);

/** The same of an activation for a version, computed to arrive at @p end_s; INFINITY: simulated. */
void dsgd_observe_activation(dsgd_engine *engine, int from, int to, long position, double end_s);

/** What is sent arrives, with @p content (NULL: none); it was on the network from @p since_s. */
void dsgd_observe_arrived(const dsgd_worker *w, int from, double bytes, size_t message,
                          double since_s, const dsgd_piece *content);

/** A simulated message from its start to its arrival, which is now. */
void dsgd_observe_passed(dsgd_engine *engine, int from, int to, double bytes, double since_s);

/** A computed message, one of many that dsgd_count_messages() counts together. */
void dsgd_observe_computed(dsgd_engine *engine, int from, int to, double bytes, double since_s,
                           double end_s);

/* --- values ----------------------------------------------------------------------------------- */

/** A vector's piece has a new value. */
static inline void dsgd_observe_set(const dsgd_vector *x, dsgd_value value)
{
    const dsgd_worker *const w = x->owner;
    if (dsgd_entered(w->engine) && x->whole == w->model)
        dsgd_ledger_enter(w, (dsgd_ledger_entry){.kind = DSGD_ENTRY_MODEL}, value);
}

/** A verb sends a piece. */
static inline void dsgd_observe_sends(const dsgd_worker *w, const dsgd_piece *x, const char *verb)
{
    if (dsgd_entered(w->engine))
        dsgd_ledger_enter(w, (dsgd_ledger_entry){.kind = DSGD_ENTRY_SENT, .verb = verb}, x->value);
}

/** A host gets a value that another host had. */
void dsgd_observe_received(const dsgd_worker *w, int from, dsgd_value value, long stamp);

/** A worker contributes to a sum, and uses it. */
void dsgd_observe_sampled(const dsgd_worker *w, uint64_t scope, uint64_t number, dsgd_value value,
                          long stamp);
void dsgd_observe_sum(const dsgd_worker *w, uint64_t scope, uint64_t number, dsgd_value sum);

/** A contribution of another worker is used: its age, and its lag, max(0, user's steps - stamp). */
void dsgd_observe_used(dsgd_worker *user, int owner, size_t piece, long stamp, double weight);

/**
 * A gradient that @p from has sent is used, as old as @p missed updates; of @p span piece, version
 * and made are set.
 */
void dsgd_observe_gradient_used(const dsgd_worker *user, int from, double missed, double weight,
                                dsgd_span span);

/* --- partial collectives ---------------------------------------------------------------------- */

/** An instant; of @p mark all but host and time is set. */
static inline void dsgd_observe_mark(const dsgd_worker *w, dsgd_span mark)
{
    if (dsgd_watched(w->engine))
        dsgd_timeline_mark(w, mark);
}

/** The send buffer is sampled for a version, by the job of that span. */
void dsgd_observe_contributed(const dsgd_worker *w, size_t exchange, bool fresh, dsgd_span mark);

#endif
