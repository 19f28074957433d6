/**
 * @file test_networks.c
 * Tests networks. The tests compare their results with PyTorch's results in tests/reference/, and
 * compare the policy with an independent implementation of its environment. They also check which
 * data each model accepts.
 */
#include <check.h>

#include "base/draw.h"
#include "models/zoo/network.h"
#include "tests/support/naive.h"
#include "tests/support/rig.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- comparison with PyTorch ------------------------------------------------------------------ */

/**
 * Reads the section @p title of a reference file. Returns its @p n values in new memory, or NULL if
 * the section is missing.
 */
static double *reference(const char *name, const char *title, size_t *n)
{
    char *const path = dsgd_xprintf("%s/tests/reference/%s.txt", DSGD_SOURCE_DIR, name);
    FILE *const file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s cannot be read", path);
    char found[64];
    double *numbers = NULL;
    while (numbers == NULL && fscanf(file, "%63s %zu", found, n) == 2) {
        double *const x = dsgd_xcalloc(*n, sizeof *x);
        for (size_t i = 0; i < *n; i++)
            ck_assert_int_eq(fscanf(file, "%lf", &x[i]), 1);
        if (strcmp(found, title) == 0)
            numbers = x;
        else
            free(x);
    }
    fclose(file);
    return kept(numbers);
}

/**
 * Checks that x[n] equals the values of a section of a reference file. The allowed error is @p
 * tolerance times the largest value.
 */
static void demand(const char *name, const char *title, const double *x, size_t n, double tolerance)
{
    size_t n_wanted = 0;
    double *const wanted = reference(name, title, &n_wanted);
    ck_assert_msg(wanted != NULL, "%s has no %s", name, title);
    ck_assert_uint_eq(n_wanted, n);
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(wanted[i]));
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabs(x[i] - wanted[i]) <= tolerance * largest,
                      "%s: %s[%zu] is %.17g, but PyTorch has %.17g", name, title, i, x[i],
                      wanted[i]);
}

static void compare_with_reference(const rig_spec *spec, bool in_double)
{
    /*
     * The device adds terms in another order than PyTorch. The error of such sums is about a
     * hundred roundings of 1e-16 (double) or 6e-8 (float). Gradients of the last layers have
     * smaller errors.
     */
    const double tolerance = in_double ? 1e-13 : 1e-5;
    rig *const s = rig_new(spec, dsgd_device_cpu(in_double), 1);
    const size_t n = s->network.n_params;
    double *const g = dsgd_keep(n, sizeof *g);
    ck_assert(rig_gradient(s, s->x, s->state, s->all, spec->n_samples, g, s->state));
    demand(spec->name, "gradient_all", g, n, tolerance);
    ck_assert(rig_gradient(s, s->x, s->state, s->all, spec->n_samples / 2, g, s->state));
    demand(spec->name, "gradient_half", g, n, tolerance);
    if (s->network.n_state > 0)
        demand(spec->name, "state", s->state, s->network.n_state, tolerance);
    const dsgd_evaluate_op got = rig_evaluation(s, s->x, s->state);
    demand(spec->name, "evaluation", &got.loss, 1, tolerance);
    if (spec->n_classes > 0)
        demand(spec->name, "accuracy", &got.accuracy, 1, 1e-15);
}

SUITE(networks, "reference");

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(gradients_are_those_of_pytorch, 0, rig_n_specs)
{
    if (!rig_specs[_i].stored)
        return;
    compare_with_reference(&rig_specs[_i], true);
    compare_with_reference(&rig_specs[_i], false);
}

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(the_naive_losses_are_those_of_pytorch, 0, rig_n_specs)
{
    rig *const s = rig_new(&rig_specs[_i], dsgd_device_cpu(true), 1);
    long double *const x = dsgd_keep(s->network.n_params, sizeof *x);
    for (size_t i = 0; i < s->network.n_params; i++)
        x[i] = s->x[i];
    for (uint32_t part = 0; part < 2 && s->spec->stored; part++) {
        const uint32_t n = s->spec->n_samples / (part + 1);
        naive_batch batch = naive_batch_of(&s->data, s->all, n);
        const double loss = (double)naive_loss(&s->network, &s->data, x, &batch, s->all, NULL);
        demand(s->spec->name, part == 0 ? "loss_all" : "loss_half", &loss, 1, 1e-14);
    }
}

/* --- optimizers ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    dsgd_optimizer config;
} optimizers[] = {
    {"momentum",
     {.kind = DSGD_OPTIMIZER_MOMENTUM, .momentum = 0.9, .weight_decay = 0.01, .clip = 3}},
    {"nesterov",
     {.kind = DSGD_OPTIMIZER_NESTEROV, .momentum = 0.8, .weight_decay = 0.02, .clip = 3}},
    {"adamw",
     {.kind = DSGD_OPTIMIZER_ADAMW,
      .momentum = 0.8,
      .beta2 = 0.95,
      .epsilon = 1e-6,
      .weight_decay = 0.1,
      .clip = 3}},
};
enum { OPTIMIZERS = sizeof optimizers / sizeof optimizers[0] };

/**
 * Takes three steps with the gradients that tests/reference/gradients.py also uses, and writes the
 * model after each step to x[3][n].
 */
