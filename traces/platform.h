/**
 * @file platform.h
 * Declares a platform, the modelled machine. Its network is written as SimGrid XML, but this code
 * does not call SimGrid. A platform also has costs that SimGrid does not model, such as CPU time
 * per message and per reduced byte.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"
#include "traces/nccl.h"
#include "traces/shapes/registry.h"

/** Library whose collectives are modelled. RCCL is AMD's version of NCCL. */
typedef enum dsgd_platform_library {
    DSGD_LIBRARY_MPI,
    DSGD_LIBRARY_NCCL,
    DSGD_LIBRARY_RCCL
} dsgd_platform_library;

/**
 * An entry for hosts that differ from the other hosts. If several entries contain the same host,
 * their factors are multiplied and their latencies are added.
 */
typedef struct dsgd_platform_entry {
    int64_t first, count; /* the entry contains hosts first to first + count - 1; no such hosts if
                           * first is -1 */
    dsgd_numbers list; /* numbers of further hosts of the entry */
    /* factors on the speed of the hosts and on the bandwidth of their NICs */
    double speed, bandwidth;
    double latency_s; /* latency that is added to each message at its sender and at its receiver */
} dsgd_platform_entry;

/** A group of hosts with a name. Region number i is group number i. */
typedef struct dsgd_region {
    const char *name;
    int64_t hosts; /* number of existing hosts, at most group_hosts; 0 means group_hosts */
    double price; /* price of a gigabyte that leaves the region, in the currency of `price` */
} dsgd_region;

/**
 * A route from one region to another. The route also holds in the opposite direction, unless the
 * opposite direction has its own route.
 */
typedef struct dsgd_region_route {
    const char *from, *to;
    double latency_s, round_trip_s; /* one-way latency and round-trip latency; exactly one of them
                                     * is given, and the other is 0 */
    double flow_bytes_per_s, bytes_per_s; /* bandwidth limit of one flow, and of all flows together;
                                           * 0 means no limit */
} dsgd_region_route;

/**
 * A platform. dsgd_platform_options reads it from a YAML file (in traces/platforms/, or the user's
 * file).
 */
typedef struct dsgd_platform {
    const char *summary;
    const char *origin;
    const char *gpu; /* name of the GPU, such as H100; NULL if not given */
    dsgd_platform_topology topology;
    const char *file; /* path of the SimGrid file, if the topology is XML */
    struct {
        bool scaled;
        double bandwidth, latency; /* factors on all links of the file, if option scaled is given */
    } file_links;
    /**
     * Bandwidth of a NIC per direction. In a fat tree, dragonfly, torus or HammingMesh, it is the
     * bandwidth of every link.
     */
    double host_bandwidth_bytes_per_s;
    /* latency between the two nearest hosts that belong to different nodes */
    double host_latency_s;
    dsgd_numbers size, up, cables; /* dimensions of the topology, as the options size, up and cables
                                    * describe them */
    int64_t group_hosts; /* number of hosts per group */
    double group_flow_bytes_per_s; /* bandwidth limit of one flow between two groups */
    double group_bytes_per_s; /* bandwidth between a group and all other groups, per direction */
    double group_latency_s; /* latency that is added to messages between groups */
    dsgd_structs regions; /* names of the groups, of type dsgd_region */
    dsgd_structs routes; /* connections between two regions, of type dsgd_region_route */
    /* factors on the bandwidths and latencies of all routes */
    double route_bandwidth, route_latency;
    int n_there, *there; /* numbers of the existing hosts, n_there entries; used if a region has
                          * fewer than group_hosts hosts, else n_there is 0 */
    int *route_of; /* index of the route between two regions, -1 if none, as [from][to]; NULL
                    * without regions */
    /* number of hosts of a node, which share a fast network; 0 means no nodes */
    int64_t island_hosts;
    int64_t island_nics; /* number of NICs per node, which the node's hosts share evenly */
    double island_bytes_per_s; /* bandwidth between a host and the network of its node, per
                                * direction */
    double island_latency_s; /* latency between two hosts of a node */
    dsgd_platform_library library;
    dsgd_nccl nccl; /* parameters of NCCL's cost model, for the libraries NCCL and RCCL */
    /* Collectives of NCCL take GPU time from the computation with which they overlap. */
    double collective_share; /* fraction of a GPU's speed that a collective takes while it runs */
    double collective_launch_s; /* GPU time that is needed to launch a collective */
    /* time to copy one byte of gradients into a bucket and back */
    double collective_copy_s_per_byte;
    dsgd_structs hosts; /* entries for differing hosts, of type dsgd_platform_entry; not supported
                         * for XML */
    double message_overhead_s; /* CPU time per message, which is added to its transfer time */
    double rendezvous_s; /* time that is added to each message larger than eager_bytes */
    double eager_bytes;
    /* message size from which `collective: auto` uses halving and doubling */
    double doubling_bytes;
    double partial_turn_s; /* time of one iteration of the progress loop of partial collectives */
    double reduction_s_per_byte; /* time to sum or average one received byte, added to the transfer
                                  * time */
    double encoding_s_per_byte; /* time to compress one byte of a gradient; negative if GPU memory
                                 * limits it */
    double staging_s_per_byte; /* time to copy one byte between device memory and host memory */
    double operation_s_per_byte; /* time of a framework operation per byte in host memory */
    /**
     * Host speed to which the workload's times refer. 0 means the nominal speed. For XML, 0 means
     * the speed of worker 0's host. If worker 0 is slow, all other workers would then be fast.
     */
    double reference_flops;
    double busy_power_w, idle_power_w; /* power of a GPU that computes, and power of a GPU that
                                        * waits; negative if unknown */
    const char *price; /* price of a GPU as a text, which dsgd_platform_price() reads; NULL if not
                        * given */
} dsgd_platform;

