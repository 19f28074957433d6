/**
 * @file model.h
 * Reduced models, which are really trained. A model builds a network: a list of layers with shapes
 * and offsets into the vectors of parameters, activations and saved values. layers.h contains the
 * mathematics, and a device (device.h) computes it.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"
#include "models/data/data.h"

enum { DSGD_MAX_LAYERS = 64, DSGD_MAX_FILLS = 128 };

typedef enum dsgd_loss_kind {
    DSGD_LOSS_SQUARED, /* 1/2 (z - target)^2, one output */
    DSGD_LOSS_CROSS_ENTROPY, /* softmax cross-entropy of n_classes logits, the mean over rows */
    DSGD_LOSS_POLICY /* policy gradient over the steps that the network takes in an environment */
} dsgd_loss_kind;

/**
 * The shape of one sample between two layers, [n_rows][n_columns]: rows are the pixels of an image
 * line by line, the steps of a sequence, or 1.
 */
typedef struct dsgd_tensor {
    uint32_t n_rows, n_columns;
    uint32_t width; /* of an image, in pixels; 1 otherwise */
    size_t offset; /* among all tensors, in reals per sample */
} dsgd_tensor;

typedef enum dsgd_layer_kind {
    /* Y = X W + b; parameters W [columns in][columns out], b [columns out] */
    DSGD_LINEAR,
    /* 2-d, zero-padded; W [kernel_size][kernel_size][columns in][columns out], b if biased */
    DSGD_CONVOLUTION,
    DSGD_MAX_POOL, /* windows of kernel_size x kernel_size without overlap */
    DSGD_MEAN_ROWS, /* mean over the rows (global average pooling) */
    DSGD_LAST_ROW,
    /* per column, over all rows of a batch; parameters gain, shift; state: running mean, variance
     */
    DSGD_BATCH_NORM,
    DSGD_ADD, /* y = from + other (residual connection) */
    /* y = E[token] + P[row]; E [n_tokens][columns], P [rows][columns]; x holds tokens */
    DSGD_EMBEDDING,
    DSGD_LAYER_NORM, /* per row; parameters gain, shift [columns] */
    DSGD_ATTENTION, /* causal, n_heads heads; a row of x holds query, key and value */
    /* gates i, f, g, o; x [rows][4 units] is their linear part; recurrent W [units][4 units] */
    DSGD_LSTM
} dsgd_layer_kind;

/** Layer l reads tensor `from` (and `other`) and writes tensor l + 1. Tensor 0 is the input. */
typedef struct dsgd_layer {
    dsgd_layer_kind kind;
    uint32_t from, other;
    dsgd_tensor in, out; /* shapes of `from` and of the output */
    dsgd_tensor second; /* shape of `other` */
    bool relu; /* y <- max(y, 0) at the end */
    /* If possible, the last layer that adds to the gradient of a ReLU also computes its backward
     * pass: */
    bool relu_by_reader; /* a later layer computes the backward pass of this layer's ReLU */
    bool relu_input; /* this layer computes the backward pass of its input's ReLU */
    bool biased; /* LINEAR: always; CONVOLUTION: optional */
    /* A later layer has already written the gradient of `from` (`other`); this layer adds to it. */
    bool adds, other_adds;
    size_t params, n_params; /* offset and size in the parameter vector */
    size_t state; /* offset in the model state */
    size_t saved; /* offset of its saved values, in reals per sample */
    size_t totals; /* offset of its sums over the batch, in reals */
    uint32_t kernel_size, stride, padding; /* CONVOLUTION, MAX_POOL */
    uint32_t n_heads, n_tokens;
} dsgd_layer;

/** Initial values of parameters [n_rows][n_columns]: uniform in centre +- bound. */
typedef struct dsgd_fill {
    size_t offset;
    uint32_t n_rows, n_columns;
    double centre, bound;
    uint32_t layer, part; /* keys of the random numbers: the layer, and the part within it */
} dsgd_fill;

/**
 * Layers and a loss, which is the mean over the batch. Parameters are in backward order, the last
 * layer first, so that a prefix of the gradient is complete before the rest.
 */
typedef struct dsgd_network {
    uint32_t n_layers;
    dsgd_layer layers[DSGD_MAX_LAYERS]; /* in forward order */
    dsgd_loss_kind loss;
    size_t n_params;
    size_t n_state; /* reals of model state: running statistics, or environments; 0 if none */
    size_t n_reals; /* of all tensors, per sample */
    size_t n_saved; /* reals saved for the backward pass, per sample */
    size_t n_totals; /* reals of sums over the batch */
    /* Samples of a batch interact in a layer or through the state, so gradients must not be fused.
     */
    bool coupled;
    uint32_t n_environments; /* POLICY: a batch has batch / n_environments steps of each */
    size_t environments; /* POLICY: offset of the environments in the model state */
    size_t policy_saved; /* POLICY: offset of the saved steps, in reals per sample */
    double discount, entropy_weight; /* POLICY */
    uint32_t n_fills;
    dsgd_fill fills[DSGD_MAX_FILLS];
} dsgd_network;

struct dsgd_builder;

/** A model that a user can name: "logreg", "mlp", "cnn", ... */
typedef struct dsgd_model_kind {
    dsgd_entry about;
    dsgd_loss_kind loss;
    dsgd_data_kind wants;
    const char *suggested; /* a source of such data; NULL: any data that fit the loss */
    /** Appends all layers except the output layer. */
    void (*layers)(const void *params, struct dsgd_builder *b);
} dsgd_model_kind;

extern const dsgd_entry *const dsgd_model_kinds[]; /* NULL-terminated */

/** Fills *network for these data. Returns DSGD_EUSAGE if the data do not fit the model. */
dsgd_status dsgd_model_build(const dsgd_model_kind *kind, const void *params, const dsgd_data *data,
                             dsgd_network *network, dsgd_error *error);

/** x[n_params] <- initial parameters, the same for every worker. */
void dsgd_network_initial(const dsgd_network *network, uint64_t seed, double *x);

/** state[n_state] <- model state of a worker before its first gradient. */
void dsgd_network_initial_state(const dsgd_network *network, uint64_t seed, uint32_t worker,
                                double *state);
