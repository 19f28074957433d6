/**
 * @file network.h
 * Builds networks: each call appends a layer. Shapes follow from the data and the preceding layers.
 *
 * Errors are sticky: after the first error, calls do nothing, and dsgd_network_end() returns the
 * error.
 */
#pragma once

#include "models/zoo/model.h"

typedef struct dsgd_builder {
    dsgd_network *network;
    const char *model; /* name of the model, for error messages */
    const dsgd_data *data;
    dsgd_status status;
    dsgd_error *error;
} dsgd_builder;

/**
 * Starts a network whose tensor 0 has the shape of the data. Sets an error if the data do not suit
 * the loss.
 */
dsgd_builder dsgd_network_begin(dsgd_network *network, const char *model, const dsgd_data *data,
                                dsgd_loss_kind loss, dsgd_error *error);
/** Reshapes the current tensor to [1][n_rows * n_columns]. */
void dsgd_network_flatten(dsgd_builder *b);

/*
 * The following functions each append a layer that reads the current tensor. They return the tensor
 * that the layer writes, which becomes the current tensor.
 */

uint32_t dsgd_network_linear(dsgd_builder *b, double n_units, bool relu);
uint32_t dsgd_network_convolution(dsgd_builder *b, double n_channels, uint32_t kernel_size,
                                  uint32_t stride, bool biased, bool relu);
uint32_t dsgd_network_max_pool(dsgd_builder *b, uint32_t window);
uint32_t dsgd_network_mean_rows(dsgd_builder *b);
uint32_t dsgd_network_last_row(dsgd_builder *b);
uint32_t dsgd_network_batch_norm(dsgd_builder *b, bool relu);
uint32_t dsgd_network_add(dsgd_builder *b, uint32_t other, bool relu);
uint32_t dsgd_network_embedding(dsgd_builder *b, uint32_t n_tokens, double n_columns);
uint32_t dsgd_network_layer_norm(dsgd_builder *b);
uint32_t dsgd_network_attention(dsgd_builder *b, uint32_t n_heads);
/**
 * Appends two layers: a linear layer from the input to the LSTM's gates, and the LSTM recurrence.
 */
uint32_t dsgd_network_lstm(dsgd_builder *b, double n_units);

/** Returns the number of the current tensor, which the next layer reads. */
uint32_t dsgd_network_here(const dsgd_builder *b);
/** Makes @p tensor the current tensor. */
void dsgd_network_goto(dsgd_builder *b, uint32_t tensor);

/**
 * Appends the output layer of the loss, and assigns the offsets of parameters and saved values.
 * Returns the first error of the builder.
 */
dsgd_status dsgd_network_end(dsgd_builder *b);
