/**
 * @file test_cuda.c
 * The CUDA device against the CPU one in float, operation by operation. A program of its own, because CUDA does not survive a fork();
 * it returns 77, "skipped", where there is no device.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/draw.h"
#include "models/chain.h"
#include "models/device.h"
#include "models/values.h"

Suite *cuda_suite(void);

enum {
    SKIPPED = 77,
    TRAIN = 500,
    TEST = 5000, /* more than one block of an evaluation */
    MOST_OPS = 40,
    MOST_PIECES = 5,
    MOST_HIDDEN = 2
};

/* Both devices round every product and sum to float, in different orders: relative to the norm of a gradient that is some 1e-7 times the
 * root of the number of terms. */
static const double tolerance = 1e-5;

static const dsgd_device *cuda;

/* --- cases -------------------------------------------------------------------------------------------------------------------------- */

typedef struct scene {
    const char *name;
    uint32_t features, classes; /* classes 0: regression */
    size_t n_hidden;
    double hidden[MOST_HIDDEN];
} scene;

/* On both sides of the edges of a tile of 32, and the sizes that people use. */
static const scene scenes[] = {
    {"hyperplane 1", 1, 0, 0, {0}},         {"hyperplane 257", 257, 0, 0, {0}},
    {"logreg 31 to 33", 31, 33, 0, {0}},    {"logreg 784 to 10", 784, 10, 0, {0}},
    {"mlp 64-1-2", 64, 2, 1, {1}},          {"mlp 784-32-10", 784, 10, 1, {32}},
    {"mlp 50-65-34-7", 50, 7, 2, {65, 34}},
};
enum {
    SCENES = sizeof scenes / sizeof scenes[0],
    LARGE = 5 /* scene with more parameters than the vectors of the tests by element have numbers */
};

/** A problem with everything that it points to. */
typedef struct stand {
    dsgd_data data;
    dsgd_network network;
    size_t piece_begin[MOST_PIECES + 1];
    dsgd_problem problem;
} stand;

static double uniform(uint32_t what, uint32_t row, uint32_t column)
{
    return dsgd_draw_uniform((dsgd_draw){7, DSGD_DRAW_DATA, what, row, column});
}

static dsgd_samples samples_of(const scene *sc, uint32_t what, uint32_t n)
{
    dsgd_samples s = {.n = n};
    const size_t n_numbers = (size_t)n * sc->features;
    if (sc->classes == 0) {
        s.x_real = dsgd_xcalloc(n_numbers, sizeof(float));
        s.targets = dsgd_xcalloc(n, sizeof(float));
    } else {
        s.x_bytes = dsgd_xcalloc(n_numbers, 1);
        s.labels = dsgd_xcalloc(n, 1);
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t f = 0; f < sc->features; f++) {
            const double u = uniform(what, i, f);
            if (sc->classes == 0)
                s.x_real[(size_t)i * sc->features + f] = (float)(2 * u - 1);
            else
                s.x_bytes[(size_t)i * sc->features + f] = (uint8_t)(256 * u);
        }
        const double u = uniform(what + 2, i, 0);
        if (sc->classes == 0)
            s.targets[i] = (float)(3 * u);
        else
            s.labels[i] = (uint8_t)(sc->classes * u);
    }
    return s;
}

static stand *stand_new(const scene *sc)
{
    stand *const s = dsgd_xcalloc(1, sizeof *s);
    s->data = (dsgd_data){.n_features = sc->features,
                          .n_classes = sc->classes,
                          .mean = 0.5f,
                          .deviation = 0.3f,
                          .train = samples_of(sc, 0, TRAIN),
                          .test = samples_of(sc, 1, TEST)};
    double hidden[MOST_HIDDEN];
    memcpy(hidden, sc->hidden, sizeof hidden);
    const dsgd_loss loss = sc->classes == 0 ? DSGD_LOSS_SQUARED : DSGD_LOSS_CROSS_ENTROPY;
    const dsgd_numbers widths = {sc->n_hidden, hidden};
    DSGD_ASSERT(dsgd_network_chain(&s->network, sc->name, &s->data, &widths, loss, NULL) == DSGD_OK,
                "%s", sc->name);
    s->problem = (dsgd_problem){.network = &s->network,
                                .data = &s->data,
                                .n_pieces = 1,
                                .piece_begin = s->piece_begin,
                                .momentum = 0.9,
                                .weight_decay = 1e-3};
    s->piece_begin[1] = s->network.n_params;
    return s;
}

