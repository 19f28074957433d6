/**
 * @file links.c
 * Implements the network `flows`: a message first takes the latency of its route. Then its bytes
 * share all links of the route with other messages, in a max-min fair way (maxmin.h).
 *
 * traces/shapes/ defines the links and routes of each topology. For platforms from XML files,
 * SimGrid defines the links and routes.
 */
#include "base/round.h"
#include "sim/network/network.h"
#include "sim/network/simgrid.h"
#include "traces/shapes/shape.h"

static const dsgd_platform *platform;
static void *(*take)(size_t bytes); /* function that returns zeroed memory, which exists until
                                     * the end of the run */
static const int *places; /* [n_hosts] index of each host of the run among all hosts of the
                           * platform */
static dsgd_pipe *pipes; /* [n_pipes] one pipe per link, in the order of the links' numbers */
static size_t n_pipes;
static double *latencies_s; /* [n_pipes] latency of each link in seconds; NULL if SimGrid defines
                             * the links */
static int n_groups; /* number of groups, or of regions, of the platform */
static double *factors; /* [n_groups][n_groups] factors that multiply the limits of flows between
                         * two groups; NULL if no limit changes */

/** Memory of a flight for the list of its pipes, and for its places in these pipes. */
typedef struct dsgd_room {
    size_t n; /* largest number of pipes for which there is memory */
    dsgd_pipe *pipe[];
} dsgd_room;

/* --- messages --------------------------------------------------------------------------------- */

bool dsgd_links_are_simgrids(const dsgd_platform *p)
{
    return !dsgd_platform_has_numbers(p) || dsgd_network_used == &dsgd_network_simgrid;
}

dsgd_links dsgd_links_between(const dsgd_platform *p, int from, int to, int from_place,
                              int to_place)
{
    static dsgd_shape_route route;
    dsgd_links found = {.flow_bytes_per_s = INFINITY};
    if (dsgd_links_are_simgrids(p)) {
        found.link = dsgd_simgrid_route(from, to, &found.n, &found.latency_s);
        return found;
    }
    dsgd_shape_find_route(p, from_place, to_place, &route);
    return (dsgd_links){route.link, route.n, route.added_latency_s, route.flow_bytes_per_s};
}

/** Returns the links between two hosts. The latency includes the latencies of all links. */
static dsgd_links find_path(int from, int to)
{
    dsgd_links found = dsgd_links_between(platform, from, to, places[from], places[to]);
    double latency_s = 0;
    for (size_t i = 0; latencies_s != NULL && i < found.n; i++)
        latency_s += latencies_s[found.link[i]];
    found.latency_s += latency_s;
    return found;
}

static dsgd_route find_limits(int from, int to)
{
    if (latencies_s == NULL)
        /* uses SimGrid's function, because it reports hosts that no path connects */
        return dsgd_network_simgrid.route(from, to);
    const dsgd_links found = find_path(from, to);
    dsgd_route limits = {found.latency_s, found.flow_bytes_per_s};
    for (size_t i = 0; i < found.n; i++)
        limits.bytes_per_s = dsgd_less(limits.bytes_per_s, pipes[found.link[i]].bytes_per_s);
    return limits;
}

/** Ensures that the flow of a flight has memory for @p n pipes. */
static void make_room(dsgd_flight *flight, size_t n)
{
    if (flight->room == NULL || flight->room->n < n) {
        flight->room = take(sizeof *flight->room + n * (sizeof(dsgd_pipe *) + sizeof(size_t)));
        flight->room->n = n;
    }
    flight->flow.pipe = flight->room->pipe;
    flight->flow.place = (size_t *)(flight->room->pipe + flight->room->n);
}

static const double *factor_between(int from, int to)
{
    const int a = dsgd_platform_group(platform, places[from]),
              b = dsgd_platform_group(platform, places[to]);
    return factors == NULL || a == b ? NULL : &factors[a * n_groups + b];
}

static void send(dsgd_flight *flight, int from, int to)
{
    dsgd_flow *const flow = &flight->flow;
    const dsgd_links found = find_path(from, to);
    if (flight->bytes <= 0) {
        dsgd_event_plan(&flight->arrival, dsgd_events_now_s() + found.latency_s);
        return;
    }
    *flow = (dsgd_flow){.arrival = &flight->arrival,
                        .weight = found.latency_s > 0 ? 1 / found.latency_s : 1,
                        .limit_bytes_per_s = found.flow_bytes_per_s,
                        .factor = factor_between(from, to),
                        .bytes = flight->bytes};
    make_room(flight, found.n);
    for (size_t i = 0; i < found.n; i++)
        if (factors != NULL || pipes[found.link[i]].bytes_per_s < INFINITY)
            flow->pipe[flow->n_pipes++] = &pipes[found.link[i]];
    DSGD_ASSERT(flow->n_pipes > 0, "no links from host %d to %d", from, to);
    dsgd_flow_begin(flow, found.latency_s);
}

