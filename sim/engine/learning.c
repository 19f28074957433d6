/**
 * @file learning.c Opens the data, network and values of a run, and sets the models at time 0.
 * Evaluates the algorithm's output during the run, and each worker's own model at its end.
 */
#include "base/program.h"
#include "base/round.h"
#include "sim/engine/engine.h"
#include "sim/engine/vectors.h"
#include "sim/failures/failures.h"
#include "sim/result.h"
#include "sim/run.h"

static dsgd_stream stream_by(const dsgd_run_config *config, const dsgd_data *data,
                             const dsgd_split *split)
{
    return (dsgd_stream){.seed = config->seed,
                         .n_samples = data->train.n,
                         .n_workers = (uint32_t)config->workers,
                         .batch = (uint32_t)config->learning->batch,
                         .split = split};
}

static dsgd_stream stream_of(const dsgd_engine *engine)
{
    return stream_by(engine->config, engine->learning.data, engine->learning.split);
}

int64_t dsgd_own_batch(dsgd_node *self, int64_t *n)
{
    const dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    if (n != NULL)
        *n = 1;
    if (engine->learning.split == NULL)
        return 0;
    const dsgd_stream stream = stream_of(engine);
    if (n != NULL)
        *n = dsgd_stream_batches(&stream, (uint32_t)self->rank);
    return dsgd_stream_batch(&stream, (uint32_t)self->rank, (uint64_t)self->step);
}

/* --- functions that open data, network and values --------------------------------------------- */

static dsgd_status open_values(dsgd_engine *engine, dsgd_error *error)
{
    const dsgd_run_config *const config = engine->config;
    const dsgd_learning *const learning = config->learning;
    dsgd_values_config values = {
        .problem = {.network = &engine->learning.network,
                    .data = engine->learning.data,
                    .n_pieces = engine->layout.n_pieces,
                    .piece_begin = engine->learning.piece_begin,
                    .update = dsgd_optimizer_resolved(&learning->optimizer)},
        .stream = stream_of(engine),
        .n_threads = config->threads,
        .memory_bytes = config->memory_bytes,
        .place = config->place,
        .computed = config->progress == NULL ? NULL : &config->progress->computed,
    };
    const bool in_double = learning->precision == DSGD_PRECISION_DOUBLE;
    DSGD_TRY(dsgd_values_open_where(&values, config->numerics, in_double, &engine->learning.values,
                                    error));
    engine->result->device = values.device->name;
    return DSGD_OK;
}

static dsgd_status load_learning(const dsgd_learning *learning, uint64_t seed, bool keep,
                                 dsgd_data **data, dsgd_network *network, dsgd_error *error)
{
    const dsgd_model_kind *const model = (const dsgd_model_kind *)learning->model.about;
    DSGD_TRY(dsgd_data_open(&learning->data, seed, keep, data, error));
    return dsgd_model_build(model, learning->model.params, *data, network, error);
}

/** Checks that the vectors of all mini-batches of the run fit into half of the memory. */
static dsgd_status check_own_batches(const dsgd_run_config *config, const dsgd_data *data,
                                     const dsgd_network *network, const dsgd_split *split,
                                     dsgd_error *error)
{
    const dsgd_stream stream = stream_by(config, data, split);
    const double most = (double)dsgd_physical_bytes() / 2;
    const double steps = config->until.steps > 0 ? config->until.steps : INFINITY;
    double n = 0;
    for (uint32_t w = 0; w < stream.n_workers; w++)
        n += fmin(dsgd_stream_batches(&stream, w), steps);
    const bool in_double = config->learning->precision == DSGD_PRECISION_DOUBLE;
    const double bytes =
        n * (double)network->n_params * (in_double ? sizeof(double) : sizeof(float));
    if (bytes <= most)
        return DSGD_OK;
    return dsgd_refuse(
        error,
        "%s keeps a vector for each of %.0f mini-batches, which takes %.3g GB, but half "
        "of this machine's memory is %.3g GB. Use a larger learn: batch, less data or a "
        "smaller model",
        config->algorithm->about.name, n, 1e-9 * bytes, 1e-9 * most);
}

