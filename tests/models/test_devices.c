/**
 * @file test_devices.c
 * Tests the operations of a device on the CPU. The tests compare gradients and evaluations of every
 * model with a naive implementation, and float with double. They also compare batches and chunks
 * with single operations, and elementwise operations with their formulas.
 */
#include "tests/support/naive.h"
#include "tests/support/rig.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"
#include "tests/support/team.h"

/* --- gradients -------------------------------------------------------------------------------- */

SUITE(devices, "gradients", .seconds = 60);

/** A training loss as a function of the parameters only. All other inputs are fixed. */
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

/**
 * Computes the derivative of the training loss over @p n samples numerically, from values of the
 * loss.
 */
static void derivative(const rig *s, const uint32_t *samples, uint32_t n, double *g)
{
    fixed_loss f = {s, naive_batch_of(&s->data, samples, n), samples};
    naive_derivative(s->network.n_params, s->x, 1e-6L, loss_at, &f, g);
}

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(the_gradient_is_the_derivative_of_the_loss, 0, rig_n_specs)
{
    rig *const s = rig_new(&rig_specs[_i], dsgd_device_cpu(true), 1);
    const size_t n = s->network.n_params;
    double *const g = dsgd_keep(2 * n, sizeof *g), *const wanted = g + n;
    /*
     * The three batches contain all samples, one sample, and four samples of which one occurs
     * twice. After the first batch, the workspace contains values of a larger batch.
     */
    const uint32_t few[] = {s->spec->n_samples - 1, 0, s->spec->n_samples / 2, 0};
    const struct {
        const uint32_t *samples;
        uint32_t n;
    } batches[] = {{s->all, s->spec->n_samples}, {s->all + s->spec->n_samples / 3, 1}, {few, 4}};
    for (size_t b = 0; b < 3 && s->network.loss != DSGD_LOSS_POLICY; b++) {
        ck_assert(rig_gradient(s, s->x, s->state, batches[b].samples, batches[b].n, g, NULL));
        derivative(s, batches[b].samples, batches[b].n, wanted);
        /*
         * The error of a central difference is about h^2 = 1e-12 times the third derivative, which
         * is a few thousand here.
         */
        ck_assert_msg(support_distance(g, wanted, n) < 1e-8, "%s, %u samples: %g", s->spec->name,
                      batches[b].n, support_distance(g, wanted, n));
    }
}

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(an_evaluation_is_the_loss_and_the_share_of_right_answers, 0, rig_n_specs)
{
    rig *const s = rig_new(&rig_specs[_i], dsgd_device_cpu(true), 1);
    if (s->network.loss != DSGD_LOSS_POLICY) {
        for (size_t i = 0; i < s->network.n_state; i++)
            s->state[i] = 0.2 + rig_number(9, i);
        long double *const x = dsgd_keep(s->network.n_params, sizeof *x);
        for (size_t i = 0; i < s->network.n_params; i++)
            x[i] = s->x[i];
        naive_batch batch = naive_batch_of(&s->data, s->all, s->spec->n_samples);
        batch.state = s->state;
        double accuracy = 0;
        const double wanted =
            (double)naive_loss(&s->network, &s->data, x, &batch, s->all, &accuracy);
        const dsgd_evaluate_op got = rig_evaluation(s, s->x, s->state);
        ck_assert_msg(fabs(got.loss - wanted) < 1e-13 * wanted, "%s: %.17g, but %.17g",
                      s->spec->name, got.loss, wanted);
        if (s->spec->n_classes == 0)
            ck_assert(isnan(got.accuracy));
        else
            ck_assert_double_eq_tol(got.accuracy, accuracy, 1e-15);
    }
}

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(float_agrees_with_double, 0, rig_n_specs)
{
    rig *const s = rig_new(&rig_specs[_i], dsgd_device_cpu(true), 1);
    rig *const f = rig_new(&rig_specs[_i], dsgd_device_cpu(false), 1);
    const size_t n = s->network.n_params, n_state = s->network.n_state;
    const uint32_t n_samples = s->spec->n_samples;
    double *const g = dsgd_keep(2 * (n + n_state), sizeof *g), *const in_float = g + n;
    double *const state = in_float + n;
    rig_gradient(s, s->x, s->state, s->all, n_samples, g, state);
    rig_gradient(f, s->x, s->state, s->all, n_samples, in_float, state + n_state);
    /* The precision of float is 6e-8, and sums have a few hundred terms. */
    ck_assert_msg(support_distance(in_float, g, n) < 1e-5, "%s: %g", s->spec->name,
                  support_distance(in_float, g, n));
    /* The device must compute in float, so results must differ. */
    ck_assert(n < 9 || support_distance(in_float, g, n) > 0);
    ck_assert_double_le(support_distance(state + n_state, state, n_state), 1e-5);
    ck_assert_double_eq_tol(rig_evaluation(f, s->x, s->state).loss,
                            rig_evaluation(s, s->x, s->state).loss, 1e-5);
}

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(a_gradient_is_the_mean_over_its_samples, 0, rig_n_specs)
{
    rig *const s = rig_new(&rig_specs[_i], dsgd_device_cpu(true), 1);
    const size_t n = s->network.n_params;
    const uint32_t last = s->spec->n_samples - 1;
    /* the batch contains one sample twice */
    const uint32_t samples[] = {last / 2, last, last / 2, 0};
    double *const g = dsgd_keep(3 * n, sizeof *g), *const one = g + n, *const mean = one + n;
    rig_gradient(s, s->x, s->state, samples, 4, g, NULL);
    for (size_t j = 0; j < 4; j++) {
        rig_gradient(s, s->x, s->state, samples + j, 1, one, NULL);
        for (size_t i = 0; i < n; i++)
            mean[i] += one[i] / 4;
    }
    if (s->network.coupled && last > 0) /* in coupled models, samples affect each other */
        ck_assert_double_gt(support_distance(g, mean, n), 1e-3);
    else
        ck_assert_double_le(support_distance(g, mean, n), 1e-14);
}

