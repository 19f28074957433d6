/**
 * @file replica.c The parts of the model on the hosts of a worker, and the times of a step. A step
 * is a pipeline schedule. Each task takes the time of a stage's layers and of the messages that the
 * layers wait for.
 *
 * With tensor parallelism a layer sums over its tensor group twice in each direction, and computes
 * nothing during the sums (Shoeybi et al., "Megatron-LM", 2019). With shards, the parameters of a
 * layer are gathered while the previous layer computes, and the gradient of a layer is scattered
 * while the next layer computes. For l layers with a computation of f, a gather of g and a scatter
 * of s, the forward pass takes g + f + (l - 1) max(f, g), and the backward pass takes g + f + (l -
 * 1) max(f, g + s) + s. Gathers and scatters are repeated for each micro-batch (Zhao et al.,
 * "PyTorch FSDP", 2023, without `reshard_after_forward: false`).
 */
#include "sim/hybrid/replica.h"

/**
 * Divides the model evenly among its parts. With a transformer, the borders of parts are borders of
 * layers.
 */
static void divide_model(dsgd_replica *replica, const dsgd_workload *workload)
{
    const dsgd_transformer *const t = &workload->transformer;
    const double layers = t->parameters > 0 ? (double)t->layers : 0;
    for (size_t p = 0; p <= replica->n_parts; p++) {
        const size_t each = replica->n_parts_each, job = p / each;
        const double share = (double)(p % each) / (double)each;
        replica->begin[p] =
            ((double)job + (layers > 0 ? floor(share * layers + 1e-9) / layers : share)) *
            (double)each / (double)replica->n_parts;
    }
    for (size_t p = 0; p < replica->n_parts; p++)
        replica->share[dsgd_replica_stage(replica, p)] += replica->begin[p + 1] - replica->begin[p];
    for (int d = 0; d < replica->n_stages; d++)
        replica->layers[d] = layers > 0 ? round(replica->share[d] * layers) : 1;
}

dsgd_status dsgd_replica_open(const dsgd_workload *workload, dsgd_replica **replica,
                              dsgd_error *error)
{
    const dsgd_inner *const inner = &workload->inner;
    *replica = NULL;
    if (dsgd_workload_hosts(workload) == 1)
        return DSGD_OK;
    const int64_t jobs = dsgd_at_least_one(inner->pipeline.jobs);
    const dsgd_pipeline_shape shape = {.kind = (dsgd_pipeline_kind)inner->pipeline.schedule,
                                       .n_stages = dsgd_at_least_one(inner->pipeline.stages),
                                       .n_micro_batches =
                                           jobs * dsgd_at_least_one(inner->pipeline.micro_batches),
                                       .n_chunks = dsgd_at_least_one(inner->pipeline.chunks),
                                       .n_jobs = jobs,
                                       .n_stage_hosts = dsgd_at_least_one(inner->pipeline.peers)};
    dsgd_error why;
    if (dsgd_pipeline_check(&shape, &why) != DSGD_OK)
        return dsgd_refuse(error, "workload: inner: pipeline: %s", why.text);
    dsgd_replica *const g = *replica = dsgd_xcalloc(1, sizeof *g);
    const size_t n = (size_t)shape.n_stages;
    g->inner = inner;
    g->n_hosts = dsgd_workload_hosts(workload);
    g->n_stages = (int)n;
    g->n_tensor = (int)dsgd_at_least_one(inner->tensor);
    g->n_stage_hosts = (int)shape.n_stage_hosts;
    g->n_shards = g->n_stage_hosts > 1 ? g->n_stage_hosts : (int)dsgd_at_least_one(inner->shards);
    g->n_beside = g->n_tensor * g->n_shards;
    g->n_groups = g->n_stages * g->n_stage_hosts;
    const int of_group = g->n_beside / g->n_stage_hosts;
    const double all_s = workload->step_s / (double)shape.n_micro_batches / of_group;
    g->forward_s = all_s * (1 - workload->backward_share);
    g->backward_s = all_s * workload->backward_share;
    g->n_parts_each = n * (size_t)(shape.kind == DSGD_PIPELINE_INTERLEAVED ? shape.n_chunks : 1);
    g->n_parts = (size_t)jobs * g->n_parts_each;
    g->begin = dsgd_xcalloc(g->n_parts + 1, sizeof *g->begin);
    g->share = dsgd_xcalloc(2 * n, sizeof *g->share);
    g->layers = g->share + n;
    g->pipeline = dsgd_pipeline_new(&shape);
    g->end_s = dsgd_xcalloc((size_t)g->pipeline->n_tasks, sizeof *g->end_s);
    g->gradient_s = dsgd_xcalloc(n * (size_t)(g->pipeline->n_slots * jobs), sizeof *g->gradient_s);
    g->seconds = dsgd_xcalloc(2 * (n + (size_t)g->n_groups), sizeof *g->seconds);
    g->slowness = g->seconds + 2 * n + g->n_groups;
    divide_model(g, workload);
    return DSGD_OK;
}

