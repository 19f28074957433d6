/**
 * @file inner_messages.c
 * Computes the times of the messages between the hosts of one worker, by closed forms of the
 * platform. The formulas assume that all hosts of a stage send at the same time, and that no other
 * hosts send. The activations of a micro-batch are divided among all hosts of a stage, at the
 * sender and at the receiver (sequence parallelism). Sums and gathers are collectives of the run's
 * library, which run in all groups of a stage at the same time. With swarm each host sends whole
 * micro-batches evenly to all hosts of the next stage. For swarm, the formula assumes that a host
 * sends to one host at a time. The gradient of a stage is summed over its hosts at the end of each
 * job.
 */
#include "sim/exchange/analytic.h"
#include "sim/exchange/plan.h"
#include "sim/hybrid/stage_hosts.h"
#include "sim/network/nodes.h"
#include "traces/closed_form.h"

/** The messages of one worker, and scratch memory for their computation. */
typedef struct messages {
    dsgd_engine *engine;
    dsgd_worker *worker;
    /* nodes of the platform, for NCCL's collectives; NULL if the library is MPI */
    dsgd_nodes *nodes;
    /*
     * [2 n_hosts] senders and receivers of the flows of a message or round, as positions on the
     * platform
     */
    dsgd_ends *flows;
    int *chosen; /* [2 n_hosts] numbers, in the cluster, of the hosts that are members of a
                  * collective */
} messages;

/**
 * Returns the number, in the cluster, of the worker's host with this stage, shard and index in the
 * tensor group.
 */
static int host_of(const messages *in, int stage, int shard, int tensor)
{
    const dsgd_replica *const g = in->engine->hybrid.replica;
    return dsgd_cluster_host(in->worker->host,
                             (stage * g->n_shards + shard) * g->n_tensor + tensor);
}

/** Returns the position of a host of the cluster among the platform's hosts. */
static int place_of(const messages *in, int host)
{
    return in->engine->accounts.carriers[host].place;
}

static dsgd_ends ends_of(const messages *in, int from, int to)
{
    return (dsgd_ends){place_of(in, from), place_of(in, to)};
}

/**
 * Returns the time of a message that each host of stage @p from sends to the corresponding host of
 * stage @p to. If @p both is true, the hosts of @p to send back at the same time.
 */
static double message_s(const messages *in, int from, int to, double bytes, bool both)
{
    const dsgd_platform *const platform = in->engine->config->platform;
    const int n = in->engine->hybrid.replica->n_beside,
              of_group = n / in->engine->hybrid.replica->n_stage_hosts;
    size_t n_flows = 0;
    for (int i = 0; i < n * (both ? 2 : 1); i++)
        in->flows[n_flows++] = ends_of(in, host_of(in, i < n ? from : to, 0, i % n),
                                       host_of(in, i < n ? to : from, 0, i % n));
    bytes /= of_group;
    return bytes <= 0 ? 0
                      : dsgd_closed_form_flows_s(platform, n_flows, in->flows, bytes) +
                            dsgd_platform_message_s(platform, bytes);
}

/**
 * A collective that runs in all tensor groups of a stage at the same time. If of_tensor is false,
 * it runs in the groups of hosts that have the same index in their tensor groups.
 */
typedef struct collective {
    int stage;
    bool of_tensor;
    dsgd_collective_kind part;
    double bytes;
} collective;

static int member_of(const messages *in, const collective *c, int group, int index)
{
    return c->of_tensor ? host_of(in, c->stage, group, index) : host_of(in, c->stage, index, group);
}

/** Stores the members of group @p group in in->chosen. Returns their number. */
static int choose_group(const messages *in, const collective *c, int group)
{
    const dsgd_replica *const g = in->engine->hybrid.replica;
    const int n = c->of_tensor ? g->n_tensor : g->n_shards;
    for (int i = 0; i < n; i++)
        in->chosen[i] = member_of(in, c, group, i);
    return n;
}

/**
 * Returns the number of streams that use a NIC at the same time, because the groups of the stage
 * share NICs.
 */
static double streams_per_nic(const messages *in, const collective *c, const dsgd_nccl_shape *group)
{
    const dsgd_replica *const g = in->engine->hybrid.replica;
    const int n_groups = c->of_tensor ? g->n_shards : g->n_tensor;
    for (int i = 0; i < g->n_beside; i++)
        in->chosen[i] = host_of(in, c->stage, 0, i);
    const dsgd_nccl_shape all = dsgd_nodes_shape(in->nodes, in->chosen, g->n_beside);
    return fmax(1, (double)n_groups * group->n_nodes * group->nics / (all.n_nodes * all.nics));
}

