/**
 * @file executor.c
 * Computes submitted operations in batches of one kind, on threads of its own, as soon as their operands are there.
 *
 * Which operations share a batch, and which thread takes it, hangs on the wall clock; what comes out does not, because every
 * operation is computed as if it were alone.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/program.h"
#include "models/values/operations.h"

/* --- submission --------------------------------------------------------------------------------------------------------------------- */

static void make_ready(dsgd_values *values, uint32_t thread, dsgd_operation *operation)
{
    desk *const own = &values->desks[thread];
    operation_queue *const queue = &own->ready[operation->kind];
    if (operation->rank < own->first_rank)
        own->first_rank = operation->rank;
    if (queue->n == queue->room) {
        queue->room = queue->room == 0 ? 64 : 2 * queue->room;
        queue->v = dsgd_xrealloc(queue->v, queue->room, sizeof(dsgd_operation *));
    }
    size_t at = queue->n++;
    for (size_t above = 0; at > 0; at = above) {
        above = (at - 1) / 2;
        if (queue->v[above]->rank < operation->rank)
            break;
        queue->v[at] = queue->v[above];
    }
    queue->v[at] = operation;
}

/** The desk's queue whose first operation was submitted first, so that what belongs together is computed, and given back, together. */
static operation_queue *first_queue(desk *own)
{
    operation_queue *first = NULL;
    for (int kind = 0; kind < OPERATION_KINDS; kind++) {
        operation_queue *const queue = &own->ready[kind];
        if (queue->n > 0 && (first == NULL || queue->v[0]->rank < first->v[0]->rank))
            first = queue;
    }
    return first;
}

static dsgd_operation *take_first(desk *own, operation_queue *queue)
{
    dsgd_operation *const operation = queue->v[0];
    dsgd_operation *const last = queue->v[--queue->n];
    size_t at = 0;
    for (size_t below = 1; below < queue->n; below = 2 * at + 1) {
        if (below + 1 < queue->n && queue->v[below + 1]->rank < queue->v[below]->rank)
            below++;
        if (last->rank < queue->v[below]->rank)
            break;
        queue->v[at] = queue->v[below];
        at = below;
    }
    queue->v[at] = last;
    const operation_queue *const next = first_queue(own);
    own->first_rank = next == NULL ? UINT64_MAX : next->v[0]->rank;
    return operation;
}

static void unuse(dsgd_values *values, dsgd_operation *operation)
{
    if (--operation->uses > 0)
        return;
    operation->next_dead = values->dead;
    values->dead = operation;
}

/** Gives the buffer of an output back once it is both computed and read by all. */
static void give_output(dsgd_values *values, dsgd_operation *o, uint32_t k)
{
    if (o->readings[k] == 0 && o->done && o->outputs[k] != NULL)
        dsgd_buffer_give(values, o, k);
}

void dsgd_value_unread(dsgd_values *values, dsgd_value value)
{
    dsgd_operation *const o = value.operation;
    if (--o->readings[value.index] > 0)
        return;
    give_output(values, o, value.index);
    unuse(values, o);
}

/** Where an operation goes whose operands are there: to who computed the first; what begins with a constant is shared out by workers. */
static uint32_t desk_of(const dsgd_values *values, const dsgd_operation *operation)
{
    const dsgd_operation *const first =
        operation->n_inputs > 0 ? operation->inputs[0].operation : NULL;
    if (first != NULL && first->kind != OPERATION_CONSTANT)
        return first->thread;
    const uint64_t n_workers = values->config.stream.n_workers;
    return (uint32_t)(operation->where.worker % n_workers * values->n_desks / n_workers);
}

