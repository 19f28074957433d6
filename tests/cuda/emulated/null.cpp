/**
 * @file null.cpp
 * A CUDA runtime that computes nothing and takes no time, to measure the time of the host. It
 * copies no data from or to the device, so a call that reads results gets the data that it sent. If
 * the environment variable NULL_LAUNCH_US is set, launches take this time one after another,
 * and a thread that waits for them sleeps.
 */
#include "cuda_runtime.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>

dim3 gridDim, blockDim, blockIdx, threadIdx;
unsigned emulated_flags;

namespace
{

const size_t device_bytes = (size_t)128 << 30;
/* The next address that an allocation returns. No code reads memory at these addresses. */
char *next = reinterpret_cast<char *>((size_t)1 << 40);

double now_s()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double launch_s()
{
    static const char *const us = getenv("NULL_LAUNCH_US");
    return us == NULL ? 0 : 1e-6 * atof(us);
}

double busy_until_s; /* time at which all launches have ended */

void sleep_until(double end_s)
{
    const double left_s = launch_s() == 0 ? 0 : end_s - now_s();
    const timespec left = {0, (long)(1e9 * left_s)};
    if (left_s > 0)
        nanosleep(&left, NULL);
}

} // namespace

struct emulated_event {
    double at_s;
};

void __syncthreads()
{
}

void emulated_launch(cudaStream_t, dim3, dim3, size_t, std::function<void()>)
{
    if (launch_s() > 0)
        busy_until_s = std::max(busy_until_s, now_s()) + launch_s();
}

void *emulated_shared()
{
    return NULL;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int)
{
    *value = 228 << 10;
    return cudaSuccess;
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
    sleep_until(busy_until_s);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = new emulated_event{0};
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
    event->at_s = busy_until_s;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    sleep_until(event->at_s);
    return cudaSuccess;
}
