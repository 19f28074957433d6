/**
 * @file store.h
 * Private header of the value store: the nodes of its lazy graph, and the state of the store.
 * README.md explains its files and their order of calls.
 *
 * Counts of a node. Only calls of values.h change the first two counts, on the caller's thread and
 * without the lock, so that the calls determine which nodes are merged, fused or never computed.
 * The last two counts change under the lock while threads compute; they only determine when memory
 * is released.
 *
 *   name              counts                                  changed in  at 0
 *   n_refs            references to any output: handles,      nodes.c     pending: deleted; fusable
 *                     inputs of pending nodes and of                      gradient: inputs dropped
 *                     fusable gradients
 *   output_refs[k]    references to output k                  nodes.c     dropped, if outputs are
 *                                                                         dropped one by one
 *   n_readers[k]      unfinished nodes that read output k,    executor.c  buffer released, once
 *                     + 1 until it is dropped                             the node is done
 *   n_live            outputs with readers,                   executor.c  node's memory reused
 *                     + 1 until the node is settled
 */
#pragma once

#include <pthread.h>

#include "models/values/listener.h"

typedef enum node_kind {
    NODE_CONSTANT,
    NODE_GRADIENT,
    NODE_UPDATE,
    NODE_COMBINE,
    NODE_ENCODE,
    NODE_EVALUATE,
    NODE_TEST, /* loss and accuracy on a part of the test set */
    NODE_KINDS
} node_kind;

/** An entry in the list of nodes that wait for an input. */
typedef struct node_waiter {
    dsgd_value_node *node;
    struct node_waiter *next;
} node_waiter;

enum { CACHE_LINE = 64 };

/* A store has thousands of nodes, which are rarely in the first-level cache. Therefore the members
 * that only the caller's thread writes, those that are written once, and those that threads change
 * are in separate cache lines. The arrays after the node have the same order. */
struct dsgd_value_node {
    /* Caller's thread only; the counts are described above. */
    _Alignas(CACHE_LINE) uint32_t n_refs;
    bool pending; /* not submitted yet */
    bool selected; /* for submission by the current flush */
    bool is_operand; /* a selected node reads it */
    bool in_table; /* it is in the table of common subexpressions */
    size_t pending_at; /* index in dsgd_values.pending; SIZE_MAX if it is not there */
    uint64_t hash;
    uint32_t *output_refs; /* [n_outputs] */
    uint32_t *operand_numbers; /* [n_outputs] from 1 while simplify() merges operands; else 0 */
    uint64_t *input_ids; /* [n_inputs] identities, which outlive the inputs; 0 for zeros */

    /* Constant once the node is built. */
    _Alignas(CACHE_LINE) node_kind kind;
    uint32_t n_inputs;
    uint64_t id; /* from 1, in the order of the calls */
    dsgd_value *inputs; /* [n_inputs] */
    uint32_t shape; /* of the outputs; GRADIENT: of output 0, while output k has shape k */
    uint32_t n_outputs;
    dsgd_buffer *outputs; /* [n_outputs] set before the node is computed, then read unlocked */
    dsgd_buffer *operands; /* [n_inputs] used by the thread that computes the node */
    dsgd_origin where;
    double *weights; /* [n_inputs] COMBINE; EVALUATE: share of the models with this input */
    union {
        dsgd_origin
            *samples; /* [n_samples] GRADIENT, LOSS: mini-batches; TEST: part and number of parts */
        dsgd_codec *codec; /* ENCODE */
        uint32_t *shapes; /* [n_inputs] EVALUATE: of the inputs */
    };
    double divisor; /* COMBINE */
    dsgd_rate rate; /* UPDATE; t is only set for an adaptive rule */
    uint32_t n_samples;
    /* GRADIENT, LOSS: number of samples of each mini-batch, from its start; EVALUATE: number of
     * inputs before the distinct chunks. */
    uint32_t count;
    dsgd_evaluation *evaluation; /* EVALUATE, LOSS, TEST: where the result is stored */
    uint32_t place; /* in dsgd_values.all */
    bool large; /* larger than the usual memory of a node */

    /* These change under the lock. */
    _Alignas(CACHE_LINE) uint32_t n_live;
    uint32_t n_missing; /* inputs that are not done */
    uint32_t thread; /* the thread that computed the node and owns its buffers */
    bool read_elsewhere; /* another thread has read its outputs */
    /* The node is computed, submitted to a device that computes in this order, or skipped after a
     * divergence. It is settled once it is known whether it is finite. */
    bool done;
    uint32_t *n_readers; /* [n_outputs] */
    node_waiter *waiters; /* submitted nodes that wait for this one */
    node_waiter *waits; /* [n_inputs] this node's entries in the lists of its inputs */
    uint64_t
        rank; /* order of submission: inputs come right before the first node that reads them */
};