void dsgd_operation_submit(dsgd_values *values, dsgd_operation *operation)
{
    if (!operation->pending)
        return;
    operation->before->after = operation->after;
    operation->after->before = operation->before;
    operation->pending = false;
    values->unfinished++;
    operation->uses = operation->n_outputs + 1;
    for (uint32_t k = 0; k < operation->n_outputs; k++)
        operation->readings[k] = 1;
    for (uint32_t i = 0; i < operation->n_inputs; i++) {
        dsgd_operation *const input = operation->inputs[i].operation;
        if (input == NULL)
            continue;
        dsgd_operation_submit(values, input);
        input->readings[operation->inputs[i].index]++;
        if (!input->done) {
            operation->waits[i] = (operation_reader){operation, input->readers};
            input->readers = &operation->waits[i];
            operation->missing++;
        }
    }
    operation->rank = values->next_rank++;
    if (operation->missing == 0)
        make_ready(values, desk_of(values, operation), operation);
    /* Outputs that nobody holds now were let go before there was a reading of theirs. */
    for (uint32_t k = 0; k < operation->n_outputs; k++)
        if (operation->handles[k] == 0 && dsgd_goes_apart(values, operation))
            dsgd_value_unread(values, (dsgd_value){operation, k});
    if (!dsgd_may_be_fused(values, operation))
        for (uint32_t i = 0; i < operation->n_inputs; i++)
            dsgd_value_drop(values, operation->inputs[i]);
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
    uint32_t *samples; /* of all gradients, one after the other */
    size_t room_samples;
} batch;

/** The buffer behind a value; NULL for zeros. */
static dsgd_buffer buffer_of(dsgd_value value)
{
    return value.operation == NULL ? NULL : value.operation->outputs[value.index];
}

static void gather_operands(const dsgd_operation *operation)
{
    for (uint32_t i = 0; i < operation->n_inputs; i++)
        operation->operands[i] = buffer_of(operation->inputs[i]);
}

static void sample_indices(const dsgd_values *values, const dsgd_operation *operation,
                           uint32_t *indices)
{
    for (uint32_t i = 0; i < operation->n_samples; i++)
        for (uint32_t j = 0; j < operation->count; j++)
            *indices++ = dsgd_stream_sample(&values->config.stream, operation->samples[i].worker,
                                            operation->samples[i].step, j);
}

static size_t count_samples(const dsgd_operation *operation)
{
    return (size_t)operation->n_samples * operation->count;
}

static void describe_gradients(const dsgd_values *values, batch *b)
{
    const size_t n_pieces = values->config.problem.n_pieces;
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += count_samples(b->operations[i]);
    if (n > b->room_samples) {
        b->samples = dsgd_xrealloc(b->samples, n, sizeof *b->samples);
        b->room_samples = n;
    }
    uint32_t *samples = b->samples;
    for (size_t i = 0; i < b->n; i++) {
        const dsgd_operation *const o = b->operations[i];
        sample_indices(values, o, samples);
        b->ops.gradients[i] =
            (dsgd_gradient_op){.x = o->operands,
                               .g = o->outputs,
                               .state = o->n_inputs > n_pieces ? o->operands[n_pieces] : NULL,
                               .state_new = o->n_outputs > n_pieces ? o->outputs[n_pieces] : NULL,
                               .samples = samples,
                               .n_samples = (uint32_t)count_samples(o)};
        samples += count_samples(o);
    }
}

static dsgd_update_op describe_update(const dsgd_values *values, const dsgd_operation *o)
{
    const bool state = o->n_outputs == 2;
    return (dsgd_update_op){.n = dsgd_shape_size(values, o->shape),
                            .x = o->operands[0],
                            .g = o->operands[1],
                            .v = state ? o->operands[2] : NULL,
                            .x_new = o->outputs[0],
                            .v_new = state ? o->outputs[1] : NULL,
                            .lr = o->lr,
                            .t = o->t};
}

static dsgd_combine_op describe_combination(const dsgd_values *values, const dsgd_operation *o)
{
    return (dsgd_combine_op){.n = dsgd_shape_size(values, o->shape),
                             .n_inputs = o->n_inputs,
                             .x = o->operands,
                             .weights = o->weights,
                             .divisor = o->divisor,
                             .y = o->outputs[0]};
}

