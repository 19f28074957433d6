/**
 * @file store.h
 * Private header of the value store: the nodes of its lazy graph, and the state of the store.
 * README.md explains its files and the order in which they call each other.
 *
 * A node has four counts. Only calls of values.h change n_refs and output_refs, on the caller's
 * thread and without the lock. The calls therefore determine which nodes are merged, fused or never
 * computed. n_readers and n_live change under the lock while threads compute. They only determine
 * when memory is released.
 *
 *     n_refs (changed in nodes.c)
 *       counts references to any output: handles, inputs of pending nodes and of fusable gradients.
 *       At 0, a pending node is deleted, and a fusable gradient drops its inputs.
 *     output_refs[k] (changed in nodes.c)
 *       counts references to output k.
 *       At 0, the output is dropped, if the outputs of the node are dropped one by one.
 *     n_readers[k] (changed in executor.c)
 *       counts unfinished nodes that read output k, plus 1 until the output is dropped.
 *       At 0, the buffer of the output is released, once the node is done.
 *     n_live (changed in executor.c)
 *       counts outputs with readers, plus 1 until the node is settled.
 *       At 0, the memory of the node is reused.
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
    NODE_TEST, /* evaluation of loss and accuracy on a part of the test set */
    NODE_KINDS
} node_kind;

/** An entry in the list of nodes that wait for a given input. */
typedef struct node_waiter {
    dsgd_value_node *node;
    struct node_waiter *next;
} node_waiter;

enum { CACHE_LINE = 64 };

/*
 * A node of the lazy graph. A store has thousands of nodes, which are rarely in the first-level
 * cache. Therefore three groups of members have separate cache lines. Only the caller's thread
 * writes the first group. The second group is written once. Threads change the third group. The
 * arrays after the node have the same order.
 */
struct dsgd_value_node {
    /*
     * The following members are used only by the caller's thread. The comment at the top of this
     * file describes the counts.
     */
    _Alignas(CACHE_LINE) uint32_t n_refs;
    bool pending; /* true if the node has not yet been submitted */
    bool selected; /* true if the current flush submits the node */
    bool is_operand; /* true if a node that the current flush selects reads this node */
    bool in_table; /* true if the node is in the table of common subexpressions */
    size_t pending_at; /* index of the node in dsgd_values.pending, or SIZE_MAX */
    uint64_t hash;
    uint32_t *output_refs; /* references to each output; n_outputs entries */
    uint32_t *operand_numbers; /* n_outputs positions among merged operands, counted from 1; 0
                                * outside of simplify() */
    uint64_t *input_ids; /* n_inputs identities of the inputs, valid even after an input's end; 0
                          * for zeros */

    /* The following members are constant once the node is built. */
    _Alignas(CACHE_LINE) node_kind kind;
    uint32_t n_inputs;
    uint64_t id; /* number of the node in the order of the calls, from 1 */
    dsgd_value *inputs; /* input values; n_inputs entries */
    uint32_t shape; /* shape of the outputs; for GRADIENT, it is the shape of output 0, and output k
                     * has shape k */
    uint32_t n_outputs;
    dsgd_buffer *outputs; /* n_outputs buffers of the outputs, set before the computation, then read
                           * without the lock */
    dsgd_buffer *operands; /* n_inputs buffers of the inputs, set during the computation */
    dsgd_origin where;
    double *weights; /* weight of each input (COMBINE), or share of the models with this input
                      * (EVALUATE); n_inputs entries */
    union {
        dsgd_origin *samples; /* n_samples mini-batches (GRADIENT), or part and number of parts
                               * (TEST) */
        dsgd_codec *codec; /* codec of the node, if its kind is ENCODE */
        uint32_t *shapes; /* shapes of the inputs, only for EVALUATE; n_inputs entries */
    };
    double divisor; /* divisor of a COMBINE node */
    dsgd_rate rate; /* rate of an UPDATE node; t is 0 unless the rule is adaptive */
    uint32_t n_samples;
    /*
     * GRADIENT: number of samples used of each mini-batch, from its start. EVALUATE: number of
     * inputs before the distinct chunks.
     */
    uint32_t count;
    dsgd_evaluation *evaluation; /* place where the result of EVALUATE or TEST is stored */
    uint32_t place; /* index in dsgd_values.all */
    bool large; /* true if the node needs more than the usual memory */

    /* The following members change only under the lock. */
    _Alignas(CACHE_LINE) uint32_t n_live;
    uint32_t n_missing; /* number of inputs that are not done */
    uint32_t thread; /* thread that computed the node and owns its buffers */
    bool read_elsewhere; /* true if a thread other than the owner has read an output */
    /*
     * True if the node is computed, skipped after a divergence, or submitted to a device that
     * computes in the order of submission. A done node is settled once it is known whether its
     * result is finite.
     */
    bool done;
    uint32_t *n_readers; /* readers of each output; n_outputs entries */
    node_waiter *waiters; /* list of the submitted nodes that wait for this node */
    node_waiter *waits; /* this node's entries in the lists of its inputs; n_inputs entries */
    uint64_t rank; /* number of the node in the order of submission */
};

