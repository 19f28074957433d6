/**
 * @file test_data.c
 * Tests generated data, windows of a text, and the environment in which the policy learns.
 */
#include <check.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/rig.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

#define DSGD_IN_DOUBLE
#include "base/program.h"
#include "models/data/environment.h"
#include "tests/support/stream.h"

/** The name and the value of one option of a data source. */
typedef struct setting {
    const char *name;
    double value;
} setting;

static dsgd_status load(const char *source, const char *path, const setting *with, size_t n,
                        uint64_t seed, dsgd_data **data, dsgd_error *error)
{
    const dsgd_data_source *const found = (const void *)dsgd_entry_find(dsgd_data_sources, source);
    ck_assert_ptr_nonnull(found);
    void *const params = support_params(&found->about);
    for (size_t i = 0; i < n; i++)
        support_set(&found->about, params, with[i].name, with[i].value);
    for (const dsgd_option *o = found->about.options; path != NULL && o->name != NULL; o++)
        if (o->kind == DSGD_STRING)
            memcpy((char *)params + o->offset, &path, sizeof path);
    const dsgd_status status = found->load(params, seed, data, error);
    kept(*data);
    return status;
}

/* --- Tests of data that remain in memory ------------------------------------------------------ */

/**
 * Opens a data source for seed @p seed. One option has the value @p value, and all others have
 * their defaults. If @p keep is true, closed data remain in memory.
 */
static dsgd_data *opened(const char *source, const char *option, double value, uint64_t seed,
                         bool keep)
{
    const dsgd_spec pick = support_picked(dsgd_data_sources, source, option, value);
    dsgd_data *data = NULL;
    ck_assert_int_eq(dsgd_data_open(&pick, seed, keep, &data, NULL), DSGD_OK);
    return data;
}

SUITE(data, "kept");

TEST(kept_data_are_loaded_once)
{
    dsgd_data *const first = opened("hyperplane", "points", 100, 1, true);
    dsgd_data_close(first);
    ck_assert_ptr_eq(opened("hyperplane", "points", 100, 1, false), first);
    dsgd_data_close(first);
    /* data that the test has closed, but keeps in memory, can still be read */
    ck_assert_uint_eq(first->train.n, 100);
    dsgd_data *const seed = opened("hyperplane", "points", 100, 2, false);
    dsgd_data *const points = opened("hyperplane", "points", 101, 1, false);
    ck_assert_ptr_ne(seed, first);
    ck_assert_ptr_ne(points, first);
    ck_assert_uint_eq(points->train.n, 101);
    ck_assert_mem_ne(seed->train.x_real, first->train.x_real, 64);
    dsgd_data_close(seed);
    dsgd_data_close(points);
    for (uint64_t other = 3; other < 34; other++)
        dsgd_data_close(opened("hyperplane", "points", 100, other, true));
    ck_assert(!dsgd_data_has_room());
    /* 32 data sets are in memory, which is the limit, so the next data set is not kept. */
    dsgd_data *const a = opened("hyperplane", "points", 100, 34, true);
    dsgd_data *const b = opened("hyperplane", "points", 100, 34, true);
    ck_assert_ptr_ne(a, b);
    dsgd_data_close(a);
    dsgd_data_close(b);
}

TEST(kept_data_outlive_what_was_kept_with_them)
{
    dsgd_program_begin(); /* from now on, dsgd_drop() also frees jansson's memory */
    void *const mark = dsgd_mark();
    dsgd_data *const first = opened("hyperplane", "points", 100, 1, true);
    dsgd_drop(mark);
    char *taken[400]; /* these new allocations overwrite memory that was freed */
    for (size_t n = 1; n < 400; n++)
        taken[n] = memset(dsgd_xrealloc(NULL, n, 1), 'x', n);
    ck_assert_ptr_eq(opened("hyperplane", "points", 100, 1, false), first);
    for (size_t n = 1; n < 400; n++)
        free(taken[n]);
}

