/**
 * @file simgrid.h
 * The links and routes of SimGrid, for the network `flows`, which computes the times of messages
 * itself. Links have numbers from 0.
 */
#pragma once

#include "sim/network/network.h"

/** Returns an error in a build without SimGrid (no_simgrid.c), else DSGD_OK. */
dsgd_status dsgd_simgrid_check(dsgd_error *error);

/**
 * Stores the names and bandwidths of all links, without bytes carried, in *loads, which the caller
 * frees. Returns the number of links.
 */
size_t dsgd_simgrid_links(dsgd_load **loads);

/**
 * Returns the numbers of the links from one host to another, [*n], valid until the next call.
 * Stores the sum of their latencies in *latency_s.
 */
const size_t *dsgd_simgrid_route(int from, int to, size_t *n, double *latency_s);
