/**
 * @file naive.h
 * A reference forward pass of networks in long double. Its loops follow the definitions in
 * models/zoo/model.h literally and share no formula with the devices. Tests compare gradients with
 * finite differences of the losses that it returns.
 */
#pragma once

#include "tests/support/rig.h"

/** The inputs of a batch of n samples. */
typedef struct naive_batch {
    uint32_t n;
    const long double *x; /* features of the samples, [n][n_features] */
    const uint16_t *lengths; /* number of valid rows of each sample, [n] entries; if NULL, all rows
                              * are valid */
    const double *state; /* running statistics of batch norms; if NULL, the layers use the
                          * statistics of the batch */
} naive_batch;

/**
 * Returns the values of the last tensor, [n][rows][columns], in newly allocated memory. If @p
 * statistics [n_state] is not NULL, the function stores there the mean and the unbiased variance of
 * the batch at each batch norm.
 */
long double *naive_forward(const dsgd_network *network, const long double *x,
                           const naive_batch *batch, double *statistics);

/**
 * Makes a batch of the training samples with the given numbers. The caller frees the members x and
 * lengths of the batch.
 */
naive_batch naive_batch_of(const dsgd_data *data, const uint32_t *samples, uint32_t n);

/** Replaces the logits z [n] by log softmax of z, the log-probability of each class. */
void naive_log_softmax(long double *z, uint32_t n);

/**
 * Returns the mean loss of a batch. Also computes its accuracy; if several logits are equally
 * large, the first class wins. The function does not support the loss of a policy.
 */
long double naive_loss(const dsgd_network *network, const dsgd_data *data, const long double *x,
                       const naive_batch *batch, const uint32_t *samples, double *accuracy);

/**
 * Sets g [n] to the gradient of @p loss at @p x, computed by central differences with step size @p
 * h.
 */
void naive_derivative(size_t n, const double *x, long double h,
                      long double (*loss)(void *argument, const long double *x), void *argument,
                      double *g);
