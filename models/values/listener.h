/**
 * @file listener.h
 * Describes the calls that create values. A store reports each of these calls to a listener.
 *
 * Calls are reported on the caller's thread, after their nodes were built.
 */
#pragma once

#include "models/values/values.h"

/**
 * Kinds of calls that create values. The comment of each kind names the members of dsgd_value_call
 * that it uses.
 */
typedef enum dsgd_made_by {
    DSGD_MADE_ZERO, /* the value consists of zeros, and no call created it */
    DSGD_MADE_CONSTANT, /* a constant; the call uses piece (n_pieces for a model state) and elements
                         */
    DSGD_MADE_GRADIENT, /* a gradient; the call uses where, count, x[n_pieces], states[1] */
    DSGD_MADE_UPDATE, /* an update; the call uses where, piece, rate, and x[n]: x, g, and v if the
                       * optimizer has a state */
    DSGD_MADE_COMBINATION, /* a combination; the call uses where, piece, x[n], elements (n weights),
                            * divisor */
    /* an encoding; the call uses where, piece, x[n], codec */
    DSGD_MADE_ENCODED
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
    dsgd_value made; /* first output of the node that the call created or found */
} dsgd_value_call;

/** A function that receives a call. @p call and its arrays are valid until the function returns. */
typedef void dsgd_value_listener(void *argument, const dsgd_value_call *call);

/**
 * From now on, reports every call to @p listener. If @p listener is NULL, reports no more calls.
 */
void dsgd_values_listen(dsgd_values *values, dsgd_value_listener *listener, void *argument);
