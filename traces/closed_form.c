/**
 * @file closed_form.c
 * Paths over numbered links, and how many flows share each.
 */
#include "traces/closed_form.h"

#include "traces/shapes/shape.h"

/** Links of paths, each with how fast it is. */
typedef struct path {
    size_t n, room;
    struct passed {
        size_t link;
        double bytes_per_s; /* of the link */
    } * passed;
} path;

/** Seconds of an empty message, and the limit of one flow besides the links. */
typedef struct limits {
    double latency_s, flow_bytes_per_s;
} limits;

/** Adds the links from a to b to @p p. */
static limits find_path(path *p, const dsgd_platform *platform, int a, int b)
{
    static dsgd_shape_route route;
    limits alone = {0, INFINITY};
    dsgd_shape_find_route(platform, a, b, &route);
    for (size_t k = 0; k < route.n; k++) {
        const dsgd_shape_link l = dsgd_shape_of(platform)->link(platform, route.link[k]);
        if (p->n == p->room) {
            p->room = 2 * p->room + 8;
            p->passed = dsgd_xrealloc(p->passed, p->room, sizeof *p->passed);
        }
        p->passed[p->n++] = (struct passed){route.link[k], l.bytes_per_s};
        alone.latency_s += l.latency_s;
    }
    alone.latency_s += route.added_latency_s;
    alone.flow_bytes_per_s = route.flow_bytes_per_s;
    return alone;
}

/* --- sharing ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const size_t x = ((const struct passed *)a)->link;
    const size_t y = ((const struct passed *)b)->link;
    return (x > y) - (x < y);
}

/** How often a link, which is there, occurs in the sorted list. */
static size_t count(const path *sorted, const struct passed *link)
{
    const struct passed *first = bsearch(link, sorted->passed, sorted->n, sizeof *first, by_number);
    DSGD_ASSERT(first != NULL, "link %zu is on no path", link->link);
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
        const limits alone = find_path(&p, platform, flows[i].from, flows[i].to);
        double bytes_per_s = alone.flow_bytes_per_s;
        for (size_t k = 0; k < p.n; k++)
            bytes_per_s =
                fmin(bytes_per_s, p.passed[k].bytes_per_s / (double)count(&all, &p.passed[k]));
        slowest_s = fmax(slowest_s, alone.latency_s + bytes / bytes_per_s);
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
    const limits alone = find_path(&p, platform, from, to);
    free(p.passed);
    return alone.latency_s;
}
