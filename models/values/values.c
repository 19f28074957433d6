/**
 * @file values.c
 * The value store: opening, closing, the calls of values.h, flushes of pending nodes, and results.
 */
#include "base/draw.h"
#include "models/values/store.h"

/* --- functions that open and close the store -------------------------------------------------- */

enum { FLUSH_AT_LEAST = 256 };

dsgd_status dsgd_values_open(const dsgd_values_config *config, dsgd_values **values,
                             dsgd_error *error)
{
    dsgd_values *const v = dsgd_xcalloc(1, sizeof *v);
    v->config = *config;
    v->n_queues = config->n_threads + (config->device->threaded ? 1 : 0);
    const dsgd_status status =
        config->device->open(&v->config.problem, &config->place, v->n_queues, &v->context, error);
    if (status != DSGD_OK) {
        free(v);
        return status;
    }
    dsgd_buffers_open(v);
    v->room_bytes = SIZE_MAX;
    if (config->device->room != NULL) {
        v->room_bytes = config->device->room(v->context);
        v->config.memory_bytes = v->room_bytes - v->room_bytes / 4;
    }
    v->flush_every =
        config->stream.n_workers > FLUSH_AT_LEAST ? config->stream.n_workers : FLUSH_AT_LEAST;
    dsgd_executor_start(v);
    *values = v;
    return DSGD_OK;
}

dsgd_status dsgd_values_open_where(dsgd_values_config *config, dsgd_numerics where, bool in_double,
                                   dsgd_values **values, dsgd_error *error)
{
    DSGD_ASSERT(where == DSGD_NUMERICS_CPU || where == DSGD_NUMERICS_CUDA,
                "which device computes is not decided");
    config->device = dsgd_device_cpu(in_double);
    if (where == DSGD_NUMERICS_CUDA && in_double)
        return dsgd_refuse(
            error,
            "learn: precision: the CUDA device computes in float. Use --numerics cpu for double");
    if (where == DSGD_NUMERICS_CUDA)
        DSGD_TRY(dsgd_device_cuda(&config->device, error));
    if (!config->device->threaded)
        config->n_threads = 1;
    return dsgd_values_open(config, values, error);
}

void dsgd_values_close(dsgd_values *values)
{
    if (values == NULL)
        return;
    pthread_mutex_lock(&values->lock);
    dsgd_executor_wait(values, 0);
    dsgd_nodes_collect(values);
    pthread_mutex_unlock(&values->lock);
    dsgd_executor_stop(values);
    dsgd_nodes_free(values);
    values->config.device->close(values->context);
    dsgd_store_free(values);
    free(values);
}

/* --- handles and listener --------------------------------------------------------------------- */

void dsgd_values_listen(dsgd_values *values, dsgd_value_listener *listener, void *argument)
{
    values->listener = listener;
    values->listener_argument = argument;
}

dsgd_value dsgd_value_retain(dsgd_value value)
{
    dsgd_value_ref(value);
    return value;
}

enum { MOST_DROPPED = 64 };

void dsgd_value_release(dsgd_values *values, dsgd_value value)
{
    if (values == NULL || value.node == NULL)
        return;
    dsgd_value_unref(values, value);
    if (values->n_dropped < MOST_DROPPED)
        return;
    pthread_mutex_lock(&values->lock);
    dsgd_nodes_collect(values);
    pthread_mutex_unlock(&values->lock);
}

/* --- functions that flush pending nodes ------------------------------------------------------- */

/** Submits the pending nodes up to id @p last to the threads. The caller holds the lock. */
static void flush(dsgd_values *values, uint64_t last)
{
    values->gradients_since_flush = 0;
    values->id_at_flush = values->next_id;
    dsgd_lazy_flush(values, last);
    dsgd_nodes_collect(values);
    dsgd_executor_wake(values);
    if (values->held_bytes > values->config.memory_bytes)
        dsgd_executor_wait(values, 0);
    /*
     * The wait limits how far the calls run ahead of the threads, because submitted nodes keep
     * their inputs in memory.
     */
    dsgd_executor_wait(values, 8 * (size_t)values->flush_every);
}

static void flush_locked(dsgd_values *values, uint64_t last)
{
    pthread_mutex_lock(&values->lock);
    flush(values, last);
    pthread_mutex_unlock(&values->lock);
}

void dsgd_values_flush(dsgd_values *values)
{
    if (values != NULL)
        flush_locked(values, UINT64_MAX);
}

