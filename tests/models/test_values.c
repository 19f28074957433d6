/**
 * @file test_values.c
 * Tests the value store: how it shares common subexpressions and fuses operations, and which values
 * it never computes. The bits of results must not depend on threads or memory.
 */
#include <check.h>
#include <stdatomic.h>

#include "base/draw.h"
#include "models/encodings/encoding.h"
#include "models/values/values.h"
#include "models/zoo/network.h"
#include "tests/support/stream.h"
#include "tests/support/suite.h"

enum { FEATURES = 12, POINTS = 4096, PARAMS = FEATURES + 1, MOST_PIECES = 20, MOST_WORKERS = 600 };

/* --- a small store ---------------------------------------------------------------------------- */

typedef struct fixture {
    dsgd_data data;
    dsgd_network network;
    size_t begin[MOST_PIECES + 1];
    dsgd_values_config config;
    dsgd_values *values;
    double initial[PARAMS];
    struct fixture *next;
} fixture;

static fixture *fixtures; /* fixtures that close_fixtures() closes after the test */

static double ones[MOST_WORKERS]; /* an array of ones, which fixture_new() fills */

static double uniform(uint32_t what, uint32_t row, uint32_t column)
{
    return 2 * dsgd_draw_uniform((dsgd_draw){8, DSGD_DRAW_DATA, what, row, column}) - 1;
}

/**
 * Returns a fixture for linear regression in double precision, whose points lie on a plane. Change
 * its config, and then call fixture_open().
 */
static fixture *fixture_new(uint32_t n_workers, uint32_t batch, size_t n_pieces)
{
    fixture *const s = dsgd_keep(1, sizeof *s);
    s->next = fixtures;
    fixtures = s;
    dsgd_samples samples = {.n = POINTS,
                            .x_real = dsgd_keep((size_t)POINTS * FEATURES, sizeof(float)),
                            .targets = dsgd_keep(POINTS, sizeof(float))};
    for (uint32_t i = 0; i < POINTS; i++) {
        for (uint32_t f = 0; f < FEATURES; f++)
            samples.x_real[i * FEATURES + f] = (float)uniform(0, i, f);
        samples.targets[i] = (float)uniform(1, i, 0) + 2 * samples.x_real[i * FEATURES];
    }
    s->data = (dsgd_data){.n_rows = 1,
                          .n_columns = FEATURES,
                          .width = 1,
                          .n_features = FEATURES,
                          .deviation = 1,
                          .train = samples,
                          .test = samples};
    s->data.test.n = 300;
    dsgd_builder b =
        dsgd_network_begin(&s->network, "hyperplane", &s->data, DSGD_LOSS_SQUARED, NULL);
    ck_assert_int_eq(dsgd_network_end(&b), DSGD_OK);
    for (size_t k = 0; k <= n_pieces; k++)
        s->begin[k] = PARAMS * k / n_pieces;
    s->config = (dsgd_values_config){
        .device = dsgd_device_cpu(true),
        .problem = {&s->network, &s->data, n_pieces, s->begin,
                    .update = {.momentum = 0.9, .weight_decay = 1e-3}},
        .stream = {4, POINTS, n_workers, batch},
        .n_threads = 1,
        .memory_bytes = (size_t)1 << 30,
    };
    dsgd_network_initial(&s->network, 6, s->initial);
    for (size_t w = 0; w < MOST_WORKERS; w++)
        ones[w] = 1;
    return s;
}

static void fixture_open(fixture *s)
{
    ck_assert_int_eq(dsgd_values_open(&s->config, &s->values, NULL), DSGD_OK);
}

static fixture *fixture_opened(uint32_t n_workers, uint32_t batch, size_t n_pieces)
{
    fixture *const s = fixture_new(n_workers, batch, n_pieces);
    fixture_open(s);
    return s;
}

static void close_fixtures(void)
{
    for (; fixtures != NULL; fixtures = fixtures->next)
        dsgd_values_close(fixtures->values);
}

static dsgd_value constant(const fixture *s, size_t piece, double factor)
{
    double x[PARAMS];
    for (size_t i = 0; i < PARAMS; i++)
        x[i] = factor * s->initial[i];
    return dsgd_values_constant(s->values, piece, x);
}

static const dsgd_origin nowhere = {0, 0};

/** Combines values of chunk 0. In a fixture with a single chunk, chunk 0 is the whole vector. */
static dsgd_value combine(const fixture *s, size_t n, const dsgd_value *x, const double *weights,
                          double divisor)
{
    return dsgd_values_combine(s->values, nowhere, 0, n, x, weights, divisor);
}

static dsgd_value gradient(const fixture *s, uint32_t worker, uint64_t step, dsgd_value x)
{
    dsgd_value g = DSGD_ZERO_VALUE;
    dsgd_values_gradient(s->values, (dsgd_origin){worker, step}, s->config.stream.batch, &x, NULL,
                         &g);
    return g;
}

static void release(const fixture *s, dsgd_value value)
{
    dsgd_value_release(s->values, value);
}

static void release_all(const fixture *s, size_t n, const dsgd_value *values)
{
    for (size_t i = 0; i < n; i++)
        release(s, values[i]);
}
#define RELEASE(s, ...)                                                                            \
    release_all(s, sizeof(dsgd_value[]){__VA_ARGS__} / sizeof(dsgd_value),                         \
                (dsgd_value[]){__VA_ARGS__})

/** Updates x with the gradient g, releases both, and returns the new x. */
static dsgd_value updated(const fixture *s, dsgd_origin where, dsgd_value x, dsgd_value g,
                          dsgd_value *v, double lr)
{
    const dsgd_value y = dsgd_values_update(s->values, where, 0, x, g, v, (dsgd_rate){lr, 1});
    RELEASE(s, g, x);
    return y;
}

