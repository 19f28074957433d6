/**
 * @file generated.c
 * Data that are generated from the seed: points on a hyperplane, sequences, environments.
 */
#include <gsl/gsl_cdf.h>

#include "models/data/data.h"
#include "models/data/environment.h"

static double normal(uint64_t seed, uint32_t what, uint32_t row, uint32_t column)
{
    return gsl_cdf_ugaussian_Pinv(dsgd_data_uniform(seed, what, row, column));
}

/* --- hyperplane: y = w . x + noise, uniform x of unit variance, normal noise ------------------ */

typedef struct hyperplane_params {
    long features, points;
    double noise;
} hyperplane_params;

enum { PLANE, POINTS, TEST_POINTS }; /* keys of draws */

/** Uniform with mean 0 and variance 1. */
static double unit_uniform(uint64_t seed, uint32_t what, uint32_t row, uint32_t column)
{
    return sqrt(3) * (2 * dsgd_data_uniform(seed, what, row, column) - 1);
}

static dsgd_samples generate_points(const hyperplane_params *p, uint64_t seed, uint32_t what,
                                    const double *plane, uint32_t n)
{
    const uint32_t d = (uint32_t)p->features;
    const dsgd_samples part = {.n = n,
                               .x_real = dsgd_xcalloc((size_t)n * d, sizeof(float)),
                               .targets = dsgd_xcalloc(n, sizeof(float))};
    for (uint32_t i = 0; i < n; i++) {
        double y = 0;
        for (uint32_t f = 0; f < d; f++) {
            const float x = (float)unit_uniform(seed, what, i, f);
            part.x_real[(size_t)i * d + f] = x;
            y += plane[f] * (double)x;
        }
        part.targets[i] = (float)(y + p->noise * normal(seed, what, i, d));
    }
    return part;
}

static dsgd_status hyperplane_load(const void *params, uint64_t seed, dsgd_data **data,
                                   dsgd_error *error)
{
    (void)error;
    const hyperplane_params *p = params;
    const uint32_t d = (uint32_t)p->features;
    double *const plane = dsgd_keep(d, sizeof *plane);
    for (uint32_t f = 0; f < d; f++)
        plane[f] = unit_uniform(seed, PLANE, 0, f);
    *data = dsgd_xcalloc(1, sizeof **data);
    **data = (dsgd_data){
        .n_rows = 1,
        .n_columns = d,
        .width = 1,
        .n_features = d,
        .train = generate_points(p, seed, POINTS, plane, (uint32_t)p->points),
        .test = generate_points(p, seed, TEST_POINTS, plane, (uint32_t)(p->points / 8 + 1))};
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
                 DSGD_PARAMS(hyperplane_params, hyperplane_options));

/* --- sequences -------------------------------------------------------------------------------- */

/*
 * Sequences of different lengths, like features of video frames: each class is a slow oscillation
 * of a few features, plus noise. Lengths are lognormal, truncated at `longest`; the default spread
 * is that of the UCF101 videos (29 to 1,776 frames, mean 187, standard deviation of the logarithm
 * about 0.5).
 */
typedef struct sequences_params {
    long points, classes, features, longest;
    double median, spread, noise;
} sequences_params;

enum { TRAIN, TEST, CLASSES }; /* keys of draws */

/** Sample @p i: feature f is sin(begin + phase + frequency * t) + noise */
static void generate_one(const sequences_params *p, uint64_t seed, uint32_t what, uint32_t i,
                         dsgd_samples *part)
{
    const uint32_t d = (uint32_t)p->features;
    const double length = p->median * exp(p->spread * normal(seed, what, i, 0));
    const double longest = (double)p->longest;
    part->lengths[i] = (uint16_t)(length < 1 ? 1 : length > longest ? longest : ceil(length));
    part->labels[i] = (uint8_t)(dsgd_data_uniform(seed, what, i, 1) * (double)p->classes);
    const double begin = 2 * M_PI * dsgd_data_uniform(seed, what, i, 2);
    float *const x = part->x_real + (size_t)i * (size_t)p->longest * d;
    for (uint32_t t = 0; t < part->lengths[i]; t++)
        for (uint32_t f = 0; f < d; f++) {
            const double frequency =
                0.2 + 0.8 * dsgd_data_uniform(seed, CLASSES, part->labels[i], 2 * f);
            const double phase =
                2 * M_PI * dsgd_data_uniform(seed, CLASSES, part->labels[i], 2 * f + 1);
            x[t * d + f] = (float)(sin(begin + phase + frequency * t) +
                                   p->noise * normal(seed, what, i, 3 + t * d + f));
        }
}

