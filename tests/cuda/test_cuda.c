/**
 * @file test_cuda.c
 * Compares each operation of the CUDA device with the CPU in float, for every model. The test is a
 * separate program, because a process that has used CUDA must not fork. Without a device, the
 * program returns 77, which means "skipped".
 */
#include <check.h>

#include "base/draw.h"
#include "models/devices/device.h"
#include "models/encodings/encoding.h"
#include "models/values/values.h"
#include "tests/cuda/cuda_probe.h"
#include "tests/support/crew.h"
#include "tests/support/distance.h"
#include "tests/support/noise.h"
#include "tests/support/suite.h"
#include "tests/support/team.h"

enum { SKIPPED = 77, TRAIN = 500, TEST = 600, MOST_NUMBERS = 2 };
enum {
    /* index of the model mlp in the array of specs */
    LARGE = 2,
    MOST_OPS = 40,
    MOST_PIECES = 5,
    MOST_SAMPLES = 64,
    MOST_BUFFERS = 512
};

/*
 * Both devices round each product and each sum to float, but in different orders. The error of a
 * gradient, relative to its norm, is about 1e-7 times the root of the number of terms.
 */
static const double tolerance = 1e-5;

static const dsgd_device *cuda;
static const dsgd_cuda_probe *probe;

/* --- data ------------------------------------------------------------------------------------- */

static double uniform(uint32_t what, uint32_t row, uint32_t column)
{
    return dsgd_draw_uniform((dsgd_draw){7, DSGD_DRAW_DATA, what, row, column});
}

/** The name of an option and its n values. */
typedef struct setting {
    const char *name;
    size_t n;
    double v[MOST_NUMBERS];
} setting;

static void set(const dsgd_entry *about, void *params, const setting *s)
{
    for (const dsgd_option *o = about->options; o != NULL && o->name != NULL; o++) {
        void *const field = (char *)params + o->offset;
        if (strcmp(o->name, s->name) != 0)
            continue;
        if (o->kind == DSGD_NUMBERS)
            *(dsgd_numbers *)field = (dsgd_numbers){s->n, (double *)s->v};
        else if (o->kind == DSGD_LONG)
            *(long *)field = (long)s->v[0];
        else
            *(double *)field = s->v[0];
        return;
    }
    DSGD_ASSERT(false, "%s has no %s", about->name, s->name);
}

/** Returns the options of a registry entry. At most @p n settings replace the defaults. */
static void *params_of(const dsgd_entry *about, size_t n, const setting *settings)
{
    void *const params = dsgd_keep(1, about->params_size);
    if (about->options != NULL)
        dsgd_options_default(about->options, params);
    for (size_t i = 0; i < n && settings[i].n > 0; i++)
        set(about, params, &settings[i]);
    return params;
}

enum { WIDTH = 11, HEIGHT = 13, CHANNELS = 2, CLASSES = 7 };

enum { SETTINGS = 4 };

/* Data sources. Each has more test samples than one block of an evaluation. */
static const struct {
    const char *name;
    setting settings[SETTINGS];
} sources[] = {
    {"hyperplane", {{"features", 1, {257}}, {"points", 1, {8 * TEST}}}},
    {"sequences",
     {{"features", 1, {5}}, {"points", 1, {8 * TEST}}, {"longest", 1, {9}}, {"median", 1, {5}}}},
    {"text", {{"context", 1, {11}}}},
    {"navigation", {{"episodes", 1, {300}}}},
};
enum { SOURCES = sizeof sources / sizeof sources[0] };

/** Returns images of noise if @p i is 0, otherwise data of source i - 1. */
static dsgd_data *data_of(size_t i)
{
    if (i == 0)
        return noise_images(WIDTH, HEIGHT, CHANNELS, CLASSES, TRAIN, TEST);
    const dsgd_data_source *const source =
        (const void *)dsgd_entry_find(dsgd_data_sources, sources[i - 1].name);
    dsgd_data *data = NULL;
    dsgd_error error = {""};
    DSGD_ASSERT(source->load(params_of(&source->about, SETTINGS, sources[i - 1].settings), 5, &data,
                             &error) == DSGD_OK,
                "%s", error.text);
    return data;
}

/* --- models and problems ---------------------------------------------------------------------- */

typedef struct model_spec {
    const char *model;
    setting setting; /* setting of one option, or no setting if n is 0 */
} model_spec;

/*
 * Models that are tested in addition to every model with its defaults. Their sizes are on both
 * sides of tile edges, or have other shapes.
 */
static const model_spec more_specs[] = {
    {"mlp", {"hidden", 2, {65, 34}}},     {"mlp", {"hidden", 2, {1, 15}}},
    {"mlp", {"hidden", 2, {16, 31}}},     {"cnn", {"channels", 2, {3, 33}}},
    {"cnn", {"channels", 1, {70}}},       {"resnet_small", {"width", 1, {3}}},
    {"lstm", {"units", 1, {5}}},          {"lstm", {"units", 1, {17}}},
    {"transformer", {"width", 1, {6}}},   {"transformer", {"heads", 1, {4}}},
    {"policy", {"environments", 1, {3}}},
};

static size_t n_models(void)
{
    size_t n = 0;
    while (dsgd_model_kinds[n] != NULL)
        n++;
    return n;
}

static int n_specs(void)
{
    return (int)(n_models() + sizeof more_specs / sizeof more_specs[0]);
}

static model_spec spec_of(int i)
{
    if ((size_t)i >= n_models())
        return more_specs[(size_t)i - n_models()];
    return (model_spec){dsgd_model_kinds[i]->name, {NULL, 0, {0}}};
}

