/**
 * @file model.h
 * Reduced models, which are really trained. A model builds a network. The network is a list of
 * layers with shapes, and with offsets into the vectors of parameters, activations and saved
 * values. layers.h contains the mathematics, and a device (device.h) computes it.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"
#include "models/data/data.h"

enum { DSGD_MAX_LAYERS = 64, DSGD_MAX_FILLS = 128 };

typedef enum dsgd_loss_kind {
    DSGD_LOSS_SQUARED, /* 1/2 (z - target)^2 of the single output z */
    DSGD_LOSS_CROSS_ENTROPY, /* softmax cross-entropy of n_classes logits, as the mean over rows */
    /* policy gradient over the steps that the network takes in an environment */
    DSGD_LOSS_POLICY
} dsgd_loss_kind;

/**
 * The shape of one sample between two layers, [n_rows][n_columns]. Rows are the pixels of an image,
 * line by line, or the steps of a sequence. Otherwise there is one row.
 */
typedef struct dsgd_tensor {
    uint32_t n_rows, n_columns;
    uint32_t width; /* width of an image, in pixels; 1 for other data */
    size_t offset; /* offset among all tensors, in reals per sample */
} dsgd_tensor;

typedef enum dsgd_layer_kind {
    /* linear layer Y = X W + b, with parameters W [columns in][columns out] and b [columns out] */
    DSGD_LINEAR,
    /*
     * 2-d convolution with zero padding. Its parameters are W [kernel_size][kernel_size][columns
     * in][columns out], and b if the layer is biased.
     */
    DSGD_CONVOLUTION,
    DSGD_MAX_POOL, /* computes the maximum over windows of kernel_size^2 pixels, without overlap */
    DSGD_MEAN_ROWS, /* computes the mean over the rows (global average pooling) */
    DSGD_LAST_ROW,
    /*
     * Normalises each column over all rows of a batch. The parameters are gain and shift; the state
     * is the running mean and variance.
     */
    DSGD_BATCH_NORM,
    DSGD_ADD, /* computes the sum of tensors `from` and `other` (residual connection) */
    /*
     * y = E[token] + P[row], with parameters E [n_tokens][columns] and P [rows][columns]. x
     * contains tokens.
     */
    DSGD_EMBEDDING,
    DSGD_LAYER_NORM, /* normalises each row; the parameters are gain and shift, [columns] each */
    DSGD_ATTENTION, /* computes causal attention with n_heads heads; a row of x contains query, key
                     * and value */
    /*
     * LSTM recurrence with the gates i, f, g, o. x [rows][4 units] is the linear part of the gates;
     * parameter W [units][4 units] is recurrent.
     */
    DSGD_LSTM
} dsgd_layer_kind;

/** Layer l reads tensor `from` (and `other`) and writes tensor l + 1. Tensor 0 is the input. */
typedef struct dsgd_layer {
    dsgd_layer_kind kind;
    uint32_t from, other;
    dsgd_tensor in, out; /* shape of tensor `from` (in), and shape of the layer's output (out) */
    dsgd_tensor second; /* shape of tensor `other`, only for ADD */
    bool relu; /* true if the layer ends with y <- max(y, 0) */
    /*
     * If possible, the backward pass of a ReLU is computed by the last layer that adds to the
     * ReLU's gradient. The next two members mark this case.
     */
    bool relu_by_reader; /* a later layer computes the backward pass of this layer's ReLU */
    bool relu_input; /* this layer computes the backward pass of its input's ReLU */
    bool biased; /* true if the layer has a parameter b; always true for LINEAR */
    /*
     * True if a later layer has already written the gradient of `from` (adds) or `other`
     * (other_adds). This layer then adds to that gradient.
     */
    bool adds, other_adds;
    size_t params, n_params; /* offset and size of the layer's parameters in the parameter vector */
    size_t state; /* offset of the layer's state in the model state */
    size_t saved; /* offset of the layer's saved values, in reals per sample */
    size_t totals; /* offset of the layer's sums over the batch, in reals */
    uint32_t kernel_size, stride, padding; /* sizes in pixels, only for CONVOLUTION and MAX_POOL */
    uint32_t n_heads, n_tokens;
} dsgd_layer;

/** Initial values of parameters [n_rows][n_columns]: uniform random numbers in centre +- bound. */
typedef struct dsgd_fill {
    size_t offset;
    uint32_t n_rows, n_columns;
    double centre, bound;
    uint32_t layer, part; /* coordinates of the random numbers: number of the layer, and of the part
                           * within the layer */
} dsgd_fill;

/**
 * The layers of a model and its loss. The loss is the mean over the batch. The parameters of the
 * last layer come first (backward order), so that a prefix of the gradient is complete before the
 * rest.
 */
typedef struct dsgd_network {
    uint32_t n_layers;
    dsgd_layer layers[DSGD_MAX_LAYERS]; /* layers in forward order */
    dsgd_loss_kind loss;
    size_t n_params;
    size_t n_state; /* number of reals of the model state (running statistics or environments); 0 if
                     * the network has no state */
    size_t n_reals; /* number of reals of all tensors, per sample */
    size_t n_saved; /* reals per sample that the forward pass saves for the backward pass */
    size_t n_totals; /* number of reals of all sums over the batch */
    /*
     * True if samples of a batch affect each other in a layer or through the state. Gradients must
     * then not be fused.
     */
    bool coupled;
    uint32_t n_environments; /* number of environments for POLICY; a batch has batch /
                              * n_environments steps of each environment */
    size_t environments; /* offset of the environments in the model state (POLICY) */
    size_t policy_saved; /* offset of the saved steps, in reals per sample (POLICY) */
    double discount, entropy_weight; /* weights of later rewards and of the entropy (POLICY) */
    uint32_t n_fills;
    dsgd_fill fills[DSGD_MAX_FILLS];
} dsgd_network;

struct dsgd_builder;

/** A model that a user can name, for example "logreg", "mlp" or "cnn". */
typedef struct dsgd_model_kind {
    dsgd_entry about;
    dsgd_loss_kind loss;
    dsgd_data_kind wants;
    const char *suggested; /* name of a suitable data source; NULL if any data with the right loss
                            * are suitable */
    /** Appends all layers of the model except its output layer. */
    void (*layers)(const void *params, struct dsgd_builder *b);
} dsgd_model_kind;

extern const dsgd_entry *const dsgd_model_kinds[]; /* table of all models; NULL ends the table */

/** Builds *network for @p data. Returns DSGD_EUSAGE if the data do not suit the model. */
dsgd_status dsgd_model_build(const dsgd_model_kind *kind, const void *params, const dsgd_data *data,
                             dsgd_network *network, dsgd_error *error);

/** Fills x[n_params] with the initial parameters, which are the same for every worker. */
void dsgd_network_initial(const dsgd_network *network, uint64_t seed, double *x);

/** Fills state[n_state] with the model state of worker @p worker before its first gradient. */
void dsgd_network_initial_state(const dsgd_network *network, uint64_t seed, uint32_t worker,
                                double *state);