static double nccl_s(const messages *in, const collective *c)
{
    const int n = choose_group(in, c, 0);
    dsgd_nccl_shape shape = dsgd_nodes_shape(in->nodes, in->chosen, n);
    if (shape.n_nodes > 1)
        shape.nic_bytes_per_s /= streams_per_nic(in, c, &shape);
    const dsgd_nccl_cost cost = dsgd_nccl_cost_of(
        &in->engine->config->platform->nccl, &shape,
        c->part == DSGD_ALLREDUCE ? DSGD_NCCL_ALLREDUCE : DSGD_NCCL_SHARES, c->bytes);
    return dsgd_nccl_s(&cost, c->bytes);
}

static double collective_s(const messages *in, collective c)
{
    const dsgd_replica *const g = in->engine->hybrid.replica;
    const int n = c.of_tensor ? g->n_tensor : g->n_shards;
    const int n_groups = g->n_beside / n;
    const dsgd_plan plan = dsgd_plan_of(dsgd_way_of(in->engine->config, false), c.part, n, c.bytes);
    double seconds = 0;
    if (n == 1 || c.bytes <= 0)
        return 0;
    if (plan.how == DSGD_COLLECTIVE_NCCL)
        return nccl_s(in, &c);
    for (int round = 0; round < plan.n_rounds; round++) {
        size_t n_flows = 0;
        double bytes = 0, cost_s = 0;
        for (int i = 0; i < n; i++) {
            const dsgd_phase phase = dsgd_plan_phase(&plan, round, i);
            cost_s = fmax(
                cost_s, phase.to < 0 && phase.from < 0 ? 0 : dsgd_phase_cost_s(in->worker, &phase));
            bytes = fmax(bytes, phase.bytes);
            for (int k = 0; k < n_groups && phase.to >= 0; k++)
                in->flows[n_flows++] =
                    ends_of(in, member_of(in, &c, k, i), member_of(in, &c, k, phase.to));
        }
        seconds += cost_s + dsgd_closed_form_flows_s(in->engine->config->platform, n_flows,
                                                     in->flows, bytes);
    }
    return seconds;
}

/**
 * Returns the time that the second host of stage @p d needs to send the state of the stage to the
 * first host.
 */
static double copy_s(const messages *in, int d)
{
    const dsgd_platform *const platform = in->engine->config->platform;
    const double bytes = dsgd_stage_hosts_state_bytes(in->engine, d);
    in->flows[0] = ends_of(in, host_of(in, d, 0, 1), host_of(in, d, 0, 0));
    return dsgd_closed_form_flows_s(platform, 1, in->flows, bytes) +
           dsgd_platform_message_s(platform, bytes);
}

static void cost_stage(const messages *in, int d)
{
    const dsgd_engine *const engine = in->engine;
    const dsgd_replica *const g = engine->hybrid.replica;
    const dsgd_replica_costs *const costs = &in->worker->replica->costs;
    const double micro_batch_bytes =
        g->inner->activation_bytes / (double)g->pipeline->shape.n_micro_batches;
    const double model_bytes = engine->layout.bytes * g->share[d];
    const double job_bytes = model_bytes / (double)g->pipeline->shape.n_jobs;
    const double layer_bytes = job_bytes / g->layers[d] / g->n_tensor;
    const int next = (d + 1) % g->n_stages;
    costs->message_s[d] = next == d ? 0 : message_s(in, d, next, micro_batch_bytes, false);
    costs->sum_s[d] =
        collective_s(in, (collective){d, true, DSGD_ALLREDUCE, micro_batch_bytes / g->n_shards});
    if (g->n_stage_hosts > 1) {
        costs->merge_s[d] = collective_s(in, (collective){d, false, DSGD_ALLREDUCE, job_bytes});
        costs->copy_s[d] = copy_s(in, d);
        return;
    }
    costs->gather_s[d] = collective_s(in, (collective){d, false, DSGD_ALLGATHER, layer_bytes});
    costs->scatter_s[d] =
        collective_s(in, (collective){d, false, DSGD_REDUCE_SCATTER, layer_bytes});
    const int other = g->n_stages - 1 - d;
    if (g->pipeline->weights > 1 && other != d)
        costs->merge_s[d] = message_s(in, d, other, job_bytes, true);
}

/* --- messages in a step ----------------------------------------------------------------------- */

static bool share_island(const messages *in, int a, int b)
{
    return dsgd_platform_same_island(in->engine->config->platform, place_of(in, a),
                                     place_of(in, b));
}

/**
 * Adds a stream of @p bytes between two hosts of the worker. Does nothing if both hosts are the
 * same.
 */
static void add_stream(const messages *in, int from, int to, double bytes)
{
    dsgd_replica_state *const m = in->worker->replica;
    if (from == to || bytes <= 0)
        return;
    m->streams = dsgd_xrealloc(m->streams, m->n_streams + 1, sizeof *m->streams);
    m->streams[m->n_streams++] = (dsgd_inner_stream){
        .from = from, .to = to, .on_wires = !share_island(in, from, to), .bytes = bytes};
}

/** Adds a stream from the i-th chosen host to the next chosen host on the same node. */
static void add_within(const messages *in, int n, int i, double bytes)
{
    const int here = in->chosen[i];
    int next = (i + 1) % n;
    while (next != i && !share_island(in, here, in->chosen[next]))
        next = (next + 1) % n;
    add_stream(in, here, in->chosen[next], bytes);
}