/**
 * Computes a gradient, an update, an evaluation, and the new model state, with the vector cut into
 * @p n_pieces chunks. Writes all results to @p out.
 */
static void step_in_pieces(const rig_spec *spec, const dsgd_device *device, size_t n_pieces,
                           double *out)
{
    rig *const s = rig_new(spec, device, n_pieces);
    const size_t n = s->network.n_params;
    double *const state = out + 3 * n + 1;
    rig_gradient(s, s->x, s->state, s->all, spec->n_samples > 6 ? 6 : spec->n_samples, out, state);
    const vector x = vector_new(s, s->x), g = vector_new(s, out), v = vector_new(s, s->x);
    const vector x_new = vector_new(s, NULL), v_new = vector_new(s, NULL);
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
}

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(pieces_change_no_bit, 0, rig_n_specs)
{
    static const size_t pieces[] = {4, RIG_MOST_PIECES};
    const dsgd_device *const devices[] = {dsgd_device_cpu(false), dsgd_device_cpu(true)};
    const rig_spec *const spec = &rig_specs[_i];
    rig *const s = rig_new(spec, dsgd_device_cpu(true), 1);
    const size_t size = 3 * s->network.n_params + 1 + s->network.n_state;
    double *const whole = dsgd_keep(size, sizeof *whole), *const cut = dsgd_keep(size, sizeof *cut);
    for (size_t d = 0; d < 2; d++) {
        step_in_pieces(spec, devices[d], 1, whole);
        for (size_t p = 0; p < 2; p++) {
            step_in_pieces(spec, devices[d], pieces[p], cut);
            ck_assert_mem_eq(cut, whole, size * sizeof *cut);
        }
    }
}

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(operation_result_does_not_depend_on_its_batch, 0, rig_n_specs)
{
    rig *const s = rig_new(&rig_specs[_i], dsgd_device_cpu(false), 1);
    const size_t n = s->network.n_params, n_state = s->network.n_state;
    const uint32_t all = s->spec->n_samples, some = (all + 1) / 2;
    double *const alone = dsgd_keep(2 * n + 2 * n_state, sizeof *alone);
    double *const together = alone + n, *const state = together + n;
    rig_gradient(s, s->x, s->state, s->all, some, alone, state);
    const vector x = vector_new(s, s->x), other = vector_new(s, NULL), g = vector_new(s, NULL);
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
}

/**
 * Tests that results do not change if one call computes all seven workers, one worker, or three. If
 * _i is 1, the device computes in double precision.
 */
