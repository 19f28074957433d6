/**
 * @file code.h
 * What a device computes of an encoding: y <- Q(x) of one piece, Q in numbers. The encodings that a
 * user can name are in encoding.h.
 *
 * Every Q is a pure function of its inputs and of its numbers, those of its draws included: the
 * same at all devices and threads. Q(0) = 0, but for START. NaN passes.
 */
#ifndef DSGD_MODELS_ENCODINGS_CODE_H
#define DSGD_MODELS_ENCODINGS_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Of a low-rank code the piece x is a matrix A of `rows` x `columns`, row by row, with zeros behind
 * the piece's end. A factor of `count` columns lies column by column at the beginning of a piece,
 * with zeros behind.
 */
typedef enum dsgd_code_kind {
    DSGD_CODE_TOP_K =
        1, /* x where |x| is among the `count` largest, else 0; of equal ones the first */
    DSGD_CODE_RANDOM_K, /* `number` x at `count` drawn places, else 0 */
    DSGD_CODE_THRESHOLD, /* x where |x| > `number`, else 0 */
    DSGD_CODE_MASK, /* x where z is not 0, else 0 */
    /* Of every `count` elements: */
    DSGD_CODE_SIGN, /* mean |x| with the sign of x, + where it is 0 */
    DSGD_CODE_UNIFORM, /* the nearest of the multiples of max |x| / `levels` */
    /* `number` ||x||_2 j / levels with the sign of x, j / levels |x| / ||x|| rounded up or down at
     * random: the mean is `number` x */
    DSGD_CODE_STOCHASTIC,
    /* Low rank: */
    DSGD_CODE_START, /* a factor of `rows` rows, drawn uniformly from (-1, 1); no inputs */
    DSGD_CODE_ORTHOGONAL, /* orthonormal columns of a factor x of `rows` rows, by Gram-Schmidt */
    DSGD_CODE_TIMES, /* A z, a factor of `rows` rows; z one of `columns` rows */
    DSGD_CODE_TRANSPOSED_TIMES, /* A^T z, a factor of `columns` rows; z one of `rows` rows */
    DSGD_CODE_OUTER /* the matrix x z^T; x, z factors of `rows` and `columns` rows */
} dsgd_code_kind;

/** Plain numbers without padding, compared and hashed as bytes; what a kind does not use is 0. */
typedef struct dsgd_code {
    uint32_t kind; /* dsgd_code_kind */
    uint32_t levels;
    uint64_t count;
    double number;
    uint32_t rows, columns;
    /* Draw i of the piece has this purpose, worker and step, and index `first` + i. */
    uint64_t seed;
    uint32_t purpose, worker, step, first;
} dsgd_code;

/** Number of inputs: x, or x and z. */
static inline size_t dsgd_code_inputs(const dsgd_code *code)
{
    if (code->kind == DSGD_CODE_START)
        return 0;
    return code->kind == DSGD_CODE_MASK || code->kind >= DSGD_CODE_TIMES ? 2 : 1;
}

/** Whether it has random numbers. */
static inline bool dsgd_code_draws(const dsgd_code *code)
{
    return code->kind == DSGD_CODE_RANDOM_K || code->kind == DSGD_CODE_STOCHASTIC ||
           code->kind == DSGD_CODE_START;
}

/** Whether a piece of @p n elements has room for it. For codes from a file. */
static inline bool dsgd_code_fits(const dsgd_code *code, size_t n)
{
    const uint64_t rows = code->rows;
    const uint64_t columns = code->columns;
    switch (code->kind) {
    case DSGD_CODE_TOP_K:
    case DSGD_CODE_RANDOM_K:
        return code->count <= n;
    case DSGD_CODE_THRESHOLD:
    case DSGD_CODE_MASK:
        return true;
    case DSGD_CODE_SIGN:
    case DSGD_CODE_UNIFORM:
    case DSGD_CODE_STOCHASTIC:
        return code->count >= 1 && code->count <= (uint64_t)1 << 40;
    case DSGD_CODE_START:
    case DSGD_CODE_ORTHOGONAL:
        return rows >= 1 && code->count <= n / rows;
    case DSGD_CODE_TIMES:
    case DSGD_CODE_TRANSPOSED_TIMES:
    case DSGD_CODE_OUTER:
        return rows >= 1 && columns >= 1 && code->count <= n / rows && code->count <= n / columns &&
               rows * columns >= n;
    default:
        return false;
    }
}

enum { DSGD_CODE_WORDS = sizeof(dsgd_code) / sizeof(uint64_t) };

#endif
