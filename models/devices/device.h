/**
 * @file device.h
 * A device computes gradients, updates, linear combinations, encodings, evaluations and distances.
 * It is a table of functions. The CPU has two tables, for float and double. CUDA has one, for
 * float, in a module that is loaded at run time.
 *
 * Every device guarantees the following. An operation is a pure function of its buffers. Its result
 * does not depend on the other operations of the same call, on the thread, or on the number of
 * threads. Non-finite values propagate and are reported. Different devices need not give equal
 * bits. However, updates, combinations and encodings have equal bits on CPU and CUDA in float.
 */
#pragma once

#include "base/status.h"
#include "models/codecs/codec.h"
#include "models/data/data.h"
#include "models/optim/optimizer.h"
#include "models/zoo/model.h"

/** Version of this interface. dsgd_device_cuda() rejects a module with a different version. */
enum { DSGD_DEVICE_ABI = 8 };

enum { DSGD_MOST_GPUS = 16 };

/**
 * The place where a context computes, and its share of the GPU. If all members are 0, the context
 * uses the first GPU and its free memory.
 */
typedef struct dsgd_device_place {
    uint32_t index; /* number of the GPU, taken modulo the number of GPUs */
    bool shares_cores; /* whether other processes use the same cores, so that a wait must sleep
                        * instead of spinning */
    size_t bytes; /* bytes of GPU memory for data and workspace; 0 means nine tenths of the free
                   * memory */
} dsgd_device_place;

/**
 * The GPUs of this machine and the free memory of each, in bytes. 0 means that a GPU cannot be
 * opened.
 */
typedef struct dsgd_device_survey {
    uint32_t n;
    size_t free_bytes[DSGD_MOST_GPUS];
} dsgd_device_survey;

/** The problem that a context computes. The caller owns it, and it must outlive the context. */
typedef struct dsgd_problem {
    const dsgd_network *network;
    const dsgd_data *data;
    size_t n_pieces;
    /*
     * Limits of the chunks, n_pieces + 1 entries. Chunk k, which can be empty, is x[piece_begin[k]]
     * to x[piece_begin[k + 1] - 1].
     */
    const size_t *piece_begin;
    dsgd_optimizer update; /* optimizer, in which values have replaced the defaults */
} dsgd_problem;

/**
 * Device memory for the reals of one chunk, of its optimizer state, or of a model state. The caller
 * owns the buffer (alloc, release). If an input is NULL, the input is a chunk of zeros.
 */
typedef void *dsgd_buffer;

/**
 * A gradient: g <- gradient at x of the mean loss over the samples. The operation also sets
 * state_new to the state after the batch.
 */
typedef struct dsgd_gradient_op {
    const dsgd_buffer *x; /* chunks of the model; n_pieces entries */
    const dsgd_buffer *g; /* chunks of the gradient, n_pieces entries; if NULL, the gradient is not
                           * written */
    dsgd_buffer state, state_new; /* model state before and after the batch, n_state reals each;
                                   * NULL if the network has no state */
    const uint32_t *samples; /* indices into the training set; n_samples entries */
    uint32_t n_samples;
} dsgd_gradient_op;

/**
 * An update of one chunk: (x, v, g) -> (x_new, v_new). v and v_new are NULL if the optimizer has no
 * state.
 */
typedef struct dsgd_update_op {
    size_t n; /* number of reals in the chunk */
    dsgd_buffer x, g; /* model and gradient, n reals each */
    dsgd_buffer v; /* state of the optimizer, [dsgd_optimizer_states()][n] */
    dsgd_buffer x_new, v_new; /* new model and new state of the optimizer, as large as x and v */
    double lr; /* learning rate of this step */
    uint64_t t; /* number of the step, from 1; only for ADAMW */
} dsgd_update_op;

/**
 * A combination: y <- (sum_i weights[i] x[i]) / divisor for one chunk, summed in order in double.
 */
typedef struct dsgd_combine_op {
    size_t n; /* number of reals in the chunk */
    uint32_t n_inputs;
    const dsgd_buffer *x; /* inputs; n_inputs entries */
    const double *weights; /* weight of each input; n_inputs entries */
    double divisor;
    dsgd_buffer y; /* result of n reals */
} dsgd_combine_op;

/**
 * An encoding: y <- Q(x) for one chunk. Some codecs have a second input z (models/codecs/codec.h).
 */
typedef struct dsgd_encode_op {
    size_t n; /* number of reals in the chunk, at least 1 */
    dsgd_buffer x, z; /* inputs of n reals; NULL if the codec has no such input */
    dsgd_codec codec;
    dsgd_buffer y; /* result of n reals */
} dsgd_encode_op;

/**
 * An evaluation: loss, accuracy <- means at x over the test set, or over given samples of a set.
 * The accuracy is in [0, 1], or NAN for regression.
 */