static dsgd_status split_samples(const dsgd_run_config *config, const dsgd_data *data,
                                 const dsgd_network *network, dsgd_split **split, dsgd_error *error)
{
    const bool own = config->algorithm->traits & DSGD_OWN_BATCHES;
    DSGD_TRY(dsgd_split_new(&config->learning->split, data, config->seed, (uint32_t)config->workers,
                            own, split, error));
    return own ? check_own_batches(config, data, network, *split, error) : DSGD_OK;
}

dsgd_status dsgd_learning_check(const dsgd_run_config *config, dsgd_split **split,
                                dsgd_error *error)
{
    dsgd_data *data = NULL;
    dsgd_network network;
    *split = NULL;
    dsgd_status status =
        load_learning(config->learning, config->seed, true, &data, &network, error);
    if (status == DSGD_OK)
        status = split_samples(config, data, &network, split, error);
    dsgd_data_close(data);
    return status;
}

static size_t bytes_of_samples(const dsgd_data *data, const dsgd_samples *samples)
{
    const size_t each = samples->x_bytes != NULL ? 1 : sizeof *samples->x_real;
    return samples->n * (data->n_features * each + data->n_labels + 2 * sizeof(double));
}

size_t dsgd_learning_gpu_bytes(const dsgd_run_config *config)
{
    const dsgd_learning *const learning = config->learning;
    const dsgd_optimizer update = dsgd_optimizer_resolved(&learning->optimizer);
    dsgd_data *data = NULL;
    dsgd_network network;
    size_t bytes = 0;
    if (load_learning(learning, config->seed, true, &data, &network, NULL) == DSGD_OK) {
        const size_t each =
            (2 + dsgd_optimizer_states(&update)) * network.n_params + 2 * network.n_state;
        bytes = (size_t)config->workers * each * sizeof(float) / 7 * 8 +
                bytes_of_samples(data, &data->train) + bytes_of_samples(data, &data->test);
    }
    dsgd_data_close(data);
    return bytes;
}

dsgd_status dsgd_learning_open(dsgd_engine *engine, dsgd_error *error)
{
    dsgd_learning_state *const learning = &engine->learning;
    const dsgd_run_config *const config = engine->config;
    const bool computes = dsgd_learns(config);
    if (!computes && !dsgd_imbalance_reads_samples(engine->imbalance))
        return DSGD_OK;
    DSGD_TRY(load_learning(config->learning, config->seed, false, &learning->data,
                           &learning->network, error));
    DSGD_TRY(split_samples(config, learning->data, &learning->network, &learning->split, error));
    if (dsgd_imbalance_reads_samples(engine->imbalance)) {
        const dsgd_stream stream = stream_of(engine);
        learning->sampler = dsgd_sampler_new(&stream);
    }
    /*
     * in this case, the run opened the data only because the imbalance needs the samples' lengths
     */
    if (!computes)
        return DSGD_OK;
    /*
     * The reduced model's parameters are cut into chunks at the same fractions as the workload's
     * bytes.
     */
    const size_t n = engine->layout.n_pieces;
    double before = 0;
    learning->piece_begin = dsgd_run_alloc(engine, (n + 1) * sizeof *learning->piece_begin);
    for (size_t k = 0; k < n; k++) {
        before += engine->layout.piece_bytes[k];
        learning->piece_begin[k + 1] =
            (size_t)llround(before / engine->layout.bytes * (double)learning->network.n_params);
    }
    return open_values(engine, error);
}

void dsgd_learning_close(dsgd_engine *engine)
{
    dsgd_values_close(engine->learning.values);
    dsgd_sampler_free(engine->learning.sampler);
    free(engine->learning.split);
    dsgd_data_close(engine->learning.data);
}

/* --- functions that set the models at time 0 -------------------------------------------------- */

