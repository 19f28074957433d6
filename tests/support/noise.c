/**
 * @file noise.c
 * Makes images of random noise.
 */
#include "tests/support/noise.h"

#include "base/draw.h"
#include "base/status.h"

static double uniform(uint32_t what, uint32_t row, uint32_t column)
{
    return dsgd_draw_uniform((dsgd_draw){7, DSGD_DRAW_DATA, what, row, column});
}

static dsgd_samples samples(uint32_t what, uint32_t n, uint32_t n_features, uint32_t n_classes)
{
    const dsgd_samples s = {
        .n = n, .x_bytes = dsgd_xcalloc((size_t)n * n_features, 1), .labels = dsgd_xcalloc(n, 1)};
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t f = 0; f < n_features; f++)
            s.x_bytes[(size_t)i * n_features + f] = (uint8_t)(256 * uniform(what, i, f));
        s.labels[i] = (uint8_t)(n_classes * uniform(what + 2, i, 0));
    }
    return s;
}

dsgd_data *noise_images(uint32_t width, uint32_t height, uint32_t channels, uint32_t n_classes,
                        uint32_t n_train, uint32_t n_test)
{
    dsgd_data *const data = dsgd_xcalloc(1, sizeof *data);
    const uint32_t n_features = width * height * channels;
    *data = (dsgd_data){.kind = DSGD_DATA_IMAGES,
                        .n_rows = width * height,
                        .n_columns = channels,
                        .width = width,
                        .n_features = n_features,
                        .n_labels = 1,
                        .n_classes = n_classes,
                        .mean = 0.5f,
                        .deviation = 0.3f,
                        .train = samples(10, n_train, n_features, n_classes),
                        .test = samples(11, n_test, n_features, n_classes)};
    return data;
}
