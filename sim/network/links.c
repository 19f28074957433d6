/**
 * @file links.c
 * Links as queues of processor sharing. Their work is counted per unit of weight: each message
 * leaves when the work has reached a value that is known when it comes, so that only the first of
 * them needs an event, and a message costs O(log n) for n at a link. A message that shares none
 * of its links needs one event in all: no link is told that it has left.
 */
#include "sim/network/links.h"

#include "base/round.h"
#include "sim/network/paths.h"
#include "sim/network/simgrid.h"
#include "traces/closed_form.h"
#include "traces/shapes/shape.h"

typedef struct dsgd_link {
    dsgd_event departure; /* first: of the first of several messages */
    double bytes_per_s;
    union {
        struct { /* where each link is shared by itself */
            dsgd_flight *only; /* one message, which leaves at free_at_s */
            double free_at_s; /* in the past: the link is idle, or has several */
            dsgd_heap several; /* of dsgd_flight, by the work at which they leave */
            double work; /* bytes / weight served of each, at changed_s */
            double changed_s;
            double weight; /* of all */
        };
        dsgd_pipe pipe; /* max-min fairly */
        char two_lines[128 - sizeof(dsgd_event) - sizeof(double)]; /* of a cache in all */
    };
} dsgd_link;

/** A host that takes part. */
typedef struct host {
    int place; /* index among all of the platform */
    dsgd_path_end end;
    double link_bytes_per_s; /* of one of its links, where it has several */
} host;

static const dsgd_platform *platform;
static void *(*take)(size_t bytes); /* where links are shared max-min fairly; else NULL */
static bool has_paths; /* of a tree, dragonfly, torus or fabric: with their latencies */
static host *hosts; /* of the run */
/* [2 * n]: out, in; `islands`: of each place, into its island; `groups`: ways out that can be full;
 * `routes`: of each region and each other, there alone */
static dsgd_link *nics, *islands, *groups, *routes;
static int n_nics, n_islands, n_groups, n_routes;
static int n_sites; /* regions, or groups */
static double
    *factors; /* [n_sites][n_sites] of flows' limits between them; NULL: nothing changes */
static dsgd_pipe *wires; /* [n_wires] links of the shape, or SimGrid's, instead; NULL: not used */
static double *wires_later_s; /* [n_wires] latencies of the shape's; NULL: they are SimGrid's */
static size_t n_wires;

/** Of a flight: its pipes, and its places in them. */
typedef struct dsgd_room {
    size_t n; /* at most */
    dsgd_pipe *pipe[];
} dsgd_room;

/* --- messages on a link ----------------------------------------------------------------------- */

static double weight_of(const dsgd_flight *flight)
{
    return flight->latency_s > 0 ? 1 / flight->latency_s : 1;
}

static void plan_departure(dsgd_link *link)
{
    if (link->bytes_per_s == 0) { /* for a while */
        dsgd_event_cancel(&link->departure);
        return;
    }
    const double left = link->several.entry[0].key - link->work;
    dsgd_event_plan(&link->departure,
                    link->changed_s + dsgd_greater(left, 0) * link->weight / link->bytes_per_s);
}

static void leave(dsgd_flight *flight, double now_s)
{
    if (--flight->n_shared == 0)
        dsgd_event_plan(&flight->arrival,
                        dsgd_greater(now_s, flight->earliest_s) + flight->latency_s);
}

static void depart(dsgd_event *event)
{
    dsgd_link *const link = (dsgd_link *)event;
    const double now_s = dsgd_events_now_s();
    link->work = link->several.entry[0].key;
    link->changed_s = now_s;
    while (link->several.n > 0 && link->several.entry[0].key <= link->work) {
        dsgd_flight *const flight = dsgd_heap_pop(&link->several).what;
        link->weight -= weight_of(flight);
        leave(flight, now_s);
    }
    if (link->several.n > 0)
        plan_departure(link);
}

static void join(dsgd_link *link, dsgd_flight *flight, double bytes)
{
    const double now_s = dsgd_events_now_s();
    if (link->several.n > 0)
        link->work += (now_s - link->changed_s) * link->bytes_per_s / link->weight;
    link->changed_s = now_s;
    if (link->several.n == 0) /* without the rounding of those before */
        link->work = link->weight = 0;
    const double weight = weight_of(flight);
    link->weight += weight;
    dsgd_heap_push(&link->several, link->work + bytes / weight, dsgd_events_number(), flight);
    flight->n_shared++;
    plan_departure(link);
}

static bool has_one(const dsgd_link *link)
{
    return dsgd_events_now_s() < link->free_at_s;
}

/** A message may leave it at once. */
static bool is_idle(const dsgd_link *link)
{
    return link->several.n == 0 && !has_one(link) && link->bytes_per_s > 0;
}