/** Cuts the parameters in five uneven pieces, the third of which is empty. */
static void cut(stand *s)
{
    const size_t n = s->network.n_params;
    const size_t begin[MOST_PIECES + 1] = {0, n / 7, n / 2, n / 2, n / 2 + 1, n};
    s->problem.n_pieces = MOST_PIECES;
    memcpy(s->piece_begin, begin, sizeof begin);
}

static void stand_free(stand *s)
{
    const dsgd_samples parts[] = {s->data.train, s->data.test};
    for (size_t i = 0; i < 2; i++) {
        free(parts[i].x_bytes);
        free(parts[i].x_real);
        free(parts[i].labels);
        free(parts[i].targets);
    }
    free(s);
}

/* --- a device with a problem -------------------------------------------------------------------------------------------------------- */

typedef struct bench {
    const dsgd_device *device;
    const stand *stand;
    void *context;
} bench;

static bench bench_open(const dsgd_device *device, const stand *s)
{
    bench b = {device, s, NULL};
    dsgd_error error = {""};
    ck_assert_msg(device->open(&s->problem, 1, &b.context, &error) == DSGD_OK, "%s", error.text);
    return b;
}

static dsgd_buffer put(const bench *b, const double *x, size_t n)
{
    const dsgd_buffer buffer = b->device->alloc(b->context, n == 0 ? 1 : n);
    ck_assert_ptr_nonnull(buffer);
    b->device->put(b->context, buffer, x, n);
    return buffer;
}

/** A vector in the pieces of the problem. */
static void put_pieces(const bench *b, const double *x, dsgd_buffer *pieces)
{
    const size_t *const begin = b->stand->piece_begin;
    for (size_t k = 0; k < b->stand->problem.n_pieces; k++)
        pieces[k] = put(b, x + begin[k], begin[k + 1] - begin[k]);
}

static void get_pieces(const bench *b, double *x, const dsgd_buffer *pieces)
{
    const size_t *const begin = b->stand->piece_begin;
    for (size_t k = 0; k < b->stand->problem.n_pieces; k++)
        b->device->get(b->context, x + begin[k], pieces[k], begin[k + 1] - begin[k]);
}

static void release_pieces(const bench *b, const dsgd_buffer *pieces)
{
    for (size_t k = 0; k < b->stand->problem.n_pieces; k++)
        b->device->release(b->context, pieces[k]);
}

/** ||a - b|| / ||b||. */
static double distance(const double *a, const double *b, size_t n)
{
    double difference = 0;
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return difference == 0 ? 0 : sqrt(difference / norm);
}

/* --- gradients ---------------------------------------------------------------------------------------------------------------------- */

/** Operations of one call: operation i has its own model and sizes[i] samples of its own. */
typedef struct gradients {
    size_t n;
    uint32_t sizes[MOST_OPS];
    dsgd_buffer x[MOST_OPS][MOST_PIECES], g[MOST_OPS][MOST_PIECES];
    uint32_t *samples[MOST_OPS];
    dsgd_gradient_op ops[MOST_OPS];
    bool finite[MOST_OPS];
} gradients;

static void model_of(const stand *s, size_t i, double *x)
{
    dsgd_network_initial(&s->network, 100 + i, x);
    for (uint32_t l = 0; l < s->network.n_layers; l++)
        for (uint32_t j = 0; j < s->network.layers[l].n_out; j++)
            x[s->network.layers[l].biases + j] = 0.2 * uniform(9, (uint32_t)i, j) - 0.1;
}

