/**
 * @file network.h
 * A network: it computes the times of messages and computations for the actors of runtime.c.
 */
#pragma once

#include "sim/network/cluster.h"
#include "sim/network/maxmin.h"

/** A message on its way; a member of the struct that is sent. */
typedef struct dsgd_flight {
    dsgd_event arrival; /* first member; its owner sets `happen` */
    struct dsgd_room *room; /* links.c: memory that later messages of this struct reuse */
    double bytes; /* an integer */
    dsgd_flow flow; /* links.c */
} dsgd_flight;

/** The functions of a network. */
typedef struct dsgd_network_ops {
    /** Returns the library and the model, such as "SimGrid 3.32.0, CM02, ...", for the manifest. */
    const char *(*version)(void);
    /**
     * Opens the links of @p n_hosts hosts, or of the XML file at @p path, and fills
     * places[machine->n_hosts]. take() returns zeroed memory that exists until the end of the run.
     */
    dsgd_status (*open)(const dsgd_machine *machine, int n_hosts, const char *path, int *places,
                        void *(*take)(size_t bytes), dsgd_error *error);
    void (*close)(void); /* NULL if there is nothing to do */
    double (*speed)(int host); /* returns the nominal speed in flop/s */
    dsgd_route (*route)(int from, int to);
    /**
     * Multiplies bandwidths by @p factor from now on. @p from and @p to are groups or regions: the
     * limit of each flow between them and the link that all these flows share change. If they are
     * equal, the links out of the group and into it change. If @p to is negative, the NIC of the
     * host at place @p from changes. NULL if links cannot change.
     */
    void (*slow)(int from, int to, double factor);
    /** Sends a message now, and plans its arrival when the time is known. */
    void (*send)(dsgd_flight *flight, int from, int to);
    /**
     * Computes on a host, which computes nothing else at that time, and plans the end. If it is
     * NULL, the end follows from speed().
     */
    void (*compute)(dsgd_event *end, int host, double flops);
    /** Calls loop(), which runs all actors. If it is NULL, the runtime calls loop() directly. */
    void (*run)(void (*loop)(void));
    /**
     * Lets time pass until @p until_s, or until a message arrives or a computation ends before.
     * Returns false if nothing is under way and @p until_s is INFINITY. NULL if the network plans
     * all ends at once.
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
extern const dsgd_network_ops *const dsgd_networks[]; /* index: dsgd_network_kind */

/** The network of this run, which dsgd_machine_open() has chosen. (runtime.c) */
extern const dsgd_network_ops *dsgd_network_used;