typedef struct dsgd_evaluate_op {
    const dsgd_buffer *x; /* chunks of the model; n_pieces entries */
    dsgd_buffer state; /* model state; NULL if the network has none */
    const uint32_t *samples; /* n_samples indices into a set; NULL for the whole test set */
    uint32_t n_samples;
    bool of_test; /* true if the indices refer to the test set, false if they refer to the training
                   * set */
    double loss, accuracy;
} dsgd_evaluate_op;

/** A distance: distance <- sum of (x - y)^2 over the reals of one chunk, in double. */
typedef struct dsgd_distance_op {
    size_t n;
    dsgd_buffer x, y;
    double distance;
} dsgd_distance_op;

typedef struct dsgd_device {
    uint32_t abi; /* version of the interface, DSGD_DEVICE_ABI */
    const char *name;
    size_t real_bytes; /* bytes per element of a buffer */
    uint32_t batch; /* number of operations per call at which the fixed cost of a call is small */
    bool threaded; /* true if several threads can run operations at the same time */

    /**
     * Opens a context for n_threads threads. If @p place is NULL, all members of the place are 0.
     * Returns DSGD_EDEVICE if the device is missing, has no memory for the data, or does not
     * compute.
     */
    dsgd_status (*open)(const dsgd_problem *problem, const dsgd_device_place *place,
                        uint32_t n_threads, void **context, dsgd_error *error);
    void (*close)(void *context);

    /* The pointers `room` and `survey` are NULL if buffers are in host memory. */

    /** Returns the number of bytes that the buffers of a context may occupy. */
    size_t (*room)(void *context);
    /** Finds the GPUs of the machine and their free memory. */
    void (*survey)(dsgd_device_survey *survey);

    /*
     * The functions alloc, release, put and get can run during an operation of another thread, but
     * not at the same time as each other.
     */

    /** Returns an uninitialised buffer of n reals, or NULL if the memory is exhausted. */
    dsgd_buffer (*alloc)(void *context, size_t n);
    void (*release)(void *context, dsgd_buffer buffer);
    /** Copies from[n] to the buffer @p to, rounded to reals. */
    void (*put)(void *context, dsgd_buffer to, const double *from, size_t n);
    /** Copies n reals of the buffer @p from to to[n]. */
    void (*get)(void *context, double *to, dsgd_buffer from, size_t n);

    /*
     * Each of the next six functions runs n_ops operations and returns when they are done, unless
     * `ahead` allows more. @p thread, in [0, n_threads), selects scratch memory. finite[i] becomes
     * true if all elements that operation i wrote are finite.
     */
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
     * Sets the number of calls with finite[] that may return before their operations are done: 0 or
     * 1, initially 0. Operations and copies are still computed in the order of the calls. finite[]
     * of a call is written before the next call returns, and must exist until then. If more than @p
     * calls calls are running, waits for the oldest ones. The pointer is NULL if every call returns
     * when its operations are done.
     */
    void (*ahead)(void *context, uint32_t calls);
} dsgd_device;

/**
 * Returns the CPU device, compiled for the highest x86-64 level of this machine: v4 (AVX-512), v3
 * (AVX2 with FMA) or base. The environment variable DSGD_CPU_LEVEL selects a lower level. v3 and v4
 * give the same bits.
 */
const dsgd_device *dsgd_device_cpu(bool in_double);

/** Returns the level that dsgd_device_cpu() uses: "base", "v3" or "v4". */
const char *dsgd_device_cpu_level(void);

/** Name of the symbol that a module exports, of type `const dsgd_device`. */
#define DSGD_DEVICE_SYMBOL "dsgd_device_module"

/**
 * Loads the CUDA module. Returns DSGD_EDEVICE if the module does not exist. Loading does not check
 * for a GPU; only open() does.
 */
dsgd_status dsgd_device_cuda(const dsgd_device **device, dsgd_error *error);

/**
 * Tries to open every GPU. Uses a child process, because a process that has used CUDA must not
 * fork. Returns DSGD_EDEVICE if no GPU can be opened. @p survey may be NULL.
 */
dsgd_status dsgd_device_cuda_try(dsgd_device_survey *survey, dsgd_error *error);

/**
 * Values of option `numerics`. AUTO means CUDA if a GPU can be opened and the precision is float,
 * otherwise the CPU. A command decides once for all its runs, because runs of one table could
 * otherwise have different bits.
 */
typedef enum dsgd_numerics {
    DSGD_NUMERICS_AUTO,
    DSGD_NUMERICS_CPU,
    DSGD_NUMERICS_CUDA,
    DSGD_NUMERICS_OFF
} dsgd_numerics;

/**
 * Returns the device for AUTO: CUDA if @p has_cuda is true and the precision is float, otherwise
 * the CPU. Returns @p wanted if it is not AUTO.
 */
dsgd_numerics dsgd_numerics_resolved(dsgd_numerics wanted, bool has_cuda, bool in_double);
