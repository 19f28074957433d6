/**
 * @file run.c Performs one run: opens the engine, simulates, sums up the result and closes the
 * engine.
 */
#include "sim/run.h"
#include "sim/failures/failures.h"
#include "sim/hybrid/stage_hosts.h"
#include "sim/observe/observe.h"

#include <float.h>

#include "base/program.h"
#include "base/round.h"
#include "sim/engine/engine.h"
#include "sim/exchange/analytic.h"
#include "sim/exchange/channels.h"
#include "sim/exchange/reductions.h"

/* --- workers and servers ---------------------------------------------------------------------- */

static void work_main(void *worker)
{
    dsgd_worker *const w = worker;
    w->clock.work_actor = dsgd_actor_self();
    w->engine->config->algorithm->work(&w->node);
    w->clock.left_early = !w->clock.may_return && !w->engine->finished;
    if (--w->engine->progress.n_working == 0)
        dsgd_semaphore_post(w->engine->end_semaphore);
}

static void assist_main(void *worker)
{
    dsgd_worker *const w = worker;
    w->engine->config->algorithm->assist(&w->node);
}

static void serve_main(void *server)
{
    dsgd_worker *const s = server;
    s->engine->config->algorithm->serve(&s->node);
}

static void open_carrier(dsgd_engine *engine, int host)
{
    dsgd_carrier *const c = &engine->accounts.carriers[host];
    c->place = dsgd_cluster_places()[host];
    if (engine->hybrid.replica != NULL)
        c->slowness = engine->reference_flops / dsgd_platform_nominal_flops /
                      dsgd_platform_host(engine->config->platform, c->place).speed;
}

/** Opens the parts of the state that workers and servers have in common. */
static void open_node(dsgd_engine *engine, int host)
{
    dsgd_worker *const w = &engine->workers[host];
    const size_t n = engine->layout.n_pieces;
    const bool server = host >= engine->n_workers;
    w->node = (dsgd_node){server ? host - engine->n_workers : host, engine->n_workers, -1,
                          engine->config->params, engine->config->workload->samples};
    w->engine = engine;
    w->host = host;
    w->place = engine->accounts.carriers[host].place;
    w->speed = dsgd_platform_host(engine->config->platform, w->place).speed;
    w->wire.reduction_s_per_byte = engine->config->platform->reduction_s_per_byte;
    w->gpu.computation.number = -1;
    w->gpu.computation.ready = n;
    w->gpu.computation.end_of_deferred = &w->gpu.computation.first_deferred;
    w->learner.model = dsgd_vector_new(&w->node);
    w->learner.local_steps = dsgd_run_alloc(engine, n * sizeof *w->learner.local_steps);
    w->gpu.computation.ready_s = dsgd_run_alloc(engine, n * sizeof *w->gpu.computation.ready_s);
    w->wire.copies =
        dsgd_run_alloc(engine, (size_t)engine->layout.n_lanes * sizeof *w->wire.copies);
    w->waits.work = dsgd_semaphore_new();
    w->learner.optimizer_state = dsgd_run_alloc(engine, n * sizeof *w->learner.optimizer_state);
    if (server)
        return;
    w->waits.ready = dsgd_semaphore_new();
    w->gpu.semaphore = dsgd_semaphore_new();
    w->learner.initial = dsgd_vector_new(&w->node);
    if (engine->hybrid.replica != NULL)
        w->replica = dsgd_replica_state_new(engine->hybrid.replica);
}

static void open_workers(dsgd_engine *engine)
{
    const dsgd_algorithm *const algorithm = engine->config->algorithm;
    const int n_hosts = engine->n_workers + engine->n_servers;
    engine->progress.n_working = engine->n_workers;
    engine->workers = dsgd_xcalloc((size_t)n_hosts, sizeof *engine->workers);
    engine->accounts.carriers =
        dsgd_xcalloc((size_t)dsgd_n_hosts(engine), sizeof *engine->accounts.carriers);
    for (int i = 0; i < dsgd_n_hosts(engine); i++)
        open_carrier(engine, i);
    for (int i = 0; i < n_hosts; i++)
        open_node(engine, i);
    dsgd_inside_cost(engine);
    dsgd_learning_begin(engine);
    dsgd_failures_of_run_begin(engine);
    for (int i = 0; i < n_hosts; i++) {
        dsgd_worker *const w = &engine->workers[i];
        const bool server = i >= engine->n_workers;
        if (!server) {
            w->gpu.steps = (dsgd_steps){dsgd_gpu_next, w};
            dsgd_steps_start(i, &w->gpu.steps);
        }
        w->wire.channels = dsgd_channels_open(w, 0);
        dsgd_actor_start(i, server ? serve_main : work_main, w);
        if (!server && algorithm->assist != NULL)
            dsgd_actor_start(i, assist_main, w);
    }
}

