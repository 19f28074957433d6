/**
 * @file device.h
 * A device computes gradients, updates, linear combinations, encodings, evaluations and distances;
 * it is one table of functions. The CPU has two tables (float, double), CUDA is a module loaded at
 * run time (float).
 *
 * Promises: an operation is a pure function of its buffers. Its result does not depend on the other
 * operations of the same call, on the thread, or on the number of threads. Non-finite values
 * propagate and are reported. Not promised: equal bits on different devices, except for updates,
 * combinations and encodings on CPU and CUDA in float.
 */
#pragma once

#include "base/status.h"
#include "models/codecs/codec.h"
#include "models/data/data.h"
#include "models/optim/optimizer.h"
#include "models/zoo/model.h"

/** Version of this file: dsgd_device_cuda() refuses a module with another. */
enum { DSGD_DEVICE_ABI = 8 };

enum { DSGD_MOST_GPUS = 16 };

/** Where a context computes, and what it may take. Zeros: the first GPU, what is free there. */
typedef struct dsgd_device_place {
    uint32_t index; /* of the GPU, modulo their number */
    bool shares_cores; /* with other processes: a wait sleeps, and does not spin on its core */
    size_t bytes; /* of the GPU's memory, with data and workspace; 0: nine tenths of what is free */
} dsgd_device_place;

/** The GPUs of this machine, and what is free there; 0: it cannot be opened. */
typedef struct dsgd_device_survey {
    uint32_t n;
    size_t free_bytes[DSGD_MOST_GPUS];
} dsgd_device_survey;

/** What a context computes with. The caller owns it; it outlives the context. */
typedef struct dsgd_problem {
    const dsgd_network *network;
    const dsgd_data *data;
    size_t n_pieces;
    /* [n_pieces + 1]: piece k, maybe empty, is x[piece_begin[k]] to x[piece_begin[k + 1] - 1] */
    const size_t *piece_begin;
    dsgd_optimizer update; /* resolved */
} dsgd_problem;

/**
 * Device memory of the reals of one piece, of its optimizer state, or of a model state. As an
 * input, NULL is a piece of zeros. Owned by the caller: alloc and release.
 */
typedef void *dsgd_buffer;

/** g <- gradient of the mean loss over the samples at x; state_new <- state after the batch. */
typedef struct dsgd_gradient_op {
    const dsgd_buffer *x; /* [n_pieces] */
    const dsgd_buffer *g; /* [n_pieces], written; a NULL entry is discarded */
    dsgd_buffer state, state_new; /* [n_state]; NULL where the network has no state */
    const uint32_t *samples; /* [n_samples] indices into the training set */
    uint32_t n_samples;
} dsgd_gradient_op;

/** One step of one piece: (x, v, g) -> (x_new, v_new); v, v_new NULL without state. */
typedef struct dsgd_update_op {
    size_t n; /* reals in the piece */
    dsgd_buffer x, g; /* [n] */
    dsgd_buffer v; /* [dsgd_optimizer_states()][n] */
    dsgd_buffer x_new, v_new; /* like x and v */
    double lr; /* learning rate of this step */
    uint64_t t; /* number of the step, from 1 (ADAMW) */
} dsgd_update_op;

/** y <- (sum_i weights[i] x[i]) / divisor of one piece, summed in order in double. */
typedef struct dsgd_combine_op {
    size_t n; /* reals in the piece */
    uint32_t n_inputs;
    const dsgd_buffer *x; /* [n_inputs] */
    const double *weights; /* [n_inputs] */
    double divisor;
    dsgd_buffer y; /* [n] */
} dsgd_combine_op;

/** y <- Q(x) of one piece; some codecs have a second input z (models/codecs/codec.h). */
typedef struct dsgd_encode_op {
    size_t n; /* reals in the piece, at least 1 */
    dsgd_buffer x, z; /* [n]; NULL where the codec has no such input, or of zeros gives others */
    dsgd_codec codec;
    dsgd_buffer y; /* [n] */
} dsgd_encode_op;

/**
 * loss, accuracy <- means at x over the test set, or over samples of one of the sets; accuracy in
 * [0, 1], NAN for regression.
 */
