/**
 * @file cnn.c
 * A small convolutional network: 3 x 3 convolutions with ReLU, each followed by 2 x 2 max pooling,
 * one hidden layer, softmax. 26,698 parameters on images of 28 x 28.
 */
#include "models/zoo/network.h"

typedef struct cnn_params {
    dsgd_numbers channels;
    long hidden;
} cnn_params;

static dsgd_status cnn_build(const void *params, const dsgd_data *data, dsgd_network *network,
                             dsgd_error *error)
{
    const cnn_params *p = params;
    double usual[] = {8, 16};
    const dsgd_numbers channels = p->channels.n == 0 ? (dsgd_numbers){2, usual} : p->channels;
    dsgd_builder b = dsgd_network_begin(network, "cnn", data, DSGD_LOSS_CROSS_ENTROPY, error);
    dsgd_network_wants(&b, DSGD_DATA_IMAGES, "fashion-mnist");
    for (size_t l = 0; l < channels.n; l++) {
        dsgd_network_convolution(&b, channels.v[l], 3, 1, true, true);
        dsgd_network_max_pool(&b, 2);
    }
    dsgd_network_flatten(&b);
    dsgd_network_linear(&b, (double)p->hidden, true);
    return dsgd_network_end(&b);
}

static const dsgd_option cnn_options[] = {
    DSGD_OPTION_NUMBERS(cnn_params, channels, 1, 1024,
                        "of the convolutions; 8 and 16 where nothing is given"),
    DSGD_OPTION_LONG(cnn_params, hidden, 32, 1, 65536, "units", "of the hidden layer"),
    DSGD_OPTION_END,
};

DSGD_MODEL(cnn, .summary = "two convolutions with maxima, one hidden layer, softmax",
           .params_size = sizeof(cnn_params), .options = cnn_options);
