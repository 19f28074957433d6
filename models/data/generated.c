/**
 * @file generated.c
 * Data that are generated from the seed: points on a hyperplane, sequences and environments.
 */
#include <gsl/gsl_cdf.h>

#include "base/draw.h"
#include "models/data/data.h"
#include "models/data/environment.h"

/**
 * Fills u[n] with uniform random numbers in (0, 1). Their coordinates are (what, row) and the
 * columns @p column, @p column + 1, ...
 */
static void uniforms(uint64_t seed, uint32_t what, uint32_t row, uint32_t column, size_t n,
                     double *u)
{
    dsgd_draw_uniforms((dsgd_draw){seed, DSGD_DRAW_DATA, what, row, column}, n, u);
}

static double normal(uint64_t seed, uint32_t what, uint32_t row, uint32_t column)
{
    double u = 0;
    uniforms(seed, what, row, column, 1, &u);
    return gsl_cdf_ugaussian_Pinv(u);
}

/* --- hyperplane: y = w . x + noise, with uniform w of variance 1 and normal noise ------------- */

typedef struct hyperplane_params {
    int64_t features, points;
    double noise, mean, variance, sparsity, diversity;
    int test;
} hyperplane_params;

/*
 * Values of the coordinate `what`. The plane, the training points and the test points have separate
 * random numbers.
 */
enum { PLANE, POINTS, TEST_POINTS };

static const char *const test_words[] = {"new", "trained", NULL};

/**
 * Generates point @p i of @p what into x[n]. One random number per feature determines whether the
 * feature is 0, and its value.
 */
static void draw_point(const hyperplane_params *p, uint64_t seed, uint32_t what, uint32_t i,
                       uint32_t n, double *x)
{
    const double s = p->sparsity;
    const double scale = sqrt(p->variance) * sqrt(3);
    uniforms(seed, what, i, 0, n, x);
    for (uint32_t f = 0; f < n; f++)
        x[f] = x[f] < s ? 0 : p->mean + scale * (2 * ((x[f] - s) / (1 - s)) - 1);
}

/**
 * Generates @p n points. The first @p n_distinct points are random. The other points repeat them in
 * turn.
 */
static dsgd_samples generate_points(const hyperplane_params *p, uint64_t seed, uint32_t what,
                                    const double *plane, uint32_t n, uint32_t n_distinct)
{
    const uint32_t d = (uint32_t)p->features;
    const dsgd_samples part = {.n = n,
                               .x_real = dsgd_xcalloc((size_t)n * d, sizeof(float)),
                               .targets = dsgd_xcalloc(n, sizeof(float))};
    double *const row = dsgd_xcalloc(d, sizeof *row);
    for (uint32_t i = 0; i < n_distinct; i++) {
        double y = 0;
        draw_point(p, seed, what, i, d, row);
        for (uint32_t f = 0; f < d; f++) {
            const float x = (float)row[f];
            part.x_real[(size_t)i * d + f] = x;
            y += plane[f] * (double)x;
        }
        part.targets[i] = (float)(y + p->noise * normal(seed, what, i, d));
    }
    free(row);
    for (uint32_t i = n_distinct; i < n; i++) {
        const size_t of = i - n_distinct;
        memcpy(part.x_real + (size_t)i * d, part.x_real + of * d, d * sizeof(float));
        part.targets[i] = part.targets[of];
    }
    return part;
}

static dsgd_status hyperplane_load(const void *params, uint64_t seed, dsgd_data **data,
                                   dsgd_error *error)
{
    (void)error;
    const hyperplane_params *p = params;
    const uint32_t d = (uint32_t)p->features;
    const uint32_t n = (uint32_t)p->points;
    const uint32_t n_distinct = (uint32_t)fmax(1, round(p->diversity * n));
    const bool trained = p->test == 1;
    const uint32_t n_test = trained ? n_distinct : n / 8 + 1;
    double *const plane = dsgd_keep(d, sizeof *plane);
    draw_point(&(hyperplane_params){.variance = 1}, seed, PLANE, 0, d, plane);
    *data = dsgd_xcalloc(1, sizeof **data);
    **data = (dsgd_data){
        .n_rows = 1,
        .n_columns = d,
        .width = 1,
        .n_features = d,
        .train = generate_points(p, seed, POINTS, plane, n, n_distinct),
        .test = generate_points(p, seed, trained ? POINTS : TEST_POINTS, plane, n_test, n_test)};
    return DSGD_OK;
}

static const dsgd_option hyperplane_options[] = {
    DSGD_OPTION_LONG(
        hyperplane_params, features, 256, 1, 65536, NULL,
        "number of features. The paper has 8,192, which takes 1 GiB for 32,768 points"),
    DSGD_OPTION_LONG(hyperplane_params, points, 32768, 8, 1 << 24, NULL,
                     "training points; the test set has an eighth of this number"),
    DSGD_OPTION_DOUBLE(hyperplane_params, noise, 1, 0, 1e6, NULL,
                       "standard deviation of the noise in targets"),
    DSGD_OPTION_DOUBLE(hyperplane_params, mean, 0, -1e6, 1e6, NULL,
                       "mean of the features that are not 0"),
    DSGD_OPTION_DOUBLE(hyperplane_params, variance, 1, 0, 1e12, NULL,
                       "variance over points of the features that are not 0"),
    DSGD_OPTION_DOUBLE(hyperplane_params, sparsity, 0, 0, 0.999999, NULL,
                       "share of the features that are 0"),
    DSGD_OPTION_DOUBLE(hyperplane_params, diversity, 1, 1e-9, 1, NULL,
                       "share of distinct training points; the other points repeat them"),
    DSGD_OPTION_CHOICE(hyperplane_params, test, test_words,
                       "test set. new: new points; trained: the distinct training points"),
    DSGD_OPTION_END,
};

