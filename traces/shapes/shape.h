/**
 * @file shape.h
 * Declares the shape of a platform, a table of the functions that differ between topologies. A
 * topology is one file of this folder, which defines its table, and one line of registry.h.
 *
 * Links have one direction and a number, from 0. A route is a list of links. All functions are pure
 * arithmetic on the platform's numbers. Fat trees, dragonflies and tori have the same links and
 * routes as in SimGrid 3.32 and 4.0, in the same order.
 */
#pragma once

#include "traces/platform.h"

/** Bandwidth and latency of a link in one direction. */
typedef struct dsgd_shape_link {
    double bytes_per_s, latency_s;
} dsgd_shape_link;

/**
 * The route of a message. Initialise the struct with zeros, and free the member `link` after the
 * last use.
 */
typedef struct dsgd_shape_route {
    size_t *link; /* numbers of the links, in the order of the route; n entries */
    size_t n, room;
    double added_latency_s; /* latency of the route in addition to the latencies of its links */
    double flow_bytes_per_s; /* bandwidth limit of one flow, in addition to the links; INFINITY if
                              * there is no limit */
} dsgd_shape_route;

/** special count: an option has at least one number, and as many numbers as option `size` */
enum { DSGD_ANY_EXTENTS = 1 << 20 };

/**
 * The functions and properties of a topology. A function may be NULL; its comment explains the
 * effect.
 */
typedef struct dsgd_shape {
    const char *title; /* name of the topology, as `dsgd describe` prints it */
    const char *fact; /* heading for the sentence that describe() returns */
    bool has_numbers; /* false if only the user's file contains links and hosts */
    bool is_crossbar; /* true if messages share only NICs, links into nodes and uplinks of groups */
    bool has_groups; /* true if the topology uses group_hosts */
    bool has_islands; /* true if the topology uses island_hosts */

    /**
     * Number of values that the options size, up and cables must have. Option `cables` may always
     * be absent.
     */
    size_t n_size, n_up, n_cables;
    bool takes_size; /* true if option `size` is optional and has one value, the number of hosts */
    /**
     * Returns DSGD_EUSAGE with an explanation if the platform's numbers are invalid. If this
     * function is NULL, all numbers are valid.
     */
    dsgd_status (*check)(const dsgd_platform *platform, dsgd_error *error);
    /**
     * Returns a sentence on the features of this topology. If this function is NULL, there is no
     * sentence.
     */
    char *(*describe)(const dsgd_platform *platform);

    /** Returns the number of links that the first @p n_hosts hosts have. */
    size_t (*n_links)(const dsgd_platform *platform, int n_hosts);
    dsgd_shape_link (*link)(const dsgd_platform *platform, size_t number);
    /**
     * Returns SimGrid's name of a link, for the output of link loads. If this function is NULL, the
     * output contains only the loads of NICs.
     */
    char *(*link_name)(const dsgd_platform *platform, size_t number);
    /**
     * Appends the links between two different hosts to a route, and sets the other members of the
     * route.
     */
    void (*route)(const dsgd_platform *platform, int from, int to, dsgd_shape_route *route);

    /**
     * Sets the bandwidth of links that the hosts of a run cannot fill to INFINITY, in
     * links[n_links()]. Flows then do not share these links. If this function is NULL, the hosts
     * can fill every link.
     */
    void (*widen)(const dsgd_platform *platform, const dsgd_platform_use *use,
                  dsgd_shape_link *links);
    /**
     * Stores in link[2] the links that change when a part of the network is slow. Returns the
     * number of these links. They are the links from group or region @p from to @p to. If @p from
     * and @p to are equal, they are the group's uplinks in both directions. If @p to is negative,
     * they are the links of host @p from. If the function returns 0, only the limit of each flow
     * changes. If this function is NULL, links cannot change.
     */
    size_t (*find_slowed)(const dsgd_platform *platform, int from, int to, size_t link[2]);

    /**
     * Returns the number of links between a host and the network, per direction. If this function
     * is NULL, the number is 1.
     */
    double (*ports)(const dsgd_platform *platform);
    /**
     * Implements dsgd_platform_meets_at_nics(). If this function is NULL, the result is true only
     * for fewer than two hosts.
     */
    bool (*meets_at_nics)(const dsgd_platform *platform, const dsgd_platform_use *use);
    /**
     * Implements dsgd_platform_dimensions(). If this function is NULL, the first dimension contains
     * the hosts of a node.
     */
    dsgd_dimensions (*dimensions)(const dsgd_platform *platform);

    /** Writes the SimGrid zones of the topology. If this function is NULL, `cluster` is used. */
    void (*write)(FILE *xml, const dsgd_platform *platform, int n_hosts);
    /**
     * Returns the attributes of SimGrid's cluster. If this function is NULL, all links and routes
     * are written.
     */
    char *(*cluster)(const dsgd_platform *platform);
    /**
     * Finds the hosts (0 to 2) at a link of SimGrid's cluster by the name of the link. Returns the
     * number of these hosts.
     */
    int (*hosts_of_link)(const dsgd_platform *platform, const char *name, int host[2]);
} dsgd_shape;

static inline const dsgd_shape *dsgd_shape_of(const dsgd_platform *platform)
{
    return dsgd_shapes[platform->topology];
}

/** Sets @p route to the route between two different hosts. */
void dsgd_shape_find_route(const dsgd_platform *platform, int from, int to,
                           dsgd_shape_route *route);

/** Appends a link to a route. Only functions of a shape call this function. */
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

/** Returns the bandwidth and latency of a link of @p host, after the entries of `hosts`. */
static inline dsgd_shape_link dsgd_shape_host_link(const dsgd_platform *platform, int host,
                                                   double latency_s)
{
    const dsgd_host_quality q = dsgd_platform_host(platform, host);
    return (dsgd_shape_link){q.bandwidth * platform->host_bandwidth_bytes_per_s,
                             latency_s + q.latency_s};
}

/**
 * Returns the bandwidth and latency of a link that two hosts share. The link is as slow as the
 * slower host's link.
 */
static inline dsgd_shape_link dsgd_shape_shared_link(const dsgd_platform *platform, int a, int b)
{
    const dsgd_shape_link x = dsgd_shape_host_link(platform, a, platform->host_latency_s),
                          y = dsgd_shape_host_link(platform, b, platform->host_latency_s);
    return (dsgd_shape_link){fmin(x.bytes_per_s, y.bytes_per_s), fmax(x.latency_s, y.latency_s)};
}

/** Returns the values of option `size` in order, at most DSGD_MOST_DIMENSIONS values. */
static inline dsgd_dimensions dsgd_shape_size(const dsgd_platform *platform)
{
    dsgd_dimensions all = {{1, 1, 1, 1}};
    for (size_t i = 0; i < platform->size.n && i < DSGD_MOST_DIMENSIONS; i++)
        all.n[i] = (int)platform->size.v[i];
    return all;
}

/**
 * Returns a list of numbers as text, such as "2,3,4". If the list is empty, the text contains the
 * number 1 @p n times.
 */
static inline char *dsgd_shape_listed(const dsgd_numbers *numbers, size_t n)
{
    char *text = dsgd_xstrdup("");
    for (size_t i = 0; i < n; i++)
        dsgd_append(&text, "%s%.0f", i == 0 ? "" : ",", dsgd_extent(numbers, i));
    return text;
}