static void three_steps(const dsgd_optimizer *config, bool in_double, size_t n, double *x)
{
    static const double lr[] = {0.1, 0.05, 0.2}, size[] = {1, 0.1, 1};
    dsgd_network network = {.n_params = n};
    dsgd_data data = {.deviation = 1};
    const size_t begin[] = {0, n};
    const dsgd_problem problem = {&network, &data, 1, begin, *config};
    const dsgd_device *const device = dsgd_device_cpu(in_double);
    void *context = NULL;
    ck_assert_int_eq(device->open(&problem, NULL, 1, &context, NULL), DSGD_OK);
    dsgd_buffer at[2], v[2];
    for (size_t i = 0; i < 2; i++) {
        at[i] = device->alloc(context, n);
        v[i] = device->alloc(context, 2 * n);
    }
    const dsgd_buffer gradient = device->alloc(context, n);
    double *const g = dsgd_keep(n, sizeof *g);
    for (size_t i = 0; i < n; i++)
        g[i] = rig_number(3, i) - 0.5;
    device->put(context, at[0], g, n);
    for (size_t t = 0; t < 3; t++) {
        for (size_t i = 0; i < n; i++)
            g[i] = size[t] * (4 * rig_number(10 + t, i) - 2);
        device->put(context, gradient, g, n);
        const dsgd_update_op op = {.n = n,
                                   .x = at[t % 2],
                                   .g = gradient,
                                   .v = t == 0 ? NULL : v[t % 2],
                                   .x_new = at[1 - t % 2],
                                   .v_new = v[1 - t % 2],
                                   .lr = lr[t],
                                   .t = t + 1};
        bool finite = false;
        device->update(context, 0, &op, 1, &finite);
        ck_assert(finite);
        device->get(context, x + t * n, op.x_new, n);
    }
    for (size_t i = 0; i < 2; i++) {
        device->release(context, at[i]);
        device->release(context, v[i]);
    }
    device->release(context, gradient);
    device->close(context);
}

/* The loop variable _i is the index of an optimizer in optimizers. */
TEST_RANGE(optimizers_step_like_those_of_pytorch, 0, OPTIMIZERS)
{
    enum { N = 20 };
    double x[3 * N];
    for (int in_double = 0; in_double < 2; in_double++) {
        three_steps(&optimizers[_i].config, in_double, N, x);
        for (size_t t = 0; t < 3; t++) {
            char title[32];
            snprintf(title, sizeof title, "%s_%zu", optimizers[_i].name, t + 1);
            demand("optimizers", title, x + t * N, N, in_double ? 1e-14 : 1e-6);
        }
    }
}

TEST(the_learning_rate_warms_up_and_drops)
{
    dsgd_lr_drop drops[] = {{5, 0.1}, {8, 0.5}};
    const dsgd_optimizer o = {.lr = 4, .warmup_steps = 3, .decay = {2, drops}};
    static const double want[] = {1, 2, 3, 4, 4, 0.4, 0.4, 0.4, 0.2, 0.2};
    for (long step = 0; step < 10; step++)
        ck_assert_double_eq_tol(dsgd_optimizer_lr(&o, step), want[step], 1e-15);
}

TEST(the_usual_momentum_is_that_of_the_kind)
{
    static const double usual[] = {0, 0, 0.9};
    static const uint32_t states[] = {0, 0, 2};
    for (int kind = 0; kind < OPTIMIZERS; kind++) {
        dsgd_optimizer o;
        dsgd_options_default(dsgd_optimizer_options, &o);
        o.kind = (dsgd_optimizer_kind)kind;
        const dsgd_optimizer resolved = dsgd_optimizer_resolved(&o);
        ck_assert_double_eq(resolved.momentum, usual[kind]);
        ck_assert_uint_eq(dsgd_optimizer_states(&resolved), states[kind]);
        o.momentum = 0.5;
        ck_assert_double_eq(dsgd_optimizer_resolved(&o).momentum, 0.5);
    }
}