/** What is left of a message that shared no link joins the links that it has yet to leave. */
static void share(dsgd_flight *flight)
{
    dsgd_event_cancel(&flight->arrival);
    for (int i = 0; i < 2; i++) {
        dsgd_link *const link = flight->link[i];
        if (!has_one(link) || link->only != flight)
            continue;
        const double left_s = link->free_at_s - dsgd_events_now_s();
        link->free_at_s = 0;
        join(link, flight, left_s * link->bytes_per_s);
    }
}

static void fly_uncontended(dsgd_flight *flight)
{
    double until_s = flight->earliest_s;
    for (int i = 0; i < 2; i++) {
        dsgd_link *const link = flight->link[i];
        link->only = flight;
        link->free_at_s = dsgd_events_now_s() + flight->bytes / link->bytes_per_s;
        until_s = dsgd_greater(until_s, link->free_at_s);
    }
    dsgd_event_plan(&flight->arrival, until_s + flight->latency_s);
}

/* --- paths ------------------------------------------------------------------------------------ */

/** Latency, and in *bytes_per_s the limit of one flow, between hosts of different islands. */
static double path_s(const host *from, const host *to, double *bytes_per_s)
{
    if (has_paths) {
        *bytes_per_s = dsgd_less(from->link_bytes_per_s, to->link_bytes_per_s);
        return dsgd_closed_form_latency_s(platform, from->place, to->place);
    }
    if (from->end.group != to->end.group)
        *bytes_per_s =
            dsgd_platform_between(platform, from->end.group, to->end.group).flow_bytes_per_s;
    return dsgd_path_latency_s(platform, &from->end, &to->end);
}

/** Room for that many pipes of a flight's flow. */
static void make_room(dsgd_flight *flight, size_t n)
{
    if (flight->room == NULL || flight->room->n < n) {
        flight->room = take(sizeof *flight->room + n * (sizeof(dsgd_pipe *) + sizeof(size_t)));
        flight->room->n = n;
    }
    flight->flow.pipe = flight->room->pipe;
    flight->flow.place = (size_t *)(flight->room->pipe + flight->room->n);
}

/** Numbers of its links; until the next call. */
static const size_t *find_route_of_shape(int from, int to, size_t *n, double *latency_s)
{
    static dsgd_shape_route route;
    dsgd_shape_find_route(platform, hosts[from].place, hosts[to].place, &route);
    *n = route.n;
    *latency_s = 0;
    for (size_t i = 0; i < route.n; i++)
        *latency_s += wires_later_s[route.link[i]];
    return route.link;
}

static void find_wires(dsgd_flight *flight, int from, int to)
{
    dsgd_flow *const flow = &flight->flow;
    const size_t *const number = (wires_later_s != NULL ? find_route_of_shape : dsgd_simgrid_route)(
        from, to, &flow->n_pipes, &flight->latency_s);
    DSGD_ASSERT(flow->n_pipes > 0, "no links from host %d to %d", from, to);
    make_room(flight, flow->n_pipes);
    for (size_t i = 0; i < flow->n_pipes; i++)
        flow->pipe[i] = &wires[number[i]];
}

static void find_pipes(dsgd_flight *flight, int from, int to)
{
    const int out = hosts[from].end.group, in = hosts[to].end.group;
    dsgd_flow *const flow = &flight->flow;
    make_room(flight, 5); /* out of a NIC, out of a group, a route, into a group, into a NIC */
    flow->pipe[flow->n_pipes++] = &flight->link[0]->pipe;
    if (groups != NULL && out != in) {
        flow->pipe[flow->n_pipes++] = &groups[2 * out].pipe;
        flow->pipe[flow->n_pipes++] = &groups[2 * in + 1].pipe;
    }
    const int route = out * n_sites + in;
    if (routes != NULL && out != in &&
        (factors != NULL || routes[2 * route].bytes_per_s < INFINITY))
        flow->pipe[flow->n_pipes++] = &routes[2 * route].pipe;
    if (factors != NULL && out != in)
        flow->factor = &factors[route];
    flow->pipe[flow->n_pipes++] = &flight->link[1]->pipe;
}

/** As a flow, which enters its links after the latency. */
static void flow(dsgd_flight *flight, int from, int to, double limit_bytes_per_s)
{
    dsgd_flow *const new = &flight->flow;
    *new = (dsgd_flow){.arrival = &flight->arrival,
                       .limit_bytes_per_s = limit_bytes_per_s,
                       .bytes = flight->bytes};
    if (wires == NULL)
        find_pipes(flight, from, to);
    else
        find_wires(flight, from, to);
    new->weight = weight_of(flight);
    dsgd_flow_begin(new, flight->latency_s);
}

