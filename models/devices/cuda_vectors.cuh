/**
 * @file cuda_vectors.cuh
 * Kernels (__global__ functions) on vectors: copies, updates, linear combinations, distances and
 * encodings. Their grid is (blocks, operations), unless a comment gives another one. Only cuda.cu
 * includes this file.
 */
#pragma once

#include "models/codecs/formula.h"
#include "models/devices/cuda_layers.cuh"

namespace
{

enum : uint32_t {
    /* number of inputs of a combination that are loaded before they are added */
    AHEAD = 4
};

/** A cell: CELL adjacent numbers, in registers. */
struct cell {
    real v[CELL];
};

/** Returns cell @p i of a buffer, or zeros if the buffer is NULL. */
__device__ cell load_cell(const real *buffer, uint32_t i)
{
    float4 x = make_float4(0, 0, 0, 0);
    if (buffer != NULL)
        x = reinterpret_cast<const float4 *>(global(buffer))[i];
    return cell{{x.x, x.y, x.z, x.w}};
}

__device__ void store_cell(real *buffer, uint32_t i, const cell &x)
{
    store_float4(buffer + (size_t)CELL * i, make_float4(x.v[0], x.v[1], x.v[2], x.v[3]));
}

/**
 * Calls @p body(i) for each whole cell i of n numbers. Calls @p rest(j) for each number j after the
 * last whole cell. Each cell and each of these numbers is computed by one thread.
 */
template <typename Body, typename Rest> __device__ void for_cells(size_t n, Body body, Rest rest)
{
    /* 32 bits suffice, because a buffer is smaller than 64 GiB. */
    const uint32_t n_cells = (uint32_t)(n / CELL);
    const uint32_t first = blockIdx.x * THREADS + threadIdx.x;
#pragma unroll 1
    for (uint32_t i = first; i < n_cells; i += gridDim.x * THREADS)
        body(i);
    if (first < n % CELL)
        rest((size_t)n_cells * CELL + first);
}

/** Calls @p body(j) for each of n numbers, each in one thread. */
template <typename Body> __device__ void for_numbers(size_t n, Body body)
{
    const size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t j = (size_t)blockIdx.x * THREADS + threadIdx.x; j < n; j += stride)
        body(j);
}

struct copy {
    real *to;
    const real *from; /* source of the copy; if NULL, zeros are copied */
    size_t n;
};

__global__ void copy_global(const copy *copies)
{
    const copy c = copies[blockIdx.y];
    for_numbers(c.n, [&](size_t i) { c.to[i] = c.from == NULL ? 0.0f : c.from[i]; });
}

/** Sets *finite to false for each replica whose gradient or state is not finite. */
__global__ void finite_global(const replica *replicas, size_t n_params, size_t n_state)
{
    const replica r = replicas[blockIdx.y];
    bool all = true;
    for_numbers(n_params + n_state, [&](size_t i) {
        all = isfinite(i < n_params ? r.g[i] : r.state_new[i - n_params]) && all;
    });
    if (!all)
        *r.finite = false;
}

__device__ real element(const void *buffer, size_t i)
{
    return buffer == NULL ? 0.0f : static_cast<const real *>(buffer)[i];
}

struct update {
    dsgd_update_op op;
    dsgd_update_rule rule;
};

/**
 * Joins 0 and the terms 0 to n - 1 in one block. Each thread joins terms at equal distances. Then
 * the threads join their results as a tree.
 */
template <typename T, typename Term, typename Join>
__device__ T block_joined(size_t n, Term term, Join join)
{
    __shared__ T all[THREADS];
    T mine = 0;
    for (size_t i = threadIdx.x; i < n; i += THREADS)
        mine = join(mine, term(i));
    all[threadIdx.x] = mine;
    __syncthreads();
    for (uint32_t half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            all[threadIdx.x] = join(all[threadIdx.x], all[threadIdx.x + half]);
        __syncthreads();
    }
    const T joined = all[0];
    __syncthreads(); /* waits until all threads have read all[0] */
    return joined;
}

template <typename Term> __device__ double block_sum(size_t n, Term term)
{
    return block_joined<double>(n, term, [](double a, double b) { return a + b; });
}