typedef struct ready_node {
    uint64_t rank; /* copy of the node's rank, so that comparisons do not read the node */
    dsgd_value_node *node;
} ready_node;

/**
 * Ready nodes of one kind. Most nodes become ready in the order of their ranks and wait in the
 * queue `line`. Late nodes wait in a binary heap, whose lowest rank is heap[0].
 */
typedef struct ready_nodes {
    ready_node *line; /* queue of nodes, which contains the elements [first, end) */
    size_t first, end, room_line;
    ready_node *heap; /* binary heap of n_heap elements */
    size_t n_heap, room_heap;
} ready_nodes;

typedef struct ticket {
    uint64_t id; /* id of the EVALUATE or TEST node */
    dsgd_evaluation result;
} ticket;

/** A queue of buffers. Element i is v[(first + i) % room], and room is a power of two. */
typedef struct buffer_ring {
    dsgd_buffer *v;
    size_t first, n, room;
} buffer_ring;

/** Free buffers of one shape that the same thread has written. */
typedef struct buffer_pool {
    buffer_ring own; /* buffers that only this thread has read; the last ones may still be in its
                      * cache */
    buffer_ring quarantine; /* buffers that other threads have read, the oldest first */
} buffer_pool;

/** A batch of nodes, and the operations that compute them on the device. */
typedef struct dsgd_batch {
    node_kind kind;
    size_t n, room;
    dsgd_value_node **nodes; /* nodes of the batch; n entries */
    bool *finite; /* true for each node whose result is finite; n entries */
    union {
        dsgd_gradient_op *gradients;
        dsgd_update_op *updates;
        dsgd_combine_op *combinations;
        dsgd_encode_op *encodings;
        dsgd_evaluate_op *evaluations;
    } ops;
    uint32_t *samples; /* sample indices of all gradients, one after the other */
    size_t room_samples;
} dsgd_batch;

/** Returns the number of samples of gradient @p node. */
static inline size_t dsgd_batch_samples(const dsgd_value_node *node)
{
    return (size_t)node->n_samples * node->count;
}

/** Run queue of one thread: the ready nodes that read its latest results, and its free buffers. */
typedef struct run_queue {
    ready_nodes ready[NODE_KINDS];
    uint64_t first_rank; /* lowest rank in `ready`; UINT64_MAX if no node is ready */
    buffer_pool *pools; /* one pool for each shape */
    /*
     * Only the queue's thread uses the following members, without the lock. If the device computes
     * ahead, `submitted` is the batch that it still computes.
     */
    dsgd_sampler *sampler; /* sampler of the thread; NULL before its first gradient */
    dsgd_batch now, submitted;
} run_queue;

/**
 * A node whose memory can be reused. kind and large are copies, so that nodes.c need not read the
 * node.
 */
typedef struct dead_node {
    dsgd_value_node *node;
    node_kind kind;
    bool large;
} dead_node;

/**
 * Spare memory of the usual size for new nodes. Its arrays are placed as in the last node that used
 * the memory.
 */
typedef struct spare_nodes {
    dsgd_value_node **v; /* spare nodes; n entries */
    size_t n, room;
} spare_nodes;

/**
 * An entry in the table of common subexpressions. It contains the hash, so that a search reads only
 * nodes with the right hash.
 */
typedef struct table_entry {
    uint64_t hash;
    dsgd_value_node *node; /* node of the entry; NULL if the entry is free */
} table_entry;

struct dsgd_values {
    dsgd_values_config config;
    void *context; /* context of the device */
    size_t *shape_sizes; /* dsgd_n_shapes() entries: number of elements of each shape, which is
                          * constant */
    _Atomic(struct store_block *) blocks; /* newest block of memory for dsgd_store_alloc() */

    /* The following members belong to values.c. Only the caller's thread uses them. */
    dsgd_value_listener *listener; /* listener of calls; NULL if there is no listener */
    void *listener_argument;
    uint32_t gradients_since_flush, flush_every;
    uint64_t id_at_flush; /* value of next_id at the last flush */
    ticket **tickets;
    size_t n_tickets, room_tickets;
    uint32_t *test_order; /* random order of the test set, which is cut into parts; NULL before the
                           * first part */