typedef struct ready_node {
    uint64_t rank; /* of the node, to avoid reading the node itself */
    dsgd_value_node *node;
} ready_node;

/**
 * Ready nodes of one kind. Most nodes become ready in the order of their ranks, and wait in a queue
 * (`line`). Late nodes are in a binary heap, whose lowest rank is heap[0].
 */
typedef struct ready_nodes {
    ready_node *line; /* [first, end) */
    size_t first, end, room_line;
    ready_node *heap; /* [n_heap] */
    size_t n_heap, room_heap;
} ready_nodes;

typedef struct ticket {
    uint64_t id; /* of the EVALUATE or TEST node */
    dsgd_evaluation result;
} ticket;

/** Queue of buffers; element i is v[(first + i) % room], room a power of two. */
typedef struct buffer_ring {
    dsgd_buffer *v;
    size_t first, n, room;
} buffer_ring;

/** Free buffers of one shape that one thread has written. */
typedef struct buffer_pool {
    buffer_ring own; /* only read by this thread; the last ones may still be in its cache */
    buffer_ring quarantine; /* read by other threads; the oldest is the first */
} buffer_pool;

/** A batch of nodes, and their operations for the device. */
typedef struct dsgd_batch {
    node_kind kind;
    size_t n, room;
    dsgd_value_node **nodes; /* [n] */
    bool *finite; /* [n] */
    union {
        dsgd_gradient_op *gradients;
        dsgd_update_op *updates;
        dsgd_combine_op *combinations;
        dsgd_encode_op *encodings;
        dsgd_evaluate_op *evaluations;
    } ops;
    uint32_t *samples; /* of all gradients, consecutively */
    size_t room_samples;
} dsgd_batch;

/** Returns the number of samples of a gradient or loss. */
static inline size_t dsgd_batch_samples(const dsgd_value_node *node)
{
    return (size_t)node->n_samples * node->count;
}

/** Run queue of a thread: ready nodes that read its latest results, and its buffers. */
typedef struct run_queue {
    ready_nodes ready[NODE_KINDS];
    uint64_t first_rank; /* lowest in `ready`; UINT64_MAX if empty */
    buffer_pool *pools; /* by shape */
    /* Only its thread uses these, without the lock. A device that computes ahead has `submitted` in
     * flight. */
    dsgd_sampler *sampler; /* NULL before the first gradient */
    dsgd_batch now, submitted;
} run_queue;

/** A node whose memory can be reused; the kind and size are here to avoid reading the node. */
typedef struct dead_node {
    dsgd_value_node *node;
    node_kind kind;
    bool large;
} dead_node;

/** Memory of the usual size for new nodes. Its arrays are placed as in the last node that used it.
 */
typedef struct spare_nodes {
    dsgd_value_node **v; /* [n] */
    size_t n, room;
} spare_nodes;

/** An entry in the table of common subexpressions. A search reads only nodes with its hash. */
typedef struct table_entry {
    uint64_t hash;
    dsgd_value_node *node; /* NULL if the entry is free */
} table_entry;

struct dsgd_values {
    dsgd_values_config config;
    void *context; /* of the device */
    size_t *shape_sizes; /* [dsgd_n_shapes()] elements, constant */
    _Atomic(struct store_block *) blocks; /* newest block of dsgd_store_alloc() */

    /* values.c; caller's thread only */
    dsgd_value_listener *listener; /* or NULL */
    void *listener_argument;
    uint32_t gradients_since_flush, flush_every;
    uint64_t id_at_flush; /* next_id at the last flush */
    ticket **tickets;
    size_t n_tickets, room_tickets;
    uint32_t *test_order; /* [samples] order in which the test set is cut into parts; or NULL */

    /* nodes.c and lazy_graph.c; caller's thread only */
    dsgd_value_node **pending; /* [n_pending] in the order of ids; NULL: no longer pending */
    size_t n_pending, room_pending;
    uint64_t next_id;
    table_entry *table; /* [room_table] of common subexpressions, a power of two; or NULL */
    size_t room_table, n_in_table;
    dsgd_value *dropped; /* outputs of submitted nodes, not yet reported to the executor */
    size_t n_dropped, room_dropped;
    dsgd_value_node **all; /* [n_all] including spare nodes */
    size_t n_all, room_all;
    spare_nodes spare[NODE_KINDS]; /* indexed by the former kind of the node */
    dsgd_value_node **selected; /* [n_selected] by the current flush, in the order of ids */
    size_t n_selected;