DSGD_DATA_SOURCE(hyperplane, true, .name = "hyperplane",
                 .summary = "points on a noisy hyperplane, generated from the seed",
                 .reference = "Li et al., PPoPP 2020, section 6.2",
                 DSGD_PARAMS(hyperplane_params, hyperplane_options));

/* --- data source with sequences of different lengths ------------------------------------------ */

/*
 * Parameters of sequences of different lengths, which resemble features of video frames. Each class
 * is a slow oscillation of a few features, plus noise. Lengths have a lognormal distribution and
 * are truncated at `longest`. The default spread is the spread of the UCF101 videos. These videos
 * have 29 to 1,776 frames and a mean of 187 frames. The standard deviation of the logarithm of
 * their lengths is about 0.5.
 */
typedef struct sequences_params {
    int64_t points, classes, features, longest;
    double median, spread, noise;
} sequences_params;

/*
 * Values of the coordinate `what`. Training sequences, test sequences and classes have separate
 * random numbers.
 */
enum { TRAIN, TEST, CLASSES };

/**
 * Generates sample @p i of @p what: feature f in row t is sin(begin + phase + frequency * t) +
 * noise. @p u is scratch memory for random numbers.
 */
static void generate_one(const sequences_params *p, uint64_t seed, uint32_t what, uint32_t i,
                         dsgd_samples *part, double *u)
{
    const uint32_t d = (uint32_t)p->features;
    const double length = p->median * exp(p->spread * normal(seed, what, i, 0));
    const double longest = (double)p->longest;
    const uint32_t n = (uint32_t)(length < 1 ? 1 : length > longest ? longest : ceil(length));
    uniforms(seed, what, i, 1, 2, u);
    part->lengths[i] = (uint16_t)n;
    part->labels[i] = (uint8_t)(u[0] * (double)p->classes);
    const double begin = 2 * M_PI * u[1];
    double *const waves = u; /* [d][2] frequency and phase of each feature */
    double *const noise = u + 2 * d; /* [n][d] noise of each row and feature */
    uniforms(seed, CLASSES, part->labels[i], 0, 2 * d, waves);
    uniforms(seed, what, i, 3, n * d, noise);
    float *const x = part->x_real + (size_t)i * (size_t)p->longest * d;
    for (uint32_t t = 0; t < n; t++)
        for (uint32_t f = 0; f < d; f++) {
            const double frequency = 0.2 + 0.8 * waves[2 * f];
            const double phase = 2 * M_PI * waves[2 * f + 1];
            x[t * d + f] = (float)(sin(begin + phase + frequency * t) +
                                   p->noise * gsl_cdf_ugaussian_Pinv(noise[t * d + f]));
        }
}

static dsgd_samples generate(const sequences_params *p, uint64_t seed, uint32_t what, uint32_t n)
{
    const size_t size = (size_t)p->longest * (size_t)p->features;
    dsgd_samples part = {.n = n,
                         .x_real = dsgd_xcalloc(n * size, sizeof(float)),
                         .labels = dsgd_xcalloc(n, 1),
                         .lengths = dsgd_xcalloc(n, sizeof(uint16_t))};
    double *const u = dsgd_xcalloc(2 + 2 * (size_t)p->features + size, sizeof *u);
    for (uint32_t i = 0; i < n; i++)
        generate_one(p, seed, what, i, &part, u);
    free(u);
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
                     "training sequences; the test set has an eighth of this number"),
    DSGD_OPTION_LONG(sequences_params, classes, 8, 2, 256, NULL, "number of classes"),
    DSGD_OPTION_LONG(sequences_params, features, 8, 1, 4096, NULL, "features per row"),
    DSGD_OPTION_LONG(sequences_params, longest, 32, 1, 4096, "rows",
                     "length of the longest sequence"),
    DSGD_OPTION_DOUBLE(sequences_params, median, 8, 1, 4096, "rows", "median length"),
    DSGD_OPTION_DOUBLE(sequences_params, spread, 0.5, 0, 5, NULL,
                       "standard deviation of the logarithm of the length"),
    DSGD_OPTION_DOUBLE(sequences_params, noise, 1, 0, 1e6, NULL,
                       "standard deviation of the noise per feature"),
    DSGD_OPTION_END,
};

DSGD_DATA_SOURCE(
    sequences, true, .name = "sequences",
    .summary = "generated sequences of different lengths; classes differ in their oscillation",
    DSGD_PARAMS(sequences_params, sequences_options));

/* --- data source with environments of the policy model ---------------------------------------- */

/*
 * Parameters of the navigation task. No data are stored: the number of a sample in the stream
 * selects the random numbers of a step. The test set consists of `episodes` episodes with their own
 * initial states.
 */
typedef struct navigation_params {
    int64_t episodes;
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
    DSGD_OPTION_LONG(navigation_params, episodes, 256, 1, 100000, NULL, "number of test episodes"),
    DSGD_OPTION_END,
};

DSGD_DATA_SOURCE(
    navigation, true, .name = "navigation",
    .summary =
        "generated walks to a goal in a room with a wall; accuracy is the share of goals reached",
    .reference = "a reduced PointGoal task; Wijmans et al., ICLR 2020",
    DSGD_PARAMS(navigation_params, navigation_options));
