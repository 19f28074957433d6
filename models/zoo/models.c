/**
 * @file models.c
 * The reduced models that a user can name, with their options and layers.
 */
#include "models/zoo/network.h"

/**
 * Defines model NAME from NAME_params, NAME_options and NAME_layers(). SUGGESTED is a data source
 * of kind WANTS.
 */
#define MODEL(NAME, LOSS, WANTS, SUGGESTED, ...)                                                   \
    static const dsgd_model_kind NAME = {                                                          \
        .about = {.name = #NAME, DSGD_PARAMS(NAME##_params, NAME##_options), __VA_ARGS__},         \
        .loss = LOSS,                                                                              \
        .wants = WANTS,                                                                            \
        .suggested = SUGGESTED,                                                                    \
        .layers = NAME##_layers}

/* --- hyperplane, logreg ----------------------------------------------------------------------- */

/** Flattens the input. A linear model has no layers except the output layer. */
static void linear_layers(const void *params, dsgd_builder *b)
{
    (void)params;
    dsgd_network_flatten(b);
}

/** The model is from the eager-SGD paper (PPoPP 2020, section 6.2). */
static const dsgd_model_kind hyperplane = {
    .about = {.name = "hyperplane",
              .summary = "linear regression: one linear output, squared loss",
              .reference = "Li et al., PPoPP 2020, section 6.2"},
    .loss = DSGD_LOSS_SQUARED,
    .layers = linear_layers,
};

static const dsgd_model_kind logreg = {
    .about = {.name = "logreg",
              .summary = "multinomial logistic regression: one linear layer and softmax"},
    .loss = DSGD_LOSS_CROSS_ENTROPY,
    .layers = linear_layers,
};

/* --- mlp -------------------------------------------------------------------------------------- */

typedef struct mlp_params {
    dsgd_numbers hidden;
} mlp_params;

static void mlp_layers(const void *params, dsgd_builder *b)
{
    const mlp_params *const p = params;
    double usual[] = {32};
    const dsgd_numbers hidden = p->hidden.n == 0 ? (dsgd_numbers){1, usual} : p->hidden;
    dsgd_network_flatten(b);
    for (size_t l = 0; l < hidden.n; l++)
        dsgd_network_linear(b, hidden.v[l], true);
}

static const dsgd_option mlp_options[] = {
    DSGD_OPTION_NUMBERS(mlp_params, hidden, 1, 65536,
                        "sizes of the hidden layers [default: one layer of 32]"),
    DSGD_OPTION_END,
};

MODEL(mlp, DSGD_LOSS_CROSS_ENTROPY, DSGD_DATA_POINTS, NULL,
      .summary = "multilayer perceptron with ReLU and softmax");

/* --- cnn -------------------------------------------------------------------------------------- */

typedef struct cnn_params {
    dsgd_numbers channels;
    int64_t hidden;
} cnn_params;

/**
 * Adds 3 x 3 convolutions with 2 x 2 max pooling. The default model has 26,698 parameters for
 * images of 28 x 28 pixels.
 */
static void cnn_layers(const void *params, dsgd_builder *b)
{
    const cnn_params *const p = params;
    double usual[] = {8, 16};
    const dsgd_numbers channels = p->channels.n == 0 ? (dsgd_numbers){2, usual} : p->channels;
    for (size_t l = 0; l < channels.n; l++) {
        dsgd_network_convolution(b, channels.v[l], 3, 1, true, true);
        dsgd_network_max_pool(b, 2);
    }
    dsgd_network_flatten(b);
    dsgd_network_linear(b, (double)p->hidden, true);
}

static const dsgd_option cnn_options[] = {
    DSGD_OPTION_NUMBERS(cnn_params, channels, 1, 1024,
                        "channels of the convolutions [default: 8 and 16]"),
    DSGD_OPTION_LONG(cnn_params, hidden, 32, 1, 65536, "units", "size of the hidden layer"),
    DSGD_OPTION_END,
};

MODEL(cnn, DSGD_LOSS_CROSS_ENTROPY, DSGD_DATA_IMAGES, "fashion-mnist",
      .summary = "two convolutions with max pooling, one hidden layer, softmax");

/* --- resnet_small ----------------------------------------------------------------------------- */

typedef struct resnet_small_params {
    int64_t blocks, width;
} resnet_small_params;

static void residual_block(dsgd_builder *b, double width, uint32_t stride)
{
    const uint32_t begin = dsgd_network_here(b);
    dsgd_network_convolution(b, width, 3, stride, false, false);
    dsgd_network_batch_norm(b, true);
    dsgd_network_convolution(b, width, 3, 1, false, false);
    const uint32_t deep = dsgd_network_batch_norm(b, false);
    uint32_t shortcut = begin;
    if (stride > 1) {
        dsgd_network_goto(b, begin);
        dsgd_network_convolution(b, width, 1, stride, false, false);
        shortcut = dsgd_network_batch_norm(b, false);
    }
    dsgd_network_goto(b, deep);
    dsgd_network_add(b, shortcut, true);
}

/**
 * Adds a convolution of stride 2, blocks of two 3 x 3 convolutions, and global average pooling.
 * Each block except the first has twice the channels and half the image of the previous block.
 * Projections (option B) adapt the shortcut to changes of the shape. Running statistics are local
 * to a worker and are only averaged for evaluations.
 */
static void resnet_small_layers(const void *params, dsgd_builder *b)
{
    const resnet_small_params *const p = params;
    dsgd_network_convolution(b, (double)p->width, 3, 2, false, false);
    dsgd_network_batch_norm(b, true);
    for (int64_t i = 0; i < p->blocks; i++)
        residual_block(b, (double)(p->width << i), i == 0 ? 1 : 2);
    dsgd_network_mean_rows(b);
}

static const dsgd_option resnet_small_options[] = {
    DSGD_OPTION_LONG(resnet_small_params, blocks, 3, 1, 6, NULL,
                     "residual blocks; each except the first doubles the channels"),
    DSGD_OPTION_LONG(resnet_small_params, width, 8, 1, 256, "channels",
                     "channels of the first block"),
    DSGD_OPTION_END,
};

MODEL(
    resnet_small, DSGD_LOSS_CROSS_ENTROPY, DSGD_DATA_IMAGES, "fashion-mnist",
    .summary = "residual network with batch normalisation, whose statistics are local to a worker",
    .reference = "He et al., CVPR 2016, section 4.2");

/* --- lstm ------------------------------------------------------------------------------------- */

typedef struct lstm_params {
    int64_t units;
} lstm_params;

/**
 * Adds an LSTM with the forget gate of Gers et al., 2000. The output layer reads its last output.
 */
static void lstm_layers(const void *params, dsgd_builder *b)
{
    dsgd_network_lstm(b, (double)((const lstm_params *)params)->units);
    dsgd_network_last_row(b);
}

static const dsgd_option lstm_options[] = {
    DSGD_OPTION_LONG(lstm_params, units, 32, 1, 4096, "units", "size of the recurrent layer"),
    DSGD_OPTION_END,
};

MODEL(lstm, DSGD_LOSS_CROSS_ENTROPY, DSGD_DATA_SEQUENCES, "sequences",
      .summary = "one LSTM layer over sequences of different lengths, softmax",
      .reference = "Hochreiter, Schmidhuber, Neural Computation 9(8), 1997");

/* --- transformer ------------------------------------------------------------------------------ */

typedef struct transformer_params {
    int64_t blocks, width, heads;
} transformer_params;

static void attention_block(dsgd_builder *b, int64_t width, int64_t heads)
{
    const uint32_t begin = dsgd_network_here(b);
    dsgd_network_layer_norm(b);
    dsgd_network_linear(b, 3 * (double)width, false);
    dsgd_network_attention(b, (uint32_t)heads);
    dsgd_network_linear(b, (double)width, false);
    const uint32_t middle = dsgd_network_add(b, begin, false);
    dsgd_network_layer_norm(b);
    dsgd_network_linear(b, 4 * (double)width, true);
    dsgd_network_linear(b, (double)width, false);
    dsgd_network_add(b, middle, false);
}

/**
 * Adds the layers of a small decoder: token and position embeddings, then pre-norm blocks as in
 * GPT-2.
 */
static void transformer_layers(const void *params, dsgd_builder *b)
{
    const transformer_params *const p = params;
    if (p->width % p->heads != 0)
        b->status = dsgd_refuse(
            b->error, "learn: transformer: width must be a multiple of heads, %jd, got %jd",
            p->heads, p->width);
    dsgd_network_embedding(b, b->data->n_classes, (double)p->width);
    for (int64_t i = 0; i < p->blocks; i++)
        attention_block(b, p->width, p->heads);
    dsgd_network_layer_norm(b);
}

static const dsgd_option transformer_options[] = {
    DSGD_OPTION_LONG(transformer_params, blocks, 2, 1, 6, NULL,
                     "blocks of attention and perceptron"),
    DSGD_OPTION_LONG(transformer_params, width, 32, 1, 1024, "columns", "width of the embedding"),
    DSGD_OPTION_LONG(transformer_params, heads, 2, 1, 64, NULL, "attention heads"),
    DSGD_OPTION_END,
};

MODEL(transformer, DSGD_LOSS_CROSS_ENTROPY, DSGD_DATA_TOKENS, "text",
      .summary = "small transformer decoder that predicts the next character of a text",
      .reference = "Vaswani et al., NeurIPS 2017; Radford et al., 2019");

/* --- policy ----------------------------------------------------------------------------------- */

typedef struct policy_params {
    int64_t hidden, environments;
    double discount, entropy;
} policy_params;

/**
 * Adds the hidden layer of a policy. The loss is REINFORCE with the mean return of the batch as
 * baseline and with an entropy bonus. It is a reduced form of DD-PPO. A gradient plays batch /
 * environments steps in each environment of the worker. Episodes restart within a batch. The next
 * gradient continues where this gradient ended, because the environments are the model state.
 */
static void policy_layers(const void *params, dsgd_builder *b)
{
    const policy_params *const p = params;
    b->network->n_environments = (uint32_t)p->environments;
    b->network->discount = p->discount;
    b->network->entropy_weight = p->entropy;
    dsgd_network_linear(b, (double)p->hidden, true);
}

static const dsgd_option policy_options[] = {
    DSGD_OPTION_LONG(policy_params, hidden, 32, 1, 65536, "units", "size of the hidden layer"),
    DSGD_OPTION_LONG(policy_params, environments, 4, 1, 1024, NULL,
                     "environments per worker, which share a batch"),
    DSGD_OPTION_DOUBLE(policy_params, discount, 0.9, 0, 1, NULL,
                       "discount factor of rewards, per step"),
    DSGD_OPTION_DOUBLE(policy_params, entropy, 0.01, 0, 10, NULL, "weight of the entropy bonus"),
    DSGD_OPTION_END,
};

MODEL(policy, DSGD_LOSS_POLICY, DSGD_DATA_STEPS, "navigation",
      .summary = "policy trained on its own steps in an environment (REINFORCE)",
      .reference = "Williams, Machine Learning 8, 1992; Wijmans et al., ICLR 2020");

const dsgd_entry *const dsgd_model_kinds[] = {
    &hyperplane.about, &logreg.about,      &mlp.about,    &cnn.about, &resnet_small.about,
    &lstm.about,       &transformer.about, &policy.about, NULL,
};