    /* executor.c; under the lock */
    pthread_mutex_t lock;
    pthread_cond_t work_ready, work_done;
    pthread_t *threads;
    uint32_t n_threads_started, n_idle;
    bool closing;
    bool caller_waits; /* until n_unfinished <= waits_for */
    size_t waits_for;
    dead_node *dead; /* [n_dead] nodes with n_live 0, which nodes.c reuses */
    size_t n_dead, room_dead;
    uint64_t next_rank;
    size_t n_unfinished; /* nodes that are submitted but not settled */
    run_queue *queues; /* [n_queues] one per computing thread */
    uint32_t n_queues;
    const struct transfer *transfer; /* for which the caller waits; NULL if none */
    uint64_t diverged_id; /* UINT64_MAX if none */
    dsgd_origin diverged_where;
    dsgd_values_stats stats;

    /* buffers.c; under the lock */
    size_t held_bytes; /* of buffers in use */
    size_t allocated_bytes; /* of buffers in use and free buffers in the pools */
    size_t room_bytes; /* limit of allocated_bytes; SIZE_MAX for host memory */
};

/**
 * Returns the number of shapes of buffers. Shape k < n_pieces is chunk k, n_pieces is the model
 * state, and n_pieces + 1 + k is the optimizer's state of chunk k.
 */
static inline size_t dsgd_n_shapes(const dsgd_values *values)
{
    return 2 * values->config.problem.n_pieces + 1;
}

/** Returns the number of elements of a value of this shape. */
static inline size_t dsgd_shape_size(const dsgd_values *values, size_t shape)
{
    return values->shape_sizes[shape];
}

static inline size_t dsgd_value_shape(const dsgd_values *values, dsgd_value value)
{
    const dsgd_value_node *const node = value.node;
    return node->kind == NODE_UPDATE && value.index == 1
               ? values->config.problem.n_pieces + 1 + node->shape
               : node->shape + value.index;
}

/** Returns true if gradients have a model state as an additional input and output. */
static inline bool dsgd_has_state(const dsgd_values *values)
{
    return values->config.problem.network->n_state > 0;
}

/** Returns true if a combination can fuse the node: a gradient that references its model until it
 * is dropped. */
static inline bool dsgd_value_node_fusable(const dsgd_values *values, const dsgd_value_node *node)
{
    return node->kind == NODE_GRADIENT && !values->config.problem.network->coupled;
}

/**
 * Returns true if each output is dropped separately, because a new model must not keep the memory
 * of the velocity that was computed with it. The chunks of a fusable gradient are dropped together,
 * because the calls that fuse it come chunk by chunk.
 */
static inline bool dsgd_value_node_per_output(const dsgd_values *values,
                                              const dsgd_value_node *node)
{
    return node->kind == NODE_UPDATE ||
           (node->kind == NODE_GRADIENT && !dsgd_value_node_fusable(values, node));
}

/** Prefetches the cache lines of a node, except its first @p but bytes. */
static inline void dsgd_value_node_fetch(const dsgd_value_node *node, size_t but)
{
    enum { BEHIND = 3 * CACHE_LINE }; /* size of the arrays of most nodes */
    for (size_t at = but; at < sizeof *node + BEHIND; at += CACHE_LINE)
        __builtin_prefetch((const char *)node + at, 1);
}

/** Returns zeroed memory that the store owns until it is closed. Any thread may call it.
 * (buffers.c) */
void *dsgd_store_alloc(dsgd_values *values, size_t count, size_t bytes);
/** Frees all memory of dsgd_store_alloc() when the store is closed. (buffers.c) */
void dsgd_store_free(dsgd_values *values);

/** Returns @p array with room for one more element than its @p n elements of @p bytes each. */
static inline void *dsgd_array_grow(dsgd_values *values, void *array, size_t n, size_t *room,
                                    size_t bytes)
{
    if (n < *room)
        return array;
    *room = *room == 0 ? 64 : 2 * *room;
    void *const grown = dsgd_store_alloc(values, *room, bytes);
    return n == 0 ? grown : memcpy(grown, array, n * bytes);
}

/* --- lazy_graph.c: on the caller's thread ----------------------------------------------------- */

/** Creates the value of a gradient, update, combination or encoding; returns the first of several.
 */
dsgd_value dsgd_lazy_make(dsgd_values *values, const dsgd_value_call *call);
/** Creates an evaluation, which is pending but not in `pending`, because nothing refers to it. */
dsgd_value_node *dsgd_lazy_evaluate(dsgd_values *values, const dsgd_value_call *call);
/** Creates, in the same way, the TEST of part call->where.worker of call->where.step parts. */
dsgd_value_node *dsgd_lazy_scores(dsgd_values *values, const dsgd_value_call *call);
/** Submits a node and the pending nodes that it needs. Call it with the lock. */
void dsgd_lazy_submit(dsgd_values *values, dsgd_value_node *node);
/** Submits pending nodes up to id @p last, and later ones that selects() adds. Call it with the
 * lock. */