/** A problem with its model and data. Only one exists at a time, until the test ends. */
typedef struct rig {
    model_spec spec;
    dsgd_data *data;
    dsgd_network network;
    size_t piece_begin[MOST_PIECES + 1];
    dsgd_problem problem;
} rig;

static rig *current;

/** Returns a problem of a model, with the first data source that the model accepts. */
static rig *rig_of(model_spec spec)
{
    rig *const s = current = dsgd_keep(1, sizeof *s);
    s->spec = spec;
    const dsgd_model_kind *const kind = (const void *)dsgd_entry_find(dsgd_model_kinds, spec.model);
    void *const params = params_of(&kind->about, 1, &s->spec.setting);
    size_t i = 0;
    do {
        DSGD_ASSERT(i <= SOURCES, "no data for %s", spec.model);
        dsgd_data_free(s->data);
        s->data = data_of(i++);
    } while (dsgd_model_build(kind, params, s->data, &s->network, NULL) != DSGD_OK);
    s->problem = (dsgd_problem){
        .network = &s->network,
        .data = s->data,
        .n_pieces = 1,
        .piece_begin = s->piece_begin,
        .update = {.momentum = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 1e-3}};
    s->piece_begin[1] = s->network.n_params;
    return s;
}

static rig *rig_new(int i)
{
    return rig_of(spec_of(i));
}

/** Divides the parameters into five chunks, which differ in size. The third chunk is empty. */
static void cut(rig *s)
{
    const size_t n = s->network.n_params;
    const size_t begin[MOST_PIECES + 1] = {0, n / 7, n / 2, n / 2, n / 2 + 1, n};
    s->problem.n_pieces = MOST_PIECES;
    memcpy(s->piece_begin, begin, sizeof begin);
}

/* --- a device with a problem ------------------------------------------------------------------ */

/**
 * An open device. Only one device is open at a time. It is closed when the next device is opened or
 * when the test ends.
 */
typedef struct bench {
    const dsgd_device *device;
    const rig *rig;
    void *context;
    size_t n_buffers;
    dsgd_buffer buffers[MOST_BUFFERS]; /* buffer 0 is NULL, which means zeros */
} bench;

static bench opened;

static void bench_close(void)
{
    while (opened.n_buffers > 1)
        opened.device->release(opened.context, opened.buffers[--opened.n_buffers]);
    if (opened.context != NULL)
        opened.device->close(opened.context);
    opened = (bench){.n_buffers = 1};
}

static bench *bench_open(const dsgd_device *device, const rig *s)
{
    bench_close();
    dsgd_error error = {""};
    ck_assert_msg(device->open(&s->problem, NULL, 1, &opened.context, &error) == DSGD_OK, "%s",
                  error.text);
    opened.device = device;
    opened.rig = s;
    return &opened;
}

static void end_test(void)
{
    bench_close();
    if (current != NULL)
        dsgd_data_free(current->data);
    current = NULL;
    dsgd_drop(NULL);
}

static dsgd_buffer put(bench *b, const double *x, size_t n)
{
    const dsgd_buffer buffer = b->device->alloc(b->context, n == 0 ? 1 : n);
    ck_assert_ptr_nonnull(buffer);
    DSGD_ASSERT(b->n_buffers < MOST_BUFFERS, "too many buffers");
    b->buffers[b->n_buffers++] = buffer;
    b->device->put(b->context, buffer, x, n);
    return buffer;
}

/** Writes the vector @p x to one buffer per chunk of the problem. */
static void put_pieces(bench *b, const double *x, dsgd_buffer *pieces)
{
    const size_t *const begin = b->rig->piece_begin;
    for (size_t k = 0; k < b->rig->problem.n_pieces; k++)
        pieces[k] = put(b, x + begin[k], begin[k + 1] - begin[k]);
}

/* --- gradients -------------------------------------------------------------------------------- */

/** Gradient operations of one call. Operation i has its own model, state and sizes[i] samples. */
typedef struct gradients {
    bench *b;
    size_t n;
    dsgd_buffer x[MOST_OPS][MOST_PIECES], g[MOST_OPS][MOST_PIECES];
    uint32_t samples[MOST_OPS][MOST_SAMPLES];
    dsgd_gradient_op ops[MOST_OPS];
    bool finite[MOST_OPS];
} gradients;

/**
 * A way to pass operations to the device: their number per call, their order, and the workspace.
 */
typedef struct manner {
    size_t per_call;
    bool backwards;
    size_t workspace; /* size of the workspace in reals, or 0 for the device's default */
} manner;

/**
 * Writes the parameters of model @p i to @p x. The parameters have usual sizes, and none of them is
 * 0.
 */
static void model_of(const rig *s, uint32_t i, double *x)
{
    dsgd_network_initial(&s->network, 100 + i, x);
    for (uint32_t j = 0; j < s->network.n_params; j++)
        x[j] += 0.2 * uniform(9, i, j) - 0.1;
}

static void state_of(const rig *s, uint32_t i, double *state)
{
    dsgd_network_initial_state(&s->network, 100, i, state);
    for (uint32_t j = 0; s->network.n_environments == 0 && j < s->network.n_state; j++)
        state[j] += 0.5 * uniform(12, i, j);
}