/** Computes the gradients of all workers at x in step 0, into g[]. */
static void gradients(const fixture *s, uint32_t n_workers, dsgd_value x, dsgd_value *g)
{
    for (uint32_t w = 0; w < n_workers; w++)
        g[w] = gradient(s, w, 0, x);
}

/** Returns the elements of a value, in memory that is kept until the test ends. */
static const double *numbers_of(const fixture *s, dsgd_value value)
{
    double *const x = dsgd_keep(PARAMS, sizeof *x);
    dsgd_values_read(s->values, 0, value, x);
    return x;
}

static void expect_numbers(const double *got, const double *want, double tolerance)
{
    for (size_t i = 0; i < PARAMS; i++)
        ck_assert_double_eq_tol(got[i], want[i], tolerance);
}

static dsgd_values_stats stats(const fixture *s)
{
    dsgd_values_divergence(s->values); /* this call waits until all values are computed */
    return dsgd_values_stats_get(s->values);
}

static double norm(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* --- combinations ----------------------------------------------------------------------------- */

SUITE(values, "operations", .tear_down = close_fixtures);

TEST(null_store_accepts_every_call)
{
    dsgd_value v = DSGD_ZERO_VALUE, g = DSGD_ZERO_VALUE;
    const double x[] = {1};
    ck_assert_ptr_null(dsgd_values_constant(NULL, 0, x).node);
    dsgd_values_gradient(NULL, nowhere, 1, &v, NULL, &g);
    ck_assert_ptr_null(g.node);
    ck_assert_ptr_null(dsgd_values_update(NULL, nowhere, 0, g, g, &v, (dsgd_rate){1, 1}).node);
    ck_assert_ptr_null(dsgd_values_combine(NULL, nowhere, 0, 1, &g, x, 1).node);
    ck_assert(isnan(dsgd_values_result(NULL, dsgd_values_evaluate(NULL, 1, 0, &g, NULL)).loss));
    dsgd_value_release(NULL, dsgd_value_retain(g));
    dsgd_values_flush(NULL);
    dsgd_values_read(NULL, 0, g, NULL);
    ck_assert(!dsgd_values_divergence(NULL).happened);
    ck_assert_uint_eq(dsgd_values_stats_get(NULL).gradients, 0);
    dsgd_values_close(NULL);
}

TEST(a_combination_is_linear)
{
    fixture *const s = fixture_opened(1, 1, 1);
    const dsgd_value x[] = {constant(s, 0, 1), constant(s, 0, 2), constant(s, 0, -5)};
    const double weights[] = {2, 0.5, 1};
    const dsgd_value y = combine(s, 3, x, weights, 4);
    const double *const got = numbers_of(s, y);
    /* The factor is (2 + 1 - 5) / 4 = -0.5. */
    for (size_t i = 0; i < PARAMS; i++)
        ck_assert_double_eq_tol(got[i], -0.5 * s->initial[i], 1e-15);
}

TEST(equal_encodings_of_equal_values_are_one)
{
    fixture *const s = fixture_opened(1, 1, 1);
    const dsgd_codec top = {.kind = DSGD_CODEC_TOP_K, .count = 1, .number = 1};
    dsgd_codec drawn = {.kind = DSGD_CODEC_RANDOM_K, .count = 1, .number = 1};
    const dsgd_value zero = DSGD_ZERO_VALUE, x = constant(s, 0, 1);
    const dsgd_value a = dsgd_values_encode(s->values, nowhere, 0, &top, x, zero);
    const dsgd_value b = dsgd_values_encode(s->values, (dsgd_origin){3, 7}, 0, &top, x, zero);
    ck_assert(dsgd_value_equal(a, b));
    const dsgd_value c = dsgd_values_encode(s->values, nowhere, 0, &drawn, x, zero);
    drawn.step = 1;
    const dsgd_value d = dsgd_values_encode(s->values, nowhere, 0, &drawn, x, zero);
    ck_assert(!dsgd_value_equal(c, d));
    ck_assert_ptr_null(dsgd_values_encode(s->values, nowhere, 0, &top, zero, zero).node);
    const dsgd_value rest = combine(s, 2, (dsgd_value[]){x, a}, (double[]){1, -1}, 1);
    const double *const got[] = {numbers_of(s, a), numbers_of(s, rest)};
    size_t n = 0;
    for (size_t i = 0; i < PARAMS; i++) {
        ck_assert_double_eq(got[0][i] + got[1][i], s->initial[i]);
        n += got[0][i] != 0;
    }
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(stats(s).encodings, 3);
}

TEST(zeros_vanish_and_equal_operands_merge)
{
    fixture *const s = fixture_opened(1, 1, 1);
    const dsgd_value a = constant(s, 0, 1), b = constant(s, 0, 2), zero = DSGD_ZERO_VALUE;
    const dsgd_value merged = combine(s, 2, (dsgd_value[]){a, b}, (double[]){3, 2}, 5);
    const dsgd_value spread =
        combine(s, 6, (dsgd_value[]){zero, a, b, b, zero, a}, (double[]){7, 1, 1, 1, 7, 2}, 5);
    ck_assert(dsgd_value_equal(spread, merged));
    const dsgd_value turned = combine(s, 2, (dsgd_value[]){b, a}, (double[]){2, 3}, 5);
    /* a sum in another order may have other bits, so it is another value */
    ck_assert(!dsgd_value_equal(turned, merged));
    const dsgd_value mean = combine(s, 3, (dsgd_value[]){a, a, a}, ones, 3);
    ck_assert(dsgd_value_equal(mean, a));
    const dsgd_value half = combine(s, 1, (dsgd_value[]){a}, ones, 2);
    ck_assert(!dsgd_value_equal(half, a));
    ck_assert_ptr_null(combine(s, 2, (dsgd_value[]){zero, zero}, ones, 2).node);
    ck_assert_ptr_null(combine(s, 0, NULL, NULL, 1).node);
    ck_assert_ptr_null(combine(s, 2, (dsgd_value[]){a, a}, (double[]){1, -1}, 1).node);
    ck_assert(numbers_of(s, half)[0] == s->initial[0] / 2);
    ck_assert(numbers_of(s, zero)[0] == 0 && numbers_of(s, zero)[PARAMS - 1] == 0);
}

TEST(equal_operations_on_equal_operands_are_one)
{
    fixture *const s = fixture_opened(2, 4, 1);
    const dsgd_value x = constant(s, 0, 1);
    const dsgd_value g[] = {gradient(s, 0, 0, x), gradient(s, 0, 0, x), gradient(s, 0, 1, x),
                            gradient(s, 1, 0, x)};
    ck_assert(dsgd_value_equal(g[0], g[1]));
    ck_assert(!dsgd_value_equal(g[0], g[2]) && !dsgd_value_equal(g[0], g[3]));
    dsgd_value v[] = {DSGD_ZERO_VALUE, DSGD_ZERO_VALUE, DSGD_ZERO_VALUE};
    const double lr[] = {0.1, 0.1, 0.2};
    dsgd_value y[3];
    for (size_t i = 0; i < 3; i++)
        y[i] = dsgd_values_update(s->values, (dsgd_origin){(uint32_t)i, 9}, 0, x, g[0], &v[i],
                                  (dsgd_rate){lr[i], 1});
    ck_assert(dsgd_value_equal(y[0], y[1]) && dsgd_value_equal(v[0], v[1]));
    ck_assert(!dsgd_value_equal(y[0], y[2]) && !dsgd_value_equal(y[0], v[0]));
    dsgd_values_flush(s->values);
    ck_assert_uint_eq(stats(s).updates, 2);
    /* the store computes only the gradient that an operation reads */
    ck_assert_uint_eq(stats(s).gradients, 1);
    const dsgd_value late = gradient(s, 0, 0, x); /* this gradient was already computed */
    ck_assert(dsgd_value_equal(late, g[0]));
    RELEASE(s, late, x);
    release_all(s, 4, g);
    release_all(s, 3, y);
    release_all(s, 3, v);
}

TEST(a_step_is_the_formulas_of_the_header)
{
    fixture *const s = fixture_opened(1, 4, 1);
    dsgd_value x = constant(s, 0, 1), v = DSGD_ZERO_VALUE;
    double x_by_hand[PARAMS], v_by_hand[PARAMS] = {0};
    memcpy(x_by_hand, s->initial, sizeof x_by_hand);
    for (uint64_t t = 0; t < 6; t++) {
        const dsgd_value g = gradient(s, 0, t, x);
        const double *const numbers = numbers_of(s, g);
        double by_hand[PARAMS] = {0};
        for (uint32_t j = 0; j < 4; j++) {
            const uint32_t at = stream_sample(&s->config.stream, 0, t, j);
            double z = x_by_hand[FEATURES] - (double)s->data.train.targets[at];
            for (size_t f = 0; f < FEATURES; f++)
                z += x_by_hand[f] * (double)s->data.train.x_real[at * FEATURES + f];
            for (size_t f = 0; f < FEATURES; f++)
                by_hand[f] += z / 4 * (double)s->data.train.x_real[at * FEATURES + f];
            by_hand[FEATURES] += z / 4;
        }
        x = updated(s, nowhere, x, g, &v, 0.1);
        for (size_t i = 0; i < PARAMS; i++) {
            ck_assert_double_eq_tol(numbers[i], by_hand[i], 1e-13);
            v_by_hand[i] = 0.9 * v_by_hand[i] + by_hand[i] + 1e-3 * x_by_hand[i];
            x_by_hand[i] -= 0.1 * v_by_hand[i];
        }
    }
    expect_numbers(numbers_of(s, x), x_by_hand, 1e-13);
}

TEST(without_momentum_there_is_no_velocity)
{
    fixture *const s = fixture_new(1, 4, 1);
    s->config.problem.update.momentum = 0;
    fixture_open(s);
    const dsgd_value x = constant(s, 0, 1), g = constant(s, 0, -2);
    dsgd_value v = DSGD_ZERO_VALUE;
    const dsgd_value y = dsgd_values_update(s->values, nowhere, 0, x, g, &v, (dsgd_rate){0.5, 1});
    ck_assert_ptr_null(v.node);
    const double *const got = numbers_of(s, y);
    for (size_t i = 0; i < PARAMS; i++)
        ck_assert_double_eq_tol(got[i], s->initial[i] * (1 - 0.5 * (1e-3 - 2)), 1e-14);
}

TEST(the_model_of_a_gradient_may_be_zeros)
{
    fixture *const s = fixture_opened(1, 4, 1);
    const double *const by_numbers = numbers_of(s, gradient(s, 0, 0, constant(s, 0, 0)));
    const double *const by_nothing = numbers_of(s, gradient(s, 0, 0, DSGD_ZERO_VALUE));
    ck_assert_mem_eq(by_numbers, by_nothing, PARAMS * sizeof *by_numbers);
    ck_assert_double_gt(norm(by_nothing, PARAMS), 0);
}

/* --- Tests of which operations are computed --------------------------------------------------- */

CASE("what is computed", .tear_down = close_fixtures);

TEST(unreferenced_values_are_never_computed)
{
    fixture *const s = fixture_opened(1, 4, 1);
    const dsgd_value x = constant(s, 0, 1), g = gradient(s, 0, 0, x);
    dsgd_value v = DSGD_ZERO_VALUE;
    const dsgd_value y = dsgd_values_update(s->values, nowhere, 0, x, g, &v, (dsgd_rate){0.1, 1});
    const dsgd_value sum = combine(s, 2, (dsgd_value[]){x, y}, ones, 2);
    const dsgd_value other = combine(s, 2, (dsgd_value[]){x, y}, ones, 3);
    RELEASE(s, y, v, g, sum, other);
    dsgd_values_flush(s->values);
    const dsgd_values_stats got = stats(s);
    ck_assert_uint_eq(got.gradients + got.updates + got.combinations, 0);
    /* none of the updated vectors exists, so only the constant needs memory */
    ck_assert_uint_eq(got.peak_bytes, PARAMS * sizeof(double));
}

TEST(unreferenced_operands_are_computed)
{
    fixture *const s = fixture_opened(1, 4, 1);
    dsgd_value x = constant(s, 0, 1), v = DSGD_ZERO_VALUE;
    for (uint64_t t = 0; t < 5; t++)
        x = updated(s, nowhere, x, gradient(s, 0, t, x), &v, 0.1);
    release(s, v);
    dsgd_values_flush(s->values);
    ck_assert_uint_eq(stats(s).gradients, 5);
    ck_assert_uint_eq(stats(s).gradient_samples, 20);
    ck_assert_uint_eq(stats(s).updates, 5);
}

TEST(store_starts_computing_after_enough_gradients)
{
    fixture *const s = fixture_opened(1, 4, 1);
    const dsgd_value x = constant(s, 0, 1);
    dsgd_value y[600];
    for (uint64_t t = 0; t < 600; t++) {
        const dsgd_value g = gradient(s, 0, t, x);
        dsgd_value v = DSGD_ZERO_VALUE;
        y[t] = dsgd_values_update(s->values, nowhere, 0, x, g, &v, (dsgd_rate){0.1, 1});
        RELEASE(s, v, g);
    }
    /*
     * At every 256th gradient, the store computes the operations up to the previous such gradient.
     * At the 512th gradient, these are 255 updates.
     */
    ck_assert_uint_eq(stats(s).updates, 255);
    release_all(s, 600, y);
}

/**
 * Returns a copy of the CPU device in double precision, which tests may change until the store
 * closes.
 */
static dsgd_device *changed_device(void)
{
    dsgd_device *const device = dsgd_keep(1, sizeof *device);
    *device = *dsgd_device_cpu(true);
    return device;
}

static size_t n_allocs;

static dsgd_buffer counted_alloc(void *context, size_t n)
{
    n_allocs++;
    return dsgd_device_cpu(true)->alloc(context, n);
}

/**
 * Tests that the store reuses buffers. With several threads, a buffer that one thread wrote and
 * another read waits before its reuse. At most eight buffers of each kind wait for each thread.
 */
TEST_RANGE(buffers_are_used_again, 0, 4)
{
    const uint32_t n_threads = (uint32_t)_i;
    dsgd_device *const device = changed_device();
    device->alloc = counted_alloc;
    n_allocs = 0;
    fixture *const s = fixture_new(4, 4, 1);
    s->config.device = device;
    s->config.n_threads = n_threads;
    fixture_open(s);
    dsgd_value x = constant(s, 0, 1), v = DSGD_ZERO_VALUE;
    for (uint64_t t = 0; t < 2000; t++)
        x = updated(s, nowhere, x, gradient(s, 0, t, x), &v, 0.01);
    dsgd_values_flush(s->values);
    /* A step needs five vectors: the old and the new x and v, and the gradient g. */
    ck_assert_uint_le(stats(s).peak_bytes, 5 * PARAMS * sizeof(double));
    ck_assert_uint_le(n_allocs, 5 + (n_threads > 0 ? (n_threads + 1) * 2 * 8 : 0));
}

/* --- fusion ----------------------------------------------------------------------------------- */

static const struct {
    uint32_t n_workers, batch;
    uint64_t blocks; /* number of blocks of at most 256 samples */
} fused_cases[] = {{2, 1, 1},   {7, 4, 1},   {64, 4, 1},  {65, 4, 2}, {600, 1, 3},
                   {5, 100, 3}, {3, 256, 3}, {4, 300, 4}, {128, 3, 2}};
enum { FUSED_CASES = sizeof fused_cases / sizeof fused_cases[0] };

/* The loop variable _i is the index of an entry of fused_cases. */
TEST_RANGE(a_fused_mean_is_the_mean_of_gradients, 0, FUSED_CASES)
{
    const uint32_t n = fused_cases[_i].n_workers;
    fixture *const s = fixture_opened(n, fused_cases[_i].batch, 3);
    dsgd_value x[3], g[MOST_WORKERS][3];
    for (size_t k = 0; k < 3; k++)
        x[k] = constant(s, k, 1);
    for (uint32_t w = 0; w < n; w++)
        dsgd_values_gradient(s->values, (dsgd_origin){w, 5}, fused_cases[_i].batch, x, NULL, g[w]);
    dsgd_value mean[3];
    double fused[PARAMS], apart[PARAMS] = {0};
    for (size_t k = 0; k < 3; k++) {
        dsgd_value contributions[MOST_WORKERS];
        for (uint32_t w = 0; w < n; w++)
            contributions[w] = g[w][k];
        mean[k] = dsgd_values_combine(s->values, nowhere, k, n, contributions, ones, n);
    }
    for (size_t k = 0; k < 3; k++)
        dsgd_values_read(s->values, k, mean[k], fused + s->begin[k]);
    ck_assert_uint_eq(stats(s).gradients, fused_cases[_i].blocks);
    ck_assert_uint_eq(stats(s).gradient_samples, (uint64_t)n * fused_cases[_i].batch);
    ck_assert_uint_eq(stats(s).combinations, fused_cases[_i].blocks == 1 ? 0 : 3);
    for (uint32_t w = 0; w < n; w++) {
        double one[PARAMS];
        for (size_t k = 0; k < 3; k++)
            dsgd_values_read(s->values, k, g[w][k], one + s->begin[k]);
        for (size_t i = 0; i < PARAMS; i++)
            apart[i] += one[i] / n;
    }
    for (size_t i = 0; i < PARAMS; i++)
        fused[i] -= apart[i];
    ck_assert_double_le(norm(fused, PARAMS), 1e-12 * norm(apart, PARAMS));
    release_all(s, 3, mean);
    release_all(s, 3, x);
    for (uint32_t w = 0; w < n; w++)
        release_all(s, 3, g[w]);
}

/**
 * Returns true if the store computes the sum of two gradients as one operation over both
 * mini-batches.
 */
static bool fuses(dsgd_value (*second)(const fixture *s, dsgd_value x), double weight)
{
    fixture *const s = fixture_opened(2, 4, 1);
    const dsgd_value x = constant(s, 0, 1), g[] = {gradient(s, 0, 0, x), second(s, x)};
    const dsgd_value sum = combine(s, 2, g, (double[]){1, weight}, 2);
    numbers_of(s, sum);
    const bool fused = stats(s).gradients == 1 && stats(s).gradient_samples == 8;
    RELEASE(s, x, g[0], g[1], sum);
    return fused;
}

static dsgd_value same_model(const fixture *s, dsgd_value x)
{
    return gradient(s, 1, 0, x);
}

static dsgd_value other_model(const fixture *s, dsgd_value x)
{
    const dsgd_value other = constant(s, 0, 2), g = gradient(s, 1, 0, other);
    release(s, other);
    return g;
}

static dsgd_value no_gradient(const fixture *s, dsgd_value x)
{
    return constant(s, 0, 3);
}

/**
 * Tests one operation over several mini-batches. The mini-batches are from neighbouring workers in
 * ascending and in other orders, and from different steps.
 */
TEST(fused_mini_batches_are_those_of_their_workers)
{
    const dsgd_origin at[] = {{3, 2}, {0, 2}, {1, 2}, {2, 1}, {3, 1}, {3, 4}, {1, 4}};
    enum { N = sizeof at / sizeof at[0] };
    fixture *const s = fixture_opened(5, 4, 1);
    const dsgd_value x = constant(s, 0, 1);
    dsgd_value g[N];
    for (size_t i = 0; i < N; i++)
        g[i] = gradient(s, at[i].worker, at[i].step, x);
    const dsgd_value sum = combine(s, N, g, ones, 1);
    const double *const fused = numbers_of(s, sum);
    ck_assert_uint_eq(stats(s).gradients, 1);
    double apart[PARAMS] = {0};
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < PARAMS; k++)
            apart[k] += numbers_of(s, g[i])[k];
    release_all(s, N, g);
    expect_numbers(fused, apart, 1e-12);
}