static gradients *gradients_new(const bench *b, size_t n, const uint32_t *sizes)
{
    gradients *const set = dsgd_xcalloc(1, sizeof *set);
    set->n = n;
    double *const x = dsgd_xcalloc(b->stand->network.n_params, sizeof *x);
    for (size_t i = 0; i < n; i++) {
        set->sizes[i] = sizes[i];
        set->samples[i] = dsgd_xcalloc(sizes[i], sizeof(uint32_t));
        for (uint32_t j = 0; j < sizes[i]; j++)
            set->samples[i][j] = (uint32_t)(TRAIN * uniform(8, (uint32_t)i, j));
        model_of(b->stand, i, x);
        put_pieces(b, x, set->x[i]);
        put_pieces(b, x, set->g[i]); /* any numbers: they are to be written over */
        set->ops[i] = (dsgd_gradient_op){set->x[i], set->g[i], set->samples[i], sizes[i]};
    }
    free(x);
    return set;
}

static void gradients_free(const bench *b, gradients *set)
{
    for (size_t i = 0; i < set->n; i++) {
        release_pieces(b, set->x[i]);
        release_pieces(b, set->g[i]);
        free(set->samples[i]);
    }
    free(set);
}

/** All gradients, [n][n_params], computed in calls of @p per_call operations. */
static double *gradients_run(const bench *b, gradients *set, size_t per_call)
{
    const size_t n_params = b->stand->network.n_params;
    double *const out = dsgd_xcalloc(set->n * n_params, sizeof *out);
    for (size_t first = 0; first < set->n; first += per_call) {
        const size_t n = first + per_call < set->n ? per_call : set->n - first;
        b->device->gradient(b->context, 0, set->ops + first, n, set->finite + first);
    }
    for (size_t i = 0; i < set->n; i++)
        get_pieces(b, out + i * n_params, set->g[i]);
    return out;
}

/** The same by a fresh device. */
static double *gradients_by(const dsgd_device *device, const stand *s, size_t n,
                            const uint32_t *sizes, size_t per_call)
{
    const bench b = bench_open(device, s);
    gradients *const set = gradients_new(&b, n, sizes);
    double *const out = gradients_run(&b, set, per_call);
    for (size_t i = 0; i < n; i++)
        ck_assert(set->finite[i]);
    gradients_free(&b, set);
    device->close(b.context);
    return out;
}

/* What one call may hold: mini-batches, and a fused block among them. */
static const uint32_t mixed[] = {1, 4, 4, 31, 32, 33, 1, 256, 16, 300, 2, 4, 4};
enum { MIXED = sizeof mixed / sizeof mixed[0] };

START_TEST(gradients_are_those_of_the_cpu)
{
    const scene *const sc = &scenes[_i];
    stand *const s = stand_new(sc);
    const size_t n_params = s->network.n_params;
    double *const expected = gradients_by(dsgd_device_cpu(false), s, MIXED, mixed, MIXED);
    double *const got = gradients_by(cuda, s, MIXED, mixed, MIXED);
    for (size_t i = 0; i < MIXED; i++) {
        const double d = distance(got + i * n_params, expected + i * n_params, n_params);
        ck_assert_msg(d <= tolerance, "%s, %u samples: %g", sc->name, mixed[i], d);
    }
    free(got);
    free(expected);
    stand_free(s);
}
END_TEST

START_TEST(a_gradient_does_not_depend_on_what_else_is_in_the_call)
{
    stand *const s = stand_new(&scenes[_i]);
    const size_t bytes = MIXED * s->network.n_params * sizeof(double);
    double *const together = gradients_by(cuda, s, MIXED, mixed, MIXED);
    double *const again = gradients_by(cuda, s, MIXED, mixed, MIXED);
    double *const alone = gradients_by(cuda, s, MIXED, mixed, 1);
    double *const in_threes = gradients_by(cuda, s, MIXED, mixed, 3);
    ck_assert_mem_eq(together, again, bytes);
    ck_assert_mem_eq(together, alone, bytes);
    ck_assert_mem_eq(together, in_threes, bytes);
    free(in_threes);
    free(alone);
    free(again);
    free(together);
    stand_free(s);
}
END_TEST

