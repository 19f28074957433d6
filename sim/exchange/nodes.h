/**
 * @file nodes.h
 * The nodes of a cluster, as a collective of NCCL sees them: hosts that share an island, and their NICs.
 */
#ifndef DSGD_SIM_EXCHANGE_NODES_H
#define DSGD_SIM_EXCHANGE_NODES_H

#include "sim/engine/engine.h"

typedef struct dsgd_nodes dsgd_nodes;

/** Of a run's workers. */
dsgd_nodes *dsgd_nodes_new(dsgd_engine *engine);

/** What some workers are on these nodes; until the next call dsgd_nodes_stream() tells of them. */
dsgd_nccl_shape dsgd_nodes_shape(dsgd_nodes *nodes, const int *rank, int n);

/**
 * Of each NIC that all nodes have the first member sends to the one behind the same NIC of the next node.
 * -1 for others.
 */
void dsgd_nodes_stream(const dsgd_nodes *nodes, int rank, int *to, int *from);

#endif
