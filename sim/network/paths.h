/**
 * @file paths.h
 * Where a switch or groups connect hosts, and how long messages take there that share no link with
 * another: the same as in links.c, by arithmetic on the platform, for millions of messages.
 */
#pragma once

#include "sim/network/cluster.h"

/** Where a host is connected. */
typedef struct dsgd_path_end {
    int nic, island, group; /* by number; 0 where there are no islands or groups */
    double bytes_per_s, latency_s; /* of its NIC, and this host's even share of the bandwidth */
} dsgd_path_end;

/** @p sharing hosts of the run use the NIC of the host at this place. */
static inline dsgd_path_end dsgd_path_end_at(const dsgd_platform *platform, int place, int sharing)
{
    const int nic = place / dsgd_platform_nic_hosts(platform);
    const dsgd_host_quality q = dsgd_platform_nic(platform, nic);
    return (dsgd_path_end){
        .nic = nic,
        .island = platform->island_hosts > 0 ? place / (int)platform->island_hosts : 0,
        .group = dsgd_platform_group(platform, place),
        .bytes_per_s = q.bandwidth * platform->host_bandwidth_bytes_per_s / sharing,
        .latency_s = platform->host_latency_s / 2 + q.latency_s};
}

static inline bool dsgd_path_in_island(const dsgd_platform *platform, const dsgd_path_end *a,
                                       const dsgd_path_end *b)
{
    return platform->island_hosts > 0 && a->island == b->island;
}

/** Between hosts of different islands. */
static inline double dsgd_path_latency_s(const dsgd_platform *platform, const dsgd_path_end *a,
                                         const dsgd_path_end *b)
{
    const double latency_s = a->latency_s + b->latency_s;
    return a->group == b->group
               ? latency_s
               : latency_s + dsgd_platform_between(platform, a->group, b->group).latency_s;
}

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
    if (dsgd_path_in_island(platform, a, b))
        return platform->island_latency_s + sent / platform->island_bytes_per_s;
    double bytes_per_s = a->bytes_per_s < b->bytes_per_s ? a->bytes_per_s : b->bytes_per_s;
    if (a->group != b->group) {
        const double flow = dsgd_platform_between(platform, a->group, b->group).flow_bytes_per_s;
        bytes_per_s = flow < bytes_per_s ? flow : bytes_per_s;
    }
    return dsgd_path_latency_s(platform, a, b) + sent / bytes_per_s;
}
