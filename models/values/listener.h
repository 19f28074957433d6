/**
 * @file listener.h
 * The calls that create values, and a listener to which a store reports each call.
 *
 * Calls are reported on the caller's thread, after their nodes were built.
 */
#pragma once

#include "models/values/values.h"

/** Kinds of calls that create values, with the members of the call that each kind uses. */
typedef enum dsgd_made_by {
    DSGD_MADE_ZERO, /* no call: the value is zeros */
    DSGD_MADE_CONSTANT, /* piece (n_pieces: a model state), elements */
    DSGD_MADE_GRADIENT, /* where, count, x[n_pieces], states[1] */
    DSGD_MADE_UPDATE, /* where, piece, x[n] = x, g, and v if there is one, rate */
    DSGD_MADE_COMBINATION, /* where, piece, x[n], elements = weights[n], divisor */
    DSGD_MADE_ENCODED /* where, piece, x[n], codec */
} dsgd_made_by;

/** A call that creates values. Calls of evaluations have no kind and are not reported. */
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
    dsgd_value made; /* the first output of the node that the call created or found */
} dsgd_value_call;

/** Receives a call. @p call and its arrays are valid until the listener returns. */
typedef void dsgd_value_listener(void *argument, const dsgd_value_call *call);

/** Reports every later call to @p listener; NULL stops the reports. */
void dsgd_values_listen(dsgd_values *values, dsgd_value_listener *listener, void *argument);