/** Opens the device, and returns n operations with models, states and samples. */
static gradients *gradients_new(const dsgd_device *device, const rig *s, size_t n,
                                const uint32_t *sizes)
{
    gradients *const all = dsgd_keep(1, sizeof *all);
    const size_t n_state = s->network.n_state;
    all->b = bench_open(device, s);
    all->n = n;
    double *const x = dsgd_keep(s->network.n_params + n_state, sizeof *x);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < sizes[i]; j++)
            all->samples[i][j] = (uint32_t)(TRAIN * uniform(8, i, j));
        model_of(s, i, x);
        put_pieces(all->b, x, all->x[i]);
        put_pieces(all->b, x, all->g[i]); /* these initial values are overwritten by the gradient */
        state_of(s, i, x);
        all->ops[i] = (dsgd_gradient_op){.x = all->x[i],
                                         .g = all->g[i],
                                         .state = n_state == 0 ? NULL : put(all->b, x, n_state),
                                         .state_new = n_state == 0 ? NULL : put(all->b, x, n_state),
                                         .samples = all->samples[i],
                                         .n_samples = sizes[i]};
    }
    return all;
}

static void gradients_compute(gradients *all, manner how)
{
    const bench *const b = all->b;
    dsgd_gradient_op ops[MOST_OPS];
    bool finite[MOST_OPS];
    for (size_t i = 0; i < all->n; i++)
        ops[i] = all->ops[how.backwards ? all->n - 1 - i : i];
    if (how.workspace > 0)
        probe->limit_workspace(b->context, how.workspace);
    for (size_t first = 0; first < all->n; first += how.per_call) {
        const size_t n = first + how.per_call < all->n ? how.per_call : all->n - first;
        b->device->gradient(b->context, 0, ops + first, n, finite + first);
    }
    for (size_t i = 0; i < all->n; i++)
        all->finite[i] = finite[how.backwards ? all->n - 1 - i : i];
}

/** Returns the number of values that gradients_run() returns for each operation. */
static size_t reals_of(const rig *s)
{
    return s->network.n_params + s->network.n_state;
}

/**
 * Computes all operations, and returns their gradients and new states as an array [n][n_params +
 * n_state].
 */
static double *gradients_run(gradients *all, manner how)
{
    const bench *const b = all->b;
    const size_t *const begin = b->rig->piece_begin;
    double *const out = dsgd_keep(all->n * reals_of(b->rig), sizeof *out);
    gradients_compute(all, how);
    for (size_t i = 0; i < all->n; i++) {
        double *const to = out + i * reals_of(b->rig);
        for (size_t k = 0; k < b->rig->problem.n_pieces; k++)
            b->device->get(b->context, to + begin[k], all->g[i][k], begin[k + 1] - begin[k]);
        b->device->get(b->context, to + b->rig->network.n_params, all->ops[i].state_new,
                       b->rig->network.n_state);
    }
    return out;
}

/* Sizes of the mini-batches of one call. */
static const uint32_t mixed[] = {4, 1, 17, 3, 4, 64, 1, 33, 16, 2, 4};
enum { MIXED = sizeof mixed / sizeof mixed[0] };
static const manner together = {MIXED, false, 0};

static double *gradients_by(const dsgd_device *device, const rig *s, manner how)
{
    gradients *const all = gradients_new(device, s, MIXED, mixed);
    double *const out = gradients_run(all, how);
    for (size_t i = 0; i < MIXED; i++)
        ck_assert(all->finite[i]);
    return out;
}

/** Returns the error of the gradient of operation @p i, relative to the expected gradient. */
static double gradient_error(const rig *s, const double *got, const double *expected, size_t i)
{
    return support_distance(got + i * reals_of(s), expected + i * reals_of(s), s->network.n_params);
}

static double state_error(const rig *s, const double *got, const double *expected, size_t i)
{
    const size_t n = s->network.n_params;
    return support_distance(got + i * reals_of(s) + n, expected + i * reals_of(s) + n,
                            s->network.n_state);
}

SUITE(cuda, "cuda", .seconds = 600, .tear_down = end_test);

/**
 * If the input of a ReLU is so near to 0 that rounding decides its sign, two gradients are possible
 * in float. In this test, this happens on the CPU in 1 of 200 operations, and double usually gives
 * the other gradient. The gradient of the device must therefore be near the gradient in float or
 * near the gradient in double. One operation of each model may differ from both gradients.
 */
TEST_RANGE(gradients_and_states_are_those_of_the_cpu, 0, n_specs())
{
    rig *const s = rig_new(_i);
    double *const single = gradients_by(dsgd_device_cpu(false), s, together);
    double *const twofold = gradients_by(dsgd_device_cpu(true), s, together);
    double *const got = gradients_by(cuda, s, together);
    size_t n_alone = 0;
    for (size_t i = 0; i < MIXED; i++) {
        const double d =
            fmin(gradient_error(s, got, single, i), gradient_error(s, got, twofold, i));
        n_alone += d > tolerance;
        ck_assert_msg(d <= 1e-3 && n_alone <= 1, "%s %d, %u samples: %g", s->spec.model, _i,
                      mixed[i], d);
        const double e = state_error(s, got, single, i);
        ck_assert_msg(e <= tolerance, "%s %d, %u samples: %g in the state", s->spec.model, _i,
                      mixed[i], e);
    }
}

TEST_RANGE(a_gradient_does_not_depend_on_what_else_is_in_the_call, 0, n_specs())
{
    rig *const s = rig_new(_i);
    const size_t n = reals_of(s);
    const dsgd_network *const network = &s->network;
    /* A workspace for 40 samples, which is not enough for a mini-batch of 64. */
    const size_t little = 40 * (2 * network->n_reals + network->n_saved);
    const manner manners[] = {together,         {1, false, 0},         {3, false, 0},
                              {MIXED, true, 0}, {MIXED, true, little}, {4, true, little}};
    double *const expected = gradients_by(cuda, s, together);
    for (size_t m = 0; m < sizeof manners / sizeof manners[0]; m++) {
        double *const got = gradients_by(cuda, s, manners[m]);
        ck_assert_msg(memcmp(expected, got, MIXED * n * sizeof *got) == 0, "manner %zu", m);
    }
}

