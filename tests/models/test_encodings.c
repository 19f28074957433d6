/**
 * @file test_encodings.c
 * Tests encodings. The tests compare the device's results for a chunk with the formulas. They also
 * check the compressed bytes, and the operation `encode` of the value store.
 */
#include <gsl/gsl_cdf.h>

#include "base/draw.h"
#include "models/encodings/encoding.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- devices ---------------------------------------------------------------------------------- */

enum { MOST = 3000 };

/**
 * Encodes the vector x of n numbers with the random numbers z in double precision, and stores the
 * result in y. Returns true if all results are finite.
 */
static bool encode(dsgd_codec codec, size_t n, const double *x, const double *z, double *y)
{
    const dsgd_encode_op op = {n, (void *)(uintptr_t)x, (void *)(uintptr_t)z, codec, y};
    bool finite = false;
    dsgd_device_cpu(true)->encode(NULL, 0, &op, 1, &finite);
    return finite;
}

static void expect(dsgd_codec codec, size_t n, const double *x, const double *z,
                   const double *wanted)
{
    double y[MOST];
    memset(y, 0xff, sizeof y);
    ck_assert(encode(codec, n, x, z, y));
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabs(y[i] - wanted[i]) <= 1e-15 * (1 + fabs(wanted[i])),
                      "kind %u, element %zu: %g instead of %g", codec.kind, i, y[i], wanted[i]);
}

static dsgd_codec selection(dsgd_codec_kind kind, size_t count)
{
    return (dsgd_codec){.kind = kind, .count = count, .number = 1};
}

SUITE(encodings, "encodings");

TEST(the_largest_are_kept_and_of_equal_ones_the_first)
{
    const double x[] = {1, -3, 2, -2, 3, 0};
    expect(selection(DSGD_CODEC_TOP_K, 1), 6, x, NULL, (double[]){0, -3, 0, 0, 0, 0});
    expect(selection(DSGD_CODEC_TOP_K, 2), 6, x, NULL, (double[]){0, -3, 0, 0, 3, 0});
    expect(selection(DSGD_CODEC_TOP_K, 3), 6, x, NULL, (double[]){0, -3, 2, 0, 3, 0});
    expect(selection(DSGD_CODEC_TOP_K, 6), 6, x, NULL, x);
    expect(selection(DSGD_CODEC_TOP_K, 1), 1, x, NULL, x);
    expect(selection(DSGD_CODEC_TOP_K, 2), 4, (double[]){0, 0, 0, 0}, NULL, (double[]){0, 0, 0, 0});
    expect((dsgd_codec){.kind = DSGD_CODEC_THRESHOLD, .number = 2}, 6, x, NULL,
           (double[]){0, -3, 0, 0, 3, 0});
    expect((dsgd_codec){.kind = DSGD_CODEC_MASK}, 6, x, (double[]){0, 1, -1, 0, 0, 5},
           (double[]){0, -3, 2, 0, 0, 0});
}

/* The loop variable _i is the index of the number of kept elements in counts[]. */
TEST_RANGE(a_selection_is_that_of_a_sort, 0, 5)
{
    enum { N = 1003 };
    double x[N], y[N];
    const size_t counts[] = {1, 10, 500, 1002, 1003};
    /* The 1,003 elements have only 211 different values. */
    for (size_t i = 0; i < N; i++)
        x[i] = (double)((i * 7919) % 211) - 105;
    ck_assert(encode(selection(DSGD_CODEC_TOP_K, counts[_i]), N, x, NULL, y));
    for (size_t i = 0; i < N; i++) {
        size_t before = 0; /* number of elements that rank above element i */
        for (size_t j = 0; j < N; j++)
            before += fabs(x[j]) > fabs(x[i]) || (fabs(x[j]) == fabs(x[i]) && j < i);
        ck_assert_double_eq(y[i], before < counts[_i] ? x[i] : 0);
    }
}

