/**
 * @file formula.h
 * The formulas of activations, losses and optimizers, written once and compiled for float, double
 * and CUDA.
 */
#pragma once

#include "base/real.h"
#include "models/optim/optimizer.h"

/** Returns max(z, 0). NaN propagates, so that a divergence remains visible. */
static inline DSGD_DEVICE_FUNCTION real dsgd_relu(real z)
{
    return z < (real)0 ? (real)0 : z;
}

/**
 * Returns the gradient of the input of a ReLU. @p a is the output of the ReLU, and @p dz the
 * gradient of this output.
 */
static inline DSGD_DEVICE_FUNCTION real dsgd_relu_backward(real a, real dz)
{
    return a > (real)0 ? dz : (real)0;
}

/**
 * Returns the index of the largest element of z[n]. If several elements are equal, returns the
 * first index.
 */
static inline DSGD_DEVICE_FUNCTION uint32_t dsgd_likeliest(const real *z, uint32_t n)
{
    uint32_t largest = 0;
    for (uint32_t j = 1; j < n; j++)
        largest = z[j] > z[largest] ? j : largest;
    return largest;
}

/**
 * Computes dz[n] <- scale * (softmax(z) - onehot(label)). Returns the loss -log softmax(z)[label].
 * @p dz may be equal to @p z.
 */
static inline DSGD_DEVICE_FUNCTION double dsgd_cross_entropy(const real *z, real *dz, uint32_t n,
                                                             uint32_t label, real scale)
{
    real largest = z[0];
    for (uint32_t i = 1; i < n; i++)
        largest = z[i] > largest ? z[i] : largest;
    real sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += real_exp(z[i] - largest);
    const double loss = log((double)sum) - (double)(z[label] - largest);
    for (uint32_t i = 0; i < n; i++)
        dz[i] = scale * (real_exp(z[i] - largest) / sum - (i == label ? (real)1 : (real)0));
    return loss;
}

/** Computes *dz <- scale * (z - target) and returns the squared error (z - target)^2 / 2. */
static inline DSGD_DEVICE_FUNCTION double dsgd_squared_error(real z, real *dz, real target,
                                                             real scale)
{
    const real error = z - target;
    *dz = scale * error;
    return 0.5 * (double)error * (double)error;
}

/** Returns true if 1 / x is exact. In this case, a * (1 / x) and a / x have the same bits. */
static inline bool dsgd_has_exact_inverse(double x)
{
    int exponent = 0;
    return fabs(frexp(x, &exponent)) == 0.5 && isnormal(1 / x);
}

/** The parameters of an optimizer in step t. For ADAMW, `momentum` is beta1. */
typedef struct dsgd_update_rule {
    bool adaptive, nesterov;
    real lr, momentum, weight_decay;
    real beta2, epsilon;
    /* 1 / (1 - beta1^t) and 1 / (1 - beta2^t) for ADAMW; 1 for other optimizers */
    real first, second;
    real clip; /* factor that multiplies the gradient, to clip its norm */
} dsgd_update_rule;

/** Returns the update rule of step @p t. Steps count from 1. */
static inline DSGD_DEVICE_FUNCTION dsgd_update_rule
dsgd_update_rule_of(const dsgd_optimizer *config, double lr, uint64_t t, real clip)
{
    dsgd_update_rule rule;
    rule.adaptive = config->kind == DSGD_OPTIMIZER_ADAMW;
    rule.nesterov = config->kind == DSGD_OPTIMIZER_NESTEROV;
    rule.lr = (real)lr;
    rule.momentum = (real)config->momentum;
    rule.weight_decay = (real)config->weight_decay;
    rule.beta2 = (real)config->beta2;
    rule.epsilon = (real)config->epsilon;
    rule.first = rule.adaptive ? (real)(1 / (1 - pow(config->momentum, (double)t))) : (real)1;
    rule.second = rule.adaptive ? (real)(1 / (1 - pow(config->beta2, (double)t))) : (real)1;
    rule.clip = clip;
    return rule;
}

/**
 * Returns the clip factor of a chunk of @p n elements whose sum of squares is @p squares: min(1,
 * bound * sqrt(n / n_params) / sqrt(squares)).
 */
static inline DSGD_DEVICE_FUNCTION double dsgd_clip_factor(double bound, size_t n, size_t n_params,
                                                           double squares)
{
    const double share = bound * sqrt((double)n / (double)n_params);
    const double norm = sqrt(squares);
    return norm > share ? share / norm : 1; /* the result is 1 if norm is NaN, so that NaN stays in
                                             * the gradient */
}

/**
 * Updates one element. Returns the new x. Stores the new momentum or first moment in *v, and the
 * second moment of ADAMW in *s. The formulas are:
 *
 *     momentum: v' = mu v + (g + wd x); x' = x - lr v'
 *     Nesterov: v' = mu v + (g + wd x); x' = x - lr (g + wd x + mu v')
 *     AdamW (Loshchilov, Hutter, 2019, algorithm 2):
 *       m' = b1 m + (1 - b1) g; s' = b2 s + (1 - b2) g^2
 *       x' = x - lr wd x - lr m'/(1 - b1^t) / (sqrt(s'/(1 - b2^t)) + epsilon)
 */
static inline DSGD_DEVICE_FUNCTION real dsgd_updated(const dsgd_update_rule *rule, real x, real g,
                                                     real *v, real *s)
{
    g *= rule->clip;
    if (rule->adaptive) {
        *v = rule->momentum * *v + ((real)1 - rule->momentum) * g;
        *s = rule->beta2 * *s + ((real)1 - rule->beta2) * g * g;
        return x - rule->lr * rule->weight_decay * x -
               rule->lr * (*v * rule->first) / (real_sqrt(*s * rule->second) + rule->epsilon);
    }
    g += rule->weight_decay * x;
    *v = rule->momentum * *v + g;
    return x - rule->lr * (rule->nesterov ? g + rule->momentum * *v : *v);
}
