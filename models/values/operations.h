/**
 * @file operations.h
 * The inside of a value store: operations as nodes of a graph. values.c builds the graph, executor.c computes it
 * in buffers.c's memory.
 *
 * Two counts rule a node's life. `holders` are handles outside and operations that were not yet submitted; it changes by calls of the
 * store's functions alone, so that what is shared, fused or never computed follows from the calls. `uses` are outputs that somebody holds
 * or still has to read, and the node itself until it is done; it changes as the executor goes on, and decides only when memory is given back.
 * An output's buffer is given back by itself, as soon as its own readings are over.
 *
 * The graph belongs to the thread that calls the store's functions, which builds it without the lock. What the lock protects is marked;
 * the rest of an operation does not change once it is submitted, but for the caller's own links and counts.
 */
#ifndef DSGD_MODELS_VALUES_OPERATIONS_H
#define DSGD_MODELS_VALUES_OPERATIONS_H

#include <pthread.h>

#include "models/values/values.h"

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
    uint32_t shape; /* of the outputs; GRADIENT: of the first, the others follow */
    uint32_t n_inputs, n_outputs;
    dsgd_value *inputs; /* [n_inputs] */
    uint64_t *input_ids; /* [n_inputs]: identities, also of inputs that are gone */
    double *
        weights; /* COMBINE [n_inputs]; EVALUATE [n_inputs]: share of the models that have the input */
    uint32_t *shapes; /* EVALUATE [n_inputs]: of the inputs */
    double divisor; /* COMBINE */
    double lr; /* UPDATE */
    uint64_t t; /* UPDATE by an adaptive rule: which one of its state */
    dsgd_origin *samples; /* GRADIENT [n_samples]: whose mini-batches */
    uint32_t n_samples;
    uint32_t count; /* GRADIENT: of each of those mini-batches, from its beginning */
    dsgd_evaluation *evaluation; /* EVALUATE: where the result goes */

    /* The caller's alone. */
    uint32_t holders; /* of all outputs together */
    uint32_t *handles; /* [n_outputs] holders of each */
    uint32_t *outside; /* [n_outputs] of those, handles that were given out */
    uint64_t *names; /* [n_outputs] in a record; valid while there are handles outside */
    bool pending; /* described, not submitted */
    bool goes; /* the flush that is under way submits it */
    bool taken; /* a pending operation that is about to be submitted reads it */
    bool shared; /* in the store's table of equal operations */
    bool large; /* its memory is not of the usual size */
    size_t place; /* among all of the store */
    uint64_t hash;
    dsgd_operation *next_in_bucket;
    dsgd_operation *before,
        *after; /* among the pending; then `after` among those that nobody holds */

    /* With the lock. */
    bool done; /* computed, or skipped after a divergence */
    uint32_t uses; /* outputs in use, and itself until it is done */
    uint32_t
        *readings; /* [n_outputs] 1 while anybody holds the output, and what still has to read it */
    uint32_t missing; /* inputs that are not done */
    operation_reader *readers; /* submitted operations that wait for this one */
    operation_reader *waits; /* [n_inputs] this operation's places in its inputs' lists */
    uint32_t thread; /* who computed it, and keeps its buffers */
    bool travelled; /* another thread has read it */
    uint64_t rank; /* in the order of submission: operands right before the first that reads them */
    dsgd_operation *next_dead;
    dsgd_buffer
        *outputs; /* [n_outputs]; set before it is computed, and then read without the lock */
    dsgd_buffer *operands; /* [n_inputs], of the thread that computes it */
};

/** Operations that can be computed, as a heap: the one of the lowest rank first. */
typedef struct operation_queue {
    dsgd_operation **v; /* [n] */
    size_t n, room;
} operation_queue;

typedef struct ticket {
    uint64_t id; /* of the operation */
    dsgd_evaluation result;
} ticket;

/** Buffers of one shape that a thread has written and nobody uses. */
typedef struct buffer_pool {
    dsgd_buffer
        *own; /* [n_own]: no other thread has read them, and the last may still be in the cache */
    size_t n_own, own_room;
    dsgd_buffer *rests; /* a ring: others have read them; the one at `first` rests longest */
    size_t first, n_rests, rests_room;
} buffer_pool;

/**
 * What belongs to one computing thread: operations on what it computed last, and the buffers that it wrote. A core goes on with what its
 * cache holds, and to write what another core's cache holds too takes several times as long.
 */
typedef struct desk {
    operation_queue ready[OPERATION_KINDS];
    uint64_t first_rank; /* of those; UINT64_MAX: there are none */
    buffer_pool *pools; /* by shape */
} desk;