TEST(data_that_read_no_seed_are_kept_for_all_seeds)
{
    const char *path = DSGD_SOURCE_DIR "/README.md";
    const dsgd_spec pick = support_picked(dsgd_data_sources, "text", NULL, 0);
    memcpy((char *)pick.params + dsgd_option_find(pick.about->options, "path")->offset, &path,
           sizeof path);
    dsgd_data *data[2] = {NULL, NULL};
    for (uint64_t seed = 0; seed < 2; seed++)
        ck_assert_int_eq(dsgd_data_open(&pick, seed, true, &data[seed], NULL), DSGD_OK);
    ck_assert_ptr_eq(data[0], data[1]);
}

/* --- hyperplane ------------------------------------------------------------------------------- */

static dsgd_data *hyperplane(uint64_t seed, double noise)
{
    const setting with[] = {{"features", 8}, {"points", 4000}, {"noise", noise}};
    dsgd_data *data = NULL;
    ck_assert_int_eq(load("hyperplane", NULL, with, 3, seed, &data, NULL), DSGD_OK);
    return data;
}

CASE("hyperplane");

TEST(hyperplane_data_has_unit_variance_and_follows_its_seed)
{
    dsgd_data *const a = hyperplane(1, 0.5), *const b = hyperplane(1, 0.5);
    dsgd_data *const c = hyperplane(2, 0.5);
    const size_t n = (size_t)a->train.n * a->n_features;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)a->train.x_real[i];
        squares += (double)a->train.x_real[i] * (double)a->train.x_real[i];
    }
    ck_assert_double_le(fabs(sum / (double)n), 4 / sqrt((double)n));
    ck_assert_double_le(fabs(squares / (double)n - 1), 4 * sqrt(0.8 / (double)n));
    ck_assert_uint_eq(a->train.n, 4000);
    ck_assert_uint_eq(a->n_classes, 0);
    ck_assert_mem_eq(a->train.x_real, b->train.x_real, n * sizeof(float));
    ck_assert_mem_eq(a->train.targets, b->train.targets, 4000 * sizeof(float));
    ck_assert_mem_ne(a->train.x_real, c->train.x_real, n * sizeof(float));
    ck_assert_mem_ne(a->train.x_real, a->test.x_real, 64);
    dsgd_data_free(a);
    dsgd_data_free(b);
}

/** Computes the mean and the variance of @p n numbers. */
static void moments(const double *x, size_t n, double *mean, double *variance)
{
    *mean = *variance = 0;
    for (size_t i = 0; i < n; i++)
        *mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        *variance += (x[i] - *mean) * (x[i] - *mean) / (double)n;
}

static const struct {
    double mean, variance, sparsity, diversity;
} knobs[] = {
    {0, 1, 0, 1},      {1, 0.01, 0, 1},   {-3, 4, 0.5, 1}, {1, 0.25, 0.9, 0.5},
    {0, 9, 0.99, 0.1}, {2, 0, 0.25, 0.3}, {1, 1, 0, 1e-9},
};

static dsgd_data *knobbed(int i, double test)
{
    const setting with[] = {{"features", 40},
                            {"points", 4000},
                            {"mean", knobs[i].mean},
                            {"variance", knobs[i].variance},
                            {"sparsity", knobs[i].sparsity},
                            {"diversity", knobs[i].diversity},
                            {"test", test}};
    dsgd_data *data = NULL;
    ck_assert_int_eq(load("hyperplane", NULL, with, 7, 3, &data, NULL), DSGD_OK);
    return data;
}

/**
 * Tests generated features, which are uniform or 0. Their mean and variance must agree within 5
 * standard errors.
 */
