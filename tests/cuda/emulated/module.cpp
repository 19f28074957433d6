/**
 * @file module.cpp
 * Compiles the CUDA module for the emulated runtime in this folder. Its transcendental functions
 * have other bits than the CPU's functions, as on a GPU.
 */
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define DSGD_DEVICE_FUNCTION __host__ __device__
#include <cuda_runtime.h>

#include "base/real.h"

/**
 * Returns @p x or a neighbouring number. Equal x give equal results. The values 0 and 1 do not
 * change, so exp(0) is exact.
 */
template <typename T> static inline T beside(T x)
{
    if (x == 0 || x == 1 || !std::isfinite(x))
        return x;
    uint32_t bits = 0;
    const float rounded = (float)x;
    memcpy(&bits, &rounded, sizeof bits);
    const uint32_t third = (bits * 2654435769u >> 16) % 3;
    return third == 0 ? x : std::nextafter(x, third == 1 ? (T)INFINITY : (T)-INFINITY);
}

#undef real_exp
#undef real_log
#undef real_tanh
#define real_exp(x) beside(expf(x))
#define real_log(x) beside(logf(x))
#define real_tanh(x) beside(tanhf(x))
#define log(x) beside(std::log(x)) /* log() of a double */

#include "models/devices/cuda.cu"