/** Loss and accuracy of the mean model, and the models' distance from it. See values.c for the inputs. */
static void evaluate(dsgd_values *values, uint32_t thread, const dsgd_operation *o)
{
    const dsgd_device *const device = values->config.device;
    const size_t n_pieces = values->config.problem.n_pieces;
    const size_t n_means = n_pieces + (values->config.problem.network->n_state > 0);
    const dsgd_buffer *const mean = o->operands;
    dsgd_evaluate_op op = {.x = mean, .state = n_means > n_pieces ? mean[n_pieces] : NULL};
    device->evaluate(values->context, thread, &op, 1);
    const size_t n = o->n_inputs - n_means;
    dsgd_distance_op *const distances = dsgd_xcalloc(n, sizeof *distances);
    for (size_t i = 0; i < n; i++) {
        const size_t piece = o->shapes[n_means + i];
        distances[i] = (dsgd_distance_op){
            .n = dsgd_shape_size(values, piece), .x = o->operands[n_means + i], .y = mean[piece]};
    }
    device->distance(values->context, thread, distances, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += o->weights[n_means + i] * distances[i].distance;
    free(distances);
    *o->evaluation = (dsgd_evaluation){op.loss, op.accuracy, sqrt(sum)};
}

/** Describes the batch to the device, which computes it. */
static void compute(dsgd_values *values, uint32_t thread, batch *b)
{
    const dsgd_device *const device = values->config.device;
    for (size_t i = 0; i < b->n; i++) {
        gather_operands(b->operations[i]);
        b->finite[i] = true;
    }
    switch (b->kind) {
    case OPERATION_GRADIENT:
        describe_gradients(values, b);
        device->gradient(values->context, thread, b->ops.gradients, b->n, b->finite);
        break;
    case OPERATION_UPDATE:
        for (size_t i = 0; i < b->n; i++)
            b->ops.updates[i] = describe_update(values, b->operations[i]);
        device->update(values->context, thread, b->ops.updates, b->n, b->finite);
        break;
    case OPERATION_COMBINE:
        for (size_t i = 0; i < b->n; i++)
            b->ops.combinations[i] = describe_combination(values, b->operations[i]);
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

/** Books the operation as done by @p thread: its readers may begin there, its inputs have one user less. */
static void finish(dsgd_values *values, uint32_t thread, dsgd_operation *operation)
{
    operation->thread = thread;
    operation->done = true;
    for (operation_reader *r = operation->readers; r != NULL; r = r->next)
        if (--r->reader->missing == 0)
            make_ready(values, thread, r->reader);
    operation->readers = NULL;
    for (uint32_t i = 0; i < operation->n_inputs; i++) {
        dsgd_operation *const input = operation->inputs[i].operation;
        if (input == NULL)
            continue;
        input->travelled = input->travelled || input->thread != thread;
        dsgd_value_unread(values, operation->inputs[i]);
    }
    values->unfinished--;
    for (uint32_t k = 0; k < operation->n_outputs; k++)
        give_output(values, operation, k); /* where nobody reads it */
    unuse(values, operation);
}

/** Remembers the first operation, in the order of the calls, that gave a number that is not finite. */
static void note_divergence(dsgd_values *values, const dsgd_operation *operation)
{
    if (operation->id >= values->diverged_id)
        return;
    values->diverged_id = operation->id;
    values->diverged_where = operation->where;
}

/** Room for what the operation gives, and a line in the statistics. */
static void prepare(dsgd_values *values, uint32_t thread, dsgd_operation *o)
{
    dsgd_values_stats *const stats = &values->stats;
    for (uint32_t k = 0; k < o->n_outputs; k++)
        o->outputs[k] = dsgd_buffer_take(values, thread, dsgd_output_shape(values, o, k));
    stats->gradients += o->kind == OPERATION_GRADIENT;
    stats->gradient_samples += o->kind == OPERATION_GRADIENT ? count_samples(o) : 0;
    stats->updates += o->kind == OPERATION_UPDATE;
    stats->combinations += o->kind == OPERATION_COMBINE;
    stats->evaluations += o->kind == OPERATION_EVALUATE;
}

/** Where something is ready that was submitted before all that is ready elsewhere. */
static desk *first_desk(const dsgd_values *values)
{
    desk *first = &values->desks[0];
    for (uint32_t i = 1; i < values->n_desks; i++)
        if (values->desks[i].first_rank < first->first_rank)
            first = &values->desks[i];
    return first;
}

static bool any_ready(const dsgd_values *values)
{
    return first_desk(values)->first_rank != UINT64_MAX;
}

enum { AHEAD = 256 };

/** Where @p thread goes on: at its own desk, unless another's is so far behind that it would hold more memory. */
static desk *next_desk(const dsgd_values *values, uint32_t thread)
{
    desk *const own = &values->desks[thread];
    desk *const first = first_desk(values);
    return own->first_rank - first->first_rank <= AHEAD ? own : first;
}

/** Takes ready operations of one kind off a desk; those after a divergence are done without being computed. */
static bool take_batch(dsgd_values *values, uint32_t thread, batch *b)
{
    b->n = 0;
    while (b->n == 0 && any_ready(values)) {
        desk *const from = next_desk(values, thread);
        operation_queue *const queue = first_queue(from);
        b->kind = queue->v[0]->kind;
        const size_t most = b->kind == OPERATION_EVALUATE ? 1 : values->config.device->batch;
        while (queue->n > 0 && b->n < most && b->n < MAX_BATCH) {
            dsgd_operation *const operation = take_first(from, queue);
            if (operation->id > values->diverged_id)
                finish(values, thread, operation);
            else
                b->operations[b->n++] = operation;
        }
    }
    for (size_t i = 0; i < b->n; i++)
        prepare(values, thread, b->operations[i]);
    return b->n > 0;
}

static size_t largest_op(void)
{
    size_t largest = sizeof(dsgd_gradient_op);
    if (sizeof(dsgd_update_op) > largest)
        largest = sizeof(dsgd_update_op);
    return sizeof(dsgd_combine_op) > largest ? sizeof(dsgd_combine_op) : largest;
}

static void open_batch(const dsgd_values *values, batch *b)
{
    const size_t room =
        values->config.device->batch < MAX_BATCH ? values->config.device->batch : MAX_BATCH;
    *b = (batch){.operations = dsgd_xcalloc(room, sizeof *b->operations),
                 .finite = dsgd_xcalloc(room, sizeof *b->finite)};
    b->ops.gradients = dsgd_xcalloc(room, largest_op());
}

static void close_batch(batch *b)
{
    free(b->operations);
    free(b->finite);
    free(b->samples);
    free(b->ops.gradients);
}

/** Wakes one more thread where there is more to do than this one has taken; that one looks further. */
void dsgd_executor_wake(dsgd_values *values)
{
    if (!any_ready(values))
        return;
    if (values->n_idle > 0)
        pthread_cond_signal(&values->work_there);
    else if (values->caller_waits && values->config.device->threaded)
        pthread_cond_signal(&values->work_done);
}

/** Computes one batch; false where nothing was ready. With the lock held, but for the computation. */
static bool work(dsgd_values *values, uint32_t thread, batch *b)
{
    const size_t before = values->unfinished;
    if (!take_batch(values, thread, b))
        return values->unfinished < before; /* what was skipped may have made others ready */
    dsgd_executor_wake(values);
    pthread_mutex_unlock(&values->lock);
    const double start_s = dsgd_wall_s();
    compute(values, thread, b);
    const double busy_s = dsgd_wall_s() - start_s;
    pthread_mutex_lock(&values->lock);
    values->stats.busy_wall_s += busy_s;
    for (size_t i = 0; i < b->n; i++) {
        if (!b->finite[i])
            note_divergence(values, b->operations[i]);
        finish(values, thread, b->operations[i]);
    }
    return true;
}

static void *thread_main(void *argument)
{
    dsgd_values *const values = argument;
    batch b;
    open_batch(values, &b);
    pthread_mutex_lock(&values->lock);
    const uint32_t thread = values->n_threads_started++;
    while (!values->closing) {
        const bool worked = work(values, thread, &b);
        if (values->caller_waits && values->unfinished <= values->waits_for)
            pthread_cond_signal(&values->work_done);
        if (worked)
            continue;
        values->n_idle++;
        pthread_cond_wait(&values->work_there, &values->lock);
        values->n_idle--;
    }
    pthread_mutex_unlock(&values->lock);
    close_batch(&b);
    return NULL;
}

void dsgd_executor_wait(dsgd_values *values, size_t unfinished)
{
    if (values->unfinished <= unfinished)
        return;
    const double start_s = dsgd_wall_s();
    const bool helps = values->config.device->threaded;
    batch b;
    open_batch(values, &b);
    while (values->unfinished > unfinished) {
        if (helps && work(values, values->config.n_threads, &b))
            continue;
        values->caller_waits = true;
        values->waits_for = unfinished;
        pthread_cond_wait(&values->work_done, &values->lock);
        values->caller_waits = false;
    }
    dsgd_executor_wake(values); /* what this thread has just made ready */
    close_batch(&b);
    values->stats.waiting_wall_s += dsgd_wall_s() - start_s;
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
