/**
 * @file test_models.c
 * Reduced models on the CPU: gradients against finite differences, the operations against their
 * formulas, data against its files.
 */
#include <cblas.h>
#include <check.h>
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/draw.h"
#include "tests/support/naive.h"
#include "tests/support/rig.h"
#include "tests/support/support.h"

Suite *models_suite(void);

/* --- gradients -------------------------------------------------------------------------------- */

/**
 * The loss that one gradient is the derivative of, with everything that does not move with the
 * parameters.
 */
typedef struct fixed_loss {
    const rig *s;
    naive_batch batch;
    const uint32_t *samples;
} fixed_loss;

static long double loss_at(void *argument, const long double *x)
{
    const fixed_loss *const f = argument;
    return naive_loss(&f->s->network, &f->s->data, x, &f->batch, f->samples, NULL);
}

/** The derivative of the training loss over some samples, from the loss alone. */
static void derivative(const rig *s, const uint32_t *samples, uint32_t n, double *g)
{
    fixed_loss f = {s, naive_batch_of(&s->data, samples, n), samples};
    naive_derivative(s->network.n_params, s->x, 1e-6L, loss_at, &f, g);
    free((void *)(uintptr_t)f.batch.x);
    free((void *)(uintptr_t)f.batch.lengths);
}

START_TEST(every_model_has_a_scene)
{
    for (int i = 0; dsgd_model_kinds[i] != NULL; i++) {
        bool found = false;
        for (int sc = 0; sc < rig_n_scenes; sc++)
            found = found || strcmp(rig_scenes[sc].model, dsgd_model_kinds[i]->name) == 0;
        ck_assert_msg(found, "tests/support/rig.c has no scene of %s", dsgd_model_kinds[i]->name);
    }
}
END_TEST

START_TEST(the_gradient_is_the_derivative_of_the_loss) /* _i is the scene */
{
    rig *const s = rig_new(&rig_scenes[_i], dsgd_device_cpu(true), 1);
    const size_t n = s->network.n_params;
    double *const g = dsgd_xcalloc(2 * n, sizeof *g);
    double *const wanted = g + n;
    /* All, one, and some with one of them twice; afterwards the workspace holds what a larger batch
     * left. */
    const uint32_t few[] = {s->scene->n_samples - 1, 0, s->scene->n_samples / 2, 0};
    const struct {
        const uint32_t *samples;
        uint32_t n;
    } batches[] = {{s->all, s->scene->n_samples}, {s->all + s->scene->n_samples / 3, 1}, {few, 4}};
    for (size_t b = 0; b < 3 && s->network.loss != DSGD_LOSS_POLICY; b++) {
        ck_assert(rig_gradient(s, s->x, s->state, batches[b].samples, batches[b].n, g, NULL));
        derivative(s, batches[b].samples, batches[b].n, wanted);
        /* The error of a central difference is of order h^2 = 1e-12; third derivatives are some
         * thousand here. */
        ck_assert_msg(rig_distance(g, wanted, n) < 1e-8, "%s, %u samples: %g", s->scene->name,
                      batches[b].n, rig_distance(g, wanted, n));
    }
    free(g);
    rig_free(s);
}
END_TEST

START_TEST(an_evaluation_is_the_loss_and_the_share_of_right_answers) /* _i is the scene */
{
    rig *const s = rig_new(&rig_scenes[_i], dsgd_device_cpu(true), 1);
    if (s->network.loss != DSGD_LOSS_POLICY) {
        for (size_t i = 0; i < s->network.n_state; i++)
            s->state[i] = 0.2 + rig_number(9, i);
        long double *const x = dsgd_xcalloc(s->network.n_params, sizeof *x);
        for (size_t i = 0; i < s->network.n_params; i++)
            x[i] = s->x[i];
        naive_batch batch = naive_batch_of(&s->data, s->all, s->scene->n_samples);
        batch.state = s->state;
        double accuracy = 0;
        const double wanted =
            (double)naive_loss(&s->network, &s->data, x, &batch, s->all, &accuracy);
        const dsgd_evaluate_op got = rig_evaluation(s, s->x, s->state);
        ck_assert_msg(fabs(got.loss - wanted) < 1e-13 * wanted, "%s: %.17g, but %.17g",
                      s->scene->name, got.loss, wanted);
        if (s->scene->n_classes == 0)
            ck_assert(isnan(got.accuracy));
        else
            ck_assert_double_eq_tol(got.accuracy, accuracy, 1e-15);
        free((void *)(uintptr_t)batch.x);
        free((void *)(uintptr_t)batch.lengths);
        free(x);
    }
    rig_free(s);
}
END_TEST

START_TEST(float_agrees_with_double) /* _i is the scene */
{
    rig *const s = rig_new(&rig_scenes[_i], dsgd_device_cpu(true), 1);
    rig *const f = rig_new(&rig_scenes[_i], dsgd_device_cpu(false), 1);
    const size_t n = s->network.n_params;
    const size_t n_state = s->network.n_state;
    const uint32_t n_samples = s->scene->n_samples;
    double *const g = dsgd_xcalloc(2 * (n + n_state), sizeof *g);
    double *const in_float = g + n;
    double *const state = in_float + n;
    rig_gradient(s, s->x, s->state, s->all, n_samples, g, state);
    rig_gradient(f, s->x, s->state, s->all, n_samples, in_float, state + n_state);
    /* Float has 6e-8; sums are of some hundred terms. */
    ck_assert_msg(rig_distance(in_float, g, n) < 1e-5, "%s: %g", s->scene->name,
                  rig_distance(in_float, g, n));
    ck_assert(n < 9 || rig_distance(in_float, g, n) > 0); /* it is float indeed */
    ck_assert_double_le(rig_distance(state + n_state, state, n_state), 1e-5);
    ck_assert_double_eq_tol(rig_evaluation(f, s->x, s->state).loss,
                            rig_evaluation(s, s->x, s->state).loss, 1e-5);
    free(g);
    rig_free(s);
    rig_free(f);
}
END_TEST

