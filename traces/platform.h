/**
 * @file platform.h
 * A platform: the modelled machine, as a SimGrid XML description, and costs that SimGrid does not
 * model (processor time per message and per reduced byte). This code writes XML and does not call
 * SimGrid.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"
#include "traces/nccl.h"
#include "traces/shapes/registry.h"

/** Which library carries out collectives: RCCL is AMD's NCCL. */
typedef enum dsgd_platform_library {
    DSGD_LIBRARY_MPI,
    DSGD_LIBRARY_NCCL,
    DSGD_LIBRARY_RCCL
} dsgd_platform_library;

/** Hosts that differ. Where several entries name a host, factors multiply and latencies add. */
typedef struct dsgd_platform_entry {
    int64_t first, count; /* hosts first .. first + count - 1, in natural order; first -1: none */
    dsgd_numbers list; /* and these hosts */
    double speed, bandwidth; /* factors */
    double latency_s; /* added to each message, at its sender and at its receiver */
} dsgd_platform_entry;

/** A group of hosts that has a name: region i is group i. */
typedef struct dsgd_region {
    const char *name;
    int64_t hosts; /* the first of its group_hosts that there are; 0: all */
    double price; /* of a gigabyte that leaves it, in the currency of GPUs */
} dsgd_region;

/** From a region to another; the way back, too, where no route says otherwise. */
typedef struct dsgd_region_route {
    const char *from, *to;
    double latency_s, round_trip_s; /* one way, or both: one of them is given */
    double flow_bytes_per_s, bytes_per_s; /* of one flow, and of all together; 0: no limit */
} dsgd_region_route;

/** Filled by dsgd_platform_options from a YAML file (traces/platforms/ or the user's). */
typedef struct dsgd_platform {
    const char *summary;
    const char *origin;
    const char *gpu; /* its name, such as H100; NULL: any, or none */
    dsgd_platform_topology topology;
    const char *file; /* of XML */
    struct {
        bool scaled;
        double bandwidth, latency; /* factors of all links of the file, where scaled */
    } file_links;
    /** Of a NIC; of every link of a tree, dragonfly or torus; each direction. */
    double host_bandwidth_bytes_per_s;
    double host_latency_s; /* between the nearest two hosts that do not share an island */
    dsgd_numbers size, up, cables; /* extents of fat tree, dragonfly and torus: see the options */
    int64_t group_hosts; /* hosts per group */
    double group_flow_bytes_per_s; /* limit of one flow between groups */
    double group_bytes_per_s; /* capacity of a group towards all others, each direction */
    double group_latency_s; /* added between groups */
    dsgd_structs regions, routes; /* of dsgd_region and dsgd_region_route: groups that differ */
    double route_bandwidth, route_latency; /* factors of all routes */
    int n_there, *there; /* [n_there] hosts, where regions have fewer than group_hosts; else 0 */
    int *route_of; /* [regions][regions] from, to: a route, -1: none; NULL: there are none */
    int64_t island_hosts; /* hosts that share a fast network besides; 0: no islands */
    int64_t island_nics; /* NICs per island, shared evenly by its hosts */
    double island_bytes_per_s; /* of a host into its island, each direction */
    double island_latency_s; /* between two hosts of an island */
    dsgd_platform_library library;
    dsgd_nccl nccl; /* of LIBRARY_NCCL and LIBRARY_RCCL */
    /* What NCCL's collectives take from the GPUs that compute meanwhile. */
    double collective_share; /* of a GPU's computation, while one runs on it */
    double collective_launch_s; /* GPU time of beginning one */
    double collective_copy_s_per_byte; /* of copying what is reduced into a bucket and back */
    dsgd_structs hosts; /* of dsgd_platform_entry; not for XML */
    double message_overhead_s; /* processor time per message and end, serial with the wire */
    double rendezvous_s; /* added where it is larger than ... */
    double eager_bytes;
    double doubling_bytes; /* what `collective: auto` sums by halving and doubling has so many */
    double partial_turn_s; /* of the loop of a library of partial collectives */
    double reduction_s_per_byte; /* of adding or averaging received bytes, serial with the wire */
    double encoding_s_per_byte; /* of encoding or decoding a vector; below 0: by a GPU's memory */
    double staging_s_per_byte; /* of copying between device and host memory, each way */
    double operation_s_per_byte; /* of what a framework's operation does in host memory */
    /**
     * Host speed to which workload times refer. 0: the nominal speed; for XML the speed of worker
     * 0's host, so a slow worker 0 would make all others fast.
     */
    double reference_flops;
    double busy_power_w, idle_power_w; /* of a GPU; below 0: unknown */
    const char *price; /* of a GPU, see dsgd_platform_price(); NULL: none */
} dsgd_platform;

