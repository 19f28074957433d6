/**
 * @file executor.c
 * Computes submitted nodes on threads, in batches of one kind, as soon as their inputs are done.
 * The wall clock affects which nodes share a batch and which thread computes the batch. It does not
 * affect the results, because the result of a node does not depend on the other nodes of its batch.
 */
#include "models/values/store.h"

#include <stdatomic.h>

#include "base/program.h"

/* --- ready nodes: a queue for nodes in order, and a heap for late nodes ------------------------
 */

/** Returns the ready node with the lowest rank, or NULL if no node is ready. */
static const ready_node *first_ready(const ready_nodes *ready)
{
    const ready_node *const in_line = ready->first < ready->end ? &ready->line[ready->first] : NULL;
    if (ready->n_heap == 0)
        return in_line;
    return in_line != NULL && in_line->rank < ready->heap[0].rank ? in_line : ready->heap;
}

static void add_to_line(dsgd_values *values, ready_nodes *ready, ready_node added)
{
    if (ready->first == ready->end)
        ready->first = ready->end = 0;
    if (ready->end == ready->room_line && ready->first > ready->end / 2) {
        ready->end -= ready->first;
        memcpy(ready->line, ready->line + ready->first, ready->end * sizeof *ready->line);
        ready->first = 0;
    }
    ready->line =
        dsgd_array_grow(values, ready->line, ready->end, &ready->room_line, sizeof *ready->line);
    ready->line[ready->end++] = added;
}

static void add_to_heap(dsgd_values *values, ready_nodes *ready, ready_node added)
{
    ready->heap =
        dsgd_array_grow(values, ready->heap, ready->n_heap, &ready->room_heap, sizeof *ready->heap);
    ready_node *const heap = ready->heap;
    size_t at = ready->n_heap++;
    for (size_t above = 0; at > 0; at = above) {
        above = (at - 1) / 2;
        if (heap[above].rank < added.rank)
            break;
        heap[at] = heap[above];
    }
    heap[at] = added;
}

static void take_from_heap(ready_nodes *ready)
{
    ready_node *const heap = ready->heap;
    const ready_node last = heap[--ready->n_heap];
    size_t at = 0;
    for (size_t below = 1; below < ready->n_heap; below = 2 * at + 1) {
        if (below + 1 < ready->n_heap && heap[below + 1].rank < heap[below].rank)
            below++;
        if (last.rank < heap[below].rank)
            break;
        heap[at] = heap[below];
        at = below;
    }
    heap[at] = last;
}

static dsgd_value_node *take_ready(ready_nodes *ready)
{
    const ready_node *const first = first_ready(ready);
    dsgd_value_node *const node = first->node;
    if (first == ready->heap)
        take_from_heap(ready);
    else
        ready->first++;
    return node;
}

/* --- run queues ------------------------------------------------------------------------------- */

static void make_ready(dsgd_values *values, uint32_t thread, dsgd_value_node *node)
{
    run_queue *const queue = &values->queues[thread];
    ready_nodes *const ready = &queue->ready[node->kind];
    const ready_node added = {node->rank, node};
    if (node->rank < queue->first_rank)
        queue->first_rank = node->rank;
    if (ready->first == ready->end || ready->line[ready->end - 1].rank < added.rank)
        add_to_line(values, ready, added);
    else
        add_to_heap(values, ready, added);
}

/**
 * Returns the list of ready nodes of one kind whose first node has the lowest rank. Ignores kinds
 * that are marked in @p but. Returns NULL if no node is ready.
 */
static ready_nodes *first_kind(run_queue *queue, const bool *but)
{
    ready_nodes *first = NULL;
    uint64_t rank = UINT64_MAX;
    for (int kind = 0; kind < NODE_KINDS; kind++) {
        const ready_node *const one = first_ready(&queue->ready[kind]);
        if (one == NULL || one->rank > rank || (but != NULL && but[kind]))
            continue;
        first = &queue->ready[kind];
        rank = one->rank;
    }
    return first;
}

static void note_first(run_queue *queue)
{
    const ready_nodes *const first = first_kind(queue, NULL);
    queue->first_rank = first == NULL ? UINT64_MAX : first_ready(first)->rank;
}

/** Returns the run queue that contains the ready node with the lowest rank. */
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