TEST(a_piece_is_clipped_to_its_share_of_the_bound)
{
    enum { N = 10, PIECES = 2 };
    const dsgd_optimizer config = {.clip = 2};
    dsgd_network network = {.n_params = N};
    dsgd_data data = {.deviation = 1};
    const size_t begin[] = {0, 4, N};
    const dsgd_problem problem = {&network, &data, PIECES, begin, config};
    const dsgd_device *const device = dsgd_device_cpu(true);
    void *context = NULL;
    device->open(&problem, NULL, 1, &context, NULL);
    /*
     * The bound 2 on the norm is divided between chunks of 4 and 6 elements. The chunks get
     * sqrt(4/10) and sqrt(6/10) of the bound. A gradient of ones has the norms 2 and sqrt(6) in the
     * two chunks, so it is clipped. A gradient of 0.1 is not clipped.
     */
    const double sizes[] = {1, 0.1, INFINITY, NAN};
    for (size_t k = 0; k < PIECES; k++)
        for (size_t c = 0; c < 4; c++) {
            double x[N] = {0}, g[N] = {0}, y[N];
            const size_t n = begin[k + 1] - begin[k];
            for (size_t i = 0; i < n; i++)
                g[i] = sizes[c < 2 ? c : 0];
            g[0] = sizes[c];
            bool finite = false;
            const dsgd_update_op op = {n, x, g, NULL, y, NULL, 1, 1};
            device->update(context, 0, &op, 1, &finite);
            /* infinity and NaN are reported even if gradients are clipped */
            ck_assert(finite == (c < 2));
            const double wanted = c == 0 ? 2 / sqrt(N) : 0.1;
            for (size_t i = 0; i < n && c < 2; i++)
                ck_assert_double_eq_tol(y[i], -wanted, 1e-15);
        }
    device->close(context);
}

/* The loop variable _i is the index of an optimizer in optimizers. */
TEST_RANGE(every_element_that_an_update_writes_is_checked, 0, OPTIMIZERS)
{
    enum { N = 3 };
    const dsgd_optimizer config = {
        .kind = optimizers[_i].config.kind, .momentum = 0.9, .beta2 = 0.99, .epsilon = 1e-8};
    dsgd_network network = {.n_params = N};
    dsgd_data data = {.deviation = 1};
    const size_t begin[] = {0, N};
    const dsgd_problem problem = {&network, &data, 1, begin, config};
    const dsgd_device *const device = dsgd_device_cpu(false);
    void *context = NULL;
    device->open(&problem, NULL, 1, &context, NULL);
    float x[N] = {0};
    float g[N] = {0, 0, 1e30f}; /* the square of 1e30 is infinite in float */
    float y[N], v[2 * N];
    bool finite = false;
    const dsgd_update_op op = {N, x, g, NULL, y, v, 0.1, 1};
    device->update(context, 0, &op, 1, &finite);
    ck_assert(finite == (config.kind != DSGD_OPTIMIZER_ADAMW));
    device->close(context);
}

/* --- NaN and infinity ------------------------------------------------------------------------- */

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(non_finite_values_reach_the_output, 0, rig_n_specs)
{
    rig *const s = rig_new(&rig_specs[_i], dsgd_device_cpu(false), 1);
    const size_t n = s->network.n_params;
    double *const g = dsgd_keep(n, sizeof *g);
    const dsgd_layer *const first = &s->network.layers[0];
    for (size_t i = 0; i < first->n_params; i++)
        s->x[first->params + i] = NAN;
    if (s->network.loss != DSGD_LOSS_POLICY) {
        ck_assert(isnan(rig_evaluation(s, s->x, s->state).loss));
        ck_assert(!rig_gradient(s, s->x, s->state, s->all, s->spec->n_samples, g, NULL));
    }
}

/* The loop variable _i is the place of NaN in the window. */
TEST_RANGE(a_maximum_with_nan_is_nan, 0, 4)
{
    float x[] = {1, 2, 3, 4};
    uint8_t label = 0;
    x[_i] = NAN;
    const dsgd_samples one = {.n = 1, .x_real = x, .labels = &label};
    rig s = {
        .data = {DSGD_DATA_IMAGES, 4, 1, 2, 4, 1, 2, .deviation = 1, .train = one, .test = one},
        .device = dsgd_device_cpu(true)};
    dsgd_builder b =
        dsgd_network_begin(&s.network, "maximum", &s.data, DSGD_LOSS_CROSS_ENTROPY, NULL);
    dsgd_network_max_pool(&b, 2);
    ck_assert_int_eq(dsgd_network_end(&b), DSGD_OK);
    s.piece_begin[1] = s.network.n_params;
    s.problem = (dsgd_problem){&s.network, &s.data, 1, s.piece_begin, .update = {.momentum = 0}};
    s.device->open(&s.problem, NULL, 1, &s.context, NULL);
    const double weights[] = {1, 2, 0, 0};
    ck_assert_uint_eq(s.network.n_params, 4);
    ck_assert(isnan(rig_evaluation(&s, weights, NULL).loss));
    s.device->close(s.context);
}

TEST(the_maximum_is_the_first_of_equal_values)
{
    /*
     * All weights of the first convolution are 0, so all its outputs are equal. Each maximum must
     * pass its gradient to only one of the equal values.
     */
    rig *const s = rig_new(rig_spec_named("cnn of 2x3"), dsgd_device_cpu(true), 1);
    const dsgd_layer *const first = &s->network.layers[0];
    const size_t n_weights = first->n_params - first->out.n_columns, n = s->network.n_params;
    double *const g = dsgd_keep(n, sizeof *g);
    for (size_t i = 0; i < n; i++)
        s->x[i] = i < first->params ? fabs(s->x[i]) + 0.1 : i < first->params + n_weights ? 0 : 0.3;
    ck_assert(rig_gradient(s, s->x, s->state, s->all, 1, g, NULL));
    for (size_t i = first->params + n_weights; i < n; i++) {
        const double h = 1e-5;
        s->x[i] += h;
        const double above = rig_evaluation(s, s->x, s->state).loss;
        s->x[i] -= 2 * h;
        const double below = rig_evaluation(s, s->x, s->state).loss;
        s->x[i] += h;
        ck_assert_double_gt(fabs(g[i]), 1e-4);
        ck_assert_double_eq_tol(g[i], (above - below) / (2 * h), 1e-8);
    }
}

