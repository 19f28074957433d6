/**
 * @file registry.c
 * The reduced models that a user can name.
 */
#include "models/zoo/model.h"

extern const dsgd_model_kind dsgd_model_hyperplane, dsgd_model_logreg, dsgd_model_mlp,
    dsgd_model_cnn, dsgd_model_resnet_small, dsgd_model_lstm, dsgd_model_transformer,
    dsgd_model_policy;

const dsgd_about *const dsgd_model_kinds[] = {
    &dsgd_model_hyperplane.about,  &dsgd_model_logreg.about,       &dsgd_model_mlp.about,
    &dsgd_model_cnn.about,         &dsgd_model_resnet_small.about, &dsgd_model_lstm.about,
    &dsgd_model_transformer.about, &dsgd_model_policy.about,       NULL,
};