/* --- functions that open and change links ----------------------------------------------------- */

static void slow(int from, int to, double factor)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    size_t link[2];
    const size_t n = shape->find_slowed(platform, from, to, link);
    if (to >= 0 && from != to)
        factors[from * n_groups + to] = factor;
    for (size_t i = 0; i < n; i++) {
        const double bytes_per_s = shape->link(platform, link[i]).bytes_per_s;
        dsgd_pipe_change(&pipes[link[i]], factor == 0 ? 0 : factor * bytes_per_s);
    }
    /* Solves all links again if the flows between the two groups have no link of their own. */
    for (size_t i = 0; n == 0 && i < n_pipes; i++)
        if (pipes[i].n > 0)
            dsgd_pipe_change(&pipes[i], pipes[i].bytes_per_s);
}

static void open_links_of_simgrid(void)
{
    dsgd_load *links = NULL;
    n_pipes = dsgd_simgrid_links(&links);
    pipes = dsgd_xcalloc(n_pipes, sizeof *pipes);
    for (size_t i = 0; i < n_pipes; i++)
        pipes[i].bytes_per_s = links[i].bytes_per_s;
    free(links);
}

static void open_links_of_shape(const dsgd_machine *machine)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    const dsgd_platform_use use = {machine->n_hosts, places, 0};
    int last = 0;
    for (int i = 0; i < use.n_hosts; i++)
        last = places[i] > last ? places[i] : last;
    n_pipes = shape->n_links(platform, last + 1);
    dsgd_shape_link *const links = dsgd_xcalloc(n_pipes, sizeof *links);
    for (size_t i = 0; i < n_pipes; i++)
        links[i] = shape->link(platform, i);
    if (shape->widen != NULL && !machine->links_change)
        shape->widen(platform, &use, links);
    pipes = dsgd_xcalloc(n_pipes, sizeof *pipes);
    latencies_s = dsgd_xcalloc(n_pipes, sizeof *latencies_s);
    for (size_t i = 0; i < n_pipes; i++) {
        pipes[i].bytes_per_s = links[i].bytes_per_s;
        latencies_s[i] = links[i].latency_s;
    }
    free(links);
}

static void open_factors(int n_hosts)
{
    n_groups = (int)platform->regions.n;
    for (int i = 0; i < n_hosts; i++) {
        const int group = dsgd_platform_group(platform, places[i]);
        n_groups = group < n_groups ? n_groups : group + 1;
    }
    const size_t n_pairs = (size_t)n_groups * (size_t)n_groups;
    factors = dsgd_xcalloc(n_pairs, sizeof *factors);
    for (size_t i = 0; i < n_pairs; i++)
        factors[i] = 1;
}

static void close_all(void)
{
    for (size_t i = 0; i < n_pipes; i++)
        free(pipes[i].flow);
    n_pipes = 0;
    free(pipes);
    free(latencies_s);
    free(factors);
    pipes = NULL;
    latencies_s = factors = NULL;
    dsgd_maxmin_close();
}

static const char *version(void)
{
    return "flows: latency by pair, max-min shares of all links";
}

static dsgd_status open(const dsgd_machine *machine, int n_hosts, const char *file,
                        int *places_of_hosts, void *(*take_memory)(size_t bytes), dsgd_error *error)
{
    platform = machine->platform;
    take = take_memory;
    places = places_of_hosts;
    if (file != NULL) {
        DSGD_TRY(dsgd_network_simgrid.open(machine, n_hosts, file, places_of_hosts, take, error));
        open_links_of_simgrid();
        return DSGD_OK;
    }
    DSGD_TRY(dsgd_placement_places(machine, n_hosts, NULL, places_of_hosts, error));
    open_links_of_shape(machine);
    if (machine->links_change)
        open_factors(machine->n_hosts);
    return DSGD_OK;
}

/**
 * Returns the nominal speed of a host in flop/s. In an XML file, hosts may have different speeds.
 */
static double speed(int of)
{
    return latencies_s == NULL ? dsgd_network_simgrid.speed(of) : dsgd_platform_nominal_flops;
}

const dsgd_network_ops dsgd_network_flows = {.version = version,
                                             .open = open,
                                             .close = close_all,
                                             .speed = speed,
                                             .route = find_limits,
                                             .slow = slow,
                                             .send = send};
