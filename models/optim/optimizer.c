/**
 * @file optimizer.c
 * Defines the options of an optimizer, and computes its learning-rate schedule.
 */
#include "models/optim/optimizer.h"

const char *const dsgd_optimizer_kinds[] = {"momentum", "nesterov", "adamw", NULL};

static const dsgd_option drop_options[] = {
    DSGD_OPTION_LONG(dsgd_lr_drop, step, 0, 0, 1e12, NULL, "first step with the lower rate",
                     .required = true),
    DSGD_OPTION_DOUBLE(dsgd_lr_drop, factor, 0, 0, 1e6, NULL, "factor on the learning rate",
                       .required = true),
    DSGD_OPTION_END,
};

static const char *const usual_words[] = {"usual", NULL};

const dsgd_option dsgd_optimizer_options[] = {
    DSGD_OPTION_CHOICE(
        dsgd_optimizer, kind, dsgd_optimizer_kinds,
        "momentum: SGD with momentum; nesterov: with Nesterov momentum; adamw: AdamW"),
    DSGD_OPTION_DOUBLE(dsgd_optimizer, lr, 0, 0, 1e100, NULL, "learning rate after warm-up",
                       .required = true),
    DSGD_OPTION_DOUBLE(dsgd_optimizer, momentum, -1, 0, 1, NULL,
                       "momentum factor; for adamw beta1. usual: 0.9 for adamw, else 0",
                       .words = usual_words),
    DSGD_OPTION_DOUBLE(dsgd_optimizer, beta2, 0.999, 0, 1, NULL,
                       "decay factor of the second moment (adamw)"),
    DSGD_OPTION_DOUBLE(dsgd_optimizer, epsilon, 1e-8, 0, 1, NULL,
                       "constant added to the root of the second moment (adamw)"),
    DSGD_OPTION_DOUBLE(dsgd_optimizer, weight_decay, 0, 0, 1e6, NULL,
                       "weight decay: this factor times the weights is added to the gradient; for "
                       "adamw decoupled from it"),
    DSGD_OPTION_DOUBLE(
        dsgd_optimizer, clip, 0, 0, 1e100, NULL,
        "gradient clipping: largest norm of a gradient; a chunk gets its share. 0: no clipping"),
    DSGD_OPTION_AS("warmup", LONG, dsgd_optimizer, warmup_steps,
                   "warm-up steps, during which the learning rate rises linearly", .max = 1e12,
                   .unit = "steps"),
    DSGD_OPTION_STRUCTS(dsgd_optimizer, decay, dsgd_lr_drop, drop_options,
                        "step decay of the learning rate"),
    DSGD_OPTION_END,
};

dsgd_optimizer dsgd_optimizer_resolved(const dsgd_optimizer *optimizer)
{
    dsgd_optimizer resolved = *optimizer;
    if (resolved.momentum < 0)
        resolved.momentum = resolved.kind == DSGD_OPTIMIZER_ADAMW ? 0.9 : 0;
    return resolved;
}

double dsgd_optimizer_lr(const dsgd_optimizer *optimizer, int64_t step)
{
    if (step < optimizer->warmup_steps)
        return optimizer->lr * (double)(step + 1) / (double)(optimizer->warmup_steps + 1);
    double lr = optimizer->lr;
    const dsgd_lr_drop *const drops = optimizer->decay.v;
    for (size_t i = 0; i < optimizer->decay.n; i++)
        if (step >= drops[i].step)
            lr *= drops[i].factor;
    return lr;
}

uint32_t dsgd_optimizer_states(const dsgd_optimizer *optimizer)
{
    if (optimizer->kind == DSGD_OPTIMIZER_ADAMW)
        return 2;
    return optimizer->momentum != 0 ? 1 : 0;
}