START_TEST(a_gradient_is_the_mean_over_its_samples) /* _i is the scene */
{
    rig *const s = rig_new(&rig_scenes[_i], dsgd_device_cpu(true), 1);
    const size_t n = s->network.n_params;
    const uint32_t last = s->scene->n_samples - 1;
    const uint32_t samples[] = {last / 2, last, last / 2, 0}; /* one of them twice */
    double *const g = dsgd_xcalloc(3 * n, sizeof *g);
    double *const one = g + n;
    double *const mean = one + n;
    rig_gradient(s, s->x, s->state, samples, 4, g, NULL);
    for (size_t j = 0; j < 4; j++) {
        rig_gradient(s, s->x, s->state, samples + j, 1, one, NULL);
        for (size_t i = 0; i < n; i++)
            mean[i] += one[i] / 4;
    }
    if (s->network.coupled && last > 0) /* a model says so where it is not */
        ck_assert_double_gt(rig_distance(g, mean, n), 1e-3);
    else
        ck_assert_double_le(rig_distance(g, mean, n), 1e-14);
    free(g);
    rig_free(s);
}
END_TEST

/**
 * Gradient, update and evaluation with the vector cut into pieces; also what the gradient makes of
 * the model state.
 */
static void step_in_pieces(const scene *sc, const dsgd_device *device, size_t n_pieces, double *out)
{
    rig *const s = rig_new(sc, device, n_pieces);
    const size_t n = s->network.n_params;
    double *const state = out + 3 * n + 1;
    rig_gradient(s, s->x, s->state, s->all, sc->n_samples > 6 ? 6 : sc->n_samples, out, state);
    const vector x = vector_new(s, s->x);
    const vector g = vector_new(s, out);
    const vector v = vector_new(s, s->x);
    const vector x_new = vector_new(s, NULL);
    const vector v_new = vector_new(s, NULL);
    for (size_t k = 0; k < n_pieces; k++) {
        const dsgd_update_op op = {.n = s->piece_begin[k + 1] - s->piece_begin[k],
                                   .x = x.pieces[k],
                                   .g = g.pieces[k],
                                   .v = v.pieces[k],
                                   .x_new = x_new.pieces[k],
                                   .v_new = v_new.pieces[k],
                                   .lr = 0.1};
        bool finite = false;
        device->update(s->context, 0, &op, 1, &finite);
        ck_assert(finite);
    }
    vector_end(s, &x, NULL);
    vector_end(s, &v, NULL);
    vector_end(s, &g, NULL);
    vector_end(s, &x_new, out + n);
    vector_end(s, &v_new, out + 2 * n);
    out[3 * n] = rig_evaluation(s, out + n, s->state).loss;
    rig_free(s);
}

START_TEST(pieces_change_no_bit) /* _i is the scene */
{
    static const size_t pieces[] = {4, RIG_MOST_PIECES};
    const dsgd_device *const devices[] = {dsgd_device_cpu(false), dsgd_device_cpu(true)};
    const scene *const sc = &rig_scenes[_i];
    rig *const s = rig_new(sc, dsgd_device_cpu(true), 1);
    const size_t size = 3 * s->network.n_params + 1 + s->network.n_state;
    double *const whole = dsgd_xcalloc(size, sizeof *whole);
    double *const cut = dsgd_xcalloc(size, sizeof *cut);
    for (size_t d = 0; d < 2; d++) {
        step_in_pieces(sc, devices[d], 1, whole);
        for (size_t p = 0; p < 2; p++) {
            step_in_pieces(sc, devices[d], pieces[p], cut);
            ck_assert_mem_eq(cut, whole, size * sizeof *cut);
        }
    }
    free(whole);
    free(cut);
    rig_free(s);
}
END_TEST

START_TEST(an_operation_does_not_see_its_neighbours) /* _i is the scene */
{
    rig *const s = rig_new(&rig_scenes[_i], dsgd_device_cpu(false), 1);
    const size_t n = s->network.n_params;
    const size_t n_state = s->network.n_state;
    const uint32_t all = s->scene->n_samples;
    const uint32_t some = (all + 1) / 2;
    double *const alone = dsgd_xcalloc(2 * n + 2 * n_state, sizeof *alone);
    double *const together = alone + n;
    double *const state = together + n;
    rig_gradient(s, s->x, s->state, s->all, some, alone, state);
    const vector x = vector_new(s, s->x);
    const vector other = vector_new(s, NULL);
    const vector g = vector_new(s, NULL);
    dsgd_buffer states[3];
    for (size_t i = 0; i < 3; i++) {
        states[i] = s->device->alloc(s->context, n_state + 1);
        s->device->put(s->context, states[i], s->state, n_state);
    }
    const dsgd_gradient_op ops[] = {
        {x.pieces, other.pieces, states[0], states[1], s->all, all},
        {x.pieces, g.pieces, states[0], states[2], s->all, some},
        {x.pieces, other.pieces, states[0], states[1], s->all + all - 1, 1}};
    bool finite[3];
    s->device->gradient(s->context, 0, ops, 3, finite);
    vector_end(s, &x, NULL);
    vector_end(s, &other, NULL);
    vector_end(s, &g, together);
    s->device->get(s->context, state + n_state, states[2], n_state);
    for (size_t i = 0; i < 3; i++)
        s->device->release(s->context, states[i]);
    ck_assert_mem_eq(together, alone, n * sizeof *alone);
    if (n_state > 0)
        ck_assert_mem_eq(state + n_state, state, n_state * sizeof *state);
    free(alone);
    rig_free(s);
}
END_TEST

