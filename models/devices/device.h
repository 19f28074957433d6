/**
 * @file device.h
 * A device computes gradients, updates, linear combinations, encodings, evaluations and distances.
 * It is a table of functions. The CPU has two tables (float and double). CUDA is a module that is
 * loaded at run time (float).
 *
 * Guarantees: an operation is a pure function of its buffers. Its result does not depend on the
 * other operations of the same call, on the thread, or on the number of threads. Non-finite values
 * propagate and are reported. Different devices need not give equal bits, except for updates,
 * combinations and encodings on CPU and CUDA in float.
 */
#pragma once

#include "base/status.h"
#include "models/codecs/codec.h"
#include "models/data/data.h"
#include "models/optim/optimizer.h"
#include "models/zoo/model.h"

/** Version of this file: dsgd_device_cuda() rejects a module with a different version. */
enum { DSGD_DEVICE_ABI = 8 };

enum { DSGD_MOST_GPUS = 16 };

/** Where a context computes, and its share of the GPU. Zeros: the first GPU, with its free memory.
 */
typedef struct dsgd_device_place {
    uint32_t index; /* of the GPU, modulo their number */
    bool
        shares_cores; /* other processes use the same cores, so a wait sleeps instead of spinning */
    size_t
        bytes; /* of GPU memory, including data and workspace; 0: nine tenths of the free memory */
} dsgd_device_place;

/** The GPUs of this machine and their free memory; 0 if a GPU cannot be opened. */
typedef struct dsgd_device_survey {
    uint32_t n;
    size_t free_bytes[DSGD_MOST_GPUS];
} dsgd_device_survey;

/** The problem of a context. The caller owns it, and it outlives the context. */
typedef struct dsgd_problem {
    const dsgd_network *network;
    const dsgd_data *data;
    size_t n_pieces;
    /* [n_pieces + 1]: chunk k, which can be empty, is x[piece_begin[k]] to x[piece_begin[k + 1] -
     * 1] */
    const size_t *piece_begin;
    dsgd_optimizer update; /* resolved */
} dsgd_problem;

/**
 * Device memory of the reals of one chunk, of its optimizer state, or of a model state. As an
 * input, NULL is a chunk of zeros. The caller owns it (alloc, release).
 */
typedef void *dsgd_buffer;

/** g <- gradient of the mean loss over the samples at x; state_new <- state after the batch. */
typedef struct dsgd_gradient_op {
    const dsgd_buffer *x; /* [n_pieces] */
    const dsgd_buffer *g; /* [n_pieces], written; a NULL entry is discarded */
    dsgd_buffer state, state_new; /* [n_state]; NULL if the network has no state */
    const uint32_t *samples; /* [n_samples] indices into the training set */
    uint32_t n_samples;
} dsgd_gradient_op;

/** One update of one chunk: (x, v, g) -> (x_new, v_new). v and v_new are NULL without state. */
typedef struct dsgd_update_op {
    size_t n; /* reals in the chunk */
    dsgd_buffer x, g; /* [n] */
    dsgd_buffer v; /* [dsgd_optimizer_states()][n] */
    dsgd_buffer x_new, v_new; /* like x and v */
    double lr; /* learning rate of this step */
    uint64_t t; /* number of the step, from 1 (ADAMW) */
} dsgd_update_op;

/** y <- (sum_i weights[i] x[i]) / divisor for one chunk, summed in order in double. */
typedef struct dsgd_combine_op {
    size_t n; /* reals in the chunk */
    uint32_t n_inputs;
    const dsgd_buffer *x; /* [n_inputs] */
    const double *weights; /* [n_inputs] */
    double divisor;
    dsgd_buffer y; /* [n] */
} dsgd_combine_op;

/** y <- Q(x) for one chunk; some codecs have a second input z (models/codecs/codec.h). */
typedef struct dsgd_encode_op {
    size_t n; /* reals in the chunk, at least 1 */
    dsgd_buffer x, z; /* [n]; NULL if the codec has no such input */
    dsgd_codec codec;
    dsgd_buffer y; /* [n] */
} dsgd_encode_op;

/**
 * loss, accuracy <- means at x over the test set, or over samples of one of the sets. The accuracy
 * is in [0, 1], or NAN for regression.
 */
typedef struct dsgd_evaluate_op {
    const dsgd_buffer *x; /* [n_pieces] */
    dsgd_buffer state; /* NULL if the network has none */
    const uint32_t *samples; /* [n_samples] indices into a set; NULL: the whole test set */
    uint32_t n_samples;
    bool of_test; /* the indices are into the test set, not the training set */
    double loss, accuracy;
} dsgd_evaluate_op;

