/**
 * @file cuda_runtime.h
 * An emulation of the CUDA runtime on one thread of the CPU, for tests without a GPU. It contains
 * the functions that models/devices/cuda.cu calls.
 *
 * Launches and copies run at the next synchronisation, which is as late as CUDA allows. A call that
 * waits for an event runs only the work up to this event. Uninitialised memory contains NaN, and
 * the page after each allocation is inaccessible. Blocks run one after another, and so do the
 * threads of a block between two barriers. Their order is ascending or descending, by a sequence
 * without a period. Code that depends on the order therefore fails in some launch. Transcendental
 * functions differ from the CPU's by up to one unit in the last place. Copies use 200 KiB of the
 * caller's stack. Each thread has a current device, and can use only this device.
 *
 * Environment variables describe the machine. EMULATED_DEVICES is the number of devices (default
 * 1). EMULATED_BYTES is the memory of each device (default 4 GiB). EMULATED_SHARED is a file in
 * which several processes count their memory. If EMULATED_EXCLUSIVE is set, a device is unavailable
 * while another process that uses this file has it open. If EMULATED_NO_IMAGE is set, launches
 * fail.
 */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#define __device__
#define __host__
#define __global__
#define __grid_constant__
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

using std::isfinite;
using std::min;

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
    {
    }
};

struct alignas(16) float4 {
    float x, y, z, w;
};

static inline float4 make_float4(float x, float y, float z, float w)
{
    return float4{x, y, z, w};
}

struct alignas(8) float2 {
    float x, y;
};

static inline float2 make_float2(float x, float y)
{
    return float2{x, y};
}

extern dim3 gridDim, blockDim, blockIdx, threadIdx;
extern "C" unsigned emulated_flags; /* flags of the last cudaSetDeviceFlags() */
void __syncthreads();

/**
 * Adds @p value to *at, and returns the old value. No other thread can run in between, because
 * threads switch only at barriers.
 */
static inline unsigned atomicAdd(unsigned *at, unsigned value)
{
    const unsigned before = *at;
    *at += value;
    return before;
}

enum cudaError_t {
    cudaSuccess,
    cudaErrorMemoryAllocation,
    cudaErrorInvalidConfiguration,
    cudaErrorInvalidDevice,
    cudaErrorInvalidResourceHandle,
    cudaErrorDevicesUnavailable,
    cudaErrorNoKernelImageForDevice
};
enum cudaDeviceAttr {
    cudaDevAttrMaxSharedMemoryPerBlockOptin,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize,
    cudaFuncAttributePreferredSharedMemoryCarveout
};
enum { cudaSharedmemCarveoutMaxShared = 100 };
enum { cudaDeviceScheduleAuto = 0, cudaDeviceScheduleBlockingSync = 4 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_event *cudaEvent_t;

cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int device);
template <typename Kernel> cudaError_t cudaFuncSetAttribute(Kernel *, cudaFuncAttribute, int)
{
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes);
cudaError_t cudaGetLastError();
const char *cudaGetErrorString(cudaError_t error);

cudaError_t cudaMalloc(void **at, size_t bytes);
cudaError_t cudaFree(void *at);
cudaError_t cudaMallocHost(void **at, size_t bytes);
cudaError_t cudaFreeHost(void *at);
cudaError_t cudaMallocAsync(void **at, size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void *at, cudaStream_t stream);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);

/**
 * Stands for kernel<<<grid, block, shared_bytes, stream>>>(...). The function @p thread runs the
 * kernel for one thread. It calls emulated_shared() to get the shared memory of its block.
 */
void emulated_launch(cudaStream_t stream, dim3 grid, dim3 block, size_t shared_bytes,
                     std::function<void()> thread);
void *emulated_shared();