START_TEST(a_piece_that_is_not_there_is_zeros)
{
    rig *const s = rig_new(rig_scene("mlp"), dsgd_device_cpu(true), 4);
    const size_t n = s->network.n_params;
    double *const g = dsgd_xcalloc(2 * n, sizeof *g);
    double *const wanted = g + n;
    memset(s->x + s->piece_begin[1], 0, (s->piece_begin[2] - s->piece_begin[1]) * sizeof *s->x);
    rig_gradient(s, s->x, NULL, s->all, 5, wanted, NULL);
    vector x = vector_new(s, s->x);
    s->device->release(s->context, x.pieces[1]);
    x.pieces[1] = NULL;
    vector to = vector_new(s, NULL);
    const dsgd_buffer unwanted = to.pieces[2];
    to.pieces[2] = NULL;
    bool finite = false;
    const dsgd_gradient_op op = {x.pieces, to.pieces, NULL, NULL, s->all, 5};
    s->device->gradient(s->context, 0, &op, 1, &finite);
    s->device->release(s->context, unwanted);
    vector_end(s, &x, NULL);
    vector_end(s, &to, g);
    for (size_t i = 0; i < n; i++)
        if (i < s->piece_begin[2] || i >= s->piece_begin[3])
            ck_assert(g[i] == wanted[i]);
    free(g);
    rig_free(s);
}
END_TEST

/* --- element by element ----------------------------------------------------------------------- */

START_TEST(the_update_is_its_formula)
{
    rig *const s = rig_new(rig_scene("hyperplane"), dsgd_device_cpu(true), 1);
    double x[] = {1, -2, 0.5};
    double g[] = {0.25, 3, -1};
    double v[] = {-1, 0.125, 2};
    double got[3];
    bool finite = false;
    for (int first = 0; first < 2; first++) {
        double x_new[3];
        double v_new[3];
        const dsgd_update_op op = {3, x, g, first ? NULL : v, x_new, v_new, 0.05, 1};
        s->device->update(s->context, 0, &op, 1, &finite);
        ck_assert(finite);
        s->device->get(s->context, got, x_new, 3);
        for (size_t i = 0; i < 3; i++) {
            const double velocity = 0.9 * (first ? 0 : v[i]) + g[i] + 1e-2 * x[i];
            ck_assert_double_eq_tol(v_new[i], velocity, 1e-15);
            ck_assert_double_eq_tol(got[i], x[i] - 0.05 * velocity, 1e-15);
        }
    }
    double plain[3];
    const dsgd_update_op op = {3, x, g, NULL, plain, NULL, 0.05, 1};
    s->device->update(s->context, 0, &op, 1, &finite);
    for (size_t i = 0; i < 3; i++)
        ck_assert_double_eq_tol(plain[i], x[i] - 0.05 * (g[i] + 1e-2 * x[i]), 1e-15);
    rig_free(s);
}
END_TEST

START_TEST(a_combination_is_summed_in_order_and_in_double)
{
    rig *const s = rig_new(rig_scene("hyperplane"), dsgd_device_cpu(false), 1);
    enum { N = 1500, INPUTS = 3 };
    static float x[INPUTS][N];
    static float y[N];
    for (uint32_t j = 0; j < N; j++) {
        /* In float the small one would vanish beside the large ones, which cancel. */
        x[0][j] = 1e9f + 64.0f * (float)(j % 7);
        x[1][j] = (float)rig_number(4, j);
        x[2][j] = -x[0][j];
    }
    const dsgd_buffer inputs[] = {x[0], NULL, x[1], x[2]};
    const double weights[] = {2, 5, 3, 2};
    const dsgd_combine_op op = {N, 4, inputs, weights, 4, y};
    bool finite = false;
    s->device->combine(s->context, 0, &op, 1, &finite);
    ck_assert(finite);
    for (uint32_t j = 0; j < N; j++) {
        const double sum = 2 * (double)x[0][j] + 3 * (double)x[1][j] + 2 * (double)x[2][j];
        ck_assert(y[j] == (float)(sum / 4));
    }
    rig_free(s);
}
END_TEST