TEST(random_k_keeps_its_number_and_changes_with_the_step)
{
    enum { N = 1000, KEPT = 37 };
    double x[N], y[2][N];
    for (size_t i = 0; i < N; i++)
        x[i] = 1;
    dsgd_codec codec = selection(DSGD_CODEC_RANDOM_K, KEPT);
    codec.number = (double)N / KEPT;
    for (int t = 0; t < 2; t++) {
        size_t n = 0;
        codec.step = (uint32_t)t;
        ck_assert(encode(codec, N, x, NULL, y[t]));
        for (size_t i = 0; i < N; i++)
            n += y[t][i] == codec.number;
        ck_assert_uint_eq(n, KEPT);
    }
    ck_assert_mem_ne(y[0], y[1], sizeof y[0]);
}

TEST(rounding_has_its_formulas)
{
    const double x[] = {4, -1, 0, 3, 7, 7, 7, 0, 0};
    expect((dsgd_codec){.kind = DSGD_CODEC_SIGN, .count = 4, .number = 1}, 9, x, NULL,
           (double[]){2, -2, 2, 2, 5.25, 5.25, 5.25, 5.25, 0});
    expect((dsgd_codec){.kind = DSGD_CODEC_UNIFORM, .levels = 2, .count = 4}, 9, x, NULL,
           (double[]){4, 0, 0, 4, 7, 7, 7, 0, 0});
    /* If all elements have the same size, their encoding is exact. */
    const double same[] = {1. / 3, -1. / 3, 1. / 3};
    for (uint32_t levels = 1; levels < 200; levels += 3)
        expect((dsgd_codec){.kind = DSGD_CODEC_UNIFORM, .levels = levels, .count = 3}, 3, same,
               NULL, same);
    const double whole[] = {3, -4, 0}; /* with 5 levels, the norm 5 makes whole numbers exact */
    expect((dsgd_codec){.kind = DSGD_CODEC_STOCHASTIC, .levels = 5, .count = 3, .number = 1}, 3,
           whole, NULL, whole);
}

TEST(non_finite_values_of_encodings_are_reported)
{
    static const dsgd_codec codecs[] = {
        {.kind = DSGD_CODEC_TOP_K, .count = 1},
        {.kind = DSGD_CODEC_THRESHOLD, .number = 1},
        {.kind = DSGD_CODEC_SIGN, .count = 3},
        {.kind = DSGD_CODEC_UNIFORM, .count = 3, .levels = 127},
        {.kind = DSGD_CODEC_STOCHASTIC, .count = 3, .levels = 127, .number = 1},
        {.kind = DSGD_CODEC_ORTHOGONAL, .count = 1, .rows = 3},
    };
    for (size_t c = 0; c < sizeof codecs / sizeof codecs[0]; c++)
        for (size_t at = 0; at < 3; at++)
            for (int which = 0; which < 2; which++) {
                double x[] = {1, 2, 3}, y[3];
                x[at] = which == 0 ? NAN : INFINITY;
                ck_assert_msg(!encode(codecs[c], 3, x, NULL, y), "codec %zu", c);
            }
}

TEST(factors_have_their_formulas)
{
    /* the 2 x 2 matrix (3 1; 1 2), which rank 1 approximates with p = (1, 0) */
    const double a[] = {3, 1, 1, 2};
    const double p[] = {1, 0, 0, 0};
    expect(dsgd_matrix_codec(&(dsgd_matrix_step){DSGD_CODEC_TRANSPOSED_TIMES, 1, false}, 4), 4, a,
           p, (double[]){3, 1, 0, 0});
    expect(dsgd_matrix_codec(&(dsgd_matrix_step){DSGD_CODEC_TIMES, 1, false}, 4), 4, a,
           (double[]){1, 1, 0, 0}, (double[]){4, 3, 0, 0});
    expect(dsgd_matrix_codec(&(dsgd_matrix_step){DSGD_CODEC_OUTER, 1, false}, 4), 4, p,
           (double[]){3, 1, 0, 0}, (double[]){3, 1, 0, 0});
    expect(dsgd_matrix_codec(&(dsgd_matrix_step){DSGD_CODEC_ORTHOGONAL, 1, false}, 4), 4,
           (double[]){3, 4, 9, 9}, NULL, (double[]){0.6, 0.8, 9, 9});
    /* Five elements form a 2 x 3 matrix whose last element is missing. */
    const double b[] = {1, 2, 3, 4, 5};
    expect(dsgd_matrix_codec(&(dsgd_matrix_step){DSGD_CODEC_TIMES, 1, false}, 5), 5, b,
           (double[]){1, 10, 100, 0, 0}, (double[]){321, 54, 0, 0, 0});
    expect(dsgd_matrix_codec(&(dsgd_matrix_step){DSGD_CODEC_TRANSPOSED_TIMES, 1, false}, 5), 5, b,
           (double[]){1, 10, 0, 0, 0}, (double[]){41, 52, 3, 0, 0});
    expect(dsgd_matrix_codec(&(dsgd_matrix_step){DSGD_CODEC_ORTHOGONAL, 2, false}, 9), 9,
           (double[]){0, 2, 0, 1, 1, 0, 0, 0, 0}, NULL, (double[]){0, 1, 0, 1, 0, 0, 0, 0, 0});
}

