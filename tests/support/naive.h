/**
 * @file naive.h
 * Reference forward pass in long double: loops that follow the definitions in models/zoo/model.h
 * one by one, without a formula of the devices. Tests compare gradients with finite differences of
 * these losses.
 */
#pragma once

#include "tests/support/rig.h"

/** Inputs of n samples. */
typedef struct naive_batch {
    uint32_t n;
    const long double *x; /* [n][n_features] */
    const uint16_t *lengths; /* [n]; NULL: all rows */
    const double *state; /* running statistics; NULL: the batch's own */
} naive_batch;

/**
 * The last tensor, [n][rows][columns], in fresh memory. @p statistics [n_state], unless NULL, gets
 * mean and unbiased variance of the batch at each batch norm.
 */
long double *naive_forward(const dsgd_network *network, const long double *x,
                           const naive_batch *batch, double *statistics);

/** Some training samples as a batch; free x and lengths. */
naive_batch naive_batch_of(const dsgd_data *data, const uint32_t *samples, uint32_t n);

/** log p of each class: z [n] becomes log softmax. */
void naive_log_softmax(long double *z, uint32_t n);

/**
 * The mean loss of a batch, not of a policy, and the accuracy (among equal logits the first wins).
 */
long double naive_loss(const dsgd_network *network, const dsgd_data *data, const long double *x,
                       const naive_batch *batch, const uint32_t *samples, double *accuracy);

/** g <- central differences of @p loss at @p x, in steps of @p h. */
void naive_derivative(size_t n, const double *x, long double h,
                      long double (*loss)(void *argument, const long double *x), void *argument,
                      double *g);
