/**
 * @file network.c
 * The builder of networks: computes shapes, offsets, initial parameters and initial states.
 */
#include "models/zoo/network.h"

#define DSGD_IN_DOUBLE /* initial states are computed in double */
#include "models/data/environment.h"

dsgd_builder dsgd_network_begin(dsgd_network *network, const char *model, const dsgd_data *data,
                                dsgd_loss_kind loss, dsgd_error *error)
{
    *network = (dsgd_network){.loss = loss};
    dsgd_builder b = {network, model, data, DSGD_OK, error};
    network->layers[0].in = (dsgd_tensor){data->n_rows, data->n_columns, data->width, 0};
    network->n_reals = data->n_features;
    if (loss == DSGD_LOSS_CROSS_ENTROPY && data->train.labels == NULL)
        b.status = dsgd_refuse(
            error, "learn: %s needs data with classes. Use data: fashion-mnist or idx", model);
    if (loss == DSGD_LOSS_SQUARED && data->train.targets == NULL)
        b.status = dsgd_refuse(
            error,
            "learn: %s needs data with a number as target, but this data has %s. Use data: "
            "hyperplane",
            model, data->train.labels == NULL ? "environments" : "classes");
    return b;
}

uint32_t dsgd_network_here(const dsgd_builder *b)
{
    return b->network->layers[b->network->n_layers].from;
}

/** Returns the current tensor. It is stored as the input of the entry after the last layer. */
static dsgd_tensor *here(dsgd_builder *b)
{
    return &b->network->layers[b->network->n_layers].in;
}

void dsgd_network_flatten(dsgd_builder *b)
{
    dsgd_tensor *const t = here(b);
    *t = (dsgd_tensor){1, t->n_rows * t->n_columns, 1, t->offset};
}

static dsgd_tensor tensor_of(const dsgd_network *network, uint32_t tensor)
{
    return tensor == 0 ? network->layers[0].in : network->layers[tensor - 1].out;
}

void dsgd_network_goto(dsgd_builder *b, uint32_t tensor)
{
    b->network->layers[b->network->n_layers].from = tensor;
    *here(b) = tensor_of(b->network, tensor);
}

/**
 * Converts the number @p n of an option to an integer in [1, 65536]. Sets an error if the number is
 * not such an integer.
 */
static uint32_t whole(dsgd_builder *b, double n, const char *what)
{
    if (b->status == DSGD_OK && (n != floor(n) || n < 1 || n > 65536))
        b->status = dsgd_refuse(
            b->error, "learn: %s: the number of %s must be a whole number from 1 to 65536, got %g",
            b->model, what, n);
    return b->status == DSGD_OK ? (uint32_t)n : 1;
}

/**
 * Appends a layer that reads the current tensor. @p layer contains the shape of its output. The
 * layer saves @p n_saved reals per sample. Returns the number of the layer's output tensor.
 */
static uint32_t append(dsgd_builder *b, dsgd_layer layer, size_t n_saved)
{
    dsgd_network *const network = b->network;
    if (b->status == DSGD_OK && network->n_layers + 1 == DSGD_MAX_LAYERS)
        b->status = dsgd_refuse(b->error, "learn: %s: the model must have at most %d layers",
                                b->model, DSGD_MAX_LAYERS - 1);
    if (b->status != DSGD_OK)
        return dsgd_network_here(b);
    layer.from = dsgd_network_here(b);
    layer.in = *here(b);
    layer.out.offset = network->n_reals;
    layer.saved = n_saved == 0 ? 0 : network->n_saved;
    network->n_reals += (size_t)layer.out.n_rows * layer.out.n_columns;
    network->n_saved += n_saved;
    network->layers[network->n_layers++] = layer;
    dsgd_network_goto(b, network->n_layers);
    return network->n_layers;
}

/**
 * Appends parameters [n_rows][n_columns] to the last layer. Their initial values are uniform in
 * centre +- bound. Returns the number of the current tensor.
 */