    /*
     * The following members belong to nodes.c and lazy_graph.c. Only the caller's thread uses them.
     */
    dsgd_value_node **pending; /* pending nodes in the order of ids, NULL if no longer pending;
                                * n_pending entries */
    size_t n_pending, room_pending;
    uint64_t next_id;
    table_entry *table; /* table of common subexpressions; room_table entries, a power of two */
    size_t room_table, n_in_table;
    dsgd_value *dropped; /* dropped outputs of submitted nodes that are not yet reported to the
                          * executor */
    size_t n_dropped, room_dropped;
    dsgd_value_node **all; /* all nodes, including spare nodes; n_all entries */
    size_t n_all, room_all;
    spare_nodes spare[NODE_KINDS]; /* spare nodes by the last kind of the node */
    dsgd_value_node **selected; /* nodes that the current flush selects, in the order of ids;
                                 * n_selected entries */
    size_t n_selected;

    /* The following members belong to executor.c. They are used under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t work_ready, work_done;
    pthread_t *threads;
    uint32_t n_threads_started, n_idle;
    bool closing;
    bool caller_waits; /* true if the caller waits until n_unfinished <= waits_for */
    size_t waits_for;
    dead_node *dead; /* nodes whose n_live is 0, which nodes.c reuses; n_dead entries */
    size_t n_dead, room_dead;
    uint64_t next_rank;
    size_t n_unfinished; /* number of nodes that are submitted but not settled */
    run_queue *queues; /* run queues, one per computing thread; n_queues entries */
    uint32_t n_queues;
    const struct transfer *transfer; /* transfer for which the caller waits, or NULL */
    uint64_t diverged_id; /* id of the first node with a non-finite result, UINT64_MAX if there is
                           * none */
    dsgd_origin diverged_where;
    dsgd_values_stats stats;

    /* The following members belong to buffers.c. They are used under the lock. */
    size_t held_bytes; /* bytes of buffers in use */
    size_t allocated_bytes; /* bytes of buffers in use, plus bytes of free buffers in the pools */
    size_t room_bytes; /* limit of allocated_bytes; SIZE_MAX for host memory */
};

/**
 * Returns the number of shapes of buffers. Shape k < n_pieces is chunk k. Shape n_pieces is the
 * model state. Shape n_pieces + 1 + k is the optimizer's state of chunk k.
 */
static inline size_t dsgd_n_shapes(const dsgd_values *values)
{
    return 2 * values->config.problem.n_pieces + 1;
}

/** Returns the number of elements of a value of shape @p shape. */
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

/**
 * Returns true if the network has a state. Gradients then have the state as an additional input and
 * output.
 */
static inline bool dsgd_has_state(const dsgd_values *values)
{
    return values->config.problem.network->n_state > 0;
}

/**
 * Returns true if a combination can fuse the node. Fusable nodes are gradients; they keep
 * references to their model until they are dropped.
 */
static inline bool dsgd_value_node_fusable(const dsgd_values *values, const dsgd_value_node *node)
{
    return node->kind == NODE_GRADIENT && !values->config.problem.network->coupled;
}

/**
 * Returns true if the outputs of a node are dropped one by one. Otherwise a new model would keep
 * the memory of the velocity that was computed with it. The chunks of a fusable gradient are
 * dropped together, because the calls that fuse the gradient come chunk by chunk.
 */
static inline bool dsgd_value_node_per_output(const dsgd_values *values,
                                              const dsgd_value_node *node)
{
    return node->kind == NODE_UPDATE ||
           (node->kind == NODE_GRADIENT && !dsgd_value_node_fusable(values, node));
}

/** Prefetches the cache lines of a node, except the first @p but bytes of the node. */
static inline void dsgd_value_node_fetch(const dsgd_value_node *node, size_t but)
{
    enum { BEHIND = 3 * CACHE_LINE }; /* bytes of the arrays that follow most nodes */
    for (size_t at = but; at < sizeof *node + BEHIND; at += CACHE_LINE)
        __builtin_prefetch((const char *)node + at, 1);
}

/**
 * Returns memory filled with zeros, which the store frees when it is closed. Any thread may call
 * this function. (buffers.c)
 */
void *dsgd_store_alloc(dsgd_values *values, size_t count, size_t bytes);
/**
 * Frees all memory that dsgd_store_alloc() returned. Called when the store is closed. (buffers.c)
 */
void dsgd_store_free(dsgd_values *values);

/**
 * Returns @p array, or a larger copy, with room for one more element. The array has @p n elements
 * of @p bytes each.
 */
static inline void *dsgd_array_grow(dsgd_values *values, void *array, size_t n, size_t *room,
                                    size_t bytes)
{
    if (n < *room)
        return array;
    *room = *room == 0 ? 64 : 2 * *room;
    void *const grown = dsgd_store_alloc(values, *room, bytes);
    return n == 0 ? grown : memcpy(grown, array, n * bytes);
}

/* --- functions of lazy_graph.c, called on the caller's thread --------------------------------- */

