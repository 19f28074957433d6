/**
 * @file loads.c Counts the bytes that each link has carried, for platforms whose links have names.
 */
#include "sim/network/simgrid.h"
#include "sim/observe/observe.h"
#include "traces/shapes/shape.h"

static int by_name(const void *a, const void *b)
{
    return strverscmp(((const dsgd_load *)a)->link, ((const dsgd_load *)b)->link);
}

static void list_links(const dsgd_platform *platform, dsgd_load *loads, size_t n)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    for (size_t i = 0; i < n; i++)
        loads[i] = (dsgd_load){.link = shape->link_name(platform, i),
                               .bytes_per_s = shape->link(platform, i).bytes_per_s};
}

/** Adds the bytes that host @p from sent to host @p to to the loads of the links between them. */
static void add_to_route(const dsgd_engine *engine, int from, int to, dsgd_load *loads)
{
    const dsgd_carrier *const carriers = engine->accounts.carriers;
    const dsgd_links path = dsgd_links_between(engine->config->platform, from, to,
                                               carriers[from].place, carriers[to].place);
    for (size_t k = 0; k < path.n; k++)
        loads[path.link[k]].bytes += carriers[from].to[to];
}

size_t dsgd_list_loads(const dsgd_engine *engine, dsgd_load **loads)
{
    const dsgd_platform *const platform = engine->config->platform;
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    const int n_hosts = dsgd_n_hosts(engine);
    size_t n = 0;
    if (dsgd_links_are_simgrids(platform)) {
        n = dsgd_simgrid_links(loads);
    } else if (shape->link_name != NULL) {
        n = shape->n_links(platform, 0);
        *loads = dsgd_xcalloc(n, sizeof **loads);
        list_links(platform, *loads, n);
    }
    for (int from = 0; n > 0 && from < n_hosts; from++)
        for (int to = 0; engine->accounts.carriers[from].to != NULL && to < n_hosts; to++)
            if (engine->accounts.carriers[from].to[to] > 0)
                add_to_route(engine, from, to, *loads);
    if (n > 0)
        qsort(*loads, n, sizeof **loads, by_name);
    return n;
}
