/**
 * @file logreg.c
 * Multinomial logistic regression: one linear layer, softmax, cross-entropy.
 */
#include "models/zoo/network.h"

static dsgd_status logreg_build(const void *params, const dsgd_data *data, dsgd_network *network,
                                dsgd_error *error)
{
    (void)params;
    dsgd_builder b = dsgd_network_begin(network, "logreg", data, DSGD_LOSS_CROSS_ENTROPY, error);
    dsgd_network_flatten(&b);
    return dsgd_network_end(&b);
}

DSGD_MODEL(logreg, .summary = "multinomial logistic regression: one linear layer and softmax");