START_TEST(a_gradient_does_not_depend_on_the_pieces)
{
    stand *const s = stand_new(&scenes[_i]);
    const size_t bytes = MIXED * s->network.n_params * sizeof(double);
    double *const whole = gradients_by(cuda, s, MIXED, mixed, MIXED);
    cut(s);
    double *const pieces = gradients_by(cuda, s, MIXED, mixed, MIXED);
    ck_assert_mem_eq(whole, pieces, bytes);
    free(pieces);
    free(whole);
    stand_free(s);
}
END_TEST

START_TEST(a_call_that_needs_much_room_gives_the_same_bits)
{
    const scene large = {"mlp 6-1500-1500-3", 6, 3, 2, {1500, 1500}};
    const uint32_t sizes[] = {1, 2, 4, 1, 2, 4, 1, 2, 4, 1, 2, 4};
    stand *const s = stand_new(&large);
    cut(s); /* so that the call needs two more vectors for each operation, 200 MB in all */
    double *const together = gradients_by(cuda, s, 12, sizes, 12);
    double *const alone = gradients_by(cuda, s, 12, sizes, 1);
    ck_assert_mem_eq(together, alone, 12 * s->network.n_params * sizeof(double));
    free(alone);
    free(together);
    stand_free(s);
}
END_TEST

/** Gradients of two operations: one at a model with a piece of zeros, one that writes only its last piece. */
static double *with_missing_pieces(const dsgd_device *device, const stand *s)
{
    const bench b = bench_open(device, s);
    gradients *const set = gradients_new(&b, 2, mixed + 1);
    const size_t last = s->problem.n_pieces - 1;
    dsgd_buffer x[MOST_PIECES];
    dsgd_buffer g[MOST_PIECES] = {NULL};
    memcpy(x, set->x[0], sizeof x);
    x[0] = NULL;
    g[last] = set->g[1][last];
    set->ops[0].x = x;
    set->ops[1].g = g;
    double *const out = gradients_run(&b, set, 2);
    gradients_free(&b, set);
    device->close(b.context);
    return out;
}

START_TEST(missing_pieces_are_zeros_or_are_not_written)
{
    for (int cuts = 0; cuts < 2; cuts++) {
        stand *const s = stand_new(&scenes[_i]);
        if (cuts == 1)
            cut(s);
        double *const expected = with_missing_pieces(dsgd_device_cpu(false), s);
        double *const got = with_missing_pieces(cuda, s);
        ck_assert_double_le(distance(got, expected, 2 * s->network.n_params), tolerance);
        free(got);
        free(expected);
        stand_free(s);
    }
}
END_TEST

START_TEST(a_gradient_that_is_not_finite_is_told_and_no_other)
{
    stand *const s = stand_new(&scenes[_i]);
    const bench b = bench_open(cuda, s);
    gradients *const set = gradients_new(&b, MIXED, mixed);
    double *const x = dsgd_xcalloc(s->network.n_params, sizeof *x);
    model_of(s, 2, x);
    x[0] = NAN; /* in the last layer, where no rectifier hides it */
    b.device->put(b.context, set->x[2][0], x, s->network.n_params);
    double *const g = gradients_run(&b, set, MIXED);
    for (size_t i = 0; i < MIXED; i++)
        ck_assert_msg(set->finite[i] == (i != 2), "operation %zu", i);
    free(g);
    free(x);
    gradients_free(&b, set);
    b.device->close(b.context);
    stand_free(s);
}
END_TEST

/* --- update, combination, distance, evaluation -------------------------------------------------------------------------------------- */

enum { VECTORS = 12, LENGTH = 1000, ELEMENT_OPS = 3 };

/** Vectors of normal size on a device; number 0 is NULL, that is, zeros. */
static void vectors_put(const bench *b, dsgd_buffer *v)
{
    double x[LENGTH];
    v[0] = NULL;
    for (uint32_t i = 1; i < VECTORS; i++) {
        for (uint32_t j = 0; j < LENGTH; j++)
            x[j] = 2 * uniform(20, i, j) - 1;
        v[i] = put(b, x, LENGTH);
    }
}

