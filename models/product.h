/**
 * @file product.h
 * A matrix product that every replica of a run computes, each on its own memory.
 */
#ifndef DSGD_MODELS_PRODUCT_H
#define DSGD_MODELS_PRODUCT_H

#include "models/bodies.h"

typedef enum space { PARAMETERS, GRADIENT, VALUES, SLOPES, KEPT } space;

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

typedef enum ones {
    ONES_NONE,
    ONES_COLUMN, /* A has a column of ones after its last: B's row there is added to every row */
    ONES_ROW /* A has a row of ones after its last: C's row there becomes the column sums of B */
} ones;

/** C <- A B, or C + A B: C [m][n], A [m][k], B [k][n]. */
typedef struct product {
    uint32_t m, n, k; /* per sample */
    samples_as samples;
    uint32_t n_heads;
    operand a, b, c;
    bool adds;
    bool rectified; /* max(C, 0) at the end */
    ones ones;
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
    const product p = {m, n, k, samples, 1, a, b, c, false, false, ONES_NONE};
    return p;
}

#endif