TEST_RANGE(a_gradient_does_not_depend_on_the_pieces, 0, n_specs())
{
    rig *const s = rig_new(_i);
    double *const whole = gradients_by(cuda, s, together);
    cut(s);
    ck_assert_mem_eq(gradients_by(cuda, s, together), whole, MIXED * reals_of(s) * sizeof *whole);
}

/**
 * Computes two gradients. The model of the first has a chunk of zeros, and the second writes only
 * its last chunk.
 */
static double *with_missing_pieces(const dsgd_device *device, const rig *s)
{
    gradients *const all = gradients_new(device, s, 2, mixed + 2);
    const size_t last = s->problem.n_pieces - 1;
    dsgd_buffer x[MOST_PIECES], g[MOST_PIECES] = {NULL};
    memcpy(x, all->x[0], sizeof x);
    x[0] = NULL;
    g[last] = all->g[1][last];
    all->ops[0].x = x;
    all->ops[1].g = g;
    return gradients_run(all, (manner){2, false, 0});
}

TEST_RANGE(missing_pieces_are_zeros_or_are_not_written, 0, n_models())
{
    rig *const s = rig_new(_i);
    for (int cuts = 0; cuts < 2; cuts++) {
        if (cuts == 1)
            cut(s);
        double *const expected = with_missing_pieces(dsgd_device_cpu(false), s);
        double *const got = with_missing_pieces(cuda, s);
        /*
         * Exchanged chunks would give a larger difference. The tolerance allows the sign of one
         * ReLU to differ.
         */
        ck_assert_double_le(support_distance(got, expected, 2 * reals_of(s)), 1e-3);
    }
}

TEST_RANGE(a_non_finite_gradient_or_state_is_reported_and_no_other, 0, n_models())
{
    rig *const s = rig_new(_i);
    const size_t n_state = s->network.n_state;
    gradients *const all = gradients_new(cuda, s, MIXED, mixed);
    double *const x = dsgd_keep(reals_of(s), sizeof *x);
    model_of(s, 2, x);
    x[0] = NAN; /* x[0] is a parameter of the last layer, which no ReLU hides */
    cuda->put(all->b->context, all->x[2][0], x, s->network.n_params);
    state_of(s, 5, x);
    if (n_state > 0) {
        x[0] = NAN;
        cuda->put(all->b->context, all->ops[5].state, x, n_state);
    }
    gradients_compute(all, together);
    for (size_t i = 0; i < MIXED; i++) {
        const bool expected = i != 2 && (n_state == 0 || i != 5);
        ck_assert_msg(all->finite[i] == expected, "operation %zu", i);
    }
}

/*
 * Models whose gradient can be computed in one launch. In some of these models, the number of
 * features of a sample is a multiple of four.
 */
static const model_spec chained_specs[] = {
    {"logreg", {NULL, 0, {0}}},       {"hyperplane", {NULL, 0, {0}}},
    {"mlp", {NULL, 0, {0}}},          {"mlp", {"hidden", 2, {65, 34}}},
    {"mlp", {"hidden", 2, {1, 15}}},  {"mlp", {"hidden", 2, {16, 31}}},
    {"mlp", {"hidden", 2, {17, 33}}}, {"mlp", {"hidden", 2, {64, 130}}},
    {"mlp", {"hidden", 1, {300}}},    {"mlp", {"hidden", 2, {3, 2}}},
};

/*
 * Sizes of the mini-batches of each call. All mini-batches of a call share the memory of a block.
 */
enum { CALLS = 3, PER_CALL = 5 };
static const uint32_t batches[CALLS][PER_CALL] = {
    {1, 2, 3, 8, 5}, {16, 4, 7, 15, 9}, {17, 64, 31, 32, 33}};

/**
 * Computes the gradients of one call. If @p one_launch is true and the memory of a block is large
 * enough, the device needs one launch. Otherwise, the device needs one launch per product.
 */
static double *chained(const rig *s, int call, bool one_launch)
{
    gradients *const all = gradients_new(cuda, s, PER_CALL, batches[call]);
    if (!one_launch)
        probe->limit_block(all->b->context, 0);
    const uint64_t before = probe->launches();
    double *const out = gradients_run(all, (manner){PER_CALL, false, 0});
    const uint64_t launches = probe->launches() - before;
    /* the first call needs 31 KB of shared memory, which every device has */
    if (one_launch && call == 0)
        ck_assert_uint_eq(launches, 1);
    if (!one_launch)
        ck_assert_uint_gt(launches, 3);
    return out;
}

CASE("mlp", .seconds = 600, .tear_down = end_test);

TEST_ROWS(one_launch_gives_the_bits_of_a_launch_for_each_product, chained_specs)
{
    rig *const s = rig_of(chained_specs[_i]);
    for (int call = 0; call < CALLS; call++) {
        double *const expected = chained(s, call, false), *const got = chained(s, call, true);
        ck_assert_msg(memcmp(expected, got, PER_CALL * reals_of(s) * sizeof *got) == 0,
                      "%s, spec %d, call %d", s->spec.model, _i, call);
    }
}

/**
 * Returns the number of launches for a gradient, an update and a combination of each of n workers.
 */
static uint64_t launches_of(const rig *s, uint32_t n)
{
    team *const t = team_new(cuda, &s->problem, n, 16);
    const uint64_t before = probe->launches();
    for (int kind = TEAM_gradient; kind <= TEAM_combine; kind++)
        team_call(t, (team_kind)kind, 0, n);
    const uint64_t launches = probe->launches() - before;
    team_close(t);
    return launches;
}

CASE("cuda", .seconds = 600, .tear_down = end_test);

