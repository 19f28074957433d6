/**
 * @file cuda_layers.cuh
 * Runs the kernels of elementwise.h with CUDA: one launch per kernel for all replicas of a call.
 * Only cuda.cu includes this file.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#include "models/layers/elementwise.h"
#include "models/layers/matmul.h"

namespace
{

enum : uint32_t {
    THREADS = 256, /* largest number of threads per block */
    WARP = 32,
    CELL = 4, /* number of adjacent elements that a thread computes together, as a float4 */
    /* Each replica or operation has at most max(MOST_BLOCKS, ALL_BLOCKS / replicas) blocks. */
    MOST_BLOCKS = 64,
    ALL_BLOCKS = 8192,
};
const size_t alignment = 16; /* alignment of a float4, in bytes */

/**
 * Aborts the program if a CUDA call fails. After open(), a failed call means a bug or a broken
 * device.
 */
#define DSGD_CUDA(call) check(call, __FILE__, __LINE__)

void check(cudaError_t error, const char *file, int line)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s:%d: CUDA: %s\n", file, line, cudaGetErrorString(error));
    abort();
}

/** If @p call fails, makes the calling function return the error of @p call. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess)                                                                 \
            return error_;                                                                         \
    } while (0)

std::atomic<uint64_t> n_launches; /* number of kernel launches of all contexts so far */

/**
 * Launches a kernel and returns its status. @p shared_bytes is the size of dynamic_shared() in each
 * block.
 */
template <typename... Parameters, typename... Arguments>
cudaError_t try_launch(cudaStream_t stream, dim3 grid, uint32_t threads, size_t shared_bytes,
                       void (*kernel)(Parameters...), Arguments... arguments)
{
#ifdef __CUDACC__
    kernel<<<grid, threads, shared_bytes, stream>>>(arguments...);
#else
    emulated_launch(stream, grid, threads, shared_bytes, [=] { kernel(arguments...); });
#endif
    n_launches++;
    return cudaGetLastError();
}

template <typename... Parameters, typename... Arguments>
void launch(cudaStream_t stream, dim3 grid, uint32_t threads, void (*kernel)(Parameters...),
            Arguments... arguments)
{
    DSGD_CUDA(try_launch(stream, grid, threads, 0, kernel, arguments...));
}

/** Returns the shared memory of the block. The launch determines its size. */
__device__ real *dynamic_shared()
{
#ifdef __CUDACC__
    extern __shared__ float4 all[];
    return reinterpret_cast<real *>(all);
#else
    return static_cast<real *>(emulated_shared());
#endif
}

/** Returns address @p at. The compiler then knows that the address is in global memory. */
template <typename T> __device__ T *global(T *at)
{
#ifdef __CUDA_ARCH__
    __builtin_assume(__isGlobal(at));
#endif
    return at;
}

/** Writes 16 bytes with one instruction. Without it, the compiler may use four instructions. */
__device__ void store_float4(real *to, float4 x)
{
#ifdef __CUDA_ARCH__
    __stwb(reinterpret_cast<float4 *>(global(to)), x);
#else
    *reinterpret_cast<float4 *>(to) = x;
#endif
}

uint32_t blocks_for(size_t n, size_t per_block)
{
    return (uint32_t)((n + per_block - 1) / per_block);
}

/**
 * Returns the number of blocks per row of a launch, if there are @p n_rows rows (replicas or
 * operations) with at most @p n elements each.
 */
uint32_t element_blocks(size_t n, uint32_t threads, size_t n_rows)
{
    const size_t most = std::max((size_t)MOST_BLOCKS, ALL_BLOCKS / n_rows);
    return (uint32_t)std::max((size_t)1, std::min(most, (n + threads - 1) / threads));
}

/**
 * Returns the number of blocks per vector of a launch, if @p n_rows vectors with at most @p n
 * numbers each are computed in cells. Each block computes many cells, unless there would be too few
 * blocks in total.
 */
uint32_t cell_blocks(size_t n, size_t n_rows)
{
    const size_t most = std::max((size_t)1, n / CELL / THREADS);
    return (uint32_t)std::min(most, std::max((most + 3) / 4, ALL_BLOCKS / n_rows));
}

} // namespace

/** The replicas of a call. Each launch covers all of them. */
typedef struct execution {
    cudaStream_t stream;
    const replica *replicas; /* replicas in device memory; n_replicas entries */
    uint32_t n_replicas;
    uint32_t most; /* number of samples of the replica with the most samples */
    kernel_args args;
} execution;

namespace
{

typedef void kernel_function(const replica *, const dsgd_layer *, const kernel_args *, size_t);

/**
 * Calls a kernel for n indices per sample, or for n indices per replica. The grid is (blocks,
 * replicas).
 */
template <kernel_function *CALLED, bool PER_SAMPLE>
__global__ void map_global(const replica *replicas, dsgd_layer layer, kernel_args args,
                           sample_range s, size_t n)
{
    const replica r = replicas[blockIdx.y];
    const size_t first = PER_SAMPLE ? s.first * n : 0;
    const size_t end = PER_SAMPLE ? first + samples_in(&r, s) * n : n;
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = first + (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < end; i += stride)
        CALLED(&r, &layer, &args, i);
}

/** Returns the number of samples in range @p s that the replica with the most samples has. */
size_t most_samples(const execution *e, sample_range s)
{
    return e->most <= s.first ? 0 : std::min(s.n, e->most - s.first);
}

template <kernel_function *CALLED, bool PER_SAMPLE>
void launch_map(const execution *e, sample_range s, const dsgd_layer *layer, size_t n)
{
    const size_t most = PER_SAMPLE ? most_samples(e, s) * n : n;
    const uint32_t threads = (uint32_t)std::min(
        (size_t)THREADS, (size_t)blocks_for(std::max(most, (size_t)1), WARP) * WARP);
    const dim3 grid(element_blocks(most, threads, e->n_replicas), e->n_replicas);
    launch(e->stream, grid, threads, map_global<CALLED, PER_SAMPLE>, e->replicas, *layer, e->args,
           s, n);
}

template <kernel_function *CALLED>
void map(const execution *e, sample_range s, const dsgd_layer *layer, size_t n)
{
    launch_map<CALLED, true>(e, s, layer, n);
}

#define MAP(e, s, kernel, layer, n) map<kernel>(e, s, layer, n)
#define TOTAL(e, s, kernel, layer, n) launch_map<kernel, false>(e, s, layer, n)

} // namespace
