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

/** Bandwidth and latency of a link in one direction. */
typedef struct dsgd_shape_link {
    double bytes_per_s, latency_s;
} dsgd_shape_link;

/**
 * The route of a message. Initialise it with zeros, and free the member `link` after the last use.
 */
typedef struct dsgd_shape_route {
    size_t *link; /* numbers of the links, in order; n entries */
    size_t n, room;
    double added_latency_s; /* latency in addition to the latencies of the links */
    double flow_bytes_per_s; /* bandwidth limit of one flow, in addition to the links; INFINITY if
                              * none */
} dsgd_shape_route;

/** Means that an option takes at least one number, and as many as `size` has. */
enum { DSGD_ANY_EXTENTS = 1 << 20 };

/**
 * The functions and properties of a topology. The comment of each function explains what NULL
 * means.
 */
typedef struct dsgd_shape {
    const char *title; /* name of the topology, as `dsgd describe` prints it */
    const char *fact; /* heading of the sentence from describe() */
    bool has_numbers; /* false if only the user's file contains links and hosts */
    bool is_crossbar; /* whether messages share only NICs, links into nodes and uplinks of groups */
    bool has_groups; /* whether group_hosts is used */
    bool has_islands; /* whether island_hosts is used */

    /**
     * Number of values that options size, up and cables must have. `cables` may always be absent.
     */
    size_t n_size, n_up, n_cables;
    bool takes_size; /* whether `size` is optional and has one value, the number of hosts */
    /**
     * Returns DSGD_EUSAGE with an explanation if the numbers are invalid. If NULL, all numbers are
     * valid.
     */
    dsgd_status (*check)(const dsgd_platform *platform, dsgd_error *error);
    /**
     * Returns a sentence on the features of this topology, or NULL. If NULL, there is no sentence.
     */
    char *(*describe)(const dsgd_platform *platform);

    /** Returns the number of links of the first @p n_hosts hosts. */
    size_t (*n_links)(const dsgd_platform *platform, int n_hosts);
    dsgd_shape_link (*link)(const dsgd_platform *platform, size_t number);
    /**
     * Returns SimGrid's name of a link, for the output of link loads. If NULL, only the loads of
     * NICs are known.
     */
    char *(*link_name)(const dsgd_platform *platform, size_t number);
    /** Appends the links between two different hosts, and sets the other members of the route. */
    void (*route)(const dsgd_platform *platform, int from, int to, dsgd_shape_route *route);

    /**
     * Sets the bandwidth of links that the hosts of a run cannot fill to INFINITY, in
     * links[n_links()], so that flows do not share these links. If NULL, the hosts can fill every
     * link.
     */
    void (*widen)(const dsgd_platform *platform, const dsgd_platform_use *use,
                  dsgd_shape_link *links);
    /**
     * Stores in link[2] the links that change when a part of the network is slow, and returns their
     * number. These are the links from group or region @p from to @p to. If @p from and @p to are
     * equal, they are the group's uplinks in both directions. If @p to is negative, they are the
     * links of host @p from. If the function returns 0, only the limit of each flow changes. If
     * NULL, links cannot change.
     */
    size_t (*find_slowed)(const dsgd_platform *platform, int from, int to, size_t link[2]);

    /**
     * Returns the number of links between a host and the network, per direction. If NULL, the
     * number is 1.
     */
    double (*ports)(const dsgd_platform *platform);
    /**
     * See dsgd_platform_meets_at_nics(). If NULL, the result is true only for fewer than two hosts.
     */
    bool (*meets_at_nics)(const dsgd_platform *platform, const dsgd_platform_use *use);
    /**
     * See dsgd_platform_dimensions(). If NULL, the first dimension contains the hosts of a node.
     */
    dsgd_dimensions (*dimensions)(const dsgd_platform *platform);

    /** Writes the zones for SimGrid. If NULL, `cluster` is used. */
    void (*write)(FILE *xml, const dsgd_platform *platform, int n_hosts);
    /** Returns the attributes of SimGrid's cluster. If NULL, all links and routes are written. */
    char *(*cluster)(const dsgd_platform *platform);
    /**
     * Finds the hosts (0 to 2) at a link of SimGrid's cluster by the link's name, and returns their
     * number.
     */
    int (*hosts_of_link)(const dsgd_platform *platform, const char *name, int host[2]);
} dsgd_shape;

static inline const dsgd_shape *dsgd_shape_of(const dsgd_platform *platform)
{
    return dsgd_shapes[platform->topology];
}

/** Replaces @p route by the route between two different hosts. */
void dsgd_shape_find_route(const dsgd_platform *platform, int from, int to,
                           dsgd_shape_route *route);

/** Appends a link to a route. Only the functions of a shape call it. */
static inline void dsgd_shape_pass(dsgd_shape_route *route, size_t link)
{
    if (route->n == route->room) {
        route->room = 2 * route->room + 8;
        route->link = dsgd_xrealloc(route->link, route->room, sizeof *route->link);
    }
    route->link[route->n++] = link;
}

/**
 * Returns the number of a link in SimGrid's clusters. Each pair of links (up, down) has the number
 * @p pair.
 */
static inline size_t dsgd_shape_duplex(int64_t pair, bool down)
{
    return 2 * (size_t)pair + down;
}

/** Returns a link of @p host with its bandwidth and latency after the entries of `hosts`. */
static inline dsgd_shape_link dsgd_shape_host_link(const dsgd_platform *platform, int host,
                                                   double latency_s)
{
    const dsgd_host_quality q = dsgd_platform_host(platform, host);
    return (dsgd_shape_link){q.bandwidth * platform->host_bandwidth_bytes_per_s,
                             latency_s + q.latency_s};
}

/** Returns a link that two hosts share. It is as slow as the slower host's link. */
static inline dsgd_shape_link dsgd_shape_shared_link(const dsgd_platform *platform, int a, int b)
{
    const dsgd_shape_link x = dsgd_shape_host_link(platform, a, platform->host_latency_s),
                          y = dsgd_shape_host_link(platform, b, platform->host_latency_s);
    return (dsgd_shape_link){fmin(x.bytes_per_s, y.bytes_per_s), fmax(x.latency_s, y.latency_s)};
}

/** Returns the values of `size` in order, at most DSGD_MOST_DIMENSIONS. */
static inline dsgd_dimensions dsgd_shape_size(const dsgd_platform *platform)
{
    dsgd_dimensions all = {{1, 1, 1, 1}};
    for (size_t i = 0; i < platform->size.n && i < DSGD_MOST_DIMENSIONS; i++)
        all.n[i] = (int)platform->size.v[i];
    return all;
}

/**
 * Returns the numbers as text, such as "2,3,4". If there are no numbers, the text contains @p n
 * ones.
 */
static inline char *dsgd_shape_listed(const dsgd_numbers *numbers, size_t n)
{
    char *text = dsgd_xstrdup("");
    for (size_t i = 0; i < n; i++)
        dsgd_append(&text, "%s%.0f", i == 0 ? "" : ",", dsgd_extent(numbers, i));
    return text;
}