struct dsgd_values {
    dsgd_values_config config;
    dsgd_recorder *recorder; /* NULL: nobody listens */
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
    uint64_t id_at_flush; /* next_id at the last flush */
    dsgd_value *
        let_go; /* outputs of submitted operations that nobody holds any more: to be told the executor */
    size_t n_let_go, room_let_go;
    dsgd_operation **all; /* [n_all], also the spare ones */
    size_t n_all, room_all;
    dsgd_operation *spare; /* memory of operations, to be used again */
    ticket **tickets;
    size_t n_tickets;

    /* With the lock. */
    uint32_t n_threads_started, n_idle;
    bool closing;
    bool caller_waits; /* until so many operations at most are unfinished: */
    size_t waits_for;
    dsgd_operation *dead; /* nobody uses them any more: the caller takes their memory back */
    uint64_t next_rank;
    size_t unfinished; /* submitted and not done */
    desk *desks; /* [n_desks], one for each thread that computes */
    uint32_t n_desks;
    size_t held_bytes;
    uint64_t diverged_id; /* UINT64_MAX: it did not */
    dsgd_origin diverged_where;
    dsgd_values_stats stats;
};

/* What a buffer holds is its shape: k < n_pieces, piece k of a vector; n_pieces, a model state; n_pieces + 1 + k, the optimizer's state for
 * piece k. */

static inline size_t dsgd_state_shape(const dsgd_values *values)
{
    return values->config.problem.n_pieces;
}

static inline size_t dsgd_n_shapes(const dsgd_values *values)
{
    return 2 * values->config.problem.n_pieces + 1;
}

/** Shape of output @p k of an operation. */
static inline size_t dsgd_output_shape(const dsgd_values *values, const dsgd_operation *o, size_t k)
{
    return o->kind == OPERATION_UPDATE && k == 1 ? dsgd_state_shape(values) + 1 + o->shape
                                                 : o->shape + k;
}

/** Whether it is a gradient that a collective may still fuse with others: such a one goes on holding its model. */
static inline bool dsgd_may_be_fused(const dsgd_values *values, const dsgd_operation *o)
{
    return o->kind == OPERATION_GRADIENT && !values->config.problem.network->coupled;
}

/**
 * Whether outputs can be let go one by one: a new model must not hold the memory of the velocity that came with it. The pieces of a
 * gradient stay together, because the like will be asked for again, piece by piece.
 */
static inline bool dsgd_goes_apart(const dsgd_values *values, const dsgd_operation *o)
{
    return o->kind == OPERATION_UPDATE ||
           (o->kind == OPERATION_GRADIENT && !dsgd_may_be_fused(values, o));
}

/* buffers.c; all with the lock held */
/** Reals of a buffer. */
size_t dsgd_shape_size(const dsgd_values *values, size_t shape);
/** For @p thread to write. */
dsgd_buffer dsgd_buffer_take(dsgd_values *values, uint32_t thread, size_t shape);
/** Back to the thread that wrote output @p k of an operation. */
void dsgd_buffer_give(dsgd_values *values, dsgd_operation *o, uint32_t k);
/** The pools of one thread, and what is in them. */
void dsgd_buffers_free(dsgd_values *values, buffer_pool *pools);

/* executor.c; all with the lock held */
/** One reading less. The buffer of what nobody reads is given back; an operation of which nothing is in use is dead. */
void dsgd_value_unread(dsgd_values *values, dsgd_value value);
/** Hands the operation, and the pending ones it needs, to the threads; dsgd_executor_wake() then wakes them. */
void dsgd_operation_submit(dsgd_values *values, dsgd_operation *operation);
void dsgd_executor_wake(dsgd_values *values);
/** Computes, and waits for the others, until @p unfinished operations at most are left. */
void dsgd_executor_wait(dsgd_values *values, size_t unfinished);

/* The like, without the lock */
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

void dsgd_record_constant(dsgd_recorder *recorder, size_t shape, const double *x,
                          dsgd_operation *made);
void dsgd_record_gradient(dsgd_recorder *recorder, dsgd_origin where, uint32_t count,
                          const dsgd_value *x, dsgd_value state, dsgd_operation *made);
void dsgd_record_update(dsgd_recorder *recorder, dsgd_origin where, const dsgd_value *operands,
                        double lr, dsgd_operation *made);
void dsgd_record_combine(dsgd_recorder *recorder, dsgd_origin where, size_t piece,
                         const dsgd_combination *combination, dsgd_value made);
void dsgd_record_evaluate(dsgd_recorder *recorder, size_t n, const dsgd_value *x,
                          const dsgd_value *states);
void dsgd_record_result(dsgd_recorder *recorder, size_t number, const dsgd_evaluation *result);
void dsgd_record_flush(dsgd_recorder *recorder);
void dsgd_record_read(dsgd_recorder *recorder, size_t piece, dsgd_value value, const double *x,
                      size_t n);
/** Nobody outside has the value any more. */
void dsgd_record_release(dsgd_recorder *recorder, dsgd_value value);

/* values.c; of the caller */
void dsgd_value_drop(dsgd_values *values, dsgd_value value);

#endif