START_TEST(any_number_that_is_not_finite_is_noticed)
{
    rig *const s = rig_new(rig_scene("mlp"), dsgd_device_cpu(false), 1); /* has room for 40 zeros */
    static const float wrong[] = {NAN, INFINITY, -INFINITY};
    float x[40] = {0};
    float y[40];
    const dsgd_buffer inputs[] = {x};
    const double weight = 1;
    for (size_t n = 1; n <= 40; n++) {
        for (size_t i = 0; i < n; i++) {
            const dsgd_combine_op op = {n, 1, inputs, &weight, 1, y};
            bool finite = false;
            s->device->combine(s->context, 0, &op, 1, &finite);
            ck_assert(finite);
            x[i] = wrong[i % 3];
            s->device->combine(s->context, 0, &op, 1, &finite);
            ck_assert(!finite);
            const dsgd_update_op update = {n, x, NULL, NULL, y, NULL, 0.1, 1};
            s->device->update(s->context, 0, &update, 1, &finite);
            ck_assert(!finite);
            x[i] = 0;
        }
    }
    double *const g = dsgd_xcalloc(s->network.n_params, sizeof *g);
    s->x[s->network.n_params - 1] = NAN;
    ck_assert(!rig_gradient(s, s->x, NULL, s->all, 1, g, NULL));
    free(g);
    rig_free(s);
}
END_TEST

START_TEST(the_distance_is_squared_and_takes_zeros)
{
    rig *const s = rig_new(rig_scene("hyperplane"), dsgd_device_cpu(false), 1);
    float x[] = {3, 1};
    float y[] = {0, 5};
    dsgd_distance_op ops[] = {{2, x, y, 0}, {2, x, NULL, 0}, {2, NULL, NULL, 1}};
    s->device->distance(s->context, 0, ops, 3);
    ck_assert(ops[0].distance == 25 && ops[1].distance == 10 && ops[2].distance == 0);
    rig_free(s);
}
END_TEST

START_TEST(a_model_that_knows_nothing_has_the_loss_of_guessing) /* _i is the scene */
{
    rig *const s = rig_new(&rig_scenes[_i], dsgd_device_cpu(true), 1);
    const scene *const sc = s->scene;
    const size_t n_labels = (size_t)sc->n_samples * s->data.n_labels;
    memset(s->x, 0, s->network.n_params * sizeof *s->x);
    double wanted = 0;
    double zeros = 0;
    for (size_t i = 0; i < n_labels; i++) {
        const double target = sc->n_classes == 0 ? (double)s->data.test.targets[i] : 0;
        wanted += target * target / 2 / (double)n_labels;
        zeros += sc->n_classes > 0 && s->data.test.labels[i] == 0 ? 1 / (double)n_labels : 0;
    }
    const dsgd_evaluate_op got = rig_evaluation(s, s->x, s->state);
    if (sc->n_classes == 0) {
        ck_assert_double_eq_tol(got.loss, wanted, 1e-13);
        ck_assert(isnan(got.accuracy));
    } else if (s->network.loss == DSGD_LOSS_CROSS_ENTROPY) {
        ck_assert_double_eq_tol(got.loss, log(sc->n_classes), 1e-13);
        ck_assert_double_eq_tol(got.accuracy, zeros, 1e-13); /* of equals the first is taken */
    }
    rig_free(s);
}
END_TEST

/* --- models ----------------------------------------------------------------------------------- */

static dsgd_data shape(uint32_t features, uint32_t classes)
{
    static uint8_t labels[1];
    static float targets[1];
    dsgd_data data = {.n_rows = 1,
                      .n_columns = features,
                      .width = 1,
                      .n_features = features,
                      .n_labels = 1,
                      .n_classes = classes,
                      .deviation = 1};
    data.train.targets = classes == 0 ? targets : NULL;
    data.train.labels = classes == 0 ? NULL : labels;
    data.test = data.train;
    return data;
}

static dsgd_status build(const char *name, void *params, dsgd_data data, dsgd_network *network,
                         dsgd_error *error)
{
    const dsgd_model_kind *kind = (const void *)dsgd_about_find(dsgd_model_kinds, name);
    ck_assert_ptr_nonnull(kind);
    return kind->build(params, &data, network, error);
}

START_TEST(networks_have_the_published_sizes_in_backward_order)
{
    dsgd_network n;
    double widths[] = {128};
    dsgd_numbers none = {0, NULL};
    dsgd_numbers one = {1, widths};
    ck_assert_int_eq(build("hyperplane", NULL, shape(8192, 0), &n, NULL), DSGD_OK);
    ck_assert_uint_eq(n.n_params, 8193);
    ck_assert_int_eq(build("logreg", NULL, shape(784, 10), &n, NULL), DSGD_OK);
    ck_assert_uint_eq(n.n_params, 7850);
    ck_assert_int_eq(build("mlp", &none, shape(784, 10), &n, NULL), DSGD_OK);
    ck_assert_uint_eq(n.n_params, 25450);
    ck_assert_int_eq(build("mlp", &one, shape(784, 10), &n, NULL), DSGD_OK);
    ck_assert_uint_eq(n.n_params, 101770);
    ck_assert_uint_eq(n.layers[1].params, 0);
    ck_assert_uint_eq(n.layers[1].n_params, 1290);
    ck_assert_uint_eq(n.layers[0].params, 1290);
    ck_assert_uint_eq(n.layers[0].n_params, 100480);
    ck_assert(n.layers[0].relu && !n.layers[1].relu);
}
END_TEST