TEST(only_equal_shares_of_gradients_of_one_model_are_fused)
{
    ck_assert(fuses(same_model, 1));
    ck_assert(!fuses(same_model, 0.5));
    ck_assert(!fuses(other_model, 1));
    ck_assert(!fuses(no_gradient, 1));
}

TEST(gradients_wait_for_a_collective)
{
    fixture *const s = fixture_opened(64, 4, 1);
    const dsgd_value x = constant(s, 0, 1);
    dsgd_value g[64];
    gradients(s, 64, x, g);
    dsgd_values_flush(s->values);
    ck_assert_uint_eq(stats(s).gradients, 0);
    release(s, x); /* the gradients still keep references to x */
    const dsgd_value mean = combine(s, 64, g, ones, 64);
    release_all(s, 64, g);
    ck_assert_double_gt(norm(numbers_of(s, mean), PARAMS), 0);
    ck_assert_uint_eq(stats(s).gradients, 1);
}

TEST(a_mean_of_fused_means_is_the_mean)
{
    fixture *const s = fixture_opened(8, 4, 1);
    const dsgd_value x = constant(s, 0, 1);
    dsgd_value g[8];
    gradients(s, 8, x, g);
    const dsgd_value halves[] = {combine(s, 4, g, ones, 4), combine(s, 4, g + 4, ones, 4)};
    const dsgd_value mean = combine(s, 2, halves, ones, 2), at_once = combine(s, 8, g, ones, 8);
    expect_numbers(numbers_of(s, mean), numbers_of(s, at_once), 1e-13);
    release_all(s, 8, g);
}