void dsgd_learning_begin(dsgd_engine *engine)
{
    const uint64_t seed = engine->config->seed;
    double *x = NULL;
    if (engine->learning.values != NULL) {
        x = dsgd_xcalloc(engine->learning.network.n_params, sizeof *x);
        dsgd_network_initial(&engine->learning.network, seed, x);
    }
    for (size_t k = 0; k < engine->layout.n_pieces; k++) {
        const dsgd_value value = dsgd_values_constant(engine->learning.values, k, x);
        for (int i = 0; i < engine->n_workers + engine->n_servers; i++)
            dsgd_vector_set(engine->workers[i].learner.model, k, dsgd_value_retain(value), 0);
        dsgd_value_release(engine->learning.values, value);
    }
    free(x);
    if (engine->learning.values != NULL && engine->learning.network.n_state > 0) {
        double *const state = dsgd_xcalloc(engine->learning.network.n_state, sizeof *state);
        for (int w = 0; w < engine->n_workers; w++) {
            dsgd_network_initial_state(&engine->learning.network, seed, (uint32_t)w, state);
            engine->workers[w].learner.model_state =
                dsgd_values_state(engine->learning.values, state);
        }
        free(state);
    }
    if (engine->config->prepare != NULL)
        engine->config->prepare(engine, engine->config->inspect_argument);
    for (int i = 0; i < engine->n_workers; i++)
        dsgd_copy(&engine->workers[i].node, engine->workers[i].learner.initial,
                  engine->workers[i].learner.model);
}

void dsgd_learning_end(dsgd_engine *engine)
{
    dsgd_vectors_release(engine);
    for (int w = 0; w < engine->n_workers + engine->n_servers; w++)
        for (size_t k = 0; k < engine->layout.n_pieces; k++)
            dsgd_value_release(engine->learning.values,
                               engine->workers[w].learner.optimizer_state[k]);
}

/* --- evaluations ------------------------------------------------------------------------------ */

static dsgd_value *copy_pieces(const dsgd_vector *x, dsgd_value *values)
{
    DSGD_FOR_PIECES (k, x)
        *values++ = x->piece[k].value;
    return values;
}

/**
 * Copies the models whose mean is the algorithm's output to @p values. Returns their number, or 0
 * if the output is the mean of the workers' models.
 */
static int copy_output(const dsgd_engine *engine, dsgd_value *values)
{
    const int p = engine->n_workers;
    const int n_servers = engine->n_servers;
    const unsigned traits = engine->config->algorithm->traits;
    if (!(traits & DSGD_OUTPUT_SERVERS))
        return 0;
    if (n_servers > 0 && !(traits & DSGD_WHOLE_SERVERS)) {
        for (size_t k = 0; k < engine->layout.n_pieces; k++)
            values[k] = dsgd_server_of(engine, k)->learner.model->piece[k].value;
        return 1;
    }
    for (int s = 0; s < n_servers; s++)
        values = copy_pieces(engine->workers[p + s].learner.model, values);
    /* before the first use of dsgd_shared(), the shared vector equals the model */
    for (int w = 0; w < p && n_servers == 0; w++) {
        const dsgd_worker *const worker = &engine->workers[w];
        values = copy_pieces(worker->learner.shared == NULL ? worker->learner.model
                                                            : worker->learner.shared,
                             values);
    }
    return n_servers > 0 ? n_servers : p;
}

double dsgd_evaluate_now(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    const size_t n = engine->layout.n_pieces;
    const size_t p = (size_t)engine->n_workers;
    dsgd_value *models = dsgd_xcalloc(n * (2 * p + (size_t)engine->n_servers), sizeof *models);
    dsgd_value *states = dsgd_xcalloc(p, sizeof *states);
    /*
     * number of running workers, whose models are evaluated; all models are evaluated if no worker
     * runs
     */
    size_t here = 0;
    for (size_t i = 0; i < 2 * p && (i < p || here == 0); i++) {
        const dsgd_worker *const w = &engine->workers[i % p];
        if (i < p && w->presence.state != DSGD_HERE)
            continue;
        copy_pieces(w->learner.model, models + here * n);
        states[here++] = w->learner.model_state;
    }
    const uint32_t m = (uint32_t)copy_output(engine, models + here * n);
    result->points = dsgd_xrealloc(result->points, result->n_points + 1, sizeof *result->points);
    dsgd_point *const point = &result->points[result->n_points++];
    *point = (dsgd_point){
        .virtual_s = dsgd_time_now_s(engine),
        .steps = (double)engine->progress.steps / (double)p,
        .ticket = dsgd_values_evaluate(engine->learning.values, here, m, models, states)};
    free(models);
    free(states);
    if (engine->config->until.accuracy <= 0)
        return NAN;
    return dsgd_values_result(engine->learning.values, point->ticket).accuracy;
}

