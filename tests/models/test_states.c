/**
 * @file test_states.c
 * Tests every model in the value store. The bits of the results must not depend on threads, batches
 * and memory. Further tests check model states, which a worker's gradients pass from step to step.
 */
#include <check.h>

#include "base/draw.h"
#include "models/values/values.h"
#include "tests/support/rig.h"
#include "tests/support/stream.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { WORKERS = 4, STEPS = 6, MOST_PIECES = 3 };

/* --- a store for a network -------------------------------------------------------------------- */

typedef struct store {
    rig *rig;
    dsgd_device device;
    dsgd_values_config config;
    dsgd_values *values;
    size_t n_pieces, n_params, n_state;
} store;

/**
 * Returns a store that is not open yet. Change its config and device, and then call store_open().
 */
static store *store_new(const rig_spec *spec, uint32_t n_workers, uint32_t batch, size_t n_pieces)
{
    store *const s = dsgd_keep(1, sizeof *s);
    s->rig = rig_new(spec, dsgd_device_cpu(true), n_pieces);
    s->device = *dsgd_device_cpu(true);
    s->n_pieces = n_pieces;
    s->n_params = s->rig->network.n_params;
    s->n_state = s->rig->network.n_state;
    if (spec->kind == DSGD_DATA_STEPS) /* for a policy, a sample is the key of a step */
        s->rig->data.train.n = 1u << 20;
    s->config = (dsgd_values_config){.device = &s->device,
                                     .problem = s->rig->problem,
                                     .stream = {4, s->rig->data.train.n, n_workers, batch},
                                     .n_threads = 1,
                                     .memory_bytes = (size_t)1 << 30};
    return s;
}

static void store_open(store *s)
{
    ck_assert_int_eq(dsgd_values_open(&s->config, &s->values, NULL), DSGD_OK);
}

static store *store_opened(const char *name, uint32_t n_workers, uint32_t batch)
{
    store *const s = store_new(rig_spec_named(name), n_workers, batch, 1);
    store_open(s);
    return s;
}

static void release(const store *s, dsgd_value value)
{
    dsgd_value_release(s->values, value);
}

static void release_all(const store *s, size_t n, const dsgd_value *values)
{
    for (size_t i = 0; i < n; i++)
        release(s, values[i]);
}
#define RELEASE(s, ...)                                                                            \
    release_all(s, sizeof(dsgd_value[]){__VA_ARGS__} / sizeof(dsgd_value),                         \
                (dsgd_value[]){__VA_ARGS__})

/** Returns the state that a worker's model has before its first step. */
static dsgd_value state_of(const store *s, uint32_t worker)
{
    double *const state = dsgd_keep(s->n_state + 1, sizeof *state);
    dsgd_network_initial_state(&s->rig->network, 4, worker, state);
    const dsgd_value value = dsgd_values_state(s->values, state);
    return value;
}

static dsgd_value model_of(const store *s, size_t piece)
{
    return dsgd_values_constant(s->values, piece, s->rig->x);
}

static dsgd_values_stats stats(const store *s)
{
    dsgd_values_divergence(s->values); /* this call waits until all values are computed */
    return dsgd_values_stats_get(s->values);
}

/* --- equal bits ------------------------------------------------------------------------------- */

/** The results of run_program(): losses, models and states, in one array. */
typedef struct outcome {
    size_t n;
    double *x;
} outcome;

/**
 * Runs workers that take steps, average with a neighbour in every second step, and are evaluated
 * after each step.
 */