/* --- the simulation --------------------------------------------------------------------------- */

/** Returns the rank of the first worker whose work() returned too early, or -1 if no worker did. */
static int first_left(const dsgd_engine *engine)
{
    for (int i = 0; i < engine->n_workers; i++)
        if (engine->workers[i].clock.left_early)
            return i;
    return -1;
}

/**
 * Ends the run with the outcome "failed". The message names the workers that wait, that returned
 * too early, and that had failed.
 */
static void fail(dsgd_engine *engine, const char *what)
{
    dsgd_run_result *const result = engine->result;
    const int left = first_left(engine);
    int stopped = 0; /* rank of the first worker that had failed in the simulation */
    while (stopped < engine->n_workers && !engine->workers[stopped].clock.stopped)
        stopped++;
    char *waits = dsgd_xstrdup("");
    dsgd_waits_report(engine, &waits);
    char *why = dsgd_xprintf("%s at %g s", what, result->virtual_s);
    if (stopped < engine->n_workers)
        dsgd_append(&why, ", after worker %d had failed", stopped);
    dsgd_append(&why, "%s%s", waits[0] == '\0' ? "" : ": ", waits);
    if (stopped < engine->n_workers)
        dsgd_append(&why, "; policy: none does not recover from failures. Use policy: restart");
    if (left >= 0)
        dsgd_append(&why,
                    "; work() of worker %d returned in step %jd before dsgd_next_step() was false",
                    left, engine->workers[left].node.step);
    result->outcome = DSGD_RUN_FAILED;
    dsgd_fail(&result->why, DSGD_OK, "%s", why);
}

/**
 * Adds a note to the result if a worker starts more and more requests or messages that never end.
 * At the end of a correct run, a few of them may be pending, for example the requests of a delayed
 * average. If there are many of them since the first half of the worker's steps, the algorithm has
 * forgotten them.
 */
static void note_what_is_left(const dsgd_engine *engine, dsgd_error *note)
{
    enum { MANY = 8 };
    for (int i = 0; i < 2 * engine->n_workers && note->text[0] == '\0'; i++) {
        const dsgd_worker *const w = &engine->workers[i / 2];
        int64_t step = 0;
        const size_t n = i % 2 == 0 ? dsgd_requests_left(w, &step) : dsgd_messages_left(w, &step);
        if (n >= MANY && 2 * step < w->node.step)
            dsgd_fail(
                note, DSGD_OK,
                "worker %d leaves %zu %s, the first from step %jd; their number keeps growing",
                i / 2, n,
                i % 2 == 0 ? "requests that no dsgd_request_wait() completes"
                           : "messages that no dsgd_recv() receives",
                step);
    }
}

static void sum_up(dsgd_engine *engine)
{
    dsgd_sum_up(engine);
    dsgd_failures_of_run_sum_up(engine);
}

static const double until_nothing_moves_s = 1e9;

/** Waits until the end of the run. Handles the failures that happen before. */
static void await_end(dsgd_engine *engine)
{
    for (bool ended = false; !ended;) {
        const double until_s = dsgd_next_failure_or_end_s(engine);
        const double left_s = until_s - dsgd_now_s();
        bool posted = true;
        if (until_s < INFINITY)
            posted = left_s > 0 && dsgd_semaphore_wait_for(engine->end_semaphore, left_s);
        else
            dsgd_semaphore_wait(engine->end_semaphore);
        ended = posted ? engine->finished || engine->progress.n_working == 0
                       : dsgd_handle_failure(engine);
    }
}