TEST_ROWS(hyperplane_data_have_the_requested_moments_zeros_and_copies, knobs)
{
    enum { D = 40, N = 4000 };
    const double m = knobs[_i].mean, v = knobs[_i].variance, s = knobs[_i].sparsity;
    dsgd_data *const data = knobbed(_i, 0);
    const float *const x = data->train.x_real;
    const size_t n_distinct = (size_t)fmax(1, round(knobs[_i].diversity * N));
    const double n_drawn = (double)(n_distinct * D);
    double *const other = dsgd_keep(n_distinct * D, sizeof *other);
    double *const all = dsgd_keep(n_distinct * D, sizeof *all);
    size_t n = 0;
    for (size_t i = 0; i < n_distinct * D; i++) {
        all[i] = (double)x[i];
        if (all[i] != 0)
            other[n++] = all[i];
    }
    double mean = 0, variance = 0;
    ck_assert_double_le(fabs(1 - (double)n / n_drawn - s), 5 * sqrt(s * (1 - s) / n_drawn));
    moments(other, n, &mean, &variance);
    ck_assert_double_le(fabs(mean - m), 5 * sqrt(v / (double)n) + 1e-6);
    ck_assert_double_le(fabs(variance - v), 5 * v * sqrt(0.8 / (double)n) + 1e-6);
    moments(all, n_distinct * D, &mean, &variance); /* the documented variance includes zeros */
    const double total = (1 - s) * (v + s * m * m), range = fabs(m) + sqrt(3 * v);
    ck_assert_double_le(fabs(variance - total), 5 * range * range / sqrt(n_drawn));
    for (size_t i = 0; i < N; i++) { /* sample i is a copy of sample i % n_distinct */
        const size_t of = i % n_distinct;
        ck_assert_mem_eq(x + i * D, x + of * D, D * sizeof *x);
        ck_assert(data->train.targets[i] == data->train.targets[of]);
        if (i > 0 && i < n_distinct)
            ck_assert(data->train.targets[i] != data->train.targets[i - 1]);
    }
    /*
     * By default, the test set has new points. If the option is set, the test set has the distinct
     * points of the training set.
     */
    dsgd_data *const same = knobbed(_i, 1);
    ck_assert_uint_eq(data->test.n, N / 8 + 1);
    ck_assert_float_ne(data->test.targets[0], data->train.targets[0]);
    ck_assert_uint_eq(same->test.n, n_distinct);
    ck_assert_mem_eq(same->test.x_real, x, n_distinct * D * sizeof *x);
    ck_assert_mem_eq(same->test.targets, data->train.targets, n_distinct * sizeof(float));
    dsgd_data_free(data);
    dsgd_data_free(same);
}

/* --- text ------------------------------------------------------------------------------------- */

static char text_path[] = "/tmp/dsgd-text-XXXXXX";

/** Writes @p n bytes to a temporary file, and returns its path. */
static const char *text_file(const uint8_t *bytes, size_t n, bool zipped)
{
    const int made = mkstemp(text_path);
    ck_assert_int_ge(made, 0);
    close(made);
    gzFile const file = gzopen(text_path, zipped ? "wb" : "wbT");
    ck_assert_int_eq(gzwrite(file, bytes, (unsigned)n), (int)n);
    ck_assert_int_eq(gzclose(file), Z_OK);
    return text_path;
}

CASE("text");

