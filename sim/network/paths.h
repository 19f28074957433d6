/**
 * @file paths.h
 * What messages take that share no link with another: the same as dsgd_cluster_path(), by
 * arithmetic on the platform, for millions of them.
 */
#ifndef DSGD_SIM_NETWORK_PATHS_H
#define DSGD_SIM_NETWORK_PATHS_H

#include "sim/network/cluster.h"

/** Where a host is connected. */
typedef struct dsgd_path_end {
    int island, group; /* by number; 0 where there are none */
    double bytes_per_s, latency_s; /* of its NIC, and of that its even share */
} dsgd_path_end;

typedef struct dsgd_paths {
    const dsgd_platform *platform;
    int per_nic; /* hosts of the run */
    dsgd_path_end end[]; /* [n_hosts] */
} dsgd_paths;

/**
 * Whether messages between hosts at these places share no link, if each sends one and receives one
 * at a time: by dsgd_platform_meets_at_nics(). False where the platform is none of switch and groups.
 */
bool dsgd_paths_are_apart(const dsgd_platform *platform, int n_hosts, const int *places);

/**
 * Of the cluster's first hosts. NULL: they are not apart. But where every 2^k hosts in a row at a
 * switch, from the first on, share a NIC with no other, per_nic is 2^k, and times are those of
 * messages of which all hosts at a NIC begin one at the same instant. Release it by free().
 */
dsgd_paths *dsgd_paths_new(const dsgd_platform *platform, int n_hosts);

/** Seconds of a message between two different hosts of those. */
static inline double dsgd_path_s(const dsgd_paths *paths, int from, int to, double bytes)
{
    const dsgd_platform *const platform = paths->platform;
    const dsgd_path_end *const a = &paths->end[from];
    const dsgd_path_end *const b = &paths->end[to];
    const double sent = (double)(long)bytes; /* SimGrid sends whole bytes */
    if (platform->island_hosts > 0 && a->island == b->island)
        return platform->island_latency_s + sent / platform->island_bytes_per_s;
    double latency_s = a->latency_s + b->latency_s;
    double bytes_per_s = a->bytes_per_s < b->bytes_per_s ? a->bytes_per_s : b->bytes_per_s;
    if (a->group != b->group) {
        latency_s += platform->group_latency_s;
        if (platform->group_flow_bytes_per_s < bytes_per_s)
            bytes_per_s = platform->group_flow_bytes_per_s;
    }
    return latency_s + sent / bytes_per_s;
}

#endif