/** The actor `clock`, which ends the run. */
static void clock_main(void *argument)
{
    dsgd_engine *const engine = argument;
    const dsgd_run_config *const config = engine->config;
    await_end(engine);
    engine->result->virtual_s = dsgd_now_s();
    if (config->steps_each > 0)
        dsgd_sleep(until_nothing_moves_s);
    else if (engine->progress.n_working == 0 && !engine->finished)
        fail(engine, "every worker has stopped");
    engine->finished = true;
    dsgd_end_of_analytic_collectives_s(engine, dsgd_now_s());
    dsgd_timeline_close(engine);
    dsgd_sum_up_loads(engine);
    dsgd_ledger_end(engine);
    if (engine->learning.values != NULL)
        dsgd_evaluate_last(engine);
    if (engine->result->outcome == DSGD_RUN_OK)
        note_what_is_left(engine, &engine->result->why);
    if (config->inspect != NULL)
        config->inspect(engine, config->inspect_argument);
    if (config->steps_each > 0 || engine->progress.n_working == 0 || dsgd_waits_watch(engine) == 0)
        return;
    sum_up(engine);
    dsgd_waits_continue(engine);
}

/**
 * Makes the run fail if a worker waits for ever, or if work() returned before dsgd_next_step()
 * returned false.
 */
static void fail_if_workers_hang(dsgd_engine *engine, bool ended)
{
    const int n = dsgd_waits_watched(engine);
    if (!ended || n == engine->n_workers)
        fail(engine,
             dsgd_platform_has_numbers(engine->config->platform)
                 ? "every worker waited for another (deadlock or starvation)"
                 : "every worker waited for another; if the algorithm is correct, a link or host "
                   "in the platform's file fails by a profile, or has no bandwidth or speed");
    else if (engine->result->outcome == DSGD_RUN_OK && isinf(engine->result->virtual_s))
        fail(engine,
             "an operation takes infinite time, because a bandwidth or speed is almost zero");
    else if (n > 0 && engine->result->outcome == DSGD_RUN_OK)
        fail(engine, n == 1 ? "a worker hung" : "some workers hung");
    else if (engine->result->outcome == DSGD_RUN_OK && engine->config->steps_each == 0 &&
             first_left(engine) >= 0)
        fail(engine, "the run ended");
}

static double reference_flops(const dsgd_platform *platform)
{
    if (platform->reference_flops > 0)
        return platform->reference_flops;
    return dsgd_platform_has_numbers(platform) ? dsgd_platform_nominal_flops
                                               : dsgd_cluster_speed(0);
}

static void simulate(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    engine->reference_flops = reference_flops(engine->config->platform);
    engine->end_semaphore = dsgd_semaphore_new();
    engine->never_semaphore = dsgd_semaphore_new();
    dsgd_timeline_open(engine);
    dsgd_ledger_open(engine);
    dsgd_slow_links_open(engine);
    open_workers(engine);
    if (engine->learning.values != NULL && engine->config->learning->evaluate.every >= 0)
        dsgd_evaluate_now(engine);
    const double start_s = dsgd_wall_s();
    const bool ended = dsgd_cluster_run(clock_main, engine);
    if (!ended) {
        result->virtual_s = fmax(dsgd_now_s(), dsgd_end_of_analytic_collectives_s(engine, DBL_MAX));
        dsgd_timeline_close(engine);
        dsgd_ledger_end(engine);
        dsgd_waits_watch(engine);
    }
    if (engine->watch.continued)
        dsgd_waits_end(engine);
    else
        sum_up(engine);
    fail_if_workers_hang(engine, ended);
    result->timing_wall_s = dsgd_wall_s() - start_s;
    /* subtracts the time in which the simulation waited for values */
    result->timing_wall_s -= dsgd_values_stats_get(engine->learning.values).waiting_wall_s;
    dsgd_ledger_close(engine);
    dsgd_learning_end(engine);
    dsgd_sum_up_learning(engine);
    for (int i = 0; i < engine->n_workers + engine->n_servers; i++) {
        free(engine->workers[i].accounts.earlier);
        free(engine->workers[i].accounts.put_off);
    }
}

/* --- the run ---------------------------------------------------------------------------------- */

/**
 * Determines the host of a worker that has each chunk, and the channel that sends the chunk. With
 * blocking, a host has one channel. Without blocking, a host has one channel per chunk, but at most
 * DSGD_MAX_CHANNELS.
 */
