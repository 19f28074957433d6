/**
 * @file philox.h Computes the random bits of every draw (draw.h). The functions are inline, so that
 * CUDA kernels can use them, too. DSGD_DEVICE_FUNCTION is the qualifier of functions on the device.
 */
#pragma once

#include <Random123/philox.h>
#include <stdint.h>

#ifndef DSGD_DEVICE_FUNCTION
#define DSGD_DEVICE_FUNCTION
#endif

static inline DSGD_DEVICE_FUNCTION uint64_t dsgd_philox_bits(uint64_t seed, uint32_t purpose,
                                                             uint32_t worker, uint32_t step,
                                                             uint32_t index)
{
    const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    const philox4x32_ctr_t counter = {{purpose, worker, step, index}};
    const philox4x32_ctr_t bits = philox4x32(counter, key);
    return (uint64_t)bits.v[0] << 32 | bits.v[1];
}

/**
 * Returns the middle of one of 2^53 equal intervals of (0, 1). The result is never 0 and never 1.
 */
static inline DSGD_DEVICE_FUNCTION double
dsgd_philox_uniform(uint64_t seed, uint32_t purpose, uint32_t worker, uint32_t step, uint32_t index)
{
    return ((double)(dsgd_philox_bits(seed, purpose, worker, step, index) >> 11) + 0.5) *
           (1.0 / 9007199254740992.0);
}
