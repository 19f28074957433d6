/**
 * @file registry.c
 * The data sources that a user can name.
 */
#include "models/data/data.h"

extern const dsgd_data_source dsgd_data_fashion_mnist, dsgd_data_idx, dsgd_data_hyperplane,
    dsgd_data_sequences, dsgd_data_text, dsgd_data_navigation;

const dsgd_about *const dsgd_data_sources[] = {
    &dsgd_data_fashion_mnist.about,
    &dsgd_data_idx.about,
    &dsgd_data_hyperplane.about,
    &dsgd_data_sequences.about,
    &dsgd_data_text.about,
    &dsgd_data_navigation.about,
    NULL,
};