TEST_RANGE(a_step_of_all_workers_takes_few_launches_however_many_they_are, 0, 2)
{
    static const model_spec all[] = {{"mlp", {NULL, 0, {0}}}, {"cnn", {NULL, 0, {0}}}};
    static const uint64_t most[] = {8, 20};
    rig *const s = rig_of(all[_i]);
    s->problem.update.momentum = 0;
    const uint64_t one = launches_of(s, 1), eight = launches_of(s, 8);
    ck_assert_uint_eq(one, eight);
    ck_assert_msg(eight <= most[_i], "%s: %u launches", s->spec.model, (unsigned)eight);
}

/**
 * Compares all operations of eight workers with the CPU. The device computes 8, 1 or 3 workers per
 * call. The loop variable _i is the index of the number of workers in per_call.
 */
TEST_RANGE(operations_of_every_kind_are_those_of_the_cpu, 0, 3)
{
    static const uint32_t per_call[] = {8, 1, 3};
    rig *const s = rig_new(LARGE);
    team *const teams[] = {team_new(dsgd_device_cpu(false), &s->problem, 8, 16),
                           team_new(cuda, &s->problem, 8, 16)};
    for (int kind = 0; kind < TEAM_KINDS; kind++) {
        for (uint32_t first = 0; first < 8; first += per_call[_i])
            for (int d = 0; d < 2; d++)
                team_call(teams[d], (team_kind)kind, first,
                          first + per_call[_i] > 8 ? 8 - first : per_call[_i]);
        const double distance = team_distance(teams[1], teams[0], (team_kind)kind);
        ck_assert_msg(distance <= tolerance, "%s: %g", team_kind_names[kind], distance);
    }
    team_close(teams[0]);
    team_close(teams[1]);
}

/* --- Tests of update, combination, distance and evaluation ------------------------------------ */

enum { VECTORS = 14, LENGTH = 1003, ELEMENT_OPS = 3 };

static const dsgd_buffer *const v = opened.buffers;

/**
 * Opens a device, and creates the vectors v[1] to v[13] with usual values. They have twice the
 * length, because states need it.
 */
static bench *vectors_open(const dsgd_device *device, const rig *s)
{
    bench *const b = bench_open(device, s);
    double x[2 * LENGTH];
    for (uint32_t i = 1; i < VECTORS; i++) {
        /* Vector 3 is the state of an optimizer, so its elements are not negative. */
        for (uint32_t j = 0; j < 2 * LENGTH; j++)
            x[j] = i == 3 ? uniform(20, i, j) : 2 * uniform(20, i, j) - 1;
        put(b, x, 2 * LENGTH);
    }
    return b;
}

/**
 * Returns the results of updates of different lengths. The array [2 ELEMENT_OPS][2 LENGTH] contains
 * the new model x' and the new velocity v' of each update in turn.
 */
static double *updates_by(const dsgd_device *device, const rig *s)
{
    bench *const b = vectors_open(device, s);
    const bool state = dsgd_optimizer_states(&s->problem.update) > 0;
    /* The second operation has no velocity before its first step. */
    const dsgd_buffer v_of[] = {v[3], NULL, v[3]};
    const size_t lengths[] = {LENGTH, 1, 257};
    const uint64_t steps_so_far[] = {7, 1, 1000};
    dsgd_update_op ops[ELEMENT_OPS];
    bool finite[ELEMENT_OPS];
    for (size_t i = 0; i < ELEMENT_OPS; i++)
        ops[i] = (dsgd_update_op){.n = lengths[i],
                                  .x = i == 1 ? NULL : v[1 + i],
                                  .g = i == 2 ? NULL : v[2],
                                  .v = state ? v_of[i] : NULL,
                                  .x_new = v[5 + 2 * i],
                                  .v_new = state ? v[6 + 2 * i] : NULL,
                                  .lr = 0.1 / (double)(1 + i),
                                  .t = steps_so_far[i]};
    device->update(b->context, 0, ops, ELEMENT_OPS, finite);
    double *const out = dsgd_keep((size_t)4 * ELEMENT_OPS * LENGTH, sizeof *out);
    for (size_t i = 0; i < (size_t)2 * ELEMENT_OPS; i++)
        device->get(b->context, out + i * 2 * LENGTH, v[5 + i], (size_t)2 * LENGTH);
    for (size_t i = 0; i < ELEMENT_OPS; i++)
        ck_assert(finite[i]);
    return out;
}

static const dsgd_optimizer optimizers[] = {
    {.kind = DSGD_OPTIMIZER_MOMENTUM, .weight_decay = 1e-3},
    {.kind = DSGD_OPTIMIZER_MOMENTUM, .momentum = 0.9, .weight_decay = 1e-3},
    {.kind = DSGD_OPTIMIZER_NESTEROV, .momentum = 0.9, .weight_decay = 1e-3},
    {.kind = DSGD_OPTIMIZER_ADAMW,
     .momentum = 0.9,
     .beta2 = 0.99,
     .epsilon = 1e-8,
     .weight_decay = 1e-3},
};
enum { OPTIMIZERS = sizeof optimizers / sizeof optimizers[0] };

TEST_RANGE(updates_have_the_bits_of_the_cpu, 0, OPTIMIZERS)
{
    rig *const s = rig_new(LARGE);
    s->problem.update = optimizers[_i];
    ck_assert_mem_eq(updates_by(cuda, s), updates_by(dsgd_device_cpu(false), s),
                     4 * ELEMENT_OPS * LENGTH * sizeof(double));
}

/**
 * Compares clipped updates. The device sums the squares in another order than the CPU, so bits may
 * differ.
 */
