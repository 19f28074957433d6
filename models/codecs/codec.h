/**
 * @file codec.h
 * A codec is the part of an encoding that a device computes: y <- Q(x) for one chunk. A user names
 * encodings (models/encodings/encoding.h). Each encoding has one or more codecs.
 *
 * Every Q is a pure function of its inputs and its parameters. The parameters include the
 * coordinates of its random numbers. Q has the same result on all devices and threads. Q(0) = 0 for
 * all kinds except START. NaN propagates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Kinds of codecs, with the element or matrix that each kind computes. For low-rank codecs, chunk x
 * is a matrix A of `rows` x `columns`, row by row, with zeros after the end of the chunk. A factor
 * of `count` columns is stored column by column at the start of a chunk, with zeros after the
 * factor.
 */
typedef enum dsgd_codec_kind {
    DSGD_CODEC_TOP_K = 1, /* x if |x| is among the `count` largest magnitudes (the first of equal
                           * ones), else 0 */
    DSGD_CODEC_RANDOM_K, /* x times `number` at `count` random places, else 0 */
    DSGD_CODEC_THRESHOLD, /* x if |x| > `number`, else 0 */
    DSGD_CODEC_MASK, /* x where the second input z is not 0, else 0 */
    /* Each of the next three kinds computes one scale for every block of `count` elements. */
    DSGD_CODEC_SIGN, /* mean |x| of the block, with the sign of x; the sign is + if x is 0 */
    DSGD_CODEC_UNIFORM, /* the multiple of (max |x| of the block) / `levels` that is nearest to x */
    /*
     * The result is `number` ||x||_2 j / levels with the sign of x, where ||x||_2 is the norm of
     * the block. The integer j is levels |x| / ||x||_2, rounded at random so that the mean of the
     * result is `number` x.
     */
    DSGD_CODEC_STOCHASTIC,
    /* The next five kinds compute low-rank factors. */
    DSGD_CODEC_START, /* a random factor of `rows` rows, uniform in (-1, 1); has no inputs */
    DSGD_CODEC_ORTHOGONAL, /* a factor with orthonormal columns, computed from a factor x of `rows`
                            * rows by Gram-Schmidt */
    DSGD_CODEC_TIMES, /* A z: a factor of `rows` rows, from a factor z of `columns` rows */
    DSGD_CODEC_TRANSPOSED_TIMES, /* A^T z: a factor of `columns` rows, from a factor z of `rows`
                                  * rows */
    /* the matrix x z^T, from factors x of `rows` rows and z of `columns` rows */
    DSGD_CODEC_OUTER
} dsgd_codec_kind;

/**
 * A codec with its parameters. The struct has no padding, because it is compared and hashed as
 * bytes. Members that a kind does not use are 0.
 */
typedef struct dsgd_codec {
    uint32_t kind; /* a value of dsgd_codec_kind */
    uint32_t levels;
    uint64_t count;
    double number;
    uint32_t rows, columns;
    /*
     * Random number i of the chunk has these coordinates: seed, purpose, worker, step, and the
     * index `first` + i.
     */
    uint64_t seed;
    uint32_t purpose, worker, step, first;
} dsgd_codec;

/** Returns the number of inputs of the codec: none, x, or x and z. */
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
