/**
 * @file fabric.h
 * Links and routes of the topologies that need no SimGrid for them: hamming_mesh and rails. Pure
 * arithmetic on the platform's numbers.
 *
 * HammingMesh (Hoefler et al., SC 2022): boards of a x b hosts in a mesh, x boards in a row, y in a
 * column. Each host has four ports; those at a board's edges lead, of each row of hosts, to one
 * switch (in truth a tree without a bottleneck), and of each column likewise. Messages go along
 * their row, then along their column; to another board by the nearer edge, and in by the edge
 * nearer to their end.
 *
 * Rails: GPU r of each node is on the switch of rail r. Where there is no spine (rail-only: Wang et
 * al., 2023) a message to another rail goes through NVLink to the GPU of that rail in its own node,
 * and out of that one's NIC; else it passes the spine, to which each rail's switch has cables of
 * group_bandwidth (rail-optimised).
 */
#pragma once

#include "traces/platform.h"

/** Links on the longest route. */
enum { DSGD_FABRIC_MOST_LINKS = 4 * (DSGD_MOST_BOARD + 1) };

/** Links of one direction, by number, where the hosts are those below @p n_hosts. */
size_t dsgd_fabric_n_links(const dsgd_platform *platform, int n_hosts);

typedef struct dsgd_fabric_link {
    double bytes_per_s, latency_s;
} dsgd_fabric_link;
dsgd_fabric_link dsgd_fabric_link_at(const dsgd_platform *platform, size_t number);

/** Numbers of the links between two hosts that differ, in order; returns how many. @p link has room
 * for DSGD_FABRIC_MOST_LINKS. */
size_t dsgd_fabric_route(const dsgd_platform *platform, int from, int to, size_t *link);