TEST_RANGE(operations_of_every_kind_do_not_depend_on_their_call, 0, 2)
{
    enum { WORKERS = 7 };
    const dsgd_problem *const problem =
        &rig_new(rig_spec_named("mlp"), dsgd_device_cpu(true), 1)->problem;
    static const uint32_t per_call[] = {WORKERS, 1, 3};
    team *teams[3];
    for (size_t k = 0; k < 3; k++)
        teams[k] = team_new(dsgd_device_cpu(_i == 1), problem, WORKERS, 5);
    for (int kind = 0; kind < TEAM_KINDS; kind++)
        for (size_t k = 0; k < 3; k++) {
            for (uint32_t w = 0; w < WORKERS; w += per_call[k])
                team_call(teams[k], (team_kind)kind, w,
                          w + per_call[k] > WORKERS ? WORKERS - w : per_call[k]);
            const double distance = team_distance(teams[k], teams[0], (team_kind)kind);
            ck_assert_msg(distance == 0, "%s is %g off", team_kind_names[kind], distance);
        }
    for (size_t k = 0; k < 3; k++)
        team_close(teams[k]);
}

TEST(missing_chunk_counts_as_zeros)
{
    rig *const s = rig_new(rig_spec_named("mlp"), dsgd_device_cpu(true), 4);
    const size_t n = s->network.n_params;
    double *const g = dsgd_keep(2 * n, sizeof *g), *const wanted = g + n;
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
}

/* --- element-wise operations ------------------------------------------------------------------ */

CASE("element-wise operations");

TEST(a_combination_is_summed_in_order_and_in_double)
{
    rig *const s = rig_new(rig_spec_named("hyperplane"), dsgd_device_cpu(false), 1);
    enum { N = 1500, INPUTS = 3 };
    static float x[INPUTS][N], y[N];
    for (uint32_t j = 0; j < N; j++) {
        /*
         * In float, the sum of the large numbers and the small number would lose the small number,
         * although the large numbers cancel.
         */
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
}

/* Tests sums of few inputs and sums of many inputs, which the device computes in separate loops. */
TEST(a_combination_of_any_number_of_inputs_is_summed_in_order)
{
    rig *const s = rig_new(rig_spec_named("hyperplane"), dsgd_device_cpu(false), 1);
    enum { N = 2048 + 77, MOST = 20 };
    static float x[MOST][N], y[N];
    dsgd_buffer inputs[MOST];
    double weights[MOST];
    for (uint32_t i = 0; i < MOST; i++) {
        inputs[i] = x[i];
        weights[i] = 1 + rig_number(5, i);
        for (uint32_t j = 0; j < N; j++)
            x[i][j] = j % 5 == 0 ? -0.0f : (float)(rig_number(i, j) - 0.5);
    }
    for (uint32_t n = 1; n <= MOST; n++)
        for (int divisor = 3; divisor <= 4; divisor++) {
            const dsgd_combine_op op = {N, n, inputs, weights, divisor, y};
            bool finite = false;
            s->device->combine(s->context, 0, &op, 1, &finite);
            ck_assert(finite);
            for (uint32_t j = 0; j < N; j++) {
                double sum = 0;
                for (uint32_t i = 0; i < n; i++)
                    sum += weights[i] * (double)x[i][j];
                const float mean = (float)(sum / divisor);
                ck_assert(memcmp(&mean, &y[j], sizeof mean) == 0);
            }
        }
}

TEST(every_non_finite_value_is_detected)
{
    /* This model has at least 40 parameters. */
    rig *const s = rig_new(rig_spec_named("mlp"), dsgd_device_cpu(false), 1);
    static const float wrong[] = {NAN, INFINITY, -INFINITY};
    float x[40] = {0}, y[40];
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
    double *const g = dsgd_keep(s->network.n_params, sizeof *g);
    s->x[s->network.n_params - 1] = NAN;
    ck_assert(!rig_gradient(s, s->x, NULL, s->all, 1, g, NULL));
}

TEST(the_distance_is_squared_and_takes_zeros)
{
    rig *const s = rig_new(rig_spec_named("hyperplane"), dsgd_device_cpu(false), 1);
    float x[] = {3, 1}, y[] = {0, 5};
    dsgd_distance_op ops[] = {{2, x, y, 0}, {2, x, NULL, 0}, {2, NULL, NULL, 1}};
    s->device->distance(s->context, 0, ops, 3);
    ck_assert(ops[0].distance == 25 && ops[1].distance == 10 && ops[2].distance == 0);
}
