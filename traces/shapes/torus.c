/**
 * @file torus.c
 * Implements the torus with routing dimension by dimension, in the shorter direction. In each
 * dimension, each host has a pair of links, one per direction, to the next host.
 */
#include "traces/shapes/shape.h"

static dsgd_status check(const dsgd_platform *platform, dsgd_error *error)
{
    for (size_t i = 0; i < platform->size.n; i++)
        if (platform->size.v[i] < 2)
            return dsgd_refuse(
                error, "platform: size: a dimension of a torus must have at least 2 hosts, got 1");
    return DSGD_OK;
}

/**
 * Returns the next host in a dimension of @p size hosts. The host numbers of two neighbours differ
 * by @p stride.
 */
static int64_t ahead_of(int64_t host, int64_t size, int64_t stride)
{
    return host / stride % size == size - 1 ? host - (size - 1) * stride : host + stride;
}

static int64_t behind(int64_t host, int64_t size, int64_t stride)
{
    return host / stride % size == 0 ? host + (size - 1) * stride : host - stride;
}

static size_t n_links(const dsgd_platform *platform, int n_hosts)
{
    (void)n_hosts;
    return 2 * platform->size.n * (size_t)dsgd_platform_most_hosts(platform);
}

/** Finds the two hosts that a link connects. */
static void ends_of(const dsgd_platform *platform, size_t number, int64_t ends[2])
{
    const size_t n = platform->size.n, dimension = number / 2 % n;
    int64_t stride = 1;
    for (size_t d = 0; d < dimension; d++)
        stride *= (int64_t)platform->size.v[d];
    ends[0] = (int64_t)(number / 2 / n);
    ends[1] = ahead_of(ends[0], (int64_t)platform->size.v[dimension], stride);
}

static dsgd_shape_link link_at(const dsgd_platform *platform, size_t number)
{
    int64_t ends[2];
    ends_of(platform, number, ends);
    return dsgd_shape_shared_link(platform, (int)ends[0], (int)ends[1]);
}

static char *link_name(const dsgd_platform *platform, size_t number)
{
    int64_t ends[2];
    ends_of(platform, number, ends);
    return dsgd_xprintf("all_link_from_%jd_to_%jd_%s", ends[0], ends[1],
                        number % 2 == 0 ? "UP" : "DOWN");
}

static void route(const dsgd_platform *platform, int from, int to, dsgd_shape_route *route)
{
    const int64_t n = (int64_t)platform->size.n;
    int64_t stride = 1, at = from;
    for (int64_t d = 0; d < n; d++) {
        const int64_t size = (int64_t)platform->size.v[d], place = at / stride % size;
        const int64_t ahead = (to / stride % size - place + size) % size;
        /*
         * If both directions are equally long, SimGrid goes forward, unless the route starts in the
         * middle.
         */
        const bool forward = 2 * ahead < size || (2 * ahead == size && place != size / 2);
        for (int64_t left = forward ? ahead : size - ahead; left > 0; left--) {
            const int64_t next = (forward ? ahead_of : behind)(at, size, stride);
            dsgd_shape_pass(route, dsgd_shape_duplex((forward ? at : next) * n + d, !forward));
            at = next;
        }
        stride *= size;
    }
}

/** Returns the number of links of a host: two directions per dimension. */
static double ports(const dsgd_platform *platform)
{
    return 2 * (double)platform->size.n;
}

static char *cluster(const dsgd_platform *platform)
{
    return dsgd_xprintf("lat=\"%.17gs\" topology=\"TORUS\" topo_parameters=\"%s\"",
                        platform->host_latency_s,
                        dsgd_shape_listed(&platform->size, platform->size.n));
}

static int hosts_of_link(const dsgd_platform *platform, const char *name, int host[2])
{
    (void)platform;
    return sscanf(name, "all_link_from_%d_to_%d_", &host[0], &host[1]) == 2 ? 2 : 0;
}

const dsgd_shape dsgd_shape_torus = {.title = "torus",
                                     .has_numbers = true,
                                     .n_size = DSGD_ANY_EXTENTS,
                                     .check = check,
                                     .n_links = n_links,
                                     .link = link_at,
                                     .link_name = link_name,
                                     .route = route,
                                     .ports = ports,
                                     .dimensions = dsgd_shape_size,
                                     .cluster = cluster,
                                     .hosts_of_link = hosts_of_link};
