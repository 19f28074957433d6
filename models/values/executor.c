/**
 * @file executor.c
 * Computes submitted nodes on threads, in batches of one kind, as soon as their inputs are done.
 *
 * The wall clock decides which nodes share a batch and which thread takes it, but not the results:
 * every node is computed as if it were alone.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/program.h"
#include "models/values/buffers.h"
#include "models/values/executor.h"

/* --- run queues ------------------------------------------------------------------------------- */

static void make_ready(dsgd_values *values, uint32_t thread, dsgd_value_node *node)
{
    run_queue *const queue = &values->queues[thread];
    node_heap *const heap = &queue->ready[node->kind];
    if (node->rank < queue->first_rank)
        queue->first_rank = node->rank;
    heap->v = dsgd_array_grow(heap->v, heap->n, &heap->room, sizeof(dsgd_value_node *));
    size_t at = heap->n++;
    for (size_t above = 0; at > 0; at = above) {
        above = (at - 1) / 2;
        if (heap->v[above]->rank < node->rank)
            break;
        heap->v[at] = heap->v[above];
    }
    heap->v[at] = node;
}

/** The heap of the node submitted first, but of no kind in @p but; NULL: no node is ready. */
static node_heap *first_heap(run_queue *queue, const bool *but)
{
    node_heap *first = NULL;
    for (int kind = 0; kind < NODE_KINDS; kind++) {
        node_heap *const heap = &queue->ready[kind];
        if (heap->n > 0 && !but[kind] && (first == NULL || heap->v[0]->rank < first->v[0]->rank))
            first = heap;
    }
    return first;
}

static const bool no_kind[NODE_KINDS];

static dsgd_value_node *take_first(run_queue *queue, node_heap *heap)
{
    dsgd_value_node *const node = heap->v[0];
    dsgd_value_node *const last = heap->v[--heap->n];
    size_t at = 0;
    for (size_t below = 1; below < heap->n; below = 2 * at + 1) {
        if (below + 1 < heap->n && heap->v[below + 1]->rank < heap->v[below]->rank)
            below++;
        if (last->rank < heap->v[below]->rank)
            break;
        heap->v[at] = heap->v[below];
        at = below;
    }
    heap->v[at] = last;
    const node_heap *const next = first_heap(queue, no_kind);
    queue->first_rank = next == NULL ? UINT64_MAX : next->v[0]->rank;
    return node;
}

/** The run queue with the ready node that was submitted first. */
static run_queue *first_queue(const dsgd_values *values)
{
    run_queue *first = &values->queues[0];
    for (uint32_t i = 1; i < values->n_queues; i++)
        if (values->queues[i].first_rank < first->first_rank)
            first = &values->queues[i];
    return first;
}

static bool any_ready(const dsgd_values *values)
{
    return first_queue(values)->first_rank != UINT64_MAX;
}

enum { AHEAD = 256 };

/** The thread's own run queue, unless another is so far behind that its inputs hold more memory. */
static run_queue *next_queue(const dsgd_values *values, uint32_t thread)
{
    run_queue *const own = &values->queues[thread];
    run_queue *const first = first_queue(values);
    return own->first_rank - first->first_rank <= AHEAD ? own : first;
}

/** Of the thread that computed the first input; readers of constants are divided by workers. */
static uint32_t queue_of(const dsgd_values *values, const dsgd_value_node *node)
{
    const dsgd_value_node *const first = node->n_inputs > 0 ? node->inputs[0].node : NULL;
    if (first != NULL && first->kind != NODE_CONSTANT)
        return first->thread;
    const uint64_t n_workers = values->config.stream.n_workers;
    return (uint32_t)(node->where.worker % n_workers * values->n_queues / n_workers);
}

/* --- submission and counts -------------------------------------------------------------------- */

void dsgd_executor_add(dsgd_values *values, dsgd_value_node *node)
{
    values->n_unfinished++;
    node->n_live = node->n_outputs + 1;
    for (uint32_t k = 0; k < node->n_outputs; k++)
        node->n_readers[k] = 1;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        dsgd_value_node *const input = node->inputs[i].node;
        if (input == NULL)
            continue;
        input->n_readers[node->inputs[i].index]++;
        if (!input->done) {
            node->waits[i] = (node_waiter){node, input->waiters};
            input->waiters = &node->waits[i];
            node->n_missing++;
        }
    }
    node->rank = values->next_rank++;
    if (node->n_missing == 0)
        make_ready(values, queue_of(values, node), node);
}