START_TEST(a_model_refuses_what_it_cannot_learn)
{
    dsgd_network n;
    dsgd_error error;
    double widths[DSGD_MAX_LAYERS] = {2.5};
    for (size_t i = 1; i < DSGD_MAX_LAYERS; i++)
        widths[i] = 1;
    dsgd_numbers most = {DSGD_MAX_LAYERS - 2, widths + 1};
    dsgd_numbers many = {DSGD_MAX_LAYERS - 1, widths + 1};
    dsgd_numbers broken = {1, widths};
    ck_assert_int_eq(build("logreg", NULL, shape(8, 0), &n, &error), DSGD_EUSAGE);
    ck_assert_str_eq(error.text, "learn: logreg learns classes, but this data has none; "
                                 "fashion-mnist or idx would do");
    ck_assert_int_eq(build("hyperplane", NULL, shape(8, 3), &n, &error), DSGD_EUSAGE);
    ck_assert_str_eq(error.text, "learn: hyperplane learns a number, but this data has classes; "
                                 "data: hyperplane would do");
    ck_assert_int_eq(build("mlp", &most, shape(8, 3), &n, &error), DSGD_OK);
    ck_assert_int_eq(build("mlp", &many, shape(8, 3), &n, &error), DSGD_EUSAGE);
    ck_assert_str_eq(error.text, "learn: mlp: more than 63 layers");
    ck_assert_int_eq(build("mlp", &broken, shape(8, 3), &n, &error), DSGD_EUSAGE);
    ck_assert_str_eq(error.text, "learn: mlp: 2.5 is no whole number of units");
}
END_TEST

START_TEST(initial_weights_are_he_uniform)
{
    dsgd_network n;
    dsgd_numbers none = {0, NULL};
    build("mlp", &none, shape(784, 10), &n, NULL);
    double *const x = dsgd_xcalloc(n.n_params, sizeof *x);
    dsgd_network_initial(&n, 1, x);
    for (uint32_t l = 0; l < 2; l++) {
        const dsgd_layer *const layer = &n.layers[l];
        const uint32_t n_in = layer->in.n_columns;
        const size_t count = (size_t)n_in * layer->out.n_columns;
        double sum = 0;
        double squares = 0;
        for (size_t i = 0; i < count; i++) {
            const double w = x[layer->params + i];
            ck_assert_double_le(fabs(w), sqrt(6.0 / n_in));
            sum += w;
            squares += w * w;
        }
        /* Variance 2 / n_in; four standard errors. The fourth moment of a uniform is 9/5 of the
         * variance's square. */
        const double variance = 2.0 / n_in;
        ck_assert_double_le(fabs(sum / (double)count), 4 * sqrt(variance / (double)count));
        ck_assert_double_le(fabs(squares / (double)count - variance),
                            4 * variance * sqrt(0.8 / (double)count));
        for (size_t i = count; i < layer->n_params; i++)
            ck_assert(x[layer->params + i] == 0);
    }
    const double ratio = sqrt((double)n.layers[0].in.n_columns / n.layers[1].in.n_columns);
    ck_assert_double_gt(fabs(x[n.layers[0].params] * ratio - x[n.layers[1].params]), 1e-6);
    double *const other = dsgd_xcalloc(n.n_params, sizeof *other);
    dsgd_network_initial(&n, 2, other);
    ck_assert_mem_ne(other, x, n.n_params * sizeof *x);
    dsgd_network_initial(&n, 1, other);
    ck_assert_mem_eq(other, x, n.n_params * sizeof *x);
    free(other);
    free(x);
}
END_TEST

/** Initial values of a layer, part by part: count, centre and bound. */
typedef struct beginning {
    size_t n;
    double centre, bound;
} beginning;

static size_t beginnings_of(const dsgd_layer *l, beginning *parts)
{
    const size_t c = l->out.n_columns;
    const size_t window = (size_t)l->kernel_size * l->kernel_size * l->in.n_columns;
    switch (l->kind) {
    case DSGD_LINEAR:
        parts[0] = (beginning){l->in.n_columns * c, 0, sqrt(6.0 / l->in.n_columns)};
        parts[1] = (beginning){c, 0, 0};
        return 2;
    case DSGD_CONVOLUTION:
        parts[0] = (beginning){window * c, 0, sqrt(6.0 / (double)window)};
        parts[1] = (beginning){c, 0, 0};
        return l->biased ? 2 : 1;
    case DSGD_BATCH_NORM:
    case DSGD_LAYER_NORM:
        parts[0] = (beginning){c, 1, 0};
        parts[1] = (beginning){c, 0, 0};
        return 2;
    case DSGD_EMBEDDING:
        parts[0] = (beginning){l->n_tokens * c, 0, 0.1};
        parts[1] = (beginning){l->out.n_rows * c, 0, 0.1};
        return 2;
    case DSGD_LSTM:
        parts[0] = (beginning){4 * c * c, 0, 1 / sqrt((double)c)};
        return 1;
    default:
        return 0;
    }
}