/** Sets the clip factor of each update's rule. There is one block per operation. */
__global__ void clip_global(update *updates, double bound, size_t n_params)
{
    update *const u = &updates[blockIdx.x];
    const double squares = block_sum(u->op.n, [&](size_t i) {
        const double g = (double)element(u->op.g, i);
        return g * g;
    });
    if (threadIdx.x == 0)
        u->rule.clip = (real)dsgd_clip_factor(bound, u->op.n, n_params, squares);
}

/** Updates one number. Returns true if the new numbers are finite. */
template <bool ADAPTIVE>
__device__ bool update_one(const dsgd_update_rule &of_any, real *x, real g, real *first,
                           real *second)
{
    dsgd_update_rule rule = of_any;
    rule.adaptive = ADAPTIVE;
    *x = dsgd_updated(&rule, *x, g, first, second);
    /* AdamW divides by the second moment, so an infinite moment would leave x finite. */
    return isfinite(*x) && (!ADAPTIVE || (isfinite(*first) && isfinite(*second)));
}

/**
 * Computes update @p u with the threads of gridDim.x blocks. Returns true if all results of this
 * thread are finite.
 */
template <bool ADAPTIVE> __device__ bool update_all(const update &u)
{
    const real *const x = static_cast<const real *>(u.op.x);
    const real *const g = static_cast<const real *>(u.op.g);
    const real *const v = static_cast<const real *>(u.op.v);
    real *const x_new = static_cast<real *>(u.op.x_new);
    real *const v_new = static_cast<real *>(u.op.v_new);
    const dsgd_update_rule rule = u.rule;
    const size_t n = u.op.n;
    bool finite = true;
    const auto rest = [&](size_t j) {
        real y = element(x, j);
        real first = element(v, j);
        real second = ADAPTIVE ? element(v, n + j) : 0.0f;
        finite = update_one<ADAPTIVE>(rule, &y, element(g, j), &first, &second) && finite;
        x_new[j] = y;
        if (v_new != NULL)
            v_new[j] = first;
        if (ADAPTIVE)
            v_new[n + j] = second;
    };
    const auto body = [&](uint32_t i) {
        cell y = load_cell(x, i);
        const cell grad = load_cell(g, i);
        cell first = load_cell(v, i);
        cell second = load_cell(ADAPTIVE && v != NULL ? v + n : NULL, i);
#pragma unroll
        for (uint32_t j = 0; j < CELL; j++)
            finite =
                update_one<ADAPTIVE>(rule, &y.v[j], grad.v[j], &first.v[j], &second.v[j]) && finite;
        store_cell(x_new, i, y);
        if (v_new != NULL)
            store_cell(v_new, i, first);
        if (ADAPTIVE)
            store_cell(v_new + n, i, second);
    };
    if (!ADAPTIVE || n % CELL == 0)
        for_cells(n, body, rest);
    /* the second moments start inside a cell, so numbers are updated one by one */
    else
        for_numbers(n, rest);
    return finite;
}

template <bool ADAPTIVE> __global__ void update_global(const update *updates, bool *finite)
{
    if (!update_all<ADAPTIVE>(updates[blockIdx.y]))
        finite[blockIdx.y] = false;
}

/** Adds weight * x to the sums. Does nothing if @p present is NULL. */
__device__ void add_cell(double *sums, double weight, const cell &x, const real *present)
{
    if (present == NULL)
        return;
#pragma unroll
    for (uint32_t j = 0; j < CELL; j++)
        sums[j] += weight * (double)x.v[j];
}

/**
 * Combines N inputs. If N is 0, combines any number of inputs. EXACT must be
 * dsgd_has_exact_inverse() of the divisor. Returns true if all results of this thread are finite.
 */