/** A copy between the caller and an output of a node, to a constant or from any. */
typedef struct transfer {
    dsgd_value_node *constant;
    const double *from;
    dsgd_buffer buffer;
    double *to;
    size_t n;
} transfer;

static void move(dsgd_values *values, const transfer *t)
{
    const dsgd_device *const device = values->config.device;
    dsgd_value_node *const node = t->constant;
    if (node == NULL) {
        device->get(values->context, t->to, t->buffer, t->n);
        return;
    }
    node->outputs[0] = dsgd_buffer_take(values, node->thread, node->shape, SIZE_MAX);
    if (node->outputs[0] == NULL)
        dsgd_buffer_none(values, node->shape);
    device->put(values->context, node->outputs[0], t->from, t->n);
}

/**
 * On this thread or, if the device is not threaded, on its own: the caller may be an actor of the
 * simulation, whose stack is too small for a driver.
 */
static void transfer_now(dsgd_values *values, const transfer *t)
{
    if (values->config.device->threaded) {
        move(values, t);
        return;
    }
    values->transfer = t;
    pthread_cond_signal(&values->work_ready);
    while (values->transfer != NULL)
        pthread_cond_wait(&values->work_done, &values->lock);
}

void dsgd_executor_put(dsgd_values *values, dsgd_value_node *node, const double *x)
{
    node->n_live = 1;
    node->n_readers[0] = 1;
    node->done = true;
    transfer_now(
        values,
        &(transfer){.constant = node, .from = x, .n = dsgd_shape_size(values, node->shape)});
}

void dsgd_executor_get(dsgd_values *values, const dsgd_value_node *node, uint32_t k, double *x,
                       size_t n)
{
    transfer_now(values, &(transfer){.buffer = node->outputs[k], .to = x, .n = n});
}

static void unref_live(dsgd_values *values, dsgd_value_node *node)
{
    if (--node->n_live > 0)
        return;
    node->next_dead = values->dead;
    values->dead = node;
}

static void release_if_unread(dsgd_values *values, dsgd_value_node *node, uint32_t k)
{
    if (node->n_readers[k] == 0 && node->done && node->outputs[k] != NULL)
        dsgd_buffer_release(values, node, k);
}

void dsgd_executor_unread(dsgd_values *values, dsgd_value value)
{
    if (--value.node->n_readers[value.index] > 0)
        return;
    release_if_unread(values, value.node, value.index);
    unref_live(values, value.node);
}

/** Marks the node as done by @p thread, whose run queue gets the nodes that waited for it. */
static void finish(dsgd_values *values, uint32_t thread, dsgd_value_node *node)
{
    node->thread = thread;
    node->done = true;
    for (node_waiter *w = node->waiters; w != NULL; w = w->next)
        if (--w->node->n_missing == 0)
            make_ready(values, thread, w->node);
    node->waiters = NULL;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        dsgd_value_node *const input = node->inputs[i].node;
        if (input == NULL)
            continue;
        input->read_elsewhere = input->read_elsewhere || input->thread != thread;
        dsgd_executor_unread(values, node->inputs[i]);
    }
    values->n_unfinished--;
    for (uint32_t k = 0; k < node->n_outputs; k++)
        release_if_unread(values, node, k);
    unref_live(values, node);
}

/* --- batches ---------------------------------------------------------------------------------- */

enum { MAX_BATCH = 4096 };

/** Nodes of one kind that a thread computes together, and their description to the device. */
typedef struct batch {
    node_kind kind;
    size_t n, room;
    dsgd_value_node **nodes; /* [n] */
    bool *finite; /* [n] */
    union {
        dsgd_gradient_op *gradients;
        dsgd_update_op *updates;
        dsgd_combine_op *combinations;
    } ops;
    uint32_t *samples; /* of all gradients, one after another */
    size_t room_samples;
} batch;

static void gather_operands(const dsgd_value_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const dsgd_value input = node->inputs[i];
        node->operands[i] = input.node == NULL ? NULL : input.node->outputs[input.index];
    }
}

static size_t count_samples(const dsgd_value_node *node)
{
    return (size_t)node->n_samples * node->count;
}