void dsgd_replica_close(dsgd_replica *replica)
{
    if (replica == NULL)
        return;
    dsgd_pipeline_free(replica->pipeline);
    free(replica->begin);
    free(replica->share);
    free(replica->end_s);
    free(replica->gradient_s);
    free(replica->seconds);
    free(replica);
}

dsgd_replica_state *dsgd_replica_state_new(const dsgd_replica *replica)
{
    enum { ARRAYS = 7 }; /* number of arrays that have n_stages elements each */
    const size_t n = (size_t)replica->n_stages;
    dsgd_replica_state *const m = dsgd_xcalloc(1, sizeof *m);
    double *const all = dsgd_xcalloc((size_t)replica->n_groups + ARRAYS * n + 2 * replica->n_parts +
                                         (size_t)replica->n_hosts,
                                     sizeof *all);
    /*
     * slowness points to the start of the memory, because dsgd_replica_state_free() frees slowness
     */
    m->slowness = all;
    double *const of = all + replica->n_groups;
    m->costs = (dsgd_replica_costs){of, of + n, of + 2 * n, of + 3 * n, of + 4 * n, of + 5 * n};
    m->slow = of + 6 * n;
    m->ready_s = of + ARRAYS * n;
    m->tail_s = m->ready_s + replica->n_parts;
    m->lane_slow = m->tail_s + replica->n_parts;
    const size_t groups = (size_t)replica->n_groups;
    m->stage_of = dsgd_xcalloc(groups, sizeof *m->stage_of);
    for (size_t i = 0; i < groups; i++)
        m->stage_of[i] = (int32_t)i / replica->n_stage_hosts;
    m->measured = dsgd_xcalloc(2 * groups, sizeof *m->measured);
    m->measured_then = m->measured + groups;
    return m;
}

void dsgd_replica_state_free(dsgd_replica_state *member)
{
    free(member->slowness);
    free(member->stage_of);
    free(member->measured);
    free(member->streams);
    free(member);
}

/* --- functions for the parts of the model ----------------------------------------------------- */

size_t dsgd_replica_part(const dsgd_replica *replica, double share)
{
    size_t p = replica->n_parts - 1;
    while (p > 0 && 1 - share < replica->begin[p])
        p--;
    return p;
}

size_t dsgd_replica_cut(const dsgd_replica *replica, size_t n, double **bytes)
{
    /*
     * Tolerance for borders, as a share of the vector. If the border of a part and the border of a
     * chunk differ by less, they count as equal.
     */
    static const double rounding = 1e-9;
    double *const cut = dsgd_xcalloc(n + replica->n_parts, sizeof *cut);
    double all = 0, begin = 0;
    size_t n_cut = 0, part = replica->n_parts - 1;
    for (size_t k = 0; k < n; k++)
        all += (*bytes)[k];
    for (size_t k = 0; k < n; k++) {
        const double end = begin + (*bytes)[k];
        double at = begin;
        for (; part > 0 && all * (1 - replica->begin[part]) < end - rounding * all; part--) {
            const double border = all * (1 - replica->begin[part]);
            if (border > at + rounding * all) {
                cut[n_cut++] = border - at;
                at = border;
            }
        }
        cut[n_cut++] = at > begin ? end - at : (*bytes)[k];
        begin = end;
    }
    free(*bytes);
    *bytes = cut;
    return n_cut;
}

