/**
 * @file nominal.h
 * What a platform's own numbers say of messages: closed forms for one phase in which everybody sends at once. No simulation: every flow
 * gets, of each link that it passes, an even share of the nominal bandwidth.
 */
#ifndef DSGD_TRACES_NOMINAL_H
#define DSGD_TRACES_NOMINAL_H

#include "traces/platform.h"

/**
 * Seconds until everything has arrived when each host i of @p n_hosts sends so many bytes to host to[i] (-1: to nobody) at once,
 * without overheads. Where a fat tree has several ways up, flows are spread evenly over them. Not for DSGD_TOPOLOGY_XML.
 */
double dsgd_nominal_s(const dsgd_platform *platform, int n_hosts, const int *to, double bytes);

/** Seconds of an empty message between two hosts. */
double dsgd_nominal_latency_s(const dsgd_platform *platform, int from, int to);

#endif
