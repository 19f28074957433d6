/**
 * @file naive.h
 * A reference forward pass in long double. Its loops follow the definitions in models/zoo/model.h
 * literally and share no formula with the devices. Tests compare gradients with finite differences
 * of these losses.
 */
#pragma once

#include "tests/support/rig.h"

/** Inputs of n samples. */
typedef struct naive_batch {
    uint32_t n;
    const long double *x; /* [n][n_features] */
    const uint16_t *lengths; /* [n]; if NULL, all rows count */
    const double *state; /* running statistics; if NULL, the statistics of the batch */
} naive_batch;

/**
 * Returns the last tensor, [n][rows][columns], in fresh memory. If @p statistics [n_state] is not
 * NULL, it receives the mean and the unbiased variance of the batch at each batch norm.
 */
long double *naive_forward(const dsgd_network *network, const long double *x,
                           const naive_batch *batch, double *statistics);

/** Makes a batch of some training samples. The caller frees x and lengths. */
naive_batch naive_batch_of(const dsgd_data *data, const uint32_t *samples, uint32_t n);

/** Replaces z [n] by log softmax of z, the log-probability of each class. */
void naive_log_softmax(long double *z, uint32_t n);

/**
 * Returns the mean loss of a batch, and its accuracy (if logits are equal, the first wins). The
 * loss must not be the loss of a policy.
 */
long double naive_loss(const dsgd_network *network, const dsgd_data *data, const long double *x,
                       const naive_batch *batch, const uint32_t *samples, double *accuracy);

/** Sets g to central differences of @p loss at @p x, with step size @p h. */
void naive_derivative(size_t n, const double *x, long double h,
                      long double (*loss)(void *argument, const long double *x), void *argument,
                      double *g);
