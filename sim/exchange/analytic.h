/**
 * @file analytic.h
 * Allreduces and their halves, of all workers or of groups, whose messages share no link with
 * others: then what each takes is known once its members have arrived, and nothing of it has to be
 * simulated.
 */
#pragma once

#include "sim/exchange/channels.h"
#include "sim/exchange/plan.h"

/**
 * Seconds between the end of a phase's messages and its own. Who takes turns shakes hands in them.
 */
static inline double dsgd_phase_cost_s(const dsgd_worker *w, const dsgd_phase *phase)
{
    return dsgd_received_cost_s(w, phase->turn_s > 0 ? 0 : phase->bytes, phase->reduced,
                                phase->decoded * w->engine->costs.encoding_s_per_byte +
                                    phase->turn_s);
}

/**
 * Whether the run's messages share no link, or meet at NICs that are shared in the way of paths.h.
 * Once true, always.
 */
bool dsgd_is_contention_free(dsgd_engine *engine);

/** Seconds of a message that shares no link. */
double dsgd_contention_free_s(const dsgd_engine *engine, int from, int to, double bytes);

/**
 * Whether a collective is computed: where messages share no link and every member's part depends on
 * all others', with network: flows. NCCL's always are, but for streams that
 * others may meet.
 */
bool dsgd_collective_is_analytic(dsgd_engine *engine, const dsgd_plan *plan);

/**
 * Begins this member's part: the channel has a schedule then, until the part is over.
 *
 * @param meeting where the members meet, NULL at first; free for others when all have come
 */
dsgd_await dsgd_analytic_begin(dsgd_channel *channel, const dsgd_plan *plan,
                               struct dsgd_schedule **meeting);
/** Its next step; it is over when it would be had all messages been sent. */
dsgd_await dsgd_analytic_next(dsgd_channel *channel);

/** Sets what messages inside of workers that are groups of hosts take, once their places are known.
 * (inner_messages.c) */
void dsgd_inside_cost(dsgd_engine *engine);

/**
 * At the end of the run: counts what has been sent of schedules under way. Returns when the last
 * message comes that can come although members are missing.
 */
double dsgd_end_of_analytic_collectives_s(dsgd_engine *engine, double until_s);