double dsgd_evaluate_if_due(dsgd_engine *engine)
{
    if (engine->learning.values == NULL)
        return -INFINITY;
    const double every = engine->config->learning->evaluate.every;
    if (every < 0 && engine->progress.steps % engine->n_workers == 0)
        dsgd_values_flush(engine->learning.values);
    const double due = (double)engine->result->n_points * every * engine->n_workers;
    const bool is_due = every > 0 && (double)engine->progress.steps >= dsgd_ceil(due);
    return is_due ? dsgd_evaluate_now(engine) : -INFINITY;
}

static bool same_values(const dsgd_value *a, const dsgd_value *b, size_t n)
{
    while (n > 0 && dsgd_value_equal(a[n - 1], b[n - 1]))
        n--;
    return n == 0;
}

/**
 * Lists the different models of the workers. After an allreduce all workers have one model. After
 * averages of pairs there are half as many models as workers.
 */
static void find_local(dsgd_engine *engine)
{
    const size_t stride = engine->layout.n_pieces + 1;
    const size_t p = (size_t)engine->n_workers;
    dsgd_value *const models = dsgd_run_alloc(engine, p * stride * sizeof *models);
    engine->learning.local.models = models;
    engine->learning.local.of_worker =
        dsgd_run_alloc(engine, p * sizeof *engine->learning.local.of_worker);
    for (size_t w = 0, i = 0; w < p; w++, i = 0) {
        dsgd_value *const own = models + engine->learning.local.n * stride;
        *copy_pieces(engine->workers[w].learner.model, own) =
            engine->workers[w].learner.model_state;
        while (!same_values(models + i * stride, own, stride))
            i++;
        engine->learning.local.of_worker[w] = i;
        engine->learning.local.n += i == engine->learning.local.n;
    }
    for (size_t k = 0; k < engine->learning.local.n * stride; k++)
        dsgd_value_retain(models[k]);
}

/** Smallest number of models that are evaluated on one part of the test set. */
enum { LEAST_ON_PART = 32 };

/**
 * Returns the number of parts into which the test set is divided if each model is evaluated on one
 * part. An accuracy on n samples has a variance v of at most 1 / (4 n). A weighted mean of models'
 * accuracies with weights c has the variance v times the sum of c^2.
 */
static uint32_t local_parts(const dsgd_engine *engine)
{
    const double margin = engine->config->learning->evaluate.local_margin / 1.96;
    const double n_samples = engine->learning.data->test.n;
    double *const c = dsgd_xcalloc(engine->learning.local.n, sizeof *c);
    double squares = 0;
    for (int w = 0; w < engine->n_workers; w++)
        c[engine->learning.local.of_worker[w]] += 1.0 / engine->n_workers;
    for (size_t i = 0; i < engine->learning.local.n; i++)
        squares += c[i] * c[i];
    free(c);
    const double most = fmin(n_samples, (double)engine->learning.local.n / LEAST_ON_PART);
    return (uint32_t)fmax(1, fmin(most, n_samples * 4 * margin * margin / squares));
}

static size_t evaluate_own(dsgd_engine *engine, size_t i, uint32_t part, uint32_t n_parts)
{
    const dsgd_value *const x = engine->learning.local.models + i * (engine->layout.n_pieces + 1);
    return dsgd_values_evaluate_part(engine->learning.values, x, x[engine->layout.n_pieces], part,
                                     n_parts);
}

/**
 * Evaluates each different model on one part of the test set. All parts get about the same number
 * of models.
 */
static void evaluate_local(dsgd_engine *engine)
{
    find_local(engine);
    const uint32_t n_parts = engine->learning.local.n_parts = local_parts(engine);
    engine->learning.local.tickets =
        dsgd_run_alloc(engine, engine->learning.local.n * sizeof *engine->learning.local.tickets);
    for (size_t i = 0; i < engine->learning.local.n; i++)
        engine->learning.local.tickets[i] =
            evaluate_own(engine, i, (uint32_t)(i % n_parts), n_parts);
}

