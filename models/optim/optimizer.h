/**
 * @file optimizer.h
 * The optimizer of a worker: options, learning-rate schedule and state. models/layers/formula.h has
 * the formulas of an update.
 */
#pragma once

#include "base/option.h"

typedef enum dsgd_optimizer_kind {
    DSGD_OPTIMIZER_MOMENTUM, /* SGD with momentum, like torch.optim.SGD */
    DSGD_OPTIMIZER_NESTEROV, /* SGD with Nesterov momentum, like torch.optim.SGD(nesterov=True) */
    DSGD_OPTIMIZER_ADAMW
} dsgd_optimizer_kind;

/** A drop of the learning rate. From step `step` on, the rate is multiplied by `factor`. */
typedef struct dsgd_lr_drop {
    int64_t step; /* first step of the worker with the lower learning rate */
    double factor;
} dsgd_lr_drop;

/** The options of an optimizer. dsgd_optimizer_options fills them in. */
typedef struct dsgd_optimizer {
    dsgd_optimizer_kind kind;
    double lr; /* learning rate after warm-up */
    double momentum; /* factor of the momentum, or beta1 of ADAMW; if negative,
                      * dsgd_optimizer_resolved() sets the default */
    double beta2, epsilon; /* decay of the second moment, and constant that is added to its root;
                            * only for ADAMW */
    double weight_decay;
    /*
     * Largest norm of a gradient, or 0 for no clipping. The norm of a chunk with n of the N
     * elements is limited to clip * sqrt(n / N).
     */
    double clip;
    int64_t warmup_steps; /* number of steps in which the learning rate rises linearly from lr /
                           * (warmup_steps + 1) to lr */
    dsgd_structs decay; /* list of drops of the learning rate, of type dsgd_lr_drop */
} dsgd_optimizer;

extern const char *const dsgd_optimizer_kinds[]; /* names of the kinds of optimizers; NULL ends the
                                                  * list */
extern const dsgd_option dsgd_optimizer_options[];

/**
 * Returns the optimizer with the default momentum if no momentum is given. The default is 0.9 for
 * ADAMW, else 0.
 */
dsgd_optimizer dsgd_optimizer_resolved(const dsgd_optimizer *optimizer);

/**
 * Returns the learning rate of step @p step of a worker. Steps count from 0. The rate first rises
 * during the warm-up. Then each drop lowers it.
 */
double dsgd_optimizer_lr(const dsgd_optimizer *optimizer, int64_t step);

/**
 * Returns the number of state vectors of a resolved optimizer: 1 for SGD with a momentum that is
 * not 0, 2 for ADAMW, else 0.
 */
uint32_t dsgd_optimizer_states(const dsgd_optimizer *optimizer);
