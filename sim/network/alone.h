/**
 * @file alone.h
 * Messages and computations that share nothing with others: computed, while SimGrid keeps the time.
 */
#ifndef DSGD_SIM_NETWORK_ALONE_H
#define DSGD_SIM_NETWORK_ALONE_H

#include "sim/network/network.h"
#include "sim/network/paths.h"

/**
 * The network @p under, but for messages, which take the times of @p paths (freed at the end of the
 * run), and computations. Every host sends one message of more than some bytes at a time at most,
 * and receives one; a second one stops the program.
 */
const dsgd_network *dsgd_network_alone(const dsgd_network *under, dsgd_paths *paths, int n_hosts);

#endif
