/**
 * @file analytic_form.c
 * Paths over numbered links, and how many flows share each.
 */
#include "traces/closed_form.h"

#include <inttypes.h>

#include "traces/fabric.h"

/** The links of a path, each with a number that no other link of the platform has. */
typedef struct path {
    size_t n, room;
    struct passed {
        int64_t link;
        double bytes_per_s; /* of the link */
    } * passed;
    double latency_s;
} path;

static void pass(path *p, int64_t link, double bytes_per_s, double latency_s)
{
    if (p->n == p->room) {
        p->room = 2 * p->room + 8;
        p->passed = dsgd_xrealloc(p->passed, p->room, sizeof *p->passed);
    }
    p->passed[p->n++] = (struct passed){link, bytes_per_s};
    p->latency_s += latency_s;
}

/** Limits a flow, but is no link. */
static const int64_t unshared = -1;

/* --- switch and groups ------------------------------------------------------------------------ */

enum { UP, DOWN, ISLAND_IN, ISLAND_OUT, GROUP_OUT, GROUP_IN, ROUTE, N_KINDS };

static void pass_nic(path *p, const dsgd_platform *platform, int host, int direction)
{
    const int nic = host / dsgd_platform_nic_hosts(platform);
    const dsgd_host_quality q = dsgd_platform_nic(platform, nic);
    pass(p, (int64_t)nic * N_KINDS + direction, q.bandwidth * platform->host_bandwidth_bytes_per_s,
         platform->host_latency_s / 2 + q.latency_s);
}

static void star_path(path *p, const dsgd_platform *platform, int a, int b)
{
    const int64_t island = platform->island_hosts;
    if (island > 0 && a / island == b / island) {
        const double later_s = platform->island_latency_s / 2;
        pass(p, (int64_t)a * N_KINDS + ISLAND_IN, platform->island_bytes_per_s, later_s);
        pass(p, (int64_t)b * N_KINDS + ISLAND_OUT, platform->island_bytes_per_s, later_s);
        return;
    }
    pass_nic(p, platform, a, UP);
    pass_nic(p, platform, b, DOWN);
    const int64_t size = platform->group_hosts;
    if (platform->topology != DSGD_TOPOLOGY_GROUPS || a / size == b / size)
        return;
    pass(p, a / size * N_KINDS + GROUP_OUT, platform->group_bytes_per_s, 0);
    const dsgd_between way = dsgd_platform_between(platform, (int)(a / size), (int)(b / size));
    pass(p, unshared, way.flow_bytes_per_s, way.latency_s);
    if (way.bytes_per_s < INFINITY)
        pass(p, (a / size * (int64_t)platform->regions.n + b / size) * N_KINDS + ROUTE,
             way.bytes_per_s, 0);
    pass(p, b / size * N_KINDS + GROUP_IN, platform->group_bytes_per_s, 0);
}

/* --- trees, dragonflies, tori ----------------------------------------------------------------- */

/** Up to the smallest subtree with a and b, and down. A subtree's links upwards count as one. */
static void tree_path(path *p, const dsgd_platform *platform, int a, int b)
{
    const double link = platform->host_bandwidth_bytes_per_s;
    int64_t subtree = 1; /* hosts in it */
    double ways = 1; /* out of it */
    for (size_t level = 0; a / subtree != b / subtree; level++) {
        const double later_s = platform->host_latency_s / 2;
        ways *= platform->up.v[level];
        const double width = ways * dsgd_extent(&platform->cables, level) * link;
        pass(p, (2 * (int64_t)level) << 32 | a / subtree, width, later_s);
        pass(p, (2 * (int64_t)level + 1) << 32 | b / subtree, width, later_s);
        subtree *= (int64_t)platform->size.v[level];
    }
    pass(p, unshared, link, 0); /* a flow takes one cable */
}

/** A router of a dragonfly. */
typedef struct place {
    int64_t group, chassis, router;
} place;

enum { LOCAL, GREEN, BLACK, BLUE };