/* The loop variable _i plus 1 is the context, which is the number of characters in a window. */
TEST_RANGE(a_text_is_windows_of_characters_and_their_followers, 0, 12)
{
    enum { N = 437 };
    const size_t context = (size_t)_i + 1;
    uint8_t text[N];
    for (size_t i = 0; i < N; i++)
        text[i] = (uint8_t)(i % 3 == 0 ? 255 : 20 * rig_number(1, i));
    text[300] = 0;
    const setting with = {"context", (double)context};
    dsgd_data *data = NULL;
    dsgd_error error = {""};
    const char *const path = text_file(text, N, _i % 2 == 0);
    ck_assert_msg(load("text", path, &with, 1, 1, &data, &error) == DSGD_OK, "%s", error.text);
    unlink(path);
    /* The vocabulary contains the bytes that occur in the text, in ascending order. */
    bool occurs[256] = {false};
    uint8_t rank[256];
    uint32_t n_classes = 0;
    for (size_t i = 0; i < N; i++)
        occurs[text[i]] = true;
    for (size_t i = 0; i < 256; i++)
        rank[i] = (uint8_t)(occurs[i] ? n_classes++ : 0);
    ck_assert_uint_eq(data->n_classes, n_classes);
    ck_assert_int_eq(data->kind, DSGD_DATA_TOKENS);
    ck_assert_uint_eq(data->n_rows, context);
    ck_assert_uint_eq(data->n_columns, 1);
    ck_assert_uint_eq(data->n_features, context);
    ck_assert_uint_eq(data->n_labels, context);
    /*
     * Neighbouring training windows overlap by half, and test windows do not overlap. The last
     * tenth of the text is the test set.
     */
    const size_t half = (context + 1) / 2, n_train = N - N / 10;
    ck_assert_uint_eq(data->train.n, (n_train - context - 1) / half + 1);
    ck_assert_uint_eq(data->test.n, (N / 10 - context - 1) / context + 1);
    for (size_t w = 0; w < data->train.n; w++)
        for (size_t i = 0; i < context; i++) {
            /* Training windows end before the test set. */
            ck_assert_uint_lt(w * half + i + 1, n_train);
            ck_assert_uint_eq(data->train.x_bytes[w * context + i], rank[text[w * half + i]]);
            ck_assert_uint_eq(data->train.labels[w * context + i], rank[text[w * half + i + 1]]);
        }
    for (size_t w = 0; w < data->test.n; w++)
        for (size_t i = 0; i < context; i++) {
            const size_t at = n_train + w * context + i;
            ck_assert_uint_lt(at + 1, N);
            ck_assert_uint_eq(data->test.x_bytes[w * context + i], rank[text[at]]);
            ck_assert_uint_eq(data->test.labels[w * context + i], rank[text[at + 1]]);
        }
}

/** Loads a text, which must fail. After the path, the error must be @p said. */
static void demand_refusal(const char *path, double context, const char *said)
{
    dsgd_data *data = NULL;
    dsgd_error error = {""};
    const setting with = {"context", context};
    ck_assert_int_eq(load("text", path, &with, 1, 1, &data, &error), DSGD_EIO);
    ck_assert_ptr_null(data);
    char *const wanted = dsgd_xprintf("%s: %s", path, said);
    ck_assert_str_eq(error.text, wanted);
}

TEST(unusable_text_is_rejected)
{
    demand_refusal("/tmp/dsgd-there-is-no-such-text", 8,
                   "the file cannot be read: No such file or directory");
    demand_refusal("/tmp", 8, "the file cannot be read: Is a directory");
    uint8_t text[200] = {0};
    const char *path = text_file(text, 89, false);
    demand_refusal(path, 8, "the text must have at least 90 characters for a context of 8, got 89");
    dsgd_data *data = NULL;
    const setting with = {"context", 7};
    /* A context of 7 needs only 80 characters. */
    ck_assert_int_eq(load("text", path, &with, 1, 1, &data, NULL), DSGD_OK);
    unlink(path);
    strcpy(text_path, "/tmp/dsgd-text-XXXXXX");
    path = text_file(text, 0, false);
    demand_refusal(path, 8, "the text must have at least 90 characters for a context of 8, got 0");
    unlink(path);
}

TEST(truncated_zipped_text_is_rejected)
{
    uint8_t text[4000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)(256 * rig_number(2, i));
    const char *const path = text_file(text, sizeof text, true);
    struct stat before;
    ck_assert_int_eq(stat(path, &before), 0);
    for (off_t cut = 1; cut < 40; cut += 3) {
        ck_assert_int_eq(truncate(path, before.st_size - cut), 0);
        dsgd_data *data = NULL;
        dsgd_error error = {""};
        ck_assert_int_eq(load("text", path, NULL, 0, 1, &data, &error), DSGD_EIO);
        ck_assert_has(error.text, "the file cannot be read");
    }
    unlink(path);
}

/* --- sequences -------------------------------------------------------------------------------- */

