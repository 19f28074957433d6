/**
 * @file network.h
 * What models are built with: each call appends a layer. Shapes follow from the data and from the layers before.
 *
 * The first thing that does not fit is remembered, later calls do nothing, and dsgd_network_end() tells it.
 */
#ifndef DSGD_MODELS_ZOO_NETWORK_H
#define DSGD_MODELS_ZOO_NETWORK_H

#include "models/zoo/model.h"

typedef struct dsgd_builder {
    dsgd_network *network;
    const char *model; /* named in refusals */
    const dsgd_data *data;
    dsgd_status status;
    dsgd_error *error;
} dsgd_builder;

/** Tensor 0 has the shape of the data; refuses data that does not fit the loss. */
dsgd_builder dsgd_network_begin(dsgd_network *network, const char *model, const dsgd_data *data,
                                dsgd_loss loss, dsgd_error *error);
/** Refuses data of another kind, with a sentence. */
void dsgd_network_wants(dsgd_builder *b, dsgd_data_kind kind, const char *suggestion);
/** Treats a sample as one row of all its numbers. */
void dsgd_network_flatten(dsgd_builder *b);

/* Each returns the tensor that the layer writes. */

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
/** Its input gates are a dense layer of their own, which this appends too. */
uint32_t dsgd_network_lstm(dsgd_builder *b, double n_units);

/** The tensor that the next layer reads; the last one written unless this sets another. */
uint32_t dsgd_network_here(const dsgd_builder *b);
void dsgd_network_goto(dsgd_builder *b, uint32_t tensor);

/** Appends the output layer of the loss, and lays out parameters and workspace. */
dsgd_status dsgd_network_end(dsgd_builder *b);

#endif
