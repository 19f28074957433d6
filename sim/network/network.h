/**
 * @file network.h
 * The functions of a network. A network computes the times of messages and computations for the
 * actors of runtime.c.
 */
#pragma once

#include "sim/network/cluster.h"
#include "sim/network/maxmin.h"

/** A message on its way. It is a member of the struct that is sent. */
typedef struct dsgd_flight {
    dsgd_event arrival; /* event at which the message arrives (must be the first member);
                         * runtime.c sets `happen` */
    struct dsgd_room *room; /* links.c: memory that later messages in this struct reuse */
    double bytes; /* size of the message; an integer */
    dsgd_flow flow; /* links.c: flow that transfers the message */
} dsgd_flight;

/** The functions of a network. */
typedef struct dsgd_network_ops {
    /**
     * Returns the library and its model, such as "SimGrid 3.32.0, CM02, ...", for the manifest of a
     * run.
     */
    const char *(*version)(void);
    /**
     * Opens the links of @p n_hosts hosts, or the links of the XML file at @p path. Stores the
     * places of the hosts in places[machine->n_hosts]. take() returns zeroed memory that exists
     * until the end of the run.
     */
    dsgd_status (*open)(const dsgd_machine *machine, int n_hosts, const char *path, int *places,
                        void *(*take)(size_t bytes), dsgd_error *error);
    void (*close)(void); /* Optional. Closes the links at the end of the run. */
    double (*speed)(int host); /* returns the nominal speed of a host, in flop/s */
    dsgd_route (*route)(int from, int to);
    /**
     * Optional. Multiplies bandwidths by @p factor from now on. @p from and @p to are groups or
     * regions. The limit of each flow between them changes, and the bandwidth of the link that all
     * these flows share. If @p from and @p to are equal, the links out of the group and into it
     * change. If @p to is negative, the NIC of the host at place @p from changes. `slow` is NULL if
     * links cannot change.
     */
    void (*slow)(int from, int to, double factor);
    /**
     * Sends a message now. Plans the event of its arrival when the time of the arrival is known.
     */
    void (*send)(dsgd_flight *flight, int from, int to);
    /**
     * Optional. Starts a computation on a host that computes nothing else. Plans the event @p end
     * for the end of the computation. If `compute` is NULL, the runtime computes the end from
     * speed().
     */
    void (*compute)(dsgd_event *end, int host, double flops);
    /**
     * Optional. Calls loop(), which runs all actors. If `run` is NULL, the runtime calls loop()
     * directly.
     */
    void (*run)(void (*loop)(void));
    /**
     * Optional. Lets time pass until @p until_s, until a message arrives, or until a computation
     * ends, whichever is first. Returns false if nothing is in progress and @p until_s is INFINITY.
     * `advance` is NULL if the network plans all events as soon as a message or a computation
     * starts.
     */
    bool (*advance)(double until_s);
} dsgd_network_ops;

/** The links that a message passes, and its limits in addition to these links. */
typedef struct dsgd_links {
    const size_t *link; /* [n] numbers of the links; valid until links are requested again */
    size_t n;
    /*
     * latency in seconds: if the platform's shape defines the links, in addition to their own
     * latencies; if SimGrid defines the links, the sum of their latencies
     */
    double latency_s;
    double flow_bytes_per_s; /* largest rate of one flow in B/s, in addition to the limits of the
                              * links; INFINITY if only the links limit a flow */
} dsgd_links;

/** Returns whether the links of this run come from SimGrid, instead of the platform's shape. */
bool dsgd_links_are_simgrids(const dsgd_platform *platform);

/**
 * Returns the links between two hosts of the run, which are at two places of the platform.
 * (links.c)
 */
dsgd_links dsgd_links_between(const dsgd_platform *platform, int from, int to, int from_place,
                              int to_place);

extern const dsgd_network_ops dsgd_network_flows, dsgd_network_simgrid;
/* networks, with a dsgd_network_kind as index */
extern const dsgd_network_ops *const dsgd_networks[];

/** The network of the present run, which dsgd_machine_open() has chosen. (runtime.c) */
extern const dsgd_network_ops *dsgd_network_used;
