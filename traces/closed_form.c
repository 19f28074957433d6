/**
 * @file closed_form.c
 * Computes message times in closed form. Adds the latencies of the links on a route. Counts the
 * flows that share each link.
 */
#include "traces/closed_form.h"

#include "traces/shapes/shape.h"

/** Returns the time of an empty message on a route, in seconds. */
static double latency_of(const dsgd_platform *platform, const dsgd_shape_route *route)
{
    double latency_s = 0;
    for (size_t k = 0; k < route->n; k++)
        latency_s += dsgd_shape_of(platform)->link(platform, route->link[k]).latency_s;
    return latency_s + route->added_latency_s;
}

static int by_number(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/** Returns the number of times that @p link occurs in a sorted list of links that contains it. */
static size_t count(const dsgd_shape_route *sorted, size_t link)
{
    const size_t *first = bsearch(&link, sorted->link, sorted->n, sizeof link, by_number);
    DSGD_ASSERT(first != NULL, "link %zu is on no path", link);
    const size_t *end = first;
    while (first > sorted->link && first[-1] == link)
        first--;
    while (end < sorted->link + sorted->n && *end == link)
        end++;
    return (size_t)(end - first);
}

double dsgd_closed_form_flows_s(const dsgd_platform *platform, size_t n, const dsgd_ends *flows,
                                double bytes)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    /* links of all flows; a link occurs once per flow that uses the link */
    dsgd_shape_route all = {NULL};
    dsgd_shape_route one = {NULL};
    for (size_t i = 0; i < n; i++)
        shape->route(platform, flows[i].from, flows[i].to, &all);
    if (all.n > 0)
        qsort(all.link, all.n, sizeof *all.link, by_number);
    double slowest_s = 0;
    for (size_t i = 0; i < n; i++) {
        dsgd_shape_find_route(platform, flows[i].from, flows[i].to, &one);
        double bytes_per_s = one.flow_bytes_per_s;
        for (size_t k = 0; k < one.n; k++)
            bytes_per_s = fmin(bytes_per_s, shape->link(platform, one.link[k]).bytes_per_s /
                                                (double)count(&all, one.link[k]));
        slowest_s = fmax(slowest_s, latency_of(platform, &one) + bytes / bytes_per_s);
    }
    free(all.link);
    free(one.link);
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
    dsgd_shape_route route = {NULL};
    dsgd_shape_find_route(platform, from, to, &route);
    const double latency_s = latency_of(platform, &route);
    free(route.link);
    return latency_s;
}
