/**
 * @file formula.h
 * The formulas of encodings, written once for float, double and CUDA. Sums are computed in
 * DSGD_LANES lanes: lane l sums elements l, l + DSGD_LANES, and so on. The lanes are then summed as
 * a tree. A block of threads therefore gets the same bits as a single thread.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/philox.h"
#include "base/real.h"
#include "models/codecs/codec.h"

enum { DSGD_LANES = 256, DSGD_DIGIT_BITS = 8, DSGD_DIGITS = 1 << DSGD_DIGIT_BITS };

#ifdef DSGD_IN_DOUBLE
typedef uint64_t dsgd_real_bits;
#else
typedef uint32_t dsgd_real_bits;
#endif

/**
 * Returns the bits of |x|. As integers, these bits order numbers by magnitude; NaN is the largest.
 */
static inline DSGD_DEVICE_FUNCTION dsgd_real_bits dsgd_magnitude_bits(real x)
{
    dsgd_real_bits bits;
    memcpy(&bits, &x, sizeof bits);
    return bits << 1 >> 1;
}

static inline DSGD_DEVICE_FUNCTION real dsgd_real_of_bits(uint64_t magnitude)
{
    const dsgd_real_bits bits = (dsgd_real_bits)magnitude;
    real x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/**
 * Returns the selection key of element i, whose value is @p x. TOP_K and RANDOM_K select the
 * `count` elements with the largest keys.
 */
static inline DSGD_DEVICE_FUNCTION uint64_t dsgd_codec_key(const dsgd_codec *codec, real x,
                                                           size_t i)
{
    if (codec->kind == DSGD_CODEC_TOP_K)
        return dsgd_magnitude_bits(x);
    return dsgd_philox_bits(codec->seed, codec->purpose, codec->worker, codec->step,
                            codec->first + (uint32_t)i) >>
           32;
}

/** Returns the number of bits of a selection key. */
static inline DSGD_DEVICE_FUNCTION int dsgd_codec_key_bits(const dsgd_codec *codec)
{
    return codec->kind == DSGD_CODEC_TOP_K ? 8 * (int)sizeof(real) : 32;
}

/** Returns the value that is sent for a selected element. */
static inline DSGD_DEVICE_FUNCTION real dsgd_codec_selected(const dsgd_codec *codec, real x)
{
    return codec->kind == DSGD_CODEC_RANDOM_K ? (real)(codec->number * (double)x) : x;
}

/**
 * Returns the term that element @p x adds to the sum of its block. The sum determines the scale of
 * the block, for SIGN and STOCHASTIC.
 */
static inline DSGD_DEVICE_FUNCTION double dsgd_codec_term(const dsgd_codec *codec, real x)
{
    const double v = (double)x;
    return codec->kind == DSGD_CODEC_SIGN ? fabs(v) : v * v;
}

/**
 * Returns the scale of a block of @p n elements from the sum of their terms, for SIGN and
 * STOCHASTIC.
 */
static inline DSGD_DEVICE_FUNCTION real dsgd_codec_scale(const dsgd_codec *codec, double sum,
                                                         size_t n)
{
    return (real)(codec->kind == DSGD_CODEC_SIGN ? sum / (double)n : sqrt(sum));
}

/** Returns random number i of the chunk, uniform in [0, 1). */
static inline DSGD_DEVICE_FUNCTION double dsgd_codec_uniform(const dsgd_codec *codec, size_t i)
{
    return dsgd_philox_uniform(codec->seed, codec->purpose, codec->worker, codec->step,
                               codec->first + (uint32_t)i);
}

/**
 * Returns the compressed element i of a chunk, given the scale of its block, for SIGN, UNIFORM and
 * STOCHASTIC.
 */
static inline DSGD_DEVICE_FUNCTION real dsgd_codec_rounded(const dsgd_codec *codec, real x,
                                                           size_t i, real scale)
{
    const double v = (double)x;
    const double s = (double)scale;
    const double levels = (double)codec->levels;
    if (scale == (real)0)
        return 0;
    if (codec->kind == DSGD_CODEC_SIGN)
        return x < (real)0 ? -scale : scale;
    if (codec->kind == DSGD_CODEC_UNIFORM)
        return (real)(rint(v / s * levels) / levels * s);
    const double level = fabs(v) / s * levels;
    const double below = floor(level);
    const bool up = dsgd_codec_uniform(codec, i) < level - below;
    const double rounded = (up ? below + 1 : below) / levels * s * codec->number;
    return (real)(v < 0 ? -rounded : rounded);
}

/**
 * Returns element i of the compressed chunk, for kinds that need no sum over elements: THRESHOLD,
 * MASK, START and OUTER.
 */
static inline DSGD_DEVICE_FUNCTION real dsgd_codec_element(const dsgd_codec *codec, const real *x,
                                                           const real *z, size_t i)
{
    if (codec->kind == DSGD_CODEC_THRESHOLD)
        /* the comparison is false for NaN, so NaN is sent */
        return fabs((double)x[i]) <= codec->number ? (real)0 : x[i];
    if (codec->kind == DSGD_CODEC_MASK)
        return z[i] == (real)0 ? (real)0 : x[i];
    /*
     * The numbers are uniform, because a normal distribution needs logarithms, which differ among
     * devices.
     */
    if (codec->kind == DSGD_CODEC_START)
        return i < codec->count * codec->rows ? (real)(2 * dsgd_codec_uniform(codec, i) - 1)
                                              : (real)0;
    double sum = 0;
    for (size_t j = 0; j < codec->count; j++)
        sum += (double)x[j * codec->rows + i / codec->columns] *
               (double)z[j * codec->columns + i % codec->columns];
    return (real)sum;
}

/** Smallest length of a column by which ORTHOGONAL divides the column. */
#define DSGD_LEAST_LENGTH 1e-16
