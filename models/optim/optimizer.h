/**
 * @file optimizer.h
 * The optimizer of a worker: options, learning-rate schedule and state. models/layers/formula.h has
 * the formulas of an update.
 */
#pragma once

#include "base/option.h"

typedef enum dsgd_optimizer_kind {
    DSGD_OPTIMIZER_MOMENTUM, /* SGD; torch.optim.SGD */
    DSGD_OPTIMIZER_NESTEROV, /* torch.optim.SGD(nesterov=True) */
    DSGD_OPTIMIZER_ADAMW
} dsgd_optimizer_kind;

/** A drop of the learning rate, which is multiplied by `factor` from `step` on. */
typedef struct dsgd_lr_drop {
    int64_t step; /* of the worker */
    double factor;
} dsgd_lr_drop;

/** An optimizer, filled by dsgd_optimizer_options. */
typedef struct dsgd_optimizer {
    dsgd_optimizer_kind kind;
    double lr; /* after warm-up */
    double momentum; /* for ADAMW beta1; below 0: see dsgd_optimizer_resolved() */
    double beta2, epsilon; /* for ADAMW */
    double weight_decay;
    /* Largest norm of a gradient; for a chunk with n of its N elements, clip * sqrt(n / N). 0:
     * none. */
    double clip;
    int64_t warmup_steps; /* the rate rises linearly, from lr / (warmup_steps + 1) */
    dsgd_structs decay; /* of dsgd_lr_drop */
} dsgd_optimizer;

extern const char
    *const dsgd_optimizer_kinds[]; /* indexed by dsgd_optimizer_kind; NULL-terminated */
extern const dsgd_option dsgd_optimizer_options[];

/** Returns the optimizer with its default momentum if none is given: 0.9 for ADAMW, else 0. */
dsgd_optimizer dsgd_optimizer_resolved(const dsgd_optimizer *optimizer);

/** Returns the learning rate of a worker's step (from 0): linear warm-up, then the drops. */
double dsgd_optimizer_lr(const dsgd_optimizer *optimizer, int64_t step);

/** Returns the number of state vectors of a resolved optimizer: 0, 1 (momentum) or 2 (ADAMW). */
uint32_t dsgd_optimizer_states(const dsgd_optimizer *optimizer);