static dsgd_samples generate(const sequences_params *p, uint64_t seed, uint32_t what, uint32_t n)
{
    const size_t size = (size_t)p->longest * (size_t)p->features;
    dsgd_samples part = {.n = n,
                         .x_real = dsgd_xcalloc(n * size, sizeof(float)),
                         .labels = dsgd_xcalloc(n, 1),
                         .lengths = dsgd_xcalloc(n, sizeof(uint16_t))};
    for (uint32_t i = 0; i < n; i++)
        generate_one(p, seed, what, i, &part);
    return part;
}

static dsgd_status sequences_load(const void *params, uint64_t seed, dsgd_data **data,
                                  dsgd_error *error)
{
    (void)error;
    const sequences_params *p = params;
    *data = dsgd_xcalloc(1, sizeof **data);
    **data = (dsgd_data){.kind = DSGD_DATA_SEQUENCES,
                         .n_rows = (uint32_t)p->longest,
                         .n_columns = (uint32_t)p->features,
                         .width = 1,
                         .n_features = (uint32_t)(p->longest * p->features),
                         .n_labels = 1,
                         .n_classes = (uint32_t)p->classes,
                         .deviation = 1,
                         .train = generate(p, seed, TRAIN, (uint32_t)p->points),
                         .test = generate(p, seed, TEST, (uint32_t)(p->points / 8 + 1))};
    return DSGD_OK;
}

static const dsgd_option sequences_options[] = {
    DSGD_OPTION_LONG(sequences_params, points, 8192, 8, 1 << 22, NULL,
                     "sequences to train on; an eighth as many more to test on"),
    DSGD_OPTION_LONG(sequences_params, classes, 8, 2, 256, NULL, "to be distinguished"),
    DSGD_OPTION_LONG(sequences_params, features, 8, 1, 4096, NULL, "of a row"),
    DSGD_OPTION_LONG(sequences_params, longest, 32, 1, 4096, "rows", "of any sequence"),
    DSGD_OPTION_DOUBLE(sequences_params, median, 8, 1, 4096, "rows", "of the lengths"),
    DSGD_OPTION_DOUBLE(sequences_params, spread, 0.5, 0, 5, NULL,
                       "standard deviation of the lengths' logarithm"),
    DSGD_OPTION_DOUBLE(sequences_params, noise, 1, 0, 1e6, NULL, "standard deviation, per feature"),
    DSGD_OPTION_END,
};

DSGD_DATA_SOURCE(
    sequences, true, .name = "sequences",
    .summary = "generated sequences of different lengths, distinguished by their motion",
    DSGD_PARAMS(sequences_params, sequences_options));

/* --- navigation: environments of the policy model --------------------------------------------- */

/*
 * Nothing is stored: sample j of the stream keys the draws of a step. The test set is a number of
 * episodes with their own initial states.
 */
typedef struct navigation_params {
    long episodes;
} navigation_params;

static dsgd_status navigation_load(const void *params, uint64_t seed, dsgd_data **data,
                                   dsgd_error *error)
{
    (void)error;
    const navigation_params *p = params;
    *data = dsgd_xcalloc(1, sizeof **data);
    **data = (dsgd_data){.kind = DSGD_DATA_STEPS,
                         .n_rows = 1,
                         .n_columns = DSGD_ENVIRONMENT_FEATURES,
                         .width = 1,
                         .n_features = DSGD_ENVIRONMENT_FEATURES,
                         .n_classes = DSGD_ENVIRONMENT_ACTIONS,
                         .deviation = 1,
                         .seed = seed,
                         .train = {.n = 1u << 31},
                         .test = {.n = (uint32_t)p->episodes}};
    return DSGD_OK;
}

static const dsgd_option navigation_options[] = {
    DSGD_OPTION_LONG(navigation_params, episodes, 256, 1, 100000, NULL, "to test on"),
    DSGD_OPTION_END,
};

DSGD_DATA_SOURCE(
    navigation, true, .name = "navigation",
    .summary = "a walk to a goal in a room with a wall; accuracy: share of goals reached",
    .reference = "a reduced PointGoal task; Wijmans et al., ICLR 2020",
    DSGD_PARAMS(navigation_params, navigation_options));
