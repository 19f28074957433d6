/**
 * @file paths.c
 * Finds how hosts are connected, and on which platforms messages share no links.
 */
#include "sim/network/paths.h"

/**
 * Returns the number of hosts per NIC if the times of messages have closed forms. Returns 0 if
 * these times have no closed forms.
 */
static int hosts_per_nic(const dsgd_platform *platform, const int *places, int n_hosts)
{
    const dsgd_platform_use one_at_a_time = {n_hosts, places, 1};
    if (!dsgd_platform_is_crossbar(platform))
        return 0;
    if (dsgd_platform_meets_at_nics(platform, &one_at_a_time))
        return 1;
    /* If 2^k consecutive hosts share a NIC, closed forms also exist. */
    const int per_nic = dsgd_platform_nic_hosts(platform);
    bool in_rows = dsgd_platform_group_hosts(platform) == 0 && per_nic > 1 &&
                   (per_nic & (per_nic - 1)) == 0 && n_hosts % per_nic == 0 &&
                   places[0] % per_nic == 0;
    for (int i = 1; i < n_hosts; i++)
        in_rows = in_rows && places[i] == places[0] + i;
    return in_rows ? per_nic : 0;
}

/**
 * Returns the connection of the host at @p place. @p sharing is the number of hosts of the run that
 * share the host's NIC.
 */
static dsgd_path_end end_at(const dsgd_platform *platform, int place, int sharing)
{
    const dsgd_host_quality q =
        dsgd_platform_nic(platform, place / dsgd_platform_nic_hosts(platform));
    return (dsgd_path_end){
        .island = platform->island_hosts > 0 ? place / (int)platform->island_hosts : 0,
        .group = dsgd_platform_group(platform, place),
        .bytes_per_s = q.bandwidth * platform->host_bandwidth_bytes_per_s / sharing,
        .latency_s = platform->host_latency_s / 2 + q.latency_s};
}

dsgd_paths *dsgd_paths_new(const dsgd_platform *platform, int n_hosts)
{
    const int *const places = dsgd_cluster_places();
    const int per_nic = hosts_per_nic(platform, places, n_hosts);
    if (per_nic == 0)
        return NULL;
    dsgd_paths *const paths = dsgd_keep(1, sizeof *paths + (size_t)n_hosts * sizeof paths->end[0]);
    paths->platform = platform;
    paths->per_nic = per_nic;
    for (int i = 0; i < n_hosts; i++)
        paths->end[i] = end_at(platform, places[i], per_nic);
    return paths;
}
