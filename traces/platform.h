/**
 * @file platform.h
 * A platform: the modelled machine, as a SimGrid XML description plus what SimGrid does not know (what a message costs its
 * sender, what a reduction costs per byte). This code writes XML and knows nothing of SimGrid's library.
 */
#ifndef DSGD_TRACES_PLATFORM_H
#define DSGD_TRACES_PLATFORM_H

#include "base/option.h"
#include "base/status.h"

/** Shapes of network that need no XML from the user. Of the first two a platform has as many hosts as a run asks for. */
typedef enum dsgd_platform_topology {
    DSGD_TOPOLOGY_SWITCH, /* every NIC on one crossbar, full duplex: no contention but at the NICs themselves */
    DSGD_TOPOLOGY_GROUPS, /* groups of hosts; between groups a flow has its own bandwidth limit and extra latency */
    DSGD_TOPOLOGY_FAT_TREE, /* SimGrid's, routed by destination (D-mod-k) */
    DSGD_TOPOLOGY_DRAGONFLY, /* SimGrid's, with minimal routing: one gateway for each pair of groups */
    DSGD_TOPOLOGY_TORUS, /* SimGrid's, routed dimension by dimension */
    DSGD_TOPOLOGY_XML /* the user's own file */
} dsgd_platform_topology;

/** Hosts that differ from the others. Where several entries name a host, factors multiply and latencies add. */
typedef struct dsgd_platform_entry {
    long first,
        count; /* hosts first .. first + count - 1, in natural order; first -1: those of the list alone */
    dsgd_numbers list; /* and these */
    double speed, bandwidth; /* times what the others have */
    double latency_s; /* added to each message, both where it is sent and where it arrives */
} dsgd_platform_entry;

/** Filled by dsgd_platform_options from a YAML file, shipped (traces/platforms/) or the user's own. Hosts are virtual GPUs. */
typedef struct dsgd_platform {
    const char *summary;
    const char *origin;
    dsgd_platform_topology topology;
    const char *file; /* of DSGD_TOPOLOGY_XML */
    double
        host_bandwidth_bytes_per_s; /* of a NIC, or of every link of a tree, dragonfly or torus, each direction */
    double host_latency_s; /* between the nearest two hosts that are not in one island */
    dsgd_numbers size, up,
        cables; /* extents of fat tree, dragonfly and torus; see the table's help */
    long group_hosts; /* hosts per group */
    double group_flow_bytes_per_s; /* limit of one flow between groups */
    double group_bytes_per_s; /* capacity of a group towards all others, each direction */
    double group_latency_s; /* added between groups */
    long island_hosts; /* hosts that also share a fast network; 0: none do */
    long island_nics; /* NICs that these hosts share evenly */
    double island_bytes_per_s; /* of a host's way into its island, each direction */
    double island_latency_s; /* between two hosts of an island */
    dsgd_records hosts; /* of dsgd_platform_entry; not for XML */
    double
        message_overhead_s; /* processor time per message at each end's progress, serial with the wire */
    double partial_call_s; /* processor time of one call of a partial collective, per piece */
    double reduction_s_per_byte; /* of adding or averaging what arrived, serial with the wire */
    /**
     * Speed on which workload times hold. 0: for XML the speed of worker 0's host, so that a slow worker 0 would make all others
     * fast; for the other topologies the nominal speed, of which an entry of `hosts` is a factor, whoever is slow.
     */
    double reference_flops;
} dsgd_platform;

/** Speed of the hosts of all topologies but XML, before `hosts` has its say. */
extern const double dsgd_platform_nominal_flops;

extern const dsgd_option dsgd_platform_options[];

/** Refuses what the table cannot, such as groups without a size. */
dsgd_status dsgd_platform_check(const dsgd_platform *platform, dsgd_error *error);

/** How many hosts it can have. For DSGD_TOPOLOGY_XML, which only SimGrid knows, and where any number goes: DSGD_PLATFORM_ANY. */
enum { DSGD_PLATFORM_ANY = 1 << 20 };
int dsgd_platform_most_hosts(const dsgd_platform *platform);

/** What `hosts` says of a host, by its index in natural order; neither for XML. */
typedef struct dsgd_host_quality {
    double speed, bandwidth; /* factors */
    double latency_s;
} dsgd_host_quality;
dsgd_host_quality dsgd_platform_host(const dsgd_platform *platform, int host);

/**
 * Writes SimGrid XML for @p n_hosts hosts (or all, where their number is fixed), named n0, n1, ..., so that strverscmp() gives their
 * natural order, into @p path. For DSGD_TOPOLOGY_XML nothing is written: the user's file is used as it is.
 */
dsgd_status dsgd_platform_write(const dsgd_platform *platform, int n_hosts, const char *path,
                                dsgd_error *error);

/** Property of a host in that XML which is no GPU, but the place where a group's traffic leaves it. */
#define DSGD_PLATFORM_GATEWAY "gateway"

/** Whether SimGrid makes the links, all alike (fat tree, dragonfly, torus), and `hosts` has something to say of them. */
bool dsgd_platform_has_links_to_change(const dsgd_platform *platform);

/**
 * Called with the name of each such link, this says what `hosts` does to it: of the hosts at its ends the least bandwidth and the most
 * latency. False: nothing.
 */
bool dsgd_platform_link(const dsgd_platform *platform, const char *name,
                        dsgd_host_quality *quality);

#endif
