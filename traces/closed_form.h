/**
 * @file closed_form.h
 * Closed forms of message times on a platform: one phase, in which all hosts send at once, each
 * flow with an even share of the bandwidth of every link on its path. No simulation.
 */
#pragma once

#include "traces/platform.h"

/**
 * Seconds until all messages have arrived when each host i of @p n_hosts sends @p bytes to host
 * to[i] (-1: none) at once, without overheads; hosts are those that are there, in natural order.
 * Not for XML.
 */
double dsgd_closed_form_s(const dsgd_platform *platform, int n_hosts, const int *to, double bytes);

/** A message from a host to another, by their places in natural order. */
typedef struct dsgd_ends {
    int from, to;
} dsgd_ends;

/** The same of n messages. */
double dsgd_closed_form_flows_s(const dsgd_platform *platform, size_t n, const dsgd_ends *flows,
                                double bytes);

/** Seconds of an empty message between two hosts. Not for XML. */
double dsgd_closed_form_latency_s(const dsgd_platform *platform, int from, int to);
