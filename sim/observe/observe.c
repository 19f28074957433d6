/**
 * @file observe.c Distributes each event of a run to the accounts, the timeline and the ledger.
 */
#include "sim/observe/observe.h"

#include "base/round.h"
#include "sim/network/network.h"

#include "sim/result.h"

void dsgd_count_timed_by(dsgd_engine *engine, bool computed)
{
    const bool flows = dsgd_network_used == &dsgd_network_flows;
    engine->result->timed_by |= computed ? DSGD_TIMED_BY_ARITHMETIC
                                : flows  ? DSGD_TIMED_BY_FLOWS
                                         : DSGD_TIMED_BY_SIMGRID;
}

static void count_message(dsgd_engine *engine, bool computed, int from, double bytes)
{
    dsgd_count_timed_by(engine, computed);
    engine->workers[from].accounts.sent_bytes += bytes;
}

/**
 * Records a message in the timeline. If the message is an activation, @p position is its version
 * and chunk; else -1. Returns the number of the message's span.
 */
static size_t record_message(dsgd_engine *engine, int from, int to, double bytes, double since_s,
                             double end_s, int64_t position)
{
    const int64_t n = (int64_t)engine->layout.n_pieces;
    if (engine->accounts.timeline == NULL)
        return 0;
    return dsgd_timeline_record(engine, (dsgd_span){.kind = DSGD_SPAN_MESSAGE,
                                                    .host = from,
                                                    .peer = to,
                                                    .piece = position < 0 ? -1 : position % n,
                                                    .version = position < 0 ? -1 : position / n,
                                                    .since_s = since_s,
                                                    .end_s = end_s,
                                                    .bytes = bytes,
                                                    .verb = position < 0 ? NULL : "activation"});
}

size_t dsgd_observe_sent(dsgd_engine *engine, int from, int to, double bytes)
{
    dsgd_count_messages(engine, 1, bytes);
    count_message(engine, false, from, bytes);
    return record_message(engine, from, to, bytes, dsgd_now_s(), INFINITY, -1);
}

void dsgd_observe_activation(dsgd_engine *engine, int from, int to, int64_t position, double end_s)
{
    dsgd_count_messages(engine, 1, DSGD_ACTIVATION_BYTES);
    count_message(engine, end_s < INFINITY, from, DSGD_ACTIVATION_BYTES);
    record_message(engine, from, to, DSGD_ACTIVATION_BYTES, dsgd_now_s(), end_s, position);
}

/**
 * Counts bytes that arrive now. Does nothing after the end of the run, when the last messages still
 * arrive.
 */
static inline void count_arrival(dsgd_engine *engine, int from, int to, int lane, double bytes)
{
    if (engine->result->virtual_s > 0)
        return;
    if (lane == 0)
        dsgd_count_carried(engine, from, to, bytes);
    else
        dsgd_count_carried(engine, dsgd_cluster_host(from, lane), dsgd_cluster_host(to, lane),
                           bytes);
}

void dsgd_observe_arrived(const dsgd_worker *w, int from, int lane, double bytes, size_t message,
                          double since_s, const dsgd_piece *content)
{
    count_arrival(w->engine, from, w->host, lane, bytes);
    dsgd_timeline_arrive(w->engine, message, since_s);
    if (content != NULL && content->stamp >= 0)
        dsgd_observe_received(w, from, content->value, content->stamp);
}

void dsgd_observe_passed(dsgd_engine *engine, int from, int to, int lane, double bytes,
                         double since_s)
{
    dsgd_count_messages(engine, 1, bytes);
    count_message(engine, false, from, bytes);
    record_message(engine, from, to, bytes, since_s, dsgd_now_s(), -1);
    count_arrival(engine, from, to, lane, bytes);
}

void dsgd_observe_computed(dsgd_engine *engine, int from, int to, double bytes, double since_s,
                           double end_s)
{
    count_message(engine, true, from, bytes);
    record_message(engine, from, to, bytes, since_s, end_s, -1);
}

void dsgd_observe_received(const dsgd_worker *w, int from, dsgd_value value, int64_t stamp)
{
    dsgd_ledger_enter(
        w, (dsgd_ledger_entry){.kind = DSGD_ENTRY_RECEIVED, .peer = from, .stamp = stamp}, value);
}

void dsgd_observe_sampled(const dsgd_worker *w, uint64_t scope, uint64_t number, dsgd_value value,
                          int64_t stamp)
{
    dsgd_ledger_enter(
        w,
        (dsgd_ledger_entry){
            .kind = DSGD_ENTRY_SAMPLED, .stamp = stamp, .scope = scope, .number = number},
        value);
}

void dsgd_observe_sum(const dsgd_worker *w, uint64_t scope, uint64_t number, dsgd_value sum)
{
    dsgd_ledger_enter(
        w, (dsgd_ledger_entry){.kind = DSGD_ENTRY_USED, .scope = scope, .number = number}, sum);
}

void dsgd_observe_used(dsgd_worker *user, int owner, size_t piece, int64_t stamp, double weight)
{
    /* returns early, because a contribution of zeros has no age */
    if (stamp < 0)
        return;
    dsgd_count_age(user, owner, piece, stamp, weight);
    const double lag = dsgd_greater((double)(dsgd_local_steps(user, piece) - stamp), 0);
    if (lag > 0)
        dsgd_timeline_mark(user, (dsgd_span){.kind = DSGD_SPAN_USED,
                                             .peer = owner,
                                             .piece = (int64_t)piece,
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
        dsgd_timeline_mark(user, span);
}

void dsgd_observe_contributed(const dsgd_worker *w, size_t exchange, bool fresh, dsgd_span mark)
{
    if (mark.piece == 0) {
        w->engine->accounts.versions += w->node.rank == 0;
        w->engine->accounts.fresh += fresh;
    }
    dsgd_timeline_contribute(w, exchange, mark);
}