static outcome run_program(const rig_spec *spec, uint32_t batch, size_t n_pieces,
                           uint32_t n_threads, uint32_t at_once, size_t memory_bytes)
{
    store *const s = store_new(spec, WORKERS, batch, n_pieces);
    s->config.n_threads = n_threads;
    s->config.memory_bytes = memory_bytes;
    s->device.batch = at_once;
    store_open(s);
    dsgd_value x[WORKERS][MOST_PIECES], v[WORKERS][MOST_PIECES] = {{DSGD_ZERO_VALUE}};
    dsgd_value state[WORKERS], all[WORKERS * MOST_PIECES];
    size_t tickets[STEPS];
    for (uint32_t w = 0; w < WORKERS; w++) {
        state[w] = state_of(s, w);
        for (size_t k = 0; k < n_pieces; k++)
            x[w][k] = model_of(s, k);
    }
    for (uint32_t t = 0; t < STEPS; t++) {
        for (uint32_t w = 0; w < WORKERS; w++) {
            const dsgd_origin where = {w, t};
            dsgd_value g[MOST_PIECES];
            dsgd_values_gradient(s->values, where, batch, x[w], &state[w], g);
            for (size_t k = 0; k < n_pieces; k++) {
                const dsgd_value y = dsgd_values_update(s->values, where, k, x[w][k], g[k],
                                                        &v[w][k], (dsgd_rate){0.02, t + 1});
                const dsgd_value with[] = {y, x[(w + 1) % WORKERS][k]};
                const dsgd_value mean = dsgd_values_combine(
                    s->values, where, k, 2, with, (double[]){3, (w + t) % 2}, 3 + (w + t) % 2);
                RELEASE(s, g[k], y, x[w][k]);
                x[w][k] = mean;
            }
        }
        for (size_t i = 0; i < WORKERS * n_pieces; i++)
            all[i] = x[i / n_pieces][i % n_pieces];
        tickets[t] = dsgd_values_evaluate(s->values, WORKERS, 0, all, state);
    }
    outcome out = {STEPS + WORKERS * (s->n_params + s->n_state), NULL};
    out.x = dsgd_keep(out.n, sizeof *out.x);
    double *at = out.x;
    for (uint32_t t = 0; t < STEPS; t++)
        *at++ = dsgd_values_result(s->values, tickets[t]).loss;
    for (uint32_t w = 0; w < WORKERS; w++) {
        for (size_t k = 0; k < n_pieces; k++) {
            dsgd_values_read(s->values, k, x[w][k], at + s->config.problem.piece_begin[k]);
        }
        at += s->n_params;
        if (s->n_state > 0)
            dsgd_values_read(s->values, n_pieces, state[w], at);
        at += s->n_state;
    }
    dsgd_values_close(s->values);
    return out;
}

SUITE(states, "bits", .seconds = 60);

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(threads_batches_and_memory_change_no_bit, 0, rig_n_specs)
{
    const rig_spec *const spec = &rig_specs[_i];
    const uint32_t batch = spec->n_samples > 7 ? 7 : spec->n_samples;
    const outcome one = run_program(spec, batch, 1, 1, 1, (size_t)1 << 30);
    double sum = 0;
    for (size_t i = 0; i < one.n; i++)
        sum += fabs(one.x[i]);
    ck_assert(isfinite(sum) && sum > 0);
    static const uint32_t threads[] = {1, 2, 4, 4}, at_once[] = {8, 1, 3, 64};
    for (size_t i = 0; i < (SUPPORT_SLOW ? 2 : 4); i++) {
        const outcome other = run_program(spec, batch, i == 1 ? MOST_PIECES : 1, threads[i],
                                          at_once[i], i % 2 == 0 ? 1 : (size_t)1 << 30);
        ck_assert_uint_eq(other.n, one.n);
        ck_assert_msg(memcmp(other.x, one.x, one.n * sizeof *one.x) == 0, "%s: %zu", spec->name, i);
    }
}

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(a_chain_of_states_is_what_the_device_makes_of_them, 0, rig_n_specs)
{
    const rig_spec *const spec = &rig_specs[_i];
    const uint32_t batch = spec->n_samples > 6 ? 6 : spec->n_samples;
    store *const s = store_new(spec, 2, batch, 1);
    store_open(s);
    double *const by_hand = dsgd_keep(s->n_params + s->n_state, sizeof *by_hand);
    double *const got = dsgd_keep(s->n_params + s->n_state, sizeof *got);
    double *const state = by_hand + s->n_params;
    dsgd_network_initial_state(&s->rig->network, 4, 1, state);
    dsgd_value handle = state_of(s, 1);
    const dsgd_value x = model_of(s, 0);
    for (uint64_t t = 0; t < STEPS; t++) {
        uint32_t samples[8];
        for (uint32_t j = 0; j < batch; j++)
            samples[j] = stream_sample(&s->config.stream, 1, t, j);
        /* The third gradient uses only half of the batch. */
        const uint32_t count = t == 2 ? (batch + 1) / 2 : batch;
        rig_gradient(s->rig, s->rig->x, state, samples, count, by_hand, state);
        dsgd_value g = DSGD_ZERO_VALUE;
        dsgd_values_gradient(s->values, (dsgd_origin){1, t}, count, &x, &handle, &g);
        dsgd_values_read(s->values, 0, g, got);
        if (s->n_state > 0)
            dsgd_values_read(s->values, 1, handle, got + s->n_params);
        else
            ck_assert_ptr_null(handle.node);
        ck_assert_mem_eq(got, by_hand, (s->n_params + s->n_state) * sizeof *got);
        release(s, g);
    }
    dsgd_values_close(s->values);
}

