/**
 * @file noise.h
 * Makes images of random noise with random labels.
 */
#pragma once

#include "models/data/data.h"

/**
 * Returns a training set and a test set of random images with random labels. The caller frees them
 * with dsgd_data_free().
 */
dsgd_data *noise_images(uint32_t width, uint32_t height, uint32_t channels, uint32_t n_classes,
                        uint32_t n_train, uint32_t n_test);