/** Takes ten steps of synchronous SGD with @p n_workers workers, and returns the final model. */
static const double *synchronous(uint32_t n_workers, uint32_t batch)
{
    fixture *const s = fixture_opened(n_workers, batch, 1);
    dsgd_value x = constant(s, 0, 1), v = DSGD_ZERO_VALUE;
    for (uint64_t t = 0; t < 10; t++) {
        dsgd_value g[MOST_WORKERS];
        for (uint32_t w = 0; w < n_workers; w++)
            g[w] = gradient(s, w, t, x);
        const dsgd_value mean = combine(s, n_workers, g, ones, n_workers);
        release_all(s, n_workers, g);
        x = updated(s, nowhere, x, mean, &v, 0.05);
    }
    return numbers_of(s, x);
}

TEST(synchronous_sgd_is_one_worker_with_the_large_batch)
{
    ck_assert_mem_eq(synchronous(64, 4),
                     synchronous(1, 256), /* both runs have one block of 256 samples */
                     PARAMS * sizeof(double));
    expect_numbers(synchronous(96, 4), synchronous(1, 384), 1e-13);
}

/* --- threads and memory ----------------------------------------------------------------------- */

/** The results of random_program(). */
typedef struct outcome {
    double x[8][PARAMS];
    double losses[8], consensus[8];
    dsgd_values_stats stats;
} outcome;

