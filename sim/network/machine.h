/**
 * @file machine.h
 * Makes the simulated cluster of a run out of a platform: XML, hosts, their links' differences.
 */
#ifndef DSGD_SIM_MACHINE_H
#define DSGD_SIM_MACHINE_H

#include <stdint.h>

#include "base/option.h"
#include "base/status.h"
#include "traces/platform.h"

/** A platform and what a run needs of it. */
typedef struct dsgd_machine {
    const dsgd_platform *platform;
    int n_hosts; /* workers and servers */
    dsgd_lines placement; /* sim/network/placement.h */
    uint64_t seed;
    const char *scratch; /* folder for the platform's XML */
} dsgd_machine;

/** Refuses a platform that is invalid, cannot be loaded, or lacks hosts. May be called often. */
dsgd_status dsgd_machine_check(const dsgd_machine *machine, dsgd_error *error);

/** Opens the cluster (cluster.h). Once per process. */
dsgd_status dsgd_machine_open(const dsgd_machine *machine, dsgd_error *error);

/**
 * Seconds until the last message arrives when each host i sends @p bytes to host to[i] at time 0
 * (-1: none), without overheads and with no other traffic. Simulated in a child process. @p to is
 * [machine->n_hosts].
 */
dsgd_status dsgd_machine_time(const dsgd_machine *machine, const int *to, double bytes,
                              double *seconds, dsgd_error *error);

#endif