/** Latency, the limit of one flow, and in link[2] the links at both ends. */
static dsgd_route find_route(int from, int to, dsgd_link **link)
{
    const host *const a = &hosts[from];
    const host *const b = &hosts[to];
    const bool inside = dsgd_path_in_island(platform, &a->end, &b->end);
    dsgd_route route = {platform->island_latency_s, INFINITY};
    if (!inside)
        route.latency_s = path_s(a, b, &route.bytes_per_s);
    link[0] = inside ? &islands[2 * a->place] : &nics[2 * a->end.nic];
    link[1] = inside ? &islands[2 * b->place + 1] : &nics[2 * b->end.nic + 1];
    return route;
}

dsgd_route dsgd_links_route(int from, int to)
{
    if (wires_later_s != NULL) {
        size_t n = 0;
        dsgd_route route = {0, INFINITY};
        const size_t *const number = find_route_of_shape(from, to, &n, &route.latency_s);
        for (size_t i = 0; i < n; i++)
            route.bytes_per_s = dsgd_less(route.bytes_per_s, wires[number[i]].bytes_per_s);
        return route;
    }
    if (wires != NULL)
        return dsgd_simulator_simgrid.route(from, to);
    dsgd_link *link[2];
    dsgd_route route = find_route(from, to, link);
    for (int i = 0; i < 2; i++)
        route.bytes_per_s = dsgd_less(route.bytes_per_s, link[i]->bytes_per_s);
    return route;
}

void dsgd_flight_begin(dsgd_flight *flight, int from, int to)
{
    const double bytes = flight->bytes;
    dsgd_route route = {0, INFINITY};
    if (wires == NULL)
        route = find_route(from, to, flight->link);
    else if (bytes <= 0)
        route = dsgd_links_route(from, to);
    flight->n_shared = 0;
    flight->latency_s = route.latency_s;
    flight->earliest_s = dsgd_events_now_s() + bytes / route.bytes_per_s;
    if (bytes <= 0) {
        dsgd_event_plan(&flight->arrival, flight->earliest_s + flight->latency_s);
        return;
    }
    if (take != NULL) {
        flow(flight, from, to, route.bytes_per_s);
        return;
    }
    if (is_idle(flight->link[0]) && is_idle(flight->link[1])) {
        fly_uncontended(flight);
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (has_one(flight->link[i]))
            share(flight->link[i]->only);
        join(flight->link[i], flight, bytes);
    }
}

/* --- the platform's links --------------------------------------------------------------------- */

static void set_bandwidth(dsgd_link *links, int i, double bytes_per_s)
{
    for (int direction = 0; direction < 2; direction++) {
        dsgd_link *const link = &links[2 * i + direction];
        *link = (dsgd_link){.departure = {.happen = depart}, .bytes_per_s = bytes_per_s};
        if (take != NULL)
            link->pipe.bytes_per_s = bytes_per_s;
    }
}

static void change_bandwidth(dsgd_link *link, double bytes_per_s)
{
    if (take != NULL) {
        dsgd_pipe_change(&link->pipe, bytes_per_s);
        return;
    }
    const double now_s = dsgd_events_now_s();
    if (has_one(link))
        share(link->only);
    if (link->several.n > 0)
        link->work += (now_s - link->changed_s) * link->bytes_per_s / link->weight;
    link->changed_s = now_s;
    link->bytes_per_s = bytes_per_s;
    if (link->several.n > 0)
        plan_departure(link);
}

static double times(double factor, double bytes_per_s)
{
    return factor == 0 ? 0 : factor * bytes_per_s; /* of no limit, too */
}

void dsgd_links_slow(int from, int to, double factor)
{
    const int nic = from / dsgd_platform_nic_hosts(platform);
    if (to >= 0 && from != to) {
        const int route = from * n_sites + to;
        factors[route] = factor;
        change_bandwidth(&routes[2 * route],
                         times(factor, dsgd_platform_between(platform, from, to).bytes_per_s));
    }
    for (int i = 0; i < 2 && to == from; i++)
        change_bandwidth(&groups[2 * from + i], times(factor, platform->group_bytes_per_s));
    for (int i = 0; i < 2 && to < 0; i++)
        change_bandwidth(&nics[2 * nic + i], factor * dsgd_platform_nic_bytes_per_s(platform, nic));
}

/** Ways out of groups; none where no group's hosts can fill one. */
static void open_groups(int n, const int *places)
{
    const dsgd_platform_use use = {n, places, 0};
    for (int i = 0; i < n; i++)
        n_groups = hosts[i].end.group < n_groups ? n_groups : hosts[i].end.group + 1;
    double *const demands = dsgd_platform_group_demands(platform, &use, n_groups);
    bool any = factors != NULL;
    for (int group = 0; group < n_groups; group++)
        any = any || dsgd_platform_way_out_binds(platform, demands[group]);
    free(demands);
    if (!any)
        return;
    groups = dsgd_xcalloc(2 * (size_t)n_groups, sizeof *groups);
    for (int group = 0; group < n_groups; group++)
        set_bandwidth(groups, group, platform->group_bytes_per_s);
}