static uint32_t fill(dsgd_builder *b, size_t n_rows, size_t n_columns, double centre, double bound)
{
    dsgd_network *const network = b->network;
    if (b->status != DSGD_OK)
        return dsgd_network_here(b);
    DSGD_ASSERT(network->n_fills < DSGD_MAX_FILLS, "too many parts in a network");
    const uint32_t l = network->n_layers - 1;
    dsgd_layer *const layer = &network->layers[l];
    const uint32_t part = layer->n_params == 0 ? 0 : network->fills[network->n_fills - 1].part + 1;
    /* Until dsgd_network_end(), the offset of the parameters is relative to the layer. */
    network->fills[network->n_fills++] =
        (dsgd_fill){layer->n_params, (uint32_t)n_rows, (uint32_t)n_columns, centre, bound, l, part};
    layer->n_params += n_rows * n_columns;
    return dsgd_network_here(b);
}

uint32_t dsgd_network_linear(dsgd_builder *b, double n_units, bool relu)
{
    const dsgd_tensor in = *here(b);
    const uint32_t n = whole(b, n_units, "units");
    append(b,
           (dsgd_layer){
               .kind = DSGD_LINEAR, .out = {in.n_rows, n, in.width}, .biased = true, .relu = relu},
           0);
    fill(b, in.n_columns, n, 0, sqrt(6.0 / in.n_columns)); /* initial bound of He et al., 2015 */
    return fill(b, 1, n, 0, 0);
}

uint32_t dsgd_network_convolution(dsgd_builder *b, double n_channels, uint32_t kernel_size,
                                  uint32_t stride, bool biased, bool relu)
{
    const dsgd_tensor in = *here(b);
    const uint32_t n = whole(b, n_channels, "channels");
    const uint32_t padding = kernel_size / 2;
    const uint32_t width = (in.width + 2 * padding - kernel_size) / stride + 1;
    const uint32_t height = (in.n_rows / in.width + 2 * padding - kernel_size) / stride + 1;
    const size_t n_inputs = (size_t)kernel_size * kernel_size * in.n_columns;
    append(b,
           (dsgd_layer){.kind = DSGD_CONVOLUTION,
                        .out = {height * width, n, width},
                        .kernel_size = kernel_size,
                        .stride = stride,
                        .padding = padding,
                        .biased = biased,
                        .relu = relu},
           n_inputs * height * width); /* number of reals in the rows that im2col saves */
    fill(b, n_inputs, n, 0, sqrt(6.0 / (double)n_inputs));
    return biased ? fill(b, 1, n, 0, 0) : dsgd_network_here(b);
}

uint32_t dsgd_network_max_pool(dsgd_builder *b, uint32_t window)
{
    const dsgd_tensor in = *here(b);
    const uint32_t height = in.n_rows / in.width / window;
    const uint32_t width = in.width / window;
    if (b->status == DSGD_OK && (height == 0 || width == 0))
        b->status = dsgd_refuse(b->error, "learn: %s: the images are too small, %u by %u pixels",
                                b->model, b->data->n_rows / b->data->width, b->data->width);
    return append(b,
                  (dsgd_layer){.kind = DSGD_MAX_POOL,
                               .out = {height * width, in.n_columns, width},
                               .kernel_size = window,
                               .stride = window},
                  0);
}

uint32_t dsgd_network_mean_rows(dsgd_builder *b)
{
    return append(b, (dsgd_layer){.kind = DSGD_MEAN_ROWS, .out = {1, here(b)->n_columns, 1}}, 0);
}

uint32_t dsgd_network_last_row(dsgd_builder *b)
{
    return append(b, (dsgd_layer){.kind = DSGD_LAST_ROW, .out = {1, here(b)->n_columns, 1}}, 0);
}