static int64_t router_number(const dsgd_platform *platform, place at)
{
    return (at.group * (int64_t)platform->size.v[1] + at.chassis) * (int64_t)platform->size.v[2] +
           at.router;
}

/** To the router of that number, and then to that chassis, of the same group. */
static void within_group(path *p, const dsgd_platform *platform, place *at, int64_t router,
                         int64_t chassis)
{
    const double link = platform->host_bandwidth_bytes_per_s;
    const double later_s = platform->host_latency_s / 2;
    if (at->router != router) {
        pass(p, (int64_t)GREEN << 60 | router_number(platform, *at) << 24 | router,
             dsgd_extent(&platform->cables, 2) * link, later_s);
        at->router = router;
    }
    if (at->chassis != chassis) {
        pass(p, (int64_t)BLACK << 60 | router_number(platform, *at) << 24 | chassis,
             dsgd_extent(&platform->cables, 1) * link, later_s);
        at->chassis = chassis;
    }
}

/**
 * To another group through the only router of the first chassis with a link to it. SimGrid 3.32
 * differs: it takes a router reached within a chassis for one of the first chassis, so some of its
 * paths in a group have a link too many or too few.
 */
static void dragonfly_path(path *p, const dsgd_platform *platform, int a, int b)
{
    const int64_t per_router = (int64_t)platform->size.v[3];
    const int64_t per_chassis = (int64_t)platform->size.v[2];
    const int64_t chassis = (int64_t)platform->size.v[1];
    const int64_t from = a / per_router, to = b / per_router;
    const double later_s = platform->host_latency_s / 2;
    place at = {from / per_chassis / chassis, from / per_chassis % chassis, from % per_chassis};
    const place end = {to / per_chassis / chassis, to / per_chassis % chassis, to % per_chassis};
    pass(p, (int64_t)LOCAL << 60 | 2 * (int64_t)a, platform->host_bandwidth_bytes_per_s, later_s);
    pass(p, (int64_t)LOCAL << 60 | (2 * (int64_t)b + 1), platform->host_bandwidth_bytes_per_s,
         later_s);
    if (at.group != end.group) {
        within_group(p, platform, &at, end.group, 0);
        pass(p, (int64_t)BLUE << 60 | at.group << 24 | end.group,
             dsgd_extent(&platform->cables, 0) * platform->host_bandwidth_bytes_per_s, later_s);
        at = (place){end.group, 0, at.group};
    }
    within_group(p, platform, &at, end.router, end.chassis);
}

/** Dimension by dimension, each the shorter way round. */
static void torus_path(path *p, const dsgd_platform *platform, int a, int b)
{
    const int64_t n = (int64_t)platform->size.n;
    int64_t stride = 1;
    int64_t at = a;
    for (int64_t d = 0; d < n; d++) {
        const int64_t size = (int64_t)platform->size.v[d];
        const int64_t ahead = (b / stride % size - at / stride % size + size) % size;
        /* Of two ways of equal length SimGrid takes the one ahead, except from the middle. */
        const bool forward =
            2 * ahead < size || (2 * ahead == size && at / stride % size != size / 2);
        for (int64_t left = forward ? ahead : size - ahead; left > 0; left--) {
            const int64_t x = at / stride % size;
            const int64_t next = at + ((x + (forward ? 1 : size - 1)) % size - x) * stride;
            /* A link belongs to the host that it leads away from, forwards. */
            const dsgd_host_quality q = dsgd_platform_host(platform, (int)at);
            const dsgd_host_quality r = dsgd_platform_host(platform, (int)next);
            pass(p, (at * n + d) * 2 + forward,
                 fmin(q.bandwidth, r.bandwidth) * platform->host_bandwidth_bytes_per_s,
                 platform->host_latency_s + fmax(q.latency_s, r.latency_s));
            at = next;
        }
        stride *= size;
    }
}

static void fabric_path(path *p, const dsgd_platform *platform, int a, int b)
{
    size_t link[DSGD_FABRIC_MOST_LINKS];
    const size_t n = dsgd_fabric_route(platform, a, b, link);
    for (size_t k = 0; k < n; k++) {
        const dsgd_fabric_link l = dsgd_fabric_link_at(platform, link[k]);
        pass(p, (int64_t)link[k], l.bytes_per_s, l.latency_s);
    }
}