static void describe_gradients(const dsgd_values *values, uint32_t thread, batch *b)
{
    run_queue *const queue = &values->queues[thread];
    if (queue->sampler == NULL)
        queue->sampler = dsgd_sampler_new(&values->config.stream);
    const size_t n_pieces = values->config.problem.n_pieces;
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += count_samples(b->nodes[i]);
    if (n > b->room_samples) {
        b->samples = dsgd_xrealloc(b->samples, n, sizeof *b->samples);
        b->room_samples = n;
    }
    uint32_t *samples = b->samples;
    for (size_t i = 0; i < b->n; i++) {
        const dsgd_value_node *const node = b->nodes[i];
        uint32_t *const first = samples;
        for (uint32_t k = 0; k < node->n_samples; k++, samples += node->count)
            dsgd_sampler_draw(queue->sampler, node->samples[k].worker, node->samples[k].step,
                              node->count, samples);
        b->ops.gradients[i] = (dsgd_gradient_op){
            .x = node->operands,
            .g = node->outputs,
            .state = node->n_inputs > n_pieces ? node->operands[n_pieces] : NULL,
            .state_new = node->n_outputs > n_pieces ? node->outputs[n_pieces] : NULL,
            .samples = first,
            .n_samples = (uint32_t)count_samples(node)};
    }
}

static dsgd_update_op describe_update(const dsgd_values *values, const dsgd_value_node *node)
{
    const bool state = node->n_outputs == 2;
    return (dsgd_update_op){.n = dsgd_shape_size(values, node->shape),
                            .x = node->operands[0],
                            .g = node->operands[1],
                            .v = state ? node->operands[2] : NULL,
                            .x_new = node->outputs[0],
                            .v_new = state ? node->outputs[1] : NULL,
                            .lr = node->rate.lr,
                            .t = node->rate.t};
}

static dsgd_combine_op describe_combination(const dsgd_values *values, const dsgd_value_node *node)
{
    return (dsgd_combine_op){.n = dsgd_shape_size(values, node->shape),
                             .n_inputs = node->n_inputs,
                             .x = node->operands,
                             .weights = node->weights,
                             .divisor = node->divisor,
                             .y = node->outputs[0]};
}

/** Loss and accuracy of the mean model, and the models' distance from it; inputs: lazy_graph.c */
static void evaluate(dsgd_values *values, uint32_t thread, const dsgd_value_node *node)
{
    const dsgd_device *const device = values->config.device;
    const size_t n_pieces = values->config.problem.n_pieces;
    const size_t n_means = n_pieces + dsgd_has_state(values);
    const dsgd_buffer *const mean = node->operands;
    dsgd_evaluate_op op = {.x = mean, .state = n_means > n_pieces ? mean[n_pieces] : NULL};
    device->evaluate(values->context, thread, &op, 1);
    const size_t n = node->n_inputs - n_means;
    dsgd_distance_op *const distances = dsgd_xcalloc(n, sizeof *distances);
    for (size_t i = 0; i < n; i++) {
        const size_t piece = node->shapes[n_means + i];
        distances[i] = (dsgd_distance_op){.n = dsgd_shape_size(values, piece),
                                          .x = node->operands[n_means + i],
                                          .y = mean[piece]};
    }
    device->distance(values->context, thread, distances, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += node->weights[n_means + i] * distances[i].distance;
    free(distances);
    *node->evaluation = (dsgd_evaluation){op.loss, op.accuracy, sqrt(sum)};
}

static void compute(dsgd_values *values, uint32_t thread, batch *b)
{
    const dsgd_device *const device = values->config.device;
    for (size_t i = 0; i < b->n; i++) {
        gather_operands(b->nodes[i]);
        b->finite[i] = true;
    }
    switch (b->kind) {
    case NODE_GRADIENT:
        describe_gradients(values, thread, b);
        device->gradient(values->context, thread, b->ops.gradients, b->n, b->finite);
        break;
    case NODE_UPDATE:
        for (size_t i = 0; i < b->n; i++)
            b->ops.updates[i] = describe_update(values, b->nodes[i]);
        device->update(values->context, thread, b->ops.updates, b->n, b->finite);
        break;
    case NODE_COMBINE:
        for (size_t i = 0; i < b->n; i++)
            b->ops.combinations[i] = describe_combination(values, b->nodes[i]);
        device->combine(values->context, thread, b->ops.combinations, b->n, b->finite);
        break;
    case NODE_EVALUATE:
        for (size_t i = 0; i < b->n; i++)
            evaluate(values, thread, b->nodes[i]);
        break;
    case NODE_CONSTANT:
    case NODE_KINDS:
        break;
    }
}

/** Keeps the first node, in the order of the calls, with a non-finite output. */
static void note_divergence(dsgd_values *values, const dsgd_value_node *node)
{
    if (node->id >= values->diverged_id)
        return;
    values->diverged_id = node->id;
    values->diverged_where = node->where;
}

/** Takes buffers for the outputs and counts the node; or does nothing, if there is no memory. */
static bool prepare(dsgd_values *values, uint32_t thread, dsgd_value_node *node, size_t room_bytes)
{
    dsgd_values_stats *const stats = &values->stats;
    node->thread = thread;
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        const size_t shape = dsgd_value_shape(values, (dsgd_value){node, k});
        node->outputs[k] = dsgd_buffer_take(values, thread, shape, room_bytes);
        if (node->outputs[k] != NULL)
            continue;
        while (k-- > 0)
            dsgd_buffer_release(values, node, k);
        return false;
    }
    stats->gradients += node->kind == NODE_GRADIENT;
    stats->gradient_samples += node->kind == NODE_GRADIENT ? count_samples(node) : 0;
    stats->updates += node->kind == NODE_UPDATE;
    stats->combinations += node->kind == NODE_COMBINE;
    stats->evaluations += node->kind == NODE_EVALUATE;
    return true;
}