static uint32_t below(uint32_t t, uint32_t i, uint32_t n)
{
    return (uint32_t)dsgd_draw_below((dsgd_draw){5, DSGD_DRAW_ALGORITHM, 0, t, i}, n);
}

/**
 * Calls the store at random. Workers take steps with current or stale models and average with a
 * random worker. In every 15th step, all are evaluated.
 */
static void random_program(fixture *s, outcome *out)
{
    enum { P = 8, K = MOST_PIECES, STEPS = 120 };
    dsgd_value x[P][K], v[P][K] = {{DSGD_ZERO_VALUE}}, stale[P][K];
    size_t tickets[8], n_tickets = 0;
    for (size_t k = 0; k < K; k++) {
        x[0][k] = constant(s, k, 1);
        for (size_t w = 0; w < P; w++) {
            x[w][k] = w == 0 ? x[0][k] : dsgd_value_retain(x[0][k]);
            stale[w][k] = dsgd_value_retain(x[0][k]);
        }
    }
    for (uint32_t t = 0; t < STEPS; t++) {
        const uint32_t w = below(t, 0, P);
        const dsgd_origin where = {w, t};
        dsgd_value g[K];
        dsgd_values_gradient(s->values, where, s->config.stream.batch,
                             below(t, 1, 2) == 0 ? x[w] : stale[w], NULL, g);
        const uint32_t peer = below(t, 2, P);
        for (size_t k = 0; k < K; k++) {
            const dsgd_value y = dsgd_values_update(s->values, where, k, x[w][k], g[k], &v[w][k],
                                                    (dsgd_rate){0.05, 1});
            const dsgd_value mean = dsgd_values_combine(
                s->values, where, k, 2, (dsgd_value[]){y, x[peer][k]}, (double[]){2, 1}, 3);
            RELEASE(s, g[k], x[w][k], y);
            x[w][k] = mean;
            if (below(t, 3, 3) == 0) {
                release(s, stale[peer][k]);
                stale[peer][k] = dsgd_value_retain(mean);
            }
        }
        if (t % 15 == 0)
            tickets[n_tickets++] = dsgd_values_evaluate(s->values, P, 0, x[0], NULL);
    }
    for (size_t i = 0; i < n_tickets; i++) {
        const dsgd_evaluation e = dsgd_values_result(s->values, tickets[i]);
        out->losses[i] = e.loss;
        out->consensus[i] = e.consensus;
    }
    for (size_t w = 0; w < P; w++) {
        for (size_t k = 0; k < K; k++) {
            dsgd_values_read(s->values, k, x[w][k], out->x[w] + s->begin[k]);
            RELEASE(s, x[w][k], v[w][k], stale[w][k]);
        }
    }
    out->stats = stats(s);
}