/* --- Tests of tensors that several layers read ------------------------------------------------ */

/** Adds the mean over rows of the current tensor to the tensor @p sum, and returns the new sum. */
static uint32_t add_mean(dsgd_builder *b, uint32_t sum)
{
    dsgd_network_mean_rows(b);
    return dsgd_network_add(b, sum, false);
}

/**
 * Builds a network in which every kind of image layer reads the same tensor. Their outputs are
 * summed.
 */
static void shared_image(dsgd_builder *b)
{
    const uint32_t image = dsgd_network_convolution(b, 3, 3, 1, true, true);
    uint32_t sum = dsgd_network_mean_rows(b);
    dsgd_network_goto(b, image);
    dsgd_network_max_pool(b, 2);
    sum = add_mean(b, sum);
    dsgd_network_goto(b, image);
    dsgd_network_batch_norm(b, true);
    sum = add_mean(b, sum);
    dsgd_network_goto(b, image);
    dsgd_network_convolution(b, 3, 1, 2, true, false);
    sum = add_mean(b, sum);
    dsgd_network_goto(b, image);
    dsgd_network_linear(b, 3, true);
    sum = add_mean(b, sum);
    dsgd_network_goto(b, image);
    const uint32_t twice = dsgd_network_add(b, image, true);
    sum = add_mean(b, sum);
    dsgd_network_goto(b, twice);
    dsgd_network_convolution(b, 3, 3, 3, false, true);
    sum = add_mean(b, sum);
    dsgd_network_goto(b, image);
    dsgd_network_last_row(b);
    sum = dsgd_network_add(b, sum, true);
    dsgd_network_add(b, sum, false); /* the layer adds the tensor `sum` to itself */
}

/** Builds a network in which every kind of layer for rows reads the same tensor. */
static void shared_rows(dsgd_builder *b)
{
    const uint32_t rows = dsgd_network_linear(b, 6, false);
    dsgd_network_attention(b, 2);
    uint32_t sum = dsgd_network_mean_rows(b);
    dsgd_network_goto(b, rows);
    dsgd_network_attention(b, 1); /* this second attention has the same input as the first */
    sum = add_mean(b, sum);
    dsgd_network_goto(b, rows);
    dsgd_network_lstm(b, 2);
    sum = add_mean(b, sum);
    dsgd_network_goto(b, rows);
    dsgd_network_layer_norm(b);
    dsgd_network_linear(b, 2, true);
    sum = add_mean(b, sum);
    dsgd_network_goto(b, rows);
    const uint32_t outputs = dsgd_network_lstm(b, 2); /* two layers read all rows of this output */
    sum = add_mean(b, sum);
    dsgd_network_goto(b, outputs);
    dsgd_network_last_row(b);
    dsgd_network_add(b, sum, true);
}

static const struct {
    const char *spec;
    void (*build)(dsgd_builder *b);
} shared[] = {{"cnn-7x5", shared_image}, {"mlp of sequences", shared_rows}};

typedef struct shared_loss {
    const rig *s;
    naive_batch batch;
} shared_loss;

static long double shared_loss_at(void *argument, const long double *x)
{
    const shared_loss *const l = argument;
    return naive_loss(&l->s->network, &l->s->data, x, &l->batch, l->s->all, NULL);
}

/* The loop variable _i is the index of a network in `shared`. */
TEST_RANGE(derivatives_of_a_tensor_that_several_read_are_summed, 0, 2)
{
    rig *const s = rig_new(rig_spec_named(shared[_i].spec), dsgd_device_cpu(true), 1);
    s->device->close(s->context);
    dsgd_builder b =
        dsgd_network_begin(&s->network, "shared", &s->data, DSGD_LOSS_CROSS_ENTROPY, NULL);
    shared[_i].build(&b);
    ck_assert_int_eq(dsgd_network_end(&b), DSGD_OK);
    const size_t n = s->network.n_params;
    s->piece_begin[1] = n;
    ck_assert_int_eq(s->device->open(&s->problem, NULL, 1, &s->context, NULL), DSGD_OK);
    free(s->x);
    free(s->state);
    s->x = dsgd_xcalloc(n, sizeof *s->x);
    s->state = dsgd_xcalloc(s->network.n_state + 1, sizeof *s->state);
    for (size_t i = 0; i < n; i++)
        s->x[i] = rig_number(3, i) - 0.5;
    dsgd_network_initial_state(&s->network, 5, 3, s->state);
    double *const g = dsgd_keep(2 * n, sizeof *g);
    for (uint32_t count = s->spec->n_samples; count > 0; count /= 4) {
        shared_loss l = {s, naive_batch_of(&s->data, s->all, count)};
        naive_derivative(n, s->x, 1e-6L, shared_loss_at, &l, g + n);
        ck_assert(rig_gradient(s, s->x, s->state, s->all, count, g, NULL));
        ck_assert_msg(support_distance(g, g + n, n) < 1e-8, "%u samples: %g", count,
                      support_distance(g, g + n, n));
    }
}