/* --- states ----------------------------------------------------------------------------------- */

static const char *const stateful[] = {"resnet-9x7", "policy"};
enum { STATEFUL = sizeof stateful / sizeof stateful[0] };

static dsgd_value gradient(const store *s, uint32_t worker, uint64_t step, dsgd_value x,
                           dsgd_value *state)
{
    dsgd_value g = DSGD_ZERO_VALUE;
    dsgd_values_gradient(s->values, (dsgd_origin){worker, step}, s->config.stream.batch, &x, state,
                         &g);
    return g;
}

CASE("states", .seconds = 60);

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(gradients_of_coupled_samples_are_never_fused, 0, rig_n_specs)
{
    store *const s = store_new(&rig_specs[_i], WORKERS, 4, 1);
    store_open(s);
    const dsgd_value x = model_of(s, 0);
    dsgd_value g[WORKERS], state[WORKERS];
    const double ones[WORKERS] = {1, 1, 1, 1};
    for (uint32_t w = 0; w < WORKERS; w++) {
        state[w] = state_of(s, w);
        g[w] = gradient(s, w, 0, x, &state[w]);
    }
    const dsgd_value mean =
        dsgd_values_combine(s->values, (dsgd_origin){0, 0}, 0, WORKERS, g, ones, WORKERS);
    double *const sum = dsgd_keep(3 * s->n_params, sizeof *sum), *const got = sum + s->n_params;
    dsgd_values_read(s->values, 0, mean, got);
    ck_assert_uint_eq(stats(s).gradients, s->rig->network.coupled ? WORKERS : 1);
    ck_assert_uint_eq(stats(s).gradient_samples, 4 * WORKERS);
    for (uint32_t w = 0; w < WORKERS; w++) {
        dsgd_values_read(s->values, 0, g[w], got + s->n_params);
        for (size_t i = 0; i < s->n_params; i++)
            sum[i] += got[s->n_params + i] / WORKERS;
        RELEASE(s, g[w], state[w]);
    }
    ck_assert_double_le(support_distance(got, sum, s->n_params), 1e-13);
    dsgd_values_close(s->values);
}

/* The loop variable _i is the index of a network in `stateful`. */
TEST_RANGE(a_state_advances_without_references_to_the_gradient, 0, STATEFUL)
{
    store *const s = store_opened(stateful[_i], 1, 4);
    const dsgd_value x = model_of(s, 0);
    dsgd_value state = state_of(s, 0);
    for (uint64_t t = 0; t < 5; t++)
        release(s, gradient(s, 0, t, x, &state));
    double *const got = dsgd_keep(s->n_state, sizeof *got);
    dsgd_values_read(s->values, 1, state, got);
    ck_assert_uint_eq(stats(s).gradients, 5);
    ck_assert(isfinite(got[0]));
    /*
     * Five more gradients are released together with the last state, so the store must not compute
     * them.
     */
    for (uint64_t t = 5; t < 10; t++)
        release(s, gradient(s, 0, t, x, &state));
    release(s, state);
    dsgd_values_flush(s->values);
    ck_assert_uint_eq(stats(s).gradients, 5);
    dsgd_values_close(s->values);
}