static outcome run_program(uint32_t n_threads, size_t memory_bytes)
{
    fixture *const s = fixture_new(8, 4, MOST_PIECES);
    s->config.n_threads = n_threads;
    s->config.memory_bytes = memory_bytes;
    fixture_open(s);
    outcome out;
    memset(&out, 0, sizeof out);
    random_program(s, &out);
    return out;
}

static void demand_equal(const outcome *a, const outcome *b)
{
    ck_assert_mem_eq(a->x, b->x, sizeof a->x);
    ck_assert_mem_eq(a->losses, b->losses, sizeof a->losses);
    ck_assert_mem_eq(a->consensus, b->consensus, sizeof a->consensus);
    ck_assert_mem_eq(&a->stats, &b->stats, offsetof(dsgd_values_stats, busy_wall_s));
}

CASE("threads", .seconds = 60, .tear_down = close_fixtures);

TEST(threads_and_memory_change_neither_bits_nor_work)
{
    const outcome one = run_program(1, (size_t)1 << 30);
    ck_assert_uint_eq(one.stats.gradients, 120);
    ck_assert_uint_eq(one.stats.evaluations, 8);
    ck_assert_double_gt(one.consensus[4], 0);
    ck_assert_double_lt(one.losses[7], one.losses[0]);
    for (uint32_t n_threads = 2; n_threads <= 4; n_threads += 2) {
        for (int i = 0; i < 5; i++) {
            const outcome more = run_program(n_threads, i % 2 == 0 ? 1 : (size_t)1 << 30);
            demand_equal(&more, &one);
        }
    }
}

TEST(store_stays_within_a_small_memory_limit)
{
    size_t peaks[2];
    const size_t memory_bytes[] = {600 * PARAMS * sizeof(double), (size_t)1 << 30};
    for (size_t i = 0; i < 2; i++) {
        fixture *const s = fixture_new(200, 4, 1);
        s->config.memory_bytes = memory_bytes[i];
        fixture_open(s);
        dsgd_value x[200];
        const dsgd_value start = constant(s, 0, 1);
        for (uint32_t w = 0; w < 200; w++)
            x[w] = dsgd_value_retain(start);
        release(s, start);
        for (uint64_t t = 0; t < 20; t++) {
            for (uint32_t w = 0; w < 200; w++) {
                dsgd_value v = DSGD_ZERO_VALUE;
                x[w] = updated(s, nowhere, x[w], gradient(s, w, t, x[w]), &v, 0.05);
                release(s, v);
            }
        }
        peaks[i] = stats(s).peak_bytes;
        release_all(s, 200, x);
    }
    /*
     * The allowed memory is the limit, plus three vectors for each of the 256 gradients between two
     * checks of the memory.
     */
    ck_assert_uint_le(peaks[0], memory_bytes[0] + 3 * 256 * PARAMS * sizeof(double));
    ck_assert_uint_ge(peaks[1], 200 * PARAMS * sizeof(double));
}