/**
 * Returns the thread's own run queue. If the first node of another queue is more than AHEAD ranks
 * older, returns the other queue, because the inputs of its nodes occupy much memory.
 */
static run_queue *next_queue(const dsgd_values *values, uint32_t thread)
{
    run_queue *const own = &values->queues[thread];
    run_queue *const first = first_queue(values);
    return own->first_rank - first->first_rank <= AHEAD ? own : first;
}

/**
 * Returns the queue in which @p node becomes ready: the queue of the thread that computed its first
 * input. If that input is a constant, the queue depends on the node's worker.
 */
static uint32_t queue_of(const dsgd_values *values, const dsgd_value_node *node)
{
    const dsgd_value_node *const first = node->n_inputs > 0 ? node->inputs[0].node : NULL;
    if (first != NULL && first->kind != NODE_CONSTANT)
        return first->thread;
    const uint64_t n_workers = values->config.stream.n_workers;
    return (uint32_t)(node->where.worker % n_workers * values->n_queues / n_workers);
}

/* --- functions that submit, copy and count nodes ---------------------------------------------- */

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

/**
 * A copy between caller and device: from the caller to a constant, or from an output of any node to
 * the caller.
 */
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
 * Makes a copy on this thread if the device is threaded, otherwise on the device's thread. In the
 * second case, the caller may be an actor of the simulation, and an actor's stack is too small for
 * a driver.
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
    values->dead = dsgd_array_grow(values, values->dead, values->n_dead, &values->room_dead,
                                   sizeof *values->dead);
    values->dead[values->n_dead++] = (dead_node){node, node->kind, node->large};
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

/**
 * Marks a node as done by @p thread. Nodes that waited only for this node become ready in the queue
 * of @p thread.
 */
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
    for (uint32_t k = 0; k < node->n_outputs; k++)
        release_if_unread(values, node, k);
}

/** Settles a node that is done. Called once it is known whether the node's outputs are finite. */
static void settle(dsgd_values *values, dsgd_value_node *node)
{
    values->n_unfinished--;
    unref_live(values, node);
}

/* --- batches of nodes ------------------------------------------------------------------------- */

/**
 * Takes buffers for the outputs of a node. Returns false, and takes no buffer, if there is not
 * enough memory.
 */
static bool prepare(dsgd_values *values, uint32_t thread, dsgd_value_node *node, size_t room_bytes)
{
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
    return true;
}

/** Adds the nodes of batch @p b to the statistics. */
static void count_batch(dsgd_values_stats *stats, const dsgd_batch *b)
{
    uint64_t *const counts[NODE_KINDS] = {
        [NODE_GRADIENT] = &stats->gradients,   [NODE_UPDATE] = &stats->updates,
        [NODE_COMBINE] = &stats->combinations, [NODE_ENCODE] = &stats->encodings,
        [NODE_EVALUATE] = &stats->evaluations, [NODE_TEST] = &stats->evaluations};
    if (counts[b->kind] != NULL)
        *counts[b->kind] += b->n;
    for (size_t i = 0; b->kind == NODE_GRADIENT && i < b->n; i++)
        stats->gradient_samples += dsgd_batch_samples(b->nodes[i]);
}

/**
 * Prepares the first nodes of the batch, as many as there is memory for, and makes the other nodes
 * ready again. A node that is computed before an earlier submitted node must leave some memory
 * free: a gradient a quarter, any other node an eighth. The oldest node is then computed by itself,
 * and therefore finds the memory that it needs. If nodes are computed in the order of submission,
 * few values are alive.
 */
static void keep_what_fits(dsgd_values *values, uint32_t thread, dsgd_batch *b)
{
    const size_t room_bytes =
        values->room_bytes - values->room_bytes / (b->kind == NODE_GRADIENT ? 4 : 8);
    size_t n = 0;
    while (n < b->n && prepare(values, thread, b->nodes[n], room_bytes))
        n++;
    for (size_t i = n; i < b->n; i++)
        make_ready(values, thread, b->nodes[i]);
    b->n = n;
}