template <uint32_t N, bool EXACT> __device__ bool combine_all(const dsgd_combine_op *op)
{
    constexpr uint32_t HELD = N == 0 ? AHEAD : N;
    const uint32_t n_inputs = op->n_inputs;
    const real *x[HELD];
    double weights[HELD];
    const auto hold = [&](uint32_t first) {
#pragma unroll
        for (uint32_t k = 0; k < HELD; k++) {
            const bool is = N != 0 || first + k < n_inputs;
            x[k] = is ? static_cast<const real *>(op->x[first + k]) : NULL;
            weights[k] = is ? op->weights[first + k] : 0;
        }
    };
    hold(0);
    real *const y = static_cast<real *>(op->y);
    const double divisor = op->divisor;
    const double inverse = 1 / divisor;
    const size_t n = op->n;
    bool finite = true;
    const auto quotient = [&](double sum) {
        const real q = (real)(EXACT ? sum * inverse : sum / divisor);
        finite = isfinite(q) && finite;
        return q;
    };
    const auto body = [&](uint32_t i) {
        double sums[CELL] = {};
#pragma unroll 1
        for (uint32_t first = 0; first < (N == 0 ? n_inputs : 1); first += HELD) {
            if (N == 0)
                hold(first);
            cell in[HELD];
#pragma unroll
            for (uint32_t k = 0; k < HELD; k++)
                in[k] = load_cell(x[k], i);
#pragma unroll
            for (uint32_t k = 0; k < HELD; k++)
                add_cell(sums, weights[k], in[k], x[k]);
        }
        store_cell(
            y, i,
            cell{{quotient(sums[0]), quotient(sums[1]), quotient(sums[2]), quotient(sums[3])}});
    };
    const auto rest = [&](size_t j) {
        double sum = 0;
#pragma unroll 1
        for (uint32_t k = 0; k < n_inputs; k++)
            if (op->x[k] != NULL)
                sum += op->weights[k] * (double)element(op->x[k], j);
        y[j] = quotient(sum);
    };
    for_cells(n, body, rest);
    return finite;
}

/** Computes linear combinations. The grid is (blocks, operations). */
template <uint32_t N, bool EXACT>
__global__ void combine_global(const dsgd_combine_op *ops, bool *finite)
{
    if (!combine_all<N, EXACT>(&ops[blockIdx.y]))
        finite[blockIdx.y] = false;
}

/** Returns the most specialised kernel that can compute all operations of a call. */
auto combination_of(const dsgd_combine_op *ops, size_t n_ops)
{
    uint32_t n = ops[0].n_inputs;
    bool exact = true;
    for (const dsgd_combine_op *op = ops; op < ops + n_ops; op++) {
        n = op->n_inputs == n ? n : 0;
        exact = exact && dsgd_has_exact_inverse(op->divisor);
    }
    if (n == 2)
        return exact ? combine_global<2, true> : combine_global<2, false>;
    if (n == 3)
        return exact ? combine_global<3, true> : combine_global<3, false>;
    return exact ? combine_global<0, true> : combine_global<0, false>;
}

__global__ void distance_global(dsgd_distance_op *ops)
{
    dsgd_distance_op *const op = &ops[blockIdx.x];
    const double sum = block_sum(op->n, [&](size_t i) {
        const double d = (double)element(op->x, i) - (double)element(op->y, i);
        return d * d;
    });
    if (threadIdx.x == 0)
        op->distance = sum;
}

/* --- kernels for encodings; the first block computes sums over a whole chunk ------------------ */

/* A thread computes one lane, so sums have the same order as on the CPU (encode.c). */
static_assert((uint32_t)DSGD_LANES == THREADS, "a thread is a lane");

/** Calls @p body(i) for each of n numbers, in the threads of this block only. */
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
 * Computes TOP_K and RANDOM_K. Finds, digit by digit, the `count`-th largest key and the number of
 * selected elements with this key. If more elements have this key, a bisection finds the index
 * after the last selected one. Counts are integers, so the order in which threads add to them does
 * not matter.
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
    size_t end = n; /* smallest index that has enough ties before it */
    for (size_t below = 0; n_equal > ties && end - below > 1;) {
        const size_t middle = below + (end - below) / 2;
        const double before = block_sum(middle, [&](size_t i) {
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

/** Returns the bits of the largest magnitude among n numbers. */
__device__ uint64_t largest_bits(const real *x, size_t n)
{
    return block_joined<uint64_t>(
        n, [&](size_t i) { return (uint64_t)dsgd_magnitude_bits(x[i]); },
        [](uint64_t a, uint64_t b) { return b > a ? b : a; });
}

/** Compresses the codec's blocks that belong to this block of threads. */
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
                codec, block_sum(n, [&](size_t i) { return dsgd_codec_term(codec, x[i]); }), n);
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
                block_sum(rows, [&](size_t i) { return (double)column[i] * (double)before[i]; });
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