static inline const dsgd_region *dsgd_regions(const dsgd_platform *platform)
{
    return platform->regions.v;
}

/**
 * Latency and limits of the connection between two groups. They apply in addition to NICs and
 * uplinks.
 */
typedef struct dsgd_between {
    double latency_s;
    /* bandwidth limit of one flow, and of all flows together */
    double flow_bytes_per_s, bytes_per_s;
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

/** Returns number i of option size, up or cables. Returns 1 if the option has no such number. */
static inline double dsgd_extent(const dsgd_numbers *numbers, size_t i)
{
    return numbers->n == 0 ? 1 : numbers->v[i];
}

/** Speed of a host before the factors of `hosts`, for all topologies except XML. */
extern const double dsgd_platform_nominal_flops;

extern const dsgd_option dsgd_platform_options[];

/**
 * Finds the regions of all routes by name. Returns DSGD_EUSAGE if a region is unknown, or if two
 * regions have neither a route nor a limit for groups.
 */
dsgd_status dsgd_platform_derive(dsgd_platform *platform, dsgd_error *error);

/**
 * Checks options that depend on each other, for example groups without a size. Returns DSGD_EUSAGE
 * with an explanation if they are invalid.
 */
dsgd_status dsgd_platform_check(const dsgd_platform *platform, dsgd_error *error);

/** Makes the user's XML file @p path the topology. (shapes/xml.c) */
void dsgd_platform_take_file(dsgd_platform *platform, const char *path);

/**
 * Returns true if links and hosts follow from the platform's numbers. Returns false if a file of
 * the user (XML) contains them.
 */
bool dsgd_platform_has_numbers(const dsgd_platform *platform);

/**
 * Returns true if messages share only three kinds of links: NICs, links into nodes, and uplinks of
 * groups.
 */
bool dsgd_platform_is_crossbar(const dsgd_platform *platform);

/** Returns the number of hosts per group, or 0 if there are no groups. */
int64_t dsgd_platform_group_hosts(const dsgd_platform *platform);

/** Returns the group of a host, or 0 if there are no groups. */
int dsgd_platform_group(const dsgd_platform *platform, int host);

/** Returns the product of a list of numbers. Returns 1 if the list is empty. */
double dsgd_product(const dsgd_numbers *numbers);

enum { DSGD_PLATFORM_ANY = 1 << 20 };
/**
 * Returns the largest number of hosts; with regions, returns the number of positions for hosts.
 * Returns DSGD_PLATFORM_ANY if there is no limit, or if only SimGrid knows the limit (XML).
 */
int dsgd_platform_most_hosts(const dsgd_platform *platform);

/**
 * Dimensions of a platform for `collective: rings`. The first dimension contains the nearest hosts.
 * Missing dimensions have a size of 1.
 */
enum { DSGD_MOST_DIMENSIONS = 4 };
typedef struct dsgd_dimensions {
    int n[DSGD_MOST_DIMENSIONS];
} dsgd_dimensions;
dsgd_dimensions dsgd_platform_dimensions(const dsgd_platform *platform);

/** Returns true if a route has a bandwidth limit for all of its flows together. */
bool dsgd_platform_shares_routes(const dsgd_platform *platform);

/**
 * Returns the number of the i-th existing host in natural order. Returns -1 if there are fewer
 * hosts.
 */
int dsgd_platform_there(const dsgd_platform *platform, int i);

/**
 * Effect of the entries in `hosts` on one host. The index of the host is its position in natural
 * order. XML is not supported.
 */
typedef struct dsgd_host_quality {
    double speed, bandwidth; /* factors on the speed and the bandwidth of the host */
    double latency_s;
} dsgd_host_quality;
dsgd_host_quality dsgd_platform_host(const dsgd_platform *platform, int host);

/** Returns true if two hosts belong to the same node. */
bool dsgd_platform_same_island(const dsgd_platform *platform, int host, int other);

/**
 * Returns the CPU time of a message in seconds, including its handshake if the message needs one.
 */
static inline double dsgd_platform_message_s(const dsgd_platform *platform, double bytes)
{
    return platform->message_overhead_s +
           (bytes > platform->eager_bytes ? platform->rendezvous_s : 0);
}

/** Returns the time to compress or decompress one byte of a vector, in seconds. */
double dsgd_platform_encoding_s_per_byte(const dsgd_platform *platform);

/**
 * Returns the bandwidth of all links of a NIC, per direction. Returns NAN if only SimGrid knows the
 * bandwidth (XML).
 */
double dsgd_platform_nic_bytes_per_s(const dsgd_platform *platform, int nic);

/**
 * Returns the quality of a NIC. It has the smallest bandwidth factor and the largest latency of the
 * NIC's hosts.
 */
dsgd_host_quality dsgd_platform_nic(const dsgd_platform *platform, int nic);

/** Returns the number of hosts per NIC, or 1 if there are no nodes. */
int dsgd_platform_nic_hosts(const dsgd_platform *platform);

/** The hosts of a run, and the number of messages that a host sends at once. */
typedef struct dsgd_platform_use {
    int n_hosts; /* number of hosts, for workers and servers together */
    const int *places; /* positions of the hosts in natural order; n_hosts entries */
    int at_once; /* largest number of messages that a host sends, or receives, at once; 0 means no
                  * limit */
} dsgd_platform_use;

/**
 * Returns true if messages between the hosts of a run never share links with messages of other
 * hosts. In a fat tree and a dragonfly, the result is true only within one switch. The result is
 * always false in a torus, HammingMesh, rails and XML.
 */
bool dsgd_platform_meets_at_nics(const dsgd_platform *platform, const dsgd_platform_use *use);

/** Returns true if all hosts of the run belong to the same block of @p size hosts. */
bool dsgd_platform_in_one(const dsgd_platform_use *use, int size);

/**
 * Returns the largest number of hosts for which a platform can be written for SimGrid.
 * (platform_xml.c)
 */
int dsgd_platform_most_told(const dsgd_platform *platform);

/**
 * Writes SimGrid XML for @p n_hosts hosts to the file @p path. If the topology fixes the number of
 * hosts, writes all hosts. Hosts are named n0, n1, and so on; strverscmp() gives their natural
 * order. Writes nothing for topology XML, which uses the user's file.
 */
dsgd_status dsgd_platform_write(const dsgd_platform *platform, int n_hosts, const char *path,
                                dsgd_error *error);

/* --- energy and cost of GPUs (expenses.c) ----------------------------------------------------- */

/**
 * Returns the energy of @p n_gpus GPUs in @p virtual_s seconds, in joules. Each GPU computes for
 * the share @p compute_share of this time. A GPU draws busy_power while it computes, and idle_power
 * while it waits or communicates. Returns NAN if the platform lacks these powers. The energy
 * excludes processors, servers, network and cooling.
 */
double dsgd_platform_energy_j(const dsgd_platform *platform, int n_gpus, double virtual_s,
                              double compute_share);

enum { DSGD_MOST_CURRENCY = 15 };

/** Price of one GPU for one hour, with its currency. */
typedef struct dsgd_price {
    double per_hour;
    char currency[DSGD_MOST_CURRENCY + 1];
} dsgd_price;

/**
 * Reads the platform's price of a GPU. Returns false if the platform has no price, or if the price
 * is invalid.
 */
bool dsgd_platform_price(const dsgd_platform *platform, dsgd_price *price);

/**
 * Checks the powers and prices of a platform. Returns DSGD_EUSAGE with an explanation if one of
 * them is invalid.
 */
dsgd_status dsgd_platform_check_expenses(const dsgd_platform *platform, dsgd_error *error);
