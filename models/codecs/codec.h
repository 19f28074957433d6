/**
 * @file codec.h
 * A codec: what a device computes of an encoding, y <- Q(x) of one piece, Q in numbers. A user
 * names encodings (models/encodings/encoding.h); each has its codecs.
 *
 * Every Q is a pure function of its inputs and of its numbers (the numbers of its draws, too): the
 * same at all devices and threads. Q(0) = 0, except for START. NaN passes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Of a low-rank codec the piece x is a matrix A of `rows` x `columns`, row by row, with zeros
 * behind the piece's end. A factor of `count` columns lies column by column at the beginning of a
 * piece, with zeros behind.
 */
typedef enum dsgd_codec_kind {
    DSGD_CODEC_TOP_K =
        1, /* x where |x| is among the `count` largest, else 0; of equal ones the first */
    DSGD_CODEC_RANDOM_K, /* `number` x at `count` drawn places, else 0 */
    DSGD_CODEC_THRESHOLD, /* x where |x| > `number`, else 0 */
    DSGD_CODEC_MASK, /* x where z is not 0, else 0 */
    /* Of every `count` elements: */
    DSGD_CODEC_SIGN, /* mean |x| with the sign of x, + where it is 0 */
    DSGD_CODEC_UNIFORM, /* the nearest of the multiples of max |x| / `levels` */
    /* `number` ||x||_2 j / levels with the sign of x, j / levels |x| / ||x|| rounded up or down at
     * random: the mean is `number` x */
    DSGD_CODEC_STOCHASTIC,
    /* Low rank: */
    DSGD_CODEC_START, /* a factor of `rows` rows, drawn uniformly from (-1, 1); no inputs */
    DSGD_CODEC_ORTHOGONAL, /* orthonormal columns of a factor x of `rows` rows, by Gram-Schmidt */
    DSGD_CODEC_TIMES, /* A z, a factor of `rows` rows; z one of `columns` rows */
    DSGD_CODEC_TRANSPOSED_TIMES, /* A^T z, a factor of `columns` rows; z one of `rows` rows */
    DSGD_CODEC_OUTER /* the matrix x z^T; x, z factors of `rows` and `columns` rows */
} dsgd_codec_kind;

/** Plain numbers without padding, compared and hashed as bytes; what a kind does not use is 0. */
typedef struct dsgd_codec {
    uint32_t kind; /* dsgd_codec_kind */
    uint32_t levels;
    uint64_t count;
    double number;
    uint32_t rows, columns;
    /* Draw i of the piece has this purpose, worker and step, and index `first` + i. */
    uint64_t seed;
    uint32_t purpose, worker, step, first;
} dsgd_codec;

/** Number of inputs: x, or x and z. */
static inline size_t dsgd_codec_inputs(const dsgd_codec *codec)
{
    if (codec->kind == DSGD_CODEC_START)
        return 0;
    return codec->kind == DSGD_CODEC_MASK || codec->kind >= DSGD_CODEC_TIMES ? 2 : 1;
}

/** Whether it has random numbers. */
static inline bool dsgd_codec_draws(const dsgd_codec *codec)
{
    return codec->kind == DSGD_CODEC_RANDOM_K || codec->kind == DSGD_CODEC_STOCHASTIC ||
           codec->kind == DSGD_CODEC_START;
}

enum { DSGD_CODEC_WORDS = sizeof(dsgd_codec) / sizeof(uint64_t) };
