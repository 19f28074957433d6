/**
 * @file fat_tree.c
 * Implements the fat tree with routing by destination: D-mod-k (Zahavi, "D-Mod-K routing providing
 * non-blocking traffic for shift permutations on real life fat trees", 2010). Level 0 contains the
 * hosts. A node of level l has up[l] parents and cables[l] links to each parent. A switch of level
 * l + 1 has size[l] children.
 *
 * The number of a node of level l has digits, the least significant digit first. Digit j has base
 * up[j] for j < l, and base size[j] otherwise. Digit l of a parent is its position among the
 * parents.
 */
#include "traces/shapes/shape.h"

/** A level of the tree. A route moves from level 0 up through the levels and then down again. */
typedef struct level {
    size_t l;
    int64_t under; /* number of hosts below each node of this level */
    int64_t over; /* number of nodes of this level that are above the same hosts */
    int64_t children; /* number of children of each node in the next higher level */
    int64_t parents, cables; /* parents: number of parents of each node of this level; cables:
                              * number of cables to each parent */
    int64_t n_nodes; /* number of nodes of this level */
    int64_t pairs_below, nodes_below; /* number of link pairs and number of nodes in all lower
                                       * levels */
} level;

static void enter(const dsgd_platform *platform, level *at)
{
    at->children = (int64_t)platform->size.v[at->l];
    at->parents = (int64_t)platform->up.v[at->l];
    at->cables = (int64_t)dsgd_extent(&platform->cables, at->l);
    at->n_nodes = at->over * (dsgd_platform_most_hosts(platform) / at->under);
}

static level lowest(const dsgd_platform *platform)
{
    level at = {.under = 1, .over = 1};
    enter(platform, &at);
    return at;
}

static int64_t pairs_of(const level *at)
{
    return at->n_nodes * at->parents * at->cables;
}

/**
 * Moves to the next higher level. Returns false if this level contains only the topmost switches.
 */
static bool climb(const dsgd_platform *platform, level *at)
{
    at->pairs_below += pairs_of(at);
    at->nodes_below += at->n_nodes;
    at->under *= at->children;
    at->over *= at->parents;
    if (++at->l == platform->size.n)
        return false;
    enter(platform, at);
    return true;
}

static void descend(const dsgd_platform *platform, level *at)
{
    at->l--;
    at->under /= (int64_t)platform->size.v[at->l];
    at->over /= (int64_t)platform->up.v[at->l];
    enter(platform, at);
    at->pairs_below -= pairs_of(at);
    at->nodes_below -= at->n_nodes;
}

static size_t n_links(const dsgd_platform *platform, int n_hosts)
{
    (void)n_hosts;
    level at = lowest(platform);
    while (climb(platform, &at))
        ;
    return dsgd_shape_duplex(at.pairs_below, false);
}

static dsgd_shape_link link_at(const dsgd_platform *platform, size_t number)
{
    const level hosts = lowest(platform);
    const int64_t pair = (int64_t)number / 2;
    if (pair < pairs_of(&hosts))
        return dsgd_shape_host_link(platform, (int)(pair / (hosts.parents * hosts.cables)),
                                    platform->host_latency_s / 2);
    return (dsgd_shape_link){platform->host_bandwidth_bytes_per_s, platform->host_latency_s / 2};
}

/**
 * Returns the number that SimGrid gives to a node. SimGrid numbers switches downwards, starting at
 * twice the number of hosts.
 */
static int64_t id_of(const dsgd_platform *platform, int64_t node)
{
    const int64_t n_hosts = dsgd_platform_most_hosts(platform);
    return node < n_hosts ? node : 3 * n_hosts - 1 - node;
}

static char *link_name(const dsgd_platform *platform, size_t number)
{
    const int64_t pair = (int64_t)number / 2;
    level at = lowest(platform);
    while (pair >= at.pairs_below + pairs_of(&at))
        climb(platform, &at);
    const int64_t here = pair - at.pairs_below;
    const int64_t child = here / (at.parents * at.cables);
    const int64_t digit = here / at.cables % at.parents; /* digit l of the parent's number, which is
                                                          * its position among the parents */
    const int64_t parent =
        child % at.over + at.over * digit + at.over * at.parents * (child / at.over / at.children);
    return dsgd_xprintf("link_from_%jd_%jd_%jd_%s", id_of(platform, at.nodes_below + child),
                        id_of(platform, at.nodes_below + at.n_nodes + parent), pair,
                        number % 2 == 0 ? "UP" : "DOWN");
}

