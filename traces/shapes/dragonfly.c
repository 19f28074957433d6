/**
 * @file dragonfly.c
 * Implements the dragonfly (Kim et al., ISCA 2008), groups of chassis of routers, with minimal
 * routing. Links have the names of Cray's Aries. All routers of a chassis are connected. Each
 * router is connected with the router that has the same number in every other chassis of its group.
 * Router j in the first chassis of a group is connected with group j.
 *
 * When a message has moved to another router within a chassis, SimGrid treats this router as a
 * router of the first chassis. Some paths in a group therefore have one link too many or too few.
 * This file computes the same routes as SimGrid.
 */
#include "traces/shapes/shape.h"

static dsgd_status check(const dsgd_platform *platform, dsgd_error *error)
{
    if (platform->size.v[0] > platform->size.v[2])
        return dsgd_refuse(
            error,
            "platform: size: the number of groups must be at most the number of "
            "routers per chassis, %g, got %g. Each router is the gateway to one group",
            platform->size.v[2], platform->size.v[0]);
    return DSGD_OK;
}

/**
 * Numbers of groups, chassis, routers and hosts. Also the first number of each kind of link pairs.
 */
typedef struct numbers {
    int64_t groups, chassis, routers, hosts; /* number of groups, chassis per group, routers per
                                              * chassis, and hosts per router */
    int64_t green, black, blue, all;
} numbers;

static int64_t pairs_of(int64_t n)
{
    return n * (n - 1) / 2;
}

static numbers numbers_of(const dsgd_platform *platform)
{
    const double *const size = platform->size.v;
    numbers n = {(int64_t)size[0], (int64_t)size[1], (int64_t)size[2], (int64_t)size[3]};
    n.green = n.groups * n.chassis * n.routers * n.hosts;
    n.black = n.green + n.groups * n.chassis * pairs_of(n.routers);
    n.blue = n.black + n.groups * pairs_of(n.chassis) * n.routers;
    n.all = n.blue + pairs_of(n.groups);
    return n;
}

/**
 * Returns the number of the pair (a, b) of n items. Pairs are ordered by their smaller item first.
 */
static int64_t pair_of(int64_t a, int64_t b, int64_t n)
{
    const int64_t j = a < b ? a : b, k = a < b ? b : a;
    return pairs_of(n) - pairs_of(n - j) + k - j - 1;
}

/** Finds pair number @p pair of n items. Sets *j and *k to its items, with *j < *k. */
static void find_pair(int64_t pair, int64_t n, int64_t *j, int64_t *k)
{
    for (*j = 0; pair >= n - 1 - *j; ++*j)
        pair -= n - 1 - *j;
    *k = *j + 1 + pair;
}

static size_t n_links(const dsgd_platform *platform, int n_hosts)
{
    (void)n_hosts;
    return dsgd_shape_duplex(numbers_of(platform).all, false);
}

static dsgd_shape_link link_at(const dsgd_platform *platform, size_t number)
{
    const numbers n = numbers_of(platform);
    const int64_t pair = (int64_t)number / 2;
    const double later_s = platform->host_latency_s / 2;
    if (pair < n.green)
        return dsgd_shape_host_link(platform, (int)pair, later_s);
    const size_t cables = pair < n.black ? 2 : pair < n.blue ? 1 : 0;
    return (dsgd_shape_link){
        platform->host_bandwidth_bytes_per_s * dsgd_extent(&platform->cables, cables), later_s};
}

static char *link_name(const dsgd_platform *platform, size_t number)
{
    const numbers n = numbers_of(platform);
    const int64_t pair = (int64_t)number / 2;
    const char *const way = number % 2 == 0 ? "UP" : "DOWN";
    int64_t j = 0, k = 0;
    if (pair < n.green)
        return dsgd_xprintf("local_link_from_router_%jd_to_node_%jd_%jd_%s", pair / n.hosts,
                            pair % n.hosts, pair, way);
    if (pair < n.black) {
        const int64_t per_chassis = pairs_of(n.routers), here = pair - n.green;
        find_pair(here % per_chassis, n.routers, &j, &k);
        return dsgd_xprintf("green_link_in_chassis_%jd_between_routers_%jd_and_%jd_%jd_%s",
                            here / per_chassis % n.chassis, j, k, pair, way);
    }
    if (pair < n.blue) {
        const int64_t per_group = pairs_of(n.chassis) * n.routers, here = pair - n.black;
        find_pair(here % per_group / n.routers, n.chassis, &j, &k);
        return dsgd_xprintf("black_link_in_group_%jd_between_chassis_%jd_and_%jd_blade_%jd_%jd_%s",
                            here / per_group, j, k, here % n.routers, pair, way);
    }
    find_pair(pair - n.blue, n.groups, &j, &k);
    const int64_t size = n.chassis * n.routers;
    return dsgd_xprintf("blue_link_between_group_%jd_and_%jd_routers_%jd_and_%jd_%jd_%s", j, k,
                        j * size + k, k * size + j, pair, way);
}

