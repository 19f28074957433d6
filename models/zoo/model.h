/**
 * @file model.h
 * Reduced models: what is really trained. A model describes a network of layers; layers.h knows their mathematics, and the devices
 * (device.h) run it.
 */
#ifndef DSGD_MODELS_ZOO_MODEL_H
#define DSGD_MODELS_ZOO_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/option.h"
#include "base/status.h"
#include "models/data/data.h"

enum { DSGD_MAX_LAYERS = 64, DSGD_MAX_FILLS = 128 };

typedef enum dsgd_loss {
    DSGD_LOSS_SQUARED, /* 1/2 (z - target)^2, one output */
    DSGD_LOSS_CROSS_ENTROPY, /* softmax of n_classes outputs against the label, the mean over rows */
    DSGD_LOSS_POLICY /* policy gradient of the steps that the network itself took in an environment */
} dsgd_loss;

/** Shape of what one sample is between two layers: rows are pixels, steps of a sequence, or one; an image's rows lie line by line. */
typedef struct dsgd_tensor {
    uint32_t n_rows, n_columns;
    uint32_t width; /* of an image, in pixels; 1 otherwise */
    size_t offset; /* in reals per sample, among all tensors */
} dsgd_tensor;

typedef enum dsgd_layer_kind {
    DSGD_LINEAR, /* every row: y = W^T x + c; W [columns in][columns out], then c */
    DSGD_CONVOLUTION, /* of an image; W [kernel_size][kernel_size][columns in][columns out], then c where biased; zero padding */
    DSGD_MAX_POOL, /* of windows of kernel_size x kernel_size, side by side */
    DSGD_MEAN_ROWS, /* the mean of all rows */
    DSGD_LAST_ROW,
    DSGD_BATCH_NORM, /* per column over all rows of the batch; gain, then shift; state: mean, then variance */
    DSGD_ADD, /* y = from + other */
    DSGD_EMBEDDING, /* x holds tokens: y = E[token] + P[row]; E [n_tokens][columns], then P [rows][columns] */
    DSGD_LAYER_NORM, /* per row; gain, then shift */
    DSGD_ATTENTION, /* causal, of n_heads; x holds queries, keys and values side by side */
    DSGD_LSTM /* x holds what the inputs add to the gates i, f, g, o; W [units][4 units] of the recurrence */
} dsgd_layer_kind;

/** Layer l reads tensor `from` (and `other`) and writes tensor l + 1. Tensor 0 is the network's input. */
typedef struct dsgd_layer {
    dsgd_layer_kind kind;
    uint32_t from, other;
    dsgd_tensor in, out; /* shapes of `from` and of what is written */
    dsgd_tensor second; /* of `other` */
    bool relu; /* max(y, 0) at the end */
    /* Backward, a ReLU's derivative is taken by the last layer that adds to it, where that can: */
    bool relu_by_reader; /* not by this layer, whose ReLU it is */
    bool relu_input; /* by this layer, for its input */
    bool biased; /* CONVOLUTION */
    bool adds,
        other_adds; /* backward: a later layer has already written the derivative by the input */
    size_t params, n_params; /* its share of the parameter vector */
    size_t state; /* offset of its share of the model state */
    size_t saved; /* offset of what it keeps for the backward pass, in reals per sample */
    size_t totals; /* offset of what it keeps once per batch, in reals */
    uint32_t kernel_size, stride, padding; /* CONVOLUTION, MAX_POOL */
    uint32_t n_heads, n_tokens;
} dsgd_layer;

/** How a part of the parameter vector begins: uniform in +-bound around centre, [n_rows][n_columns]. */
typedef struct dsgd_fill {
    size_t offset;
    uint32_t n_rows, n_columns;
    double centre, bound;
    uint32_t layer, part; /* of the draw: which layer, and which of its parts */
} dsgd_fill;

/**
 * Layers and a loss, the mean over the batch. Parameters lie in backward order: those of the last layer come first, so that a prefix
 * of the vector is what the backward pass finishes first.
 */
typedef struct dsgd_network {
    uint32_t n_layers;
    dsgd_layer layers[DSGD_MAX_LAYERS]; /* in forward order */
    dsgd_loss loss;
    size_t n_params;
    size_t n_state; /* reals of model state: running statistics, or environments. 0: none */
    size_t n_reals; /* of all tensors, per sample */
    size_t n_saved; /* per sample */
    size_t n_totals;
    bool
        coupled; /* samples of a batch meet in a layer, or in the state: gradients must not be fused */
    uint32_t
        n_environments; /* POLICY: side by side; a batch is batch / n_environments steps of each */
    size_t environments; /* POLICY: offset of theirs in the model state */
    size_t policy_saved; /* POLICY: offset of what it keeps of each step */
    double discount, entropy_weight; /* POLICY */
    uint32_t n_fills;
    dsgd_fill fills[DSGD_MAX_FILLS];
} dsgd_network;

/** A model that a user can name: "logreg", "mlp", "cnn", ... */
typedef struct dsgd_model_kind {
    dsgd_about about;
    /** Lays out the network for the data; refuses data of the wrong kind with a sentence. */
    dsgd_status (*build)(const void *params, const dsgd_data *data, dsgd_network *network,
                         dsgd_error *error);
} dsgd_model_kind;

extern const dsgd_about *const dsgd_model_kinds[]; /* NULL-terminated */

/** Initial parameters [n_params], the same for every worker. */
void dsgd_network_initial(const dsgd_network *network, uint64_t seed, double *x);

/** A worker's model state [n_state] before its first gradient. */
void dsgd_network_initial_state(const dsgd_network *network, uint64_t seed, uint32_t worker,
                                double *state);

#endif
