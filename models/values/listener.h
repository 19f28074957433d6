/**
 * @file listener.h
 * The calls that make values, and a listener that a store reports each of them to.
 *
 * Each call is reported on the caller's thread, after its nodes were built.
 */
#pragma once

#include "models/values/values.h"

/** The kinds of calls that make values, with the members of the call that each kind has. */
typedef enum dsgd_made_by {
    DSGD_MADE_ZERO, /* no call: the value is zeros */
    DSGD_MADE_CONSTANT, /* piece (n_pieces: a model state), elements */
    DSGD_MADE_GRADIENT, /* where, count, x[n_pieces], states[1] */
    DSGD_MADE_UPDATE, /* where, piece, x[n] = x, g, and v where there is one, rate */
    DSGD_MADE_COMBINATION, /* where, piece, x[n], elements = weights[n], divisor */
    DSGD_MADE_ENCODED /* where, piece, x[n], codec */
} dsgd_made_by;

/** A call that makes values. Calls of evaluations have no kind; they are not reported. */
typedef struct dsgd_value_call {
    dsgd_made_by by;
    dsgd_origin where;
    size_t piece, n;
    uint32_t count;
    const dsgd_value *x, *states;
    const double *elements;
    double divisor;
    dsgd_rate rate;
    const dsgd_codec *codec;
    dsgd_value made; /* the first output of the node that the call made, or found */
} dsgd_value_call;

/** Receives every later call; @p call and its arrays are valid until it returns. */
typedef void dsgd_value_listener(void *argument, const dsgd_value_call *call);

/** Reports every later call to @p listener; NULL ends that. */
void dsgd_values_listen(dsgd_values *values, dsgd_value_listener *listener, void *argument);