/** What all flows from a region to another share. */
static void open_routes(void)
{
    const int n = n_sites;
    n_routes = n * n;
    routes = dsgd_xcalloc(2 * (size_t)n_routes, sizeof *routes);
    for (int k = 0; k < n_routes; k++)
        set_bandwidth(routes, k, dsgd_platform_between(platform, k / n, k % n).bytes_per_s);
}

void dsgd_links_open_simgrids(void *(*take_memory)(size_t bytes))
{
    take = take_memory;
    double *const bandwidths = dsgd_simgrid_bandwidths(&n_wires);
    wires = dsgd_xcalloc(n_wires, sizeof *wires);
    for (size_t i = 0; i < n_wires; i++)
        wires[i].bytes_per_s = bandwidths[i];
    free(bandwidths);
}

static void open_links_of_shape(int n_places)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    n_wires = shape->n_links(platform, n_places);
    wires = dsgd_xcalloc(n_wires, sizeof *wires);
    wires_later_s = dsgd_xcalloc(n_wires, sizeof *wires_later_s);
    for (size_t i = 0; i < n_wires; i++) {
        const dsgd_shape_link link = shape->link(platform, i);
        wires[i].bytes_per_s = link.bytes_per_s;
        wires_later_s[i] = link.latency_s;
    }
}

void dsgd_links_open(const dsgd_machine *machine, const int *places,
                     void *(*take_memory)(size_t bytes))
{
    const int n = machine->n_hosts;
    const bool change = machine->links_change;
    platform = machine->platform;
    take = take_memory;
    has_paths = !dsgd_platform_is_crossbar(platform);
    const int per_nic = dsgd_platform_nic_hosts(platform);
    int last = 0;
    for (int i = 0; i < n; i++)
        last = places[i] > last ? places[i] : last;
    n_nics = last / per_nic + 1;
    n_islands = platform->island_hosts > 0 ? last + 1 : 0;
    n_groups = 0;
    nics = dsgd_xcalloc(2 * (size_t)n_nics, sizeof *nics);
    islands = n_islands == 0 ? NULL : dsgd_xcalloc(2 * (size_t)n_islands, sizeof *islands);
    hosts = dsgd_xcalloc((size_t)n, sizeof *hosts);
    for (int i = 0; i < n; i++) {
        const int nic = places[i] / per_nic;
        const double bandwidth = dsgd_platform_host(platform, places[i]).bandwidth;
        hosts[i] = (host){places[i], dsgd_path_end_at(platform, places[i], 1),
                          bandwidth * platform->host_bandwidth_bytes_per_s};
        set_bandwidth(nics, nic, dsgd_platform_nic_bytes_per_s(platform, nic));
        if (islands != NULL)
            set_bandwidth(islands, places[i], platform->island_bytes_per_s);
    }
    n_sites = (int)platform->regions.n;
    for (int i = 0; i < n && platform->regions.n == 0; i++)
        n_sites = hosts[i].end.group < n_sites ? n_sites : hosts[i].end.group + 1;
    const size_t n_pairs = (size_t)n_sites * (size_t)n_sites;
    if (change)
        factors = dsgd_xcalloc(n_pairs, sizeof *factors);
    for (size_t i = 0; change && i < n_pairs; i++)
        factors[i] = 1;
    if (take != NULL && has_paths)
        open_links_of_shape(last + 1);
    if (take != NULL && dsgd_platform_group_hosts(platform) > 0)
        open_groups(n, places);
    if (take != NULL && (platform->route_of != NULL || change))
        open_routes();
}

static void close_links(dsgd_link **links, int n)
{
    for (int i = 0; *links != NULL && i < 2 * n; i++)
        free(take != NULL ? (void *)(*links)[i].pipe.flow : (void *)(*links)[i].several.entry);
    free(*links);
    *links = NULL;
}

void dsgd_links_close(void)
{
    close_links(&nics, n_nics);
    close_links(&islands, n_islands);
    close_links(&groups, n_groups);
    close_links(&routes, n_routes);
    for (size_t i = 0; wires != NULL && i < n_wires; i++)
        free(wires[i].flow);
    free(wires);
    wires = NULL;
    free(wires_later_s);
    wires_later_s = NULL;
    dsgd_maxmin_close();
    free(hosts);
    hosts = NULL;
    free(factors);
    factors = NULL;
}
