/**
 * @file closed_form.h
 * Computes message times on a platform in closed form, without simulation. All hosts send at once.
 * Each flow gets an even share of the bandwidth of every link on its path.
 */
#pragma once

#include "traces/platform.h"

/**
 * Returns the time in seconds until all messages have arrived. Each host i of @p n_hosts sends @p
 * bytes to host to[i], all at once and without overheads. If to[i] is -1, host i sends nothing. The
 * existing hosts (dsgd_platform_there()) are numbered in natural order. Platforms from XML are not
 * supported.
 */
double dsgd_closed_form_s(const dsgd_platform *platform, int n_hosts, const int *to, double bytes);

/** Sender and receiver of a message. Both are positions of hosts in natural order. */
typedef struct dsgd_ends {
    int from, to;
} dsgd_ends;

/**
 * Returns the time in seconds until @p n messages have arrived. All messages start at once and have
 * @p bytes bytes each. Platforms from XML are not supported.
 */
double dsgd_closed_form_flows_s(const dsgd_platform *platform, size_t n, const dsgd_ends *flows,
                                double bytes);

/**
 * Returns the time in seconds of an empty message between two hosts. Platforms from XML are not
 * supported.
 */
double dsgd_closed_form_latency_s(const dsgd_platform *platform, int from, int to);