/* The loop variable _i is the index of a network in `stateful`. */
TEST_RANGE(equal_gradients_have_equal_states, 0, STATEFUL)
{
    store *const s = store_opened(stateful[_i], 2, 4);
    const dsgd_value x = model_of(s, 0), begin = state_of(s, 0), other = state_of(s, 1);
    dsgd_value states[] = {dsgd_value_retain(begin), dsgd_value_retain(begin),
                           dsgd_value_retain(other)};
    dsgd_value g[3];
    for (size_t i = 0; i < 3; i++)
        g[i] = gradient(s, 0, 0, x, &states[i]);
    ck_assert(dsgd_value_equal(g[0], g[1]) && dsgd_value_equal(states[0], states[1]));
    ck_assert(!dsgd_value_equal(g[0], g[2]) && !dsgd_value_equal(states[0], states[2]));
    ck_assert(!dsgd_value_equal(g[0], states[0]) && !dsgd_value_equal(states[0], begin));
    dsgd_values_flush(s->values);
    ck_assert_uint_eq(stats(s).gradients, 2);
    for (size_t i = 0; i < 3; i++) {
        RELEASE(s, g[i], states[i]);
    }
    dsgd_values_close(s->values);
}

/* _i / 2 is the index of an entry of `stateful`. If _i is odd, each step flushes the store. */
TEST_RANGE(many_steps_need_no_more_memory_than_one, 0, 2 * STATEFUL)
{
    store *const s = store_opened(stateful[_i / 2], 1, 2);
    dsgd_value x = model_of(s, 0), v = DSGD_ZERO_VALUE, state = state_of(s, 0);
    const uint64_t steps = SUPPORT_SLOW ? 600 : 2000;
    for (uint64_t t = 0; t < steps; t++) {
        const dsgd_value g = gradient(s, 0, t, x, &state);
        const dsgd_value y =
            dsgd_values_update(s->values, (dsgd_origin){0, t}, 0, x, g, &v, (dsgd_rate){0.001, 1});
        RELEASE(s, g, x);
        x = y;
        if (_i % 2 == 1)
            dsgd_values_flush(s->values);
    }
    dsgd_values_flush(s->values);
    const dsgd_values_stats got = stats(s);
    ck_assert_uint_eq(got.gradients, steps);
    /*
     * The store may contain six vectors: the old and the new x and v, and the gradients of this
     * step and of the previous step. The store may also contain the states of both steps.
     */
    ck_assert_uint_le(got.peak_bytes, (6 * s->n_params + 2 * s->n_state) * sizeof(double));
    dsgd_values_close(s->values);
}

TEST(an_evaluation_is_of_the_mean_model_with_the_mean_state)
{
    store *const s = store_opened("resnet-9x7", WORKERS, 4);
    double *const mean_x = dsgd_keep(2 * (s->n_params + s->n_state), sizeof *mean_x);
    double *const mean_state = mean_x + s->n_params, *const one = mean_state + s->n_state;
    dsgd_value x[4], states[3];
    for (uint32_t w = 0; w < 3; w++) {
        for (size_t i = 0; i < s->n_params; i++) {
            one[i] = s->rig->x[i] + 0.1 * rig_number(20 + w, i);
            mean_x[i] += one[i] / 3;
        }
        x[w] = dsgd_values_constant(s->values, 0, one);
        for (size_t i = 0; i < s->n_state; i++) {
            one[i] = 0.5 + rig_number(30 + w, i);
            mean_state[i] += one[i] / 3;
        }
        states[w] = dsgd_values_state(s->values, one);
    }
    const size_t ticket = dsgd_values_evaluate(s->values, 3, 0, x, states);
    const size_t alone = dsgd_values_evaluate(s->values, 1, 0, x, states);
    x[3] = dsgd_values_constant(s->values, 0, s->rig->x);
    const size_t of_other = dsgd_values_evaluate(s->values, 3, 1, x, states);
    dsgd_value_release(s->values, x[3]);
    /* the evaluation keeps its own references, so the test may release its references */
    for (uint32_t w = 0; w < 3; w++) {
        RELEASE(s, x[w], states[w]);
    }
    const dsgd_evaluate_op wanted = rig_evaluation(s->rig, mean_x, mean_state);
    const dsgd_evaluation got = dsgd_values_result(s->values, ticket);
    ck_assert_double_eq_tol(got.loss, wanted.loss, 1e-12);
    ck_assert_double_eq_tol(got.accuracy, wanted.accuracy, 1e-15);
    /* The consensus depends only on the models. */
    double squares = 0;
    for (uint32_t w = 0; w < 3; w++)
        for (size_t i = 0; i < s->n_params; i++) {
            const double d = s->rig->x[i] + 0.1 * rig_number(20 + w, i) - mean_x[i];
            squares += d * d / 3;
        }
    ck_assert_double_eq_tol(got.consensus, sqrt(squares), 1e-12);
    ck_assert(dsgd_values_result(s->values, alone).consensus == 0);
    /* An evaluation of another model uses the same mean state, and has the same consensus. */
    const dsgd_evaluation other = dsgd_values_result(s->values, of_other);
    const dsgd_evaluate_op of_start = rig_evaluation(s->rig, s->rig->x, mean_state);
    ck_assert_double_eq_tol(other.loss, of_start.loss, 1e-12);
    ck_assert_double_eq(other.consensus, got.consensus);
    dsgd_values_close(s->values);
}