/* --- operations on values --------------------------------------------------------------------- */

static dsgd_value constant(dsgd_values *values, const dsgd_value_call *call)
{
    const dsgd_value_node header = {
        .kind = NODE_CONSTANT, .shape = (uint32_t)call->piece, .n_outputs = 1};
    const dsgd_value made = {dsgd_value_node_new(values, &header), 0};
    made.node->id = ++values->next_id;
    dsgd_value_ref(made);
    pthread_mutex_lock(&values->lock);
    dsgd_executor_put(values, made.node, call->elements);
    pthread_mutex_unlock(&values->lock);
    return made;
}

/**
 * Creates the value of a call and reports the call to the listener. The caller owns the returned
 * handle. Operands keep their references.
 */
static dsgd_value make(dsgd_values *values, dsgd_value_call call)
{
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    /*
     * The flush submits only nodes that are older than the previous flush. By now workers have
     * released the gradients that they used, and these gradients have released their models.
     */
    if (call.by == DSGD_MADE_GRADIENT && ++values->gradients_since_flush >= values->flush_every)
        flush_locked(values, values->id_at_flush);
    call.made =
        call.by == DSGD_MADE_CONSTANT ? constant(values, &call) : dsgd_lazy_make(values, &call);
    if (values->listener != NULL)
        values->listener(values->listener_argument, &call);
    return call.made;
}

/** Releases the handle @p old and replaces it by output @p k of the new node. */
static void replace(dsgd_values *values, dsgd_value *old, dsgd_value made, size_t k)
{
    dsgd_value_unref(values, *old);
    *old = (dsgd_value){made.node, (uint32_t)k};
}

dsgd_value dsgd_values_constant(dsgd_values *values, size_t piece, const double *x)
{
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    x += values->config.problem.piece_begin[piece];
    return make(values, (dsgd_value_call){DSGD_MADE_CONSTANT, .piece = piece, .elements = x});
}

dsgd_value dsgd_values_state(dsgd_values *values, const double *state)
{
    if (values == NULL || !dsgd_has_state(values))
        return DSGD_ZERO_VALUE;
    const size_t piece = values->config.problem.n_pieces;
    return make(values, (dsgd_value_call){DSGD_MADE_CONSTANT, .piece = piece, .elements = state});
}

void dsgd_values_gradient(dsgd_values *values, dsgd_origin where, uint32_t count,
                          const dsgd_value *x, dsgd_value *state, dsgd_value *g)
{
    if (values == NULL)
        return;
    const dsgd_value made =
        make(values, (dsgd_value_call){DSGD_MADE_GRADIENT, .where = where, .count = count, .x = x,
                                       .states = state});
    const size_t n_pieces = values->config.problem.n_pieces;
    for (size_t k = 0; k < n_pieces; k++)
        g[k] = (dsgd_value){made.node, (uint32_t)k};
    if (dsgd_has_state(values))
        replace(values, state, made, n_pieces);
}

dsgd_value dsgd_values_update(dsgd_values *values, dsgd_origin where, size_t piece, dsgd_value x,
                              dsgd_value g, dsgd_value *v, dsgd_rate rate)
{
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    const bool state = dsgd_optimizer_states(&values->config.problem.update) > 0;
    const dsgd_value inputs[] = {x, g, state ? *v : DSGD_ZERO_VALUE};
    const dsgd_value made =
        make(values, (dsgd_value_call){DSGD_MADE_UPDATE, .where = where, .piece = piece,
                                       .n = state ? 3 : 2, .x = inputs, .rate = rate});
    if (state)
        replace(values, v, made, 1);
    return made;
}

dsgd_value dsgd_values_combine(dsgd_values *values, dsgd_origin where, size_t piece, size_t n,
                               const dsgd_value *x, const double *weights, double divisor)
{
    /* Return before the function touches its stack, which may not be in the cache. */
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    return make(values, (dsgd_value_call){DSGD_MADE_COMBINATION, .where = where, .piece = piece,
                                          .n = n, .x = x, .elements = weights, .divisor = divisor});
}

dsgd_value dsgd_values_encode(dsgd_values *values, dsgd_origin where, size_t piece,
                              const dsgd_codec *codec, dsgd_value x, dsgd_value z)
{
    return make(values, (dsgd_value_call){DSGD_MADE_ENCODED, .where = where, .piece = piece,
                                          .n = dsgd_codec_inputs(codec),
                                          .x = (const dsgd_value[]){x, z}, .codec = codec});
}

