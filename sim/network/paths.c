/**
 * @file paths.c
 * What messages take that share no link with another.
 */
#include "sim/network/paths.h"

#include <stdlib.h>

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

dsgd_paths *dsgd_paths_new(const dsgd_platform *platform, int n_hosts)
{
    const size_t n = (size_t)n_hosts;
    if (platform->topology != DSGD_TOPOLOGY_SWITCH && platform->topology != DSGD_TOPOLOGY_GROUPS)
        return NULL;
    int *const hosts = dsgd_xcalloc(n, sizeof *hosts);
    for (int i = 0; i < n_hosts; i++)
        hosts[i] = i;
    const bool alone = dsgd_cluster_meets_at_nics(hosts, n_hosts);
    free(hosts);
    if (!alone)
        return NULL;
    dsgd_paths *const paths = dsgd_xcalloc(1, sizeof *paths + n * sizeof paths->end[0]);
    paths->platform = platform;
    for (int i = 0; i < n_hosts; i++)
        paths->end[i] = end_at(platform, dsgd_cluster_place(i));
    return paths;
}