/** Position of a router in the dragonfly. */
typedef struct place {
    int64_t group, chassis, router;
} place;

static place router_of(const numbers *n, int64_t host)
{
    const int64_t router = host / n->hosts;
    return (place){router / n->routers / n->chassis, router / n->routers % n->chassis,
                   router % n->routers};
}

static void pass_green(dsgd_shape_route *route, const numbers *n, const place *at, int64_t router)
{
    const int64_t chassis = at->group * n->chassis + at->chassis;
    const int64_t pair =
        n->green + chassis * pairs_of(n->routers) + pair_of(at->router, router, n->routers);
    dsgd_shape_pass(route, dsgd_shape_duplex(pair, at->router > router));
}

static void pass_black(dsgd_shape_route *route, const numbers *n, const place *at, int64_t chassis)
{
    const int64_t pairs =
        at->group * pairs_of(n->chassis) + pair_of(at->chassis, chassis, n->chassis);
    dsgd_shape_pass(route, dsgd_shape_duplex(n->black + pairs * n->routers + at->router,
                                             at->chassis > chassis));
}

/**
 * Appends the links to another group. The message leaves through the router of the first chassis
 * that is connected with this group. Returns the router at which the message arrives.
 */
static place leave_group(dsgd_shape_route *route, const numbers *n, place at, int64_t group)
{
    if (at.router != group)
        pass_green(route, n, &at, group);
    at.router = group;
    if (at.chassis != 0)
        pass_black(route, n, &at, 0);
    dsgd_shape_pass(
        route, dsgd_shape_duplex(n->blue + pair_of(at.group, group, n->groups), at.group > group));
    return (place){group, 0, at.group};
}

static void route(const dsgd_platform *platform, int from, int to, dsgd_shape_route *route)
{
    const numbers n = numbers_of(platform);
    const place end = router_of(&n, to);
    place at = router_of(&n, from);
    dsgd_shape_pass(route, dsgd_shape_duplex(from, false));
    if (from / n.hosts != to / n.hosts) {
        if (at.group != end.group)
            at = leave_group(route, &n, at, end.group);
        if (at.router != end.router) {
            pass_green(route, &n, &at, end.router);
            at = (place){end.group, 0, end.router}; /* As in SimGrid, the message arrives in chassis
                                                     * 0. */
        }
        if (at.chassis != end.chassis)
            pass_black(route, &n, &at, end.chassis);
    }
    dsgd_shape_pass(route, dsgd_shape_duplex(to, true));
}

static bool meets_at_nics(const dsgd_platform *platform, const dsgd_platform_use *use)
{
    return dsgd_platform_in_one(use, (int)platform->size.v[3]);
}

/**
 * Returns the dimensions of a dragonfly. The first dimension contains the hosts that share a
 * router.
 */
static dsgd_dimensions dimensions(const dsgd_platform *platform)
{
    const double *const size = platform->size.v;
    return (dsgd_dimensions){{(int)size[3], (int)size[2], (int)size[1], (int)size[0]}};
}

static char *cluster(const dsgd_platform *platform)
{
    const double *const size = platform->size.v;
    const dsgd_numbers *const cables = &platform->cables;
    return dsgd_xprintf("lat=\"%.17gs\" topology=\"DRAGONFLY\" "
                        "topo_parameters=\"%.0f,%.0f;%.0f,%.0f;%.0f,%.0f;%.0f\"",
                        platform->host_latency_s / 2, size[0], dsgd_extent(cables, 0), size[1],
                        dsgd_extent(cables, 1), size[2], dsgd_extent(cables, 2), size[3]);
}

static int hosts_of_link(const dsgd_platform *platform, const char *name, int host[2])
{
    int router = 0, node = 0;
    if (sscanf(name, "local_link_from_router_%d_to_node_%d_", &router, &node) != 2)
        return 0;
    host[0] = router * (int)platform->size.v[3] + node;
    return 1;
}

const dsgd_shape dsgd_shape_dragonfly = {.title = "dragonfly",
                                         .has_numbers = true,
                                         .n_size = 4,
                                         .n_cables = 3,
                                         .check = check,
                                         .n_links = n_links,
                                         .link = link_at,
                                         .link_name = link_name,
                                         .route = route,
                                         .meets_at_nics = meets_at_nics,
                                         .dimensions = dimensions,
                                         .cluster = cluster,
                                         .hosts_of_link = hosts_of_link};
