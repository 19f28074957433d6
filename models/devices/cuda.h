/**
 * @file cuda.h
 * What the CUDA module exports besides its device, for tests and measuring programs.
 */
#pragma once

#include "models/devices/device.h"

typedef struct dsgd_cuda_probe {
    /** Kernel launches so far, by all contexts. */
    uint64_t (*launches)(void);
    /** Bounds the workspace of a context, in reals; a single operation may exceed it. */
    void (*limit_workspace)(void *context, size_t n_reals);
    /** Bounds the shared memory of a block; 0: a launch for each product of an MLP, too. */
    void (*limit_block)(void *context, size_t bytes);
    /** Copies n reals by cudaMemcpyAsync() and waits: the reference for bandwidth. */
    void (*copy)(void *context, dsgd_buffer to, dsgd_buffer from, size_t n);
} dsgd_cuda_probe;

/** Name of the symbol of type `const dsgd_cuda_probe`. */
#define DSGD_CUDA_PROBE_SYMBOL "dsgd_cuda_probe_module"
