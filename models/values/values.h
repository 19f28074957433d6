/**
 * @file values.h
 * Values: handles to immutable chunks of vectors, which are computed lazily.
 *
 * An operation on handles returns a handle at once. The operation is computed later, in batches, on
 * the store's threads. Calls build a graph in which equal operations on equal operands are one node
 * (common subexpressions). For example, the average of a group is computed once for the group. A
 * combination of gradients at the same model is fused into gradients of blocks of
 * DSGD_FUSED_SAMPLES samples, which are combined in order. Synchronous SGD therefore trains one
 * model instead of P models. The sequence of calls determines which nodes are computed, and every
 * bit of the results. The wall clock does not affect them.
 *
 * Handles are counted: the caller owns a returned handle until dsgd_value_release(). All calls must
 * come from one thread. If the store is NULL, numerics are off: every function accepts a NULL
 * store, does nothing, and returns DSGD_ZERO_VALUE.
 */
#pragma once

#include "base/status.h"
#include "models/data/data.h"
#include "models/devices/device.h"

enum { DSGD_FUSED_SAMPLES = 256 };

typedef struct dsgd_values dsgd_values;
typedef struct dsgd_value_node dsgd_value_node;

/** One chunk of a vector, which is output `index` of `node`. */
typedef struct dsgd_value {
    dsgd_value_node *node; /* NULL for a chunk of zeros, or if the store is NULL */
    uint32_t index;
} dsgd_value;

static inline bool dsgd_value_equal(dsgd_value a, dsgd_value b)
{
    return a.node == b.node && a.index == b.index;
}

#define DSGD_ZERO_VALUE ((dsgd_value){NULL, 0})

/** The worker and step of an operation, which select mini-batches and appear in reports. */
typedef struct dsgd_origin {
    uint32_t worker;
    uint64_t step;
} dsgd_origin;

/** Learning rate and number t of an update. t counts the updates of an optimizer state from 1. */
typedef struct dsgd_rate {
    double lr;
    uint64_t t;
} dsgd_rate;

typedef struct dsgd_values_config {
    const dsgd_device *device;
    dsgd_problem problem;
    dsgd_stream stream;
    uint32_t n_threads; /* number of threads in addition to the calling thread, which computes while
                         * it waits */
    /*
     * Limit of the host memory for values, in bytes. Above it, a flush waits until all flushed
     * nodes are computed. A device with its own memory has its own limit.
     */
    size_t memory_bytes;
    dsgd_device_place place; /* place of the GPU; only for a GPU device */
    _Atomic uint64_t *computed; /* counter of computed batches of operations; may be NULL */
} dsgd_values_config;

/** The result of one evaluation. All members are NAN after a divergence. */
typedef struct dsgd_evaluation {
    double loss, accuracy; /* loss and accuracy of the evaluated model */
    double consensus; /* sqrt(m), where m is the mean over the models of the squared distance to
                       * their mean */
} dsgd_evaluation;

/** A point of a learning curve. */
typedef struct dsgd_point {
    double virtual_s;
    double steps; /* number of steps of all workers, divided by P */
    size_t ticket; /* ticket from dsgd_values_evaluate(); at the end of the run, the result is read
                    * into `at` */
    dsgd_evaluation at;
} dsgd_point;

typedef struct dsgd_divergence {
    bool happened;
    dsgd_origin where; /* origin of the first call whose result was not finite */
} dsgd_divergence;

/** Statistics of a store since it was opened. */
typedef struct dsgd_values_stats {
    /* numbers of computed operations of each kind, and number of samples of all gradients */
    uint64_t gradients, gradient_samples, updates, combinations, encodings, evaluations;
    double busy_wall_s; /* wall time in device operations, summed over all threads */
    double waiting_wall_s; /* wall time for which the caller has waited for the threads */
    size_t peak_bytes; /* largest total size of buffers in use */
} dsgd_values_stats;

dsgd_status dsgd_values_open(const dsgd_values_config *config, dsgd_values **values,
                             dsgd_error *error);

/**
 * Like dsgd_values_open(), but sets config->device, and sets n_threads to 1 if the device is not
 * threaded. @p where must not be AUTO. Returns an error if the device cannot be opened.
 */
