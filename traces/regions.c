/**
 * @file regions.c
 * Implements regions: groups of hosts with names and their own routes, for wide-area networks.
 */
#include "traces/platform.h"

/** Returns the number of the region called @p name, or -1 if there is no such region. */
static int find_region(const dsgd_platform *platform, const char *name)
{
    const dsgd_region *const regions = platform->regions.v;
    for (size_t i = 0; i < platform->regions.n; i++)
        if (strcmp(regions[i].name, name) == 0)
            return (int)i;
    return -1;
}

static dsgd_status find_ends(const dsgd_platform *platform, const dsgd_region_route *route,
                             int ends[2], dsgd_error *error)
{
    ends[0] = find_region(platform, route->from);
    ends[1] = find_region(platform, route->to);
    if (ends[0] < 0 || ends[1] < 0)
        return dsgd_refuse(error, "routes: unknown region `%.60s`. Add it to regions",
                           ends[0] < 0 ? route->from : route->to);
    if (route->latency_s > 0 && route->round_trip_s > 0)
        return dsgd_refuse(error,
                           "routes: `%.60s` to `%.60s` must have only one of latency (one-way) and "
                           "round_trip, got both",
                           route->from, route->to);
    return DSGD_OK;
}

/** Creates the list of existing hosts if any region has fewer hosts than group_hosts. */
static dsgd_status list_hosts(dsgd_platform *platform, dsgd_error *error)
{
    const dsgd_region *const regions = dsgd_regions(platform);
    const int64_t size = platform->group_hosts, n = (int64_t)platform->regions.n * size;
    bool any = false;
    for (size_t i = 0; i < platform->regions.n; i++) {
        any = any || regions[i].hosts > 0;
        if (find_region(platform, regions[i].name) != (int)i)
            return dsgd_refuse(error, "regions: the name `%.60s` occurs twice", regions[i].name);
        if (regions[i].hosts > size)
            return dsgd_refuse(error,
                               "regions: `%.60s`: hosts must be at most group_hosts, %jd, got %jd",
                               regions[i].name, size, regions[i].hosts);
    }
    platform->n_there = 0;
    if (any)
        platform->there = dsgd_keep((size_t)n, sizeof *platform->there);
    for (int64_t i = 0; any && i < n; i++)
        if (regions[i / size].hosts == 0 || i % size < regions[i / size].hosts)
            platform->there[platform->n_there++] = (int)i;
    return DSGD_OK;
}

dsgd_status dsgd_platform_derive(dsgd_platform *platform, dsgd_error *error)
{
    const size_t n = platform->regions.n;
    const dsgd_region_route *const routes = platform->routes.v;
    const dsgd_region *const regions = platform->regions.v;
    platform->route_of = NULL;
    if (n == 0 && platform->routes.n == 0)
        return DSGD_OK;
    DSGD_TRY(list_hosts(platform, error));
    int *const route_of = dsgd_keep(n * n, sizeof *route_of);
    for (size_t i = 0; i < n * n; i++)
        route_of[i] = -1;
    /*
     * The second pass handles each route's own direction, which has priority over an opposite
     * route.
     */
    for (int back = 1; back >= 0; back--)
        for (size_t k = 0; k < platform->routes.n; k++) {
            int ends[2];
            DSGD_TRY(find_ends(platform, &routes[k], ends, error));
            route_of[(size_t)ends[back] * n + (size_t)ends[1 - back]] = (int)k;
        }
    for (size_t i = 0; i < n * n; i++)
        if (route_of[i] < 0 && i / n != i % n && platform->group_flow_bytes_per_s <= 0)
            return dsgd_refuse(error,
                               "routes: there is no route from `%.60s` to `%.60s`. Add one, or set "
                               "group_flow_bandwidth for regions without a route",
                               regions[i / n].name, regions[i % n].name);
    /* If all routes have limits, the groups need no limits of their own. */
    if (platform->group_flow_bytes_per_s <= 0)
        platform->group_flow_bytes_per_s = 1e15;
    if (platform->group_bytes_per_s <= 0)
        platform->group_bytes_per_s = 1e18;
    platform->route_of = route_of;
    return DSGD_OK;
}

int dsgd_platform_there(const dsgd_platform *platform, int i)
{
    const int n = platform->n_there > 0 ? platform->n_there : dsgd_platform_most_hosts(platform);
    return i >= n ? -1 : platform->n_there > 0 ? platform->there[i] : i;
}
