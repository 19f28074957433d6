/**
 * @file mlp.c
 * A multi-layer perceptron: ReLU hidden layers, softmax, cross-entropy.
 */
#include "models/zoo/network.h"

typedef struct mlp_params {
    dsgd_numbers hidden;
} mlp_params;

static dsgd_status mlp_build(const void *params, const dsgd_data *data, dsgd_network *network,
                             dsgd_error *error)
{
    const mlp_params *p = params;
    double usual[] = {32};
    const dsgd_numbers hidden = p->hidden.n == 0 ? (dsgd_numbers){1, usual} : p->hidden;
    dsgd_builder b = dsgd_network_begin(network, "mlp", data, DSGD_LOSS_CROSS_ENTROPY, error);
    dsgd_network_flatten(&b);
    for (size_t l = 0; l < hidden.n; l++)
        dsgd_network_linear(&b, hidden.v[l], true);
    return dsgd_network_end(&b);
}

static const dsgd_option mlp_options[] = {
    DSGD_OPTION_NUMBERS(mlp_params, hidden, 1, 65536,
                        "sizes of the hidden layers; one of 32 where nothing is given"),
    DSGD_OPTION_END,
};

DSGD_MODEL(mlp, .summary = "perceptron with ReLU hidden layers and softmax",
           .params_size = sizeof(mlp_params), .options = mlp_options);