static void vectors_release(const bench *b, const dsgd_buffer *v)
{
    for (size_t i = 1; i < VECTORS; i++)
        b->device->release(b->context, v[i]);
}

/** Results of updates of different lengths: x', v', x', v', ... [2 ELEMENT_OPS][LENGTH]. */
static double *updates_by(const dsgd_device *device, const stand *s)
{
    const bench b = bench_open(device, s);
    dsgd_buffer v[VECTORS];
    vectors_put(&b, v);
    const bool momentum = s->problem.momentum != 0;
    const dsgd_buffer v_of[] = {v[3], NULL, v[3]}; /* the second begins: no velocity yet */
    const size_t lengths[] = {LENGTH, 1, 257};
    dsgd_update_op ops[ELEMENT_OPS];
    bool finite[ELEMENT_OPS];
    for (size_t i = 0; i < ELEMENT_OPS; i++)
        ops[i] = (dsgd_update_op){.n = lengths[i],
                                  .x = v[1 + i],
                                  .g = i == 2 ? NULL : v[2],
                                  .v = momentum ? v_of[i] : NULL,
                                  .x_new = v[5 + 2 * i],
                                  .v_new = momentum ? v[6 + 2 * i] : NULL,
                                  .lr = 0.1 / (double)(1 + i)};
    device->update(b.context, 0, ops, ELEMENT_OPS, finite);
    double *const out = dsgd_xcalloc((size_t)2 * ELEMENT_OPS * LENGTH, sizeof *out);
    for (size_t i = 0; i < (size_t)2 * ELEMENT_OPS; i++)
        device->get(b.context, out + i * LENGTH, v[5 + i], LENGTH);
    for (size_t i = 0; i < ELEMENT_OPS; i++)
        ck_assert(finite[i]);
    vectors_release(&b, v);
    device->close(b.context);
    return out;
}

START_TEST(updates_have_the_bits_of_the_cpu)
{
    stand *const s = stand_new(&scenes[LARGE]);
    s->problem.momentum = _i == 0 ? 0 : 0.9;
    double *const expected = updates_by(dsgd_device_cpu(false), s);
    double *const got = updates_by(cuda, s);
    ck_assert_mem_eq(got, expected, (size_t)2 * ELEMENT_OPS * LENGTH * sizeof *got);
    free(got);
    free(expected);
    stand_free(s);
}
END_TEST

static double *combinations_by(const dsgd_device *device, const stand *s)
{
    const bench b = bench_open(device, s);
    dsgd_buffer v[VECTORS];
    vectors_put(&b, v);
    const double weights[] = {1, 0.3, -2, 1e-3, 7, 1, 1, 0.25};
    const dsgd_combine_op ops[ELEMENT_OPS] = {
        {LENGTH, 8, v + 1, weights, 3, v[9]},
        {1, 1, v + 1, weights + 1, 1, v[10]},
        {257, 4, v, weights, 7, v[11]}, /* the first operand is zeros */
    };
    bool finite[ELEMENT_OPS];
    device->combine(b.context, 0, ops, ELEMENT_OPS, finite);
    double *const out = dsgd_xcalloc((size_t)ELEMENT_OPS * LENGTH, sizeof *out);
    for (size_t i = 0; i < ELEMENT_OPS; i++) {
        ck_assert(finite[i]);
        device->get(b.context, out + i * LENGTH, v[9 + i], LENGTH);
    }
    vectors_release(&b, v);
    device->close(b.context);
    return out;
}

START_TEST(combinations_have_the_bits_of_the_cpu)
{
    stand *const s = stand_new(&scenes[LARGE]);
    double *const expected = combinations_by(dsgd_device_cpu(false), s);
    double *const got = combinations_by(cuda, s);
    ck_assert_mem_eq(got, expected, (size_t)ELEMENT_OPS * LENGTH * sizeof *got);
    free(got);
    free(expected);
    stand_free(s);
}
END_TEST

