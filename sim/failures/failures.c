/**
 * @file failures.c Determines which workers fail, and the times at which they fail.
 */
#include "sim/failures/failures.h"

#include "sim/result.h"
#include "sim/run.h"

bool dsgd_goes_on(const dsgd_run_config *config)
{
    const dsgd_algorithm *const a = config->algorithm;
    const unsigned traits = dsgd_traits_of(a, config->params);
    if (config->failures.policy == DSGD_POLICY_QUORUM)
        return traits & DSGD_QUORUM;
    return config->failures.policy == DSGD_POLICY_OWN && !(traits & DSGD_RESTARTS) &&
           (a->comes_back != NULL || (traits & DSGD_REJOINS));
}

bool dsgd_stage_hosts_fail(const dsgd_run_config *config)
{
    const dsgd_failures_config *const f = &config->failures;
    const dsgd_failure_event *const events = f->events.v;
    bool fail = f->mtbf_s > 0 && f->per != DSGD_PER_WORKER;
    for (size_t i = 0; i < f->events.n && !fail; i++)
        fail = events[i].host >= 0;
    return fail && config->workload->inner.pipeline.peers > 1;
}

bool dsgd_all_restart(const dsgd_engine *engine)
{
    return engine->failures.state != NULL && !engine->failures.others_continue &&
           engine->failures.state->config.policy != DSGD_POLICY_NONE;
}

int dsgd_failed_worker(const dsgd_engine *engine, const dsgd_failure *failure)
{
    int worker = 0;
    while (!dsgd_failure_is_of(engine->failures.state->source, failure, worker))
        worker++;
    return worker;
}

dsgd_failure dsgd_next_failure(dsgd_engine *engine)
{
    struct dsgd_failure_state *const f = engine->failures.state;
    const dsgd_failure failure = f->next;
    dsgd_failure_times *const times = &engine->result->failures;
    f->next = dsgd_failures_next(f->source);
    f->in_a_row++;
    if (times->n++ < DSGD_MOST_LISTED) {
        times->listed = dsgd_xrealloc(times->listed, (size_t)times->n, sizeof *times->listed);
        times->listed[times->n - 1] =
            (struct dsgd_failed){dsgd_failed_worker(engine, &failure), failure.down_s};
    }
    return failure;
}

void dsgd_fail_worker(dsgd_worker *w, double down_s, double up_s)
{
    dsgd_engine *const engine = w->engine;
    struct dsgd_failure_state *const f = engine->failures.state;
    if (f->config.policy == DSGD_POLICY_NONE) {
        w->presence.dies_s = fmin(w->presence.dies_s, down_s);
        return;
    }
    dsgd_failures_add(
        f->source, (dsgd_failure){fmax(down_s, dsgd_time_now_s(engine)), up_s, w->node.rank, -1});
    if (f->next.down_s < INFINITY)
        dsgd_failures_add(f->source, f->next);
    f->next = dsgd_failures_next(f->source);
    /* posts the semaphore, because the clock must wake earlier for the new failure */
    dsgd_semaphore_post(engine->end_semaphore);
}

bool dsgd_give_up_run(dsgd_engine *engine, double all_s, const char *why)
{
    dsgd_run_result *const result = engine->result;
    result->outcome = DSGD_RUN_FAILED;
    dsgd_fail(&result->why, DSGD_OK, "%s %s after a failure, but at %g s %s",
              engine->config->algorithm->about.name,
              engine->failures.others_continue ? "continues" : "restarts all workers", all_s, why);
    return false;
}

/* --- opening failures ------------------------------------------------------------------------- */

dsgd_failure_units dsgd_failures_of_run_units(const dsgd_engine *engine, int which)
{
    const dsgd_platform *const platform = engine->config->platform;
    const int per = engine->config->failures.per;
    const int64_t hosts = per == DSGD_PER_ISLAND  ? platform->island_hosts
                          : per == DSGD_PER_GROUP ? platform->group_hosts
                                                  : 1;
    const int each = per == DSGD_PER_WORKER ? 1 : engine->layout.n_lanes,
              n = engine->n_workers * each;
    const dsgd_failure_units units = {engine->n_workers, each,
                                      dsgd_xcalloc((size_t)n, sizeof *units.of), which};
    /* index of the failure domain (host, island or group) that contains each unit */
    int64_t *const block = dsgd_xcalloc((size_t)n, sizeof *block);
    for (int i = 0, n_units = 0; i < n; i++) {
        const int64_t at = dsgd_cluster_places()[dsgd_cluster_host(i / each, i % each)] / hosts;
        int u = hosts > 1 ? 0 : i;
        while (u < n_units && block[u] != at)
            u++;
        block[u] = at;
        n_units += u == n_units;
        units.of[i] = u;
    }
    free(block);
    return units;
}