static dsgd_data *sequences(uint64_t seed, const setting *with, size_t n)
{
    dsgd_data *data = NULL;
    ck_assert_int_eq(load("sequences", NULL, with, n, seed, &data, NULL), DSGD_OK);
    return data;
}

CASE("sequences");

TEST(lengths_of_sequences_are_lognormal_and_cut_off)
{
    const setting with[] = {{"points", 4000}, {"longest", 40}, {"median", 10}, {"spread", 0.5}};
    dsgd_data *const data = sequences(1, with, 4);
    uint32_t below = 0, below_sigma = 0, at_end = 0;
    ck_assert_int_eq(data->kind, DSGD_DATA_SEQUENCES);
    ck_assert_uint_eq(data->n_rows, 40);
    ck_assert_uint_eq(data->train.n, 4000);
    ck_assert_uint_eq(data->test.n, 501);
    for (uint32_t i = 0; i < data->train.n; i++) {
        const uint16_t length = data->train.lengths[i];
        ck_assert(length >= 1 && length <= 40);
        below += length <= 10;
        below_sigma += length <= 6; /* ln(6) is one standard deviation (0.5) below ln(10) */
        at_end += length == 40; /* values above 39 are rounded up or cut to 40 */
    }
    /*
     * Expected shares: 0.5, P(z < ln(0.6) / 0.5) = 0.1535, and P(z > ln(3.9) / 0.5) = 0.00325. The
     * tolerance is four standard errors of 4,000 samples.
     */
    ck_assert_double_eq_tol(below / 4000.0, 0.5, 4 * sqrt(0.25 / 4000));
    ck_assert_double_eq_tol(below_sigma / 4000.0, 0.1535, 4 * sqrt(0.13 / 4000));
    ck_assert_double_eq_tol(at_end / 4000.0, 0.00325, 4 * sqrt(0.00325 / 4000));
}

TEST(sequences_are_sines_of_their_class_with_noise_and_then_zeros)
{
    const setting with[] = {
        {"points", 800}, {"classes", 5}, {"features", 3}, {"longest", 20}, {"noise", 0.25}};
    dsgd_data *const data = sequences(3, with, 5);
    uint32_t count[5] = {0};
    double squares = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < data->train.n; i++) {
        ck_assert_uint_lt(data->train.labels[i], 5);
        count[data->train.labels[i]]++;
        for (uint32_t t = 0; t < 20; t++)
            for (uint32_t f = 0; f < 3; f++) {
                const double x = (double)data->train.x_real[(i * 20 + t) * 3 + f];
                if (t >= data->train.lengths[i]) {
                    ck_assert(x == 0);
                    continue;
                }
                ck_assert_double_le(fabs(x), 1 + 6 * 0.25);
                squares += x * x;
                n++;
            }
    }
    for (uint32_t k = 0; k < 5; k++)
        ck_assert_double_eq_tol(count[k], 160, 4 * sqrt(800 * 0.2 * 0.8));
    /*
     * The variance of a sine is 1/2, and the variance of the noise is 1/16. Each sample starts at a
     * random phase, so a few hundred values are independent.
     */
    ck_assert_double_eq_tol(squares / n, 0.5 + 0.0625, 0.05);
}

TEST(noise_free_sequences_follow_their_frequency)
{
    const setting with[] = {{"points", 64}, {"features", 2}, {"longest", 12},
                            {"median", 12}, {"noise", 0},    {"spread", 0}};
    dsgd_data *const data = sequences(5, with, 6);
    double cosine[8][2];
    bool known[8] = {false};
    for (uint32_t i = 0; i < data->train.n; i++) {
        const uint32_t k = data->train.labels[i];
        for (uint32_t f = 0; f < 2; f++) {
            const float *const x = data->train.x_real + (size_t)i * 24 + f;
            if (!known[k]) /* a sine of frequency w has x[t+1] + x[t-1] = 2 cos(w) x[t] */
                cosine[k][f] = ((double)x[2] + (double)x[6]) / (2 * (double)x[4]);
            for (uint32_t t = 1; t + 1 < 12; t++)
                ck_assert_double_eq_tol((double)x[2 * t + 2] + (double)x[2 * t - 2],
                                        2 * cosine[k][f] * (double)x[2 * t], 2e-4);
            ck_assert(cosine[k][f] <= cos(0.2) + 1e-4 && cosine[k][f] >= cos(1) - 1e-4);
        }
        known[k] = true;
        ck_assert_uint_eq(data->train.lengths[i], 12);
    }
}

