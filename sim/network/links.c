/**
 * @file links.c
 * The network `flows`: a message takes the latency of its path, then its bytes share all links of
 * the path with other messages, max-min fairly (maxmin.h).
 *
 * On a switch or groups the links are NICs, ways into islands, ways out of groups, and routes
 * between regions. Other shapes have their links and routes in traces/shapes/, and SimGrid has
 * those of XML.
 */
#include "base/round.h"
#include "sim/network/network.h"
#include "sim/network/paths.h"
#include "sim/network/simgrid.h"
#include "traces/shapes/shape.h"

/** A host that takes part. */
typedef struct host {
    int place; /* index among all of the platform */
    dsgd_path_end end;
} host;

static const dsgd_platform *platform;
static void *(*take)(size_t bytes); /* zeroed memory until the end of the run */
static host *hosts; /* of the run */
/* [2 * n]: out, in; `islands`: of each place, into its island; `groups`: ways out that can be full;
 * `routes`: of each region and each other, there alone */
static dsgd_pipe *nics, *islands, *groups, *routes;
static int n_nics, n_islands, n_groups, n_routes;
static int n_sites; /* regions, or groups */
static double
    *factors; /* [n_sites][n_sites] of flows' limits between them; NULL: nothing changes */
static dsgd_pipe *wires; /* [n_wires] links of the shape, or SimGrid's, instead; NULL: not used */
static double *wires_later_s; /* [n_wires] latencies of the shape's; NULL: they are SimGrid's */
static bool simgrids_hosts; /* SimGrid has read them from a file */
static size_t n_wires;

/** Of a flight: its pipes, and its places in them. */
typedef struct dsgd_room {
    size_t n; /* at most */
    dsgd_pipe *pipe[];
} dsgd_room;

/* --- paths ------------------------------------------------------------------------------------ */

/** Latency, and in *bytes_per_s the limit of one flow, between hosts of different islands. */
static double path_s(const host *from, const host *to, double *bytes_per_s)
{
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

static void find_wires(dsgd_flight *flight, int from, int to, double *latency_s)
{
    dsgd_flow *const flow = &flight->flow;
    const size_t *const number = (wires_later_s != NULL ? find_route_of_shape : dsgd_simgrid_route)(
        from, to, &flow->n_pipes, latency_s);
    DSGD_ASSERT(flow->n_pipes > 0, "no links from host %d to %d", from, to);
    make_room(flight, flow->n_pipes);
    for (size_t i = 0; i < flow->n_pipes; i++)
        flow->pipe[i] = &wires[number[i]];
}

/** A path has an end[0], out of its first host, and an end[1], into the last. */
static void find_pipes(dsgd_flight *flight, int from, int to, dsgd_pipe *const *end)
{
    const int out = hosts[from].end.group, in = hosts[to].end.group;
    dsgd_flow *const flow = &flight->flow;
    make_room(flight, 5); /* out of a NIC, out of a group, a route, into a group, into a NIC */
    flow->pipe[flow->n_pipes++] = end[0];
    if (groups != NULL && out != in) {
        flow->pipe[flow->n_pipes++] = &groups[2 * out];
        flow->pipe[flow->n_pipes++] = &groups[2 * in + 1];
    }
    const int route = out * n_sites + in;
    if (routes != NULL && out != in &&
        (factors != NULL || routes[2 * route].bytes_per_s < INFINITY))
        flow->pipe[flow->n_pipes++] = &routes[2 * route];
    if (factors != NULL && out != in)
        flow->factor = &factors[route];
    flow->pipe[flow->n_pipes++] = end[1];
}

/** Latency, the limit of one flow, and in end[2] the pipes at both ends. */
static dsgd_route find_route(int from, int to, dsgd_pipe **end)
{
    const host *const a = &hosts[from];
    const host *const b = &hosts[to];
    const bool inside = dsgd_path_in_island(platform, &a->end, &b->end);
    dsgd_route route = {platform->island_latency_s, INFINITY};
    if (!inside)
        route.latency_s = path_s(a, b, &route.bytes_per_s);
    end[0] = inside ? &islands[2 * a->place] : &nics[2 * a->end.nic];
    end[1] = inside ? &islands[2 * b->place + 1] : &nics[2 * b->end.nic + 1];
    return route;
}

static dsgd_route find_limits(int from, int to)
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
        return dsgd_network_simgrid.route(from, to);
    dsgd_pipe *end[2];
    dsgd_route route = find_route(from, to, end);
    for (int i = 0; i < 2; i++)
        route.bytes_per_s = dsgd_less(route.bytes_per_s, end[i]->bytes_per_s);
    return route;
}

