/**
 * @file operations.h
 * The inside of a value store: operations as nodes of a graph. values.c builds the graph, executor.c computes it.
 *
 * Two counts rule a node's life. `holders` are handles outside and operations that were not yet submitted; it changes by calls of the
 * store's functions alone, so that what is shared, fused or never computed follows from the calls. `uses` are submitted operations that
 * still have to read the node, and the caller as long as there are holders; it changes as the executor goes on, and decides only when
 * memory is given back.
 *
 * The graph belongs to the thread that calls the store's functions, which builds it without the lock. What the lock protects is marked;
 * the rest of an operation does not change once it is submitted, but for the caller's own links and counts.
 */
#ifndef DSGD_MODELS_OPERATIONS_H
#define DSGD_MODELS_OPERATIONS_H

#include <pthread.h>

#include "models/values.h"

typedef enum operation_kind {
    OPERATION_CONSTANT,
    OPERATION_GRADIENT,
    OPERATION_UPDATE,
    OPERATION_COMBINE,
    OPERATION_EVALUATE,
    OPERATION_KINDS
} operation_kind;

/** A place in the list of those that wait for an operation. */
typedef struct operation_reader {
    dsgd_operation *reader;
    struct operation_reader *next;
} operation_reader;

struct dsgd_operation {
    operation_kind kind;
    uint64_t id; /* in the order of the calls */
    dsgd_origin where;
    uint32_t piece;
    uint32_t n_inputs, n_outputs;
    dsgd_value *inputs; /* [n_inputs] */
    uint64_t *input_ids; /* [n_inputs]: identities, also of inputs that are gone */
    double *
        weights; /* COMBINE [n_inputs]; EVALUATE [n_inputs]: share of the models that have the input */
    uint32_t *pieces; /* EVALUATE [n_inputs]: piece that the input is of */
    double divisor; /* COMBINE */
    double lr; /* UPDATE */
    dsgd_origin *samples; /* GRADIENT [n_samples]: whose mini-batches */
    uint32_t n_samples;
    uint32_t count; /* GRADIENT: of each of those mini-batches, from its beginning */
    dsgd_evaluation *evaluation; /* EVALUATE: where the result goes */

    /* The caller's alone. */
    uint32_t holders;
    bool pending; /* described, not submitted */
    bool shared; /* in the store's table of equal operations */
    bool large; /* its memory is not of the usual size */
    uint64_t hash;
    dsgd_operation *next_in_bucket;
    dsgd_operation *before,
        *after; /* among the pending; then `after` among those that nobody holds */

    /* With the lock. */
    bool done; /* computed, or skipped after a divergence */
    uint32_t uses;
    uint32_t missing; /* inputs that are not done */
    operation_reader *readers; /* submitted operations that wait for this one */
    operation_reader *waits; /* [n_inputs] this operation's places in its inputs' lists */
    dsgd_operation *next_ready; /* in a queue, or among the dead */
    dsgd_buffer
        *outputs; /* [n_outputs]; set before it is computed, and then read without the lock */
    dsgd_buffer *operands; /* [n_inputs], of the thread that computes it */
};

typedef struct operation_queue {
    dsgd_operation *first, *last;
} operation_queue;

typedef struct ticket {
    uint64_t id; /* of the operation */
    dsgd_evaluation result;
} ticket;

/** Buffers that nobody uses, by piece. */
typedef struct buffer_pool {
    dsgd_buffer *free;
    size_t n, room;
} buffer_pool;

struct dsgd_values {
    dsgd_values_config config;
    void *context; /* of the device */
    pthread_mutex_t lock;
    pthread_cond_t work_there, work_done;
    pthread_t *threads;

    /* The caller's alone. */
    dsgd_operation pending; /* head of the ring of pending operations */
    dsgd_operation **buckets;
    size_t n_buckets, n_shared;
    uint64_t next_id;
    uint32_t gradients_since_flush, flush_every;
    dsgd_operation *let_go; /* submitted, and nobody holds them any more: uses to be counted down */
    size_t n_let_go;
    dsgd_operation *spare; /* memory of operations, to be used again */
    ticket **tickets;
    size_t n_tickets;

    /* With the lock. */
    uint32_t n_threads_started, n_idle;
    bool closing;
    bool caller_waits; /* until so many operations at most are unfinished: */
    size_t waits_for;
    operation_queue ready[OPERATION_KINDS];
    dsgd_operation *dead; /* nobody uses them any more: the caller takes their memory back */
    size_t unfinished; /* submitted and not done */
    buffer_pool *pools; /* [n_pieces] */
    size_t held_bytes;
    uint64_t diverged_id; /* UINT64_MAX: it did not */
    dsgd_origin diverged_where;
    dsgd_values_stats stats;
};

/* executor.c; all with the lock held */
size_t dsgd_piece_size(const dsgd_values *values, size_t piece);
dsgd_buffer dsgd_buffer_take(dsgd_values *values, size_t piece);
/** One use less. The buffers of what nobody uses are given back, and it is dead. */
void dsgd_operation_unuse(dsgd_values *values, dsgd_operation *operation);
/** Hands the operation, and the pending ones it needs, to the threads; dsgd_executor_wake() then wakes them. */
void dsgd_operation_submit(dsgd_values *values, dsgd_operation *operation);
void dsgd_executor_wake(dsgd_values *values);
/** Computes, and waits for the others, until @p unfinished operations at most are left. */
void dsgd_executor_wait(dsgd_values *values, size_t unfinished);

/* The like, without the lock */
void dsgd_executor_start(dsgd_values *values);
void dsgd_executor_stop(dsgd_values *values);

/* values.c; of the caller */
void dsgd_operation_drop_holder(dsgd_values *values, dsgd_operation *operation);

#endif
