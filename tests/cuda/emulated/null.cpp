/**
 * @file null.cpp
 * A runtime that computes nothing in no time: what remains is what the host pays. Copies to and
 * from the device are left out, too: a call fetches what it staged.
 */
#include "cuda_runtime.h"

#include <cstdlib>

dim3 gridDim, blockDim, blockIdx, threadIdx;
unsigned emulated_flags;

namespace
{

const size_t device_bytes = (size_t)128 << 30;
char *next = reinterpret_cast<char *>((size_t)1 << 40); /* addresses that nobody reads */

} // namespace

void __syncthreads()
{
}

void emulated_launch(cudaStream_t, dim3, dim3, std::function<void()>)
{
}

cudaError_t cudaGetDeviceCount(int *n)
{
    *n = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int)
{
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned)
{
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes)
{
    *free_bytes = *all_bytes = device_bytes;
    return cudaSuccess;
}

cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t)
{
    return "nothing fails here";
}

cudaError_t cudaMalloc(void **at, size_t bytes)
{
    *at = next;
    next += (bytes + 255) / 256 * 256;
    return cudaSuccess;
}

cudaError_t cudaFree(void *)
{
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **at, size_t bytes)
{
    *at = calloc(1, bytes);
    return *at == NULL ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaFreeHost(void *at)
{
    free(at);
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **at, size_t bytes, cudaStream_t)
{
    return cudaMalloc(at, bytes);
}

cudaError_t cudaFreeAsync(void *, cudaStream_t)
{
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *, const void *, size_t, cudaMemcpyKind)
{
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *, const void *, size_t, cudaMemcpyKind, cudaStream_t)
{
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    static char any;
    *stream = reinterpret_cast<cudaStream_t>(&any);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t)
{
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}