void dsgd_evaluate_last(dsgd_engine *engine)
{
    const dsgd_run_result *const result = engine->result;
    const bool evaluated = result->n_points > 0 && result->points[result->n_points - 1].virtual_s ==
                                                       result->virtual_s + engine->failures.away_s;
    if (!evaluated && engine->config->learning->evaluate.every >= 0)
        dsgd_evaluate_now(engine);
    if (engine->config->learning->evaluate.local && dsgd_learns(engine->config))
        evaluate_local(engine);
}

/**
 * A model with the difference between its accuracy and the mean accuracy of all models on the same
 * part of the test set.
 */
typedef struct candidate {
    double above;
    size_t i;
} candidate;

static int lowest_first(const void *a, const void *b)
{
    const candidate *const x = a, *const y = b;
    const int by_place = x->i < y->i ? -1 : 1;
    return x->above == y->above ? by_place : x->above < y->above ? -1 : 1;
}

/**
 * Returns the smallest accuracy of a model on the whole test set. at[n] contains the accuracies on
 * the parts of the test set. The smallest accuracy on a part is not precise, because a part has few
 * samples. So the sqrt(n) models with the lowest accuracies on their parts are evaluated on the
 * whole test set.
 */
static double least_accuracy(dsgd_engine *engine, const dsgd_evaluation *at)
{
    const size_t n = engine->learning.local.n;
    const size_t n_parts = engine->learning.local.n_parts;
    const size_t n_last = (size_t)ceil(sqrt((double)n));
    double least = INFINITY;
    if (n_parts == 1) {
        for (size_t i = 0; i < n; i++)
            least = fmin(least, at[i].accuracy);
        return least;
    }
    double *const sum = dsgd_xcalloc(n_parts, sizeof *sum);
    candidate *const models = dsgd_xcalloc(n, sizeof *models);
    for (size_t i = 0; i < n; i++)
        sum[i % n_parts] += at[i].accuracy;
    for (size_t i = 0; i < n; i++) { /* ceil((n - k) / n_parts) models are evaluated on part k of
                                      * the test set */
        const size_t n_on_part = (n - i % n_parts + n_parts - 1) / n_parts;
        models[i] = (candidate){at[i].accuracy - sum[i % n_parts] / (double)n_on_part, i};
    }
    qsort(models, n, sizeof *models, lowest_first);
    for (size_t k = 0; k < n_last; k++)
        engine->learning.local.tickets[k] = evaluate_own(engine, models[k].i, 0, 1);
    for (size_t k = 0; k < n_last; k++)
        least = fmin(least,
                     dsgd_values_result(engine->learning.values, engine->learning.local.tickets[k])
                         .accuracy);
    free(sum);
    free(models);
    return least;
}

static void sum_up_local(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    const size_t n = engine->learning.local.n;
    if (n == 0)
        return;
    const double p = engine->n_workers;
    dsgd_evaluation *const at = dsgd_xcalloc(n, sizeof *at);
    for (size_t i = 0; i < n; i++)
        at[i] = dsgd_values_result(engine->learning.values, engine->learning.local.tickets[i]);
    result->local_loss = result->local_accuracy = 0;
    for (int w = 0; w < engine->n_workers; w++) {
        result->local_loss += at[engine->learning.local.of_worker[w]].loss / p;
        result->local_accuracy += at[engine->learning.local.of_worker[w]].accuracy / p;
    }
    result->local_accuracy_min = isnan(result->local_accuracy) ? NAN : least_accuracy(engine, at);
    free(at);
    for (size_t k = 0; k < n * (engine->layout.n_pieces + 1); k++)
        dsgd_value_release(engine->learning.values, engine->learning.local.models[k]);
}

void dsgd_sum_up_learning(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    if (engine->learning.values == NULL)
        return;
    for (size_t i = 0; i < result->n_points; i++)
        result->points[i].at =
            dsgd_values_result(engine->learning.values, result->points[i].ticket);
    sum_up_local(engine);
    const dsgd_divergence divergence = dsgd_values_divergence(engine->learning.values);
    if (divergence.happened && result->outcome == DSGD_RUN_OK) {
        result->outcome = DSGD_RUN_DIVERGED;
        dsgd_fail(&result->why, DSGD_OK, "a number was no longer finite at step %llu of worker %u",
                  (unsigned long long)divergence.where.step, divergence.where.worker);
    }
    result->numerics = dsgd_values_stats_get(engine->learning.values);
}
