/**
 * @file transformer.c
 * A small decoder that predicts the next character: token and position embeddings, then blocks of
 * causal attention and a two-layer perceptron with ReLU, each with layer normalisation and a
 * residual connection. Vaswani et al., 2017, pre-norm as in GPT-2.
 */
#include "models/zoo/network.h"

typedef struct transformer_params {
    long blocks, width, heads;
} transformer_params;

static void block(dsgd_builder *b, long width, long heads)
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

static dsgd_status transformer_build(const void *params, const dsgd_data *data,
                                     dsgd_network *network, dsgd_error *error)
{
    const transformer_params *p = params;
    if (p->width % p->heads != 0)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "learn: transformer: %ld heads do not share a width of %ld evenly",
                         p->heads, p->width);
    dsgd_builder b =
        dsgd_network_begin(network, "transformer", data, DSGD_LOSS_CROSS_ENTROPY, error);
    dsgd_network_wants(&b, DSGD_DATA_TOKENS, "text");
    dsgd_network_embedding(&b, data->n_classes, (double)p->width);
    for (long i = 0; i < p->blocks; i++)
        block(&b, p->width, p->heads);
    dsgd_network_layer_norm(&b);
    return dsgd_network_end(&b);
}

static const dsgd_option transformer_options[] = {
    DSGD_OPTION_LONG(transformer_params, blocks, 2, 1, 6, NULL, "of attention and perceptron"),
    DSGD_OPTION_LONG(transformer_params, width, 32, 1, 1024, "columns", "of the embedding"),
    DSGD_OPTION_LONG(transformer_params, heads, 2, 1, 64, NULL, "of the attention"),
    DSGD_OPTION_END,
};

DSGD_MODEL(transformer, .summary = "a small decoder that predicts the next character of a text",
           .reference = "Vaswani et al., NeurIPS 2017; Radford et al., 2019",
           .params_size = sizeof(transformer_params), .options = transformer_options);
