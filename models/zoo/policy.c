/**
 * @file policy.c
 * An on-policy agent: REINFORCE (Williams, 1992) with the mean return of the batch as baseline and
 * an entropy bonus, one ReLU hidden layer. A gradient plays batch / environments steps in each
 * environment of the worker. Episodes restart within a batch, and the next gradient continues where
 * this one ended: the environments are the model state. A reduced form of DD-PPO (Wijmans et al.,
 * ICLR 2020).
 */
#include "models/zoo/network.h"

typedef struct policy_params {
    long hidden, environments;
    double discount, entropy;
} policy_params;

static dsgd_status policy_build(const void *params, const dsgd_data *data, dsgd_network *network,
                                dsgd_error *error)
{
    const policy_params *p = params;
    dsgd_builder b = dsgd_network_begin(network, "policy", data, DSGD_LOSS_POLICY, error);
    dsgd_network_wants(&b, DSGD_DATA_STEPS, "navigation");
    network->n_environments = (uint32_t)p->environments;
    network->discount = p->discount;
    network->entropy_weight = p->entropy;
    dsgd_network_linear(&b, (double)p->hidden, true);
    return dsgd_network_end(&b);
}

static const dsgd_option policy_options[] = {
    DSGD_OPTION_LONG(policy_params, hidden, 32, 1, 65536, "units", "of the hidden layer"),
    DSGD_OPTION_LONG(policy_params, environments, 4, 1, 1024, NULL,
                     "side by side at each worker; a batch is shared among them"),
    DSGD_OPTION_DOUBLE(policy_params, discount, 0.9, 0, 1, NULL, "of the rewards, per step"),
    DSGD_OPTION_DOUBLE(policy_params, entropy, 0.01, 0, 10, NULL, "weight of the entropy bonus"),
    DSGD_OPTION_END,
};

DSGD_MODEL(policy, .summary = "a policy trained by the steps that it takes itself",
           .reference = "Williams, Machine Learning 8, 1992; Wijmans et al., ICLR 2020",
           .params_size = sizeof(policy_params), .options = policy_options);