/** distance <- sum of (x - y)^2 over the reals of one chunk, in double. */
typedef struct dsgd_distance_op {
    size_t n;
    dsgd_buffer x, y;
    double distance;
} dsgd_distance_op;

typedef struct dsgd_device {
    uint32_t abi; /* DSGD_DEVICE_ABI */
    const char *name;
    size_t real_bytes; /* of one element of a buffer */
    uint32_t batch; /* operations per call that amortise the cost of the call */
    bool threaded; /* operations can run on several threads at once; otherwise on one */

    /**
     * Opens a context for n_threads threads. A NULL @p place means zeros. Returns DSGD_EDEVICE if
     * the device is missing, has no memory for the data, or does not compute.
     */
    dsgd_status (*open)(const dsgd_problem *problem, const dsgd_device_place *place,
                        uint32_t n_threads, void **context, dsgd_error *error);
    void (*close)(void *context);

    /* The next two are NULL if buffers are host memory. */

    /** Returns the bytes of buffers that a context may hold. */
    size_t (*room)(void *context);
    /** Finds the GPUs of the machine and their free memory. */
    void (*survey)(dsgd_device_survey *survey);

    /* The next four can run during an operation of another thread, but not during each other. */

    /** Returns an uninitialised buffer of n reals, or NULL if the memory is exhausted. */
    dsgd_buffer (*alloc)(void *context, size_t n);
    void (*release)(void *context, dsgd_buffer buffer);
    /** to[n] <- from[n], rounded to reals. */
    void (*put)(void *context, dsgd_buffer to, const double *from, size_t n);
    /** to[n] <- from[n]. */
    void (*get)(void *context, double *to, dsgd_buffer from, size_t n);

    /* Each of these runs n_ops operations and returns when they are done. @p thread, in
     * [0, n_threads), selects scratch memory. finite[i] <- true if all elements that operation i
     * wrote are finite. */
    void (*gradient)(void *context, uint32_t thread, const dsgd_gradient_op *ops, size_t n_ops,
                     bool *finite);
    void (*update)(void *context, uint32_t thread, const dsgd_update_op *ops, size_t n_ops,
                   bool *finite);
    void (*combine)(void *context, uint32_t thread, const dsgd_combine_op *ops, size_t n_ops,
                    bool *finite);
    void (*evaluate)(void *context, uint32_t thread, dsgd_evaluate_op *ops, size_t n_ops);
    void (*distance)(void *context, uint32_t thread, dsgd_distance_op *ops, size_t n_ops);
    void (*encode)(void *context, uint32_t thread, const dsgd_encode_op *ops, size_t n_ops,
                   bool *finite);

    /**
     * Sets the number of calls with finite[] that may return before they are done: 0 or 1, at first
     * 0. Operations and copies are still computed in the order of the calls. finite[] of a call is
     * written before the next call returns, and must exist until then. Waits for calls in flight
     * above this number. NULL if every call returns when its operations are done.
     */
    void (*ahead)(void *context, uint32_t calls);
} dsgd_device;

/**
 * Returns the CPU device, compiled for the highest x86-64 level of this machine: v4 (AVX-512), v3
 * (AVX2 with FMA) or base. The environment variable DSGD_CPU_LEVEL selects a lower one. v3 and v4
 * give the same bits.
 */
const dsgd_device *dsgd_device_cpu(bool in_double);

/** Returns the level in use: "base", "v3" or "v4". */
const char *dsgd_device_cpu_level(void);

/** The symbol that a module exports, of type `const dsgd_device`. */
#define DSGD_DEVICE_SYMBOL "dsgd_device_module"

/** Loads the CUDA module, or returns DSGD_EDEVICE. Only open() finds out whether there is a GPU. */
dsgd_status dsgd_device_cuda(const dsgd_device **device, dsgd_error *error);

/**
 * Tries to open every GPU, in a child process, because a process that has used CUDA must not fork.
 * Returns DSGD_EDEVICE if no GPU can be opened. @p survey may be NULL.
 */
dsgd_status dsgd_device_cuda_try(dsgd_device_survey *survey, dsgd_error *error);

/**
 * The option `numerics`. AUTO: CUDA if it can be opened and the precision is float, otherwise the
 * CPU. A command decides once for all its runs; otherwise runs of one table could have different
 * bits.
 */
typedef enum dsgd_numerics {
    DSGD_NUMERICS_AUTO,
    DSGD_NUMERICS_CPU,
    DSGD_NUMERICS_CUDA,
    DSGD_NUMERICS_OFF
} dsgd_numerics;

/** Returns the device for AUTO, depending on whether dsgd_device_cuda_try() found a GPU; otherwise
 * @p wanted. */
dsgd_numerics dsgd_numerics_resolved(dsgd_numerics wanted, bool has_cuda, bool in_double);