/** Moves ready nodes of one kind into batch @p b. After a divergence, later nodes are skipped. */
static void take_nodes(dsgd_values *values, uint32_t thread, run_queue *queue, ready_nodes *ready,
                       dsgd_batch *b)
{
    b->kind = first_ready(ready)->node->kind;
    const size_t most = b->kind == NODE_EVALUATE ? 1 : b->room;
    while (b->n < most && first_ready(ready) != NULL) {
        dsgd_value_node *const node = take_ready(ready);
        if (values->diverged_id == UINT64_MAX || node->id <= values->diverged_id) {
            dsgd_value_node_fetch(node, offsetof(dsgd_value_node, kind));
            b->nodes[b->n++] = node;
            continue;
        }
        finish(values, thread, node);
        settle(values, node);
    }
    note_first(queue);
}

/**
 * Takes only the first ready node. The node may use all memory of this run and, if needed, any
 * memory of the device.
 */
static bool take_alone(dsgd_values *values, uint32_t thread, dsgd_batch *b)
{
    run_queue *const queue = next_queue(values, thread);
    dsgd_value_node *const node = take_ready(first_kind(queue, NULL));
    note_first(queue);
    if (!prepare(values, thread, node, values->room_bytes) &&
        !prepare(values, thread, node, SIZE_MAX))
        dsgd_buffer_none(values, node->shape);
    b->kind = node->kind;
    b->nodes[0] = node;
    b->n = 1;
    return true;
}

/**
 * Takes as many ready nodes of one kind from a run queue as there is memory for. Returns false if
 * no node is ready.
 */
static bool take_batch(dsgd_values *values, uint32_t thread, dsgd_batch *b)
{
    bool no_memory[NODE_KINDS] = {false};
    b->n = 0;
    while (b->n == 0 && any_ready(values)) {
        run_queue *const queue = next_queue(values, thread);
        ready_nodes *const ready = first_kind(queue, no_memory);
        if (ready == NULL)
            return take_alone(values, thread, b);
        take_nodes(values, thread, queue, ready, b);
        if (b->n == 0)
            continue;
        keep_what_fits(values, thread, b);
        no_memory[b->kind] = b->n == 0;
    }
    return b->n > 0;
}

/**
 * Settles the nodes of a batch after the device has determined which results are finite. Records
 * the first node, in the order of the calls, whose result is not finite.
 */
static void settle_batch(dsgd_values *values, dsgd_batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        const dsgd_value_node *const node = b->nodes[i];
        if (!b->finite[i] && node->id < values->diverged_id) {
            values->diverged_id = node->id;
            values->diverged_where = node->where;
        }
        settle(values, b->nodes[i]);
    }
    b->n = 0;
}

/* --- computing threads ------------------------------------------------------------------------ */

void dsgd_executor_wake(dsgd_values *values)
{
    if (!any_ready(values))
        return;
    if (values->n_idle > 0)
        pthread_cond_signal(&values->work_ready);
    else if (values->caller_waits && values->config.device->threaded)
        pthread_cond_signal(&values->work_done);
}

/**
 * Computes one batch. Returns false if no node was ready. The caller holds the lock; this function
 * releases the lock during the computation. When this function returns, a device that computes
 * ahead has finished the previous batch, and nodes that read this batch can be submitted to the
 * device.
 */
static bool work(dsgd_values *values, uint32_t thread)
{
    run_queue *const queue = &values->queues[thread];
    dsgd_batch *const b = &queue->now;
    const size_t before = values->n_unfinished;
    /* skipping nodes can have made other nodes ready */
    if (!take_batch(values, thread, b))
        return values->n_unfinished < before;
    count_batch(&values->stats, b);
    dsgd_executor_wake(values);
    pthread_mutex_unlock(&values->lock);
    const double start_s = dsgd_wall_s();
    dsgd_batch_compute(values, thread, b);
    if (values->config.computed != NULL)
        atomic_fetch_add_explicit(values->config.computed, 1, memory_order_relaxed);
    const double busy_s = dsgd_wall_s() - start_s;
    pthread_mutex_lock(&values->lock);
    values->stats.busy_wall_s += busy_s;
    for (size_t i = 0; i < b->n; i++)
        finish(values, thread, b->nodes[i]);
    if (values->config.device->ahead != NULL) {
        const dsgd_batch before_it = queue->submitted;
        queue->submitted = *b;
        *b = before_it;
    }
    settle_batch(values, b);
    return true;
}