/* A device that counts the threads that are in its functions. */
static atomic_int inside;
static atomic_bool met;

static void enter_device(void)
{
    if (atomic_fetch_add(&inside, 1) > 0)
        met = true;
}

static void slow_update(void *context, uint32_t thread, const dsgd_update_op *ops, size_t n_ops,
                        bool *finite)
{
    enter_device();
    for (int i = 0; i < 2000; i++)
        dsgd_device_cpu(true)->update(context, thread, ops, n_ops, finite);
    atomic_fetch_sub(&inside, 1);
}

static void watched_put(void *context, dsgd_buffer to, const double *from, size_t n)
{
    enter_device();
    for (int i = 0; i < 2000; i++)
        dsgd_device_cpu(true)->put(context, to, from, n);
    atomic_fetch_sub(&inside, 1);
}

TEST(a_caller_over_its_memory_waits)
{
    dsgd_device *const device = changed_device();
    device->update = slow_update;
    fixture *const s = fixture_new(1, 4, 1);
    s->config.device = device;
    s->config.memory_bytes = 1;
    fixture_open(s);
    dsgd_value x = constant(s, 0, 1);
    for (int i = 0; i < 100; i++) {
        dsgd_value v = DSGD_ZERO_VALUE;
        x = updated(s, nowhere, x, dsgd_value_retain(x), &v, 0.01);
        release(s, v);
    }
    dsgd_values_flush(s->values);
    ck_assert_uint_eq(dsgd_values_stats_get(s->values).updates, 100);
}

TEST(unthreaded_device_is_called_by_one_thread_at_a_time)
{
    dsgd_device *const device = changed_device();
    device->threaded = false;
    device->update = slow_update;
    device->put = watched_put;
    fixture *const s = fixture_new(1, 4, 1);
    s->config.device = device;
    fixture_open(s);
    const dsgd_value x = constant(s, 0, 1);
    for (int i = 1; i <= 50; i++) {
        dsgd_value v = DSGD_ZERO_VALUE;
        const dsgd_value y =
            dsgd_values_update(s->values, nowhere, 0, x, x, &v, (dsgd_rate){0.1 / i, 1});
        dsgd_values_flush(s->values);
        RELEASE(s, constant(s, 0, 2), y, v);
    }
    release(s, x);
    ck_assert(!met);
}

/* --- divergence ------------------------------------------------------------------------------- */

/** _i + 1 is the number of threads. */
TEST_RANGE(divergence_is_the_first_in_the_order_of_the_calls, 0, 4)
{
    fixture *const s = fixture_new(4, 4, 1);
    s->config.n_threads = (uint32_t)_i + 1;
    fixture_open(s);
    dsgd_value x[4], v[4] = {DSGD_ZERO_VALUE};
    for (size_t w = 0; w < 4; w++)
        x[w] = constant(s, 0, 1 + (double)w);
    const size_t before = dsgd_values_evaluate(s->values, 4, 0, x, NULL);
    size_t after = 0, apart = 0;
    const dsgd_value start = constant(s, 0, 1);
    for (uint64_t t = 0; t < 40; t++) {
        for (uint32_t w = 0; w < 4; w++) {
            const dsgd_origin where = {w, t};
            /*
             * Worker 2 diverges in step 20, which depends on 20 earlier steps. Worker 3 diverges in
             * step 21, which depends on no earlier step.
             */
            const bool breaks = (w == 2 && t == 20) || (w == 3 && t == 21);
            if (w == 3 && !breaks)
                continue;
            const dsgd_value g = w == 3 ? dsgd_value_retain(x[3]) : gradient(s, w, t, x[w]);
            x[w] = updated(s, where, x[w], g, &v[w], breaks ? INFINITY : 0.01);
        }
        if (t == 22)
            after = dsgd_values_evaluate(s->values, 4, 0, x, NULL);
        if (t == 30) /* this model can be evaluated before the chain has diverged */
            apart = dsgd_values_evaluate(s->values, 1, 0, &start, NULL);
    }
    dsgd_values_flush(s->values);
    const dsgd_divergence d = dsgd_values_divergence(s->values);
    ck_assert(d.happened);
    ck_assert_uint_eq(d.where.worker, 2);
    ck_assert_uint_eq(d.where.step, 20);
    ck_assert(isfinite(dsgd_values_result(s->values, before).loss));
    const dsgd_evaluation nothing = dsgd_values_result(s->values, after);
    ck_assert(isnan(nothing.loss) && isnan(nothing.consensus));
    ck_assert(isnan(dsgd_values_result(s->values, apart).loss));
    release(s, start);
    release_all(s, 4, x);
    release_all(s, 4, v);
}

TEST(the_first_of_two_divergences_counts)
{
    fixture *const s = fixture_opened(1, 4, 1);
    const dsgd_value x = constant(s, 0, 1);
    dsgd_value y[2];
    for (uint32_t w = 0; w < 2; w++) {
        dsgd_value v = DSGD_ZERO_VALUE;
        y[w] = dsgd_values_update(s->values, (dsgd_origin){w, 7 - w}, 0, x, x, &v,
                                  (dsgd_rate){w == 0 ? INFINITY : -INFINITY, 1});
        release(s, v);
    }
    dsgd_values_flush(s->values);
    ck_assert_uint_eq(dsgd_values_divergence(s->values).where.worker, 0);
    ck_assert_uint_eq(dsgd_values_divergence(s->values).where.step, 7);
    RELEASE(s, y[0], y[1], x);
}