static inline const dsgd_region *dsgd_regions(const dsgd_platform *platform)
{
    return platform->regions.v;
}

/** What a message meets from a group to another besides NICs and ways out. */
typedef struct dsgd_between {
    double latency_s, flow_bytes_per_s, bytes_per_s; /* of one flow, and of all together */
} dsgd_between;

static inline dsgd_between dsgd_platform_between(const dsgd_platform *platform, int from, int to)
{
    const int n = (int)platform->regions.n;
    const int k = platform->route_of == NULL ? -1 : platform->route_of[from * n + to];
    if (k < 0)
        return (dsgd_between){platform->group_latency_s, platform->group_flow_bytes_per_s,
                              INFINITY};
    const dsgd_region_route *const route = (const dsgd_region_route *)platform->routes.v + k;
    const double flow = platform->route_bandwidth * route->flow_bytes_per_s;
    const double all = platform->route_bandwidth * route->bytes_per_s;
    return (dsgd_between){platform->route_latency * (route->latency_s + route->round_trip_s / 2),
                          flow > 0 ? flow : INFINITY, all > 0 ? all : INFINITY};
}

/** Number i of size, up or cables; 1 where they are absent. */
static inline double dsgd_extent(const dsgd_numbers *numbers, size_t i)
{
    return numbers->n == 0 ? 1 : numbers->v[i];
}

/** Host speed of all topologies but XML, before the factors of `hosts`. */
extern const double dsgd_platform_nominal_flops;

extern const dsgd_option dsgd_platform_options[];

/**
 * Finds the regions of routes. DSGD_EUSAGE where one is not there, or nothing says what two have.
 */
dsgd_status dsgd_platform_derive(dsgd_platform *platform, dsgd_error *error);

/** Checks across options, such as groups without a size. DSGD_EUSAGE with a sentence. */
dsgd_status dsgd_platform_check(const dsgd_platform *platform, dsgd_error *error);

/** Makes it the user's XML. (shapes/xml.c) */
void dsgd_platform_take_file(dsgd_platform *platform, const char *path);

/** Whether its numbers give links and hosts. False: the user's XML contains them. */
bool dsgd_platform_has_numbers(const dsgd_platform *platform);

/** Whether messages share NICs, ways into islands, and ways out of groups only. */
bool dsgd_platform_is_crossbar(const dsgd_platform *platform);

/** Hosts of a group; 0: there are no groups. */
int64_t dsgd_platform_group_hosts(const dsgd_platform *platform);

/** The group of a host; 0 if there are none. */
int dsgd_platform_group(const dsgd_platform *platform, int host);

double dsgd_product(const dsgd_numbers *numbers);

/** The largest number of hosts, or places of regions' hosts. DSGD_PLATFORM_ANY: no limit, or known
 * to SimGrid only (XML). */
enum { DSGD_PLATFORM_ANY = 1 << 20 };
int dsgd_platform_most_hosts(const dsgd_platform *platform);

/** Extents by which `collective: rings` goes, hosts next to each other first; 1 behind the last
 * that there is. */
enum { DSGD_MOST_DIMENSIONS = 4 };
typedef struct dsgd_dimensions {
    int n[DSGD_MOST_DIMENSIONS];
} dsgd_dimensions;
dsgd_dimensions dsgd_platform_dimensions(const dsgd_platform *platform);