START_TEST(numbers_that_are_not_finite_are_told_by_operation)
{
    stand *const s = stand_new(&scenes[LARGE]);
    const bench b = bench_open(cuda, s);
    dsgd_buffer v[VECTORS];
    vectors_put(&b, v);
    const double weights[] = {1e300, 1};
    bool finite[2];
    const dsgd_combine_op combinations[] = {{LENGTH, 1, v + 1, weights, 1, v[5]},
                                            {LENGTH, 1, v + 1, weights + 1, 1, v[6]}};
    b.device->combine(b.context, 0, combinations, 2, finite);
    ck_assert(!finite[0] && finite[1]);
    const dsgd_update_op updates[] = {{LENGTH, v[1], v[2], v[3], v[7], v[8], 0.1},
                                      {LENGTH, v[1], v[5], v[3], v[9], v[10], 0.1}};
    b.device->update(b.context, 0, updates, 2, finite);
    ck_assert(finite[0] && !finite[1]);
    vectors_release(&b, v);
    b.device->close(b.context);
    stand_free(s);
}
END_TEST

START_TEST(distances_are_those_of_the_cpu_but_for_the_order_of_the_sum)
{
    stand *const s = stand_new(&scenes[LARGE]);
    const dsgd_device *const devices[] = {dsgd_device_cpu(false), cuda};
    double found[2][ELEMENT_OPS];
    for (size_t d = 0; d < 2; d++) {
        const bench b = bench_open(devices[d], s);
        dsgd_buffer v[VECTORS];
        vectors_put(&b, v);
        dsgd_distance_op ops[ELEMENT_OPS] = {
            {LENGTH, v[1], v[2], 0}, {257, v[3], NULL, 0}, {1, v[4], v[5], 0}};
        b.device->distance(b.context, 0, ops, ELEMENT_OPS);
        for (size_t i = 0; i < ELEMENT_OPS; i++)
            found[d][i] = ops[i].distance;
        vectors_release(&b, v);
        b.device->close(b.context);
    }
    for (size_t i = 0; i < ELEMENT_OPS; i++)
        ck_assert_double_eq_tol(found[1][i] / found[0][i], 1, 1e-12);
    stand_free(s);
}
END_TEST

static dsgd_evaluate_op evaluation_by(const dsgd_device *device, const stand *s)
{
    const bench b = bench_open(device, s);
    double *const x = dsgd_xcalloc(s->network.n_params, sizeof *x);
    dsgd_buffer pieces[MOST_PIECES];
    model_of(s, 0, x);
    put_pieces(&b, x, pieces);
    dsgd_evaluate_op op = {.x = pieces};
    device->evaluate(b.context, 0, &op, 1);
    release_pieces(&b, pieces);
    device->close(b.context);
    free(x);
    return op;
}

START_TEST(evaluations_are_those_of_the_cpu)
{
    stand *const s = stand_new(&scenes[_i]);
    const dsgd_evaluate_op expected = evaluation_by(dsgd_device_cpu(false), s);
    const dsgd_evaluate_op got = evaluation_by(cuda, s);
    cut(s);
    const dsgd_evaluate_op in_pieces = evaluation_by(cuda, s);
    ck_assert_double_eq_tol(got.loss / expected.loss, 1, 1e-6);
    ck_assert_double_eq(got.loss, in_pieces.loss);
    if (s->data.n_classes == 0) {
        ck_assert(isnan(got.accuracy));
    } else {
        /* Two outputs that differ by a rounding may change places: two samples of the test set. */
        ck_assert_double_eq_tol(got.accuracy, expected.accuracy, 2.01 / TEST);
        ck_assert_double_eq(got.accuracy, in_pieces.accuracy);
    }
    stand_free(s);
}
END_TEST

/* --- memory ------------------------------------------------------------------------------------------------------------------------- */

