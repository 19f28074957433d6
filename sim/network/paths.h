/**
 * @file paths.h
 * Where a switch or groups connect hosts, and how long messages take there that share no link with
 * another: the same as links.c finds by links, by arithmetic, for millions of messages.
 */
#pragma once

#include "sim/network/cluster.h"

/** Where a host is connected. */
typedef struct dsgd_path_end {
    int island, group; /* by number; 0 where there are no islands or groups */
    double bytes_per_s, latency_s; /* of its NIC, and this host's even share of the bandwidth */
} dsgd_path_end;

typedef struct dsgd_paths {
    const dsgd_platform *platform;
    int per_nic; /* hosts of the run */
    dsgd_path_end end[]; /* [n_hosts] */
} dsgd_paths;

/**
 * Paths between the cluster's hosts, kept; NULL: messages can share links. If each NIC is
 * shared by 2^k consecutive hosts of a switch, per_nic is 2^k; a message's time then assumes that
 * all 2^k hosts start one at the same instant.
 */
dsgd_paths *dsgd_paths_new(const dsgd_platform *platform, int n_hosts);

/** Seconds of a message between two different hosts. */
static inline double dsgd_path_s(const dsgd_paths *paths, int from, int to, double bytes)
{
    const dsgd_platform *const platform = paths->platform;
    const dsgd_path_end *const a = &paths->end[from];
    const dsgd_path_end *const b = &paths->end[to];
    const double sent = trunc(bytes); /* SimGrid sends whole bytes */
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
