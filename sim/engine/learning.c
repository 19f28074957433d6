/**
 * @file learning.c
 * Opens data, network and values, and sets the models at time 0.
 */
#include "sim/engine/learning.h"

#include <math.h>
#include <stdlib.h>

#include "models/record/record.h"
#include "sim/engine/memory.h"
#include "sim/engine/vectors.h"
#include "sim/result.h"
#include "sim/run.h"

bool dsgd_learns(const dsgd_run_config *config)
{
    return config->learning != NULL && config->learning->model.about != NULL &&
           config->numerics != DSGD_NUMERICS_OFF;
}

dsgd_stream dsgd_stream_of(const dsgd_engine *engine)
{
    const dsgd_run_config *const config = engine->config;
    return (dsgd_stream){.seed = config->seed,
                         .n_samples = engine->data->train.n,
                         .n_workers = (uint32_t)config->workers,
                         .batch = (uint32_t)config->learning->batch};
}

/* --- opening ---------------------------------------------------------------------------------- */

/** Cuts the reduced model's parameters at the same fractions as the workload's bytes. */
static void cut_parameters(dsgd_engine *engine)
{
    engine->piece_begin =
        dsgd_run_alloc(engine, (engine->n_pieces + 1) * sizeof *engine->piece_begin);
    double before = 0;
    for (size_t k = 0; k < engine->n_pieces; k++) {
        before += engine->piece_bytes[k];
        engine->piece_begin[k + 1] =
            (size_t)llround(before / engine->bytes * (double)engine->network.n_params);
    }
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

dsgd_status dsgd_learning_open(dsgd_engine *engine, dsgd_error *error)
{
    const dsgd_run_config *const config = engine->config;
    const bool computes = dsgd_learns(config) || config->record != NULL;
    if (!computes && !dsgd_imbalance_reads_samples(engine->imbalance))
        return DSGD_OK;
    const dsgd_status status =
        load_learning(config->learning, config->seed, &engine->data, &engine->network, error);
    if (status != DSGD_OK || !computes) /* the imbalance needs only the samples' lengths */
        return status;
    cut_parameters(engine);
    return open_values(engine, error);
}

void dsgd_learning_close(dsgd_engine *engine)
{
    dsgd_values_close(engine->values);
    dsgd_data_free(engine->data);
}

/* --- the models at time 0 --------------------------------------------------------------------- */

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

void dsgd_learning_begin(dsgd_engine *engine)
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

void dsgd_learning_end(dsgd_engine *engine)
{
    dsgd_vectors_release(engine);
    for (int w = 0; w < engine->n_workers; w++)
        for (size_t k = 0; k < engine->n_pieces; k++)
            dsgd_value_release(engine->values, engine->workers[w].optimizer_state[k]);
}