TEST_RANGE(clipped_updates_equal_the_cpu_up_to_rounding, 0, OPTIMIZERS)
{
    rig *const s = rig_new(LARGE);
    s->problem.update = optimizers[_i];
    double *const free_running = updates_by(cuda, s);
    s->problem.update.clip = 1;
    double *const expected = updates_by(dsgd_device_cpu(false), s);
    double *const got = updates_by(cuda, s);
    const size_t n = (size_t)4 * ELEMENT_OPS * LENGTH;
    ck_assert_double_le(support_distance(got, expected, n), 1e-6);
    ck_assert_double_ge(support_distance(got, free_running, n), 1e-3);
    /* the norm of each gradient is below this bound, so no gradient is clipped */
    s->problem.update.clip = 1e6;
    ck_assert_mem_eq(updates_by(cuda, s), free_running, n * sizeof *got);
}

static double *combinations_by(const dsgd_device *device, const rig *s)
{
    bench *const b = vectors_open(device, s);
    const double weights[] = {1, 0.3, -2, 1e-3, 7, 1, 1, 0.25};
    const dsgd_combine_op ops[ELEMENT_OPS] = {
        {LENGTH, 8, v + 1, weights, 3, v[9]},
        {1, 1, v + 1, weights + 1, 1, v[10]},
        {258, 5, v, weights, 7, v[11]}, /* the first operand v[0] contains zeros */
    };
    bool finite[ELEMENT_OPS];
    device->combine(b->context, 0, ops, ELEMENT_OPS, finite);
    double *const out = dsgd_keep((size_t)ELEMENT_OPS * LENGTH, sizeof *out);
    for (size_t i = 0; i < ELEMENT_OPS; i++) {
        ck_assert(finite[i]);
        device->get(b->context, out + i * LENGTH, v[9 + i], LENGTH);
    }
    return out;
}

TEST(combinations_have_the_bits_of_the_cpu)
{
    rig *const s = rig_new(LARGE);
    ck_assert_mem_eq(combinations_by(cuda, s), combinations_by(dsgd_device_cpu(false), s),
                     ELEMENT_OPS * LENGTH * sizeof(double));
}

/** Writes a codec of each kind for a chunk of n elements to @p codes, and returns their number. */
static size_t codes_of(size_t n, dsgd_codec *codes)
{
    size_t n_codes = 0;
    for (uint32_t kind = DSGD_CODEC_TOP_K; kind <= DSGD_CODEC_OUTER; kind++) {
        const bool in_matrix = kind >= DSGD_CODEC_START;
        const dsgd_matrix m = dsgd_matrix_of(n);
        if (in_matrix && !dsgd_matrix_has_rank(n, 2))
            continue;
        codes[n_codes++] = (dsgd_codec){.kind = kind,
                                        .levels = 5,
                                        .count = in_matrix ? 2 : n / 3 + 1,
                                        .number = 0.3,
                                        .rows = in_matrix ? (uint32_t)m.rows : 0,
                                        .columns = in_matrix ? (uint32_t)m.columns : 0,
                                        .seed = 77,
                                        .purpose = 12,
                                        .worker = 3,
                                        .step = 9,
                                        .first = 5};
    }
    return n_codes;
}

/* The loop variable _i is the index of the number of elements in sizes. */
TEST_RANGE(encodings_have_the_bits_of_the_cpu, 0, 6)
{
    static const size_t sizes[] = {LENGTH, 1, 2, 9, 16, 257};
    const size_t n = sizes[_i];
    rig *const s = rig_new(LARGE);
    dsgd_codec codes[2 * DSGD_CODEC_OUTER];
    const size_t n_codes = codes_of(n, codes);
    double *const out = dsgd_keep(2 * n_codes * n, sizeof *out);
    for (int by = 0; by < 2; by++) {
        bench *const b = vectors_open(by == 0 ? dsgd_device_cpu(false) : cuda, s);
        dsgd_encode_op ops[2 * DSGD_CODEC_OUTER];
        bool finite[2 * DSGD_CODEC_OUTER];
        for (size_t i = 0; i < n_codes; i++)
            ops[i] = (dsgd_encode_op){n, v[1], v[2], codes[i], put(b, out, n)};
        b->device->encode(b->context, 0, ops, n_codes, finite);
        for (size_t i = 0; i < n_codes; i++) {
            ck_assert(finite[i]);
            b->device->get(b->context, out + ((size_t)by * n_codes + i) * n, ops[i].y, n);
        }
    }
    for (size_t i = 0; i < n_codes; i++)
        ck_assert_msg(memcmp(out + i * n, out + (n_codes + i) * n, n * sizeof *out) == 0,
                      "kind %u of %zu elements", codes[i].kind, n);
}

TEST(non_finite_values_are_reported_by_operation)
{
    rig *const s = rig_new(LARGE);
    bench *const b = vectors_open(cuda, s);
    double last[LENGTH] = {0};
    last[LENGTH - 1] = NAN;
    b->device->put(b->context, v[4], last, LENGTH);
    const double weights[] = {1e300, 1};
    bool finite[3];
    const dsgd_combine_op combinations[] = {{LENGTH, 1, v + 1, weights, 1, v[5]},
                                            {LENGTH, 1, v + 1, weights + 1, 1, v[6]},
                                            {LENGTH, 1, v + 4, weights + 1, 1, v[7]}};
    b->device->combine(b->context, 0, combinations, 3, finite);
    ck_assert(!finite[0] && finite[1] && !finite[2]);
    const dsgd_update_op updates[] = {{LENGTH, v[1], v[2], v[3], v[7], v[8], 0.1, 1},
                                      {LENGTH, v[1], v[5], v[3], v[9], v[10], 0.1, 1},
                                      {LENGTH, v[1], v[4], v[3], v[11], v[12], 0.1, 1}};
    for (int clip = 0; clip < 2; clip++) {
        b->device->update(b->context, 0, updates, 3, finite);
        ck_assert(finite[0] && !finite[1] && !finite[2]);
        s->problem.update.clip = 1; /* clipping must not hide NaN and infinity */
    }
}

