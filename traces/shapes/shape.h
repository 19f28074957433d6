/**
 * @file shape.h
 * The shape of a platform: one table of functions with everything that differs between topologies.
 * A topology is one file of this folder, which defines its table, and one line of registry.h.
 *
 * Links have one direction and a number, from 0. A route is a list of links. All functions are pure
 * arithmetic on the platform's numbers. Fat trees, dragonflies and tori have the links and the
 * routes of SimGrid 3.32 and 4.0, in the same order.
 */
#pragma once

#include "traces/platform.h"

/** A link of one direction. */
typedef struct dsgd_shape_link {
    double bytes_per_s, latency_s;
} dsgd_shape_link;

/** The route of a message. Initialise it with zeros, and free(link) after the last use. */
typedef struct dsgd_shape_route {
    size_t *link; /* [n] numbers, in order */
    size_t n, room;
    double added_latency_s; /* in addition to the latencies of the links */
    double flow_bytes_per_s; /* limit of one flow in addition to the links; INFINITY if none */
} dsgd_shape_route;

/** The option takes at least one number, as many as `size` has. */
enum { DSGD_ANY_EXTENTS = 1 << 20 };

/** The comment of each function explains what NULL means. */
typedef struct dsgd_shape {
    const char *title; /* as `dsgd describe` prints it */
    const char *fact; /* heading of the sentence from describe() */
    bool has_numbers; /* false: only the user's file contains links and hosts */
    bool is_crossbar; /* messages share only NICs, links into nodes and uplinks of groups */
    bool has_groups; /* group_hosts is used */
    bool has_islands; /* island_hosts is used */

    /** Numbers that the options size, up and cables must have; `cables` may always be absent. */
    size_t n_size, n_up, n_cables;
    bool takes_size; /* size is optional: one number, the number of hosts */
    /** Returns DSGD_EUSAGE with a sentence if the numbers are invalid. NULL: all are valid. */
    dsgd_status (*check)(const dsgd_platform *platform, dsgd_error *error);
    /** Returns a sentence on the features of this topology, or NULL. NULL: no sentence. */
    char *(*describe)(const dsgd_platform *platform);

    /** Returns the number of links of the first @p n_hosts hosts. */
    size_t (*n_links)(const dsgd_platform *platform, int n_hosts);
    dsgd_shape_link (*link)(const dsgd_platform *platform, size_t number);
    /** Returns SimGrid's name of a link, for the output of link loads. NULL: only NICs have loads.
     */
    char *(*link_name)(const dsgd_platform *platform, size_t number);
    /** Appends the links between two different hosts, and sets the other members of the route. */
    void (*route)(const dsgd_platform *platform, int from, int to, dsgd_shape_route *route);

    /**
     * Sets the bandwidth of links that these hosts cannot fill to INFINITY, in links[n_links()], so
     * that flows do not share them. NULL: the hosts can fill every link.
     */
    void (*widen)(const dsgd_platform *platform, const dsgd_platform_use *use,
                  dsgd_shape_link *links);
    /**
     * Fills link[2] with the links that change when a part of the network is slow, and returns
     * their number: the links from group or region @p from to @p to; its uplinks in both directions
     * if both are equal; the links of host @p from if @p to is below 0. If it returns 0, only the
     * limit of each flow changes. NULL: links cannot change.
     */
    size_t (*find_slowed)(const dsgd_platform *platform, int from, int to, size_t link[2]);

    /** Returns the number of links between a host and the network, per direction. NULL: 1. */
    double (*ports)(const dsgd_platform *platform);
    /** See dsgd_platform_meets_at_nics(). NULL: true only for fewer than two hosts. */
    bool (*meets_at_nics)(const dsgd_platform *platform, const dsgd_platform_use *use);
    /** See dsgd_platform_dimensions(). NULL: the hosts of a node. */
    dsgd_dimensions (*dimensions)(const dsgd_platform *platform);

    /** Writes the zones for SimGrid. NULL: `cluster` is used. */
    void (*write)(FILE *xml, const dsgd_platform *platform, int n_hosts);
    /** Returns the attributes of SimGrid's cluster. NULL: all links and routes are written. */
    char *(*cluster)(const dsgd_platform *platform);
    /** Returns the number of hosts (0 to 2) of a link of SimGrid's cluster, given its name. */
    int (*hosts_of_link)(const dsgd_platform *platform, const char *name, int host[2]);
} dsgd_shape;

static inline const dsgd_shape *dsgd_shape_of(const dsgd_platform *platform)
{
    return dsgd_shapes[platform->topology];
}

/** Replaces @p route by the route between two different hosts. */
void dsgd_shape_find_route(const dsgd_platform *platform, int from, int to,
                           dsgd_shape_route *route);

/** Appends a link to a route; for the functions of a shape. */
static inline void dsgd_shape_pass(dsgd_shape_route *route, size_t link)
{
    if (route->n == route->room) {
        route->room = 2 * route->room + 8;
        route->link = dsgd_xrealloc(route->link, route->room, sizeof *route->link);
    }
    route->link[route->n++] = link;
}

/** Returns the number of a link in SimGrid's clusters, where each pair of links (up, down) has a
 * number. */
static inline size_t dsgd_shape_duplex(int64_t pair, bool down)
{
    return 2 * (size_t)pair + down;
}

/** Returns a link of a host, changed by the entries of `hosts`. */
static inline dsgd_shape_link dsgd_shape_host_link(const dsgd_platform *platform, int host,
                                                   double latency_s)
{
    const dsgd_host_quality q = dsgd_platform_host(platform, host);
    return (dsgd_shape_link){q.bandwidth * platform->host_bandwidth_bytes_per_s,
                             latency_s + q.latency_s};
}

/** Returns a link that two hosts share, which is as slow as the slower one. */
static inline dsgd_shape_link dsgd_shape_shared_link(const dsgd_platform *platform, int a, int b)
{
    const dsgd_shape_link x = dsgd_shape_host_link(platform, a, platform->host_latency_s),
                          y = dsgd_shape_host_link(platform, b, platform->host_latency_s);
    return (dsgd_shape_link){fmin(x.bytes_per_s, y.bytes_per_s), fmax(x.latency_s, y.latency_s)};
}

/** Returns the extents of `size` in order, at most DSGD_MOST_DIMENSIONS. */
static inline dsgd_dimensions dsgd_shape_size(const dsgd_platform *platform)
{
    dsgd_dimensions all = {{1, 1, 1, 1}};
    for (size_t i = 0; i < platform->size.n && i < DSGD_MOST_DIMENSIONS; i++)
        all.n[i] = (int)platform->size.v[i];
    return all;
}

/** Returns numbers as text, such as "2,3,4", or @p n ones if there are none. */
static inline char *dsgd_shape_listed(const dsgd_numbers *numbers, size_t n)
{
    char *text = dsgd_xstrdup("");
    for (size_t i = 0; i < n; i++)
        dsgd_append(&text, "%s%.0f", i == 0 ? "" : ",", dsgd_extent(numbers, i));
    return text;
}
