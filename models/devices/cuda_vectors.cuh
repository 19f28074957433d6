/**
 * @file cuda_vectors.cuh
 * __global__ functions over vectors: copies, updates, linear combinations, distances. Grid:
 * (blocks, operations). Included by cuda.cu alone.
 */
#ifndef DSGD_MODELS_DEVICES_CUDA_VECTORS_CUH
#define DSGD_MODELS_DEVICES_CUDA_VECTORS_CUH

#include "models/devices/cuda_layers.cuh"

namespace
{

enum : uint32_t { AHEAD = 4 /* inputs of a combination that are loaded before they are added */ };

struct copy {
    real *to;
    const real *from; /* NULL: zeros */
    size_t n;
};

__global__ void copy_global(const copy *copies)
{
    const copy c = copies[blockIdx.y];
    const size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < c.n; i += stride)
        c.to[i] = c.from == NULL ? 0.0f : c.from[i];
}

/** *finite <- false for each replica with a non-finite gradient or state. */
__global__ void finite_global(const replica *replicas, size_t n_params, size_t n_state)
{
    const replica r = replicas[blockIdx.y];
    const size_t stride = (size_t)gridDim.x * THREADS;
    bool all = true;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n_params + n_state; i += stride)
        all = isfinite(i < n_params ? r.g[i] : r.state_new[i - n_params]) && all;
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

/** The sum of n terms by one block: strided over the threads, then as a tree. */
template <typename Term> __device__ double block_sum(size_t n, Term term)
{
    __shared__ double sums[THREADS];
    double sum = 0;
    for (size_t i = threadIdx.x; i < n; i += THREADS)
        sum += term(i);
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (uint32_t half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    return sums[0];
}

/** Sets the clip factor in the rule of each update. One block per operation. */
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

__global__ void update_global(const update *updates, bool *finite)
{
    const update u = updates[blockIdx.y];
    real *const v_new = static_cast<real *>(u.op.v_new);
    const size_t n = u.op.n;
    const size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += stride) {
        real first = element(u.op.v, i);
        real second = u.rule.adaptive ? element(u.op.v, n + i) : 0.0f;
        const real x =
            dsgd_updated(&u.rule, element(u.op.x, i), element(u.op.g, i), &first, &second);
        static_cast<real *>(u.op.x_new)[i] = x;
        if (v_new != NULL)
            v_new[i] = first;
        if (u.rule.adaptive)
            v_new[n + i] = second;
        /* AdamW divides by the second moment: an infinite one would leave x finite. */
        if (!isfinite(x) || (u.rule.adaptive && !(isfinite(first) && isfinite(second))))
            finite[blockIdx.y] = false;
    }
}

/** Elements [i, i + CELL) of a buffer of n, zeros beyond it. */
__device__ float4 elements(const void *buffer, size_t i, size_t n)
{
    const real *const x = static_cast<const real *>(buffer);
    if (x == NULL || i >= n)
        return make_float4(0, 0, 0, 0);
    if (i + CELL <= n)
        return *(const float4 *)(x + i);
    return make_float4(x[i], i + 1 < n ? x[i + 1] : 0.0f, i + 2 < n ? x[i + 2] : 0.0f, 0);
}

/** A thread computes CELL adjacent elements. */
__global__ void combine_global(const dsgd_combine_op *ops, bool *finite)
{
    const dsgd_combine_op op = ops[blockIdx.y];
    real *const y = static_cast<real *>(op.y);
    const size_t stride = (size_t)gridDim.x * THREADS * CELL;
    for (size_t i = ((size_t)blockIdx.x * THREADS + threadIdx.x) * CELL; i < op.n; i += stride) {
        double sum[CELL] = {};
        for (uint32_t first = 0; first < op.n_inputs; first += AHEAD) {
            float4 x[AHEAD];
#pragma unroll
            for (uint32_t k = 0; k < AHEAD; k++)
                x[k] = elements(first + k < op.n_inputs ? op.x[first + k] : NULL, i, op.n);
#pragma unroll
            for (uint32_t k = 0; k < AHEAD; k++) {
                if (first + k >= op.n_inputs || op.x[first + k] == NULL)
                    continue;
                const double weight = op.weights[first + k];
                sum[0] += weight * (double)x[k].x;
                sum[1] += weight * (double)x[k].y;
                sum[2] += weight * (double)x[k].z;
                sum[3] += weight * (double)x[k].w;
            }
        }
        for (uint32_t j = 0; j < CELL && i + j < op.n; j++) {
            y[i + j] = (real)(sum[j] / op.divisor);
            if (!isfinite(y[i + j]))
                finite[blockIdx.y] = false;
        }
    }
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

} // namespace

#endif
