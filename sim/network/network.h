/**
 * @file network.h
 * A network: the times of messages and computations, for actors that runtime.c runs.
 */
#pragma once

#include "sim/network/cluster.h"
#include "sim/network/maxmin.h"

/** A message on its way: a member of what is sent. */
typedef struct dsgd_flight {
    dsgd_event arrival; /* first; its `happen` is the owner's */
    struct dsgd_room
        *room; /* of links.c, also for the next message of the same memory; NULL at first */
    double bytes; /* whole ones */
    dsgd_flow flow; /* links.c's */
} dsgd_flight;

/** The functions of a network. */
typedef struct dsgd_network_ops {
    /** "SimGrid 3.32.0, CM02, ...": library and model, for the manifest. */
    const char *(*version)(void);
    /**
     * Opens the links of @p n_hosts hosts, or of the XML at @p path, and fills
     * places[machine->n_hosts]. take() returns zeroed memory until the end of the run.
     */
    dsgd_status (*open)(const dsgd_machine *machine, int n_hosts, const char *path, int *places,
                        void *(*take)(size_t bytes), dsgd_error *error);
    void (*close)(void); /* NULL: nothing to do */
    double (*speed)(int host); /* nominal, in flop/s */
    dsgd_route (*route)(int from, int to);
    /**
     * Gives links a factor of their bandwidths from now on: those from a group or region to
     * another, for each flow and for all together; if both are the same, its way out and in; if @p
     * to is below 0, the NIC of the host at place @p from. NULL: links cannot change.
     */
    void (*slow)(int from, int to, double factor);
    /** Sends a message now, and plans its arrival when that is known. */
    void (*send)(dsgd_flight *flight, int from, int to);
    /** Computes on a host, which computes nothing else, and plans the end. NULL: by its speed(). */
    void (*compute)(dsgd_event *end, int host, double flops);
    /** Calls loop(), which runs all actors. NULL: loop() needs nothing around it. */
    void (*run)(void (*loop)(void));
    /**
     * Lets time pass until @p until_s, or less if a message arrives or a computation ends before.
     * False: nothing is under way, and @p until_s is INFINITY. NULL: all ends are planned at once.
     */
    bool (*advance)(double until_s);
} dsgd_network_ops;

/** The links that a message passes. */
typedef struct dsgd_links {
    const size_t *link; /* [n] numbers, valid until links are asked for again */
    size_t n;
    double latency_s; /* in addition to that of the shape's links; of SimGrid's links: all of it */
    double flow_bytes_per_s; /* limit of one flow in addition to the links; INFINITY if there is
                                none */
} dsgd_links;

/** Returns whether SimGrid has the links of this run, and not the platform's shape. */
bool dsgd_links_are_simgrids(const dsgd_platform *platform);

/** Returns the links between two hosts of the run, at two places of the platform. (links.c) */
dsgd_links dsgd_links_between(const dsgd_platform *platform, int from, int to, int from_place,
                              int to_place);

extern const dsgd_network_ops dsgd_network_flows, dsgd_network_simgrid;
extern const dsgd_network_ops *const dsgd_networks[]; /* by dsgd_network_kind */

/** The network of this run, as dsgd_machine_open() has chosen it. (runtime.c) */
extern const dsgd_network_ops *dsgd_network_used;
