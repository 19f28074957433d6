/**
 * @file matmul.h
 * A matrix product that every replica of a run computes, each on its own memory.
 */
#ifndef DSGD_MODELS_LAYERS_MATMUL_H
#define DSGD_MODELS_LAYERS_MATMUL_H

#include "models/layers/elementwise.h"

typedef enum space { PARAMETERS, GRADIENT, VALUES, GRADS, SAVED } space;

/** A matrix in a replica: element (i, j) of sample s and head h is at base + i row + j column + s sample + h head. */
typedef struct operand {
    space in;
    size_t offset; /* in reals; but for PARAMETERS and GRADIENT in reals per sample */
    size_t plus; /* in reals */
    size_t row, column, sample, head;
} operand;

typedef enum samples_as {
    SAMPLES_ROWS, /* the samples' rows of A and C lie one below the other */
    SAMPLES_DEPTH, /* the sum goes over all samples' rows */
    SAMPLES_APART /* a product for each sample and head */
} samples_as;

typedef enum ones_in {
    ONES_NONE,
    ONES_COLUMN, /* A has a column of ones after its last: B's row there is added to every row */
    ONES_ROW /* A has a row of ones after its last: C's row there becomes the column sums of B */
} ones_in;

enum { MOST_PRODUCTS = 2 /* handed over together */ };

/** C <- A B, or C + A B: C [m][n], A [m][k], B [k][n]. */
typedef struct product {
    uint32_t m, n, k; /* per sample */
    samples_as samples;
    uint32_t n_heads;
    operand a, b, c;
    bool adds;
    bool relu; /* max(C, 0) at the end */
    bool relu_backward; /* C, of GRADS, goes through the ReLU that made the VALUES at its place */
    ones_in ones;
} product;

static inline operand operand_at(space in, size_t offset, size_t plus, size_t row, size_t column,
                                 size_t sample, size_t head)
{
    const operand o = {in, offset, plus, row, column, sample, head};
    return o;
}

/** The rows of a tensor. */
static inline operand rows_of(space in, const dsgd_tensor *t)
{
    return operand_at(in, t->offset, 0, t->n_columns, 1, tensor_size(t), 0);
}

static inline operand transposed(operand o)
{
    return operand_at(o.in, o.offset, o.plus, o.column, o.row, o.sample, o.head);
}

static inline operand parameters(space in, size_t offset, size_t n_columns)
{
    return operand_at(in, offset, 0, n_columns, 1, 0, 0);
}

static inline product product_of(uint32_t m, uint32_t n, uint32_t k, samples_as samples, operand a,
                                 operand b, operand c)
{
    const product p = {m, n, k, samples, 1, a, b, c, false, false, false, ONES_NONE};
    return p;
}

/* --- where a replica has them -------------------------------------------------------------------------------------------------------- */

/** One product of a replica: element (i, j) of C is at c + i c_row + j. */
typedef struct matrices {
    size_t m, k;
    const real *a, *b;
    real *c;
    const real *relu_output; /* NULL, or what a ReLU made at C's place */
    size_t a_row, a_column, b_row, b_column, c_row;
} matrices;

/** Samples of the range that the replica has. */
static inline DSGD_DEVICE_FUNCTION uint32_t samples_in(const replica *r, sample_range s)
{
    return r->n <= s.first ? 0 : r->n - s.first < s.n ? r->n - s.first : s.n;
}

/** Where an operand begins for sample @p sample. */
static inline DSGD_DEVICE_FUNCTION real *base_of(const replica *r, const operand *o, size_t sample)
{
    const size_t at = o->plus + sample * o->sample;
    switch (o->in) {
    case PARAMETERS:
        return (real *)r->x + o->offset + at;
    case GRADIENT:
        return r->g + o->offset + at;
    case VALUES:
        return r->values + o->offset * r->n + at;
    case GRADS:
        return r->grads + o->offset * r->n + at;
    case SAVED:
        break;
    }
    return r->saved + o->offset * r->n + at;
}

/** How many products the replica computes. */
static inline DSGD_DEVICE_FUNCTION size_t matrices_in(const product *p, const replica *r,
                                                      sample_range s)
{
    return p->samples == SAMPLES_APART ? (size_t)samples_in(r, s) * p->n_heads : 1;
}

/** Number @p i of them. */
static inline DSGD_DEVICE_FUNCTION matrices matrices_of(const product *p, const replica *r,
                                                        sample_range s, size_t i)
{
    const bool apart = p->samples == SAMPLES_APART;
    const bool rows = p->samples == SAMPLES_ROWS;
    const bool depth = p->samples == SAMPLES_DEPTH;
    const size_t n = samples_in(r, s);
    const size_t sample = s.first + (apart ? i / p->n_heads : 0);
    const size_t head = apart ? i % p->n_heads : 0;
    matrices out;
    out.m = p->m * (rows ? n : 1);
    out.k = p->k * (depth ? n : 1);
    out.a = base_of(r, &p->a, sample) + head * p->a.head;
    out.b = base_of(r, &p->b, sample) + head * p->b.head;
    out.c = base_of(r, &p->c, sample) + head * p->c.head;
    out.relu_output = p->relu_backward ? out.c - r->grads + r->values : NULL;
    /* one row per sample may be of many that it has */
    out.a_row = rows && p->m == 1 ? p->a.sample : p->a.row;
    out.c_row = rows && p->m == 1 ? p->c.sample : p->c.row;
    out.a_column = depth && p->k == 1 ? p->a.sample : p->a.column;
    out.b_row = depth && p->k == 1 ? p->b.sample : p->b.row;
    out.b_column = p->b.column;
    return out;
}

#endif
