/**
 * @file chain.h
 * What the models that are chains of fully connected layers share.
 */
#ifndef DSGD_MODELS_CHAIN_H
#define DSGD_MODELS_CHAIN_H

#include "models/model.h"

/** Lays out data -> hidden[0] -> ... -> output; refuses data that does not fit the loss, with a sentence that names @p name. */
dsgd_status dsgd_network_chain(dsgd_network *network, const char *name, const dsgd_data *data,
                               const dsgd_numbers *hidden, dsgd_loss loss, dsgd_error *error);

#endif