/* --- functions that compute the times of a step ----------------------------------------------- */

/**
 * Returns the time of one pass of a micro-batch through a stage, in which each layer takes @p
 * layer_s. The gathers and scatters of a layer overlap with the computation of its neighbour.
 */
static double pass_s(const dsgd_replica *replica, int stage, double layer_s, double gather_s,
                     double scatter_s)
{
    const double others = replica->layers[stage] - 1;
    return gather_s + layer_s + others * fmax(layer_s, gather_s + scatter_s) + scatter_s;
}

/**
 * Computes the forward and backward times of a micro-batch in stage @p d, on a host with slowness
 * @p slowness.
 */
static void stage_s(const dsgd_replica *replica, const dsgd_replica_costs *costs, int d,
                    double slowness, double *forward_s, double *backward_s)
{
    const double of_layer = replica->share[d] * slowness / replica->layers[d];
    const double sums_s = 2 * costs->sum_s[d];
    *forward_s = pass_s(replica, d, replica->forward_s * of_layer + sums_s, costs->gather_s[d], 0);
    *backward_s = pass_s(replica, d, replica->backward_s * of_layer + sums_s, costs->gather_s[d],
                         costs->scatter_s[d]);
}

double dsgd_replica_work_s(const dsgd_replica *replica, const dsgd_replica_state *m, int stage)
{
    double forward_s = 0, backward_s = 0;
    stage_s(replica, &m->costs, stage, 1, &forward_s, &backward_s);
    return forward_s + backward_s;
}

/* time to compute the gradient of the weights, as a share of a backward pass */
static const double weights_share = 0.5;

/**
 * Computes the time at which each part of the gradient is ready. Increases m->step_s if a part is
 * ready later.
 */
static void find_ready(const dsgd_replica *replica, dsgd_replica_state *m, const double *backward_s)
{
    const dsgd_pipeline *const pipeline = replica->pipeline;
    const bool merges = replica->pipeline->weights > 1 || replica->n_stage_hosts > 1;
    const double chunks = (double)replica->n_parts_each / replica->n_stages;
    const int64_t jobs = pipeline->shape.n_jobs;
    const double last = pipeline->shape.kind == DSGD_PIPELINE_ZERO_BUBBLE ? weights_share : 1;
    for (size_t p = 0; p < replica->n_parts; p++) {
        m->ready_s[p] = 0;
        m->tail_s[p] = merges ? 0 : last * backward_s[dsgd_replica_stage(replica, p)] / chunks;
    }
    for (int64_t d = 0; d < replica->n_stages; d++)
        for (int64_t i = 0; i < pipeline->n_slots * jobs; i++) {
            const size_t first = (size_t)dsgd_pipeline_part(&pipeline->shape, d, i / jobs);
            const size_t p = (size_t)(jobs - 1 - i % jobs) * replica->n_parts_each + first;
            const double merged_s = replica->gradient_s[d * pipeline->n_slots * jobs + i] +
                                    m->costs.merge_s[dsgd_replica_stage(replica, p)];
            m->ready_s[p] = fmax(m->ready_s[p], merged_s);
        }
    for (size_t p = 0; p < replica->n_parts; p++)
        m->step_s = fmax(m->step_s, m->ready_s[p]);
}

/**
 * Computes a step of the pipeline with the slowness in @p m. Afterwards replica->seconds contains
 * forward_s[n_stages], then backward_s[n_stages].
 */