TEST(divergence_of_a_dropped_value_does_not_count)
{
    fixture *const s = fixture_opened(1, 4, 1);
    const dsgd_value x = constant(s, 0, 1);
    dsgd_value v = DSGD_ZERO_VALUE;
    RELEASE(s, dsgd_values_update(s->values, nowhere, 0, x, x, &v, (dsgd_rate){INFINITY, 1}), v);
    dsgd_values_flush(s->values);
    ck_assert(!dsgd_values_divergence(s->values).happened);
}

/* --- evaluation ------------------------------------------------------------------------------- */

CASE("evaluation", .tear_down = close_fixtures);

/* The loop variable _i plus 1 is the number of chunks. */
TEST_RANGE(consensus_is_the_distance_from_the_mean, 0, 3)
{
    fixture *const s = fixture_opened(1, 4, (size_t)_i + 1);
    const size_t n_pieces = (size_t)_i + 1;
    /*
     * The models are 1, 1, 5 and 0 times one vector. The mean factor is 7/4 and the mean square is
     * 27/4, so the variance is 59/16.
     */
    static const double factors[] = {1, 1, 5, 0};
    /* the last two models are 0.5 times and 3 times the vector */
    dsgd_value models[6 * MOST_PIECES];
    dsgd_value mean[MOST_PIECES];
    for (size_t k = 0; k < n_pieces; k++) {
        models[4 * n_pieces + k] = constant(s, k, 0.5);
        models[5 * n_pieces + k] = constant(s, k, 3);
        for (size_t m = 0; m < 4; m++)
            models[m * n_pieces + k] =
                m == 1 ? dsgd_value_retain(models[k])
                       : (m == 3 ? DSGD_ZERO_VALUE : constant(s, k, factors[m]));
        mean[k] = constant(s, k, 1.75);
    }
    const size_t ticket = dsgd_values_evaluate(s->values, 4, 0, models, NULL);
    const size_t of_others = dsgd_values_evaluate(s->values, 4, 2, models, NULL);
    /* the evaluations keep their own references, so the test may release its references */
    release_all(s, 6 * n_pieces, models);
    const size_t of_mean = dsgd_values_evaluate(s->values, 1, 0, mean, NULL);
    const dsgd_evaluation a = dsgd_values_result(s->values, ticket);
    const dsgd_evaluation b = dsgd_values_result(s->values, of_mean);
    ck_assert_double_eq_tol(a.consensus, norm(s->initial, PARAMS) * sqrt(59.0 / 16), 1e-13);
    ck_assert_double_eq_tol(a.loss, b.loss, 1e-13);
    ck_assert(b.consensus == 0);
    /* The mean of the last two models is also 1.75 times the vector, so the losses are equal. */
    const dsgd_evaluation others = dsgd_values_result(s->values, of_others);
    ck_assert_double_eq_tol(others.loss, b.loss, 1e-13);
    ck_assert_double_eq(others.consensus, a.consensus);
    ck_assert_uint_eq(stats(s).evaluations, 3);
    release_all(s, n_pieces, mean);
}

TEST(parts_of_the_test_set_make_the_whole)
{
    fixture *const s = fixture_opened(1, 4, 1);
    const dsgd_value x = constant(s, 0, 1);
    const double n = s->data.test.n;
    const double whole =
        dsgd_values_result(s->values, dsgd_values_evaluate(s->values, 1, 0, &x, NULL)).loss;
    static const uint32_t n_parts[] = {1, 2, 7, 300};
    for (int i = 0; i < 4; i++) {
        double sum = 0, previous = 0;
        for (uint32_t part = 0; part < n_parts[i]; part++) {
            const size_t ticket =
                dsgd_values_evaluate_part(s->values, &x, DSGD_ZERO_VALUE, part, n_parts[i]);
            const double loss = dsgd_values_result(s->values, ticket).loss;
            const double first = floor(part * n / n_parts[i]);
            sum += loss * (floor((part + 1) * n / n_parts[i]) - first);
            ck_assert_double_ne(loss, previous);
            previous = loss;
        }
        ck_assert_double_eq_tol(sum / n, whole, 1e-13);
        /* With a single part the order of the sum is the same, so the bits are equal. */
        if (n_parts[i] == 1)
            ck_assert_double_eq(previous, whole);
    }
    release(s, x);
}

TEST(evaluation_uses_the_values_at_its_call)
{
    fixture *const s = fixture_opened(1, 4, 1);
    dsgd_value x = constant(s, 0, 1), v = DSGD_ZERO_VALUE;
    size_t tickets[3];
    double losses[3];
    for (uint64_t t = 0; t < 3; t++) {
        tickets[t] = dsgd_values_evaluate(s->values, 1, 0, &x, NULL);
        x = updated(s, nowhere, x, gradient(s, 0, t, x), &v, 0.1);
    }
    for (size_t t = 3; t-- > 0;) /* results may be read in any order */
        losses[t] = dsgd_values_result(s->values, tickets[t]).loss;
    ck_assert(losses[0] != losses[1] && losses[1] != losses[2]);
    const dsgd_value start = constant(s, 0, 1);
    const size_t again = dsgd_values_evaluate(s->values, 1, 0, &start, NULL);
    ck_assert(dsgd_values_result(s->values, again).loss == losses[0]);
}
