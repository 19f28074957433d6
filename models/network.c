/**
 * @file network.c
 * Layout of a chain of layers, and its initial numbers.
 */
#include <math.h>

#include "base/draw.h"
#include "models/chain.h"

dsgd_status dsgd_network_chain(dsgd_network *network, const char *name, const dsgd_data *data,
                               const dsgd_numbers *hidden, dsgd_loss loss, dsgd_error *error)
{
    const uint32_t n_outputs = loss == DSGD_LOSS_SQUARED ? 1 : data->n_classes;
    if (loss == DSGD_LOSS_CROSS_ENTROPY && data->n_classes == 0)
        return dsgd_fail(
            error, DSGD_EUSAGE,
            "learn: %s learns classes, but this data has none; fashion-mnist or idx would do",
            name);
    if (loss == DSGD_LOSS_SQUARED && data->n_classes > 0)
        return dsgd_fail(
            error, DSGD_EUSAGE,
            "learn: %s learns a number, but this data has classes; data: hyperplane would do",
            name);
    if (hidden->n + 1 > DSGD_MAX_LAYERS)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "learn: %s: hidden: %zu layers, but at most %d are possible", name,
                         hidden->n, DSGD_MAX_LAYERS - 1);
    for (size_t l = 0; l < hidden->n; l++)
        if (hidden->v[l] != floor(hidden->v[l]))
            return dsgd_fail(error, DSGD_EUSAGE,
                             "learn: %s: hidden: %g is no whole number of units", name,
                             hidden->v[l]);
    *network = (dsgd_network){.n_layers = (uint32_t)hidden->n + 1, .loss = loss};
    uint32_t width = data->n_features;
    for (uint32_t l = 0; l < network->n_layers; l++) {
        const bool last = l + 1 == network->n_layers;
        network->layers[l] = (dsgd_layer){
            .n_in = width, .n_out = last ? n_outputs : (uint32_t)hidden->v[l], .rectified = !last};
        width = network->layers[l].n_out;
    }
    for (uint32_t l = network->n_layers; l-- > 0;) {
        dsgd_layer *const layer = &network->layers[l];
        layer->weights = network->n_params;
        layer->biases = layer->weights + (size_t)layer->n_in * layer->n_out;
        network->n_params = layer->biases + layer->n_out;
    }
    return DSGD_OK;
}

void dsgd_network_initial(const dsgd_network *network, uint64_t seed, double *x)
{
    for (uint32_t l = 0; l < network->n_layers; l++) {
        const dsgd_layer *const layer = &network->layers[l];
        const double bound = sqrt(6.0 / layer->n_in);
        for (size_t i = 0; i < (size_t)layer->n_in * layer->n_out; i++) {
            const dsgd_draw at = {
                .seed = seed, .purpose = DSGD_DRAW_INIT, .step = l, .index = (uint32_t)i};
            x[layer->weights + i] = bound * (2 * dsgd_draw_uniform(at) - 1);
        }
        for (size_t i = 0; i < layer->n_out; i++)
            x[layer->biases + i] = 0;
    }
}