/**
 * Creates the node of a gradient, update, combination or encoding, and returns its first output.
 */
dsgd_value dsgd_lazy_make(dsgd_values *values, const dsgd_value_call *call);
/**
 * Creates the node of an evaluation. The node is pending, but not in `pending`, because no handle
 * refers to it.
 */
dsgd_value_node *dsgd_lazy_evaluate(dsgd_values *values, const dsgd_value_call *call);
/**
 * Creates the TEST node for one part of the test set: part call->where.worker of call->where.step
 * parts. Like the node of an evaluation, it is not in `pending`.
 */
dsgd_value_node *dsgd_lazy_scores(dsgd_values *values, const dsgd_value_call *call);
/** Submits a node and the pending nodes that it needs. The caller holds the lock. */
void dsgd_lazy_submit(dsgd_values *values, dsgd_value_node *node);
/**
 * Submits the pending nodes up to id @p last, and later nodes that selects() adds. The caller holds
 * the lock.
 */
void dsgd_lazy_flush(dsgd_values *values, uint64_t last);

/* --- functions of nodes.c, called on the caller's thread -------------------------------------- */

/**
 * Returns a new node with the kind and the numbers of inputs, outputs and samples of @p header. The
 * caller sets the arrays.
 */
dsgd_value_node *dsgd_value_node_new(dsgd_values *values, const dsgd_value_node *header);
static inline void dsgd_value_node_set_input(dsgd_value_node *node, size_t i, dsgd_value value)
{
    node->inputs[i] = value;
    node->input_ids[i] = value.node == NULL ? 0 : value.node->id << 16 | value.index;
}

/**
 * Makes @p node pending and returns it, or returns an existing equal node instead. The caller gets
 * a reference to each output.
 */
dsgd_value_node *dsgd_value_node_intern(dsgd_values *values, dsgd_value_node *node);
/** Removes a node from the pending nodes. */
void dsgd_value_node_unlink(dsgd_values *values, dsgd_value_node *node);
/** Releases one reference to every output of a node. */
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

/**
 * Reports dropped outputs to the executor and reuses the memory of dead nodes. The caller holds the
 * lock.
 */
void dsgd_nodes_collect(dsgd_values *values);
/** Frees all nodes and their output buffers, even if references remain. */
void dsgd_nodes_free(dsgd_values *values);

/* --- functions of executor.c, called under the lock, except start and stop -------------------- */

/**
 * Adds a node. Its inputs must have been added before. The caller then calls dsgd_executor_wake().
 */
void dsgd_executor_add(dsgd_values *values, dsgd_value_node *node);
/** Stores @p x as the output of a constant, which is done at once. */
void dsgd_executor_put(dsgd_values *values, dsgd_value_node *node, const double *x);
/** Copies output @p k of a node that is done to x[n]. */
void dsgd_executor_get(dsgd_values *values, const dsgd_value_node *node, uint32_t k, double *x,
                       size_t n);
/** Decreases the number of readers of an output by one. */
void dsgd_executor_unread(dsgd_values *values, dsgd_value value);
/** Wakes one thread if nodes are ready. That thread then wakes the next thread. */
void dsgd_executor_wake(dsgd_values *values);
/** Computes nodes and waits for the other threads until n_unfinished <= @p unfinished. */
void dsgd_executor_wait(dsgd_values *values, size_t unfinished);
void dsgd_executor_start(dsgd_values *values);
void dsgd_executor_stop(dsgd_values *values);

/* --- functions of batch.c, called without the lock -------------------------------------------- */

void dsgd_batch_open(dsgd_values *values, dsgd_batch *b);

/**
 * Computes the nodes of a batch on the device's @p thread. The device writes finite[] before this
 * function returns, or later if the device has a function `ahead`.
 */
void dsgd_batch_compute(dsgd_values *values, uint32_t thread, dsgd_batch *b);

/* --- functions of buffers.c, called under the lock -------------------------------------------- */

/** Sets the sizes of all shapes. Must be called before the other functions of buffers.c. */
void dsgd_buffers_open(dsgd_values *values);
/**
 * Returns a buffer for @p thread to write. Returns NULL if the device would need more than @p
 * room_bytes even if the pools were empty, or if the device has no more memory.
 */
dsgd_buffer dsgd_buffer_take(dsgd_values *values, uint32_t thread, size_t shape, size_t room_bytes);
/**
 * Ends the program with an error. Called if the device has no memory for another buffer and no node
 * is left to compute.
 */
void dsgd_buffer_none(const dsgd_values *values, size_t shape);
/** Returns the buffer of output @p k to the pool of the thread that wrote it. */
void dsgd_buffer_release(dsgd_values *values, dsgd_value_node *node, uint32_t k);
/** Returns all free buffers in the pools to the device. */
void dsgd_buffers_trim(dsgd_values *values);
