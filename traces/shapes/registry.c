/**
 * @file registry.c
 * Contains the table of topologies, and the functions of a platform that call functions of its
 * topology.
 */
#include "traces/shapes/shape.h"

#define DECLARATION(name, word) extern const dsgd_shape dsgd_shape_##word;
#define ADDRESS(name, word) &dsgd_shape_##word,
#define WORD(name, word) #word,

DSGD_SHAPES(DECLARATION)

const dsgd_shape *const dsgd_shapes[] = {DSGD_SHAPES(ADDRESS)};
const char *const dsgd_topologies[] = {DSGD_SHAPES(WORD) NULL};

bool dsgd_platform_has_numbers(const dsgd_platform *platform)
{
    return dsgd_shape_of(platform)->has_numbers;
}

bool dsgd_platform_is_crossbar(const dsgd_platform *platform)
{
    return dsgd_shape_of(platform)->is_crossbar;
}

int64_t dsgd_platform_group_hosts(const dsgd_platform *platform)
{
    return dsgd_shape_of(platform)->has_groups ? platform->group_hosts : 0;
}

int dsgd_platform_group(const dsgd_platform *platform, int host)
{
    return dsgd_shape_of(platform)->has_groups ? (int)(host / platform->group_hosts) : 0;
}

void dsgd_shape_find_route(const dsgd_platform *platform, int from, int to, dsgd_shape_route *route)
{
    route->n = 0;
    route->added_latency_s = 0;
    route->flow_bytes_per_s = INFINITY;
    dsgd_shape_of(platform)->route(platform, from, to, route);
}

dsgd_dimensions dsgd_platform_dimensions(const dsgd_platform *platform)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    if (shape->dimensions != NULL)
        return shape->dimensions(platform);
    return (dsgd_dimensions){
        {platform->island_hosts > 0 ? (int)platform->island_hosts : 1, 1, 1, 1}};
}

double dsgd_platform_nic_bytes_per_s(const dsgd_platform *platform, int nic)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    if (!shape->has_numbers)
        return NAN;
    const double n_links = shape->ports == NULL ? 1 : shape->ports(platform);
    return n_links * platform->host_bandwidth_bytes_per_s *
           dsgd_platform_nic(platform, nic).bandwidth;
}

bool dsgd_platform_meets_at_nics(const dsgd_platform *platform, const dsgd_platform_use *use)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    return shape->meets_at_nics == NULL ? use->n_hosts < 2 : shape->meets_at_nics(platform, use);
}
