/**
 * @file recorder.h
 * What a store reports to a recorder (models/record/), and what a recorder may ask of a value.
 *
 * Each call of values.h is reported on the caller's thread, after its nodes were built and before
 * the handles that it returns are counted: a value without external references is new to the
 * caller.
 */
#pragma once

#include "models/values/values.h"

/** Numbers are part of records: append, never renumber. */
typedef enum dsgd_call_kind {
    DSGD_CALL_CONSTANT = 1, /* piece (n_pieces: a model state), elements, made */
    DSGD_CALL_GRADIENT, /* where, count, x[n_pieces], states[1], made */
    DSGD_CALL_UPDATE, /* where, piece, x[n] = x, g, and v where there is one, rate, made */
    DSGD_CALL_COMBINE, /* where, piece, x[n], elements = weights[n], divisor, made */
    DSGD_CALL_EVALUATE, /* x[n][n_pieces], states[n] */
    DSGD_CALL_POINT, /* elements[2] = virtual seconds, steps; a run's, not the store's */
    DSGD_CALL_RESULT, /* n = number of the evaluation, result */
    DSGD_CALL_READ, /* piece, x[1], elements[n] */
    DSGD_CALL_FLUSH,
    DSGD_CALL_RELEASE, /* x[1], whose last external reference is released */
    DSGD_CALL_ENCODE, /* where, piece, x[n], codec, made */
    DSGD_CALL_EVALUATE_OUTPUT /* x[n + count][n_pieces], states[n] */
} dsgd_call_kind;

typedef struct dsgd_call {
    dsgd_call_kind kind;
    dsgd_origin where;
    size_t piece, n;
    uint32_t count;
    const dsgd_value *x, *states;
    const double *elements;
    double divisor;
    dsgd_rate rate;
    const dsgd_codec *codec;
    const dsgd_evaluation *result;
    dsgd_value made; /* the first of n_made outputs of one node */
    uint32_t n_made;
} dsgd_call;

/** Base of a recorder: the first member of its struct. */
struct dsgd_recorder {
    void (*call)(dsgd_recorder *recorder, const dsgd_call *call);
};

/**
 * A call that makes values: CONSTANT, GRADIENT, UPDATE, COMBINE or ENCODE. Sets made and n_made,
 * whose handles are the caller's (of COMBINE and ENCODE none, where zeros come out); operands stay.
 */
void dsgd_values_make(dsgd_values *values, dsgd_call *call);

/** References that the caller has. */
uint32_t dsgd_value_external_refs(dsgd_value value);
/** Where a recorder keeps its name of the value; valid while there are external references. */
uint64_t *dsgd_value_name(dsgd_value value);
/** Piece of the vector (an optimizer's state: whose state it is); n_pieces for a model state. */
size_t dsgd_value_piece(dsgd_value value);

/** k < n_pieces: piece k; n_pieces: model state; n_pieces + 1 + k: optimizer's state of piece k. */
size_t dsgd_value_shape(const dsgd_values *values, dsgd_value value);
/** Elements of a value of this shape. */
size_t dsgd_shape_size(const dsgd_values *values, size_t shape);
