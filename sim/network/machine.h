/**
 * @file machine.h
 * A platform as the cluster that a run gets: written, loaded, its hosts as different as it says.
 */
#ifndef DSGD_SIM_MACHINE_H
#define DSGD_SIM_MACHINE_H

#include <stdint.h>

#include "base/option.h"
#include "base/status.h"
#include "traces/platform.h"

/** What is asked of a platform. */
typedef struct dsgd_machine {
    const dsgd_platform *platform;
    int n_hosts; /* workers and servers */
    dsgd_lines placement; /* sim/network/placement.h */
    uint64_t seed;
    const char *scratch; /* folder for the platform's XML */
} dsgd_machine;

/** Refuses a platform that is wrong in itself, cannot be loaded, has too few hosts, or not those of the placement. May be called any number of times. */
dsgd_status dsgd_machine_check(const dsgd_machine *machine, dsgd_error *error);

/** Opens the cluster (sim/network/cluster.h). Once per process. */
dsgd_status dsgd_machine_open(const dsgd_machine *machine, dsgd_error *error);

/**
 * Seconds until everything has arrived when each host i sends so many bytes to host to[i] at time 0 (-1: to nobody), without overheads and
 * with nothing else on the network. Simulated in a process of its own. @p to is [machine->n_hosts].
 */
dsgd_status dsgd_machine_time(const dsgd_machine *machine, const int *to, double bytes,
                              double *seconds, dsgd_error *error);

#endif
