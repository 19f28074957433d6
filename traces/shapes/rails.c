/**
 * @file rails.c
 * Implements rails: GPU r of each node is connected to the switch of rail r. Without a spine
 * (rail-only: Wang et al., 2023), a message to another rail first moves over NVLink to the GPU of
 * that rail in its own node. Then the message uses the NIC of that GPU. With a spine
 * (rail-optimised), the message passes the spine. The switch of each rail has cables of
 * group_bandwidth to the spine.
 *
 * The first two links of each rail lead to the spine and back. Then each host has four links: into
 * the network of its node, out of this network, and both directions of its NIC.
 */
#include "traces/shapes/shape.h"

static dsgd_status check(const dsgd_platform *platform, dsgd_error *error)
{
    const int64_t hosts = platform->island_hosts;
    if (hosts < 1 || platform->island_nics != hosts)
        return dsgd_refuse(
            error,
            "platform: topology: rails needs island_hosts (GPUs per node) and island_nics (one "
            "per rail) of the same value above 0, got %jd and %jd",
            hosts, platform->island_nics);
    return DSGD_OK;
}

static char *describe(const dsgd_platform *platform)
{
    if (platform->group_bytes_per_s <= 0)
        return dsgd_xstrdup("none: to another rail through the node");
    return dsgd_xprintf("%g GB/s of a rail each way, %g us more", platform->group_bytes_per_s / 1e9,
                        platform->group_latency_s * 1e6);
}

enum { ISLAND_IN, ISLAND_OUT, NIC_UP, NIC_DOWN, N_ENDS };

static size_t spine(int64_t rail, bool in)
{
    return (size_t)(2 * rail + in);
}

static size_t end_of(const dsgd_platform *platform, int64_t host, int end)
{
    return (size_t)(2 * platform->island_hosts + host * N_ENDS + end);
}

static void route(const dsgd_platform *platform, int a, int b, dsgd_shape_route *route)
{
    const int64_t from = a, to = b, rails = platform->island_hosts, rail = to % rails;
    if (from / rails == to / rails) {
        dsgd_shape_pass(route, end_of(platform, from, ISLAND_IN));
        dsgd_shape_pass(route, end_of(platform, to, ISLAND_OUT));
        return;
    }
    const bool crosses = from % rails != rail, has_spine = platform->group_bytes_per_s > 0;
    const int64_t sender = crosses && !has_spine ? from / rails * rails + rail : from;
    if (sender != from) {
        dsgd_shape_pass(route, end_of(platform, from, ISLAND_IN));
        dsgd_shape_pass(route, end_of(platform, sender, ISLAND_OUT));
    }
    dsgd_shape_pass(route, end_of(platform, sender, NIC_UP));
    if (crosses && has_spine) {
        dsgd_shape_pass(route, spine(from % rails, false));
        dsgd_shape_pass(route, spine(rail, true));
    }
    dsgd_shape_pass(route, end_of(platform, to, NIC_DOWN));
}

/**
 * Returns the number of links of whole nodes. Unused GPUs of a node count, because they also
 * forward messages.
 */
static size_t n_links(const dsgd_platform *platform, int n_hosts)
{
    const int64_t rails = platform->island_hosts;
    return end_of(platform, (n_hosts + rails - 1) / rails * rails, 0);
}

static dsgd_shape_link link_at(const dsgd_platform *platform, size_t number)
{
    const size_t first = end_of(platform, 0, 0);
    if (number < first)
        return (dsgd_shape_link){platform->group_bytes_per_s, platform->group_latency_s / 2};
    const int end = (int)((number - first) % N_ENDS);
    if (end == ISLAND_IN || end == ISLAND_OUT)
        return (dsgd_shape_link){platform->island_bytes_per_s, platform->island_latency_s / 2};
    return dsgd_shape_host_link(platform, (int)((number - first) / N_ENDS),
                                platform->host_latency_s / 2);
}

const dsgd_shape dsgd_shape_rails = {.title = "rails",
                                     .fact = "spine",
                                     .has_numbers = true,
                                     .has_islands = true,
                                     .takes_size = true,
                                     .check = check,
                                     .describe = describe,
                                     .n_links = n_links,
                                     .link = link_at,
                                     .route = route};
