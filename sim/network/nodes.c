/**
 * @file nodes.c
 * Sorts the hosts of an NCCL collective by node and NIC.
 */
#include "sim/network/nodes.h"

/** The place of a host in the cluster. */
typedef struct host {
    int node, nic, group;
    double nic_bytes_per_s, added_latency_s; /* bandwidth of the host's NIC in B/s, and additional
                                              * latency of this NIC in seconds */
    int behind; /* index of the host's NIC in its node, if the host is the first host of the
                 * collective at this NIC; otherwise -1 */
} host;

typedef struct node {
    int n_nics; /* number of the node's NICs that have hosts of the collective; reset to 0 for
                 * the next collective */
    int index; /* index of the node among the nodes of the collective */
} node;

struct dsgd_nodes {
    host *host; /* [n] place of each host */
    node *node; /* [highest place + 1] nodes of the platform */
    int *first; /* [highest place + 1] first host of the collective at each NIC; -1 if no host of
                 * the collective has this NIC */
    int *sender; /* [n_nodes][n_nics] hosts of the collective that send streams */
    int n_nodes, n_nics;
    double flow_bytes_per_s; /* largest rate of one flow between groups, in B/s */
};

dsgd_nodes *dsgd_nodes_new(const dsgd_platform *platform, const int *places, int n)
{
    dsgd_nodes *const nodes = dsgd_keep(1, sizeof *nodes);
    const int per_node = platform->island_hosts > 0 ? (int)platform->island_hosts : 1;
    int highest = 0;
    nodes->flow_bytes_per_s = platform->group_flow_bytes_per_s;
    nodes->host = dsgd_keep((size_t)n, sizeof *nodes->host);
    nodes->sender = dsgd_keep((size_t)n, sizeof *nodes->sender);
    for (int i = 0; i < n; i++) {
        const int nic = places[i] / dsgd_platform_nic_hosts(platform);
        const dsgd_host_quality q = dsgd_platform_nic(platform, nic);
        nodes->host[i] =
            (host){.node = places[i] / per_node,
                   .nic = nic,
                   .group = dsgd_platform_group(platform, places[i]),
                   .nic_bytes_per_s = platform->host_bandwidth_bytes_per_s * q.bandwidth,
                   .added_latency_s = q.latency_s};
        highest = places[i] > highest ? places[i] : highest;
    }
    nodes->node = dsgd_keep((size_t)highest + 1, sizeof *nodes->node);
    nodes->first = dsgd_keep((size_t)highest + 1, sizeof *nodes->first);
    for (int i = 0; i <= highest; i++)
        nodes->first[i] = -1;
    return nodes;
}

/** Returns whether the host @p at sends a stream in the collective. */
static bool sends(const dsgd_nodes *nodes, const host *at)
{
    return at->behind >= 0 && at->behind < nodes->n_nics;
}

/**
 * Returns the address of the host that sends a stream at NIC @p nic of the node with this index.
 */
static int *sender_of(const dsgd_nodes *nodes, int index, int nic)
{
    return &nodes->sender[index * nodes->n_nics + nic];
}

dsgd_nccl_shape dsgd_nodes_shape(dsgd_nodes *nodes, const int *chosen, int n)
{
    dsgd_nccl_shape shape = {.nics = n, .nic_bytes_per_s = INFINITY};
    for (int i = 0; i < n; i++) {
        host *const at = &nodes->host[chosen[i]];
        node *const of = &nodes->node[at->node];
        at->behind = -1;
        if (nodes->first[at->nic] >= 0)
            continue;
        if (of->n_nics == 0)
            of->index = shape.n_nodes++;
        nodes->first[at->nic] = chosen[i];
        at->behind = of->n_nics++;
        shape.nic_bytes_per_s = fmin(shape.nic_bytes_per_s, at->nic_bytes_per_s);
        if (at->group != nodes->host[chosen[0]].group)
            shape.nic_bytes_per_s = fmin(shape.nic_bytes_per_s, nodes->flow_bytes_per_s);
        shape.added_latency_s = fmax(shape.added_latency_s, at->added_latency_s);
    }
    for (int i = 0; i < n; i++) {
        const int nics = nodes->node[nodes->host[chosen[i]].node].n_nics;
        shape.nics = nics < shape.nics ? nics : shape.nics;
    }
    shape.gpus = (double)n / shape.n_nodes;
    nodes->n_nodes = shape.n_nodes;
    nodes->n_nics = shape.nics;
    /* this loop also resets n_nics and first, for the next collective */
    for (int i = 0; i < n; i++) {
        const host *const at = &nodes->host[chosen[i]];
        node *const of = &nodes->node[at->node];
        if (sends(nodes, at))
            *sender_of(nodes, of->index, at->behind) = chosen[i];
        of->n_nics = 0;
        nodes->first[at->nic] = -1;
    }
    return shape;
}

void dsgd_nodes_stream(const dsgd_nodes *nodes, int of, int *to, int *from)
{
    const host *const at = &nodes->host[of];
    const int n = nodes->n_nodes;
    *to = *from = -1;
    if (n == 1 || !sends(nodes, at))
        return;
    const int index = nodes->node[at->node].index;
    *to = *sender_of(nodes, (index + 1) % n, at->behind);
    *from = *sender_of(nodes, (index + n - 1) % n, at->behind);
}
