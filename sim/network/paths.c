/**
 * @file paths.c
 * Messages that share no link with another.
 */
#include "sim/network/paths.h"

#include <math.h>
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

static int most(const int *places, int n)
{
    int last = 0;
    for (int i = 0; i < n; i++)
        last = places[i] > last ? places[i] : last;
    return last;
}

/** Whether two hosts share a NIC that one of them sends through. */
static bool meet_at_nics(const dsgd_paths *paths, const int *places, int n)
{
    const int per_nic = dsgd_platform_nic_hosts(paths->platform);
    bool one_island = paths->platform->island_hosts > 0;
    for (int i = 1; i < n; i++)
        one_island = one_island && paths->end[i].island == paths->end[0].island;
    if (one_island)
        return false;
    bool *const taken = dsgd_xcalloc((size_t)(most(places, n) / per_nic + 1), sizeof *taken);
    bool meet = false;
    for (int i = 0; i < n; i++) {
        meet = meet || taken[places[i] / per_nic];
        taken[places[i] / per_nic] = true;
    }
    free(taken);
    return meet;
}

static const double rounding = 1e-12; /* of a sum of bandwidths */

/** Whether a group's hosts can send more than its way out takes. They receive at the same rates. */
static bool meet_at_groups(const dsgd_paths *paths, int n)
{
    const dsgd_platform *const platform = paths->platform;
    int n_groups = 0;
    for (int i = 0; i < n; i++)
        n_groups = paths->end[i].group + 1 > n_groups ? paths->end[i].group + 1 : n_groups;
    double *const sent = dsgd_xcalloc((size_t)n_groups, sizeof *sent); /* bytes per second */
    bool meet = false;
    bool one_group = true;
    for (int i = 0; i < n; i++) {
        const int group = paths->end[i].group;
        one_group = one_group && group == paths->end[0].group;
        sent[group] += fmin(paths->end[i].bytes_per_s, platform->group_flow_bytes_per_s);
        meet = meet || sent[group] > platform->group_bytes_per_s * (1 + rounding);
    }
    free(sent);
    return meet && !one_group;
}

dsgd_paths *dsgd_paths_new(const dsgd_platform *platform, const int *places, int n_hosts)
{
    if (platform->topology != DSGD_TOPOLOGY_SWITCH && platform->topology != DSGD_TOPOLOGY_GROUPS)
        return NULL;
    const size_t n = (size_t)n_hosts;
    dsgd_paths *const paths = dsgd_xcalloc(1, sizeof *paths + n * sizeof paths->end[0]);
    paths->platform = platform;
    for (int i = 0; i < n_hosts; i++)
        paths->end[i] = end_at(platform, places[i]);
    const bool meet =
        meet_at_nics(paths, places, n_hosts) ||
        (platform->topology == DSGD_TOPOLOGY_GROUPS && meet_at_groups(paths, n_hosts));
    if (!meet)
        return paths;
    free(paths);
    return NULL;
}
