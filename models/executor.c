/**
 * @file executor.c
 * Computes submitted operations in batches of one kind, on threads of its own, as soon as their operands are there.
 *
 * Which operations share a batch, and which thread takes it, hangs on the wall clock; what comes out does not, because every
 * operation is computed as if it were alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "models/operations.h"

static double wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* --- buffers ------------------------------------------------------------------------------------------------------------------------ */

size_t dsgd_shape_size(const dsgd_values *values, size_t shape)
{
    const dsgd_problem *const p = &values->config.problem;
    if (shape < p->n_pieces)
        return p->piece_begin[shape + 1] - p->piece_begin[shape];
    if (shape == p->n_pieces)
        return p->network->n_state;
    return dsgd_update_states(&p->update) * dsgd_shape_size(values, shape - p->n_pieces - 1);
}

static size_t shape_bytes(const dsgd_values *values, size_t shape)
{
    return dsgd_shape_size(values, shape) * values->config.device->real_bytes;
}

dsgd_buffer dsgd_buffer_take(dsgd_values *values, size_t shape)
{
    buffer_pool *const pool = &values->pools[shape];
    values->held_bytes += shape_bytes(values, shape);
    if (values->held_bytes > values->stats.peak_bytes)
        values->stats.peak_bytes = values->held_bytes;
    if (pool->n > 0)
        return pool->free[--pool->n];
    const size_t n = dsgd_shape_size(values, shape);
    const dsgd_buffer buffer = values->config.device->alloc(values->context, n == 0 ? 1 : n);
    if (buffer == NULL) {
        fprintf(stderr,
                "dsgd: the %s device has no room for another %zu bytes; fewer workers or a smaller "
                "model would fit\n",
                values->config.device->name, shape_bytes(values, shape));
        abort();
    }
    return buffer;
}

void dsgd_buffer_give(dsgd_values *values, size_t shape, dsgd_buffer buffer)
{
    buffer_pool *const pool = &values->pools[shape];
    if (pool->n == pool->room) {
        pool->room = pool->room == 0 ? 64 : 2 * pool->room;
        pool->free = dsgd_xrealloc(pool->free, pool->room, sizeof(dsgd_buffer));
    }
    pool->free[pool->n++] = buffer;
    values->held_bytes -= shape_bytes(values, shape);
}

/* --- submission --------------------------------------------------------------------------------------------------------------------- */

static void make_ready(dsgd_values *values, dsgd_operation *operation)
{
    operation_queue *const queue = &values->ready[operation->kind];
    operation->next_ready = NULL;
    if (queue->first == NULL)
        queue->first = operation;
    else
        queue->last->next_ready = operation;
    queue->last = operation;
    pthread_cond_signal(&values->work_there);
}

static void add_reader(dsgd_operation *operation, dsgd_operation *reader)
{
    if (operation->n_readers == operation->room_readers) {
        operation->room_readers = operation->room_readers == 0 ? 2 : 2 * operation->room_readers;
        operation->readers =
            dsgd_xrealloc(operation->readers, operation->room_readers, sizeof(dsgd_operation *));
    }
    operation->readers[operation->n_readers++] = reader;
}

void dsgd_operation_submit(dsgd_values *values, dsgd_operation *operation)
{
    if (operation->state != OPERATION_PENDING)
        return;
    operation->before->after = operation->after;
    operation->after->before = operation->before;
    operation->state = OPERATION_SUBMITTED;
    values->unfinished++;
    /* Until it is done, the operation is a user of its inputs, and of itself. */
    operation->uses++;
    for (uint32_t i = 0; i < operation->n_inputs; i++) {
        dsgd_operation *const input = operation->inputs[i].operation;
        if (input == NULL)
            continue;
        dsgd_operation_submit(values, input);
        input->uses++;
        if (input->state != OPERATION_DONE) {
            add_reader(input, operation);
            operation->missing++;
        }
    }
    if (operation->missing == 0)
        make_ready(values, operation);
    if (!dsgd_may_be_fused(values, operation))
        for (uint32_t i = 0; i < operation->n_inputs; i++)
            dsgd_operation_drop_holder(values, operation->inputs[i].operation);
}