uint32_t dsgd_network_batch_norm(dsgd_builder *b, bool relu)
{
    const dsgd_tensor in = *here(b);
    dsgd_network *const network = b->network;
    append(b,
           (dsgd_layer){.kind = DSGD_BATCH_NORM,
                        .out = in,
                        .relu = relu,
                        .totals = network->n_totals,
                        .state = network->n_state},
           0);
    /* The four totals are the mean, 1 / deviation, and two sums of the backward pass. */
    network->n_totals += 4 * (size_t)in.n_columns;
    network->n_state += 2 * (size_t)in.n_columns;
    network->coupled = true;
    fill(b, 1, in.n_columns, 1, 0);
    return fill(b, 1, in.n_columns, 0, 0);
}

uint32_t dsgd_network_add(dsgd_builder *b, uint32_t other, bool relu)
{
    const dsgd_tensor second = tensor_of(b->network, other);
    return append(
        b,
        (dsgd_layer){
            .kind = DSGD_ADD, .out = *here(b), .relu = relu, .other = other, .second = second},
        0);
}

uint32_t dsgd_network_embedding(dsgd_builder *b, uint32_t n_tokens, double n_columns)
{
    const uint32_t n_rows = here(b)->n_rows;
    const uint32_t n = whole(b, n_columns, "columns");
    append(b, (dsgd_layer){.kind = DSGD_EMBEDDING, .out = {n_rows, n, 1}, .n_tokens = n_tokens}, 0);
    fill(b, n_tokens, n, 0, 0.1);
    return fill(b, n_rows, n, 0, 0.1);
}

uint32_t dsgd_network_layer_norm(dsgd_builder *b)
{
    const dsgd_tensor in = *here(b);
    const size_t n_saved = 2 * (size_t)in.n_rows; /* the layer saves the mean and 1 / deviation of
                                                   * each row */
    append(b, (dsgd_layer){.kind = DSGD_LAYER_NORM, .out = in}, n_saved);
    fill(b, 1, in.n_columns, 1, 0);
    return fill(b, 1, in.n_columns, 0, 0);
}

uint32_t dsgd_network_attention(dsgd_builder *b, uint32_t n_heads)
{
    const dsgd_tensor in = *here(b);
    DSGD_ASSERT(b->status != DSGD_OK || in.n_columns % (3 * n_heads) == 0,
                "%u columns for %u heads", in.n_columns, n_heads);
    /* the layer saves the attention weights and their gradients */
    return append(b,
                  (dsgd_layer){.kind = DSGD_ATTENTION,
                               .out = {in.n_rows, in.n_columns / 3, 1},
                               .n_heads = n_heads},
                  2 * (size_t)n_heads * in.n_rows * in.n_rows);
}

uint32_t dsgd_network_lstm(dsgd_builder *b, double n_units)
{
    const uint32_t n = whole(b, n_units, "units");
    dsgd_network_linear(b, 4.0 * n, false);
    const uint32_t n_rows = here(b)->n_rows;
    /*
     * saves per row: 4 gates, the cell, the previous output, and the gradients of cell and output
     */
    append(b, (dsgd_layer){.kind = DSGD_LSTM, .out = {n_rows, n, 1}}, 8 * (size_t)n_rows * n);
    return fill(b, n, 4 * (size_t)n, 0, 1 / sqrt(n));
}

/**
 * Sets `adds` and `other_adds` of layers if a later layer has already written the gradient of their
 * input. Marks the layers that compute the backward pass of a ReLU of their input.
 */
static void mark_sums(dsgd_network *network)
{
    /* for each tensor, the layer that writes its gradient last */
    const dsgd_layer *last[DSGD_MAX_LAYERS + 1] = {NULL};
    for (uint32_t l = network->n_layers; l-- > 0;) {
        dsgd_layer *const layer = &network->layers[l];
        layer->adds = last[layer->from] != NULL;
        last[layer->from] = layer;
        if (layer->kind == DSGD_ADD) {
            layer->other_adds = last[layer->other] != NULL;
            last[layer->other] = layer;
        }
    }
    for (uint32_t l = 0; l < network->n_layers; l++) {
        dsgd_layer *const layer = &network->layers[l];
        dsgd_layer *const made = layer->from == 0 ? NULL : &network->layers[layer->from - 1];
        if (made == NULL || !made->relu || last[layer->from] != layer)
            continue;
        layer->relu_input = made->relu_by_reader = layer->kind == DSGD_LINEAR ||
                                                   layer->kind == DSGD_CONVOLUTION ||
                                                   layer->kind == DSGD_MAX_POOL;
    }
}