/**
 * What nodes may take that are computed before those submitted earlier: gradients leave a quarter,
 * others an eighth, so that the first node of all, computed alone, finds what it needs. In the
 * order of submission few values are alive.
 */
static size_t room_of(const dsgd_values *values, node_kind kind)
{
    return values->room_bytes - values->room_bytes / (kind == NODE_GRADIENT ? 4 : 8);
}

/** Keeps the first nodes of the batch, for which there is memory; the others are ready again. */
static void keep_what_fits(dsgd_values *values, uint32_t thread, batch *b)
{
    const size_t room_bytes = room_of(values, b->kind);
    size_t n = 0;
    while (n < b->n && prepare(values, thread, b->nodes[n], room_bytes))
        n++;
    for (size_t i = n; i < b->n; i++)
        make_ready(values, thread, b->nodes[i]);
    b->n = n;
}

/** Takes ready nodes of a heap; nodes after a divergence are skipped. */
static void take_nodes(dsgd_values *values, uint32_t thread, run_queue *queue, node_heap *heap,
                       batch *b)
{
    b->kind = heap->v[0]->kind;
    const size_t most = b->kind == NODE_EVALUATE ? 1 : b->room;
    while (heap->n > 0 && b->n < most) {
        dsgd_value_node *const node = take_first(queue, heap);
        if (node->id > values->diverged_id)
            finish(values, thread, node);
        else
            b->nodes[b->n++] = node;
    }
}

/** The first ready node alone: with all that this run may take, or what the device has beyond. */
static bool take_alone(dsgd_values *values, uint32_t thread, batch *b)
{
    run_queue *const queue = next_queue(values, thread);
    dsgd_value_node *const node = take_first(queue, first_heap(queue, no_kind));
    if (!prepare(values, thread, node, values->room_bytes) &&
        !prepare(values, thread, node, SIZE_MAX))
        dsgd_buffer_none(values, node->shape);
    b->kind = node->kind;
    b->nodes[0] = node;
    b->n = 1;
    return true;
}

/** Takes ready nodes of one kind out of a run queue, as many as there is memory for. */
static bool take_batch(dsgd_values *values, uint32_t thread, batch *b)
{
    bool no_memory[NODE_KINDS] = {false};
    b->n = 0;
    while (b->n == 0 && any_ready(values)) {
        run_queue *const queue = next_queue(values, thread);
        node_heap *const heap = first_heap(queue, no_memory);
        if (heap == NULL)
            return take_alone(values, thread, b);
        take_nodes(values, thread, queue, heap, b);
        if (b->n == 0)
            continue;
        keep_what_fits(values, thread, b);
        no_memory[b->kind] = b->n == 0;
    }
    return b->n > 0;
}

