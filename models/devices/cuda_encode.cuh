/**
 * @file cuda_encode.cuh
 * __global__ function of encodings. Grid: (blocks, operations); what needs sums over a piece is done
 * by the first block of its operation. Sums have the order of encode.c, the CPU's. Included by
 * cuda.cu alone.
 */
#ifndef DSGD_MODELS_DEVICES_CUDA_ENCODE_CUH
#define DSGD_MODELS_DEVICES_CUDA_ENCODE_CUH

#include "models/codecs/formula.h"
#include "models/devices/cuda_vectors.cuh"

namespace
{

static_assert((uint32_t)DSGD_LANES == THREADS, "a thread is a lane");

/** block_sum() that may follow another one. */
template <typename Term> __device__ double encode_sum(size_t n, Term term)
{
    const double sum = block_sum(n, term);
    __syncthreads();
    return sum;
}

/** @p body(i) for each of n numbers, in some thread of this block. */
template <typename Body> __device__ void for_lanes(size_t n, Body body)
{
    for (size_t i = threadIdx.x; i < n; i += THREADS)
        body(i);
}

struct encoder {
    const dsgd_encode_op *op;
    const real *x, *z;
    real *y;
    bool *finite;

    __device__ void put(size_t i, real value) const
    {
        y[i] = value;
        if (!isfinite(value))
            *finite = false;
    }
};

constexpr uint32_t DIGIT_BITS = 4, N_DIGITS = 1U << DIGIT_BITS;

/**
 * Digit by digit, the `count`-th largest key and how many that equal it are selected; where more do,
 * by bisection the index behind the last of these. Counts are whole numbers: the order in which the
 * threads add to them does not matter.
 */
__device__ void encode_selection(const encoder &e)
{
    const dsgd_codec *const codec = &e.op->codec;
    const size_t n = e.op->n;
    __shared__ uint32_t counts[N_DIGITS];
    uint64_t least = 0;
    uint32_t ties = (uint32_t)codec->count;
    uint32_t n_equal = (uint32_t)n;
    for (int shift = dsgd_codec_key_bits(codec) - (int)DIGIT_BITS; shift >= 0;
         shift -= (int)DIGIT_BITS) {
        if (threadIdx.x < N_DIGITS)
            counts[threadIdx.x] = 0;
        __syncthreads();
        for_lanes(n, [&](size_t i) {
            const uint64_t key = dsgd_codec_key(codec, e.x[i], i) >> shift;
            if (key >> DIGIT_BITS == least)
                atomicAdd(&counts[key & (N_DIGITS - 1)], 1);
        });
        __syncthreads();
        uint32_t digit = N_DIGITS - 1;
        for (; digit > 0 && counts[digit] < ties; digit--)
            ties -= counts[digit];
        n_equal = counts[digit];
        least = least << DIGIT_BITS | digit;
        __syncthreads();
    }
    size_t end = n; /* the least for which enough ties are before it */
    for (size_t below = 0; n_equal > ties && end - below > 1;) {
        const size_t middle = below + (end - below) / 2;
        const double before = encode_sum(middle, [&](size_t i) {
            return dsgd_codec_key(codec, e.x[i], i) == least ? 1.0 : 0.0;
        });
        if (before >= (double)ties)
            end = middle;
        else
            below = middle;
    }
    for_lanes(n, [&](size_t i) {
        const uint64_t key = dsgd_codec_key(codec, e.x[i], i);
        const bool is_in = key > least || (key == least && i < end);
        e.put(i, is_in ? dsgd_codec_selected(codec, e.x[i]) : 0.0f);
    });
}

/** The largest magnitude of n numbers. */
__device__ uint64_t largest_bits(const real *x, size_t n)
{
    __shared__ uint64_t largest[THREADS];
    uint64_t mine = 0;
    for_lanes(n, [&](size_t i) {
        const uint64_t bits = dsgd_magnitude_bits(x[i]);
        mine = bits > mine ? bits : mine;
    });
    largest[threadIdx.x] = mine;
    __syncthreads();
    for (uint32_t half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half && largest[threadIdx.x + half] > largest[threadIdx.x])
            largest[threadIdx.x] = largest[threadIdx.x + half];
        __syncthreads();
    }
    const uint64_t found = largest[0];
    __syncthreads();
    return found;
}

