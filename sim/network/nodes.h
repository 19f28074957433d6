/**
 * @file nodes.h
 * The nodes of a cluster for collectives of NCCL: a node is the hosts (GPUs) of one NVLink domain,
 * with their NICs.
 */
#pragma once

#include "traces/platform.h"

typedef struct dsgd_nodes dsgd_nodes;

/**
 * Returns the nodes of the hosts at places[n], which are indices in natural order. The memory is
 * kept until the program ends. Not for platforms from XML.
 */
dsgd_nodes *dsgd_nodes_new(const dsgd_platform *platform, const int *places, int n);

/** Returns the shape of a collective of the hosts chosen[n]. dsgd_nodes_stream() is about these
 * hosts until the next call. */
dsgd_nccl_shape dsgd_nodes_shape(dsgd_nodes *nodes, const int *chosen, int n);

/**
 * Stores the hosts to which and from which the host @p of has a stream of the collective. For each
 * NIC number that all nodes have, the first host at that NIC sends to the first host at the same
 * NIC of the next node. For other hosts, stores -1.
 */
void dsgd_nodes_stream(const dsgd_nodes *nodes, int of, int *to, int *from);
