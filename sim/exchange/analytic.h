/**
 * @file analytic.h
 * Computes, in closed form, the times of allreduces, reduce-scatters and allgathers whose messages
 * share no link with other messages. When the last member arrives, the times of all members are
 * known, so no message needs to be simulated.
 */
#pragma once

#include "sim/exchange/channels.h"
#include "sim/exchange/plan.h"

/**
 * Returns the seconds between the arrival of the messages of a phase and the end of the phase. If
 * the phase has a turn of the library's progress loop (`partial_turn`), the turn includes the
 * overhead of a message.
 */
static inline double dsgd_phase_cost_s(const dsgd_worker *w, const dsgd_phase *phase)
{
    return dsgd_received_cost_s(w, phase->turn_s > 0 ? 0 : phase->bytes, phase->reduced,
                                phase->decoded * w->engine->costs.encoding_s_per_byte +
                                    phase->turn_s);
}

/**
 * Returns whether no two messages of the run share a link, except NICs that are shared as paths.h
 * describes. The answer does not change during a run.
 */
bool dsgd_is_contention_free(dsgd_engine *engine);

/** Returns the seconds that a message between two hosts takes if it shares no link. */
double dsgd_contention_free_s(const dsgd_engine *engine, int from, int to, double bytes);

/**
 * Returns whether the times of a collective are computed instead of simulated. With `network:
 * flows`, they are computed if its messages share no links and every member depends on all other
 * members. The times of NCCL collectives are always computed, except for streams that may share
 * links with other messages.
 */
bool dsgd_collective_is_analytic(dsgd_engine *engine, const dsgd_plan *plan);

/**
 * Starts this member's part in a collective. channel->schedule is set until the part ends.
 *
 * @param meeting address of the schedule, which the first member creates and the other members
 * join; *meeting is NULL if no member or every member has arrived
 */
dsgd_await dsgd_analytic_begin(dsgd_channel *channel, const dsgd_plan *plan,
                               struct dsgd_schedule **meeting);
/**
 * Executes the next step of this member's part. The part ends at the time at which simulated
 * messages would end.
 */
dsgd_await dsgd_analytic_next(dsgd_channel *channel);

/**
 * Computes the times of messages inside workers that are groups of hosts. Called when the places of
 * the hosts are known. (inner_messages.c)
 */
void dsgd_inside_cost(dsgd_engine *engine);

/**
 * Counts the messages that unfinished schedules have sent. Called at the end of the run. Returns
 * the arrival time of the last message that can arrive although other members are missing.
 */
double dsgd_end_of_analytic_collectives_s(dsgd_engine *engine, double until_s);