/** Adds the path from a to b to @p p. */
static void find_path(path *p, const dsgd_platform *platform, int a, int b)
{
    if (dsgd_platform_is_fabric(platform))
        fabric_path(p, platform, a, b);
    else if (platform->topology == DSGD_TOPOLOGY_TORUS)
        torus_path(p, platform, a, b);
    else if (platform->topology == DSGD_TOPOLOGY_FAT_TREE)
        tree_path(p, platform, a, b);
    else if (platform->topology == DSGD_TOPOLOGY_DRAGONFLY)
        dragonfly_path(p, platform, a, b);
    else
        star_path(p, platform, a, b);
    if (platform->topology != DSGD_TOPOLOGY_FAT_TREE &&
        platform->topology != DSGD_TOPOLOGY_DRAGONFLY)
        return;
    /* The first and the last link of such a path, as `hosts` changes it. */
    const dsgd_host_quality ends[] = {dsgd_platform_host(platform, a),
                                      dsgd_platform_host(platform, b)};
    for (int i = 0; i < 2; i++)
        pass(p, unshared, ends[i].bandwidth * platform->host_bandwidth_bytes_per_s,
             ends[i].latency_s);
}

/* --- sharing ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const int64_t x = ((const struct passed *)a)->link;
    const int64_t y = ((const struct passed *)b)->link;
    return (x > y) - (x < y);
}

/** How often a link, which is there, occurs in the sorted list. */
static size_t count(const path *sorted, const struct passed *link)
{
    const struct passed *first = bsearch(link, sorted->passed, sorted->n, sizeof *first, by_number);
    DSGD_ASSERT(first != NULL, "link %" PRId64 " is on no path", link->link);
    const struct passed *end = first;
    while (first > sorted->passed && first[-1].link == link->link)
        first--;
    while (end < sorted->passed + sorted->n && end->link == link->link)
        end++;
    return (size_t)(end - first);
}

double dsgd_closed_form_flows_s(const dsgd_platform *platform, size_t n, const dsgd_ends *flows,
                                double bytes)
{
    path all = {0}; /* links, once for each flow over them */
    path p = {0};
    for (size_t i = 0; i < n; i++)
        find_path(&all, platform, flows[i].from, flows[i].to);
    if (all.n > 0)
        qsort(all.passed, all.n, sizeof *all.passed, by_number);
    double slowest_s = 0;
    for (size_t i = 0; i < n; i++) {
        p.n = 0;
        p.latency_s = 0;
        find_path(&p, platform, flows[i].from, flows[i].to);
        double bytes_per_s = INFINITY;
        for (size_t k = 0; k < p.n; k++) {
            const struct passed *const link = &p.passed[k];
            const size_t sharing = link->link == unshared ? 1 : count(&all, link);
            bytes_per_s = fmin(bytes_per_s, link->bytes_per_s / (double)sharing);
        }
        slowest_s = fmax(slowest_s, p.latency_s + bytes / bytes_per_s);
    }
    free(all.passed);
    free(p.passed);
    return slowest_s;
}

double dsgd_closed_form_s(const dsgd_platform *platform, int n_hosts, const int *to, double bytes)
{
    dsgd_ends *const flows = dsgd_xcalloc((size_t)n_hosts, sizeof *flows);
    size_t n = 0;
    for (int i = 0; i < n_hosts; i++) {
        if (to[i] < 0 || to[i] == i)
            continue;
        flows[n++] =
            (dsgd_ends){dsgd_platform_there(platform, i), dsgd_platform_there(platform, to[i])};
    }
    const double slowest_s = dsgd_closed_form_flows_s(platform, n, flows, bytes);
    free(flows);
    return slowest_s;
}

double dsgd_closed_form_latency_s(const dsgd_platform *platform, int from, int to)
{
    path p = {0};
    find_path(&p, platform, from, to);
    free(p.passed);
    return p.latency_s;
}