/* The loop variable _i is the index of a network in `stateful`. */
TEST_RANGE(a_value_after_a_divergence_has_no_state, 0, STATEFUL)
{
    store *const s = store_opened(stateful[_i], 1, 4);
    for (size_t i = 0; i < s->n_params; i++)
        s->rig->x[i] = NAN;
    const dsgd_value x = model_of(s, 0);
    dsgd_value state = state_of(s, 0);
    for (uint64_t t = 0; t < 3; t++)
        release(s, gradient(s, 0, t, x, &state));
    double *const got = dsgd_keep(s->n_state, sizeof *got);
    dsgd_values_read(s->values, 1, state, got);
    ck_assert(isnan(got[0]) && isnan(got[s->n_state - 1]));
    const dsgd_divergence d = dsgd_values_divergence(s->values);
    ck_assert(d.happened);
    ck_assert_uint_eq(d.where.step, 0);
    dsgd_values_close(s->values);
}

/* --- simulations ------------------------------------------------------------------------------ */

/** A model and its data, an option of the data, and the algorithm that trains it. */
static const struct {
    const char *model, *data, *option;
    double value;
    const char *algorithm;
} learning_cases[] = {
    {"cnn", "fashion-mnist", NULL, 0, "ad_psgd"},
    {"resnet_small", "fashion-mnist", NULL, 0, "allreduce"},
    {"lstm", "sequences", "points", 64, "ad_psgd"},
    {"mlp", "sequences", "points", 64, "allreduce"},
    {"transformer", "text", "context", 256, "allreduce"},
    {"policy", "navigation", "episodes", 20, "allreduce"},
    {"policy", "navigation", "episodes", 20, "ad_psgd"},
};
enum { LEARNING_CASES = sizeof learning_cases / sizeof learning_cases[0] };

static support_outcome *run_learning_case(int i, int threads)
{
    support_case *const c = support_new(learning_cases[i].algorithm, 4);
    c->learning.model = support_picked(dsgd_model_kinds, learning_cases[i].model, NULL, 0);
    c->learning.data = support_picked(dsgd_data_sources, learning_cases[i].data,
                                      learning_cases[i].option, learning_cases[i].value);
    c->learning.optimizer.lr = 0.01;
    c->config.until.steps = 5;
    c->config.threads = threads;
    return support_ok(c);
}

/* The loop variable _i is the index of an entry of learning_cases. */
TEST_RANGE(every_model_learns_in_a_simulation_to_the_same_bits, 0,
           SUPPORT_SLOW ? 0 : LEARNING_CASES)
{
    const support_outcome *const one = run_learning_case(_i, 1);
    const support_outcome *const more = run_learning_case(_i, 3);
    ck_assert_uint_eq(one->n_params, more->n_params);
    ck_assert_mem_eq(one->x, more->x, 4 * one->n_params * sizeof *one->x);
    ck_assert_uint_gt(one->result.n_points, 0);
    for (size_t i = 0; i < one->result.n_points; i++) {
        ck_assert(isfinite(one->points[i].at.loss));
        ck_assert(one->points[i].at.loss == more->points[i].at.loss);
    }
}