START_TEST(memory_that_is_not_there_is_refused_and_harms_nothing)
{
    stand *const s = stand_new(&scenes[0]);
    const bench b = bench_open(cuda, s);
    ck_assert_ptr_null(b.device->alloc(b.context, (size_t)1 << 40));
    const double x[] = {1, 2, 3};
    const dsgd_buffer buffer = put(&b, x, 3);
    double back[3] = {0};
    b.device->get(b.context, back, buffer, 3);
    ck_assert_mem_eq(back, x, sizeof x);
    b.device->get(b.context, back, NULL, 3);
    ck_assert_double_eq(back[2], 0);
    b.device->release(b.context, buffer);
    b.device->close(b.context);
    stand_free(s);
}
END_TEST

/* --- training ----------------------------------------------------------------------------------------------------------------------- */

enum { WORKERS = 4, STEPS = 20, BATCH = 8, GROUP = 2 };

/** One step of gossip in pairs: each worker's update, then the mean with the neighbour. */
static void step(dsgd_values *values, const stand *s, uint64_t t, dsgd_value (*x)[MOST_PIECES],
                 dsgd_value (*v)[MOST_PIECES])
{
    const size_t n_pieces = s->problem.n_pieces;
    const double ones[GROUP] = {1, 1};
    for (uint32_t w = 0; w < WORKERS; w++) {
        dsgd_value g[MOST_PIECES];
        dsgd_values_gradient(values, (dsgd_origin){w, t}, BATCH, x[w], g);
        for (size_t k = 0; k < n_pieces; k++) {
            const dsgd_value next =
                dsgd_values_update(values, (dsgd_origin){w, t}, k, x[w][k], g[k], &v[w][k], 0.05);
            dsgd_value_release(values, x[w][k]);
            dsgd_value_release(values, g[k]);
            x[w][k] = next;
        }
    }
    for (uint32_t w = 0; w < WORKERS; w++) {
        const uint32_t other = (w + 1 + (uint32_t)(t % 2)) % WORKERS;
        for (size_t k = 0; k < n_pieces; k++) {
            const dsgd_value both[GROUP] = {x[w][k], x[other][k]};
            const dsgd_value mean =
                dsgd_values_combine(values, (dsgd_origin){w, t}, k, GROUP, both, ones, GROUP);
            dsgd_value_release(values, x[w][k]);
            x[w][k] = mean;
        }
    }
}

/** All models after STEPS steps, [WORKERS][n_params], flushed every @p every steps. */
static double *train(const dsgd_device *device, const stand *s, uint64_t every,
                     dsgd_evaluation *evaluation)
{
    const dsgd_values_config config = {.device = device,
                                       .problem = s->problem,
                                       .stream = {1, TRAIN, WORKERS, BATCH},
                                       .n_threads = 1,
                                       .memory_bytes = (size_t)1 << 30};
    dsgd_values *values = NULL;
    dsgd_error error = {""};
    ck_assert_msg(dsgd_values_open(&config, &values, &error) == DSGD_OK, "%s", error.text);
    const size_t n_params = s->network.n_params;
    double *const out = dsgd_xcalloc(WORKERS * n_params, sizeof *out);
    dsgd_network_initial(&s->network, 3, out);
    dsgd_value x[WORKERS][MOST_PIECES];
    dsgd_value v[WORKERS][MOST_PIECES] = {{{NULL, 0}}};
    for (size_t k = 0; k < s->problem.n_pieces; k++) {
        x[0][k] = dsgd_values_constant(values, k, out);
        for (uint32_t w = 1; w < WORKERS; w++)
            x[w][k] = dsgd_value_retain(x[0][k]);
    }
    for (uint64_t t = 0; t < STEPS; t++) {
        step(values, s, t, x, v);
        if (t % every == 0)
            dsgd_values_flush(values);
    }
    dsgd_value models[WORKERS * MOST_PIECES];
    for (size_t w = 0; w < WORKERS; w++)
        memcpy(models + w * s->problem.n_pieces, x[w], s->problem.n_pieces * sizeof(dsgd_value));
    *evaluation = dsgd_values_result(values, dsgd_values_evaluate(values, WORKERS, models));
    for (size_t w = 0; w < WORKERS; w++) {
        for (size_t k = 0; k < s->problem.n_pieces; k++) {
            dsgd_values_read(values, k, x[w][k], out + w * n_params + s->piece_begin[k]);
            dsgd_value_release(values, x[w][k]);
            dsgd_value_release(values, v[w][k]);
        }
    }
    dsgd_values_close(values);
    return out;
}

