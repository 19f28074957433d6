/**
 * @file run.c
 * One run from its configuration to its result: loads, builds, simulates, sums up.
 */
#include "sim/run.h"
#include "base/program.h"

#include <limits.h>
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/round.h"
#include "models/record/record.h"
#include "sim/engine.h"
#include "sim/machine.h"

static bool learns(const dsgd_run_config *config)
{
    return config->learning != NULL && config->learning->model.about != NULL &&
           config->numerics != DSGD_NUMERICS_OFF;
}

/* --- checks ------------------------------------------------------------------------------------------------------------------------ */

static dsgd_status open_imbalance(const dsgd_run_config *config, dsgd_imbalance **imbalance,
                                  dsgd_error *error)
{
    dsgd_picks lists[2];
    size_t n = 0;
    if (config->inherent)
        lists[n++] = config->workload->inherent;
    lists[n++] = config->imbalance;
    const dsgd_status status = dsgd_imbalance_open(lists, n, config->workers, imbalance, error);
    const bool learning = config->learning != NULL && config->learning->model.about != NULL;
    if (status == DSGD_OK && dsgd_imbalance_reads_samples(*imbalance) && !learning) {
        dsgd_imbalance_close(*imbalance);
        *imbalance = NULL;
        return dsgd_fail(error, DSGD_EUSAGE,
                         "imbalance: data takes its time from the samples, but there is no learn: "
                         "that says which");
    }
    return status;
}

static dsgd_status check_record(const dsgd_run_config *config, dsgd_error *error)
{
    if (config->record == NULL ||
        (config->learning != NULL && config->learning->model.about != NULL))
        return DSGD_OK;
    return dsgd_fail(
        error, DSGD_EUSAGE,
        "%s: there is nothing to record, because nothing is learned in this run; `learn` says what",
        config->record);
}

static dsgd_status check_until(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_until *const until = &config->until;
    if (config->steps_each > 0)
        return DSGD_OK;
    if (!(until->steps > 0 || until->seconds > 0 || until->samples > 0 || until->accuracy > 0))
        return dsgd_fail(
            error, DSGD_EUSAGE,
            "until: nothing would end the run; give steps, seconds, samples or accuracy");
    if (until->accuracy > 0 && !learns(config))
        return dsgd_fail(error, DSGD_EUSAGE, "until: accuracy needs numerics, but %s",
                         config->numerics == DSGD_NUMERICS_OFF ? "they are off (--numerics off)"
                                                               : "nothing is learned in this run");
    if (until->accuracy > 0 && config->learning->evaluate.every <= 0)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "until: accuracy needs learn: evaluate: every, which says when to look");
    return DSGD_OK;
}

static dsgd_status check_precision(const dsgd_run_config *config, dsgd_error *error)
{
    if (config->numerics == DSGD_NUMERICS_CUDA && learns(config) &&
        config->learning->precision == DSGD_PRECISION_DOUBLE)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "learn: precision: the CUDA device computes in float; use --numerics "
                         "cpu for double");
    return DSGD_OK;
}

static int count_servers(const dsgd_run_config *config)
{
    const dsgd_algorithm *const algorithm = config->algorithm;
    return algorithm->n_servers == NULL ? 0 : algorithm->n_servers(config->params, config->workers);
}

static dsgd_status check_servers(const dsgd_run_config *config, dsgd_error *error)
{
    const int n_servers = count_servers(config);
    if (n_servers < 0)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "algorithm `%s`: n_servers() gives %d with %d workers, but has to be 0 or "
                         "more",
                         config->algorithm->about.name, n_servers, config->workers);
    return DSGD_OK;
}

enum { MOST_PIECES = 4096 };

static dsgd_status check_exchange(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_exchange_config *const exchange = &config->exchange;
    if (exchange->bucket_bytes > 0 && exchange->pieces != 1)
        return dsgd_fail(error, DSGD_EUSAGE, "exchange: give either pieces or bucket, not both");
    const double buckets =
        exchange->bucket_bytes > 0
            ? dsgd_ceil(dsgd_workload_bytes(config->workload) / exchange->bucket_bytes)
            : 0;
    const int n_servers = count_servers(config);
    const double pieces = fmax(buckets, (double)exchange->pieces) * fmax(1, n_servers);
    if (pieces > MOST_PIECES)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "exchange: %.0f pieces, but at most %d are possible (a piece of each "
                         "exchange for every server)",
                         pieces, MOST_PIECES);
    return DSGD_OK;
}