/**
 * Waits, without the lock, for the batch that the device still computes. Returns false if there is
 * no such batch.
 */
static bool land(dsgd_values *values, dsgd_batch *submitted)
{
    if (submitted->n == 0)
        return false;
    pthread_mutex_unlock(&values->lock);
    values->config.device->ahead(values->context, 0);
    values->config.device->ahead(values->context, 1);
    pthread_mutex_lock(&values->lock);
    settle_batch(values, submitted);
    return true;
}

static void *thread_main(void *argument)
{
    dsgd_values *const values = argument;
    if (values->config.device->ahead != NULL)
        values->config.device->ahead(values->context, 1);
    pthread_mutex_lock(&values->lock);
    const uint32_t thread = values->n_threads_started++;
    while (!values->closing) {
        if (values->transfer != NULL) {
            move(values, values->transfer);
            values->transfer = NULL;
            pthread_cond_signal(&values->work_done);
        }
        const bool worked =
            work(values, thread) ||
            (values->caller_waits && land(values, &values->queues[thread].submitted));
        if (values->caller_waits && values->n_unfinished <= values->waits_for)
            pthread_cond_signal(&values->work_done);
        if (worked)
            continue;
        values->n_idle++;
        pthread_cond_wait(&values->work_ready, &values->lock);
        values->n_idle--;
    }
    pthread_mutex_unlock(&values->lock);
    return NULL;
}

void dsgd_executor_wait(dsgd_values *values, size_t unfinished)
{
    if (values->n_unfinished <= unfinished)
        return;
    const double start_s = dsgd_wall_s();
    const bool helps = values->config.device->threaded;
    while (values->n_unfinished > unfinished) {
        if (helps && work(values, values->config.n_threads))
            continue;
        values->caller_waits = true;
        values->waits_for = unfinished;
        if (!helps && values->n_idle > 0)
            pthread_cond_signal(&values->work_ready); /* wakes a thread, which finishes the batch
                                                       * that the device still computes */
        pthread_cond_wait(&values->work_done, &values->lock);
        values->caller_waits = false;
    }
    dsgd_executor_wake(values); /* wakes a thread, which computes nodes that this thread has just
                                 * made ready */
    values->stats.waiting_wall_s += dsgd_wall_s() - start_s;
}

void dsgd_executor_start(dsgd_values *values)
{
    pthread_mutex_init(&values->lock, NULL);
    pthread_cond_init(&values->work_ready, NULL);
    pthread_cond_init(&values->work_done, NULL);
    values->diverged_id = UINT64_MAX;
    values->queues = dsgd_store_alloc(values, values->n_queues, sizeof *values->queues);
    for (uint32_t i = 0; i < values->n_queues; i++) {
        run_queue *const queue = &values->queues[i];
        queue->first_rank = UINT64_MAX;
        queue->pools = dsgd_store_alloc(values, dsgd_n_shapes(values), sizeof *queue->pools);
        dsgd_batch_open(values, &queue->now);
        dsgd_batch_open(values, &queue->submitted);
    }
    uint32_t *const n = &values->config.n_threads;
    values->threads = dsgd_store_alloc(values, *n, sizeof *values->threads);
    for (uint32_t i = 0; i < *n; i++)
        if (pthread_create(&values->threads[i], NULL, thread_main, values) != 0)
            *n = i; /* the system allows no more threads, so only the created threads and the caller
                     * compute */
    if (*n == 0 && !values->config.device->threaded)
        dsgd_give_up("no compute thread could be created. Use fewer with --threads");
}

void dsgd_executor_stop(dsgd_values *values)
{
    pthread_mutex_lock(&values->lock);
    values->closing = true;
    pthread_cond_broadcast(&values->work_ready);
    pthread_mutex_unlock(&values->lock);
    for (uint32_t i = 0; i < values->config.n_threads; i++)
        pthread_join(values->threads[i], NULL);
    dsgd_buffers_trim(values);
    for (uint32_t i = 0; i < values->n_queues; i++)
        dsgd_sampler_free(values->queues[i].sampler);
    pthread_cond_destroy(&values->work_ready);
    pthread_cond_destroy(&values->work_done);
    pthread_mutex_destroy(&values->lock);
}