START_TEST(every_parameter_begins_within_its_bound_and_alone) /* _i is the scene */
{
    rig *const s = rig_new(&rig_scenes[_i], dsgd_device_cpu(true), 1);
    const size_t n = s->network.n_params;
    double *const x = dsgd_xcalloc(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    dsgd_network_initial(&s->network, 1, x);
    size_t end = n;
    for (uint32_t l = 0; l < s->network.n_layers; l++) {
        const dsgd_layer *const layer = &s->network.layers[l];
        beginning parts[2];
        const size_t n_parts = beginnings_of(layer, parts);
        size_t at = layer->params;
        for (size_t p = 0; p < n_parts; at += parts[p++].n)
            for (size_t i = at; i < at + parts[p].n; i++) {
                ck_assert_double_le(fabs(x[i] - parts[p].centre), parts[p].bound);
                for (size_t j = 0; parts[p].bound > 0 && j < i; j++)
                    ck_assert_msg(x[i] != x[j], "%s: layer %u draws a number twice", s->scene->name,
                                  l);
            }
        ck_assert_uint_eq(at, layer->params + layer->n_params);
        ck_assert_uint_eq(at, end); /* backward order, nothing between */
        end = layer->params;
    }
    ck_assert_uint_eq(end, 0);
    free(x);
    rig_free(s);
}
END_TEST

/* --- the stream of samples -------------------------------------------------------------------- */

START_TEST(an_epoch_is_a_permutation)
{
    enum { N = 600, BATCH = 5, WORKERS = 4, STEPS = N / BATCH / WORKERS };
    const dsgd_stream stream = {9, N, WORKERS, BATCH};
    uint32_t first[N];
    uint32_t moved = 0;
    for (uint32_t epoch = 0; epoch < 2; epoch++) {
        bool seen[N] = {false};
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t t = epoch * STEPS + i / (BATCH * WORKERS);
            const uint32_t at = dsgd_stream_sample(&stream, i / BATCH % WORKERS, t, i % BATCH);
            ck_assert_uint_lt(at, N);
            ck_assert(!seen[at]);
            seen[at] = true;
            moved += epoch > 0 && first[i] != at;
            first[i] = at;
        }
    }
    ck_assert_uint_gt(moved, N * 9 / 10); /* the second epoch is a permutation of its own */
}
END_TEST

START_TEST(workers_see_what_one_large_batch_sees)
{
    const dsgd_stream many = {9, 1000, 6, 7};
    const dsgd_stream one = {9, 1000, 1, 42};
    for (uint64_t t = 0; t < 60; t++)
        for (uint32_t i = 0; i < 42; i++)
            ck_assert_uint_eq(dsgd_stream_sample(&many, i / 7, t, i % 7),
                              dsgd_stream_sample(&one, 0, t, i));
}
END_TEST

/* --- generated data --------------------------------------------------------------------------- */

static const dsgd_data_source *source(const char *name)
{
    const dsgd_data_source *found = (const void *)dsgd_about_find(dsgd_data_sources, name);
    ck_assert_ptr_nonnull(found);
    return found;
}

/** Options by name are an affair of the command; here they are known. */
typedef struct hyperplane_params {
    long features, points;
    double noise;
} hyperplane_params;

static dsgd_data *hyperplane(uint64_t seed, double noise)
{
    const dsgd_data_source *const s = source("hyperplane");
    ck_assert_uint_eq(s->about.params_size, sizeof(hyperplane_params));
    dsgd_data *data = NULL;
    ck_assert_int_eq(s->load(&(hyperplane_params){8, 4000, noise}, seed, &data, NULL), DSGD_OK);
    return data;
}

START_TEST(hyperplane_data_has_unit_variance_and_follows_its_seed)
{
    dsgd_data *const a = hyperplane(1, 0.5);
    dsgd_data *const b = hyperplane(1, 0.5);
    dsgd_data *const c = hyperplane(2, 0.5);
    const size_t n = (size_t)a->train.n * a->n_features;
    double sum = 0;
    double squares = 0;
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
    dsgd_data_free(c);
}
END_TEST

/* --- files ------------------------------------------------------------------------------------ */

enum { IMAGES, LABELS, TEST_IMAGES, TEST_LABELS, FILES };

/** Four small files in a folder of the test's own. */
typedef struct folder {
    char path[64];
    char *files[FILES];
} folder;

static void write_file(const char *path, const uint8_t *bytes, size_t n, bool zipped)
{
    gzFile const file = gzopen(path, zipped ? "wb" : "wbT"); /* T: as it is */
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(gzwrite(file, bytes, (unsigned)n), (int)n);
    ck_assert_int_eq(gzclose(file), Z_OK);
}

static const uint8_t good_images[] = {0, 0, 8, 3, 0, 0, 0,  2,  0,  0,  0,
                                      1, 0, 0, 0, 3, 0, 10, 20, 30, 40, 250};
static const uint8_t good_labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 1, 0};