/** The codec's blocks that this block of threads computes. */
__device__ void encode_blocks(const encoder &e)
{
    const dsgd_codec *const codec = &e.op->codec;
    const size_t count = codec->count;
    for (size_t begin = blockIdx.x * count; begin < e.op->n; begin += gridDim.x * count) {
        const size_t n = e.op->n - begin < count ? e.op->n - begin : count;
        const real *const x = e.x + begin;
        real scale;
        if (codec->kind == DSGD_CODEC_UNIFORM)
            scale = dsgd_real_of_bits(largest_bits(x, n));
        else
            scale = dsgd_codec_scale(
                codec, encode_sum(n, [&](size_t i) { return dsgd_codec_term(codec, x[i]); }), n);
        for_lanes(n, [&](size_t i) {
            e.put(begin + i, dsgd_codec_rounded(codec, x[i], begin + i, scale));
        });
    }
}

__device__ void encode_orthogonal(const encoder &e)
{
    const size_t rows = e.op->codec.rows;
    for_lanes(e.op->n, [&](size_t i) { e.put(i, e.x[i]); });
    __syncthreads();
    for (size_t j = 0; j < e.op->codec.count; j++) {
        real *const column = e.y + j * rows;
        for (size_t k = 0; k <= j; k++) {
            const real *const before = e.y + k * rows;
            const double sum =
                encode_sum(rows, [&](size_t i) { return (double)column[i] * (double)before[i]; });
            const double length = sqrt(sum);
            for_lanes(rows, [&](size_t i) {
                e.put(j * rows + i,
                      k < j ? (real)((double)column[i] - sum * (double)before[i])
                            : (real)((double)column[i] /
                                     (length < DSGD_LEAST_LENGTH ? DSGD_LEAST_LENGTH : length)));
            });
            __syncthreads();
        }
    }
}

__device__ void encode_product(const encoder &e)
{
    const dsgd_codec *const codec = &e.op->codec;
    const bool transposed = codec->kind == DSGD_CODEC_TRANSPOSED_TIMES;
    const size_t n_out = transposed ? codec->columns : codec->rows;
    const size_t n_in = transposed ? codec->rows : codec->columns;
    const size_t step_out = transposed ? 1 : codec->columns;
    const size_t step_in = transposed ? codec->columns : 1;
    const size_t n = e.op->n;
    for_numbers(n, [&](size_t i) {
        const size_t out = i % n_out;
        const size_t j = i / n_out;
        double sum = 0;
        for (size_t in = 0; j < codec->count && in < n_in && out * step_out + in * step_in < n;
             in++)
            sum += (double)e.x[out * step_out + in * step_in] * (double)e.z[j * n_in + in];
        e.put(i, (real)sum);
    });
}

__global__ void encode_global(const dsgd_encode_op *ops, bool *finite)
{
    const dsgd_encode_op *const op = &ops[blockIdx.y];
    const encoder e = {op, static_cast<const real *>(op->x), static_cast<const real *>(op->z),
                       static_cast<real *>(op->y), &finite[blockIdx.y]};
    const uint32_t kind = op->codec.kind;
    if (kind == DSGD_CODEC_SIGN || kind == DSGD_CODEC_UNIFORM || kind == DSGD_CODEC_STOCHASTIC)
        encode_blocks(e);
    else if (kind == DSGD_CODEC_TIMES || kind == DSGD_CODEC_TRANSPOSED_TIMES)
        encode_product(e);
    else if (kind != DSGD_CODEC_ORTHOGONAL && kind != DSGD_CODEC_TOP_K &&
             kind != DSGD_CODEC_RANDOM_K)
        for_numbers(op->n,
                    [&](size_t i) { e.put(i, dsgd_codec_element(&op->codec, e.x, e.z, i)); });
    else if (blockIdx.x == 0 && kind == DSGD_CODEC_ORTHOGONAL)
        encode_orthogonal(e);
    else if (blockIdx.x == 0)
        encode_selection(e);
}

} // namespace

#endif