/**
 * Adds the streams of a group's ring, in which each member sends c->bytes to the next member. NCCL
 * makes as many rings as a node has NICs. Each ring carries an equal part of the bytes. A ring
 * enters and leaves every node by its own NIC, and passes through all GPUs of the node.
 */
static void add_ring(const messages *in, const collective *c, int group)
{
    const int n = choose_group(in, c, group);
    dsgd_nccl_shape shape = {.n_nodes = 1};
    if (in->nodes != NULL)
        shape = dsgd_nodes_shape(in->nodes, in->chosen, n);
    for (int i = 0; i < n && c->bytes > 0; i++) {
        int to = in->chosen[(i + 1) % n], from = -1;
        if (shape.n_nodes > 1)
            dsgd_nodes_stream(in->nodes, in->chosen[i], &to, &from);
        if (to >= 0)
            add_stream(in, in->chosen[i], to, shape.n_nodes > 1 ? c->bytes / shape.nics : c->bytes);
        if (shape.n_nodes > 1 && shape.n_nodes < n)
            add_within(in, n, i, c->bytes * (1 - (double)shape.n_nodes / n));
    }
}

/**
 * Adds the rings of the sums and gathers of stage @p d. With swarm, a stage has only the sum of
 * gradients.
 */
static void add_rings(const messages *in, int d)
{
    const dsgd_replica *const g = in->engine->hybrid.replica;
    const double n = g->n_tensor, s = g->n_shards;
    const double sums = 4 * g->layers[d] * 2 * (n - 1) / n * g->inner->activation_bytes / s;
    const dsgd_pipeline_shape *const shape = &g->pipeline->shape;
    /* number of gathers and scatters of each layer */
    const int64_t passes = 3 * shape->n_micro_batches / shape->n_jobs;
    const double gathers = (g->n_stage_hosts > 1 ? 2 : (double)passes) * (s - 1) / s *
                           in->engine->layout.bytes * g->share[d] / n;
    for (int k = 0; k < g->n_shards; k++)
        add_ring(in, &(collective){.stage = d, .of_tensor = true, .bytes = sums}, k);
    for (int k = 0; k < g->n_tensor; k++)
        add_ring(in, &(collective){.stage = d, .of_tensor = false, .bytes = gathers}, k);
}

/**
 * Adds three kinds of streams: activations forward, their gradients backward, and gradients that
 * two hosts merge.
 */
static void add_streams(const messages *in, int d, int shard, int tensor)
{
    const dsgd_replica *const g = in->engine->hybrid.replica;
    const double all = g->inner->activation_bytes;
    const double model_bytes = in->engine->layout.bytes * g->share[d];
    const int here = host_of(in, d, shard, tensor);
    /* number of parts of this stage that have their next part on the next host */
    const size_t borders =
        (g->n_parts_each + (size_t)g->n_stages - 2 - (size_t)d) / (size_t)g->n_stages;
    /* the first receiver (p = 0) is the host of the same shard */
    for (int p = 0; p < g->n_stage_hosts; p++) {
        const int next = host_of(in, (d + 1) % g->n_stages, (shard + p) % g->n_shards, tensor);
        const double bytes = all / g->n_beside / g->n_stage_hosts * (double)borders;
        add_stream(in, here, next, bytes);
        add_stream(in, next, here, bytes);
    }
    if (g->pipeline->weights > 1)
        add_stream(in, here, host_of(in, g->n_stages - 1 - d, shard, tensor),
                   model_bytes / g->n_beside);
}

void dsgd_inside_cost(dsgd_engine *engine)
{
    const dsgd_replica *const g = engine->hybrid.replica;
    const dsgd_platform *const platform = engine->config->platform;
    if (g == NULL)
        return;
    const size_t n = 2 * (size_t)g->n_hosts;
    messages in = {.engine = engine,
                   .flows = dsgd_run_alloc(engine, n * sizeof *in.flows),
                   .chosen = dsgd_run_alloc(engine, n * sizeof *in.chosen)};
    if (platform->library != DSGD_LIBRARY_MPI)
        in.nodes = dsgd_nodes_new(platform, dsgd_cluster_places(), dsgd_n_hosts(engine));
    for (int w = 0; w < engine->n_workers; w++) {
        in.worker = &engine->workers[w];
        for (int d = 0; d < g->n_stages; d++) {
            cost_stage(&in, d);
            add_rings(&in, d);
        }
        for (int i = 0; i < g->n_hosts; i++)
            add_streams(&in, i / g->n_beside, i % g->n_beside / g->n_tensor, i % g->n_tensor);
        for (size_t i = 0; i < in.worker->replica->n_streams && g->inner->contention; i++)
            engine->hybrid.on_wires |= in.worker->replica->streams[i].on_wires;
    }
    dsgd_run_free(in.flows);
    dsgd_run_free(in.chosen);
}