/* --- policies --------------------------------------------------------------------------------- */

/**
 * A worker in the environment that models/data/environment.h describes. This implementation is
 * independent of the program's.
 */
typedef struct walker {
    double x, y, goal_x, goal_y;
    int steps;
} walker;

enum { FEATURES = 6, ACTIONS = 8, LONGEST = 48, MOST_WALKERS = 8 };

static double draw(uint64_t seed, uint32_t purpose, uint32_t worker, uint32_t step, uint32_t index)
{
    return dsgd_draw_uniform((dsgd_draw){seed, purpose, worker, step, index});
}

static walker walker_at(uint64_t seed, uint32_t worker, uint32_t step, uint32_t index)
{
    double place[4];
    for (uint32_t i = 0; i < 4; i++)
        place[i] = 2 * draw(seed, DSGD_DRAW_EPISODE, worker, step, 4 * index + i) - 1;
    return (walker){place[0], place[1], place[2], place[3], 0};
}

static double way_left(const walker *w)
{
    const bool other_side = (w->x < 0) != (w->goal_x < 0);
    return other_side ? hypot(w->x, w->y) + hypot(w->goal_x, w->goal_y)
                      : hypot(w->goal_x - w->x, w->goal_y - w->y);
}

/**
 * Moves the walker by one step, and returns the reward. If @p slip is below 0.1, it also selects a
 * random direction.
 */
static double walk(walker *w, uint32_t action, double slip, bool *ended, bool *there)
{
    const double before = way_left(w);
    const double angle = (slip < 0.1 ? floor(slip * 10 * ACTIONS) : action) * acos(-1) / 4;
    const double x = fmin(fmax(w->x + 0.15 * cos(angle), -1), 1);
    if ((x < 0) == (w->x < 0) || fabs(w->y) < 0.3)
        w->x = x;
    w->y = fmin(fmax(w->y + 0.15 * sin(angle), -1), 1);
    w->steps++;
    *there = hypot(w->goal_x - w->x, w->goal_y - w->y) < 0.2;
    *ended = *there || w->steps == LONGEST;
    return before - way_left(w) - 0.02 + (*there ? 1 : 0);
}

static void look(const walker *w, long double *f)
{
    f[0] = w->x;
    f[1] = w->y;
    f[2] = w->goal_x - w->x;
    f[3] = w->goal_y - w->y;
    f[4] = (w->x < 0) == (w->goal_x < 0) ? 1 : -1;
    f[5] = hypot(w->goal_x - w->x, w->goal_y - w->y);
}

/**
 * The steps of a worker in one batch. Together with the parameters, they determine the loss of the
 * policy.
 */
typedef struct play {
    const rig *s;
    uint32_t n;
    long double seen[RIG_MOST_SAMPLES][FEATURES];
    uint32_t action[RIG_MOST_SAMPLES];
    double advantage[RIG_MOST_SAMPLES];
} play;

/** Computes the logarithm of each action's probability after the observation @p seen. */
static void log_policy(const rig *s, const long double *x, const long double *seen,
                       long double *log_p)
{
    const naive_batch one = {1, seen, NULL, NULL};
    long double *const z = naive_forward(&s->network, x, &one, NULL);
    naive_log_softmax(z, ACTIONS);
    memcpy(log_p, z, ACTIONS * sizeof *z);
    free(z);
}

static long double *as_long(const double *x, size_t n)
{
    long double *const y = dsgd_xcalloc(n, sizeof *y);
    for (size_t i = 0; i < n; i++)
        y[i] = x[i];
    return kept(y);
}

static uint32_t drawn(const long double *log_p, double u)
{
    long double below = 0;
    for (uint32_t a = 0; a + 1 < ACTIONS; a++) {
        below += expl(log_p[a]);
        if (u < below)
            return a;
    }
    return ACTIONS - 1;
}

