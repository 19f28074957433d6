/**
 * @file noise.h
 * Images of noise, with labels at random.
 */
#pragma once

#include "models/data/data.h"

/** Both sets; dsgd_data_free() frees them. */
dsgd_data *noise_images(uint32_t width, uint32_t height, uint32_t channels, uint32_t n_classes,
                        uint32_t n_train, uint32_t n_test);
