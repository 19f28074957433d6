/**
 * @file values.h
 * Values: handles to immutable pieces of vectors, computed lazily.
 *
 * An operation on handles returns a handle at once and computes later, in batches, on the store's
 * threads. Calls build a graph in which equal operations on equal operands are one node (common
 * subexpressions), so that the average of a group is computed once for the group. A combination of
 * gradients at the same model is fused into gradients of blocks of DSGD_FUSED_SAMPLES samples,
 * combined in order: synchronous SGD trains one model, not P. Which nodes are computed, and every
 * bit of the results, follows from the sequence of calls, not from the wall clock.
 *
 * Handles are counted: the caller owns a returned handle until dsgd_value_release(). One thread
 * makes all calls. A NULL store means that numerics are off: every function accepts it, does
 * nothing, and returns DSGD_ZERO_VALUE.
 */
#pragma once

#include "base/status.h"
#include "models/data/data.h"
#include "models/devices/device.h"

enum { DSGD_FUSED_SAMPLES = 256 };

typedef struct dsgd_values dsgd_values;
typedef struct dsgd_value_node dsgd_value_node;

/** One piece of a vector: output `index` of a node. */
typedef struct dsgd_value {
    dsgd_value_node *node; /* NULL: zeros, or no value where the store is NULL */
    uint32_t index;
} dsgd_value;

static inline bool dsgd_value_equal(dsgd_value a, dsgd_value b)
{
    return a.node == b.node && a.index == b.index;
}

#define DSGD_ZERO_VALUE ((dsgd_value){NULL, 0})

/** The worker and step that an operation belongs to, for mini-batches and reports. */
typedef struct dsgd_origin {
    uint32_t worker;
    uint64_t step;
} dsgd_origin;

/** Learning rate of update t (from 1) of an optimizer state. */
typedef struct dsgd_rate {
    double lr;
    uint64_t t;
} dsgd_rate;

typedef struct dsgd_values_config {
    const dsgd_device *device;
    dsgd_problem problem;
    dsgd_stream stream;
    uint32_t n_threads; /* besides the caller, which computes while it waits */
    /* Of the host, for values: above this a flush waits until all that was flushed is computed. A
     * device with memory of its own has a limit of its own. */
    size_t memory_bytes;
    dsgd_device_place place; /* of a GPU */
    _Atomic uint64_t *computed; /* counts the batches of operations that are done; may be NULL */
} dsgd_values_config;

/** The result of one evaluation; all NAN after a divergence. */
typedef struct dsgd_evaluation {
    double loss, accuracy; /* of the model that is evaluated */
    double consensus; /* sqrt(mean over models of the squared distance to their mean) */
} dsgd_evaluation;

/** A point of a learning curve. */
typedef struct dsgd_point {
    double virtual_s;
    double steps; /* of all workers / P */
    size_t ticket; /* of dsgd_values_evaluate(), of a run: until its end, when `at` is read */
    dsgd_evaluation at;
} dsgd_point;

typedef struct dsgd_divergence {
    bool happened;
    dsgd_origin where; /* of the first call whose operation gave a non-finite value */
} dsgd_divergence;

/** Totals of a store so far. */
typedef struct dsgd_values_stats {
    /* computed */
    uint64_t gradients, gradient_samples, updates, combinations, encodings, evaluations;
    double busy_wall_s; /* in device operations, over all threads */
    double waiting_wall_s; /* that the caller waited for the threads */
    size_t peak_bytes; /* of buffers in use */
} dsgd_values_stats;

dsgd_status dsgd_values_open(const dsgd_values_config *config, dsgd_values **values,
                             dsgd_error *error);

/**
 * Like dsgd_values_open(), but sets config->device, and n_threads to 1 if it is not threaded. AUTO
 * has to be resolved before: a device that cannot be opened is an error.
 */
dsgd_status dsgd_values_open_where(dsgd_values_config *config, dsgd_numerics where, bool in_double,
                                   dsgd_values **values, dsgd_error *error);
void dsgd_values_close(dsgd_values *values);

dsgd_value dsgd_value_retain(dsgd_value value); /* returns its argument */
void dsgd_value_release(dsgd_values *values, dsgd_value value);

/** Returns the number of elements of a piece; @p piece n_pieces is the model state. */
size_t dsgd_values_size(const dsgd_values *values, size_t piece);

/** A piece of a given vector, copied: x[piece_begin[piece] ...]; @p x has n_params elements. */
dsgd_value dsgd_values_constant(dsgd_values *values, size_t piece, const double *x);

/** A model state, copied: state[network->n_state]; DSGD_ZERO_VALUE where the network has none. */
dsgd_value dsgd_values_state(dsgd_values *values, const double *state);

/**
 * g[n_pieces] <- gradient at x[n_pieces]: the mean over the first @p count samples of mini-batch
 * (where.worker, where.step). *state is replaced by the state after these samples, and its old
 * handle released; NULL where the network has none.
 */
void dsgd_values_gradient(dsgd_values *values, dsgd_origin where, uint32_t count,
                          const dsgd_value *x, dsgd_value *state, dsgd_value *g);

/** One piece of x after an update. *v is replaced by the new state, its old handle released. */
dsgd_value dsgd_values_update(dsgd_values *values, dsgd_origin where, size_t piece, dsgd_value x,
                              dsgd_value g, dsgd_value *v, dsgd_rate rate);

/** sum_i weights[i] x[i] / divisor, in order. Zeros vanish, equal operands merge, 1 x / 1 is x. */
dsgd_value dsgd_values_combine(dsgd_values *values, dsgd_origin where, size_t piece, size_t n,
                               const dsgd_value *x, const double *weights, double divisor);

/**
 * Q(x) of one piece, with a second input @p z where the codec has one. Q(0) and codecs of a piece
 * without elements are zeros. Its draws are named by @p codec, so that equal codecs of equal
 * values are one value.
 */
dsgd_value dsgd_values_encode(dsgd_values *values, dsgd_origin where, size_t piece,
                              const dsgd_codec *codec, dsgd_value x, dsgd_value z);

/**
 * Evaluates a mean model with the mean of states[n]: the mean of x[n][n_pieces] if m is 0, else the
 * mean of the last m of x[n + m][n_pieces]. The consensus is of the first n. Returns a ticket.
 */
size_t dsgd_values_evaluate(dsgd_values *values, size_t n, uint32_t m, const dsgd_value *x,
                            const dsgd_value *states);

/**
 * Evaluates the model x[n_pieces] with its state, without a consensus, on part @p part of @p
 * n_parts into which the seed deals the test set, as equal in size as can be; of one part in the
 * order of dsgd_values_evaluate(). Returns a ticket.
 */
size_t dsgd_values_evaluate_part(dsgd_values *values, const dsgd_value *x, dsgd_value state,
                                 uint32_t part, uint32_t n_parts);

/** Waits for the evaluation of this ticket. */
dsgd_evaluation dsgd_values_result(dsgd_values *values, size_t ticket);

/**
 * Starts the computation of all nodes built so far. Decides which nodes are computed, so it must be
 * called at places that do not depend on the wall clock.
 */
void dsgd_values_flush(dsgd_values *values);

/** Waits for all that was flushed. */
dsgd_divergence dsgd_values_divergence(dsgd_values *values);
dsgd_values_stats dsgd_values_stats_get(dsgd_values *values);

/** Computes @p value, waits, and copies its elements to @p x: NAN where it comes after a
 * divergence. */
void dsgd_values_read(dsgd_values *values, size_t piece, dsgd_value value, double *x);