void dsgd_lazy_flush(dsgd_values *values, uint64_t last);

/* --- nodes.c: on the caller's thread ---------------------------------------------------------- */

/**
 * Returns a node of this kind with these numbers of inputs, outputs and samples, which the caller
 * then sets.
 */
dsgd_value_node *dsgd_value_node_new(dsgd_values *values, const dsgd_value_node *header);
static inline void dsgd_value_node_set_input(dsgd_value_node *node, size_t i, dsgd_value value)
{
    node->inputs[i] = value;
    node->input_ids[i] = value.node == NULL ? 0 : value.node->id << 16 | value.index;
}

/** Returns @p node, which is now pending, or an equal node that exists. Each output is referenced
 * for the caller. */
dsgd_value_node *dsgd_value_node_intern(dsgd_values *values, dsgd_value_node *node);
/** Removes a node from the pending nodes. */
void dsgd_value_node_unlink(dsgd_values *values, dsgd_value_node *node);
/** Releases a reference to every output. */
void dsgd_value_node_unref(dsgd_values *values, dsgd_value_node *node);
static inline void dsgd_value_ref(dsgd_value value)
{
    if (value.node == NULL)
        return;
    value.node->n_refs++;
    value.node->output_refs[value.index]++;
}

/** Releases the last reference to an output. */
void dsgd_value_unref_last(dsgd_values *values, dsgd_value value);

static inline void dsgd_value_unref(dsgd_values *values, dsgd_value value)
{
    if (value.node == NULL)
        return;
    uint32_t *const refs = &value.node->output_refs[value.index];
    if (*refs <= 1) {
        dsgd_value_unref_last(values, value);
        return;
    }
    --*refs;
    value.node->n_refs--;
}

/** Reports dropped outputs to the executor and reuses the memory of dead nodes. Call it with the
 * lock. */
void dsgd_nodes_collect(dsgd_values *values);
/** Frees all nodes and their outputs, even if they are still referenced. */
void dsgd_nodes_free(dsgd_values *values);

/* --- executor.c: under the lock, except start and stop ---------------------------------------- */

/** Adds a node whose inputs were added before. Call dsgd_executor_wake() afterwards. */
void dsgd_executor_add(dsgd_values *values, dsgd_value_node *node);
/** Stores @p x as the output of a constant, which is done at once. */
void dsgd_executor_put(dsgd_values *values, dsgd_value_node *node, const double *x);
/** x[n] <- output @p k of a node that is done. */
void dsgd_executor_get(dsgd_values *values, const dsgd_value_node *node, uint32_t k, double *x,
                       size_t n);
/** Decreases the number of readers of an output. */
void dsgd_executor_unread(dsgd_values *values, dsgd_value value);
/** Wakes one thread if nodes are ready; that thread wakes the next one. */
void dsgd_executor_wake(dsgd_values *values);
/** Computes, and waits for the other threads, until n_unfinished <= @p unfinished. */
void dsgd_executor_wait(dsgd_values *values, size_t unfinished);
void dsgd_executor_start(dsgd_values *values);
void dsgd_executor_stop(dsgd_values *values);

/* --- batch.c: not under the lock -------------------------------------------------------------- */

void dsgd_batch_open(dsgd_values *values, dsgd_batch *b);

/** Computes the nodes on the device's @p thread. finite[] is written at once, or later if `ahead`
 * is set. */
void dsgd_batch_compute(dsgd_values *values, uint32_t thread, dsgd_batch *b);

/* --- buffers.c: under the lock ---------------------------------------------------------------- */

/** Sets the sizes of shapes. Must be called first. */
void dsgd_buffers_open(dsgd_values *values);
/**
 * Returns a buffer for @p thread to write. Returns NULL if that would need more than @p room_bytes
 * of the device even with empty pools, or if the device has no more memory.
 */
dsgd_buffer dsgd_buffer_take(dsgd_values *values, uint32_t thread, size_t shape, size_t room_bytes);
/** Ends the program, because the device has no memory for another buffer and nothing left to
 * compute. */
void dsgd_buffer_none(const dsgd_values *values, size_t shape);
/** Returns output @p k to the pool of the thread that wrote it. */
void dsgd_buffer_release(dsgd_values *values, dsgd_value_node *node, uint32_t k);
/** Returns all free buffers in the pools to the device. */
void dsgd_buffers_trim(dsgd_values *values);
