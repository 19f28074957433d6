/**
 * @file machine.h
 * Makes the simulated cluster of a run out of a platform: XML, hosts, their links' differences.
 */
#pragma once

#include "sim/network/cluster.h"

/** Refuses a platform that is invalid, cannot be loaded, or lacks hosts. May be called often. */
dsgd_status dsgd_machine_check(const dsgd_machine *machine, dsgd_error *error);

/** Opens the cluster (cluster.h). Where SimGrid times messages once per process. */
dsgd_status dsgd_machine_open(const dsgd_machine *machine, dsgd_error *error);

/**
 * Seconds until the last message arrives when each host i sends @p bytes to host to[i] at time 0
 * (-1: none), without overheads and with no other traffic. Simulated in a child process. @p to is
 * [machine->n_hosts].
 */
dsgd_status dsgd_machine_time(const dsgd_machine *machine, const int *to, double bytes,
                              double *seconds, dsgd_error *error);
