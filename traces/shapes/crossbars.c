/**
 * @file crossbars.c
 * Implements two topologies. Topology `switch` is one full-duplex crossbar. Topology `groups` has
 * several crossbars. A flow between two groups passes the uplink of its group, a limit for each
 * flow, and the downlink of the other group. In both topologies, hosts can share NICs and the fast
 * network of their node.
 */
#include "traces/shapes/crossbars.h"

static dsgd_status check_groups(const dsgd_platform *platform, dsgd_error *error)
{
    const int64_t island = platform->island_hosts;
    if (platform->group_hosts < 1 || platform->group_flow_bytes_per_s <= 0 ||
        platform->group_bytes_per_s <= 0)
        return dsgd_refuse(error, "platform: group_hosts, group_flow_bandwidth and group_bandwidth "
                                  "must be above 0 for topology: groups");
    if (island > 0 && platform->group_hosts % island != 0)
        return dsgd_refuse(error,
                           "platform: group_hosts must be a multiple of island_hosts, %jd, got %jd",
                           island, platform->group_hosts);
    return DSGD_OK;
}

static char *describe_groups(const dsgd_platform *platform)
{
    if (platform->regions.n > 0)
        return NULL;
    return dsgd_xprintf("%jd hosts; between them %g GB/s per flow, %g us more, %g GB/s per group",
                        platform->group_hosts, platform->group_flow_bytes_per_s / 1e9,
                        platform->group_latency_s * 1e6, platform->group_bytes_per_s / 1e9);
}

/* --- links ------------------------------------------------------------------------------------ */

/**
 * Kinds of links that each host, NIC or group has. The first link numbers belong to the links that
 * all flows between two regions share. The links of these kinds follow.
 */
enum { NIC_UP, NIC_DOWN, ISLAND_IN, ISLAND_OUT, GROUP_OUT, GROUP_IN, N_KINDS };

static size_t end_of(const dsgd_platform *platform, int64_t number, int kind)
{
    const size_t n = platform->regions.n;
    return n * n + (size_t)(number * N_KINDS + kind);
}

static size_t between_regions(const dsgd_platform *platform, int a, int b)
{
    return (size_t)a * platform->regions.n + (size_t)b;
}

static size_t n_links(const dsgd_platform *platform, int n_hosts)
{
    return end_of(platform, n_hosts, 0);
}

static dsgd_shape_link link_at(const dsgd_platform *platform, size_t number)
{
    const size_t n = platform->regions.n, first = end_of(platform, 0, 0);
    if (number < first)
        return (dsgd_shape_link){
            dsgd_platform_between(platform, (int)(number / n), (int)(number % n)).bytes_per_s, 0};
    const int kind = (int)((number - first) % N_KINDS);
    if (kind >= GROUP_OUT)
        return (dsgd_shape_link){platform->group_bytes_per_s, 0};
    if (kind >= ISLAND_IN)
        return (dsgd_shape_link){platform->island_bytes_per_s, platform->island_latency_s / 2};
    const dsgd_host_quality q = dsgd_platform_nic(platform, (int)((number - first) / N_KINDS));
    return (dsgd_shape_link){q.bandwidth * platform->host_bandwidth_bytes_per_s,
                             platform->host_latency_s / 2 + q.latency_s};
}

/**
 * Appends the links from group @p a to group @p b to a route. Also adds their latency and flow
 * limit.
 */
static void pass_groups(const dsgd_platform *platform, int a, int b, dsgd_shape_route *route)
{
    const dsgd_between way = dsgd_platform_between(platform, a, b);
    route->added_latency_s = way.latency_s;
    route->flow_bytes_per_s = way.flow_bytes_per_s;
    dsgd_shape_pass(route, end_of(platform, a, GROUP_OUT));
    dsgd_shape_pass(route, end_of(platform, b, GROUP_IN));
    if (platform->regions.n > 0)
        dsgd_shape_pass(route, between_regions(platform, a, b));
}

/** Finds the route from a host of group @p a to a host of group @p b. */
static void find_route(const dsgd_platform *platform, const int hosts[2], int a, int b,
                       dsgd_shape_route *route)
{
    const int per_nic = dsgd_platform_nic_hosts(platform), from = hosts[0], to = hosts[1];
    if (dsgd_platform_same_island(platform, from, to)) {
        dsgd_shape_pass(route, end_of(platform, from, ISLAND_IN));
        dsgd_shape_pass(route, end_of(platform, to, ISLAND_OUT));
        return;
    }
    dsgd_shape_pass(route, end_of(platform, from / per_nic, NIC_UP));
    if (a != b)
        pass_groups(platform, a, b, route);
    dsgd_shape_pass(route, end_of(platform, to / per_nic, NIC_DOWN));
}

static void route_in_switch(const dsgd_platform *platform, int from, int to,
                            dsgd_shape_route *route)
{
    find_route(platform, (int[]){from, to}, 0, 0, route);
}

static void route_in_groups(const dsgd_platform *platform, int from, int to,
                            dsgd_shape_route *route)
{
    const int64_t hosts = platform->group_hosts;
    find_route(platform, (int[]){from, to}, (int)(from / hosts), (int)(to / hosts), route);
}

static size_t find_slowed(const dsgd_platform *platform, int from, int to, size_t link[2])
{
    if (to >= 0 && from != to) {
        link[0] = between_regions(platform, from, to);
        return platform->regions.n > 0;
    }
    const int number = to < 0 ? from / dsgd_platform_nic_hosts(platform) : from;
    link[0] = end_of(platform, number, to < 0 ? NIC_UP : GROUP_OUT);
    link[1] = end_of(platform, number, to < 0 ? NIC_DOWN : GROUP_IN);
    return 2;
}