static void divide_pieces(dsgd_engine *engine, size_t parts)
{
    dsgd_layout *const layout = &engine->layout;
    const dsgd_replica *const replica = engine->hybrid.replica;
    const size_t n = layout->n_pieces, beside = (size_t)replica->n_beside;
    layout->piece_lane = dsgd_run_alloc(engine, n * sizeof *layout->piece_lane);
    layout->piece_part = dsgd_run_alloc(engine, n * sizeof *layout->piece_part);
    layout->piece_later = dsgd_run_alloc(engine, n * sizeof *layout->piece_later);
    layout->piece_channel = dsgd_run_alloc(engine, n * sizeof *layout->piece_channel);
    double *const work = dsgd_run_alloc(engine, replica->n_parts * sizeof *work);
    size_t *const on_lane = dsgd_run_alloc(engine, (size_t)layout->n_lanes * sizeof *on_lane);
    double all = 0, begin = 0;
    size_t most = 1; /* largest number of channels of a host */
    for (size_t k = 0; k < n; k++)
        all += layout->piece_bytes[k];
    for (size_t k = 0; k < n; k++) {
        const size_t part = dsgd_replica_part(replica, (begin + layout->piece_bytes[k] / 2) / all);
        const size_t lane = (size_t)dsgd_replica_stage(replica, part) * beside + k / parts % beside;
        begin += layout->piece_bytes[k];
        layout->piece_part[k] = (int)part;
        layout->piece_lane[k] = (int)lane;
        work[part] += layout->piece_work[k];
        layout->piece_channel[k] = on_lane[lane]++ % DSGD_MAX_CHANNELS;
        most = on_lane[lane] > most ? on_lane[lane] : most;
    }
    for (size_t k = n; k-- > 0;) {
        const int part = layout->piece_part[k];
        /* True if the chunk is the first of its part in the forward pass. */
        const bool first = k + 1 == n || layout->piece_part[k + 1] != part;
        layout->piece_later[k] =
            first || work[part] <= 0
                ? 0
                : layout->piece_later[k + 1] + layout->piece_work[k + 1] / work[part];
    }
    const size_t room = DSGD_MAX_ALL_CHANNELS / (size_t)layout->n_lanes;
    most = most < DSGD_MAX_CHANNELS ? most : DSGD_MAX_CHANNELS;
    most = most < room ? most : room;
    most = engine->config->exchange.blocking ? 1 : most;
    layout->n_channels = most * (size_t)layout->n_lanes;
    for (size_t k = 0; k < n; k++)
        layout->piece_channel[k] =
            (size_t)layout->piece_lane[k] * most + layout->piece_channel[k] % most;
}

/**
 * Cuts the workload's bytes into chunks. If several servers share the vector, divides each chunk
 * evenly among them.
 */
static void cut_bytes(dsgd_engine *engine)
{
    dsgd_layout *const layout = &engine->layout;
    double *bytes = NULL;
    const size_t n = dsgd_pieces_of(engine->config, &bytes);
    const size_t parts = (size_t)dsgd_server_parts(engine->config);
    layout->n_pieces = n * parts;
    layout->piece_bytes = dsgd_run_alloc(engine, layout->n_pieces * sizeof *layout->piece_bytes);
    for (size_t k = 0; k < layout->n_pieces; k++)
        layout->piece_bytes[k] = bytes[k / parts] / (double)parts;
    free(bytes);
    layout->n_channels = engine->config->exchange.blocking ? 1 : layout->n_pieces;
    if (layout->n_channels > DSGD_MAX_CHANNELS)
        layout->n_channels = DSGD_MAX_CHANNELS;
}

static void open_engine(dsgd_engine *engine, const dsgd_run_config *config, dsgd_run_result *result,
                        dsgd_replica *replica)
{
    dsgd_computations *const computations = &engine->computations;
    dsgd_require_of(config->algorithm->about.name);
    *engine = (dsgd_engine){.config = config,
                            .n_workers = config->workers,
                            .layout.n_lanes = dsgd_workload_hosts(config->workload),
                            .n_servers = dsgd_n_servers(config),
                            .result = result};
    engine->hybrid.replica = replica;
    cut_bytes(engine);
    const size_t n = engine->layout.n_pieces;
    computations->n_stepped = dsgd_run_alloc(engine, n * sizeof *computations->n_stepped);
    computations->stepped = dsgd_run_alloc(engine, n * (size_t)engine->n_workers * sizeof(int));
    engine->layout.piece_work = dsgd_workload_work(config->workload, n, engine->layout.piece_bytes);
    for (size_t k = 0; k < n; k++) {
        engine->layout.bytes += engine->layout.piece_bytes[k];
        engine->layout.work += engine->layout.piece_work[k];
    }
    if (replica != NULL)
        divide_pieces(engine, (size_t)dsgd_server_parts(config));
    if (config->workload->memory == DSGD_MEMORY_DEVICE) {
        engine->costs.staging_s_per_byte = config->platform->staging_s_per_byte;
        /*
         * The cost is divided by the number of a worker's hosts, because they all copy at the same
         * time.
         */
        engine->costs.operation_s_per_byte =
            config->platform->operation_s_per_byte / engine->layout.n_lanes;
    }
    engine->costs.encoding_s_per_byte = dsgd_platform_encoding_s_per_byte(config->platform);
    const double bound = config->until.steps > 0 ? dsgd_ceil(config->until.steps * config->workers)
                                                 : (double)INT64_MAX;
    engine->progress.bound = bound >= (double)INT64_MAX ? INT64_MAX : (int64_t)bound;
    engine->progress.most_steps = config->steps_each;
}

