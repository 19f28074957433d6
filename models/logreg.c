/**
 * @file logreg.c
 * Multinomial logistic regression: one linear layer, softmax, cross-entropy.
 */
#include "models/chain.h"

extern const dsgd_model_kind dsgd_model_logreg;

static dsgd_status logreg_build(const void *params, const dsgd_data *data, dsgd_network *network,
                                dsgd_error *error)
{
    (void)params;
    return dsgd_network_chain(network, "logreg", data, &(dsgd_numbers){0, NULL},
                              DSGD_LOSS_CROSS_ENTROPY, error);
}

const dsgd_model_kind dsgd_model_logreg = {
    .about = {.name = "logreg",
              .summary = "multinomial logistic regression: one linear layer and softmax"},
    .build = logreg_build,
};