/** Computes the steps of the batch ids[n], one environment after another. */
static void play_batch(play *p, const rig *s, walker *walkers, const uint32_t *ids, uint32_t n)
{
    const uint32_t n_walkers = s->network.n_environments;
    long double *const x = as_long(s->x, s->network.n_params);
    double reward[RIG_MOST_SAMPLES];
    bool ended[RIG_MOST_SAMPLES];
    p->s = s;
    p->n = n;
    for (uint32_t j = 0; j < n; j++) {
        walker *const w = &walkers[j % n_walkers];
        long double log_p[ACTIONS];
        look(w, p->seen[j]);
        log_policy(s, x, p->seen[j], log_p);
        p->action[j] = drawn(log_p, draw(s->data.seed, DSGD_DRAW_POLICY, 0, ids[j], 0));
        bool there = false;
        reward[j] = walk(w, p->action[j], draw(s->data.seed, DSGD_DRAW_POLICY, 1, ids[j], 0),
                         &ended[j], &there);
        if (ended[j])
            *w = walker_at(s->data.seed, ids[j], 1, 0);
    }
    double mean = 0;
    for (uint32_t j = n; j-- > 0;) {
        const bool more = !ended[j] && j + n_walkers < n;
        p->advantage[j] =
            reward[j] + (more ? s->network.discount * p->advantage[j + n_walkers] : 0);
        mean += p->advantage[j] / n;
    }
    for (uint32_t j = 0; j < n; j++)
        p->advantage[j] -= mean;
}

static long double play_loss(void *argument, const long double *x)
{
    const play *const p = argument;
    long double loss = 0;
    for (uint32_t j = 0; j < p->n; j++) {
        long double log_p[ACTIONS];
        long double entropy = 0;
        log_policy(p->s, x, p->seen[j], log_p);
        for (uint32_t a = 0; a < ACTIONS; a++)
            entropy -= expl(log_p[a]) * log_p[a];
        loss -=
            (p->advantage[j] * log_p[p->action[j]] + p->s->network.entropy_weight * entropy) / p->n;
    }
    return loss;
}

CASE("policies", .seconds = 60);

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(a_policy_learns_from_the_steps_it_takes, 0, rig_n_specs)
{
    rig *const s = rig_new(&rig_specs[_i], dsgd_device_cpu(true), 1);
    if (s->network.loss == DSGD_LOSS_POLICY) {
        const size_t n = s->network.n_params;
        const uint32_t n_walkers = s->network.n_environments;
        double *const g = dsgd_keep(2 * n, sizeof *g);
        walker walkers[MOST_WALKERS];
        /* The seeds are the same as in rig_new(). */
        for (uint32_t w = 0; w < n_walkers; w++)
            walkers[w] = walker_at(5, 3, 0, w);
        for (uint32_t t = 0; t < 5; t++) {
            uint32_t ids[RIG_MOST_SAMPLES];
            for (uint32_t j = 0; j < s->spec->n_samples; j++)
                ids[j] = 1000 * t + 7 * j;
            play p;
            play_batch(&p, s, walkers, ids, s->spec->n_samples);
            ck_assert(rig_gradient(s, s->x, s->state, ids, s->spec->n_samples, g, s->state));
            naive_derivative(n, s->x, 1e-6L, play_loss, &p, g + n);
            ck_assert_msg(support_distance(g, g + n, n) < 1e-8, "%s, step %u: %g", s->spec->name, t,
                          support_distance(g, g + n, n));
            for (uint32_t w = 0; w < n_walkers; w++) {
                const walker *const k = &walkers[w];
                const double wanted[] = {k->x, k->y, k->goal_x, k->goal_y, k->steps};
                for (size_t i = 0; i < 5; i++)
                    ck_assert_double_eq_tol(s->state[5 * w + i], wanted[i], 1e-13);
            }
        }
    }
}

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(a_policy_is_evaluated_by_its_likeliest_actions, 0, rig_n_specs)
{
    rig *const s = rig_new(&rig_specs[_i], dsgd_device_cpu(true), 1);
    if (s->network.loss == DSGD_LOSS_POLICY) {
        long double *const x = as_long(s->x, s->network.n_params);
        /* this number of episodes is larger than the number that the device computes at once */
        const uint32_t n = 400;
        double sum = 0, arrived = 0;
        s->data.test.n = n;
        for (uint32_t episode = 0; episode < n; episode++) {
            walker w = walker_at(s->data.seed, UINT32_MAX, 0, episode);
            bool ended = false, there = false;
            while (!ended) {
                long double seen[FEATURES];
                long double log_p[ACTIONS];
                look(&w, seen);
                log_policy(s, x, seen, log_p);
                uint32_t best = 0;
                for (uint32_t a = 1; a < ACTIONS; a++)
                    best = log_p[a] > log_p[best] ? a : best;
                const uint32_t id = episode * LONGEST + (uint32_t)w.steps;
                sum +=
                    walk(&w, best, draw(~s->data.seed, DSGD_DRAW_POLICY, 1, id, 0), &ended, &there);
            }
            arrived += there;
        }
        s->device->close(s->context);
        /* The device copied dsgd_data when it was opened, so it must be opened again. */
        s->device->open(&s->problem, NULL, 1, &s->context, NULL);
        const dsgd_evaluate_op got = rig_evaluation(s, s->x, s->state);
        ck_assert_double_eq_tol(got.loss, -sum / n, 1e-12);
        ck_assert_double_eq_tol(got.accuracy, arrived / n, 1e-15);
    }
}