TEST(levels_of_the_cpu_have_the_same_bits_in_float)
{
    enum { N = 1003 };
    static float x[N], y[N], again[N];
    for (size_t i = 0; i < N; i++)
        x[i] = (float)sin((double)i) / 7;
    const dsgd_codec codec = {
        .kind = DSGD_CODEC_STOCHASTIC, .levels = 15, .count = 300, .number = 1};
    const dsgd_encode_op ops[] = {{N, x, NULL, codec, y}, {N, x, NULL, codec, again}};
    bool finite[2];
    dsgd_device_cpu(false)->encode(NULL, 0, ops, 2, finite);
    ck_assert(finite[0] && finite[1]);
    ck_assert_mem_eq(y, again, sizeof y);
}

/* --- encodings -------------------------------------------------------------------------------- */

static dsgd_spec picked(const char *name, const char *option, double value)
{
    return support_picked(dsgd_encoding_kinds, name, option, value);
}

/** Returns true if the mean of 2,000 random results equals the vector, up to their variance. */
static bool has_the_right_mean(const dsgd_spec *pick)
{
    enum { N = 64, DRAWS = 2000 };
    const dsgd_encoding_kind *const kind = dsgd_encoding_kind_of(pick);
    double x[N], y[N], mean[N] = {0}, distance = 0, variance = 0;
    /* Element 0 is below the threshold of the encoding. */
    for (int i = 0; i < N; i++)
        x[i] = i == 0 ? 5e-4 : sin(i);
    dsgd_codec codec = kind->codec(kind->does, pick->params, N);
    for (codec.step = 0; codec.step < DRAWS; codec.step++) {
        ck_assert(encode(codec, N, x, NULL, y));
        for (int i = 0; i < N; i++) {
            mean[i] += y[i] / DRAWS;
            variance += y[i] * y[i] / DRAWS;
        }
    }
    for (int i = 0; i < N; i++) {
        distance += (mean[i] - x[i]) * (mean[i] - x[i]);
        variance -= mean[i] * mean[i];
    }
    /* the expected ratio is 1, and a ratio of 2 is five standard deviations larger */
    return distance < 2 * variance / DRAWS;
}

/** Tests every encoding with its defaults, and with each boolean option set. */
TEST(only_unbiased_encodings_have_the_vector_as_their_mean)
{
    for (const dsgd_entry *const *about = dsgd_encoding_kinds; *about != NULL; about++)
        for (const dsgd_option *o = (*about)->options; o != NULL && o->name != NULL; o++) {
            const dsgd_spec pick =
                picked((*about)->name, o->kind == DSGD_BOOL ? o->name : NULL, true);
            const bool says = strcmp((*about)->name, "qsgd") == 0
                                  ? strcmp(o->name, "damped") != 0
                                  : strcmp(o->name, "unbiased") == 0;
            if (dsgd_encoding_kind_of(&pick)->codec != NULL)
                ck_assert_msg(has_the_right_mean(&pick) == says, "%s, %s", (*about)->name, o->name);
        }
}

