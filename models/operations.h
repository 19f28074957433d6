/**
 * @file operations.h
 * The inside of a value store: operations as nodes of a graph. values.c builds the graph, executor.c computes it.
 *
 * Two counts rule a node's life. `holders` are handles outside and operations that were not yet submitted; it changes by calls of the
 * store's functions alone, so that what is shared, fused or never computed follows from the calls. `uses` are submitted operations that
 * still have to read the node; it changes as the executor goes on, and decides only when memory is given back. `handles` are those of the
holders that are outside: a record says where the last one was given back, because that too decides what is shared.
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

typedef enum operation_state {
    OPERATION_PENDING, /* described */
    OPERATION_SUBMITTED, /* to be computed as soon as its operands are */
    OPERATION_DONE /* computed, or skipped after a divergence */
} operation_state;

struct dsgd_operation {
    operation_kind kind;
    operation_state state;
    uint64_t id; /* in the order of the calls */
    dsgd_origin where;
    uint32_t piece;
    uint32_t n_inputs, n_outputs;
    _Atomic uint32_t holders; /* atomic, because dsgd_value_retain() does not take the lock */
    uint32_t handles; /* outside; of the holders */
    uint64_t name; /* in a record, of its first output; valid while there are handles */
    uint32_t uses;
    uint32_t missing; /* inputs that are not done */

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
    dsgd_buffer *outputs; /* [n_outputs] */
    dsgd_evaluation *evaluation; /* EVALUATE: where the result goes */

    dsgd_operation **readers; /* submitted operations that wait for this one */
    uint32_t n_readers, room_readers;
    bool shared; /* in the store's table of equal operations */
    uint64_t hash;
    dsgd_operation *next_in_bucket;
    dsgd_operation *before, *after; /* among the pending */
    dsgd_operation *next_ready;
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
    dsgd_recorder *recorder; /* NULL: nobody listens */
    void *context; /* of the device */
    pthread_mutex_t lock;
    pthread_cond_t work_there, work_done;
    pthread_t *threads;
    uint32_t n_threads_started;
    bool closing;

    dsgd_operation pending; /* head of the ring of pending operations */
    dsgd_operation **buckets;
    size_t n_buckets, n_shared;
    uint64_t next_id;
    uint32_t gradients_since_flush, flush_every;

    operation_queue ready[OPERATION_KINDS];
    size_t unfinished; /* submitted and not done */
    buffer_pool *pools; /* [n_pieces] */
    size_t held_bytes;
    ticket **tickets;
    size_t n_tickets;
    uint64_t diverged_id; /* UINT64_MAX: it did not */
    dsgd_origin diverged_where;
    dsgd_values_stats stats;
};

/* executor.c; all with the lock held */
size_t dsgd_piece_size(const dsgd_values *values, size_t piece);
dsgd_buffer dsgd_buffer_take(dsgd_values *values, size_t piece);
void dsgd_buffer_give(dsgd_values *values, size_t piece, dsgd_buffer buffer);
/** Hands the operation, and the pending ones it needs, to the threads. */
void dsgd_operation_submit(dsgd_values *values, dsgd_operation *operation);
/** Waits until @p unfinished operations at most are left. */
void dsgd_executor_wait(dsgd_values *values, size_t unfinished);
void dsgd_executor_start(dsgd_values *values);
void dsgd_executor_stop(dsgd_values *values);

/* record.c: what a recorder hears, after the call and before its handles are out; NULL hears nothing. */

/** Operands of a combination, as they were handed over. */
typedef struct dsgd_combination {
    size_t n;
    const dsgd_value *x;
    const double *weights;
    double divisor;
} dsgd_combination;

void dsgd_record_constant(dsgd_recorder *recorder, size_t piece, const double *x,
                          dsgd_operation *made);
void dsgd_record_gradient(dsgd_recorder *recorder, dsgd_origin where, uint32_t count,
                          const dsgd_value *x, dsgd_operation *made);
void dsgd_record_update(dsgd_recorder *recorder, dsgd_origin where, size_t piece,
                        const dsgd_value *operands, double lr, dsgd_operation *made);
void dsgd_record_combine(dsgd_recorder *recorder, dsgd_origin where, size_t piece,
                         const dsgd_combination *combination, dsgd_operation *made);
void dsgd_record_evaluate(dsgd_recorder *recorder, size_t n, const dsgd_value *x);
void dsgd_record_result(dsgd_recorder *recorder, size_t number, const dsgd_evaluation *result);
void dsgd_record_flush(dsgd_recorder *recorder);
void dsgd_record_read(dsgd_recorder *recorder, size_t piece, dsgd_value value, const double *x,
                      size_t n);
/** Nobody outside has the operation any more. */
void dsgd_record_release(dsgd_recorder *recorder, const dsgd_operation *operation);

/* values.c; with the lock held */
void dsgd_operation_drop_holder(dsgd_values *values, dsgd_operation *operation);
/** Gives back the memory of what nobody holds, reads or computes any more. */
void dsgd_operation_reap(dsgd_values *values, dsgd_operation *operation);

#endif