/* --- Tests of the data that models accept ----------------------------------------------------- */

static void *small_params(const dsgd_entry *source)
{
    void *const params = support_params(source);
    for (const dsgd_option *o = source->options; o != NULL && o->name != NULL; o++)
        if (strcmp(o->name, "points") == 0)
            support_set(source, params, "points", 32);
    static const char *const idx[] = {
        "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz",
        "/usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz"};
    for (size_t i = 0; i < 4 && strcmp(source->name, "idx") == 0; i++)
        ((const char **)params)[i] = idx[i % 2];
    return params;
}

static dsgd_data *small_data(int i)
{
    const dsgd_data_source *const source = (const void *)dsgd_data_sources[i];
    dsgd_error error = {""};
    dsgd_data *data = NULL;
    void *const params = small_params(&source->about);
    ck_assert_msg(source->load(params, 1, &data, &error) == DSGD_OK, "%s", error.text);
    if (data->test.n > 20)
        data->test.n = 20;
    return data;
}

/**
 * Checks that the text of an error is one line, starts with "learn: ", and ends without a full
 * stop.
 */
static void demand_sentence(const dsgd_error *error)
{
    const size_t n = strlen(error->text);
    ck_assert_msg(n > 20 && strncmp(error->text, "learn: ", 7) == 0, "'%s'", error->text);
    ck_assert_msg(strchr(error->text, '\n') == NULL && error->text[n - 1] != '.', "'%s'",
                  error->text);
}

/**
 * Builds the network of a model for these data. Returns false if the program rejects the model with
 * an error. Otherwise, checks that a gradient and an evaluation are finite, and returns true.
 */
static bool works_or_refuses(const dsgd_model_kind *kind, const void *params, dsgd_data *data)
{
    dsgd_network *const network = dsgd_keep(1, sizeof *network);
    dsgd_error error = {""};
    const dsgd_status status = dsgd_model_build(kind, params, data, network, &error);
    if (status != DSGD_OK) {
        ck_assert_int_eq(status, DSGD_EUSAGE);
        demand_sentence(&error);
        return false;
    }
    rig s = {.data = *data, .network = *network, .device = dsgd_device_cpu(false)};
    s.piece_begin[1] = network->n_params;
    s.problem = (dsgd_problem){&s.network, &s.data, 1, s.piece_begin, .update = {.momentum = 0}};
    s.device->open(&s.problem, NULL, 1, &s.context, NULL);
    double *const x = dsgd_keep(2 * network->n_params, sizeof *x);
    double *const state = dsgd_keep(network->n_state + 1, sizeof *state);
    dsgd_network_initial(network, 1, x);
    dsgd_network_initial_state(network, 1, 0, state);
    const uint32_t few[] = {1, 0, data->train.n - 1};
    ck_assert(rig_gradient(&s, x, state, few, 3, x + network->n_params, state));
    const dsgd_evaluate_op got = rig_evaluation(&s, x, state);
    ck_assert(isfinite(got.loss));
    s.device->close(s.context);
    return true;
}

/** Returns true if the model @p model must accept data of the source @p data. */
static bool fits(const char *model, const char *data)
{
    const bool images = strcmp(data, "fashion-mnist") == 0 || strcmp(data, "idx") == 0;
    const bool sequences = strcmp(data, "sequences") == 0;
    if (strcmp(model, "hyperplane") == 0)
        return strcmp(data, "hyperplane") == 0;
    if (strcmp(model, "logreg") == 0 || strcmp(model, "mlp") == 0)
        return images || sequences;
    if (strcmp(model, "cnn") == 0 || strcmp(model, "resnet_small") == 0)
        return images;
    return strcmp(model, "lstm") == 0          ? sequences
           : strcmp(model, "transformer") == 0 ? strcmp(data, "text") == 0
                                               : strcmp(data, "navigation") == 0;
}

static int n_sources(void)
{
    int n = 0;
    while (dsgd_data_sources[n] != NULL)
        n++;
    return n;
}

CASE("fit", .seconds = 60);

/* The loop variable _i is the index of a data source in dsgd_data_sources. */
TEST_RANGE(every_model_learns_from_every_source_or_gives_a_reason, 0, n_sources())
{
    dsgd_data *const data = small_data(_i);
    const char *const name = dsgd_data_sources[_i]->name;
    for (int m = 0; dsgd_model_kinds[m] != NULL; m++) {
        const dsgd_entry *const about = dsgd_model_kinds[m];
        const bool works = works_or_refuses((const void *)about, support_params(about), data);
        ck_assert_msg(works == fits(about->name, name), "%s %s from %s", about->name,
                      works ? "learns" : "does not learn", name);
    }
    dsgd_data_free(data);
}