/* --- execution ---------------------------------------------------------------------------------------------------------------------- */

enum { MAX_BATCH = 4096 };

/** What a thread works on. */
typedef struct batch {
    operation_kind kind;
    size_t n;
    dsgd_operation **operations; /* [n] */
    bool *finite; /* [n] */
    union {
        dsgd_gradient_op *gradients;
        dsgd_update_op *updates;
        dsgd_combine_op *combinations;
    } ops;
    dsgd_buffer **lists; /* [n]: operand buffers */
    uint32_t **samples; /* [n] */
} batch;

/** The buffer behind a value; NULL for zeros. */
static dsgd_buffer buffer_of(dsgd_value value)
{
    return value.operation == NULL ? NULL : value.operation->outputs[value.index];
}

static dsgd_buffer *input_buffers(const dsgd_operation *operation, size_t first, size_t n)
{
    dsgd_buffer *list = dsgd_xcalloc(n, sizeof(dsgd_buffer));
    for (size_t i = 0; i < n; i++)
        list[i] = buffer_of(operation->inputs[first + i]);
    return list;
}

static uint32_t *sample_indices(const dsgd_values *values, const dsgd_operation *operation)
{
    const dsgd_stream *const stream = &values->config.stream;
    const uint32_t count = operation->count;
    uint32_t *indices = dsgd_xcalloc((size_t)operation->n_samples * count, sizeof *indices);
    for (uint32_t i = 0; i < operation->n_samples; i++)
        for (uint32_t j = 0; j < count; j++)
            indices[i * count + j] = dsgd_stream_sample(stream, operation->samples[i].worker,
                                                        operation->samples[i].step, j);
    return indices;
}

/** Describes operation i of the batch to the device. Outputs get their buffers here, with the lock held. */
static void describe(dsgd_values *values, batch *b, size_t i)
{
    dsgd_operation *const o = b->operations[i];
    for (uint32_t k = 0; k < o->n_outputs; k++)
        o->outputs[k] = dsgd_buffer_take(values, dsgd_output_shape(values, o, k));
    const size_t n = dsgd_shape_size(values, o->shape);
    const size_t n_pieces = values->config.problem.n_pieces;
    if (o->kind == OPERATION_GRADIENT) {
        b->lists[i] = input_buffers(o, 0, o->n_inputs);
        b->ops.gradients[i] =
            (dsgd_gradient_op){.x = b->lists[i],
                               .g = o->outputs,
                               .state = o->n_inputs > n_pieces ? b->lists[i][n_pieces] : NULL,
                               .state_new = o->n_outputs > n_pieces ? o->outputs[n_pieces] : NULL,
                               .n_samples = o->n_samples * o->count};
        values->stats.gradients++;
        values->stats.gradient_samples += b->ops.gradients[i].n_samples;
    } else if (o->kind == OPERATION_UPDATE) {
        const bool state = o->n_outputs == 2;
        b->ops.updates[i] = (dsgd_update_op){.n = n,
                                             .x = buffer_of(o->inputs[0]),
                                             .g = buffer_of(o->inputs[1]),
                                             .v = state ? buffer_of(o->inputs[2]) : NULL,
                                             .x_new = o->outputs[0],
                                             .v_new = state ? o->outputs[1] : NULL,
                                             .lr = o->lr,
                                             .t = o->t};
        values->stats.updates++;
    } else {
        b->lists[i] = input_buffers(o, 0, o->n_inputs);
        b->ops.combinations[i] = (dsgd_combine_op){.n = n,
                                                   .n_inputs = o->n_inputs,
                                                   .x = b->lists[i],
                                                   .weights = o->weights,
                                                   .divisor = o->divisor,
                                                   .y = o->outputs[0]};
        values->stats.combinations++;
    }
}

