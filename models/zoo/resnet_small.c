/**
 * @file resnet_small.c
 * A small residual network: a convolution of stride 2; residual blocks of two 3 x 3 convolutions
 * with batch normalisation, all but the first with twice the channels and half the image; global
 * average pooling; softmax. He et al., CVPR 2016, section 4.2, with projections (option B) where
 * shapes change. Running statistics are local to a worker and averaged only for evaluations.
 */
#include "models/zoo/network.h"

typedef struct resnet_params {
    long blocks, width;
} resnet_params;

static void block(dsgd_builder *b, double width, uint32_t stride)
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

static dsgd_status resnet_small_build(const void *params, const dsgd_data *data,
                                      dsgd_network *network, dsgd_error *error)
{
    const resnet_params *p = params;
    dsgd_builder b =
        dsgd_network_begin(network, "resnet_small", data, DSGD_LOSS_CROSS_ENTROPY, error);
    dsgd_network_wants(&b, DSGD_DATA_IMAGES, "fashion-mnist");
    dsgd_network_convolution(&b, (double)p->width, 3, 2, false, false);
    dsgd_network_batch_norm(&b, true);
    for (long i = 0; i < p->blocks; i++)
        block(&b, (double)(p->width << i), i == 0 ? 1 : 2);
    dsgd_network_mean_rows(&b);
    return dsgd_network_end(&b);
}

static const dsgd_option resnet_options[] = {
    DSGD_OPTION_LONG(resnet_params, blocks, 3, 1, 6, NULL,
                     "residual blocks; each but the first doubles the channels"),
    DSGD_OPTION_LONG(resnet_params, width, 8, 1, 256, "channels", "of the first block"),
    DSGD_OPTION_END,
};

DSGD_MODEL(resnet_small, .summary = "residual blocks with batch normalisation, local statistics",
           .reference = "He et al., CVPR 2016, section 4.2", .params_size = sizeof(resnet_params),
           .options = resnet_options);