/** Whether some route is of all flows together: who asks which can meet there? */
bool dsgd_platform_shares_routes(const dsgd_platform *platform);

/** The i-th host that is there, as natural and random orders take them; -1: there are fewer. */
int dsgd_platform_there(const dsgd_platform *platform, int i);

/** The effect of `hosts` on a host, by its index in natural order. Not for XML. */
typedef struct dsgd_host_quality {
    double speed, bandwidth; /* factors */
    double latency_s;
} dsgd_host_quality;
dsgd_host_quality dsgd_platform_host(const dsgd_platform *platform, int host);

/** Whether two hosts share an island's network. */
bool dsgd_platform_same_island(const dsgd_platform *platform, int host, int other);

/** Processor time of a message, and what its handshake takes. */
static inline double dsgd_platform_message_s(const dsgd_platform *platform, double bytes)
{
    return platform->message_overhead_s +
           (bytes > platform->eager_bytes ? platform->rendezvous_s : 0);
}

/** Seconds per byte of a vector, of encoding or decoding it. */
double dsgd_platform_encoding_s_per_byte(const dsgd_platform *platform);

/** Bytes per second of all links of a NIC, in each direction. NAN: known to SimGrid only (XML). */
double dsgd_platform_nic_bytes_per_s(const dsgd_platform *platform, int nic);

/** Of a NIC, which hosts may share: their least bandwidth and largest latency. */
dsgd_host_quality dsgd_platform_nic(const dsgd_platform *platform, int nic);

/** Hosts to a NIC: 1 where there are no islands. */
int dsgd_platform_nic_hosts(const dsgd_platform *platform);

/** The hosts of a run, and how they send. */
typedef struct dsgd_platform_use {
    int n_hosts; /* workers and servers */
    const int *places; /* [n_hosts], indices of hosts in natural order */
    int at_once; /* messages that one sends at once, or receives, at most; 0: any number */
} dsgd_platform_use;

/**
 * Whether messages among a run's hosts can share links only with messages that the same host sends,
 * or that the same host receives. For a fat tree and a dragonfly within one switch alone; never for
 * a torus, HammingMesh, rails and XML.
 */
bool dsgd_platform_meets_at_nics(const dsgd_platform *platform, const dsgd_platform_use *use);

/** Whether all of the run's hosts lie in one block of @p size hosts. */
bool dsgd_platform_in_one(const dsgd_platform_use *use, int size);

/** The largest number of hosts that SimGrid can simulate (platform_xml.c). */
int dsgd_platform_most_told(const dsgd_platform *platform);

/**
 * Writes SimGrid XML of @p n_hosts hosts (or all, where the topology fixes their number) to @p
 * path. Hosts are named n0, n1, ...; strverscmp() gives their natural order. Writes nothing for
 * XML: the user's file is used.
 */
dsgd_status dsgd_platform_write(const dsgd_platform *platform, int n_hosts, const char *path,
                                dsgd_error *error);

/* --- what its GPUs draw and cost while they run (expenses.c) ---------------------------------- */

/**
 * Joules of @p n_gpus GPUs in @p virtual_s seconds; each computes the share @p compute_share of
 * them: busy_power while it computes, idle_power while it waits or communicates. NAN: the platform
 * does not say. Without processors, servers, network and cooling.
 */
double dsgd_platform_energy_j(const dsgd_platform *platform, int n_gpus, double virtual_s,
                              double compute_share);

enum { DSGD_MOST_CURRENCY = 15 };

/** Of one GPU for an hour. */
typedef struct dsgd_price {
    double per_hour;
    char currency[DSGD_MOST_CURRENCY + 1];
} dsgd_price;

/** Reads the platform's price; false where it has none, or what it has is no price. */
bool dsgd_platform_price(const dsgd_platform *platform, dsgd_price *price);

/** DSGD_EUSAGE with a sentence where powers or price mean nothing. */
dsgd_status dsgd_platform_check_expenses(const dsgd_platform *platform, dsgd_error *error);
