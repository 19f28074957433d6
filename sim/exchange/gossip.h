/**
 * @file gossip.h
 * For tests; the verbs are in sim/algorithm.h.
 */
#ifndef DSGD_SIM_EXCHANGE_GOSSIP_H
#define DSGD_SIM_EXCHANGE_GOSSIP_H

#include "sim/engine/engine.h"

/** Push-sum weight at all workers and on its way, mean over pieces: always P. */
double dsgd_gossip_weight(const dsgd_engine *engine);

#endif
