/**
 * @file inside.c
 * Messages between the hosts of one worker, by closed forms of the platform: the hosts of a stage send at once, and nobody else. A
 * micro-batch's activations are divided among all hosts of a stage, on both sides (sequence parallelism); sums and gathers are
 * collectives of the run's library, of all groups of a stage at once.
 */
#include "sim/exchange/inside.h"

#include "sim/exchange/closed.h"
#include "sim/exchange/plan.h"
#include "sim/network/nodes.h"
#include "traces/closed_form.h"

/** One worker. */
typedef struct inside {
    dsgd_engine *engine;
    dsgd_worker *worker;
    dsgd_nodes *nodes; /* of NCCL's collectives */
    int (*flows)[2]; /* [n_hosts] of a message or round, by places */
    int *chosen; /* [n_hosts] of a collective, hosts of the cluster */
} inside;

/** Of a worker's hosts: of a stage, a shard and a place in the tensor group. */
static int host_of(const inside *in, int stage, int shard, int tensor)
{
    const dsgd_replica *const g = in->engine->replica;
    return dsgd_cluster_host(in->worker->host,
                             (stage * g->n_shards + shard) * g->n_tensor + tensor);
}

static int place_of(const inside *in, int stage, int beside)
{
    const int host = host_of(in, stage, 0, beside);
    return in->engine->carriers[host].place;
}

/** From each host of a stage to that of another, and back where @p both. */
static double message_s(const inside *in, int from, int to, double bytes, bool both)
{
    const dsgd_platform *const platform = in->engine->config->platform;
    const int n = in->engine->replica->n_beside;
    size_t n_flows = 0;
    for (int i = 0; i < n * (both ? 2 : 1); i++, n_flows++) {
        in->flows[n_flows][0] = place_of(in, i < n ? from : to, i % n);
        in->flows[n_flows][1] = place_of(in, i < n ? to : from, i % n);
    }
    bytes /= n;
    return bytes <= 0
               ? 0
               : dsgd_closed_form_flows_s(platform, n_flows, (const int(*)[2])in->flows, bytes) +
                     dsgd_platform_message_s(platform, bytes);
}

/** A collective of a stage's tensor groups, or else of the hosts that have the same place in these, all at once. */
typedef struct collective {
    int stage;
    bool of_tensor;
    dsgd_part part;
    double bytes;
} collective;

static int member_of(const inside *in, const collective *c, int group, int index)
{
    return c->of_tensor ? host_of(in, c->stage, group, index) : host_of(in, c->stage, index, group);
}

static double nccl_s(const inside *in, const collective *c, int n)
{
    for (int i = 0; i < n; i++)
        in->chosen[i] = member_of(in, c, 0, i);
    const dsgd_nccl_shape shape = dsgd_nodes_shape(in->nodes, in->chosen, n);
    const dsgd_nccl_cost cost = dsgd_nccl_cost_of(
        &in->engine->config->platform->nccl, &shape,
        c->part == DSGD_ALLREDUCE ? DSGD_NCCL_ALLREDUCE : DSGD_NCCL_SHARES, c->bytes);
    return dsgd_nccl_s(&cost, c->bytes);
}

static double collective_s(const inside *in, collective c)
{
    const dsgd_replica *const g = in->engine->replica;
    const int n = c.of_tensor ? g->n_tensor : g->n_shards;
    const int n_groups = g->n_beside / n;
    const dsgd_plan plan = dsgd_plan_of(dsgd_way_of(in->engine->config, false), c.part, n, c.bytes);
    double seconds = 0;
    if (n == 1 || c.bytes <= 0)
        return 0;
    if (plan.how == DSGD_COLLECTIVE_NCCL)
        return nccl_s(in, &c, n);
    for (int round = 0; round < plan.n_rounds; round++) {
        size_t n_flows = 0;
        double bytes = 0, cost_s = 0;
        for (int i = 0; i < n; i++) {
            const dsgd_phase phase = dsgd_plan_phase(&plan, round, i);
            cost_s = fmax(
                cost_s, phase.to < 0 && phase.from < 0 ? 0 : dsgd_phase_cost_s(in->worker, &phase));
            bytes = fmax(bytes, phase.bytes);
            for (int k = 0; k < n_groups && phase.to >= 0; k++, n_flows++) {
                in->flows[n_flows][0] = in->engine->carriers[member_of(in, &c, k, i)].place;
                in->flows[n_flows][1] = in->engine->carriers[member_of(in, &c, k, phase.to)].place;
            }
        }
        seconds += cost_s + dsgd_closed_form_flows_s(in->engine->config->platform, n_flows,
                                                     (const int(*)[2])in->flows, bytes);
    }
    return seconds;
}

static void cost_stage(const inside *in, int d)
{
    const dsgd_engine *const engine = in->engine;
    const dsgd_replica *const g = engine->replica;
    const dsgd_replica_costs *const costs = &in->worker->inside->costs;
    const double micro_batch_bytes =
        g->inner->activation_bytes / (double)g->pipeline->shape.n_micro_batches;
    const double model_bytes = engine->bytes * g->share[d];
    const double layer_bytes = model_bytes / g->layers[d] / g->n_tensor;
    const int next = (d + 1) % g->n_stages;
    costs->message_s[d] = next == d ? 0 : message_s(in, d, next, micro_batch_bytes, false);
    costs->sum_s[d] =
        collective_s(in, (collective){d, true, DSGD_ALLREDUCE, micro_batch_bytes / g->n_shards});
    costs->gather_s[d] = collective_s(in, (collective){d, false, DSGD_ALLGATHER, layer_bytes});
    costs->scatter_s[d] =
        collective_s(in, (collective){d, false, DSGD_REDUCE_SCATTER, layer_bytes});
    const int other = g->n_stages - 1 - d;
    if (g->pipeline->weights > 1 && other != d)
        costs->merge_s[d] = message_s(in, d, other, model_bytes, true);
}

void dsgd_inside_cost(dsgd_engine *engine)
{
    const dsgd_replica *const g = engine->replica;
    const dsgd_platform *const platform = engine->config->platform;
    if (g == NULL)
        return;
    const size_t n = 2 * (size_t)g->n_hosts;
    inside in = {.engine = engine,
                 .flows = dsgd_run_alloc(engine, n * sizeof *in.flows),
                 .chosen = dsgd_run_alloc(engine, n * sizeof *in.chosen)};
    if (platform->library != DSGD_LIBRARY_MPI)
        in.nodes = dsgd_nodes_new(platform, dsgd_cluster_places(), dsgd_n_hosts(engine));
    for (int w = 0; w < engine->n_workers; w++) {
        in.worker = &engine->workers[w];
        for (int d = 0; d < g->n_stages; d++)
            cost_stage(&in, d);
    }
    dsgd_run_free(in.flows);
    dsgd_run_free(in.chosen);
}
