/**
 * @file nodes.c
 * Members of a collective by node and NIC.
 */
#include "sim/exchange/nodes.h"

#include "sim/network/paths.h"
#include "sim/run.h"

typedef struct node {
    int n_members, n_nics; /* of a collective; 0: of none */
    int index; /* among the nodes of that */
} node;

struct dsgd_nodes {
    const dsgd_engine *engine;
    int *of, *nic; /* [n_workers]: a worker's node, and its NIC */
    node *node; /* [highest + 1] */
    int *first; /* [highest NIC + 1]: rank of the first member behind it; -1: none */
    int *behind; /* [n_workers]: of such a member, the how manieth NIC of its node it is; else -1 */
    int *sender; /* [n_nodes][n_nics] of a collective: ranks */
    int n_nodes, n_nics;
};

dsgd_nodes *dsgd_nodes_new(dsgd_engine *engine)
{
    const dsgd_platform *const platform = engine->config->platform;
    const size_t n = (size_t)engine->n_workers;
    dsgd_nodes *const nodes = dsgd_run_alloc(engine, sizeof *nodes);
    const int per_node = platform->island_hosts > 0 ? (int)platform->island_hosts : 1;
    const int per_nic = dsgd_platform_nic_hosts(platform);
    int highest = 0;
    nodes->engine = engine;
    nodes->of = dsgd_run_alloc(engine, n * sizeof *nodes->of);
    nodes->nic = dsgd_run_alloc(engine, n * sizeof *nodes->nic);
    nodes->behind = dsgd_run_alloc(engine, n * sizeof *nodes->behind);
    nodes->sender = dsgd_run_alloc(engine, n * sizeof *nodes->sender);
    for (size_t i = 0; i < n; i++) {
        const int place = engine->workers[i].place;
        nodes->of[i] = place / per_node;
        nodes->nic[i] = place / per_nic;
        highest = place > highest ? place : highest;
    }
    nodes->node = dsgd_run_alloc(engine, ((size_t)highest + 1) * sizeof *nodes->node);
    nodes->first = dsgd_run_alloc(engine, ((size_t)highest + 1) * sizeof *nodes->first);
    for (int i = 0; i <= highest; i++)
        nodes->first[i] = -1;
    return nodes;
}

/** Of its NICs the slowest, and the most that a host adds to a message's latency. */
static void add_nic(const dsgd_nodes *nodes, int nic, dsgd_nccl_shape *shape)
{
    const dsgd_platform *const platform = nodes->engine->config->platform;
    const dsgd_host_quality q = dsgd_platform_nic(platform, nic);
    double bytes_per_s = platform->host_bandwidth_bytes_per_s * q.bandwidth;
    if (platform->topology == DSGD_TOPOLOGY_GROUPS)
        bytes_per_s = fmin(bytes_per_s, platform->group_flow_bytes_per_s);
    shape->nic_bytes_per_s = fmin(shape->nic_bytes_per_s, bytes_per_s);
    shape->added_latency_s = fmax(shape->added_latency_s, q.latency_s);
}

dsgd_nccl_shape dsgd_nodes_shape(dsgd_nodes *nodes, const int *rank, int n)
{
    dsgd_nccl_shape shape = {.nics = n, .nic_bytes_per_s = INFINITY};
    for (int i = 0; i < n; i++) {
        const int r = rank[i], nic = nodes->nic[r];
        node *const at = &nodes->node[nodes->of[r]];
        if (at->n_members++ == 0)
            at->index = shape.n_nodes++;
        nodes->behind[r] = -1;
        if (nodes->first[nic] >= 0)
            continue;
        nodes->first[nic] = r;
        nodes->behind[r] = at->n_nics++;
        add_nic(nodes, nic, &shape);
    }
    for (int i = 0; i < n; i++) {
        const int nics = nodes->node[nodes->of[rank[i]]].n_nics;
        shape.nics = nics < shape.nics ? nics : shape.nics;
    }
    shape.gpus = (double)n / shape.n_nodes;
    nodes->n_nodes = shape.n_nodes;
    nodes->n_nics = shape.nics;
    for (int i = 0; i < n; i++)
        if (nodes->behind[rank[i]] >= 0 && nodes->behind[rank[i]] < shape.nics)
            nodes->sender[nodes->node[nodes->of[rank[i]]].index * shape.nics +
                          nodes->behind[rank[i]]] = rank[i];
    for (int i = 0; i < n; i++) { /* for the next collective; their indices stay */
        node *const at = &nodes->node[nodes->of[rank[i]]];
        at->n_members = at->n_nics = 0;
        nodes->first[nodes->nic[rank[i]]] = -1;
    }
    return shape;
}

void dsgd_nodes_stream(const dsgd_nodes *nodes, int rank, int *to, int *from)
{
    const int k = nodes->behind[rank], n = nodes->n_nodes;
    *to = *from = -1;
    if (k < 0 || k >= nodes->n_nics || n == 1)
        return;
    const int at = nodes->node[nodes->of[rank]].index;
    *to = nodes->sender[(at + 1) % n * nodes->n_nics + k];
    *from = nodes->sender[(at + n - 1) % n * nodes->n_nics + k];
}
