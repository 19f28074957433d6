/**
 * @file closed.h
 * Allreduces of all workers whose messages share no link with another: then what each takes is
 * known once all members have arrived, and nothing of it has to be simulated.
 */
#ifndef DSGD_SIM_EXCHANGE_CLOSED_H
#define DSGD_SIM_EXCHANGE_CLOSED_H

#include "sim/exchange/channels.h"

/** An allreduce as rounds of messages, in each of which a member takes part once or not at all. */
typedef struct dsgd_plan {
    dsgd_collective how;
    int n; /* members; their indices are in the order of ranks */
    double bytes; /* of the vector */
    int n_rounds;
    int bits, extra; /* n = 2^bits + extra; 0 for a ring */
} dsgd_plan;

/** What a member does in a round: sends and receives at once, then reduces. */
typedef struct dsgd_phase {
    int to, from; /* indices of members; -1: none. Both -1: nothing */
    double bytes; /* of every message of the round */
    double reduced; /* bytes */
} dsgd_phase;

/** Pure. In each round in which member a sends to b, b receives from a. (schedules.c) */
dsgd_phase dsgd_plan_phase(const dsgd_plan *plan, int round, int index);

/** Whether the run's allreduces of all workers are so. Once true, always. */
bool dsgd_schedule_is_closed(dsgd_engine *engine);

/** Returns when this member has done its part, as if all messages had been sent. */
void dsgd_closed_schedule(dsgd_channel *channel, const dsgd_plan *plan);

/**
 * At the end of the run: counts what has been sent of schedules under way. Returns when the last
 * message comes that can come although members are missing.
 */
double dsgd_closed_schedules_end(dsgd_engine *engine, double until_s);

void dsgd_closed_schedules_free(dsgd_engine *engine);

#endif
