/**
 * @file values.h
 * Values: handles to immutable pieces of vectors that may not have been computed yet.
 *
 * An operation on handles gives a handle at once and computes later, in batches, on threads of its own. Equal operation on equal
 * operands gives the same handle, so that the average of a group is computed once for the group. A combination whose operands are
 * gradients at one and the same model is recognised by its structure and becomes a few gradients of fixed blocks of
 * DSGD_FUSED_SAMPLES samples, combined in order: synchronous SGD trains one model, not P. What is executed, and every bit of it,
 * follows from the sequence of calls alone, not from the wall clock.
 *
 * Handles are counted: what a function returns belongs to the caller, who gives it back by dsgd_value_release(). One thread
 * calls these functions; the store's own threads only compute. A NULL store stands for "numerics off": every function accepts it,
 * does nothing, and returns DSGD_ZERO_VALUE.
 */
#ifndef DSGD_MODELS_VALUES_VALUES_H
#define DSGD_MODELS_VALUES_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "models/data/data.h"
#include "models/devices/device.h"

enum { DSGD_FUSED_SAMPLES = 256 };

typedef struct dsgd_values dsgd_values;
typedef struct dsgd_operation dsgd_operation;
typedef struct dsgd_recorder dsgd_recorder; /* record.h */

/** One piece of a vector: output `index` of an operation. Compared by both members. */
typedef struct dsgd_value {
    dsgd_operation *operation; /* NULL: zeros, or no value where the store is NULL */
    uint32_t index;
} dsgd_value;

#define DSGD_ZERO_VALUE ((dsgd_value){NULL, 0})

/** Who asked for an operation, for the report of a divergence. */
typedef struct dsgd_origin {
    uint32_t worker;
    uint64_t step;
} dsgd_origin;

typedef struct dsgd_values_config {
    const dsgd_device *device;
    dsgd_problem problem;
    dsgd_stream stream;
    uint32_t n_threads; /* beside the caller, who computes while it waits */
    size_t
        memory_bytes; /* the caller waits while more than this is held and something can still be computed */
} dsgd_values_config;

/** What one evaluation found. All NAN where numerics had stopped. */
typedef struct dsgd_evaluation {
    double loss, accuracy; /* of the mean of the models */
    double consensus; /* sqrt of the mean over models of the squared distance to their mean */
} dsgd_evaluation;

typedef struct dsgd_divergence {
    bool happened;
    dsgd_origin
        where; /* of the first operation, in the order of the calls, that gave a number that is not finite */
} dsgd_divergence;

/** The totals of a store so far, for the report of a run. */
typedef struct dsgd_values_stats {
    uint64_t gradients, gradient_samples, updates, combinations, evaluations; /* executed */
    double busy_wall_s; /* seconds in device operations, over all threads */
    double waiting_wall_s; /* seconds that the caller waited for the numerics */
    size_t peak_bytes; /* of buffers */
} dsgd_values_stats;

dsgd_status dsgd_values_open(const dsgd_values_config *config, dsgd_values **values,
                             dsgd_error *error);

/** The like, on the device that @p where stands for: sets config->device, and n_threads to 1 where that device is not threaded. */
dsgd_status dsgd_values_open_where(dsgd_values_config *config, dsgd_numerics where, bool in_double,
                                   dsgd_values **values, dsgd_error *error);
void dsgd_values_close(dsgd_values *values);

/** From now on @p recorder hears of every call; NULL: nobody. Before anything was computed, or at the end. */
void dsgd_values_record(dsgd_values *values, dsgd_recorder *recorder);

dsgd_value dsgd_value_retain(dsgd_value value); /* returns its argument */
void dsgd_value_release(dsgd_values *values, dsgd_value value);
bool dsgd_value_equal(dsgd_value a, dsgd_value b);

/** A vector of given numbers: x[piece_begin[piece] ...], copied. @p x has all n_params numbers. */
dsgd_value dsgd_values_constant(dsgd_values *values, size_t piece, const double *x);

/** A model state of given numbers, copied: @p state has all n_state of the network, which may be none. */
dsgd_value dsgd_values_state(dsgd_values *values, const double *state);

/**
 * g[n_pieces] <- gradient at x[n_pieces]: the mean over the first @p count samples of (where.worker, where.step). *state is replaced by
 * what these samples make of it (its old handle is released); NULL will do where the network has none.
 */
void dsgd_values_gradient(dsgd_values *values, dsgd_origin where, uint32_t count,
                          const dsgd_value *x, dsgd_value *state, dsgd_value *g);

/** One piece of the update, the @p t-th (from 1) of this optimizer state; *v is replaced by the new one (its old handle is released). */
dsgd_value dsgd_values_update(dsgd_values *values, dsgd_origin where, size_t piece, dsgd_value x,
                              dsgd_value g, dsgd_value *v, double lr, uint64_t t);

/** sum_i weights[i] x[i] / divisor, in order. Zero operands vanish, equal ones merge, and 1 * x / 1 is x itself. */
dsgd_value dsgd_values_combine(dsgd_values *values, dsgd_origin where, size_t piece, size_t n,
                               const dsgd_value *x, const double *weights, double divisor);

/** Evaluates the mean of n models, x[model * n_pieces + piece], with the mean of their states, states[n]. Returns a ticket. */
size_t dsgd_values_evaluate(dsgd_values *values, size_t n, const dsgd_value *x,
                            const dsgd_value *states);

/** Computes what the ticket needs, waits for it, and gives the result. */
dsgd_evaluation dsgd_values_result(dsgd_values *values, size_t ticket);

/** Lets the store begin with what it has been told so far. Deterministic places only: it decides what is computed, never what comes out. */
void dsgd_values_flush(dsgd_values *values);

/** Waits for all that was flushed. */
dsgd_divergence dsgd_values_divergence(dsgd_values *values);
dsgd_values_stats dsgd_values_stats_get(dsgd_values *values);

/** Computes @p value, waits, and copies its numbers to @p x; for tests. */
void dsgd_values_read(dsgd_values *values, size_t piece, dsgd_value value, double *x);

#endif