dsgd_status dsgd_network_end(dsgd_builder *b)
{
    dsgd_network *const network = b->network;
    const uint32_t n_rows = here(b)->n_rows;
    dsgd_network_linear(b, network->loss == DSGD_LOSS_SQUARED ? 1 : b->data->n_classes, false);
    if (b->status != DSGD_OK)
        return b->status;
    if (network->loss == DSGD_LOSS_CROSS_ENTROPY && n_rows != b->data->n_labels)
        return dsgd_refuse(b->error,
                           "learn: %s does not predict the %u labels per sample of this data. Use "
                           "model: %s",
                           b->model, b->data->n_labels,
                           b->data->kind == DSGD_DATA_TOKENS ? "transformer" : "mlp");
    if (network->loss == DSGD_LOSS_POLICY) {
        network->environments = network->n_state;
        network->n_state += (size_t)network->n_environments * DSGD_ENVIRONMENT_REALS;
        network->policy_saved = network->n_saved;
        network->n_saved += 3 + DSGD_ENVIRONMENT_REALS;
        network->coupled = true;
    }
    for (uint32_t l = network->n_layers; l-- > 0;) {
        network->layers[l].params = network->n_params;
        network->n_params += network->layers[l].n_params;
    }
    for (uint32_t i = 0; i < network->n_fills; i++)
        network->fills[i].offset += network->layers[network->fills[i].layer].params;
    mark_sums(network);
    return DSGD_OK;
}

dsgd_status dsgd_model_build(const dsgd_model_kind *kind, const void *params, const dsgd_data *data,
                             dsgd_network *network, dsgd_error *error)
{
    static const char *const names[] = {"points", "images", "sequences", "texts", "environments"};
    dsgd_builder b = dsgd_network_begin(network, kind->about.name, data, kind->loss, error);
    if (b.status == DSGD_OK && kind->suggested != NULL && data->kind != kind->wants)
        b.status =
            dsgd_refuse(error, "learn: %s needs data with %s, but this data has %s. Use data: %s",
                        b.model, names[kind->wants], names[data->kind], kind->suggested);
    kind->layers(params, &b);
    return dsgd_network_end(&b);
}

void dsgd_network_initial(const dsgd_network *network, uint64_t seed, double *x)
{
    for (uint32_t f = 0; f < network->n_fills; f++) {
        const dsgd_fill *const part = &network->fills[f];
        for (uint32_t i = 0; i < part->n_rows; i++)
            for (uint32_t j = 0; j < part->n_columns; j++) {
                const dsgd_draw at = {seed, DSGD_DRAW_INIT, part->part, part->layer,
                                      j * part->n_rows + i};
                x[part->offset + (size_t)i * part->n_columns + j] =
                    part->bound == 0 ? part->centre
                                     : part->centre + part->bound * (2 * dsgd_draw_uniform(at) - 1);
            }
    }
}

void dsgd_network_initial_state(const dsgd_network *network, uint64_t seed, uint32_t worker,
                                double *state)
{
    for (uint32_t l = 0; l < network->n_layers; l++) {
        const dsgd_layer *const layer = &network->layers[l];
        for (uint32_t j = 0; layer->kind == DSGD_BATCH_NORM && j < layer->in.n_columns; j++) {
            state[layer->state + j] = 0;
            state[layer->state + layer->in.n_columns + j] = 1;
        }
    }
    for (uint32_t e = 0; e < network->n_environments; e++)
        dsgd_episode_begin(state + network->environments + (size_t)e * DSGD_ENVIRONMENT_REALS, seed,
                           worker, 0, e);
}
