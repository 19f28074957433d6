/**
 * @file device.h
 * Where numbers are computed: one table of operations per device. The CPU's two (float and double) come from one text; the
 * CUDA one is a module loaded at run time. All operations are pure functions of buffers, and the result of an operation does not depend
 * on which others are handed over in the same call, or on which thread.
 */
#ifndef DSGD_MODELS_DEVICES_DEVICE_H
#define DSGD_MODELS_DEVICES_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "models/data/data.h"
#include "models/optim/optimizer.h"
#include "models/zoo/model.h"

/** Grows when this file changes, so that a stale module is refused. */
enum { DSGD_DEVICE_ABI = 3 };

/** What all operations of a run have in common. Not owned; outlives the device. */
typedef struct dsgd_problem {
    const dsgd_network *network;
    const dsgd_data *data;
    size_t n_pieces;
    const size_t *
        piece_begin; /* [n_pieces + 1]; piece k holds parameters [piece_begin[k], piece_begin[k + 1]); may be empty */
    dsgd_optimizer update; /* resolved */
} dsgd_problem;

/** A buffer on the device: the reals of one piece, of its optimizer state, or of a model state. NULL stands for a piece of zeros, in inputs only. */
typedef void *dsgd_buffer;

/** g <- mean over the samples of the gradient of the loss at x; state_new <- what the batch makes of state. */
typedef struct dsgd_gradient_op {
    const dsgd_buffer *x; /* [n_pieces] */
    const dsgd_buffer
        *g; /* [n_pieces], written; an entry may be NULL where nobody wants that piece */
    dsgd_buffer state, state_new; /* NULL where the network has none */
    const uint32_t *samples; /* [n_samples] indices into the training set */
    uint32_t n_samples;
} dsgd_gradient_op;

/** One step of the optimizer, from x to x_new and from v to v_new. One piece. Without state v and v_new are NULL. */
typedef struct dsgd_update_op {
    size_t n; /* reals in the piece */
    dsgd_buffer x, g, v;
    dsgd_buffer x_new, v_new;
    double lr;
    uint64_t t; /* which step of this state, from 1; ADAMW */
} dsgd_update_op;

/** y <- sum_i weight[i] x[i] / divisor, summed in order i = 0, 1, ... in double. One piece. */
typedef struct dsgd_combine_op {
    size_t n;
    uint32_t n_inputs;
    const dsgd_buffer *x; /* [n_inputs] */
    const double *weights; /* [n_inputs] */
    double divisor;
    dsgd_buffer y;
} dsgd_combine_op;

/** Loss and accuracy of x over the whole test set (accuracy is NAN for regression). */
typedef struct dsgd_evaluate_op {
    const dsgd_buffer *x; /* [n_pieces] */
    dsgd_buffer state; /* NULL where the network has none */
    double loss, accuracy;
} dsgd_evaluate_op;

/** distance <- sum over the reals of (x - y)^2, in double. One piece. */
typedef struct dsgd_distance_op {
    size_t n;
    dsgd_buffer x, y;
    double distance;
} dsgd_distance_op;

typedef struct dsgd_device {
    uint32_t abi; /* DSGD_DEVICE_ABI */
    const char *name;
    const char *summary;
    size_t real_bytes; /* of one number in a buffer */
    uint32_t batch; /* operations worth handing over in one call */
    bool threaded; /* calls may come from several threads at once; else from one at a time */

    /** n_threads contexts for a problem. DSGD_EDEVICE with a sentence where the device is not there. */
    dsgd_status (*open)(const dsgd_problem *problem, uint32_t n_threads, void **context,
                        dsgd_error *error);
    void (*close)(void *context);

    /* The next four may be called while an operation runs on another thread, but never two of them at once. */

    /** Room for n reals; NULL when the device's memory is full. */
    dsgd_buffer (*alloc)(void *context, size_t n);
    void (*release)(void *context, dsgd_buffer buffer);
    void (*put)(void *context, dsgd_buffer to, const double *from, size_t n);
    void (*get)(void *context, double *to, dsgd_buffer from, size_t n);

    /* Each runs n_ops operations. @p thread in [0, n_threads) names the caller's scratch memory.
     * finite[i] tells whether every number that operation i wrote is finite. */
    void (*gradient)(void *context, uint32_t thread, const dsgd_gradient_op *ops, size_t n_ops,
                     bool *finite);
    void (*update)(void *context, uint32_t thread, const dsgd_update_op *ops, size_t n_ops,
                   bool *finite);
    void (*combine)(void *context, uint32_t thread, const dsgd_combine_op *ops, size_t n_ops,
                    bool *finite);
    void (*evaluate)(void *context, uint32_t thread, dsgd_evaluate_op *ops, size_t n_ops);
    void (*distance)(void *context, uint32_t thread, dsgd_distance_op *ops, size_t n_ops);
} dsgd_device;

/**
 * The CPU, compiled for the highest level of its instruction set that this machine has: v4 (AVX-512), v3 (AVX2 with FMA) or base. The
 * environment's DSGD_CPU_LEVEL can ask for a lower one; v3 and v4 give the same bits.
 */
const dsgd_device *dsgd_device_cpu(bool in_double);
const char *dsgd_device_cpu_level(void);

/** Computes nothing: what is read from it, or evaluated on it, is no number. */
extern const dsgd_device dsgd_device_none;

/** Name of the symbol of type `const dsgd_device` that a module exports. */
#define DSGD_DEVICE_SYMBOL "dsgd_device_module"

/** Loads the CUDA module. DSGD_EDEVICE and a sentence where there is no module in this build or no device on this machine. */
dsgd_status dsgd_device_cuda(const dsgd_device **device, dsgd_error *error);

/** Whether dsgd_device_cuda() gives a device that opens; found out in a process of its own, because CUDA does not survive a fork. */
dsgd_status dsgd_device_cuda_try(dsgd_error *error);

/** What a user asks for; AUTO is CUDA where it is there and the precision is its own, else the CPU. */
typedef enum dsgd_numerics {
    DSGD_NUMERICS_AUTO,
    DSGD_NUMERICS_CPU,
    DSGD_NUMERICS_CUDA,
    DSGD_NUMERICS_OFF
} dsgd_numerics;

#endif