/**
 * Returns the number of the pair of links between a node and its parent. The node has the higher
 * digits of @p host and the lower digits of @p place.
 */
static int64_t pair_at(const level *at, int64_t place, int64_t host, int64_t digit, int64_t cable)
{
    const int64_t node = place + at->over * (host / at->under);
    return at->pairs_below + (node * at->parents + digit) * at->cables + cable;
}

/** Returns, for the nodes on the way to host @p to, the digits below level l. */
static int64_t place_of(const dsgd_platform *platform, size_t l, int64_t to)
{
    int64_t place = 0, over = 1;
    for (size_t j = 0; j < l; j++) {
        const int64_t parents = (int64_t)platform->up.v[j];
        place += over * (to / over % parents);
        over *= parents;
    }
    return place;
}

/**
 * Appends the links of a route. Upwards, the number of the destination selects one of the links to
 * the parents. These links are counted parent by parent and then cable by cable. Downwards, the
 * number of the source selects the cable. However, SimGrid searches its list of links for the next
 * child after the position of the last child. It starts from the beginning only if it finds no
 * link. This function does the same.
 */
static void route(const dsgd_platform *platform, int from, int to, dsgd_shape_route *route)
{
    level at = lowest(platform);
    do {
        const int64_t port = to / at.over % (at.parents * at.cables);
        const int64_t pair =
            pair_at(&at, place_of(platform, at.l, to), from, port % at.parents, port / at.parents);
        dsgd_shape_pass(route, dsgd_shape_duplex(pair, false));
        climb(platform, &at);
    } while (from / at.under != to / at.under);
    int64_t last = -1;
    while (at.l > 0) {
        descend(platform, &at);
        const int64_t child = to / at.under % at.children, n = at.children;
        int64_t next = last < 0 ? -1 : last + 1 + (child - (last + 1) % n + n) % n;
        if (next < 0 || next >= n * at.cables)
            next = from % at.cables * n + child;
        const int64_t pair =
            pair_at(&at, place_of(platform, at.l, to), to, to / at.over % at.parents, next / n);
        dsgd_shape_pass(route, dsgd_shape_duplex(pair, true));
        last = next;
    }
}

static double ports(const dsgd_platform *platform)
{
    return platform->up.v[0] * dsgd_extent(&platform->cables, 0);
}

static bool meets_at_nics(const dsgd_platform *platform, const dsgd_platform_use *use)
{
    return dsgd_platform_in_one(use, (int)platform->size.v[0]);
}

static char *cluster(const dsgd_platform *platform)
{
    const size_t n = platform->size.n;
    return dsgd_xprintf("lat=\"%.17gs\" topology=\"FAT_TREE\" topo_parameters=\"%zu;%s;%s;%s\"",
                        platform->host_latency_s / 2, n, dsgd_shape_listed(&platform->size, n),
                        dsgd_shape_listed(&platform->up, n),
                        dsgd_shape_listed(&platform->cables, n));
}

static int hosts_of_link(const dsgd_platform *platform, const char *name, int host[2])
{
    const level hosts = lowest(platform);
    int child = 0, parent = 0, pair = 0;
    if (sscanf(name, "link_from_%d_%d_%d_", &child, &parent, &pair) != 3 ||
        pair >= pairs_of(&hosts))
        return 0;
    host[0] = child;
    return 1;
}

const dsgd_shape dsgd_shape_fat_tree = {.title = "fat tree",
                                        .has_numbers = true,
                                        .n_size = DSGD_ANY_EXTENTS,
                                        .n_up = DSGD_ANY_EXTENTS,
                                        .n_cables = DSGD_ANY_EXTENTS,
                                        .n_links = n_links,
                                        .link = link_at,
                                        .link_name = link_name,
                                        .route = route,
                                        .ports = ports,
                                        .meets_at_nics = meets_at_nics,
                                        .dimensions = dsgd_shape_size,
                                        .cluster = cluster,
                                        .hosts_of_link = hosts_of_link};