static dsgd_status check_stops(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_stop *const stops = config->stops.v;
    for (size_t i = 0; i < config->stops.n; i++)
        if (stops[i].worker >= config->workers)
            return dsgd_fail(error, DSGD_EUSAGE,
                             "stops: worker: %ld, but with %d workers they are 0 to %d",
                             stops[i].worker, config->workers, config->workers - 1);
    if (config->stops.n > 0 && config->exchange.barrier)
        return dsgd_fail(
            error, DSGD_EUSAGE,
            "stops: who stops never comes to exchange: barrier; leave one of them out");
    return DSGD_OK;
}

static dsgd_machine machine_of(const dsgd_run_config *config)
{
    return (dsgd_machine){.platform = config->platform,
                          .n_hosts = config->workers + count_servers(config),
                          .placement = config->placement,
                          .seed = config->seed,
                          .scratch = config->scratch};
}

static dsgd_status check_machine(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_machine machine = machine_of(config);
    return dsgd_machine_check(&machine, error);
}

dsgd_status dsgd_run_check(const dsgd_run_config *config, dsgd_error *error)
{
    if (config->workers < 1 || config->workers > 1 << DSGD_MAX_BITS)
        return dsgd_fail(error, DSGD_EUSAGE, "workers: %d, but 1 to %d are possible",
                         config->workers, 1 << DSGD_MAX_BITS);
    dsgd_status status = check_until(config, error);
    if (status == DSGD_OK)
        status = check_record(config, error);
    if (status == DSGD_OK)
        status = check_precision(config, error);
    if (status == DSGD_OK)
        status = dsgd_workload_check(config->workload, error);
    if (status == DSGD_OK && config->algorithm->check != NULL)
        status = config->algorithm->check(config->params, config->workers, error);
    if (status == DSGD_OK)
        status = check_servers(config, error);
    if (status == DSGD_OK)
        status = check_exchange(config, error);
    if (status == DSGD_OK)
        status = check_stops(config, error);
    if (status == DSGD_OK)
        status = check_machine(config, error);
    dsgd_imbalance *imbalance = NULL;
    if (status == DSGD_OK)
        status = open_imbalance(config, &imbalance, error);
    dsgd_imbalance_close(imbalance);
    return status;
}

/* --- what is learned ------------------------------------------------------------------------------------------------------------------ */

/** Cuts the reduced model's parameters at the same fractions as the workload's bytes. */
static void cut_parameters(dsgd_engine *engine)
{
    double before = 0;
    for (size_t k = 0; k < engine->n_pieces; k++) {
        before += engine->piece_bytes[k];
        engine->piece_begin[k + 1] =
            (size_t)llround(before / engine->bytes * (double)engine->network.n_params);
    }
}

dsgd_stream dsgd_stream_of(const dsgd_engine *engine)
{
    const dsgd_run_config *const config = engine->config;
    return (dsgd_stream){.seed = config->seed,
                         .n_samples = engine->data->train.n,
                         .n_workers = (uint32_t)config->workers,
                         .batch = (uint32_t)config->learning->batch};
}

static dsgd_status open_values(dsgd_engine *engine, dsgd_error *error)
{
    const dsgd_run_config *const config = engine->config;
    const dsgd_learning *const learning = config->learning;
    dsgd_values_config values = {
        .problem = {.network = &engine->network,
                    .data = engine->data,
                    .n_pieces = engine->n_pieces,
                    .piece_begin = engine->piece_begin,
                    .update = dsgd_optimizer_resolved(&learning->optimizer)},
        .stream = dsgd_stream_of(engine),
        .n_threads = config->threads,
        .memory_bytes = config->memory_bytes,
    };
    const bool in_double = learning->precision == DSGD_PRECISION_DOUBLE;
    const dsgd_status status =
        dsgd_values_open_where(&values, config->numerics, in_double, &engine->values, error);
    if (status != DSGD_OK)
        return status;
    engine->result->device = values.device->name;
    if (config->record == NULL)
        return DSGD_OK;
    const dsgd_record_config record = {.path = config->record,
                                       .values = &values,
                                       .model = learning->model,
                                       .data = learning->data,
                                       .in_double = in_double,
                                       .about = config->record_about};
    const dsgd_status opened = dsgd_recorder_open(&record, &engine->recorder, error);
    dsgd_values_record(engine->values, engine->recorder);
    return opened;
}

