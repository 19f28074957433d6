/**
 * @file machine.h
 * Opens the simulated cluster of a run for a platform, and measures the times of messages on a
 * platform.
 */
#pragma once

#include "sim/network/cluster.h"

/**
 * Rejects a platform that is invalid, cannot be loaded, or has too few hosts. It can be called any
 * number of times.
 */
dsgd_status dsgd_machine_check(const dsgd_machine *machine, dsgd_error *error);

/** Opens the cluster of a run (cluster.h). With SimGrid, it can be called only once per process. */
dsgd_status dsgd_machine_open(const dsgd_machine *machine, dsgd_error *error);

/**
 * Simulates, in a child process, that each host i sends @p bytes to host to[i] at time 0, without
 * overheads and other traffic. Stores the time at which the last message arrives in *seconds. @p to
 * has machine->n_hosts entries; if an entry is -1, the host sends nothing.
 */
dsgd_status dsgd_machine_time(const dsgd_machine *machine, const int *to, double bytes,
                              double *seconds, dsgd_error *error);
