/**
 * @file codec.h
 * A codec: the part of an encoding that a device computes, y <- Q(x) for one chunk. A user names
 * encodings (models/encodings/encoding.h); each encoding has its codecs.
 *
 * Every Q is a pure function of its inputs and its parameters, which include the coordinates of its
 * random numbers. It is the same on all devices and threads. Q(0) = 0, except for START. NaN
 * propagates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * For low-rank codecs, chunk x is a matrix A of `rows` x `columns`, row by row, with zeros after
 * the end of the chunk. A factor of `count` columns is stored column by column at the start of a
 * chunk, with zeros after it.
 */
typedef enum dsgd_codec_kind {
    DSGD_CODEC_TOP_K =
        1, /* x if |x| is among the `count` largest (of equal elements the first), else 0 */
    DSGD_CODEC_RANDOM_K, /* `number` x at `count` random places, else 0 */
    DSGD_CODEC_THRESHOLD, /* x if |x| > `number`, else 0 */
    DSGD_CODEC_MASK, /* x if z is not 0, else 0 */
    /* For every `count` elements: */
    DSGD_CODEC_SIGN, /* mean |x| with the sign of x; + if x is 0 */
    DSGD_CODEC_UNIFORM, /* the nearest multiple of max |x| / `levels` */
    /* `number` ||x||_2 j / levels with the sign of x; j / levels is |x| / ||x|| rounded up or down
     * at random, so that the mean is `number` x */
    DSGD_CODEC_STOCHASTIC,
    /* Low rank: */
    DSGD_CODEC_START, /* a random factor of `rows` rows, uniform in (-1, 1); no inputs */
    DSGD_CODEC_ORTHOGONAL, /* orthonormal columns of a factor x of `rows` rows, by Gram-Schmidt */
    DSGD_CODEC_TIMES, /* A z, a factor of `rows` rows; z one of `columns` rows */
    DSGD_CODEC_TRANSPOSED_TIMES, /* A^T z, a factor of `columns` rows; z one of `rows` rows */
    DSGD_CODEC_OUTER /* the matrix x z^T; x, z factors of `rows` and `columns` rows */
} dsgd_codec_kind;

/** Plain numbers without padding, compared and hashed as bytes. Members that a kind does not use
 * are 0. */
typedef struct dsgd_codec {
    uint32_t kind; /* dsgd_codec_kind */
    uint32_t levels;
    uint64_t count;
    double number;
    uint32_t rows, columns;
    /* Random number i of the chunk has this purpose, worker and step, and index `first` + i. */
    uint64_t seed;
    uint32_t purpose, worker, step, first;
} dsgd_codec;

/** Returns the number of inputs: x, or x and z. */
static inline size_t dsgd_codec_inputs(const dsgd_codec *codec)
{
    if (codec->kind == DSGD_CODEC_START)
        return 0;
    return codec->kind == DSGD_CODEC_MASK || codec->kind >= DSGD_CODEC_TIMES ? 2 : 1;
}

/** Returns true if the codec uses random numbers. */
static inline bool dsgd_codec_draws(const dsgd_codec *codec)
{
    return codec->kind == DSGD_CODEC_RANDOM_K || codec->kind == DSGD_CODEC_STOCHASTIC ||
           codec->kind == DSGD_CODEC_START;
}

enum { DSGD_CODEC_WORDS = sizeof(dsgd_codec) / sizeof(uint64_t) };