static dsgd_status load_learning(const dsgd_learning *learning, uint64_t seed, dsgd_data **data,
                                 dsgd_network *network, dsgd_error *error)
{
    const dsgd_data_source *const source = (const dsgd_data_source *)learning->data.about;
    const dsgd_model_kind *const model = (const dsgd_model_kind *)learning->model.about;
    const dsgd_status status = source->load(learning->data.params, seed, data, error);
    return status != DSGD_OK ? status : model->build(learning->model.params, *data, network, error);
}

dsgd_status dsgd_learning_check(const dsgd_learning *learning, uint64_t seed, dsgd_error *error)
{
    dsgd_data *data = NULL;
    dsgd_network network;
    const dsgd_status status = load_learning(learning, seed, &data, &network, error);
    dsgd_data_free(data);
    return status;
}

static dsgd_status open_learning(dsgd_engine *engine, dsgd_error *error)
{
    const dsgd_run_config *const config = engine->config;
    const bool computes = learns(config) || config->record != NULL;
    if (!computes && !dsgd_imbalance_reads_samples(engine->imbalance))
        return DSGD_OK;
    const dsgd_status status =
        load_learning(config->learning, config->seed, &engine->data, &engine->network, error);
    if (status != DSGD_OK || !computes) /* only the samples' lengths are wanted */
        return status;
    cut_parameters(engine);
    return open_values(engine, error);
}

/* --- evaluation ----------------------------------------------------------------------------------------------------------------------- */

double dsgd_evaluate_now(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    const size_t n = engine->n_pieces;
    const size_t p = (size_t)engine->n_workers;
    dsgd_value *models = dsgd_xcalloc(n * p, sizeof *models);
    dsgd_value *states = dsgd_xcalloc(p, sizeof *states);
    for (size_t w = 0; w < p; w++) {
        for (size_t k = 0; k < n; k++)
            models[w * n + k] = engine->workers[w].model->piece[k].value;
        states[w] = engine->workers[w].model_state;
    }
    const size_t i = result->n_points++;
    engine->tickets = dsgd_xrealloc(engine->tickets, result->n_points, sizeof *engine->tickets);
    result->points = dsgd_xrealloc(result->points, result->n_points, sizeof *result->points);
    engine->tickets[i] = dsgd_values_evaluate(engine->values, p, models, states);
    result->points[i] =
        (dsgd_point){.virtual_s = dsgd_now_s(), .steps = (double)engine->steps_total / (double)p};
    dsgd_recorder_point(engine->recorder, result->points[i].virtual_s, result->points[i].steps);
    free(models);
    free(states);
    if (engine->config->until.accuracy <= 0)
        return NAN;
    return dsgd_values_result(engine->values, engine->tickets[i]).accuracy;
}

/* --- workers ------------------------------------------------------------------------------------------------------------------------------ */

/** Ends the run as failed, naming who had been made to stop. */
static void fail(dsgd_engine *engine, const char *what)
{
    dsgd_run_result *const result = engine->result;
    result->outcome = DSGD_RUN_FAILED;
    int stopped = -1;
    for (int i = engine->n_workers; i-- > 0;)
        stopped = engine->workers[i].stopped ? i : stopped;
    if (stopped < 0)
        dsgd_fail(&result->why, DSGD_OK, "%s at %g s", what, dsgd_now_s());
    else
        dsgd_fail(&result->why, DSGD_OK, "%s at %g s; worker %d had stopped", what, dsgd_now_s(),
                  stopped);
}

