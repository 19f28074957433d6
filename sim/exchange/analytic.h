/**
 * @file analytic.h
 * Closed forms: the times of allreduces, reduce-scatters and allgathers whose messages share no
 * link with other messages. Their times are known when the last member arrives, so that no message
 * needs to be simulated.
 */
#pragma once

#include "sim/exchange/channels.h"
#include "sim/exchange/plan.h"

/**
 * Returns the seconds between the end of the messages of a phase and the end of the phase. The
 * overhead of a message is part of the turn (`partial_turn`) if the phase has one.
 */
static inline double dsgd_phase_cost_s(const dsgd_worker *w, const dsgd_phase *phase)
{
    return dsgd_received_cost_s(w, phase->turn_s > 0 ? 0 : phase->bytes, phase->reduced,
                                phase->decoded * w->engine->costs.encoding_s_per_byte +
                                    phase->turn_s);
}

/**
 * Returns whether the messages of the run share no links, or share NICs only in the way that
 * paths.h describes. The answer does not change during a run.
 */
bool dsgd_is_contention_free(dsgd_engine *engine);

/** Returns the seconds of a message between two hosts that shares no link. */
double dsgd_contention_free_s(const dsgd_engine *engine, int from, int to, double bytes);

/**
 * Returns whether the times of a collective are computed. They are with `network: flows`, if the
 * messages share no links and the part of every member depends on all other members. The times of
 * NCCL collectives are always computed, except for streams that may share links with others.
 */
bool dsgd_collective_is_analytic(dsgd_engine *engine, const dsgd_plan *plan);

/**
 * Starts the part of this member. The channel has a schedule until the part ends.
 *
 * @param meeting the schedule that the first member creates and the others join; NULL before the
 * first and after the last
 */
dsgd_await dsgd_analytic_begin(dsgd_channel *channel, const dsgd_plan *plan,
                               struct dsgd_schedule **meeting);
/** Executes the next step of the part. It ends at the time at which its messages would end. */
dsgd_await dsgd_analytic_next(dsgd_channel *channel);

/** Computes the times of messages inside workers that are groups of hosts, when their places are
 * known. (inner_messages.c) */
void dsgd_inside_cost(dsgd_engine *engine);

/**
 * Counts the messages that schedules under way have sent. Called at the end of the run. Returns the
 * time of the last message that can arrive although members are missing.
 */
double dsgd_end_of_analytic_collectives_s(dsgd_engine *engine, double until_s);