/**
 * Tests calls that do not wait for their results. Each call reads the results of the previous call,
 * and has more operations.
 */
TEST(calls_in_flight_compute_in_order)
{
    enum { IN_FLIGHT = 8 };
    rig *const s = rig_new(LARGE);
    bench *const b = vectors_open(cuda, s);
    double x[LENGTH];
    for (size_t i = 0; i < LENGTH; i++)
        x[i] = 1;
    b->device->put(b->context, v[1], x, LENGTH);
    b->device->ahead(b->context, 1);
    const double weights[] = {2, 1e39};
    bool finite[IN_FLIGHT][IN_FLIGHT];
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        const dsgd_buffer *const from = &v[1 + i % 2];
        const dsgd_combine_op last = {LENGTH, 1, from, &weights[i == 5], 1, v[2 - i % 2]};
        const dsgd_combine_op other = {LENGTH, 1, from, weights, 1, v[3]};
        dsgd_combine_op ops[IN_FLIGHT];
        for (size_t k = 0; k < i; k++)
            ops[k] = other;
        ops[i] = last;
        /* the call must replace these values, which are all wrong */
        memset(finite[i], i == 5, sizeof finite[i]);
        b->device->combine(b->context, 0, ops, i + 1, finite[i]);
        ck_assert(i == 0 || finite[i - 1][i - 1] == (i != 6 && i != 7));
        if (i == 5)
            b->device->ahead(b->context, 0);
        if (i == 4 || i == 5)
            b->device->get(b->context, x, v[2 - i % 2], LENGTH);
        ck_assert(i != 4 || (x[0] == 32 && x[LENGTH - 1] == 32));
        ck_assert(i != 5 || (!finite[5][5] && finite[5][0] && isinf(x[0])));
        b->device->ahead(b->context, 1);
    }
    b->device->ahead(b->context, 0);
    ck_assert(!finite[IN_FLIGHT - 1][IN_FLIGHT - 1]);
}

TEST(a_non_finite_moment_is_reported)
{
    rig *const s = rig_new(LARGE);
    s->problem.update = optimizers[OPTIMIZERS - 1];
    bench *const b = vectors_open(cuda, s);
    double large[LENGTH] = {0};
    large[LENGTH - 1] = 1e30; /* the square of this value is infinite in float */
    b->device->put(b->context, v[4], large, LENGTH);
    const dsgd_update_op ops[] = {{LENGTH, v[1], v[2], v[3], v[7], v[8], 0.1, 1},
                                  {LENGTH, v[1], v[4], v[3], v[9], v[10], 0.1, 1}};
    bool finite[2];
    b->device->update(b->context, 0, ops, 2, finite);
    ck_assert(finite[0] && !finite[1]);
}

TEST(distances_equal_the_cpu_up_to_the_order_of_sums)
{
    rig *const s = rig_new(LARGE);
    const dsgd_device *const devices[] = {dsgd_device_cpu(false), cuda};
    double found[2][ELEMENT_OPS];
    for (size_t d = 0; d < 2; d++) {
        bench *const b = vectors_open(devices[d], s);
        dsgd_distance_op ops[ELEMENT_OPS] = {
            {LENGTH, v[1], v[2], 0}, {257, v[3], NULL, 0}, {1, v[4], v[5], 0}};
        b->device->distance(b->context, 0, ops, ELEMENT_OPS);
        for (size_t i = 0; i < ELEMENT_OPS; i++)
            found[d][i] = ops[i].distance;
    }
    for (size_t i = 0; i < ELEMENT_OPS; i++)
        ck_assert_double_eq_tol(found[1][i] / found[0][i], 1, 1e-12);
}

enum { ON_TEST_SET, ON_TRAINING_SAMPLES, ON_TEST_SAMPLES, ON_THINGS };

/**
 * Evaluates a model: on the test set, on training samples, or on test samples. There are more
 * samples than in one block.
 */
static dsgd_evaluate_op evaluation_by(const dsgd_device *device, const rig *s, size_t workspace,
                                      int on)
{
    enum { EVALUATED = 300 };
    static uint32_t samples[EVALUATED];
    for (uint32_t i = 0; i < EVALUATED; i++)
        samples[i] = i * 7 % (on == ON_TEST_SAMPLES ? s->data->test.n : s->data->train.n);
    bench *const b = bench_open(device, s);
    double *const x = dsgd_keep(reals_of(s), sizeof *x);
    dsgd_buffer pieces[MOST_PIECES];
    model_of(s, 0, x);
    put_pieces(b, x, pieces);
    state_of(s, 0, x);
    const dsgd_buffer state = s->network.n_state == 0 ? NULL : put(b, x, s->network.n_state);
    dsgd_evaluate_op op = {
        pieces, state, on == ON_TEST_SET ? NULL : samples, EVALUATED, on == ON_TEST_SAMPLES, 0, 0};
    if (workspace > 0)
        probe->limit_workspace(b->context, workspace);
    device->evaluate(b->context, 0, &op, 1);
    return op;
}