static void work_main(void *worker)
{
    dsgd_worker *const w = worker;
    w->engine->config->algorithm->work(&w->node);
    if (--w->engine->n_working == 0)
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

/** Gives every worker its own model state, where the network has one. */
static void initial_states(dsgd_engine *engine)
{
    if (engine->values == NULL || engine->network.n_state == 0)
        return;
    double *const state = dsgd_xcalloc(engine->network.n_state, sizeof *state);
    for (int w = 0; w < engine->n_workers; w++) {
        dsgd_network_initial_state(&engine->network, engine->config->seed, (uint32_t)w, state);
        engine->workers[w].model_state = dsgd_values_state(engine->values, state);
    }
    free(state);
}

/** Gives every worker and server the same initial model. */
static void initial_models(dsgd_engine *engine)
{
    double *x = NULL;
    if (engine->values != NULL) {
        x = dsgd_xcalloc(engine->network.n_params, sizeof *x);
        dsgd_network_initial(&engine->network, engine->config->seed, x);
    }
    for (size_t k = 0; k < engine->n_pieces; k++) {
        const dsgd_value value = dsgd_values_constant(engine->values, k, x);
        for (int i = 0; i < engine->n_workers + engine->n_servers; i++)
            dsgd_piece_set(engine, &engine->workers[i].model->piece[k], dsgd_value_retain(value),
                           0);
        dsgd_value_release(engine->values, value);
    }
    free(x);
    initial_states(engine);
    if (engine->config->prepare != NULL)
        engine->config->prepare(engine, engine->config->inspect_argument);
    for (int i = 0; i < engine->n_workers; i++)
        dsgd_copy(&engine->workers[i].node, engine->workers[i].initial, engine->workers[i].model);
}

/** What workers and servers have in common. */
static void open_node(dsgd_engine *engine, int host)
{
    dsgd_worker *const w = &engine->workers[host];
    const size_t n = engine->n_pieces;
    const bool server = host >= engine->n_workers;
    w->node = (dsgd_node){server ? host - engine->n_workers : host, engine->n_workers, -1,
                          engine->config->params};
    w->engine = engine;
    w->host = host;
    w->speed = dsgd_platform_host(engine->config->platform, dsgd_cluster_place(host)).speed;
    w->computation = -1;
    w->ready = n;
    w->model = dsgd_vector_new(&w->node);
    if (engine->n_servers > 0) {
        w->server_version = dsgd_run_alloc(engine, n * sizeof *w->server_version);
        w->own_pushes = dsgd_run_alloc(engine, n * sizeof *w->own_pushes);
    }
    w->local_steps = dsgd_run_alloc(engine, n * sizeof *w->local_steps);
    if (server)
        return;
    w->work_semaphore = dsgd_semaphore_new();
    w->gpu_semaphore = dsgd_semaphore_new();
    w->optimizer_state = dsgd_run_alloc(engine, n * sizeof *w->optimizer_state);
    w->initial = dsgd_vector_new(&w->node);
}

static void open_workers(dsgd_engine *engine)
{
    const int n_hosts = engine->n_workers + engine->n_servers;
    engine->n_working = engine->n_workers;
    engine->workers = dsgd_xcalloc((size_t)n_hosts, sizeof *engine->workers);
    for (int i = 0; i < n_hosts; i++)
        open_node(engine, i);
    initial_models(engine);
    for (int i = 0; i < engine->n_workers; i++) {
        dsgd_actor_start(i, "gpu", dsgd_gpu_main, &engine->workers[i]);
        dsgd_channels_open(&engine->workers[i]);
        dsgd_actor_start(i, "work", work_main, &engine->workers[i]);
        if (engine->config->algorithm->assist != NULL)
            dsgd_actor_start(i, "assist", assist_main, &engine->workers[i]);
    }
    for (int i = engine->n_workers; i < n_hosts; i++) {
        dsgd_channels_open(&engine->workers[i]);
        dsgd_actor_start(i, "serve", serve_main, &engine->workers[i]);
    }
}

/** Each worker's own model. */
static void evaluate_local(dsgd_engine *engine)
{
    const size_t n = engine->n_pieces;
    dsgd_value *const model = dsgd_xcalloc(n, sizeof *model);
    engine->local_tickets = dsgd_xcalloc((size_t)engine->n_workers, sizeof *engine->local_tickets);
    for (int w = 0; w < engine->n_workers; w++) {
        for (size_t k = 0; k < n; k++)
            model[k] = engine->workers[w].model->piece[k].value;
        engine->local_tickets[w] =
            dsgd_values_evaluate(engine->values, 1, model, &engine->workers[w].model_state);
    }
    free(model);
}

static void look_at_the_end(dsgd_engine *engine)
{
    const dsgd_run_result *const result = engine->result;
    const bool evaluated =
        result->n_points > 0 && result->points[result->n_points - 1].virtual_s == result->virtual_s;
    if (engine->values != NULL && !evaluated)
        dsgd_evaluate_now(engine);
    if (engine->values != NULL && engine->config->learning->evaluate.local)
        evaluate_local(engine);
    if (engine->config->inspect != NULL)
        engine->config->inspect(engine, engine->config->inspect_argument);
}

static const double until_nothing_moves_s = 1e9;

static void clock_main(void *argument)
{
    dsgd_engine *const engine = argument;
    const dsgd_run_config *const config = engine->config;
    bool out_of_time = false;
    if (config->until.seconds > 0)
        out_of_time = !dsgd_semaphore_wait_for(engine->end_semaphore, config->until.seconds);
    else
        dsgd_semaphore_wait(engine->end_semaphore);
    engine->result->virtual_s = dsgd_now_s();
    if (config->steps_each > 0)
        dsgd_sleep(until_nothing_moves_s);
    else if (engine->n_working == 0 && !engine->finished)
        fail(engine, "every worker has stopped");
    engine->finished = true;
    look_at_the_end(engine);
    if (out_of_time && config->steps_each == 0)
        dsgd_cluster_halt(); /* whoever starved has not done so by the bound alone */
}

static void close_workers(dsgd_engine *engine)
{
    for (int i = 0; i < engine->n_workers + engine->n_servers; i++) {
        dsgd_channels_close(&engine->workers[i]);
        if (i >= engine->n_workers)
            continue;
        dsgd_semaphore_free(engine->workers[i].work_semaphore);
        dsgd_semaphore_free(engine->workers[i].gpu_semaphore);
    }
    free(engine->workers);
}

/* --- results ------------------------------------------------------------------------------------------------------------------------------- */

static void sum_up_workers(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    const double p = engine->n_workers;
    double computed_s = 0;
    for (int i = 0; i < engine->n_workers; i++) {
        const dsgd_worker *const w = &engine->workers[i];
        const bool computing = w->computation >= 0 && w->ready < engine->n_pieces;
        const double compute_s =
            w->computed_s + (computing ? result->virtual_s - w->computing_since_s : 0);
        dsgd_time_shares *const shares = &result->worker_shares[i];
        shares->compute = compute_s / result->virtual_s;
        shares->communicate = fmin(w->communicated_s / result->virtual_s, 1 - shares->compute);
        shares->wait = fmax(0, 1 - shares->compute - shares->communicate);
        result->worker_steps[i] = (double)w->steps_done;
        result->shares.compute += shares->compute / p;
        result->shares.wait += shares->wait / p;
        result->shares.communicate += shares->communicate / p;
        computed_s += compute_s;
    }
    result->ideal_s = computed_s / p;
}

static double exposed_s(const dsgd_engine *engine)
{
    double sum_s = 0;
    for (int i = 0; i < engine->n_workers; i++)
        sum_s += engine->workers[i].exposed_s;
    return sum_s;
}

static void sum_up(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    const dsgd_run_config *const config = engine->config;
    const double p = engine->n_workers;
    result->steps = (double)engine->steps_total / p;
    result->samples = engine->whole_steps * config->workload->samples;
    if (learns(config))
        result->learn_samples = engine->whole_steps * (double)config->learning->batch;
    result->step_mean_s = engine->steps_total > 0 ? result->virtual_s / result->steps : NAN;
    result->exposed_mean_s =
        engine->steps_total > 0 ? exposed_s(engine) / (double)engine->steps_total : NAN;
    result->staleness_mean =
        engine->staleness_weight > 0 ? engine->staleness_sum / engine->staleness_weight : 0;
    for (size_t i = 0; i < result->n_ages; i++)
        result->ages[i] /= engine->staleness_weight;
    result->partial_active_mean =
        engine->versions > 0 ? (double)engine->fresh / (double)engine->versions : NAN;
    result->link_s = result->bytes / p / config->platform->host_bandwidth_bytes_per_s;
    sum_up_workers(engine);
}

static void sum_up_local(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    if (engine->local_tickets == NULL)
        return;
    const double p = engine->n_workers;
    result->local_loss = result->local_accuracy = 0;
    result->local_accuracy_min = INFINITY;
    for (int w = 0; w < engine->n_workers; w++) {
        const dsgd_evaluation e = dsgd_values_result(engine->values, engine->local_tickets[w]);
        result->local_loss += e.loss / p;
        result->local_accuracy += e.accuracy / p;
        if (!(e.accuracy >= result->local_accuracy_min))
            result->local_accuracy_min = e.accuracy;
    }
}

static void sum_up_learning(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    dsgd_values_record(engine->values, NULL);
    if (!learns(engine->config)) {
        result->n_points = 0;
        return;
    }
    for (size_t i = 0; i < result->n_points; i++)
        result->points[i].at = dsgd_values_result(engine->values, engine->tickets[i]);
    sum_up_local(engine);
    const dsgd_divergence divergence = dsgd_values_divergence(engine->values);
    if (divergence.happened && result->outcome == DSGD_RUN_OK) {
        result->outcome = DSGD_RUN_DIVERGED;
        dsgd_fail(&result->why, DSGD_OK, "a number was no longer finite at step %llu of worker %u",
                  (unsigned long long)divergence.where.step, divergence.where.worker);
    }
    result->numerics = dsgd_values_stats_get(engine->values);
}

/* --- the run ---------------------------------------------------------------------------------------------------------------------------------- */

static dsgd_status open_machine(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_machine machine = machine_of(config);
    return dsgd_machine_open(&machine, error);
}

static long steps_bound(const dsgd_run_config *config)
{
    const dsgd_until *const until = &config->until;
    double bound = (double)LONG_MAX;
    if (until->steps > 0)
        bound = dsgd_ceil(until->steps * config->workers);
    return bound >= (double)LONG_MAX ? LONG_MAX : (long)bound;
}

/** Cuts the workload's bytes for their exchanges, and each of those evenly among the servers. */
static void cut_bytes(dsgd_engine *engine)
{
    const dsgd_exchange_config *const exchange = &engine->config->exchange;
    double *bytes = NULL;
    const size_t n = dsgd_workload_pieces(engine->config->workload,
                                          exchange->pieces < 0 ? 0 : (size_t)exchange->pieces,
                                          exchange->bucket_bytes, &bytes);
    const size_t parts = engine->n_servers > 1 ? (size_t)engine->n_servers : 1;
    engine->n_pieces = n * parts;
    engine->piece_bytes = dsgd_xcalloc(engine->n_pieces, sizeof *engine->piece_bytes);
    for (size_t k = 0; k < engine->n_pieces; k++)
        engine->piece_bytes[k] = bytes[k / parts] / (double)parts;
    free(bytes);
    engine->n_channels = exchange->blocking ? parts : engine->n_pieces;
    if (engine->n_channels > DSGD_MAX_CHANNELS)
        engine->n_channels = DSGD_MAX_CHANNELS;
}

static void open_engine(dsgd_engine *engine, const dsgd_run_config *config, dsgd_run_result *result)
{
    *engine = (dsgd_engine){.config = config,
                            .n_workers = config->workers,
                            .n_servers = count_servers(config),
                            .result = result};
    cut_bytes(engine);
    for (size_t k = 0; k < engine->n_pieces; k++)
        engine->bytes += engine->piece_bytes[k];
    engine->piece_begin = dsgd_xcalloc(engine->n_pieces + 1, sizeof *engine->piece_begin);
    engine->gathered = dsgd_xcalloc(2 * engine->n_pieces, sizeof *engine->gathered);
    engine->steps_bound = steps_bound(config);
    dsgd_plan_evaluation(engine);
}

static void close_engine(dsgd_engine *engine)
{
    dsgd_values_close(engine->values);
    dsgd_data_free(engine->data);
    dsgd_imbalance_close(engine->imbalance);
    while (engine->reductions != NULL)
        tdelete(*(void **)engine->reductions, &engine->reductions, dsgd_reduction_order);
    dsgd_run_free_all(engine);
    free(engine->tickets);
    free(engine->local_tickets);
    free(engine->gathered);
    free(engine->piece_begin);
    free(engine->piece_bytes);
}

/** Nobody needs the vectors any more: what is left to compute, for the evaluations, needs the less memory. */
static void release_vectors(dsgd_engine *engine)
{
    for (dsgd_vector *x = engine->vectors; x != NULL; x = x->next)
        for (size_t k = 0; k < engine->n_pieces; k++)
            dsgd_piece_set(engine, &x->piece[k], DSGD_ZERO_VALUE, -1);
    for (int w = 0; w < engine->n_workers; w++)
        for (size_t k = 0; k < engine->n_pieces; k++)
            dsgd_value_release(engine->values, engine->workers[w].optimizer_state[k]);
}

static double reference_flops(const dsgd_platform *platform)
{
    if (platform->reference_flops > 0)
        return platform->reference_flops;
    return platform->topology == DSGD_TOPOLOGY_XML ? dsgd_cluster_speed(0)
                                                   : dsgd_platform_nominal_flops;
}

static void simulate(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    engine->reference_flops = reference_flops(engine->config->platform);
    engine->end_semaphore = dsgd_semaphore_new();
    engine->never_semaphore = dsgd_semaphore_new();
    open_workers(engine);
    if (engine->values != NULL)
        dsgd_evaluate_now(engine);
    const double start_s = dsgd_wall_s();
    if (!dsgd_cluster_run(clock_main, engine)) {
        if (!engine->finished)
            result->virtual_s = dsgd_now_s();
        fail(engine, "every worker waited for another (deadlock or starvation)");
    }
    result->timing_wall_s = dsgd_wall_s() - start_s;
    /* What is computed from here on, nobody waits for while simulating. */
    result->timing_wall_s -= dsgd_values_stats_get(engine->values).waiting_wall_s;
    sum_up(engine);
    release_vectors(engine);
    sum_up_learning(engine);
    dsgd_semaphore_free(engine->end_semaphore);
    dsgd_semaphore_free(engine->never_semaphore);
    close_workers(engine);
}

dsgd_status dsgd_simulate(const dsgd_run_config *config, dsgd_run_result *result, dsgd_error *error)
{
    const double start_s = dsgd_wall_s();
    *result = (dsgd_run_result){.device = "off",
                                .partial_active_mean = NAN,
                                .local_loss = NAN,
                                .local_accuracy = NAN,
                                .local_accuracy_min = NAN};
    dsgd_status status = dsgd_run_check(config, error);
    if (status != DSGD_OK)
        return status;
    dsgd_engine engine;
    open_engine(&engine, config, result);
    result->worker_shares = dsgd_xcalloc((size_t)config->workers, sizeof *result->worker_shares);
    result->worker_steps = dsgd_xcalloc((size_t)config->workers, sizeof *result->worker_steps);
    status = open_imbalance(config, &engine.imbalance, error);
    if (status == DSGD_OK)
        status = open_learning(&engine, error);
    if (status == DSGD_OK)
        status = open_machine(config, error);
    if (status == DSGD_OK)
        simulate(&engine);
    dsgd_error why = {""};
    if (dsgd_recorder_close(engine.recorder, status == DSGD_OK, &why) != DSGD_OK)
        status = dsgd_fail(error, DSGD_EIO, "%s", why.text);
    close_engine(&engine);
    result->total_wall_s = dsgd_wall_s() - start_s;
    return status;
}

void dsgd_run_result_free(dsgd_run_result *result)
{
    free(result->worker_shares);
    free(result->worker_steps);
    free(result->points);
    free(result->ages);
    *result = (dsgd_run_result){0};
}
