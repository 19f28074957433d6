/**
 * @file shape.h
 * The shape of a platform: everything that differs between topologies, as one table of functions.
 * A topology is one file of this folder, which defines its table, and one line of registry.h.
 *
 * Links have one direction and a number, from 0 on. A route is a list of them. All functions are
 * pure arithmetic on the platform's numbers. Fat trees, dragonflies and tori have the links and the
 * routes of SimGrid 3.32 and 4.0, in the same order.
 */
#pragma once

#include "traces/platform.h"

/** A link of one direction. */
typedef struct dsgd_shape_link {
    double bytes_per_s, latency_s;
} dsgd_shape_link;

/** Everything that a message passes. Zero at first; free(link) after the last route. */
typedef struct dsgd_shape_route {
    size_t *link; /* [n] numbers, in order */
    size_t n, room;
    double added_latency_s; /* besides that of the links */
    double flow_bytes_per_s; /* limit of one flow besides the links; INFINITY: none */
} dsgd_shape_route;

/** An option of a shape takes one number or more, as many as `size` has. */
enum { DSGD_ANY_EXTENTS = 1 << 20 };

/** A NULL function: see its comment. */
typedef struct dsgd_shape {
    const char *title; /* as `dsgd describe` prints it */
    const char *fact; /* heading of the sentence of describe() */
    bool has_numbers; /* false: only the user's file contains links and hosts */
    bool is_crossbar; /* messages share NICs, ways into nodes, and ways out of groups only */
    bool has_groups; /* group_hosts counts */
    bool has_islands; /* island_hosts counts */

    /** Numbers that the options size, up and cables must have; `cables` may always be absent. */
    size_t n_size, n_up, n_cables;
    bool takes_size; /* size is optional: one number, the number of hosts */
    /** DSGD_EUSAGE with a sentence if the numbers make no such platform. NULL: any do. */
    dsgd_status (*check)(const dsgd_platform *platform, dsgd_error *error);
    /** Returns a sentence on what only this topology has, or NULL. NULL: nothing. */
    char *(*describe)(const dsgd_platform *platform);

    /** Returns the number of links if the hosts are those below @p n_hosts. */
    size_t (*n_links)(const dsgd_platform *platform, int n_hosts);
    dsgd_shape_link (*link)(const dsgd_platform *platform, size_t number);
    /** Returns SimGrid's name of a link, for the loads of links. NULL: loads are those of NICs. */
    char *(*link_name)(const dsgd_platform *platform, size_t number);
    /** Appends the links between two hosts that differ, and sets what else a message meets. */
    void (*route)(const dsgd_platform *platform, int from, int to, dsgd_shape_route *route);

    /**
     * Sets the bandwidth of links that these hosts cannot fill to INFINITY, in links[n_links()], so
     * that flows are not shared there. NULL: the hosts can fill every link.
     */
    void (*widen)(const dsgd_platform *platform, const dsgd_platform_use *use,
                  dsgd_shape_link *links);
    /**
     * Fills link[2] with the links that change when a part of the network is slow, and returns how
     * many: those from a group or region to another; if both are the same, its way out and in; if
     * @p to is below 0, those of host @p from. 0: only the limit of each flow changes. NULL: links
     * cannot change.
     */
    size_t (*find_slowed)(const dsgd_platform *platform, int from, int to, size_t link[2]);

    /** Returns the number of links between a host and the network, each way. NULL: 1. */
    double (*ports)(const dsgd_platform *platform);
    /** dsgd_platform_meets_at_nics(). NULL: only if there are fewer than two hosts. */
    bool (*meets_at_nics)(const dsgd_platform *platform, const dsgd_platform_use *use);
    /** dsgd_platform_dimensions(). NULL: the hosts of an island. */
    dsgd_dimensions (*dimensions)(const dsgd_platform *platform);

    /** Writes its zones for SimGrid. NULL: see `cluster`. */
    void (*write)(FILE *xml, const dsgd_platform *platform, int n_hosts);
    /** Returns the attributes of SimGrid's cluster. NULL: SimGrid gets every link and route. */
    char *(*cluster)(const dsgd_platform *platform);
    /** Returns how many hosts a link of SimGrid's cluster belongs to, by its name: 0, 1 or 2. */
    int (*hosts_of_link)(const dsgd_platform *platform, const char *name, int host[2]);
} dsgd_shape;

static inline const dsgd_shape *dsgd_shape_of(const dsgd_platform *platform)
{
    return dsgd_shapes[platform->topology];
}

/** Replaces @p route with the one between two hosts that differ. */
void dsgd_shape_find_route(const dsgd_platform *platform, int from, int to,
                           dsgd_shape_route *route);

/** For the functions of a shape: appends a link. */
static inline void dsgd_shape_pass(dsgd_shape_route *route, size_t link)
{
    if (route->n == route->room) {
        route->room = 2 * route->room + 8;
        route->link = dsgd_xrealloc(route->link, route->room, sizeof *route->link);
    }
    route->link[route->n++] = link;
}

/** For SimGrid's clusters: each pair of links, up and down, has a number. */
static inline size_t dsgd_shape_duplex(int64_t pair, bool down)
{
    return 2 * (size_t)pair + down;
}

/** A link of a host, as `hosts` changes it. */
static inline dsgd_shape_link dsgd_shape_host_link(const dsgd_platform *platform, int host,
                                                   double latency_s)
{
    const dsgd_host_quality q = dsgd_platform_host(platform, host);
    return (dsgd_shape_link){q.bandwidth * platform->host_bandwidth_bytes_per_s,
                             latency_s + q.latency_s};
}

/** A link that two hosts share: as slow as the slower one. */
static inline dsgd_shape_link dsgd_shape_shared_link(const dsgd_platform *platform, int a, int b)
{
    const dsgd_shape_link x = dsgd_shape_host_link(platform, a, platform->host_latency_s),
                          y = dsgd_shape_host_link(platform, b, platform->host_latency_s);
    return (dsgd_shape_link){fmin(x.bytes_per_s, y.bytes_per_s), fmax(x.latency_s, y.latency_s)};
}

/** Extents of size, in order, as far as there is room. */
static inline dsgd_dimensions dsgd_shape_size(const dsgd_platform *platform)
{
    dsgd_dimensions all = {{1, 1, 1, 1}};
    for (size_t i = 0; i < platform->size.n && i < DSGD_MOST_DIMENSIONS; i++)
        all.n[i] = (int)platform->size.v[i];
    return all;
}

/** "2,3,4", or @p n 1s if there are none. */
static inline char *dsgd_shape_listed(const dsgd_numbers *numbers, size_t n)
{
    char *text = dsgd_xstrdup("");
    for (size_t i = 0; i < n; i++)
        dsgd_append(&text, "%s%.0f", i == 0 ? "" : ",", dsgd_extent(numbers, i));
    return text;
}
