/**
 * @file cuda.h
 * Functions that the CUDA module exports for tests and benchmarks, in addition to its device.
 */
#pragma once

#include "models/devices/device.h"

typedef struct dsgd_cuda_probe {
    /** Returns the number of kernel launches of all contexts so far. */
    uint64_t (*launches)(void);
    /** Limits the workspace of a context, in reals. A single operation may exceed the limit. */
    void (*limit_workspace)(void *context, size_t n_reals);
    /**
     * Limits the shared memory of a block, in bytes. If @p bytes is 0, each product of an MLP has
     * its own launch.
     */
    void (*limit_block)(void *context, size_t bytes);
    /**
     * Copies n reals with cudaMemcpyAsync() and waits. Benchmarks use it as a reference for the
     * bandwidth.
     */
    void (*copy)(void *context, dsgd_buffer to, dsgd_buffer from, size_t n);
} dsgd_cuda_probe;

/** Name of the exported symbol of type `const dsgd_cuda_probe`. */
#define DSGD_CUDA_PROBE_SYMBOL "dsgd_cuda_probe_module"