static void send(dsgd_flight *flight, int from, int to)
{
    dsgd_flow *const flow = &flight->flow;
    dsgd_pipe *end[2];
    dsgd_route route = {0, INFINITY};
    if (wires == NULL)
        route = find_route(from, to, end);
    else if (flight->bytes <= 0)
        route = find_limits(from, to);
    if (flight->bytes <= 0) {
        dsgd_event_plan(&flight->arrival, dsgd_events_now_s() + route.latency_s);
        return;
    }
    *flow = (dsgd_flow){.arrival = &flight->arrival,
                        .limit_bytes_per_s = route.bytes_per_s,
                        .bytes = flight->bytes};
    if (wires == NULL)
        find_pipes(flight, from, to, end);
    else
        find_wires(flight, from, to, &route.latency_s);
    flow->weight = route.latency_s > 0 ? 1 / route.latency_s : 1;
    dsgd_flow_begin(flow, route.latency_s);
}

/* --- the platform's links --------------------------------------------------------------------- */

static void set_bandwidth(dsgd_pipe *pipes, int i, double bytes_per_s)
{
    pipes[2 * i] = pipes[2 * i + 1] = (dsgd_pipe){.bytes_per_s = bytes_per_s};
}

static double times(double factor, double bytes_per_s)
{
    return factor == 0 ? 0 : factor * bytes_per_s; /* of no limit, too */
}

static void slow(int from, int to, double factor)
{
    const int nic = from / dsgd_platform_nic_hosts(platform);
    if (to >= 0 && from != to) {
        const int route = from * n_sites + to;
        factors[route] = factor;
        dsgd_pipe_change(&routes[2 * route],
                         times(factor, dsgd_platform_between(platform, from, to).bytes_per_s));
    }
    for (int i = 0; i < 2 && to == from; i++)
        dsgd_pipe_change(&groups[2 * from + i], times(factor, platform->group_bytes_per_s));
    for (int i = 0; i < 2 && to < 0; i++)
        dsgd_pipe_change(&nics[2 * nic + i], factor * dsgd_platform_nic_bytes_per_s(platform, nic));
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

/** Opens the links that SimGrid has made. */
static void open_simgrids(void)
{
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

/** Opens the links of the hosts at these places, for any topology but XML. */
static void open_links(const dsgd_machine *machine, const int *places)
{
    const int n = machine->n_hosts;
    const bool change = machine->links_change;
    platform = machine->platform;
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
        hosts[i] = (host){places[i], dsgd_path_end_at(platform, places[i], 1)};
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
    if (!dsgd_platform_is_crossbar(platform))
        open_links_of_shape(last + 1);
    if (dsgd_platform_group_hosts(platform) > 0)
        open_groups(n, places);
    if (platform->route_of != NULL || change)
        open_routes();
}

static void close_pipes(dsgd_pipe **pipes, size_t n)
{
    for (size_t i = 0; *pipes != NULL && i < n; i++)
        free((*pipes)[i].flow);
    free(*pipes);
    *pipes = NULL;
}

static void close_all(void)
{
    close_pipes(&nics, 2 * (size_t)n_nics);
    close_pipes(&islands, 2 * (size_t)n_islands);
    close_pipes(&groups, 2 * (size_t)n_groups);
    close_pipes(&routes, 2 * (size_t)n_routes);
    close_pipes(&wires, n_wires);
    free(wires_later_s);
    wires_later_s = NULL;
    dsgd_maxmin_close();
    free(hosts);
    hosts = NULL;
    free(factors);
    factors = NULL;
}

static const char *version(void)
{
    return "flows: latency by pair, max-min shares of all links";
}

static dsgd_status open(const dsgd_machine *machine, int n_hosts, const char *path, int *places,
                        void *(*take_memory)(size_t bytes), dsgd_error *error)
{
    take = take_memory;
    simgrids_hosts = path != NULL;
    if (simgrids_hosts) {
        DSGD_TRY(dsgd_network_simgrid.open(machine, n_hosts, path, places, take, error));
        open_simgrids();
    } else {
        DSGD_TRY(dsgd_placement_places(machine, n_hosts, NULL, places, error));
        open_links(machine, places);
    }
    return DSGD_OK;
}

/** Hosts of an XML file may have speeds of their own. */
static double speed(int of)
{
    return simgrids_hosts ? dsgd_network_simgrid.speed(of) : dsgd_platform_nominal_flops;
}

const dsgd_network_ops dsgd_network_flows = {.version = version,
                                             .open = open,
                                             .close = close_all,
                                             .speed = speed,
                                             .route = find_limits,
                                             .slow = slow,
                                             .send = send};