static dsgd_pipeline_times run_step(const dsgd_replica *replica, const dsgd_replica_state *m,
                                    void (*done)(void *, const dsgd_pipeline_pass *),
                                    void *listener)
{
    double *const forward_s = replica->seconds, *const backward_s = forward_s + replica->n_stages;
    /*
     * Slowness of each host, which is used if a host has two stages or a stage has several hosts.
     */
    double *const factor = backward_s + replica->n_stages;
    const bool is_apart = replica->pipeline->weights > 1 || replica->n_stage_hosts > 1;
    for (int i = 0; i < replica->n_groups; i++) {
        const int d = m->stage_of[i];
        const double slowness = m->slowness[i];
        double slow_forward_s = 0, slow_backward_s = 0;
        stage_s(replica, &m->costs, d, slowness, &slow_forward_s, &slow_backward_s);
        stage_s(replica, &m->costs, d, is_apart ? 1 : slowness, &forward_s[d], &backward_s[d]);
        factor[i] = (slow_forward_s + slow_backward_s) / (forward_s[d] + backward_s[d]);
    }
    const bool measures = replica->inner->pipeline.speeds > 0;
    memcpy(m->measured_then, m->measured, (size_t)replica->n_groups * sizeof *m->measured);
    const dsgd_pipeline_seconds seconds = {.forward_s = forward_s,
                                           .backward_s = backward_s,
                                           .weights_share = weights_share,
                                           .message_s = m->costs.message_s,
                                           .slowness = is_apart ? factor : NULL,
                                           .stage_of = m->stage_of,
                                           .measured = measures ? m->measured_then : NULL,
                                           .away = m->away,
                                           .n_away = m->n_away,
                                           .done = done,
                                           .listener = listener};
    return dsgd_pipeline_run(replica->pipeline, &seconds, replica->end_s, replica->gradient_s);
}

void dsgd_replica_step(const dsgd_replica *replica, dsgd_replica_state *m, const double *slowness)
{
    const size_t groups_bytes = (size_t)replica->n_groups * sizeof *slowness;
    if (m->is_current && m->n_away == 0 && memcmp(m->slowness, slowness, groups_bytes) == 0)
        return;
    m->is_current = m->n_away == 0 && replica->inner->pipeline.speeds == 0;
    memcpy(m->slowness, slowness, groups_bytes);
    const dsgd_pipeline_times times = run_step(replica, m, NULL, NULL);
    m->step_s = times.makespan_s;
    m->lost_s = times.lost_s;
    find_ready(replica, m, replica->seconds + replica->n_stages);
    m->bubble_share = 1 - (1 - times.bubble_share) * times.makespan_s / m->step_s;
}

void dsgd_replica_next(const dsgd_replica *replica, dsgd_replica_state *m)
{
    memcpy(m->measured, m->measured_then, (size_t)replica->n_groups * sizeof *m->measured);
}

void dsgd_replica_watch(const dsgd_replica *replica, const dsgd_replica_state *member,
                        void (*done)(void *listener, const dsgd_pipeline_pass *pass),
                        void *listener)
{
    run_step(replica, member, done, listener);
}

double dsgd_replica_slowness(const dsgd_replica *replica, const dsgd_replica_state *member,
                             int stage)
{
    const int n = replica->n_stage_hosts;
    double speeds = 0;
    if (n == 1)
        return member->slowness[stage];
    for (int i = 0; i < replica->n_groups; i++)
        if (member->stage_of[i] == stage)
            speeds += 1 / member->slowness[i];
    for (int64_t i = 0; i < member->n_away; i++) {
        const dsgd_absence *const a = &member->away[i];
        const double away_s = fmin(a->end_s, member->step_s) - fmax(a->since_s, 0);
        if (member->stage_of[a->host] == stage && away_s > 0)
            speeds -= away_s / member->step_s / member->slowness[a->host];
    }
    return n / speeds;
}