/**
 * Tests the contraction of each encoding. The vectors contain 3,000 normal numbers, or uniform
 * numbers with top_k. For qsgd and uniform, the expected values are bounds. NAN means that the
 * contraction depends on the values.
 */
TEST(contraction_matches_the_error_of_each_encoding)
{
    static const struct {
        const char *name, *option;
        double value, least, most; /* range of w in |x - Q(x)|^2 = (1 - w) |x|^2 */
    } cases[] = {
        {"none", NULL, 0, 0, 0},
        {"top_k", NULL, 0, -0.02, 0.02},
        {"top_k", "share", 0.2, -0.02, 0.02},
        {"random_k", "share", 0.1, -0.02, 0.02},
        {"random_k", "unbiased", 1, -45, 45},
        {"sign", NULL, 0, -0.02, 0.02},
        {"uniform", "bits", 3, 0, 0.3},
        {"uniform", NULL, 0, 0, 0.3},
        {"qsgd", "levels", 3, 0, 4},
        {"qsgd", NULL, 0, 0, 0.1},
    };
    double x[MOST], y[MOST];
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const bool even = strcmp(cases[c].name, "top_k") == 0;
        for (uint32_t i = 0; i < MOST; i++) {
            const double u = dsgd_draw_uniform((dsgd_draw){.seed = 3, .index = i});
            x[i] = even ? u : gsl_cdf_ugaussian_Pinv(u);
        }
        const dsgd_spec pick = picked(cases[c].name, cases[c].option, cases[c].value);
        const dsgd_encoding_kind *const kind = dsgd_encoding_kind_of(&pick);
        double error = 0, square = 0;
        if (kind->codec != NULL)
            ck_assert(encode(kind->codec(kind->does, pick.params, MOST), MOST, x, x, y));
        for (size_t i = 0; kind->codec != NULL && i < MOST; i++) {
            error += (y[i] - x[i]) * (y[i] - x[i]);
            square += x[i] * x[i];
        }
        const double kept = square > 0 ? 1 - error / square : 1;
        const double beyond = kept - dsgd_encoding_contraction(&pick);
        ck_assert_msg(beyond >= cases[c].least && beyond <= cases[c].most, "%s: %g more, of %g",
                      cases[c].name, beyond, kept);
    }
    const dsgd_spec strom = picked("threshold", NULL, 0);
    ck_assert(isnan(dsgd_encoding_contraction(&strom)) && !dsgd_encoding_expands(&strom));
}

TEST(encoding_bytes_follow_the_options)
{
    static const struct {
        const char *name, *option;
        double value, elements, bytes;
    } cases[] = {
        {"none", NULL, 0, 1000, 4000},
        {"top_k", NULL, 0, 1000, 80}, /* 10 pairs of an index and a value have 8 bytes each */
        {"top_k", "share", 0, 1000, 8},
        {"top_k", "share", 1, 1000, 4000}, /* the size is never larger than the uncompressed size */
        {"top_k", "index_bits", 12, 1000, 55},
        {"random_k", NULL, 0, 1000, 40}, /* random_k sends no indices */
        {"threshold", "share", 0.1, 1000, 800},
        {"sign", NULL, 0, 1000, 129},
        {"uniform", NULL, 0, 10000, 10000 + 3 * 4},
        {"uniform", "bits", 4, 8192, 4096 + 2 * 4},
        {"qsgd", NULL, 0, 1000, 1000 + 8 * 4},
        {"qsgd", "levels", 1, 1000, 250 + 8 * 4},
        {"low_rank", "rank", 1, 10000, 4 * 200},
        /* a matrix of this rank would not be smaller, so the vector is sent without compression */
        {"low_rank", "rank", 50, 10000, 40000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const dsgd_spec pick = picked(cases[i].name, cases[i].option, cases[i].value);
        ck_assert_msg(dsgd_encoding_bytes(&pick, 4 * cases[i].elements, 4) == cases[i].bytes,
                      "case %zu: %g bytes", i,
                      dsgd_encoding_bytes(&pick, 4 * cases[i].elements, 4));
    }
}
