/**
 * @file formula.h
 * The formulas that every device computes, element by element; each stands here once and is compiled for float, double and CUDA.
 * The includer defines `real` and `real_exp`, and DSGD_DEVICE_FUNCTION where functions need a mark (__device__).
 */
#ifndef DSGD_MODELS_FORMULA_H
#define DSGD_MODELS_FORMULA_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifndef DSGD_DEVICE_FUNCTION
#define DSGD_DEVICE_FUNCTION
#endif

/** A pixel as the network sees it. */
static inline DSGD_DEVICE_FUNCTION real dsgd_normalised(uint8_t pixel, float mean, float deviation)
{
    return ((real)pixel / (real)255 - (real)mean) / (real)deviation;
}

/** max(z, 0); what is not a number stays so, or a divergence would hide here. */
static inline DSGD_DEVICE_FUNCTION real dsgd_rectified(real z)
{
    return z < (real)0 ? (real)0 : z;
}

/** The derivative by z of a loss through a rectifier whose output was @p a. */
static inline DSGD_DEVICE_FUNCTION real dsgd_rectified_back(real a, real dz)
{
    return a > (real)0 ? dz : (real)0;
}

/** Softmax cross-entropy of one sample: z[n] becomes the derivative of the loss, times @p scale. Returns the loss. */
static inline DSGD_DEVICE_FUNCTION double dsgd_cross_entropy(real *z, uint32_t n, uint32_t label,
                                                             real scale)
{
    real largest = z[0];
    for (uint32_t i = 1; i < n; i++)
        largest = z[i] > largest ? z[i] : largest;
    real sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += real_exp(z[i] - largest);
    const double loss = log((double)sum) - (double)(z[label] - largest);
    for (uint32_t i = 0; i < n; i++)
        z[i] = scale * (real_exp(z[i] - largest) / sum - (i == label ? (real)1 : (real)0));
    return loss;
}

/** Squared loss of one sample with one output: *z becomes its derivative, times @p scale. Returns the loss. */
static inline DSGD_DEVICE_FUNCTION double dsgd_squared(real *z, real target, real scale)
{
    const real error = *z - target;
    *z = scale * error;
    return 0.5 * (double)error * (double)error;
}

/** One number of the update with momentum: returns the new x, and the new velocity in *v. */
static inline DSGD_DEVICE_FUNCTION real dsgd_updated(real x, real g, real *v, real lr,
                                                     real momentum, real weight_decay)
{
    *v = momentum * *v + (g + weight_decay * x);
    return x - lr * *v;
}

#endif