/* --- results of evaluations ------------------------------------------------------------------- */

/** Submits the node of an evaluation and returns the ticket of the evaluation. */
static size_t ticket_of(dsgd_values *values, dsgd_value_node *node)
{
    ticket *const t = dsgd_store_alloc(values, 1, sizeof *t);
    *t = (ticket){node->id, {NAN, NAN, NAN}};
    node->evaluation = &t->result;
    values->tickets = dsgd_array_grow(values, values->tickets, values->n_tickets,
                                      &values->room_tickets, sizeof(ticket *));
    values->tickets[values->n_tickets] = t;
    pthread_mutex_lock(&values->lock);
    dsgd_lazy_submit(values, node);
    flush(values, values->id_at_flush);
    pthread_mutex_unlock(&values->lock);
    return values->n_tickets++;
}

size_t dsgd_values_evaluate(dsgd_values *values, size_t n, uint32_t m, const dsgd_value *x,
                            const dsgd_value *states)
{
    if (values == NULL)
        return 0;
    const dsgd_value_call call = {.n = n, .count = m, .x = x, .states = states};
    return ticket_of(values, dsgd_lazy_evaluate(values, &call));
}

size_t dsgd_values_evaluate_part(dsgd_values *values, const dsgd_value *x, dsgd_value state,
                                 uint32_t part, uint32_t n_parts)
{
    if (values == NULL)
        return 0;
    const uint32_t n = values->config.problem.data->test.n;
    DSGD_ASSERT(part < n_parts && n_parts <= n, "part %u of %u of %u samples", part, n_parts, n);
    if (n_parts > 1 && values->test_order == NULL) {
        const dsgd_draw at = {.seed = values->config.stream.seed, .purpose = DSGD_DRAW_TEST_PARTS};
        dsgd_permuter *const permuter = dsgd_permuter_new(at, n);
        values->test_order = dsgd_store_alloc(values, n, sizeof *values->test_order);
        dsgd_permuter_images(permuter, 0, 0, n, values->test_order);
        free(permuter);
    }
    const dsgd_value_call call = {.where = {part, n_parts}, .x = x, .states = &state};
    return ticket_of(values, dsgd_lazy_scores(values, &call));
}

dsgd_evaluation dsgd_values_result(dsgd_values *values, size_t number)
{
    if (values == NULL)
        return (dsgd_evaluation){NAN, NAN, NAN};
    pthread_mutex_lock(&values->lock);
    flush(values, UINT64_MAX);
    dsgd_executor_wait(values, 0); /* waits for all nodes, because any earlier node can diverge */
    const ticket *const t = values->tickets[number];
    const dsgd_evaluation result =
        t->id > values->diverged_id ? (dsgd_evaluation){NAN, NAN, NAN} : t->result;
    pthread_mutex_unlock(&values->lock);
    return result;
}

dsgd_divergence dsgd_values_divergence(dsgd_values *values)
{
    if (values == NULL)
        return (dsgd_divergence){0};
    pthread_mutex_lock(&values->lock);
    dsgd_executor_wait(values, 0);
    const dsgd_divergence divergence = {values->diverged_id != UINT64_MAX, values->diverged_where};
    pthread_mutex_unlock(&values->lock);
    return divergence;
}

dsgd_values_stats dsgd_values_stats_get(dsgd_values *values)
{
    if (values == NULL)
        return (dsgd_values_stats){0};
    pthread_mutex_lock(&values->lock);
    const dsgd_values_stats stats = values->stats;
    pthread_mutex_unlock(&values->lock);
    return stats;
}

void dsgd_values_read(dsgd_values *values, size_t piece, dsgd_value value, double *x)
{
    if (values == NULL)
        return;
    const size_t n = dsgd_shape_size(values, piece);
    if (value.node == NULL) {
        memset(x, 0, n * sizeof *x);
        return;
    }
    pthread_mutex_lock(&values->lock);
    dsgd_lazy_submit(values, value.node);
    flush(values, UINT64_MAX);
    dsgd_executor_wait(values, 0);
    const dsgd_buffer buffer = value.node->outputs[value.index];
    if (buffer == NULL || value.node->id > values->diverged_id)
        for (size_t i = 0; i < n; i++)
            x[i] = NAN; /* the node was skipped after a divergence, or was computed before the
                         * divergence was known */
    else
        dsgd_executor_get(values, value.node, value.index, x, n);
    pthread_mutex_unlock(&values->lock);
}
