/**
 * @file optimizer.h
 * A local optimizer: its options, learning-rate schedule and state. The formulas of its update are
 * in models/layers/formula.h.
 */
#pragma once

#include "base/option.h"

typedef enum dsgd_optimizer_kind {
    DSGD_OPTIMIZER_MOMENTUM, /* SGD; torch.optim.SGD */
    DSGD_OPTIMIZER_NESTEROV, /* torch.optim.SGD(nesterov=True) */
    DSGD_OPTIMIZER_ADAMW
} dsgd_optimizer_kind;

/** One drop of a step schedule: from `step` on, the learning rate is multiplied by `factor`. */
typedef struct dsgd_lr_drop {
    int64_t step; /* of the worker */
    double factor;
} dsgd_lr_drop;

/** Filled by dsgd_optimizer_options. */
typedef struct dsgd_optimizer {
    dsgd_optimizer_kind kind;
    double lr; /* after warm-up */
    double momentum; /* beta1 of ADAMW; negative: see dsgd_optimizer_resolved() */
    double beta2, epsilon; /* of ADAMW */
    double weight_decay;
    /* Largest norm of a gradient; of a piece of n of its N elements, clip * sqrt(n / N). 0: any. */
    double clip;
    int64_t warmup_steps; /* lr rises linearly from lr / (warmup_steps + 1) */
    dsgd_structs decay; /* of dsgd_lr_drop */
} dsgd_optimizer;

extern const char *const dsgd_optimizer_kinds[]; /* by dsgd_optimizer_kind; NULL-terminated */
extern const dsgd_option dsgd_optimizer_options[];

/** The optimizer with its usual momentum where none is given: beta1 = 0.9 of ADAMW, else 0. */
dsgd_optimizer dsgd_optimizer_resolved(const dsgd_optimizer *optimizer);

/** Learning rate of a worker's step (from 0): linear warm-up, then the drops. */
double dsgd_optimizer_lr(const dsgd_optimizer *optimizer, int64_t step);

/** Vectors of state of a resolved optimizer, in one buffer a piece: 0, 1 (momentum), 2 (ADAMW). */
uint32_t dsgd_optimizer_states(const dsgd_optimizer *optimizer);
