/**
 * @file platform.h
 * A platform: the modelled machine, as a SimGrid XML description plus what SimGrid does not know (what a message costs its
 * sender, what a reduction costs per byte). This code writes XML and knows nothing of SimGrid's library.
 */
#ifndef DSGD_TRACES_PLATFORM_H
#define DSGD_TRACES_PLATFORM_H

#include "base/option.h"
#include "base/status.h"

/** Shapes of network that need no XML from the user. */
typedef enum dsgd_platform_topology {
    DSGD_TOPOLOGY_SWITCH, /* every host on one crossbar, full duplex: no contention but at the hosts themselves */
    DSGD_TOPOLOGY_GROUPS, /* groups of hosts; between groups a flow has its own bandwidth limit and extra latency */
    DSGD_TOPOLOGY_XML /* the user's own file */
} dsgd_platform_topology;

/** Filled by dsgd_platform_options from a YAML file, shipped (traces/platforms/) or the user's own. */
typedef struct dsgd_platform {
    const char *summary;
    const char *origin;
    int topology; /* dsgd_platform_topology */
    const char *file; /* of DSGD_TOPOLOGY_XML */
    double host_bandwidth_bytes_per_s; /* of a host's link, each direction */
    double host_latency_s; /* between two hosts that share nothing but the switch or group */
    long group_hosts; /* hosts per group */
    double group_flow_bytes_per_s; /* limit of one flow between groups */
    double group_bytes_per_s; /* capacity of a group towards all others, each direction */
    double group_latency_s; /* added between groups */
    double
        message_overhead_s; /* processor time per message at each end's progress, serial with the wire */
    double partial_call_s; /* processor time of one call of a partial collective, per piece */
    double reduction_s_per_byte; /* of adding or averaging what arrived, serial with the wire */
    double
        reference_flops; /* speed on which workload times hold; 0: the speed of worker 0's host */
} dsgd_platform;

extern const dsgd_option dsgd_platform_options[];

/** Refuses what the table cannot, such as groups without a size. */
dsgd_status dsgd_platform_check(const dsgd_platform *platform, dsgd_error *error);

/**
 * Writes SimGrid XML for @p n_hosts hosts, named so that strverscmp() gives their natural order, into @p path.
 * For DSGD_TOPOLOGY_XML nothing is written: the user's file is used as it is.
 */
dsgd_status dsgd_platform_write(const dsgd_platform *platform, int n_hosts, const char *path,
                                dsgd_error *error);

#endif
