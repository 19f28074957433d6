/**
 * @file fabric.c
 * A HammingMesh has eight links for each host: out of its four ports, of which those to a neighbour
 * are the neighbour's way in, and in from the switches. Rails have two for each rail, its way to
 * the spine and back, then four for each host: into its island and out, its NIC.
 */
#include "traces/fabric.h"

/* --- HammingMesh ------------------------------------------------------------------------------ */

enum { EAST, WEST, SOUTH, NORTH, N_PORTS };

/** A dimension: rows have ports east and west. */
typedef struct dimension {
    int64_t board, boards; /* hosts of a board, boards */
    int64_t stride; /* between the indices of neighbours */
    int ahead; /* port; the one back follows */
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

/** Whether the board's edge ahead is the nearer one; from the middle of an odd board, the one
 * towards the other. */
static bool is_nearer_ahead(const dimension *d, int64_t place, int64_t other)
{
    const int64_t behind = place % d->board, before = d->board - 1 - behind;
    return before < behind || (before == behind && place < other);
}

/** Along a board to a place in it. */
static int64_t walk(const dimension *d, int64_t host, int64_t to, size_t *link, size_t *n)
{
    for (int64_t left = to - place_in(d, host); left != 0; left += left > 0 ? -1 : 1) {
        link[(*n)++] = out_of(host, left > 0 ? d->ahead : d->ahead + 1);
        host += left > 0 ? d->stride : -d->stride;
    }
    return host;
}

/** Along a dimension to a place in it; returns the host there. */
static int64_t go(const dsgd_platform *platform, const dimension *d, int64_t host, int64_t to,
                  size_t *link, size_t *n)
{
    const int64_t at = place_in(d, host), board = d->board;
    if (at / board == to / board)
        return walk(d, host, to, link, n);
    const bool out_ahead = is_nearer_ahead(d, at, to), in_ahead = is_nearer_ahead(d, to, at);
    const int64_t edge = to / board * board + (in_ahead ? board - 1 : 0);
    host = walk(d, host, at / board * board + (out_ahead ? board - 1 : 0), link, n);
    link[(*n)++] = out_of(host, out_ahead ? d->ahead : d->ahead + 1);
    host += (edge - place_in(d, host)) * d->stride;
    link[(*n)++] = into(platform, host, in_ahead ? d->ahead : d->ahead + 1);
    return walk(d, host, to, link, n);
}

static size_t mesh_route(const dsgd_platform *platform, int from, int to, size_t *link)
{
    size_t n = 0;
    int64_t at = from;
    for (int i = 0; i < 2; i++) {
        const dimension d = dimension_of(platform, i);
        at = go(platform, &d, at, place_in(&d, to), link, &n);
    }
    return n;
}

/** To a neighbour as in a torus, as slow as the slower; to a switch and from it half of that, and
 * of what a switch adds. */
static dsgd_fabric_link mesh_link(const dsgd_platform *platform, size_t number)
{
    const int64_t n_hosts = dsgd_platform_most_hosts(platform),
                  host = (int64_t)number / N_PORTS % n_hosts;
    const int port = (int)(number % N_PORTS);
    const dimension d = dimension_of(platform, port / 2);
    const bool is_ahead = port == d.ahead, is_in = (int64_t)number / N_PORTS >= n_hosts;
    const int64_t in_board = place_in(&d, host) % d.board;
    const dsgd_host_quality q = dsgd_platform_host(platform, (int)host);
    if (is_in || in_board == (is_ahead ? d.board - 1 : 0))
        return (dsgd_fabric_link){q.bandwidth * platform->host_bandwidth_bytes_per_s,
                                  (platform->host_latency_s + platform->group_latency_s) / 2 +
                                      q.latency_s};
    const dsgd_host_quality r =
        dsgd_platform_host(platform, (int)(is_ahead ? host + d.stride : host - d.stride));
    return (dsgd_fabric_link){fmin(q.bandwidth, r.bandwidth) * platform->host_bandwidth_bytes_per_s,
                              platform->host_latency_s + fmax(q.latency_s, r.latency_s)};
}

/* --- rails ------------------------------------------------------------------------------------ */

enum { ISLAND_IN, ISLAND_OUT, NIC_UP, NIC_DOWN, N_ENDS };

static size_t spine(int64_t rail, bool in)
{
    return (size_t)(2 * rail + in);
}

static size_t end_of(const dsgd_platform *platform, int64_t host, int end)
{
    return (size_t)(2 * platform->island_hosts + host * N_ENDS + end);
}

static size_t rails_route(const dsgd_platform *platform, int64_t from, int64_t to, size_t *link)
{
    const int64_t rails = platform->island_hosts, rail = to % rails;
    size_t n = 0;
    if (from / rails == to / rails) {
        link[n++] = end_of(platform, from, ISLAND_IN);
        link[n++] = end_of(platform, to, ISLAND_OUT);
        return n;
    }
    const bool crosses = from % rails != rail, has_spine = platform->group_bytes_per_s > 0;
    const int64_t sender = crosses && !has_spine ? from / rails * rails + rail : from;
    if (sender != from) {
        link[n++] = end_of(platform, from, ISLAND_IN);
        link[n++] = end_of(platform, sender, ISLAND_OUT);
    }
    link[n++] = end_of(platform, sender, NIC_UP);
    if (crosses && has_spine) {
        link[n++] = spine(from % rails, false);
        link[n++] = spine(rail, true);
    }
    link[n++] = end_of(platform, to, NIC_DOWN);
    return n;
}

static dsgd_fabric_link rails_link(const dsgd_platform *platform, size_t number)
{
    const size_t first = end_of(platform, 0, 0);
    if (number < first)
        return (dsgd_fabric_link){platform->group_bytes_per_s, platform->group_latency_s / 2};
    const int end = (int)((number - first) % N_ENDS);
    if (end == ISLAND_IN || end == ISLAND_OUT)
        return (dsgd_fabric_link){platform->island_bytes_per_s, platform->island_latency_s / 2};
    const dsgd_host_quality q = dsgd_platform_host(platform, (int)((number - first) / N_ENDS));
    return (dsgd_fabric_link){q.bandwidth * platform->host_bandwidth_bytes_per_s,
                              platform->host_latency_s / 2 + q.latency_s};
}

/* --- both ------------------------------------------------------------------------------------- */

size_t dsgd_fabric_n_links(const dsgd_platform *platform, int n_hosts)
{
    if (platform->topology == DSGD_TOPOLOGY_HAMMING_MESH)
        return into(platform, dsgd_platform_most_hosts(platform), 0);
    const int64_t rails = platform->island_hosts;
    return end_of(platform, (n_hosts + rails - 1) / rails * rails,
                  0); /* whole nodes: others' GPUs forward */
}

dsgd_fabric_link dsgd_fabric_link_at(const dsgd_platform *platform, size_t number)
{
    return platform->topology == DSGD_TOPOLOGY_HAMMING_MESH ? mesh_link(platform, number)
                                                            : rails_link(platform, number);
}

size_t dsgd_fabric_route(const dsgd_platform *platform, int from, int to, size_t *link)
{
    return platform->topology == DSGD_TOPOLOGY_HAMMING_MESH ? mesh_route(platform, from, to, link)
                                                            : rails_route(platform, from, to, link);
}