static void open_batch(const dsgd_values *values, batch *b)
{
    const size_t room =
        values->config.device->batch < MAX_BATCH ? values->config.device->batch : MAX_BATCH;
    *b = (batch){.room = room,
                 .nodes = dsgd_xcalloc(room, sizeof *b->nodes),
                 .finite = dsgd_xcalloc(room, sizeof *b->finite)};
    union {
        dsgd_gradient_op gradient;
        dsgd_update_op update;
        dsgd_combine_op combine;
    } largest;
    b->ops.gradients = dsgd_xcalloc(room, sizeof largest);
}

static void close_batch(batch *b)
{
    free(b->nodes);
    free(b->finite);
    free(b->samples);
    free(b->ops.gradients);
}

/* --- threads ---------------------------------------------------------------------------------- */

/** Wakes one thread if nodes are ready; that thread wakes the next. */
void dsgd_executor_wake(dsgd_values *values)
{
    if (!any_ready(values))
        return;
    if (values->n_idle > 0)
        pthread_cond_signal(&values->work_ready);
    else if (values->caller_waits && values->config.device->threaded)
        pthread_cond_signal(&values->work_done);
}

/** Computes one batch, unlocked; false if no node was ready. With the lock held. */
static bool work(dsgd_values *values, uint32_t thread, batch *b)
{
    const size_t before = values->n_unfinished;
    if (!take_batch(values, thread, b))
        return values->n_unfinished < before; /* skipped nodes may have made others ready */
    dsgd_executor_wake(values);
    pthread_mutex_unlock(&values->lock);
    const double start_s = dsgd_wall_s();
    compute(values, thread, b);
    if (values->config.computed != NULL)
        atomic_fetch_add_explicit(values->config.computed, 1, memory_order_relaxed);
    const double busy_s = dsgd_wall_s() - start_s;
    pthread_mutex_lock(&values->lock);
    values->stats.busy_wall_s += busy_s;
    for (size_t i = 0; i < b->n; i++) {
        if (!b->finite[i])
            note_divergence(values, b->nodes[i]);
        finish(values, thread, b->nodes[i]);
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
        if (values->transfer != NULL) {
            move(values, values->transfer);
            values->transfer = NULL;
            pthread_cond_signal(&values->work_done);
        }
        const bool worked = work(values, thread, &b);
        if (values->caller_waits && values->n_unfinished <= values->waits_for)
            pthread_cond_signal(&values->work_done);
        if (worked)
            continue;
        values->n_idle++;
        pthread_cond_wait(&values->work_ready, &values->lock);
        values->n_idle--;
    }
    pthread_mutex_unlock(&values->lock);
    close_batch(&b);
    return NULL;
}

void dsgd_executor_wait(dsgd_values *values, size_t unfinished)
{
    if (values->n_unfinished <= unfinished)
        return;
    const double start_s = dsgd_wall_s();
    const bool helps = values->config.device->threaded;
    batch b;
    open_batch(values, &b);
    while (values->n_unfinished > unfinished) {
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
    pthread_mutex_init(&values->lock, NULL);
    pthread_cond_init(&values->work_ready, NULL);
    pthread_cond_init(&values->work_done, NULL);
    values->diverged_id = UINT64_MAX;
    values->queues = dsgd_xcalloc(values->n_queues, sizeof *values->queues);
    for (uint32_t i = 0; i < values->n_queues; i++) {
        run_queue *const queue = &values->queues[i];
        queue->first_rank = UINT64_MAX;
        queue->pools = dsgd_xcalloc(dsgd_n_shapes(values), sizeof *queue->pools);
    }
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
    pthread_cond_broadcast(&values->work_ready);
    pthread_mutex_unlock(&values->lock);
    for (uint32_t i = 0; i < values->config.n_threads; i++)
        pthread_join(values->threads[i], NULL);
    free(values->threads);
    for (uint32_t i = 0; i < values->n_queues; i++) {
        dsgd_buffers_free(values, values->queues[i].pools);
        dsgd_sampler_free(values->queues[i].sampler);
        for (int kind = 0; kind < NODE_KINDS; kind++)
            free(values->queues[i].ready[kind].v);
    }
    free(values->queues);
    pthread_cond_destroy(&values->work_ready);
    pthread_cond_destroy(&values->work_done);
    pthread_mutex_destroy(&values->lock);
}
