/**
 * @file observe.c
 * Tells accounting, timeline and ledger what happens.
 */
#include "sim/engine/observe.h"

#include <math.h>

#include "sim/result.h"

/* --- messages --------------------------------------------------------------------------------- */

static size_t add_message(dsgd_engine *engine, bool computed, dsgd_span message)
{
    const bool by_nics = dsgd_simulator_used == &dsgd_simulator_nics;
    engine->result->timed_by |= computed  ? DSGD_TIMED_BY_ARITHMETIC
                                : by_nics ? DSGD_TIMED_BY_NICS
                                          : DSGD_TIMED_BY_SIMGRID;
    engine->workers[message.host].sent_bytes += message.bytes;
    return dsgd_watched(engine) ? dsgd_timeline_message(engine, message) : 0;
}

/** Of a message that is sent now. */
static size_t add_sent(dsgd_engine *engine, bool computed, int from, int to, double bytes)
{
    dsgd_count_messages(engine, 1, bytes);
    return add_message(
        engine, computed,
        (dsgd_span){
            .host = from, .peer = to, .bytes = bytes, .since_s = dsgd_now_s(), .end_s = INFINITY});
}

size_t dsgd_observe_sent(dsgd_engine *engine, int from, int to, double bytes)
{
    return add_sent(engine, false, from, to, bytes);
}

void dsgd_observe_activation(dsgd_engine *engine, int from, int to, long position, double end_s)
{
    const size_t message = add_sent(engine, end_s < INFINITY, from, to, DSGD_ACTIVATION_BYTES);
    dsgd_timeline_name_activation(engine, message, position, end_s);
}

/** Counts what arrives now, unless the run has ended: what is left only drains. */
static void count_arrival(dsgd_engine *engine, int from, int to, double bytes)
{
    if (engine->result->virtual_s <= 0)
        dsgd_count_carried(engine, from, to, bytes);
}

void dsgd_observe_arrived(const dsgd_worker *w, int from, double bytes, size_t message,
                          double since_s, const dsgd_piece *content)
{
    count_arrival(w->engine, from, w->host, bytes);
    dsgd_timeline_arrive(w->engine, message, since_s);
    if (content != NULL && content->stamp >= 0)
        dsgd_observe_received(w, from, content->value, content->stamp);
}

void dsgd_observe_passed(dsgd_engine *engine, int from, int to, double bytes, double since_s)
{
    const dsgd_span message = {
        .host = from, .peer = to, .bytes = bytes, .since_s = since_s, .end_s = dsgd_now_s()};
    dsgd_count_messages(engine, 1, bytes);
    add_message(engine, false, message);
    count_arrival(engine, from, to, bytes);
}

void dsgd_observe_computed(dsgd_engine *engine, int from, int to, double bytes, double since_s,
                           double end_s)
{
    const dsgd_span message = {
        .host = from, .peer = to, .bytes = bytes, .since_s = since_s, .end_s = end_s};
    add_message(engine, true, message);
}

/* --- values ----------------------------------------------------------------------------------- */

void dsgd_observe_received(const dsgd_worker *w, int from, dsgd_value value, long stamp)
{
    if (dsgd_entered(w->engine))
        dsgd_ledger_enter(
            w, (dsgd_ledger_entry){.kind = DSGD_ENTRY_RECEIVED, .peer = from, .stamp = stamp},
            value);
}

void dsgd_observe_sampled(const dsgd_worker *w, uint64_t scope, uint64_t number, dsgd_value value,
                          long stamp)
{
    const dsgd_ledger_entry entry = {
        .kind = DSGD_ENTRY_SAMPLED, .stamp = stamp, .scope = scope, .number = number};
    if (dsgd_entered(w->engine))
        dsgd_ledger_enter(w, entry, value);
}

void dsgd_observe_sum(const dsgd_worker *w, uint64_t scope, uint64_t number, dsgd_value sum)
{
    const dsgd_ledger_entry entry = {.kind = DSGD_ENTRY_USED, .scope = scope, .number = number};
    if (dsgd_entered(w->engine))
        dsgd_ledger_enter(w, entry, sum);
}

void dsgd_observe_used(dsgd_worker *user, int owner, size_t piece, long stamp, double weight)
{
    if (stamp < 0)
        return; /* a null contribution has no age */
    dsgd_count_age(user, owner, piece, stamp, weight);
    const double lag = fmax(0, (double)(dsgd_local_steps(user, piece) - stamp));
    if (lag > 0)
        dsgd_observe_mark(user, (dsgd_span){.kind = DSGD_SPAN_USED,
                                            .peer = owner,
                                            .piece = (long)piece,
                                            .version = stamp,
                                            .made = -1});
    dsgd_count_lag(user->engine, (dsgd_lag){lag, lag}, weight);
}

void dsgd_observe_gradient_used(const dsgd_worker *user, int from, double missed, double weight,
                                dsgd_span span)
{
    dsgd_count_gradient(user->engine, (dsgd_lag){missed, missed}, weight);
    span.kind = DSGD_SPAN_USED;
    span.peer = from;
    if (missed > 0)
        dsgd_observe_mark(user, span);
}

/* --- partial collectives ---------------------------------------------------------------------- */

void dsgd_observe_contributed(const dsgd_worker *w, size_t exchange, bool fresh, dsgd_span mark)
{
    if (mark.piece == 0)
        dsgd_count_contribution(w, fresh);
    if (dsgd_watched(w->engine))
        dsgd_timeline_contribute(w, exchange, mark);
}
