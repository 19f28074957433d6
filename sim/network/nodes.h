/**
 * @file nodes.h
 * The nodes of a cluster, as a collective of NCCL sees them: hosts that share an island, and their
 * NICs.
 */
#pragma once

#include "traces/platform.h"

typedef struct dsgd_nodes dsgd_nodes;

/** Of the hosts at places[n], indices of hosts in natural order; kept. Not for XML. */
dsgd_nodes *dsgd_nodes_new(const dsgd_platform *platform, const int *places, int n);

/** What chosen[n] of these hosts are; until the next call dsgd_nodes_stream() tells of them. */
dsgd_nccl_shape dsgd_nodes_shape(dsgd_nodes *nodes, const int *chosen, int n);

/**
 * Of each NIC that all nodes have the first of these hosts sends to the one behind the same NIC of
 * the next node. -1 for others.
 */
void dsgd_nodes_stream(const dsgd_nodes *nodes, int of, int *to, int *from);
