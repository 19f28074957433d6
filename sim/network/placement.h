/**
 * @file placement.h
 * Which hosts of a platform the workers, and then the servers, of a run get.
 */
#ifndef DSGD_SIM_PLACEMENT_H
#define DSGD_SIM_PLACEMENT_H

#include <stdint.h>

#include "base/option.h"
#include "base/status.h"

/** Words that stand for an order; other lines list hosts. */
#define DSGD_PLACEMENT_NATURAL "natural"
#define DSGD_PLACEMENT_RANDOM "random"

/** Whether the hosts are listed, one by one. */
bool dsgd_placement_is_given(const dsgd_lines *placement);

/**
 * Fills places[n_wanted] with indices of hosts in natural order. A listed host is an index or a
 * name; the list may be longer than n_wanted. An empty placement is the natural order.
 *
 * @param names [n_hosts] of the hosts in natural order; NULL: n0, n1, ...
 * @param seed of a random order
 */
dsgd_status dsgd_placement_places(const dsgd_lines *placement, uint64_t seed, int n_hosts,
                                  const char *const *names, int n_wanted, int *places,
                                  dsgd_error *error);

#endif
