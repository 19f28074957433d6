/**
 * @file hamming_mesh.c
 * Implements HammingMesh (Hoefler et al., SC 2022). Boards of a x b hosts form a mesh, with x
 * boards in a row and y boards in a column. Each host has four ports. The ports at the edges of the
 * boards are connected to switches: one switch per row of hosts and one switch per column of hosts
 * (in reality, a tree without a bottleneck). Messages travel along their row and then along their
 * column. They leave a board at the nearer edge. They enter another board at the edge that is
 * nearer to their destination.
 *
 * Each host has eight links: four links out of its ports, and four links from switches into its
 * ports. A link to a neighbour is also the neighbour's link from this host.
 */
#include "traces/shapes/shape.h"

enum { MOST_BOARD = 64 }; /* largest number of hosts in a row or column of a board */

static dsgd_status check(const dsgd_platform *platform, dsgd_error *error)
{
    const double *const size = platform->size.v;
    if (fmax(size[0], size[1]) > MOST_BOARD)
        return dsgd_refuse(error,
                           "platform: size: a board must have at most %d by %d hosts, got %g by %g",
                           MOST_BOARD, MOST_BOARD, size[0], size[1]);
    return DSGD_OK;
}

static char *describe(const dsgd_platform *platform)
{
    return dsgd_xprintf("%g us", platform->group_latency_s * 1e6);
}

enum { EAST, WEST, SOUTH, NORTH, N_PORTS };

/**
 * A dimension of the mesh. Rows use the ports east and west; columns use the ports south and north.
 */
typedef struct dimension {
    int64_t board, boards; /* number of hosts of a board, and number of boards, in this dimension */
    int64_t stride; /* difference between the host numbers of two neighbours */
    int ahead; /* number of the port to the next host; the next port number leads back */
} dimension;

static dimension dimension_of(const dsgd_platform *platform, int d)
{
    const double *const size = platform->size.v;
    const int64_t row = (int64_t)(size[0] * size[2]);
    return d == 0 ? (dimension){(int64_t)size[0], (int64_t)size[2], 1, EAST}
                  : (dimension){(int64_t)size[1], (int64_t)size[3], row, SOUTH};
}

static int64_t place_in(const dimension *d, int64_t host)
{
    return host / d->stride % (d->board * d->boards);
}

static size_t out_of(int64_t host, int port)
{
    return (size_t)(host * N_PORTS + port);
}

static size_t into(const dsgd_platform *platform, int64_t host, int port)
{
    return out_of(host + dsgd_platform_most_hosts(platform), port);
}

/**
 * Returns true if the edge ahead is the nearest edge of the board. For the middle host of an odd
 * board, returns true if @p other is ahead.
 */
static bool is_nearer_ahead(const dimension *d, int64_t place, int64_t other)
{
    const int64_t behind = place % d->board, before = d->board - 1 - behind;
    return before < behind || (before == behind && place < other);
}

/** Appends the links along a board to position @p to. Returns the host at this position. */
static int64_t walk(const dimension *d, int64_t host, int64_t to, dsgd_shape_route *route)
{
    for (int64_t left = to - place_in(d, host); left != 0; left += left > 0 ? -1 : 1) {
        dsgd_shape_pass(route, out_of(host, left > 0 ? d->ahead : d->ahead + 1));
        host += left > 0 ? d->stride : -d->stride;
    }
    return host;
}

/** Appends the links along a dimension to position @p to. Returns the host at this position. */
static int64_t go(const dsgd_platform *platform, const dimension *d, int64_t host, int64_t to,
                  dsgd_shape_route *route)
{
    const int64_t at = place_in(d, host), board = d->board;
    if (at / board == to / board)
        return walk(d, host, to, route);
    const bool out_ahead = is_nearer_ahead(d, at, to), in_ahead = is_nearer_ahead(d, to, at);
    const int64_t edge = to / board * board + (in_ahead ? board - 1 : 0);
    host = walk(d, host, at / board * board + (out_ahead ? board - 1 : 0), route);
    dsgd_shape_pass(route, out_of(host, out_ahead ? d->ahead : d->ahead + 1));
    host += (edge - place_in(d, host)) * d->stride;
    dsgd_shape_pass(route, into(platform, host, in_ahead ? d->ahead : d->ahead + 1));
    return walk(d, host, to, route);
}

static void route(const dsgd_platform *platform, int from, int to, dsgd_shape_route *route)
{
    int64_t at = from;
    for (int i = 0; i < 2; i++) {
        const dimension d = dimension_of(platform, i);
        at = go(platform, &d, at, place_in(&d, to), route);
    }
}

static size_t n_links(const dsgd_platform *platform, int n_hosts)
{
    (void)n_hosts;
    return into(platform, dsgd_platform_most_hosts(platform), 0);
}

/**
 * Returns the bandwidth and latency of a link. As in a torus, a link between neighbours is as slow
 * as the slower host. A link to or from a switch has half of the latency between hosts plus half of
 * the latency of a switch.
 */
static dsgd_shape_link link_at(const dsgd_platform *platform, size_t number)
{
    const int64_t n_hosts = dsgd_platform_most_hosts(platform),
                  host = (int64_t)number / N_PORTS % n_hosts;
    const int port = (int)(number % N_PORTS);
    const dimension d = dimension_of(platform, port / 2);
    const bool is_ahead = port == d.ahead, is_in = (int64_t)number / N_PORTS >= n_hosts;
    if (is_in || place_in(&d, host) % d.board == (is_ahead ? d.board - 1 : 0))
        return dsgd_shape_host_link(platform, (int)host,
                                    (platform->host_latency_s + platform->group_latency_s) / 2);
    return dsgd_shape_shared_link(platform, (int)host,
                                  (int)(is_ahead ? host + d.stride : host - d.stride));
}

static double ports(const dsgd_platform *platform)
{
    (void)platform;
    return N_PORTS;
}

static dsgd_dimensions dimensions(const dsgd_platform *platform)
{
    const double *const size = platform->size.v;
    return (dsgd_dimensions){{(int)(size[0] * size[2]), (int)(size[1] * size[3]), 1, 1}};
}

const dsgd_shape dsgd_shape_hamming_mesh = {.title = "HammingMesh",
                                            .fact = "a switch adds",
                                            .has_numbers = true,
                                            .n_size = 4,
                                            .check = check,
                                            .describe = describe,
                                            .n_links = n_links,
                                            .link = link_at,
                                            .route = route,
                                            .ports = ports,
                                            .dimensions = dimensions};