static folder *folder_new(void)
{
    folder *const f = dsgd_xcalloc(1, sizeof *f);
    strcpy(f->path, "/tmp/dsgd-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->path));
    static const char *const names[FILES] = {"images", "labels.gz", "test-images.gz",
                                             "test-labels"};
    for (size_t i = 0; i < FILES; i++) {
        f->files[i] = dsgd_xprintf("%s/%s", f->path, names[i]);
        const bool images = i == IMAGES || i == TEST_IMAGES;
        write_file(f->files[i], images ? good_images : good_labels,
                   images ? sizeof good_images : sizeof good_labels,
                   i == LABELS || i == TEST_IMAGES);
    }
    return f;
}

static void folder_free(folder *f)
{
    for (size_t i = 0; i < FILES; i++) {
        unlink(f->files[i]);
        free(f->files[i]);
    }
    rmdir(f->path);
    free(f);
}

static dsgd_data *load(const folder *f, dsgd_status wanted, dsgd_error *error)
{
    const dsgd_data_source *const idx = source("idx");
    dsgd_data *data = NULL;
    ck_assert_uint_eq(idx->about.params_size, sizeof f->files);
    const dsgd_status status = idx->load(f->files, 1, &data, error);
    ck_assert_msg(status == wanted, "%d: %s", (int)status, error->text);
    return data;
}

START_TEST(idx_files_are_read_plain_or_zipped)
{
    folder *const f = folder_new();
    dsgd_error error = {""};
    dsgd_data *const data = load(f, DSGD_OK, &error);
    ck_assert_uint_eq(data->n_features, 3);
    ck_assert_uint_eq(data->n_rows, 3);
    ck_assert_uint_eq(data->width, 3);
    ck_assert_uint_eq(data->n_classes, 2);
    ck_assert_uint_eq(data->train.n, 2);
    ck_assert_mem_eq(data->train.x_bytes, good_images + 16, 6);
    ck_assert_mem_eq(data->test.x_bytes, good_images + 16, 6);
    ck_assert_mem_eq(data->train.labels, good_labels + 8, 2);
    const double mean = 350.0 / 6;
    const double variance = (100 + 400 + 900 + 1600 + 62500) / 6.0 - mean * mean;
    ck_assert_double_eq_tol((double)data->mean, mean / 255, 1e-7);
    ck_assert_double_eq_tol((double)data->deviation, sqrt(variance) / 255, 1e-7);
    dsgd_data_free(data);
    folder_free(f);
}
END_TEST

/** What is done to which file, and what is said about it after its name. */
typedef struct damage {
    int file;
    size_t keep; /* bytes of the good file */
    size_t at; /* byte that is changed, if within the kept ones */
    uint8_t value;
    size_t more; /* bytes too many */
    const char *said;
} damage;

static const damage damages[] = {
    {IMAGES, 0, 0, 0, 0, "the file ends within its header"},
    {IMAGES, 15, 0, 0, 0, "the file ends within its header"},
    {LABELS, 7, 0, 0, 0, "the file ends within its header"},
    {IMAGES, 22, 3, 1, 0, "the file begins with 0x801, but IDX images begin with 0x803"},
    {LABELS, 10, 2, 9, 0, "the file begins with 0x901, but IDX labels begin with 0x801"},
    {IMAGES, 22, 7, 0, 0, "0 samples of 1 by 3 cannot be"},
    {IMAGES, 22, 12, 255, 0, "2 samples of 1 by 4278190083 cannot be"},
    {IMAGES, 22, 8, 255, 0, "2 samples of 4278190081 by 3 cannot be"},
    {IMAGES, 21, 0, 0, 0, "the file is cut off after 5 of 6 bytes"},
    {TEST_IMAGES, 22, 5, 1, 0, "the file is cut off after 6 of 196614 bytes"},
    {TEST_LABELS, 10, 0, 0, 3, "the file goes on after its 2 samples"},
    {LABELS, 9, 7, 1, 0, "1 labels for the 2 images of "},
    {TEST_IMAGES, 20, 15, 2, 0, "images of 2 pixels, but those to train on have 3"},
    {TEST_LABELS, 10, 9, 2, 0,
     "label 2 of sample 1 never occurs in training, where the largest is 1"},
};
enum { DAMAGES = sizeof damages / sizeof damages[0] };

START_TEST(a_damaged_file_is_named_with_what_is_wrong) /* _i is the damage */
{
    const damage *const d = &damages[_i];
    folder *const f = folder_new();
    uint8_t bytes[64] = {0};
    const bool images = d->file == IMAGES || d->file == TEST_IMAGES;
    memcpy(bytes, images ? good_images : good_labels, d->keep);
    if (d->at > 0)
        bytes[d->at] = d->value;
    write_file(f->files[d->file], bytes, d->keep + d->more,
               d->file == LABELS || d->file == TEST_IMAGES);
    dsgd_error error = {""};
    ck_assert_ptr_null(load(f, DSGD_EIO, &error));
    char *const wanted = dsgd_xprintf("%s: %s", f->files[d->file], d->said);
    ck_assert_msg(strncmp(error.text, wanted, strlen(wanted)) == 0, "%s", error.text);
    free(wanted);
    folder_free(f);
}
END_TEST

START_TEST(images_of_one_size_but_another_shape_are_refused)
{
    folder *const f = folder_new();
    uint8_t turned[sizeof good_images];
    memcpy(turned, good_images, sizeof turned);
    turned[11] = 3;
    turned[15] = 1;
    write_file(f->files[TEST_IMAGES], turned, sizeof turned, true);
    dsgd_error error = {""};
    ck_assert_ptr_null(load(f, DSGD_EIO, &error));
    char *const wanted = dsgd_xprintf(
        "%s: images of 3 by 1 pixels, but those to train on have 1 by 3", f->files[TEST_IMAGES]);
    ck_assert_str_eq(error.text, wanted);
    free(wanted);
    folder_free(f);
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    folder *const f = folder_new();
    unlink(f->files[TEST_LABELS]);
    dsgd_error error = {""};
    ck_assert_ptr_null(load(f, DSGD_EIO, &error));
    char *const wanted = dsgd_xprintf("%s: the data cannot be read: No such file or directory",
                                      f->files[TEST_LABELS]);
    ck_assert_str_eq(error.text, wanted);
    free(wanted);
    folder_free(f);
}
END_TEST

START_TEST(a_zipped_file_with_one_wrong_or_missing_byte_is_refused)
{
    folder *const f = folder_new();
    FILE *const in = fopen(f->files[TEST_IMAGES], "rb");
    uint8_t bytes[256];
    const size_t n = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    for (size_t i = 10; i < 2 * n;
         i++) { /* the header of a zipped file has 10 bytes that say little */
        const bool cut = i >= n;
        bytes[i % n] ^= cut ? 0 : 1;
        FILE *const out = fopen(f->files[TEST_IMAGES], "wb");
        fwrite(bytes, 1, cut ? i - n : n, out);
        fclose(out);
        dsgd_error error = {""};
        ck_assert_ptr_null(load(f, DSGD_EIO, &error));
        ck_assert_ptr_nonnull(strstr(error.text, f->files[TEST_IMAGES]));
        bytes[i % n] ^= cut ? 0 : 1;
    }
    folder_free(f);
}
END_TEST

static dsgd_data *fashion(void)
{
    const dsgd_data_source *const s = source("fashion-mnist");
    const char *path = NULL;
    ck_assert_uint_eq(s->about.params_size, sizeof path);
    dsgd_options_default(s->about.options, (void *)&path);
    dsgd_data *data = NULL;
    dsgd_error error = {""};
    ck_assert_msg(s->load((const void *)&path, 1, &data, &error) == DSGD_OK, "%s", error.text);
    return data;
}

START_TEST(fashion_mnist_is_what_its_authors_say)
{
    dsgd_data *const data = fashion();
    ck_assert_uint_eq(data->train.n, 60000);
    ck_assert_uint_eq(data->test.n, 10000);
    ck_assert_uint_eq(data->n_features, 784);
    ck_assert_uint_eq(data->n_classes, 10);
    ck_assert_double_eq_tol((double)data->mean, 0.2860, 5e-5);
    ck_assert_double_eq_tol((double)data->deviation, 0.3530, 5e-5);
    uint32_t count[10] = {0};
    for (uint32_t i = 0; i < data->train.n; i++)
        count[data->train.labels[i]]++;
    for (size_t k = 0; k < 10; k++)
        ck_assert_uint_eq(count[k], 6000);
    dsgd_data_free(data);
}
END_TEST

START_TEST(matrix_products_go_to_openblas)
{
    /* GSL brings a slow BLAS of the same names. */
    Dl_info found;
    ck_assert_int_ne(dladdr((void *)(uintptr_t)cblas_sgemm, &found), 0);
    ck_assert_msg(strstr(found.dli_fname, "openblas") != NULL, "cblas_sgemm is in %s",
                  found.dli_fname);
}
END_TEST

Suite *models_suite(void)
{
    Suite *s = suite_create("models");
    TCase *t = tcase_create("gradients");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, matrix_products_go_to_openblas);
    tcase_add_test(t, every_model_has_a_scene);
    tcase_add_loop_test(t, the_gradient_is_the_derivative_of_the_loss, 0, rig_n_scenes);
    tcase_add_loop_test(t, an_evaluation_is_the_loss_and_the_share_of_right_answers, 0,
                        rig_n_scenes);
    tcase_add_loop_test(t, float_agrees_with_double, 0, rig_n_scenes);
    tcase_add_loop_test(t, a_gradient_is_the_mean_over_its_samples, 0, rig_n_scenes);
    tcase_add_loop_test(t, pieces_change_no_bit, 0, rig_n_scenes);
    tcase_add_loop_test(t, an_operation_does_not_see_its_neighbours, 0, rig_n_scenes);
    tcase_add_test(t, a_piece_that_is_not_there_is_zeros);
    suite_add_tcase(s, t);
    t = tcase_create("elements");
    tcase_add_test(t, the_update_is_its_formula);
    tcase_add_test(t, a_combination_is_summed_in_order_and_in_double);
    tcase_add_test(t, any_number_that_is_not_finite_is_noticed);
    tcase_add_test(t, the_distance_is_squared_and_takes_zeros);
    tcase_add_loop_test(t, a_model_that_knows_nothing_has_the_loss_of_guessing, 0, rig_n_scenes);
    suite_add_tcase(s, t);
    t = tcase_create("models");
    tcase_add_test(t, networks_have_the_published_sizes_in_backward_order);
    tcase_add_test(t, a_model_refuses_what_it_cannot_learn);
    tcase_add_test(t, initial_weights_are_he_uniform);
    tcase_add_loop_test(t, every_parameter_begins_within_its_bound_and_alone, 0, rig_n_scenes);
    tcase_add_test(t, an_epoch_is_a_permutation);
    tcase_add_test(t, workers_see_what_one_large_batch_sees);
    suite_add_tcase(s, t);
    t = tcase_create("data");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, hyperplane_data_has_unit_variance_and_follows_its_seed);
    tcase_add_test(t, idx_files_are_read_plain_or_zipped);
    tcase_add_loop_test(t, a_damaged_file_is_named_with_what_is_wrong, 0, DAMAGES);
    tcase_add_test(t, images_of_one_size_but_another_shape_are_refused);
    tcase_add_test(t, a_missing_file_is_named);
    tcase_add_test(t, a_zipped_file_with_one_wrong_or_missing_byte_is_refused);
    tcase_add_test(t, fashion_mnist_is_what_its_authors_say);
    suite_add_tcase(s, t);
    return s;
}