START_TEST(training_follows_the_cpu_and_repeats_to_the_bit)
{
    stand *const s = stand_new(&scenes[_i]);
    cut(s);
    dsgd_evaluation by_cpu, by_cuda, again;
    double *const expected = train(dsgd_device_cpu(false), s, 1, &by_cpu);
    double *const got = train(cuda, s, 1, &by_cuda);
    double *const repeated = train(cuda, s, 7, &again);
    const size_t n = WORKERS * s->network.n_params;
    /* Twenty steps add their roundings up. */
    ck_assert_double_le(distance(got, expected, n), 10 * tolerance);
    ck_assert_double_eq_tol(by_cuda.loss / by_cpu.loss, 1, 1e-4);
    ck_assert_double_eq_tol(by_cuda.consensus / by_cpu.consensus, 1, 1e-3);
    ck_assert_mem_eq(got, repeated, n * sizeof *got);
    ck_assert_double_eq(by_cuda.loss, again.loss);
    ck_assert_double_eq(by_cuda.consensus, again.consensus);
    free(repeated);
    free(got);
    free(expected);
    stand_free(s);
}
END_TEST

/* --- the program -------------------------------------------------------------------------------------------------------------------- */

Suite *cuda_suite(void)
{
    Suite *const suite = suite_create("cuda");
    TCase *const tcase = tcase_create("cuda");
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, gradients_are_those_of_the_cpu, 0, SCENES);
    tcase_add_loop_test(tcase, a_gradient_does_not_depend_on_what_else_is_in_the_call, 0, SCENES);
    tcase_add_loop_test(tcase, a_gradient_does_not_depend_on_the_pieces, 0, SCENES);
    tcase_add_test(tcase, a_call_that_needs_much_room_gives_the_same_bits);
    tcase_add_loop_test(tcase, missing_pieces_are_zeros_or_are_not_written, 0, SCENES);
    tcase_add_loop_test(tcase, a_gradient_that_is_not_finite_is_told_and_no_other, 0, SCENES);
    tcase_add_loop_test(tcase, updates_have_the_bits_of_the_cpu, 0, 2);
    tcase_add_test(tcase, combinations_have_the_bits_of_the_cpu);
    tcase_add_test(tcase, numbers_that_are_not_finite_are_told_by_operation);
    tcase_add_test(tcase, distances_are_those_of_the_cpu_but_for_the_order_of_the_sum);
    tcase_add_loop_test(tcase, evaluations_are_those_of_the_cpu, 0, SCENES);
    tcase_add_test(tcase, memory_that_is_not_there_is_refused_and_harms_nothing);
    tcase_add_loop_test(tcase, training_follows_the_cpu_and_repeats_to_the_bit, 0, SCENES);
    suite_add_tcase(suite, tcase);
    return suite;
}

/** Whether there is a device; else says why not. */
static bool device_is_there(void)
{
    dsgd_error error = {""};
    dsgd_status status = dsgd_device_cuda(&cuda, &error);
    if (status == DSGD_OK) {
        stand *const s = stand_new(&scenes[0]);
        void *context = NULL;
        status = cuda->open(&s->problem, 1, &context, &error);
        if (status == DSGD_OK)
            cuda->close(context);
        stand_free(s);
    }
    if (status != DSGD_OK)
        fprintf(stderr, "skipped: %s\n", error.text);
    return status == DSGD_OK;
}

int main(void)
{
    if (!device_is_there())
        return SKIPPED;
    SRunner *const runner = srunner_create(cuda_suite());
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    const int run = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed == 0 && run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
