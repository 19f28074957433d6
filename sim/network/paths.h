/**
 * @file paths.h
 * Closed forms for the times of messages that share no link with other messages, on a switch or on
 * groups. links.c computes the same times from links. This header uses only arithmetic, for
 * millions of messages.
 */
#pragma once

#include "sim/network/cluster.h"

/** The connection of one host to the network. */
typedef struct dsgd_path_end {
    int island, group; /* number of the host's node and of its group; 0 if the platform has no
                        * nodes or groups */
    double bytes_per_s, latency_s; /* bandwidth of the host, which is its equal share of its NIC,
                                    * and latency of the NIC */
} dsgd_path_end;

/** The connections of all hosts of a cluster. */
typedef struct dsgd_paths {
    const dsgd_platform *platform;
    int per_nic; /* number of hosts of the run that share one NIC */
    dsgd_path_end end[]; /* [n_hosts] connection of each host */
} dsgd_paths;

/**
 * Returns the paths between the cluster's hosts, or NULL if messages can share links, because there
 * is no closed form then. The memory exists until the program ends. If 2^k consecutive hosts of a
 * switch share a NIC, per_nic is 2^k. The time of a message then assumes that all 2^k hosts start a
 * message at the same instant.
 */
dsgd_paths *dsgd_paths_new(const dsgd_platform *platform, int n_hosts);

/** Returns the seconds that a message between two different hosts takes. */
static inline double dsgd_path_s(const dsgd_paths *paths, int from, int to, double bytes)
{
    const dsgd_platform *const platform = paths->platform;
    const dsgd_path_end *const a = &paths->end[from];
    const dsgd_path_end *const b = &paths->end[to];
    const double sent = trunc(bytes); /* SimGrid sends only whole bytes */
    if (platform->island_hosts > 0 && a->island == b->island)
        return platform->island_latency_s + sent / platform->island_bytes_per_s;
    double bytes_per_s = a->bytes_per_s < b->bytes_per_s ? a->bytes_per_s : b->bytes_per_s;
    double latency_s = a->latency_s + b->latency_s;
    if (a->group != b->group) {
        const dsgd_between way = dsgd_platform_between(platform, a->group, b->group);
        latency_s += way.latency_s;
        bytes_per_s = way.flow_bytes_per_s < bytes_per_s ? way.flow_bytes_per_s : bytes_per_s;
    }
    return latency_s + sent / bytes_per_s;
}
