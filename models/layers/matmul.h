/**
 * @file matmul.h
 * A matrix product of a layer, C <- A B or C <- C + A B. Its shapes and strides are valid for every
 * replica. matrices_of() converts the product to pointers for one replica. Devices compute the
 * products (multiply() in layers.h).
 */
#pragma once

#include "models/layers/elementwise.h"

/** The memory of a replica that contains an operand: x, g, values, grads or saved. */
typedef enum region { PARAMETERS, PARAMETER_GRADS, VALUES, GRADS, SAVED } region;

/**
 * A strided matrix in a replica. Element (i, j) of sample s and head h is at base + i * row + j *
 * column + s * sample + h * head, in reals.
 */
typedef struct operand {
    region in;
    /*
     * Base of the matrix in its region, in reals for PARAMETERS and PARAMETER_GRADS, otherwise in
     * reals per sample.
     */
    size_t offset;
    size_t plus; /* number of reals that are added to the base for every sample */
    size_t row, column, sample, head;
} operand;

/** The dimension of the product that runs over the samples of a replica. */
typedef enum sample_axis {
    SAMPLES_ALONG_M, /* rows of A and C: one product with m = rows per sample * samples */
    SAMPLES_ALONG_K, /* terms of the sum: one product with k = rows per sample * samples */
    /* no dimension: one product per sample and head (batched matmul) */
    SAMPLES_BATCHED
} sample_axis;

/** Use of the bias of a linear layer, which is an additional row after the weights W. */
typedef enum bias_row {
    BIAS_NONE,
    BIAS_ADD, /* adds the bias: C[i] += B[k] for every row i */
    /* computes the gradient of the bias: C[m] <- the sum over the rows of B */
    BIAS_GRAD
} bias_row;

enum { MOST_MATMULS = 2 /* largest number of products in one call of multiply() */ };

/** The product C [m][n] <- A [m][k] B [k][n], or C <- C + A B. */
typedef struct matmul {
    uint32_t m, n, k; /* dimensions of the product per sample */
    sample_axis samples;
    uint32_t n_heads;
    operand a, b, c;
    bool adds; /* true for C <- C + A B, false for C <- A B */
    bool relu; /* true if C <- max(C, 0) follows the product */
    /*
     * True if an element of C becomes 0 wherever the value at the same place in VALUES is not above
     * 0. C must be in GRADS.
     */
    bool relu_backward;
    bias_row bias;
} matmul;

static inline operand operand_at(region in, size_t offset, size_t plus, size_t row, size_t column,
                                 size_t sample, size_t head)
{
    const operand o = {in, offset, plus, row, column, sample, head};
    return o;
}

/** Returns the rows of tensor @p t in region @p in. */
static inline operand rows_of(region in, const dsgd_tensor *t)
{
    return operand_at(in, t->offset, 0, t->n_columns, 1, tensor_size(t), 0);
}

static inline operand transposed(operand o)
{
    return operand_at(o.in, o.offset, o.plus, o.column, o.row, o.sample, o.head);
}

/** Returns a matrix of @p n_columns columns in PARAMETERS or PARAMETER_GRADS. */
static inline operand parameters(region in, size_t offset, size_t n_columns)
{
    return operand_at(in, offset, 0, n_columns, 1, 0, 0);
}

static inline matmul matmul_of(uint32_t m, uint32_t n, uint32_t k, sample_axis samples, operand a,
                               operand b, operand c)
{
    const matmul p = {m, n, k, samples, 1, a, b, c, false, false, false, BIAS_NONE};
    return p;
}

/** A matrix product of one replica. Element (i, j) of C is at c + i * c_row + j. */
typedef struct matrices {
    size_t m, k;
    const real *a, *b;
    real *c;
    const real *relu_output; /* output of the ReLU, strided like C; NULL if the product has no ReLU
                              * output */
    size_t a_row, a_column, b_row, b_column, c_row;
} matrices;

/** Returns the number of samples of range @p s that replica @p r has. */
static inline DSGD_DEVICE_FUNCTION uint32_t samples_in(const replica *r, sample_range s)
{
    return r->n <= s.first ? 0 : r->n - s.first < s.n ? r->n - s.first : s.n;
}

/** Returns the address of element (0, 0) of operand @p o for sample @p sample and head 0. */
static inline DSGD_DEVICE_FUNCTION real *base_of(const replica *r, const operand *o, size_t sample)
{
    const size_t at = o->plus + sample * o->sample;
    switch (o->in) {
    case PARAMETERS:
        return (real *)r->x + o->offset + at;
    case PARAMETER_GRADS:
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

/**
 * Returns the number of matrix products of replica @p r: one product, or one product per sample and
 * head.
 */
static inline DSGD_DEVICE_FUNCTION size_t matrices_in(const matmul *p, const replica *r,
                                                      sample_range s)
{
    return p->samples == SAMPLES_BATCHED ? (size_t)samples_in(r, s) * p->n_heads : 1;
}

/** Returns matrix product @p i of replica @p r, with i = sample * n_heads + head. */
static inline DSGD_DEVICE_FUNCTION matrices matrices_of(const matmul *p, const replica *r,
                                                        sample_range s, size_t i)
{
    const bool batched = p->samples == SAMPLES_BATCHED;
    const bool along_m = p->samples == SAMPLES_ALONG_M;
    const bool along_k = p->samples == SAMPLES_ALONG_K;
    const size_t n = samples_in(r, s);
    const size_t sample = s.first + (batched ? i / p->n_heads : 0);
    const size_t head = batched ? i % p->n_heads : 0;
    matrices out;
    out.m = p->m * (along_m ? n : 1);
    out.k = p->k * (along_k ? n : 1);
    out.a = base_of(r, &p->a, sample) + head * p->a.head;
    out.b = base_of(r, &p->b, sample) + head * p->b.head;
    out.c = base_of(r, &p->c, sample) + head * p->c.head;
    out.relu_output = p->relu_backward ? out.c - r->grads + r->values : NULL;
    /*
     * If each sample has one row, the next row belongs to the next sample. That sample need not be
     * adjacent in memory, for example in a step of a sequence.
     */
    out.a_row = along_m && p->m == 1 ? p->a.sample : p->a.row;
    out.c_row = along_m && p->m == 1 ? p->c.sample : p->c.row;
    out.a_column = along_k && p->k == 1 ? p->a.sample : p->a.column;
    out.b_row = along_k && p->k == 1 ? p->b.sample : p->b.row;
    out.b_column = p->b.column;
    return out;
}