dsgd_status dsgd_values_open_where(dsgd_values_config *config, dsgd_numerics where, bool in_double,
                                   dsgd_values **values, dsgd_error *error);
void dsgd_values_close(dsgd_values *values);

dsgd_value dsgd_value_retain(dsgd_value value); /* adds a reference to value, returns value */
void dsgd_value_release(dsgd_values *values, dsgd_value value);

/** Returns the number of elements of chunk @p piece. Chunk n_pieces is the model state. */
size_t dsgd_values_size(const dsgd_values *values, size_t piece);

/**
 * Returns a value that is a copy of chunk @p piece of a vector. @p x contains the whole vector of
 * n_params elements.
 */
dsgd_value dsgd_values_constant(dsgd_values *values, size_t piece, const double *x);

/**
 * Returns a value that is a copy of the model state @p state, which has network->n_state elements.
 * Returns DSGD_ZERO_VALUE if the network has no state.
 */
dsgd_value dsgd_values_state(dsgd_values *values, const double *state);

/**
 * Sets g[n_pieces] to the gradient at the model x[n_pieces]: the mean over the first @p count
 * samples of mini-batch (where.worker, where.step). *state is replaced by the state after these
 * samples, and its old handle is released. @p state is NULL if the network has no state.
 */
void dsgd_values_gradient(dsgd_values *values, dsgd_origin where, uint32_t count,
                          const dsgd_value *x, dsgd_value *state, dsgd_value *g);

/**
 * Returns chunk @p piece of the model after an update of @p x by @p g. *v is replaced by the new
 * state of the optimizer, and its old handle is released.
 */
dsgd_value dsgd_values_update(dsgd_values *values, dsgd_origin where, size_t piece, dsgd_value x,
                              dsgd_value g, dsgd_value *v, dsgd_rate rate);

/**
 * Returns sum_i weights[i] x[i] / divisor, summed in order. Zero inputs are dropped, and equal
 * inputs are merged. The result of 1 x / 1 is x itself.
 */
dsgd_value dsgd_values_combine(dsgd_values *values, dsgd_origin where, size_t piece, size_t n,
                               const dsgd_value *x, const double *weights, double divisor);

/**
 * Returns Q(x) of one chunk. @p z is the second input, if the codec has two inputs. Q(0) is zeros,
 * and so is the result for a chunk without elements. @p codec contains the coordinates of its
 * random numbers. Therefore equal codecs of equal values give one value.
 */
dsgd_value dsgd_values_encode(dsgd_values *values, dsgd_origin where, size_t piece,
                              const dsgd_codec *codec, dsgd_value x, dsgd_value z);

/**
 * Evaluates a mean model with the mean of states[n]. If m is 0, the model is the mean of
 * x[n][n_pieces]. Otherwise it is the mean of the last m models of x[n + m][n_pieces]. The
 * consensus covers the first n models. Returns a ticket.
 */
size_t dsgd_values_evaluate(dsgd_values *values, size_t n, uint32_t m, const dsgd_value *x,
                            const dsgd_value *states);

/**
 * Evaluates the model x[n_pieces] with its state on part @p part of the test set. The result has no
 * consensus. The seed divides the test set into @p n_parts random parts of nearly equal size. If
 * there is only one part, its samples are in the same order as in dsgd_values_evaluate(). Returns a
 * ticket.
 */
size_t dsgd_values_evaluate_part(dsgd_values *values, const dsgd_value *x, dsgd_value state,
                                 uint32_t part, uint32_t n_parts);

/** Waits for the evaluation with ticket @p ticket and returns its result. */
dsgd_evaluation dsgd_values_result(dsgd_values *values, size_t ticket);

/**
 * Starts the computation of all nodes built so far. The calls of this function determine which
 * nodes are computed, so they must not depend on the wall clock.
 */
void dsgd_values_flush(dsgd_values *values);

/** Waits for all flushed nodes, and returns whether and where one of them diverged. */
dsgd_divergence dsgd_values_divergence(dsgd_values *values);
dsgd_values_stats dsgd_values_stats_get(dsgd_values *values);

/**
 * Computes @p value, waits for it, and copies its elements to @p x. After a divergence, the
 * elements are NAN.
 */
void dsgd_values_read(dsgd_values *values, size_t piece, dsgd_value value, double *x);
