/**
 * @file model.h
 * Reduced models: what is really trained. A model describes a network; the devices (device.h) know how to run one.
 */
#ifndef DSGD_MODELS_MODEL_H
#define DSGD_MODELS_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/option.h"
#include "base/status.h"
#include "models/data.h"

enum { DSGD_MAX_LAYERS = 8 };

typedef enum dsgd_loss {
    DSGD_LOSS_SQUARED, /* 1/2 (z - target)^2, one output */
    DSGD_LOSS_CROSS_ENTROPY /* softmax of n_classes outputs against the label */
} dsgd_loss;

/** A fully connected layer: z = W a + c, then max(z, 0) where rectified. */
typedef struct dsgd_layer {
    uint32_t n_in, n_out;
    bool rectified;
    size_t weights; /* offset of W [n_out][n_in] in the parameter vector */
    size_t biases; /* offset of c [n_out] */
} dsgd_layer;

/**
 * A chain of layers and a loss, the mean over the batch. Parameters lie in backward order: W and c of the last layer come first,
 * so that a prefix of the vector is what the backward pass finishes first.
 */
typedef struct dsgd_network {
    uint32_t n_layers;
    dsgd_layer layers[DSGD_MAX_LAYERS]; /* in forward order */
    dsgd_loss loss;
    size_t n_params;
} dsgd_network;

/** A model that a user can name: "hyperplane", "logreg", "mlp". */
typedef struct dsgd_model_kind {
    dsgd_about about;
    /** Lays out the network for the data; refuses data of the wrong kind with a sentence. */
    dsgd_status (*build)(const void *params, const dsgd_data *data, dsgd_network *network,
                         dsgd_error *error);
} dsgd_model_kind;

extern const dsgd_about *const dsgd_model_kinds[]; /* NULL-terminated */

/** Initial parameters [n_params], the same for every worker: He-uniform weights by layer, biases 0. */
void dsgd_network_initial(const dsgd_network *network, uint64_t seed, double *x);

#endif