TEST_RANGE(evaluations_are_those_of_the_cpu, 0, ON_THINGS *n_specs())
{
    const int on = _i % ON_THINGS;
    rig *const s = rig_new(_i / ON_THINGS);
    const dsgd_evaluate_op expected = evaluation_by(dsgd_device_cpu(false), s, 0, on);
    const dsgd_evaluate_op got = evaluation_by(cuda, s, 0, on);
    const dsgd_evaluate_op in_parts = evaluation_by(cuda, s, 1, on);
    cut(s);
    const dsgd_evaluate_op in_pieces = evaluation_by(cuda, s, 0, on);
    ck_assert_double_eq_tol(got.loss / expected.loss, 1, tolerance);
    ck_assert_double_eq(got.loss, in_parts.loss);
    ck_assert_double_eq(got.loss, in_pieces.loss);
    if (s->data->n_classes == 0) {
        ck_assert(isnan(got.accuracy));
    } else {
        /*
         * Rounding can change the order of two nearly equal outputs. The tolerance is two test
         * samples.
         */
        ck_assert_double_eq_tol(got.accuracy, expected.accuracy, 2.01 / s->data->test.n);
        ck_assert_double_eq(got.accuracy, in_parts.accuracy);
        ck_assert_double_eq(got.accuracy, in_pieces.accuracy);
    }
}

/* --- memory ----------------------------------------------------------------------------------- */

TEST(exhausted_memory_is_reported_without_damage)
{
    rig *const s = rig_new(0);
    bench *const b = bench_open(cuda, s);
    ck_assert_ptr_null(b->device->alloc(b->context, (size_t)1 << 40));
    const double x[] = {1, 2, 3};
    const dsgd_buffer buffer = put(b, x, 3);
    double back[3] = {0};
    b->device->get(b->context, back, buffer, 3);
    ck_assert_mem_eq(back, x, sizeof x);
    b->device->get(b->context, back, NULL, 3);
    ck_assert_double_eq(back[2], 0);
    b->device->release(b->context, NULL);
}

/* --- training --------------------------------------------------------------------------------- */

enum { WORKERS = 4, BATCH = 8 };

/** The settings of a training with several workers. */
typedef struct training {
    uint64_t n_steps, flush_every;
    /* if true, workers average gradients; if false, they average models with neighbours */
    bool allreduce;
    double lr;
} training;

/** Trains the workers, and returns their final models as an array [WORKERS][n_params]. */
static double *train(const dsgd_device *device, const rig *s, const training *how,
                     dsgd_evaluation *evaluation)
{
    const dsgd_values_config config = {.device = device,
                                       .problem = s->problem,
                                       .stream = {1, TRAIN, WORKERS, BATCH},
                                       .n_threads = 1,
                                       .memory_bytes = (size_t)1 << 30};
    double *const x = dsgd_keep(s->network.n_params, sizeof *x);
    dsgd_network_initial(&s->network, 3, x);
    crew c = crew_open(&config, x);
    for (uint64_t step = 0; step < how->n_steps; step++) {
        crew_step(&c, step, how->lr, how->allreduce);
        if (!how->allreduce)
            crew_gossip(&c, step, 1 + (uint32_t)(step % 2));
        if (step % how->flush_every == 0)
            dsgd_values_flush(c.values);
    }
    *evaluation = crew_evaluation(&c);
    double *const out = crew_models(&c);
    dsgd_values_close(c.values);
    return out;
}

TEST_RANGE(gossip_follows_the_cpu_and_repeats_to_the_bit, 0, n_models())
{
    rig *const s = rig_new(_i);
    cut(s);
    training how = {20, 1, false, 0.01};
    dsgd_evaluation by_cpu, by_cuda, again;
    double *const expected = train(dsgd_device_cpu(false), s, &how, &by_cpu);
    double *const got = train(cuda, s, &how, &by_cuda);
    how.flush_every = 7;
    double *const repeated = train(cuda, s, &how, &again);
    const size_t n = WORKERS * s->network.n_params;
    /* Rounding errors add up over twenty steps, and may change the sign of a ReLU's input. */
    ck_assert_double_le(support_distance(got, expected, n), 1e-3);
    ck_assert_double_eq_tol(by_cuda.loss / by_cpu.loss, 1, 1e-4);
    ck_assert_double_eq_tol(by_cuda.consensus / by_cpu.consensus, 1, 1e-3);
    ck_assert_mem_eq(got, repeated, n * sizeof *got);
    ck_assert_double_eq(by_cuda.loss, again.loss);
    ck_assert_double_eq(by_cuda.consensus, again.consensus);
}

TEST_RANGE(two_hundred_steps_of_allreduce_reach_the_loss_of_the_cpu, 0, n_models())
{
    rig *const s = rig_new(_i);
    s->problem.update = optimizers[1 + _i % (OPTIMIZERS - 1)];
    const bool adaptive = s->problem.update.kind == DSGD_OPTIMIZER_ADAMW;
    const training how = {200, 1, true, adaptive ? 1e-3 : 2e-3};
    dsgd_evaluation by_cpu, by_cuda;
    train(dsgd_device_cpu(false), s, &how, &by_cpu);
    train(cuda, s, &how, &by_cuda);
    ck_assert_msg(fabs(by_cuda.loss / by_cpu.loss - 1) <= 1e-3, "%s: %g instead of %g",
                  s->spec.model, by_cuda.loss, by_cpu.loss);
}

/* --- the program ------------------------------------------------------------------------------ */

int main(void)
{
    dsgd_error error = {""};
    if (dsgd_device_cuda_try(NULL, &error) != DSGD_OK ||
        dsgd_device_cuda(&cuda, &error) != DSGD_OK) {
        fprintf(stderr, "skipped: %s\n", error.text);
        return SKIPPED;
    }
    probe = cuda_probe_of(cuda);
    SRunner *const runner = srunner_create(cuda_suite());
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner), run = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed == 0 && run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
