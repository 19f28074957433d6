/**
 * @file schedules.h
 * Schedules of messages, carried out by a channel. sim/algorithm.h has formulas of what they send.
 */
#ifndef DSGD_SIM_EXCHANGE_SCHEDULES_H
#define DSGD_SIM_EXCHANGE_SCHEDULES_H

#include "sim/exchange/channels.h"

enum { DSGD_ACTIVATION_BYTES = 4 }; /* of a partial collective */

/** An allreduce of all workers, by the run's algorithm. */
void dsgd_schedule_allreduce(dsgd_channel *channel, double bytes);

/** Recursive doubling, the full vector per phase, along the bits of @p group. */
void dsgd_schedule_butterfly(dsgd_channel *channel, dsgd_group group, double bytes);

#endif
