/**
 * @file formula.h
 * The formulas of encodings, written once for float, double and CUDA. Sums run in DSGD_LANES lanes,
 * lane l over elements l, l + DSGD_LANES, ..., which are then added as a tree, so that a block of
 * threads has the bits of one.
 */
#ifndef DSGD_MODELS_CODECS_FORMULA_H
#define DSGD_MODELS_CODECS_FORMULA_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/philox.h"
#include "base/real.h"
#include "models/codecs/codec.h"

enum { DSGD_LANES = 256, DSGD_DIGIT_BITS = 8, DSGD_DIGITS = 1 << DSGD_DIGIT_BITS };

/** The bits of |x|, which order numbers by magnitude; NaN is the largest. */
static inline DSGD_DEVICE_FUNCTION uint64_t dsgd_magnitude_bits(real x)
{
#ifdef DSGD_IN_DOUBLE
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits << 1 >> 1;
#else
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits << 1 >> 1;
#endif
}

static inline DSGD_DEVICE_FUNCTION real dsgd_real_of_bits(uint64_t magnitude)
{
    real x;
#ifdef DSGD_IN_DOUBLE
    memcpy(&x, &magnitude, sizeof x);
#else
    const uint32_t bits = (uint32_t)magnitude;
    memcpy(&x, &bits, sizeof x);
#endif
    return x;
}

/** By which TOP_K and RANDOM_K select the `count` elements with the largest, in bits. */
static inline DSGD_DEVICE_FUNCTION uint64_t dsgd_codec_key(const dsgd_codec *codec, real x,
                                                           size_t i)
{
    if (codec->kind == DSGD_CODEC_TOP_K)
        return dsgd_magnitude_bits(x);
    return dsgd_philox_bits(codec->seed, codec->purpose, codec->worker, codec->step,
                            codec->first + (uint32_t)i) >>
           32;
}

/** Bits of a key. */
static inline DSGD_DEVICE_FUNCTION int dsgd_codec_key_bits(const dsgd_codec *codec)
{
    return codec->kind == DSGD_CODEC_TOP_K ? 8 * (int)sizeof(real) : 32;
}

/** What is sent of a selected element. */
static inline DSGD_DEVICE_FUNCTION real dsgd_codec_selected(const dsgd_codec *codec, real x)
{
    return codec->kind == DSGD_CODEC_RANDOM_K ? (real)(codec->number * (double)x) : x;
}

/** A term of the block's sum from which its scale follows: SIGN, STOCHASTIC. */
static inline DSGD_DEVICE_FUNCTION double dsgd_codec_term(const dsgd_codec *codec, real x)
{
    const double v = (double)x;
    return codec->kind == DSGD_CODEC_SIGN ? fabs(v) : v * v;
}

/** The block's scale, as it is sent: a real. */
static inline DSGD_DEVICE_FUNCTION real dsgd_codec_scale(const dsgd_codec *codec, double sum,
                                                         size_t n)
{
    return (real)(codec->kind == DSGD_CODEC_SIGN ? sum / (double)n : sqrt(sum));
}

/** Element i of a piece in a block of that scale: SIGN, UNIFORM, STOCHASTIC. */
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
    const double u = dsgd_philox_uniform(codec->seed, codec->purpose, codec->worker, codec->step,
                                         codec->first + (uint32_t)i);
    const double rounded = (u < level - below ? below + 1 : below) / levels * s * codec->number;
    return (real)(v < 0 ? -rounded : rounded);
}

/** Element i of a drawn factor: uniform in (-1, 1), because logarithms differ among devices. */
static inline DSGD_DEVICE_FUNCTION real dsgd_codec_drawn(const dsgd_codec *codec, size_t i)
{
    return (real)(2 * dsgd_philox_uniform(codec->seed, codec->purpose, codec->worker, codec->step,
                                          codec->first + (uint32_t)i) -
                  1);
}

/** The least length by which a column is divided. */
#define DSGD_LEAST_LENGTH 1e-16

#endif
