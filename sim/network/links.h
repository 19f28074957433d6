/**
 * @file links.h
 * How long messages take in nics.c: latency by pair, a limit of one flow, and the bandwidth of the
 * links at their two ends, NICs or ways into an island, which messages share in proportion to 1 /
 * latency. No cable of a tree, dragonfly or torus is ever full.
 *
 * By itself, each link serves its messages from their beginning, and a message has arrived the
 * latency after it has left both its links. So times are exact where a message meets others at one
 * end, or at none; one that meets others at both does not give up at one end what it cannot use
 * because of the other. No way out of a group is ever full.
 *
 * Max-min fairly, as SimGrid's flows (maxmin.h), messages use all their links at one rate, the ways
 * out of groups, too, after the latency. Other shapes have their links and routes in
 * traces/shapes/, and SimGrid has those of XML.
 */
#pragma once

#include "sim/network/cluster.h"
#include "sim/network/events.h"
#include "sim/network/maxmin.h"
#include "traces/platform.h"

/** A message on its way: the last member of what is sent. */
typedef struct dsgd_flight {
    dsgd_event arrival; /* first; its `happen` is the owner's */
    struct dsgd_room
        *room; /* of links.c, also for the next message of the same memory; NULL at first */
    struct dsgd_link *link[2]; /* its way out, its way in */
    int n_shared; /* links that it shares and has yet to leave */
    double bytes, latency_s;
    double earliest_s; /* by the limit of one flow, without the latency */
    dsgd_flow flow; /* last: there only where links are shared max-min fairly */
} dsgd_flight;

/**
 * Links of the hosts at places[n_hosts], by index; for any topology but XML. @p take: zeroed memory
 * until the end of the run, and the links are shared max-min fairly, of a switch and groups alone;
 * or NULL.
 */
void dsgd_links_open(const dsgd_machine *machine, const int *places, void *(*take)(size_t bytes));
/** Instead, links that dsgd_simgrid_open() has made, shared max-min fairly. */
void dsgd_links_open_simgrids(void *(*take)(size_t bytes));
void dsgd_links_close(void);

/**
 * From now on a factor of their bandwidths: of what goes from a group (or region) to another, each
 * flow and all together; where both are the same, of its way out and in; where @p to is below 0, of
 * the NIC at a place. Groups: where links are shared max-min fairly.
 */
void dsgd_links_slow(int from, int to, double factor);

/** From a host to another. */
dsgd_route dsgd_links_route(int from, int to);

/** Sends its bytes from a host to another, and plans the arrival. */
void dsgd_flight_begin(dsgd_flight *flight, int from, int to);