/** Loss and accuracy of the mean model, and the models' distance from it. See values.c for the inputs. */
static void evaluate(dsgd_values *values, uint32_t thread, const dsgd_operation *o)
{
    const dsgd_device *const device = values->config.device;
    const size_t n_pieces = values->config.problem.n_pieces;
    const size_t n_means = n_pieces + (values->config.problem.network->n_state > 0);
    dsgd_buffer *const mean = input_buffers(o, 0, n_means);
    dsgd_evaluate_op op = {.x = mean, .state = n_means > n_pieces ? mean[n_pieces] : NULL};
    device->evaluate(values->context, thread, &op, 1);
    double sum = 0;
    for (size_t i = n_means; i < o->n_inputs; i++) {
        const size_t piece = o->shapes[i];
        dsgd_distance_op distance = {
            .n = dsgd_shape_size(values, piece), .x = buffer_of(o->inputs[i]), .y = mean[piece]};
        device->distance(values->context, thread, &distance, 1);
        sum += o->weights[i] * distance.distance;
    }
    free(mean);
    *o->evaluation = (dsgd_evaluation){op.loss, op.accuracy, sqrt(sum)};
}

static void compute(dsgd_values *values, uint32_t thread, batch *b)
{
    const dsgd_device *const device = values->config.device;
    switch (b->kind) {
    case OPERATION_GRADIENT:
        for (size_t i = 0; i < b->n; i++) {
            b->samples[i] = sample_indices(values, b->operations[i]);
            b->ops.gradients[i].samples = b->samples[i];
        }
        device->gradient(values->context, thread, b->ops.gradients, b->n, b->finite);
        break;
    case OPERATION_UPDATE:
        device->update(values->context, thread, b->ops.updates, b->n, b->finite);
        break;
    case OPERATION_COMBINE:
        device->combine(values->context, thread, b->ops.combinations, b->n, b->finite);
        break;
    case OPERATION_EVALUATE:
        for (size_t i = 0; i < b->n; i++)
            evaluate(values, thread, b->operations[i]);
        break;
    case OPERATION_CONSTANT:
    case OPERATION_KINDS:
        break;
    }
}

/** Books the operation as done: its readers may begin, its inputs have one user less. */
static void finish(dsgd_values *values, dsgd_operation *operation)
{
    operation->state = OPERATION_DONE;
    for (uint32_t i = 0; i < operation->n_readers; i++)
        if (--operation->readers[i]->missing == 0)
            make_ready(values, operation->readers[i]);
    operation->n_readers = 0;
    for (uint32_t i = 0; i < operation->n_inputs; i++) {
        dsgd_operation *const input = operation->inputs[i].operation;
        if (input == NULL)
            continue;
        input->uses--;
        dsgd_operation_reap(values, input);
    }
    values->unfinished--;
    operation->uses--;
    dsgd_operation_reap(values, operation);
}

/** Remembers the first operation, in the order of the calls, that gave a number that is not finite. */
static void note_divergence(dsgd_values *values, const dsgd_operation *operation)
{
    if (operation->id >= values->diverged_id)
        return;
    values->diverged_id = operation->id;
    values->diverged_where = operation->where;
}

/** Takes ready operations of one kind off their queue; those after a divergence are done without being computed. */
static bool take_batch(dsgd_values *values, batch *b)
{
    b->n = 0;
    for (int kind = OPERATION_KINDS - 1; kind > OPERATION_CONSTANT && b->n == 0; kind--) {
        operation_queue *const queue = &values->ready[kind];
        b->kind = (operation_kind)kind;
        const size_t most = kind == OPERATION_EVALUATE ? 1 : values->config.device->batch;
        while (queue->first != NULL && b->n < most && b->n < MAX_BATCH) {
            dsgd_operation *const operation = queue->first;
            queue->first = operation->next_ready;
            if (operation->id > values->diverged_id)
                finish(values, operation);
            else
                b->operations[b->n++] = operation;
        }
    }
    for (size_t i = 0; i < b->n && b->kind != OPERATION_EVALUATE; i++)
        describe(values, b, i);
    values->stats.evaluations += b->kind == OPERATION_EVALUATE ? b->n : 0;
    return b->n > 0;
}