/**
 * Sets the time at which each worker fails, for policy none. No worker rejoins, so only the first
 * failure of each worker counts.
 */
static void find_deaths(dsgd_engine *engine)
{
    struct dsgd_failure_state *const f = engine->failures.state;
    for (int left = engine->n_workers; left > 0 && f->next.down_s < INFINITY;) {
        const dsgd_failure failure = dsgd_next_failure(engine);
        for (int w = 0; w < engine->n_workers; w++) {
            double *const dies_s = &engine->workers[w].presence.dies_s;
            if (*dies_s < INFINITY || !dsgd_failure_is_of(f->source, &failure, w))
                continue;
            *dies_s = failure.down_s;
            left--;
        }
    }
    engine->result->failures.n = 0;
}

dsgd_status dsgd_failures_of_run_open(dsgd_engine *engine, int64_t period, dsgd_error *error)
{
    const dsgd_run_config *const config = engine->config;
    if (!dsgd_failures_any(&config->failures))
        return DSGD_OK;
    struct dsgd_failure_state *const f = dsgd_run_alloc(engine, sizeof *f);
    *f = (struct dsgd_failure_state){
        .config = config->failures, .written_s = INFINITY, .period = period};
    if (f->config.policy == DSGD_POLICY_NONE)
        f->config.repair_s = DSGD_REPAIR_NEVER;
    if (f->config.notice_s > 0)
        f->config.detect_s = 0;
    const dsgd_failure_units units = dsgd_failures_of_run_units(
        engine, dsgd_stage_hosts_fail(config) ? DSGD_WORKERS_FAIL : DSGD_ALL_FAIL);
    DSGD_TRY(dsgd_failures_open(&f->config, config->seed, units, &f->source, error));
    f->next = dsgd_failures_next(f->source);
    const dsgd_checkpoint *const c = &f->config.checkpoint;
    /* number of GPUs of a worker; each GPU writes its part of the checkpoint */
    const int gpus = dsgd_workload_gpus(config->workload);
    f->cost_s = dsgd_checkpoint_cost_s(c, engine->layout.bytes * gpus / engine->layout.n_lanes);
    const double blocking_s = c->blocking ? f->cost_s : 0, mtbf_s = dsgd_failures_mtbf_s(f->source);
    f->interval_s = c->interval_s > 0 ? c->interval_s
                    : c->every == DSGD_EVERY_NEVER
                        ? INFINITY
                        : dsgd_checkpoint_interval_s(c->every, blocking_s, mtbf_s);
    engine->failures.others_continue = dsgd_goes_on(config);
    if (!engine->failures.others_continue && f->config.policy != DSGD_POLICY_NONE && blocking_s > 0)
        engine->result->failures.daly_s =
            dsgd_checkpoint_interval_s(DSGD_EVERY_DALY, blocking_s, mtbf_s);
    engine->failures.by_quorum = f->config.policy == DSGD_POLICY_QUORUM;
    f->copy_bytes = c->bytes > 0 ? c->bytes / gpus : engine->layout.bytes / engine->layout.n_lanes;
    engine->failures.state = f;
    return DSGD_OK;
}

void dsgd_failures_of_run_begin(dsgd_engine *engine)
{
    for (int w = 0; w < engine->n_workers; w++)
        engine->workers[w].presence.dies_s = INFINITY;
    if (engine->failures.state != NULL && engine->failures.state->config.policy == DSGD_POLICY_NONE)
        find_deaths(engine);
}

void dsgd_failures_of_run_close(dsgd_engine *engine)
{
    if (engine->failures.state != NULL)
        dsgd_failures_close(engine->failures.state->source);
}
