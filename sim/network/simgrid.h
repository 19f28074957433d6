/**
 * @file simgrid.h
 * The links and routes of SimGrid. The network `flows` uses them and computes the times of messages
 * itself. Links have numbers from 0.
 */
#pragma once

#include "sim/network/network.h"

/** Returns DSGD_OK, or an error in a build without SimGrid (no_simgrid.c). */
dsgd_status dsgd_simgrid_check(dsgd_error *error);

/**
 * Stores the names and bandwidths of all links in *loads, with no bytes carried, and returns the
 * number of links. The caller must free *loads.
 */
size_t dsgd_simgrid_links(dsgd_load **loads);

/**
 * Returns the numbers of the links from one host to another; the array has *n entries and is valid
 * until the next call. Stores the sum of the links' latencies in *latency_s.
 */
const size_t *dsgd_simgrid_route(int from, int to, size_t *n, double *latency_s);