static bool any_ready(const dsgd_values *values)
{
    for (int kind = 0; kind < OPERATION_KINDS; kind++)
        if (values->ready[kind].first != NULL)
            return true;
    return false;
}

static void work(dsgd_values *values, uint32_t thread, batch *b)
{
    pthread_mutex_unlock(&values->lock);
    for (size_t i = 0; i < b->n; i++)
        b->finite[i] = true;
    const double start_s = wall_s();
    compute(values, thread, b);
    const double busy_s = wall_s() - start_s;
    for (size_t i = 0; i < b->n; i++) {
        free(b->lists[i]);
        free(b->samples[i]);
        b->lists[i] = NULL;
        b->samples[i] = NULL;
    }
    pthread_mutex_lock(&values->lock);
    values->stats.busy_wall_s += busy_s;
    for (size_t i = 0; i < b->n; i++) {
        if (!b->finite[i])
            note_divergence(values, b->operations[i]);
        finish(values, b->operations[i]);
    }
    pthread_cond_broadcast(&values->work_done);
}

static size_t largest_op(void)
{
    size_t largest = sizeof(dsgd_gradient_op);
    if (sizeof(dsgd_update_op) > largest)
        largest = sizeof(dsgd_update_op);
    return sizeof(dsgd_combine_op) > largest ? sizeof(dsgd_combine_op) : largest;
}

static void *thread_main(void *argument)
{
    dsgd_values *const values = argument;
    const size_t room =
        values->config.device->batch < MAX_BATCH ? values->config.device->batch : MAX_BATCH;
    batch b = {.operations = dsgd_xcalloc(room, sizeof *b.operations),
               .finite = dsgd_xcalloc(room, sizeof *b.finite),
               .lists = dsgd_xcalloc(room, sizeof *b.lists),
               .samples = dsgd_xcalloc(room, sizeof *b.samples)};
    void *const ops = dsgd_xcalloc(room, largest_op());
    b.ops.gradients = ops;
    pthread_mutex_lock(&values->lock);
    const uint32_t thread = values->n_threads_started++;
    while (!values->closing) {
        if (take_batch(values, &b)) {
            work(values, thread, &b);
        } else if (!any_ready(values)) { /* what was skipped may have made others ready */
            pthread_cond_broadcast(&values->work_done); /* skipped operations are done too */
            pthread_cond_wait(&values->work_there, &values->lock);
        }
    }
    pthread_mutex_unlock(&values->lock);
    free(b.operations);
    free(b.finite);
    free(b.lists);
    free(b.samples);
    free(ops);
    return NULL;
}

void dsgd_executor_wait(dsgd_values *values, size_t unfinished)
{
    if (values->unfinished <= unfinished)
        return;
    const double start_s = wall_s();
    while (values->unfinished > unfinished)
        pthread_cond_wait(&values->work_done, &values->lock);
    values->stats.waiting_wall_s += wall_s() - start_s;
}

void dsgd_executor_start(dsgd_values *values)
{
    const uint32_t n = values->config.n_threads;
    values->threads = dsgd_xcalloc(n, sizeof *values->threads);
    for (uint32_t i = 0; i < n; i++)
        DSGD_ASSERT(pthread_create(&values->threads[i], NULL, thread_main, values) == 0,
                    "thread %u of %u", i, n);
}

void dsgd_executor_stop(dsgd_values *values)
{
    pthread_mutex_lock(&values->lock);
    values->closing = true;
    pthread_cond_broadcast(&values->work_there);
    pthread_mutex_unlock(&values->lock);
    for (uint32_t i = 0; i < values->config.n_threads; i++)
        pthread_join(values->threads[i], NULL);
    free(values->threads);
}