TEST(sequences_follow_their_seed)
{
    const setting with[] = {{"points", 100}};
    dsgd_data *const a = sequences(1, with, 1), *const b = sequences(1, with, 1);
    dsgd_data *const c = sequences(2, with, 1);
    const size_t bytes = (size_t)100 * a->n_features * sizeof(float);
    ck_assert_mem_eq(a->train.x_real, b->train.x_real, bytes);
    ck_assert_mem_eq(a->train.lengths, b->train.lengths, 100 * sizeof(uint16_t));
    ck_assert_mem_eq(a->train.labels, b->train.labels, 100);
    ck_assert_mem_ne(a->train.x_real, c->train.x_real, bytes);
    ck_assert_mem_ne(a->train.lengths, c->train.lengths, 100 * sizeof(uint16_t));
    ck_assert_mem_ne(a->train.labels, c->train.labels, 100);
    ck_assert_mem_ne(a->train.x_real, a->test.x_real, 64);
}

/* --- Tests of the environment in which a policy learns ---------------------------------------- */

CASE("navigation");

TEST(navigation_has_no_samples_but_a_stream_of_them)
{
    const setting with = {"episodes", 9};
    dsgd_data *data = NULL;
    ck_assert_int_eq(load("navigation", NULL, &with, 1, 11, &data, NULL), DSGD_OK);
    ck_assert_uint_eq(data->test.n, 9);
    ck_assert_uint_eq(data->seed, 11);
    ck_assert_uint_eq(data->n_features, DSGD_ENVIRONMENT_FEATURES);
    ck_assert_uint_eq(data->n_classes, DSGD_ENVIRONMENT_ACTIONS);
    ck_assert_ptr_null(data->train.x_real);
    /* A step's key, which stream_sample() returns, differs between workers. */
    const dsgd_stream stream = {11, data->train.n, 4, 16};
    static uint32_t seen[50 * 64];
    size_t n = 0, n_twice = 0;
    for (uint64_t t = 0; t < 50; t++)
        for (uint32_t j = 0; j < 64; j++) {
            const uint32_t at = stream_sample(&stream, j / 16, t, j % 16);
            ck_assert_uint_lt(at, data->train.n);
            for (size_t i = 0; i < n; i++)
                n_twice += seen[i] == at;
            seen[n++] = at;
        }
    ck_assert_uint_eq(n_twice, 0);
}

TEST(episodes_begin_anywhere_in_the_room)
{
    double sum[4] = {0}, squares[4] = {0};
    enum { N = 4000 };
    for (uint32_t i = 0; i < N; i++) {
        double e[DSGD_ENVIRONMENT_REALS];
        dsgd_episode_begin(e, 7, 3, 0, i);
        ck_assert(e[4] == 0);
        for (size_t k = 0; k < 4; k++) {
            ck_assert(e[k] >= -1 && e[k] <= 1);
            sum[k] += e[k] / N;
            squares[k] += e[k] * e[k] / N;
        }
    }
    for (size_t k = 0; k < 4; k++) {
        ck_assert_double_eq_tol(sum[k], 0, 4 / sqrt(3.0 * N));
        ck_assert_double_eq_tol(squares[k], 1.0 / 3, 4 * sqrt(4.0 / 45 / N));
    }
}

