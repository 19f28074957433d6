/**
 * @file hyperplane.c
 * Points on a noisy hyperplane, generated: y = w . x + noise, with uniform x of unit variance and
 * normal noise.
 */
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "models/data/data.h"

typedef struct hyperplane_params {
    long features, points;
    double noise;
} hyperplane_params;

enum { PLANE, TRAIN, TEST }; /* keys of draws */

/** Uniform with mean 0 and variance 1. */
static double unit_uniform(uint64_t seed, uint32_t what, uint32_t row, uint32_t column)
{
    return sqrt(3) * (2 * dsgd_data_uniform(seed, what, row, column) - 1);
}

static void generate(const hyperplane_params *p, uint64_t seed, uint32_t what, const double *plane,
                     uint32_t n, dsgd_samples *part)
{
    const uint32_t d = (uint32_t)p->features;
    *part = (dsgd_samples){.n = n,
                           .x_real = dsgd_xcalloc((size_t)n * d, sizeof(float)),
                           .targets = dsgd_xcalloc(n, sizeof(float))};
    for (uint32_t i = 0; i < n; i++) {
        double y = 0;
        for (uint32_t f = 0; f < d; f++) {
            const float x = (float)unit_uniform(seed, what, i, f);
            part->x_real[(size_t)i * d + f] = x;
            y += plane[f] * (double)x;
        }
        const double noise = gsl_cdf_ugaussian_Pinv(dsgd_data_uniform(seed, what, i, d));
        part->targets[i] = (float)(y + p->noise * noise);
    }
}

static dsgd_status hyperplane_load(const void *params, uint64_t seed, dsgd_data **loaded,
                                   dsgd_error *error)
{
    (void)error;
    const hyperplane_params *p = params;
    dsgd_data *const data = dsgd_xcalloc(1, sizeof *data);
    data->n_features = data->n_columns = (uint32_t)p->features;
    data->n_rows = data->width = 1;
    double *const plane = dsgd_xcalloc(data->n_features, sizeof *plane);
    for (uint32_t f = 0; f < data->n_features; f++)
        plane[f] = unit_uniform(seed, PLANE, 0, f);
    generate(p, seed, TRAIN, plane, (uint32_t)p->points, &data->train);
    generate(p, seed, TEST, plane, (uint32_t)(p->points / 8 + 1), &data->test);
    free(plane);
    *loaded = data;
    return DSGD_OK;
}

static const dsgd_option hyperplane_options[] = {
    DSGD_OPTION_LONG(hyperplane_params, features, 256, 1, 65536, NULL,
                     "dimensions of x; the paper has 8,192, which takes 1 GiB at 32,768 points"),
    DSGD_OPTION_LONG(hyperplane_params, points, 32768, 8, 1 << 24, NULL,
                     "points to train on; an eighth as many more to test on"),
    DSGD_OPTION_DOUBLE(hyperplane_params, noise, 1, 0, 1e6, NULL,
                       "standard deviation of the noise"),
    DSGD_OPTION_END,
};

DSGD_DATA_SOURCE(hyperplane, true, .name = "hyperplane",
                 .summary = "points on a noisy hyperplane, generated from the seed",
                 .reference = "Li et al., PPoPP 2020, section 6.2",
                 .params_size = sizeof(hyperplane_params), .options = hyperplane_options);