/** A model, a data source that it rejects, and the error. */
static const struct {
    const char *model, *data, *said;
} refusals[] = {
    {"logreg", "hyperplane",
     "learn: logreg needs data with classes. Use data: fashion-mnist or idx"},
    {"mlp", "navigation", "learn: mlp needs data with classes. Use data: fashion-mnist or idx"},
    {"mlp", "text",
     "learn: mlp does not predict the 32 labels per sample of this data. Use model: transformer"},
    {"hyperplane", "text",
     "learn: hyperplane needs data with a number as target, but this data has classes. Use data: "
     "hyperplane"},
    {"hyperplane", "navigation",
     "learn: hyperplane needs data with a number as target, but this data has environments. Use "
     "data: hyperplane"},
    {"cnn", "sequences",
     "learn: cnn needs data with images, but this data has sequences. Use data: fashion-mnist"},
    {"cnn", "navigation", "learn: cnn needs data with classes. Use data: fashion-mnist or idx"},
    {"lstm", "text",
     "learn: lstm needs data with sequences, but this data has texts. Use data: sequences"},
    {"transformer", "sequences",
     "learn: transformer needs data with texts, but this data has sequences. Use data: text"},
    {"policy", "hyperplane",
     "learn: policy needs data with environments, but this data has points. Use data: navigation"},
};
enum { REFUSALS = sizeof refusals / sizeof refusals[0] };

/* The loop variable _i is the index of an entry of refusals. */
TEST_RANGE(rejected_data_error_names_an_alternative, 0, REFUSALS)
{
    int source = 0;
    while (strcmp(dsgd_data_sources[source]->name, refusals[_i].data) != 0)
        source++;
    dsgd_data *const data = small_data(source);
    const dsgd_model_kind *const kind =
        (const void *)dsgd_entry_find(dsgd_model_kinds, refusals[_i].model);
    void *const params = support_params(&kind->about);
    dsgd_network *const network = dsgd_keep(1, sizeof *network);
    dsgd_error error = {""};
    ck_assert_int_eq(dsgd_model_build(kind, params, data, network, &error), DSGD_EUSAGE);
    ck_assert_str_eq(error.text, refusals[_i].said);
    dsgd_data_free(data);
}

/** Sets a numeric option to its smallest or its largest allowed value. */
static void set_limit(const dsgd_entry *about, void *params, const dsgd_option *o, bool largest)
{
    static double ends[2][80];
    const double value = largest ? o->max : o->min;
    if (o->kind != DSGD_NUMBERS) {
        support_set(about, params, o->name, value);
        return;
    }
    for (size_t i = 0; i < 80; i++)
        ends[largest][i] = value;
    *(dsgd_numbers *)(void *)((char *)params + o->offset) =
        (dsgd_numbers){largest ? 80 : 1, ends[largest]};
}

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(options_at_their_limits_build_or_are_rejected, 0, rig_n_specs)
{
    rig *const s = rig_new(&rig_specs[_i], dsgd_device_cpu(false), 1);
    const dsgd_model_kind *const kind =
        (const void *)dsgd_entry_find(dsgd_model_kinds, s->spec->model);
    dsgd_network *const network = dsgd_keep(1, sizeof *network);
    for (int largest = 0; largest < 2; largest++) {
        void *const all = rig_params(s->spec);
        for (const dsgd_option *o = kind->about.options; o != NULL && o->name != NULL; o++) {
            void *const one = rig_params(s->spec);
            set_limit(&kind->about, one, o, largest);
            set_limit(&kind->about, all, o, largest);
            dsgd_error error = {""};
            if (dsgd_model_build(kind, one, &s->data, network, &error) != DSGD_OK)
                demand_sentence(&error);
        }
        dsgd_error error = {""};
        if (dsgd_model_build(kind, all, &s->data, network, &error) != DSGD_OK)
            demand_sentence(&error);
    }
}

TEST(unsuitable_sizes_are_rejected)
{
    rig *const s = rig_new(rig_spec_named("cnn-7x5"), dsgd_device_cpu(false), 1);
    rig_spec spec = *rig_spec_named("cnn-7x5");
    spec.n_list = 3;
    spec.numbers[2] = 1;
    const dsgd_model_kind *const cnn = (const void *)dsgd_entry_find(dsgd_model_kinds, "cnn");
    void *const params = rig_params(&spec);
    dsgd_error error = {""};
    ck_assert_int_eq(dsgd_model_build(cnn, params, &s->data, &s->network, &error), DSGD_EUSAGE);
    ck_assert_str_eq(error.text, "learn: cnn: the images are too small, 7 by 5 pixels");
    rig *const t = rig_new(rig_spec_named("transformer"), dsgd_device_cpu(false), 1);
    spec = *rig_spec_named("transformer");
    spec.with[2].value = 4;
    void *const heads = rig_params(&spec);
    const dsgd_model_kind *const transformer =
        (const void *)dsgd_entry_find(dsgd_model_kinds, "transformer");
    ck_assert_int_eq(dsgd_model_build(transformer, heads, &t->data, &t->network, &error),
                     DSGD_EUSAGE);
    ck_assert_str_eq(error.text, "learn: transformer: width must be a multiple of heads, 4, got 6");
}
