/**
 * @file hyperplane.c
 * Linear regression, the eager-SGD paper's hyperplane (PPoPP 2020, section 6.2): one linear output,
 * squared loss.
 */
#include "models/zoo/network.h"

static dsgd_status hyperplane_build(const void *params, const dsgd_data *data,
                                    dsgd_network *network, dsgd_error *error)
{
    (void)params;
    dsgd_builder b = dsgd_network_begin(network, "hyperplane", data, DSGD_LOSS_SQUARED, error);
    dsgd_network_flatten(&b);
    return dsgd_network_end(&b);
}

DSGD_MODEL(hyperplane, .summary = "linear regression: one linear output, squared loss",
           .reference = "Li et al., PPoPP 2020, section 6.2");
