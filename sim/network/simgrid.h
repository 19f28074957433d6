/**
 * @file simgrid.h
 * What SimGrid knows about its links, for a network that times messages itself. Links have numbers
 * from 0 on.
 */
#pragma once

#include "sim/network/network.h"

/** Rejects, in a build without SimGrid, what needs it (no_simgrid.c). */
dsgd_status dsgd_simgrid_check(dsgd_error *error);

/**
 * Stores the names and bandwidths of all links, without bytes carried, in *loads, which the caller
 * frees. Returns the number of links.
 */
size_t dsgd_simgrid_links(dsgd_load **loads);

/** The links [*n] from a host to another, until the next call, and the sum of their latencies. */
const size_t *dsgd_simgrid_route(int from, int to, size_t *n, double *latency_s);