/* --- links that can be a bottleneck ----------------------------------------------------------- */

static double nic_bytes_per_s(const dsgd_platform *platform, int nic)
{
    return platform->host_bandwidth_bytes_per_s * dsgd_platform_nic(platform, nic).bandwidth;
}

/**
 * A relative excess over a limit below this number is a rounding error (for example, 384 * 6.3 and
 * 2419.2).
 */
static const double rounding = 1e-12;

/**
 * Returns the number of blocks of @p size hosts, up to the last block that contains a host of the
 * run.
 */
static int blocks(const dsgd_platform_use *use, int64_t size)
{
    int n = 0;
    for (int i = 0; i < use->n_hosts; i++)
        n = use->places[i] / size >= n ? (int)(use->places[i] / size) + 1 : n;
    return n;
}

/** Returns an array with the number of the run's hosts at each NIC. The array has *n entries. */
static int *count_at_nics(const dsgd_platform *platform, const dsgd_platform_use *use, int *n)
{
    const int per_nic = dsgd_platform_nic_hosts(platform);
    *n = blocks(use, per_nic);
    int *const hosts = dsgd_keep((size_t)*n + 1, sizeof *hosts);
    for (int i = 0; i < use->n_hosts; i++)
        hosts[use->places[i] / per_nic]++;
    return hosts;
}

/**
 * Returns the largest bandwidth that can leave, or enter, each of @p n_groups groups at once. This
 * bandwidth is the smaller of two numbers. The first number is the bandwidth that the NICs of the
 * group's hosts can send, with at most group_flow_bytes_per_s per message. The second number is the
 * bandwidth that the hosts of other groups can receive. The array contains all groups up to the
 * last group with hosts of the run.
 */
static double *group_demands(const dsgd_platform *platform, const dsgd_platform_use *use,
                             int n_groups)
{
    int n_nics = 0;
    const int *const at = count_at_nics(platform, use, &n_nics);
    double *const demands = dsgd_keep((size_t)n_groups + 1, sizeof *demands);
    double all = 0;
    for (int nic = 0; nic < n_nics; nic++) {
        if (at[nic] == 0)
            continue;
        double most = nic_bytes_per_s(platform, nic);
        if (use->at_once > 0)
            most = fmin(most, at[nic] * use->at_once * platform->group_flow_bytes_per_s);
        const int64_t first = (int64_t)nic * dsgd_platform_nic_hosts(platform);
        demands[first / platform->group_hosts] += most;
        all += most;
    }
    for (int group = 0; group < n_groups; group++)
        demands[group] = fmin(demands[group], all - demands[group]);
    return demands;
}

/** Returns true if two hosts of the run share a NIC. */
static bool nic_is_shared(const dsgd_platform *platform, const dsgd_platform_use *use)
{
    int n_nics = 0;
    const int *const at = count_at_nics(platform, use, &n_nics);
    for (int nic = 0; nic < n_nics; nic++)
        if (at[nic] > 1)
            return true;
    return false;
}

/**
 * Returns true if the uplink of a group can be a bottleneck. Returns false if uplinks never slow a
 * message.
 */
static bool ways_out_bind(const dsgd_platform *platform, const dsgd_platform_use *use)
{
    const int n_groups = blocks(use, platform->group_hosts);
    const double *const demands = group_demands(platform, use, n_groups);
    for (int group = 0; group < n_groups; group++)
        if (demands[group] > platform->group_bytes_per_s * (1 + rounding))
            return true;
    return false;
}

static void widen_ways_out(const dsgd_platform *platform, const dsgd_platform_use *use,
                           dsgd_shape_link *links)
{
    const int n_groups = ways_out_bind(platform, use) ? 0 : blocks(use, platform->group_hosts);
    for (int group = 0; group < n_groups; group++) {
        links[end_of(platform, group, GROUP_OUT)].bytes_per_s = INFINITY;
        links[end_of(platform, group, GROUP_IN)].bytes_per_s = INFINITY;
    }
}

bool dsgd_platform_shares_routes(const dsgd_platform *platform)
{
    const dsgd_region_route *const routes = platform->routes.v;
    bool shared = false;
    for (size_t k = 0; k < platform->routes.n; k++)
        shared = shared || routes[k].bytes_per_s > 0;
    return shared;
}

static bool meet_in_switch(const dsgd_platform *platform, const dsgd_platform_use *use)
{
    return (platform->island_hosts > 0 && dsgd_platform_in_one(use, (int)platform->island_hosts)) ||
           !nic_is_shared(platform, use);
}

static bool meet_in_groups(const dsgd_platform *platform, const dsgd_platform_use *use)
{
    return meet_in_switch(platform, use) &&
           (dsgd_platform_in_one(use, (int)platform->group_hosts) ||
            (!dsgd_platform_shares_routes(platform) && !ways_out_bind(platform, use)));
}

#define CROSSBARS                                                                                  \
    .has_numbers = true, .is_crossbar = true, .has_islands = true, .takes_size = true,             \
    .n_links = n_links, .link = link_at, .find_slowed = find_slowed

const dsgd_shape dsgd_shape_switch = {.title = "switch",
                                      .route = route_in_switch,
                                      .meets_at_nics = meet_in_switch,
                                      .write = dsgd_switch_write,
                                      CROSSBARS};
const dsgd_shape dsgd_shape_groups = {.title = "groups",
                                      .fact = "groups",
                                      .has_groups = true,
                                      .check = check_groups,
                                      .describe = describe_groups,
                                      .route = route_in_groups,
                                      .widen = widen_ways_out,
                                      .meets_at_nics = meet_in_groups,
                                      .write = dsgd_groups_write,
                                      CROSSBARS};
