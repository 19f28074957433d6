/**
 * @file closed_form.h
 * Closed forms of message times on a platform, without simulation. All hosts send at once, and each
 * flow gets an even share of the bandwidth of every link on its path.
 */
#pragma once

#include "traces/platform.h"

/**
 * Returns the time in seconds until all messages have arrived if each host i of @p n_hosts sends @p
 * bytes to host to[i] at once, without overheads. If to[i] is -1, host i sends nothing. The hosts
 * are numbered in natural order among the existing hosts (dsgd_platform_there()). Not for platforms
 * from XML.
 */
double dsgd_closed_form_s(const dsgd_platform *platform, int n_hosts, const int *to, double bytes);

/** Sender and receiver of a message, as places in natural order. */
typedef struct dsgd_ends {
    int from, to;
} dsgd_ends;

/**
 * Returns the time in seconds until @p n messages have arrived that are all sent at once, @p bytes
 * each. Not for platforms from XML.
 */
double dsgd_closed_form_flows_s(const dsgd_platform *platform, size_t n, const dsgd_ends *flows,
                                double bytes);

/**
 * Returns the time in seconds of an empty message between two hosts. Not for platforms from XML.
 */
double dsgd_closed_form_latency_s(const dsgd_platform *platform, int from, int to);
