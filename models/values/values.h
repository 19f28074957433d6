/**
 * @file values.h
 * Values: handles to immutable chunks of vectors, which are computed lazily.
 *
 * An operation on handles returns a handle at once and is computed later, in batches, on the
 * store's threads. Calls build a graph in which equal operations on equal operands are one node
 * (common subexpressions), so that the average of a group is computed once for the group. A
 * combination of gradients at the same model is fused: gradients of blocks of DSGD_FUSED_SAMPLES
 * samples are combined in order, so that synchronous SGD trains one model instead of P. The
 * sequence of calls determines which nodes are computed and every bit of the results; the wall
 * clock does not.
 *
 * Handles are counted: the caller owns a returned handle until dsgd_value_release(). All calls must
 * come from one thread. A NULL store means that numerics are off: every function accepts it, does
 * nothing, and returns DSGD_ZERO_VALUE.
 */
#pragma once

#include "base/status.h"
#include "models/data/data.h"
#include "models/devices/device.h"

enum { DSGD_FUSED_SAMPLES = 256 };

typedef struct dsgd_values dsgd_values;
typedef struct dsgd_value_node dsgd_value_node;

/** One chunk of a vector: output `index` of a node. */
typedef struct dsgd_value {
    dsgd_value_node *node; /* NULL: zeros, or no value if the store is NULL */
    uint32_t index;
} dsgd_value;

static inline bool dsgd_value_equal(dsgd_value a, dsgd_value b)
{
    return a.node == b.node && a.index == b.index;
}

#define DSGD_ZERO_VALUE ((dsgd_value){NULL, 0})

/** The worker and step of an operation, for mini-batches and reports. */
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
    uint32_t n_threads; /* in addition to the caller, which computes while it waits */
    /* Host memory for values: above this a flush waits until all flushed nodes are computed. A
     * device with its own memory has its own limit. */
    size_t memory_bytes;
    dsgd_device_place place; /* for a GPU */
    _Atomic uint64_t *computed; /* counter of completed batches of operations; may be NULL */
} dsgd_values_config;

/** The result of one evaluation; all NAN after a divergence. */
typedef struct dsgd_evaluation {
    double loss, accuracy; /* of the evaluated model */
    double consensus; /* sqrt(mean over models of the squared distance to their mean) */
} dsgd_evaluation;

/** A point of a learning curve. */
typedef struct dsgd_point {
    double virtual_s;
    double steps; /* of all workers / P */
    size_t ticket; /* from dsgd_values_evaluate(); `at` is read at the end of the run */
    dsgd_evaluation at;
} dsgd_point;

typedef struct dsgd_divergence {
    bool happened;
    dsgd_origin where; /* of the first call whose result was not finite */
} dsgd_divergence;

/** Totals of a store so far. */
typedef struct dsgd_values_stats {
    /* numbers of computed operations */
    uint64_t gradients, gradient_samples, updates, combinations, encodings, evaluations;
    double busy_wall_s; /* wall time in device operations, over all threads */
    double waiting_wall_s; /* wall time that the caller waited for the threads */
    size_t peak_bytes; /* most bytes of buffers in use */
} dsgd_values_stats;

dsgd_status dsgd_values_open(const dsgd_values_config *config, dsgd_values **values,
                             dsgd_error *error);

/**
 * Like dsgd_values_open(), but sets config->device, and n_threads to 1 if the device is not
 * threaded.
 * @p where must not be AUTO. A device that cannot be opened is an error.
 */
dsgd_status dsgd_values_open_where(dsgd_values_config *config, dsgd_numerics where, bool in_double,
                                   dsgd_values **values, dsgd_error *error);
void dsgd_values_close(dsgd_values *values);

dsgd_value dsgd_value_retain(dsgd_value value); /* returns its argument */
void dsgd_value_release(dsgd_values *values, dsgd_value value);

/** Returns the number of elements of a chunk; @p piece n_pieces is the model state. */
size_t dsgd_values_size(const dsgd_values *values, size_t piece);

/** Returns a copy of a chunk of a vector: x[piece_begin[piece] ...]; @p x has n_params elements. */
dsgd_value dsgd_values_constant(dsgd_values *values, size_t piece, const double *x);

/** Returns a copy of a model state, state[network->n_state]; DSGD_ZERO_VALUE if the network has
 * none. */
dsgd_value dsgd_values_state(dsgd_values *values, const double *state);

/**
 * g[n_pieces] <- gradient at x[n_pieces]: the mean over the first @p count samples of mini-batch
 * (where.worker, where.step). *state is replaced by the state after these samples, and its old
 * handle is released; @p state is NULL if the network has none.
 */
void dsgd_values_gradient(dsgd_values *values, dsgd_origin where, uint32_t count,
                          const dsgd_value *x, dsgd_value *state, dsgd_value *g);

/** Returns one chunk of x after an update. *v is replaced by the new state, and its old handle is
 * released. */
dsgd_value dsgd_values_update(dsgd_values *values, dsgd_origin where, size_t piece, dsgd_value x,
                              dsgd_value g, dsgd_value *v, dsgd_rate rate);

/** Returns sum_i weights[i] x[i] / divisor, in order. Zeros are dropped, equal operands are merged,
 * and 1 x / 1 is x itself. */
dsgd_value dsgd_values_combine(dsgd_values *values, dsgd_origin where, size_t piece, size_t n,
                               const dsgd_value *x, const double *weights, double divisor);

/**
 * Returns Q(x) of one chunk, with a second input @p z if the codec has one. Q(0) and the result for
 * a chunk without elements are zeros. @p codec contains the coordinates of its random numbers, so
 * that equal codecs of equal values are one value.
 */
dsgd_value dsgd_values_encode(dsgd_values *values, dsgd_origin where, size_t piece,
                              const dsgd_codec *codec, dsgd_value x, dsgd_value z);

/**
 * Evaluates a mean model with the mean of states[n]. The model is the mean of x[n][n_pieces] if m
 * is 0, otherwise the mean of the last m of x[n + m][n_pieces]. The consensus is that of the first
 * n models. Returns a ticket.
 */
size_t dsgd_values_evaluate(dsgd_values *values, size_t n, uint32_t m, const dsgd_value *x,
                            const dsgd_value *states);

/**
 * Evaluates the model x[n_pieces] with its state, without a consensus, on part @p part of the test
 * set. The seed divides the test set into @p n_parts random parts of nearly equal size; a single
 * part has the order of dsgd_values_evaluate(). Returns a ticket.
 */
size_t dsgd_values_evaluate_part(dsgd_values *values, const dsgd_value *x, dsgd_value state,
                                 uint32_t part, uint32_t n_parts);

/** Waits for the evaluation with this ticket and returns it. */
dsgd_evaluation dsgd_values_result(dsgd_values *values, size_t ticket);

/**
 * Starts the computation of all nodes built so far. The calls of this function determine which
 * nodes are computed, so they must not depend on the wall clock.
 */
void dsgd_values_flush(dsgd_values *values);

/** Waits for all flushed nodes, and returns whether and where one of them diverged. */
dsgd_divergence dsgd_values_divergence(dsgd_values *values);
dsgd_values_stats dsgd_values_stats_get(dsgd_values *values);

/** Computes @p value, waits, and copies its elements to @p x; they are NAN after a divergence. */
void dsgd_values_read(dsgd_values *values, size_t piece, dsgd_value value, double *x);