typedef struct dsgd_evaluate_op {
    const dsgd_buffer *x; /* [n_pieces] */
    dsgd_buffer state; /* NULL where the network has none */
    const uint32_t *samples; /* [n_samples] indices into a set; NULL: all of the test set */
    uint32_t n_samples;
    bool of_test; /* the indices are into the test set, not the training set */
    double loss, accuracy;
} dsgd_evaluate_op;

/** distance <- sum of (x - y)^2 over the reals of one piece, in double. */
typedef struct dsgd_distance_op {
    size_t n;
    dsgd_buffer x, y;
    double distance;
} dsgd_distance_op;

typedef struct dsgd_device {
    uint32_t abi; /* DSGD_DEVICE_ABI */
    const char *name;
    size_t real_bytes; /* of one element of a buffer */
    uint32_t batch; /* operations per call that amortise the cost of a call */
    bool threaded; /* operations may run on several threads at once; else on one at a time */

    /**
     * A context for n_threads threads; @p place NULL: zeros. DSGD_EDEVICE where the device is
     * missing, has no room for the data, or computes nothing.
     */
    dsgd_status (*open)(const dsgd_problem *problem, const dsgd_device_place *place,
                        uint32_t n_threads, void **context, dsgd_error *error);
    void (*close)(void *context);

    /* NULL where buffers are memory of the host. */

    /** Bytes of buffers that a context may hold. */
    size_t (*room)(void *context);
    void (*survey)(dsgd_device_survey *survey);

    /* The next four may run beside an operation of another thread, but not beside each other. */

    /** A buffer of n reals, uninitialised; NULL when the memory is exhausted. */
    dsgd_buffer (*alloc)(void *context, size_t n);
    void (*release)(void *context, dsgd_buffer buffer);
    /** to[n] <- from[n], rounded to reals. */
    void (*put)(void *context, dsgd_buffer to, const double *from, size_t n);
    /** to[n] <- from[n]. */
    void (*get)(void *context, double *to, dsgd_buffer from, size_t n);

    /* Each runs n_ops operations and returns when they are done. @p thread, in [0, n_threads),
     * selects scratch memory. finite[i] <- whether all elements that operation i wrote are
     * finite. */
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
     * NULL where every operation is done when its call returns. Else so many calls that write
     * finite[] may from now on return before they are done, 0 or 1 (0 at first): operations and
     * copies are computed in the order of the calls, finite[] of a call is written by the time the
     * next one returns, and must live until then. Waits for calls that are in flight beyond that.
     */
    void (*ahead)(void *context, uint32_t calls);
} dsgd_device;

/**
 * The CPU, compiled for the highest x86-64 level that this machine has: v4 (AVX-512), v3 (AVX2 with
 * FMA) or base. DSGD_CPU_LEVEL in the environment selects a lower one. v3 and v4 give the same
 * bits.
 */
const dsgd_device *dsgd_device_cpu(bool in_double);

/** The level in use: "base", "v3" or "v4". */
const char *dsgd_device_cpu_level(void);

/** The symbol that a module exports, of type `const dsgd_device`. */
#define DSGD_DEVICE_SYMBOL "dsgd_device_module"

/** Loads the CUDA module, or DSGD_EDEVICE. open() finds out whether there is a GPU. */
dsgd_status dsgd_device_cuda(const dsgd_device **device, dsgd_error *error);

/**
 * Tries to open every GPU, in a child process: a process that has used CUDA must not fork.
 * DSGD_EDEVICE if none opens. @p survey may be NULL.
 */
dsgd_status dsgd_device_cuda_try(dsgd_device_survey *survey, dsgd_error *error);

/**
 * The option `numerics`; AUTO: CUDA if it opens and the precision is float, else the CPU. A command
 * finds out once for all that it computes, or runs of one table would have other bits.
 */
typedef enum dsgd_numerics {
    DSGD_NUMERICS_AUTO,
    DSGD_NUMERICS_CPU,
    DSGD_NUMERICS_CUDA,
    DSGD_NUMERICS_OFF
} dsgd_numerics;

/** What AUTO is where dsgd_device_cuda_try() has found a GPU, or none; else @p wanted. */
dsgd_numerics dsgd_numerics_resolved(dsgd_numerics wanted, bool has_cuda, bool in_double);
