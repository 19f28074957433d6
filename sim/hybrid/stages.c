/**
 * @file stages.c
 * Steps of workers that are groups of hosts (sim/hybrid/replica.h). This file computes the times of
 * steps, the times at which chunks are ready, and the messages between the hosts of a worker.
 *
 * These messages use the network if the worker's hosts are on different nodes. Between two chunks,
 * the computation sends a share of the messages' bytes that is equal to its share of the step.
 * Other messages compete with these messages. The messages themselves are never late, because the
 * schedule already includes their time without other traffic.
 */
#include "base/round.h"
#include "sim/hybrid/stage_hosts.h"
#include "sim/observe/observe.h"
#include "sim/result.h"

double dsgd_stages_time_s(dsgd_worker *w, dsgd_step_at at)
{
    const dsgd_engine *const engine = w->engine;
    const dsgd_replica *const replica = engine->hybrid.replica;
    const double each_s = engine->config->workload->step_s / replica->n_hosts;
    at.n_workers *= replica->n_hosts;
    const int of_group = replica->n_hosts / replica->n_groups;
    for (int i = 0; i < replica->n_groups; i++)
        replica->slowness[i] = 0;
    for (int lane = 0; lane < replica->n_hosts; lane++) {
        double *const slowness = &replica->slowness[lane / of_group];
        at.worker = w->node.rank * replica->n_hosts + lane;
        const double of_lane = dsgd_imbalance_seconds(engine->imbalance, each_s, at) / each_s *
                               engine->accounts.carriers[dsgd_cluster_host(w->host, lane)].slowness;
        *slowness = dsgd_greater(*slowness, of_lane);
        w->replica->lane_slow[lane] += of_lane;
    }
    dsgd_stage_hosts_step(w, replica->slowness);
    return w->replica->step_s;
}

/**
 * Returns the time from the start of the computation until chunk @p k is ready, for a worker that
 * is a group of hosts. A chunk is never ready before an earlier chunk.
 */
static double ready_s(const dsgd_worker *w, size_t k)
{
    const dsgd_computation *const c = &w->gpu.computation;
    const dsgd_replica_state *const m = w->replica;
    const int part = w->engine->layout.piece_part[k];
    const double later_s = m->tail_s[part] * w->engine->layout.piece_later[k];
    if (k + 1 == w->engine->layout.n_pieces)
        return c->compute_s;
    return dsgd_greater(c->ready_at_s,
                        c->compute_s - (m->step_s - m->ready_s[part] + later_s) * c->group_s);
}

double dsgd_stages_next_s(dsgd_worker *w)
{
    dsgd_computation *const c = &w->gpu.computation;
    const double before_s = c->ready_at_s;
    w->gpu.until = c->ready;
    c->ready_at_s = ready_s(w, w->gpu.until++);
    while (w->gpu.until < w->engine->layout.n_pieces && ready_s(w, w->gpu.until) <= c->ready_at_s)
        w->gpu.until++;
    return c->ready_at_s - before_s;
}

void dsgd_stages_send(dsgd_worker *w, double seconds)
{
    const dsgd_computation *const c = &w->gpu.computation;
    const dsgd_replica_state *const m = w->replica;
    const double share = c->compute_s > 0 ? c->share * seconds / c->compute_s : 0;
    for (size_t i = 0; w->engine->hybrid.on_wires && i < m->n_streams; i++)
        if (m->streams[i].on_wires)
            dsgd_pass_bytes(m->streams[i].from, m->streams[i].to, share * m->streams[i].bytes);
}

/** A worker whose passes are recorded in the timeline. */
typedef struct watch {
    const dsgd_worker *worker;
    double virtual_s; /* number of virtual seconds per second of the schedule */
} watch;

static void record(const watch *of, const dsgd_pipeline_pass *pass, const char *verb)
{
    const double since_s = of->worker->gpu.computation.since_s;
    dsgd_timeline_record(of->worker->engine,
                         (dsgd_span){.kind = DSGD_SPAN_PASS,
                                     .host = of->worker->host,
                                     .peer = -1,
                                     .track = (int)pass->host,
                                     .piece = pass->micro_batch,
                                     .version = -1,
                                     .since_s = since_s + of->virtual_s * pass->since_s,
                                     .end_s = since_s + of->virtual_s * pass->end_s,
                                     .turn_s = INFINITY,
                                     .verb = verb});
}

static void record_pass(void *listener, const dsgd_pipeline_pass *pass)
{
    static const char *const verbs[] = {[DSGD_FORWARD] = "forward",
                                        [DSGD_BACKWARD] = "backward",
                                        [DSGD_WEIGHTS] = "weights",
                                        [DSGD_LOST] = "lost"};
    record(listener, pass, verbs[pass->phase]);
}
/** Records the passes of a step, and the absences of hosts during the step. */
static void record_all(watch *of)
{
    const dsgd_replica_state *const m = of->worker->replica;
    dsgd_replica_watch(of->worker->engine->hybrid.replica, m, record_pass, of);
    for (int64_t i = 0; i < m->n_away; i++) {
        const dsgd_absence *const a = &m->away[i];
        const dsgd_pipeline_pass all = {a->host, -1, DSGD_LOST, fmax(0, a->since_s),
                                        fmin(m->step_s, a->end_s)};
        record(of, &all, a->moves ? "moves" : "away");
    }
}

/**
 * Records the passes of a step in the timeline, if the run has one and the step was computed as a
 * whole.
 */
static void record_passes(const dsgd_worker *w)
{
    const dsgd_computation *const c = &w->gpu.computation;
    const dsgd_timeline *const t = w->engine->accounts.timeline;
    watch of = {.worker = w, .virtual_s = (c->end_s - c->since_s) / w->replica->step_s};
    if (t != NULL && t->ended == NULL && c->forward == 0 && c->share >= 1)
        record_all(&of);
}

void dsgd_stages_end(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    const dsgd_computation *const c = &w->gpu.computation;
    dsgd_replica_state *const m = w->replica;
    record_passes(w);
    const double pass = c->forward > 0 && c->compute_s > 0 ? c->pass_s / c->compute_s : 1;
    for (int d = 0; d < engine->hybrid.replica->n_stages; d++)
        m->slow[d] += pass * dsgd_replica_slowness(engine->hybrid.replica, m, d);
    for (size_t i = 0; engine->result->virtual_s <= 0 && i < m->n_streams; i++) {
        const double bytes = pass * c->share * m->streams[i].bytes;
        engine->result->inner_bytes += bytes;
        dsgd_count_carried(engine, m->streams[i].from, m->streams[i].to, bytes);
    }
    dsgd_stage_hosts_step_end(w, c->end_s - c->since_s);
}