/** Opens the parts of the run in the order in which they depend on each other. */
static dsgd_status open_parts(dsgd_engine *engine, dsgd_error *error)
{
    const dsgd_run_config *const config = engine->config;
    dsgd_machine machine = dsgd_machine_of(config);
    DSGD_TRY(dsgd_imbalance_for(config, &engine->imbalance, error));
    DSGD_TRY(dsgd_learning_open(engine, error));
    DSGD_TRY(dsgd_machine_open(&machine, error));
    DSGD_TRY(dsgd_failures_of_run_open(engine, dsgd_period(config), error));
    return dsgd_stage_hosts_open(engine, error);
}

dsgd_status dsgd_simulate(const dsgd_run_config *config, dsgd_run_result *result, dsgd_error *error)
{
    const double start_s = dsgd_wall_s();
    *result = (dsgd_run_result){
        .device = "off",
        .failures = {.goodput = NAN, .daly_s = NAN, .outlived = NAN, .moves = NAN},
        .bubble_share = NAN,
        .partial_active_mean = NAN,
        .local_loss = NAN,
        .local_accuracy = NAN,
        .local_accuracy_min = NAN};
    DSGD_TRY(dsgd_run_check(config, error));
    dsgd_engine engine;
    dsgd_replica *replica = NULL;
    DSGD_TRY(dsgd_replica_open(config->workload, &replica, error));
    open_engine(&engine, config, result, replica);
    result->worker_shares = dsgd_keep((size_t)config->workers, sizeof *result->worker_shares);
    result->worker_steps = dsgd_keep((size_t)config->workers, sizeof *result->worker_steps);
    result->n_lanes = dsgd_workload_hosts(config->workload);
    result->worker_places =
        dsgd_keep((size_t)config->workers * (size_t)result->n_lanes, sizeof *result->worker_places);
    const dsgd_status status = open_parts(&engine, error);
    if (status == DSGD_OK)
        simulate(&engine);
    dsgd_learning_close(&engine);
    dsgd_imbalance_close(engine.imbalance);
    dsgd_failures_of_run_close(&engine);
    dsgd_stage_hosts_close(&engine);
    free(engine.layout.piece_work);
    for (int i = 0; engine.workers != NULL && i < engine.n_workers; i++)
        if (engine.workers[i].replica != NULL)
            dsgd_replica_state_free(engine.workers[i].replica);
    free(engine.workers);
    free(engine.accounts.carriers);
    dsgd_replica_close(engine.hybrid.replica);
    result->n_blocks_kept = dsgd_run_free_all(&engine);
    result->total_wall_s = dsgd_wall_s() - start_s;
    return status;
}

const char *dsgd_timed_by_name(unsigned timed_by)
{
    static const char *const names[] = {
        [DSGD_TIMED_BY_SIMGRID] = "simgrid",
        [DSGD_TIMED_BY_FLOWS] = "flows",
        [DSGD_TIMED_BY_ARITHMETIC] = "arithmetic",
        [DSGD_TIMED_BY_SIMGRID | DSGD_TIMED_BY_ARITHMETIC] = "simgrid+arithmetic",
        [DSGD_TIMED_BY_FLOWS | DSGD_TIMED_BY_ARITHMETIC] = "flows+arithmetic"};
    return timed_by == 0 ? "none" : names[timed_by];
}

void dsgd_run_result_free(dsgd_run_result *result)
{
    free(result->points);
    free(result->failures.listed);
    free(result->ages.share);
    free(result->gradient_ages.share);
    free(result->step_times.bin);
    free(result->loads);
    *result = (dsgd_run_result){0};
}