/* If _i is below 8, the agent always chooses action _i. Otherwise, it chooses random actions. */
TEST_RANGE(an_episode_keeps_to_its_room_and_ends, 0, 9)
{
    uint32_t slips = 0, n_steps = 0, n_there = 0, n_crossed = 0;
    for (uint32_t episode = 0; episode < 400; episode++) {
        double e[DSGD_ENVIRONMENT_REALS];
        dsgd_episode_begin(e, 7, 3, 0, episode);
        const double way = dsgd_way_left(e), goal[] = {e[2], e[3]};
        double sum = 0;
        bool ended = false, there = false;
        uint32_t step = 0;
        for (; !ended; step++) {
            const double x = e[0], y = e[1];
            const uint32_t id = episode * 100 + step;
            const uint32_t action = _i < 8 ? (uint32_t)_i : (uint32_t)(8 * rig_number(4, id));
            sum += dsgd_environment_step(e, action, 7, id, &ended, &there);
            ck_assert(fabs(e[0]) <= 1 && fabs(e[1]) <= 1);
            ck_assert(e[2] == goal[0] && e[3] == goal[1]);
            ck_assert(hypot(e[0] - x, e[1] - y) <= 0.15 + 1e-12);
            if ((x < 0) != (e[0] < 0)) {
                ck_assert_double_lt(fabs(y), 0.3); /* the agent crosses x = 0 only in the gap */
                n_crossed++;
            }
            const double angle = action * acos(-1) / 4;
            const double wanted_y = fmin(fmax(y + 0.15 * sin(angle), -1), 1);
            const double wanted_x = fmin(fmax(x + 0.15 * cos(angle), -1), 1);
            slips += fabs(e[1] - wanted_y) > 1e-9 ||
                     (fabs(e[0] - wanted_x) > 1e-9 && fabs(e[0] - x) > 1e-9);
            const bool near = hypot(goal[0] - e[0], goal[1] - e[1]) < 0.2;
            ck_assert(there == near);
            ck_assert(ended == (near || step + 1 == 48));
        }
        /*
         * The sum of rewards is the progress towards the goal, minus 0.02 per step, plus 1 at the
         * goal.
         */
        ck_assert_double_eq_tol(sum, way - dsgd_way_left(e) - 0.02 * step + (there ? 1 : 0), 1e-12);
        n_steps += step;
        n_there += there;
    }
    if (_i == 8) {
        ck_assert_uint_gt(n_there, 40);
        ck_assert_uint_lt(n_there, 360);
        ck_assert_uint_gt(n_crossed, 40);
    }
    /*
     * A tenth of the steps slip into a random direction. This direction differs from the chosen
     * direction in 7 of 8 cases. Near a wall, some slips have no effect.
     */
    ck_assert_double_le(slips, n_steps * 0.0875 + 4 * sqrt(n_steps * 0.08));
    ck_assert_double_ge(slips, n_steps * 0.02);
}

TEST(an_observation_has_all_that_the_path_depends_on)
{
    const double e[] = {-0.5, 0.25, 0.5, -0.75, 3};
    double f[DSGD_ENVIRONMENT_FEATURES];
    dsgd_environment_observe(e, f);
    const double wanted[] = {-0.5, 0.25, 1, -1, -1, sqrt(2)};
    for (size_t i = 0; i < DSGD_ENVIRONMENT_FEATURES; i++)
        ck_assert_double_eq_tol(f[i], wanted[i], 1e-15);
    ck_assert_double_eq_tol(dsgd_way_left(e), hypot(0.5, 0.25) + hypot(0.5, 0.75), 1e-15);
}

TEST(actions_are_drawn_by_their_probabilities)
{
    const double z[] = {0, log(2), -1e9, log(5)};
    enum { N = 8000 };
    uint32_t count[4] = {0};
    for (uint32_t i = 0; i < N; i++)
        count[dsgd_action_drawn(z, 4, (i + 0.5) / N)]++;
    ck_assert_uint_eq(count[0], N / 8);
    ck_assert_uint_eq(count[1], N / 4);
    ck_assert_uint_eq(count[2], 0);
    ck_assert_uint_eq(count[3], N * 5 / 8);
}
