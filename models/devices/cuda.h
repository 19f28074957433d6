/**
 * @file cuda.h
 * What the CUDA module exports beside its device, for tests and benches.
 */
#ifndef DSGD_MODELS_DEVICES_CUDA_H
#define DSGD_MODELS_DEVICES_CUDA_H

#include "models/devices/device.h"

typedef struct dsgd_cuda_probe {
    /** Kernels launched so far, by all contexts. */
    uint64_t (*launches)(void);
    /** What a context's workspace may hold at most, in reals; a single operation may need more. */
    void (*limit_workspace)(void *context, size_t n_reals);
    /** Copies n reals by the runtime's own means, and waits: the measure of bandwidth. */
    void (*copy)(void *context, dsgd_buffer to, dsgd_buffer from, size_t n);
} dsgd_cuda_probe;

/** Name of the symbol of type `const dsgd_cuda_probe`. */
#define DSGD_CUDA_PROBE_SYMBOL "dsgd_cuda_probe_module"

#endif
