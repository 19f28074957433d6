/**
 * @file nodes.h
 * The nodes of a cluster, for collectives of NCCL. A node consists of the hosts (GPUs) of one
 * NVLink domain and their NICs.
 */
#pragma once

#include "traces/platform.h"

typedef struct dsgd_nodes dsgd_nodes;

/**
 * Returns the nodes of the hosts whose places are places[n]. A place is an index in natural order.
 * The memory exists until the program ends. Platforms from XML files have no nodes.
 */
dsgd_nodes *dsgd_nodes_new(const dsgd_platform *platform, const int *places, int n);

/**
 * Returns the shape of an NCCL collective of the hosts chosen[n]. Until the next call,
 * dsgd_nodes_stream() uses this collective.
 */
dsgd_nccl_shape dsgd_nodes_shape(dsgd_nodes *nodes, const int *chosen, int n);

/**
 * Stores the hosts to which and from which the host @p of has a stream in the collective of
 * dsgd_nodes_shape(). In each node, the NICs that have hosts of the collective are numbered from 0.
 * If all nodes have a NIC k, the first host at NIC k of a node sends to the first host at NIC k of
 * the next node. Stores -1 if the host @p of has no stream.
 */
void dsgd_nodes_stream(const dsgd_nodes *nodes, int of, int *to, int *from);
