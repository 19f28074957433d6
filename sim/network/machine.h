/**
 * @file machine.h
 * Opens the simulated cluster of a run for a platform, and measures messages on a platform.
 */
#pragma once

#include "sim/network/cluster.h"

/** Rejects a platform that is invalid, cannot be loaded, or has too few hosts. Can be called any
 * number of times. */
dsgd_status dsgd_machine_check(const dsgd_machine *machine, dsgd_error *error);

/** Opens the cluster (cluster.h). With SimGrid, it can be called once per process. */
dsgd_status dsgd_machine_open(const dsgd_machine *machine, dsgd_error *error);

/**
 * Simulates, in a child process, that each host i sends @p bytes to host to[i] at time 0, without
 * overheads and other traffic. Stores the seconds until the last message arrives in *seconds. @p to
 * is [machine->n_hosts]; -1 means that a host sends nothing.
 */
dsgd_status dsgd_machine_time(const dsgd_machine *machine, const int *to, double bytes,
                              double *seconds, dsgd_error *error);
