/**
 * @file paths.c
 * What messages take that share no link with another.
 */
#include "sim/network/paths.h"

#include <stdlib.h>

#include "sim/network/cluster.h"

static dsgd_path_end end_at(const dsgd_platform *platform, int place)
{
    const int per_nic = dsgd_platform_nic_hosts(platform);
    const int first = place / per_nic * per_nic;
    const dsgd_host_quality q = dsgd_platform_shared(platform, first, first + per_nic - 1);
    return (dsgd_path_end){
        .island = platform->island_hosts > 0 ? place / (int)platform->island_hosts : 0,
        .group =
            platform->topology == DSGD_TOPOLOGY_GROUPS ? place / (int)platform->group_hosts : 0,
        .bytes_per_s = q.bandwidth * platform->host_bandwidth_bytes_per_s,
        .latency_s = platform->host_latency_s / 2 + q.latency_s};
}

bool dsgd_paths_are_apart(const dsgd_platform *platform, int n_hosts, const int *places)
{
    const dsgd_platform_use one_at_a_time = {n_hosts, places, 1};
    const bool is_known =
        platform->topology == DSGD_TOPOLOGY_SWITCH || platform->topology == DSGD_TOPOLOGY_GROUPS;
    return is_known && dsgd_platform_meets_at_nics(platform, &one_at_a_time);
}

dsgd_paths *dsgd_paths_new(const dsgd_platform *platform, int n_hosts)
{
    const size_t n = (size_t)n_hosts;
    int *const places = dsgd_xcalloc(n, sizeof *places);
    for (int i = 0; i < n_hosts; i++)
        places[i] = dsgd_cluster_place(i);
    dsgd_paths *paths = NULL;
    if (dsgd_paths_are_apart(platform, n_hosts, places)) {
        paths = dsgd_xcalloc(1, sizeof *paths + n * sizeof paths->end[0]);
        paths->platform = platform;
        for (int i = 0; i < n_hosts; i++)
            paths->end[i] = end_at(platform, places[i]);
    }
    free(places);
    return paths;
}
