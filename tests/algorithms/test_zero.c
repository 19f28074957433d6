/**
 * @file test_zero.c
 * Tests ZeRO, and gradients that are computed pass by pass, as ZeRO's third stage does.
 */
#include "tests/support/distance.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

SUITE(zero, "zero", .seconds = 120);

/* --- gradients by passes ---------------------------------------------------------------------- */

/**
 * A test algorithm that makes the same steps as support_alone, but computes each gradient pass by
 * pass.
 */
static void by_passes_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    const size_t n = dsgd_units(self), each = dsgd_pieces(self, x) / n;
    while (dsgd_next_step(self)) {
        for (size_t u = n; u-- > 0;)
            dsgd_compute_pass(self, NULL, dsgd_slice(self, x, u * each, (u + 1) * each, 1));
        for (size_t u = 0; u < n; u++)
            dsgd_compute_pass(self, dsgd_slice(self, g, u * each, (u + 1) * each, 1),
                              dsgd_slice(self, x, u * each, (u + 1) * each, 1));
        dsgd_local_step(self, x, g);
    }
}

static const dsgd_algorithm by_passes = {.about = {.name = "by-passes"}, .work = by_passes_work};
/** The loop variable _i selects the number of chunks and the overlap. */
TEST_RANGE(passes_take_as_long_as_a_gradient, 0, 6)
{
    support_case *c = support_of(&support_alone, 5);
    support_steps_each(c, 20);
    SET(c, config.exchange.pieces = 1 + 3 * (_i / 2), config.exchange.overlap = _i % 2 == 0);
    support_imbalance_number(c, "delay", "seconds", 0.32);
    const support_outcome *want = support_ok(c);
    c->config.algorithm = &by_passes;
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq_tol(got->result.virtual_s, want->result.virtual_s, 1e-8);
    ck_assert_double_eq_tol(got->result.shares.compute, want->result.shares.compute, 1e-8);
    ck_assert_double_eq_tol(got->result.exposed_mean_s, 0, 1e-8);
    ck_assert_double_eq(support_distance(got->x, want->x, 5 * got->n_params), 0);
}

static bool begins_with_first; /* if false, the first worker executes no backward pass */

static void wrong_work(dsgd_node *self)
{
    while (dsgd_next_step(self))
        dsgd_compute_pass(self, NULL,
                          dsgd_slice(self, dsgd_model(self), 0, begins_with_first ? 1 : 4, 1));
}

TEST_ALGORITHM(wrong, .work = wrong_work);

TEST(passes_out_of_order_stop_the_program_with_a_message)
{
    support_case *c = support_of(&wrong, 1);
    c->config.exchange.pieces = 4;
    support_expect_abort(c,
                         "worker 0 continues in step 0 without a backward dsgd_compute_pass() of "
                         "pieces from 0 on; dsgd_compute_pass()");
    begins_with_first = true;
    support_expect_abort(
        c, "worker 0 calls dsgd_compute_pass() of pieces 0 to 1 in step 0, which are not the next");
}

/* --- ZeRO ------------------------------------------------------------------------------------- */

enum { P = 8, STEPS = 10 };

/**
 * Makes a run of ZeRO with vectors of 100 MB over 1 GB/s. A step takes 0.3 s, of which the backward
 * pass takes 0.2 s.
 */
static support_case *published(int stage, bool reshards, long n_pieces)
{
    support_case *c = support_no_learning(support_new("zero", P));
    OPTIONS(c, {"stage", stage}, {"reshard_after_forward", reshards});
    SET(c, platform.host_bandwidth_bytes_per_s = 1e9, platform.host_latency_s = 0,
        workload.bytes = 1e8, workload.step_s = 0.3, workload.backward_share = 2.0 / 3,
        config.exchange.pieces = n_pieces, config.until.steps = STEPS);
    return c;
}

static const struct {
    int stage;
    bool reshards, overlap;
    double step_s;
    double vectors; /* number of vectors that a worker sends, in units of (P - 1) / P N bytes */
} forms[] = {
    /*
     * A vector has four units. A collective of one unit takes 0.021875 s, which is less than a
     * forward pass. Two collectives take less time than a backward pass.
     */
    {1, true, true, 0.3 + (1 + 4) * 0.021875, 2},
    {2, true, true, 0.3 + (1 + 4) * 0.021875, 2},
    /* three collectives are exposed: the first gather of each pass, and the last sum */
    {3, true, true, 0.3 + 3 * 0.021875, 3},
    {3, false, true, 0.3 + 2 * 0.021875, 2},
    {1, true, false, 0.3 + 2 * 0.0875, 2},
    {2, true, false, 0.3 + 2 * 0.0875, 2},
    {3, true, false, 0.3 + 3 * 0.0875, 3},
    {3, false, false, 0.3 + 2 * 0.0875, 2},
};

/**
 * Tests that each stage takes the time of its closed form, for computed collectives and for
 * collectives that are simulated message by message. The sent volumes must equal the volumes in
 * section 7 of the paper.
 */
TEST_ROWS(stages_take_their_closed_forms_and_published_volumes, forms)
{
    support_case *c = published(forms[_i].stage, forms[_i].reshards, 4);
    c->config.exchange.overlap = forms[_i].overlap;
    for (int network = 0; network < 2; network++) {
        c->config.network = network;
        const support_outcome *got = support_ok(c);
        const double step_s = got->result.virtual_s / STEPS;
        ck_assert_msg(fabs(step_s / forms[_i].step_s - 1) < 1e-9, "a step of %.9g s, not %.9g s",
                      step_s, forms[_i].step_s);
        ck_assert_double_eq_tol(got->result.shares.compute, 0.3 / step_s, 1e-9);
        ck_assert_double_eq_tol(got->result.shares.communicate, 1 - 0.3 / step_s, 1e-9);
        ck_assert_double_eq_tol(got->result.exposed_mean_s, step_s - 0.3, 1e-9);
        ck_assert_double_eq_tol(got->result.bytes,
                                forms[_i].vectors * (P - 1) * c->workload.bytes * STEPS, 1);
    }
}

enum { UNITS = 7 };

/** The share of each unit in the 100 MB of a vector and in the computation, in backward order. */
static dsgd_tensors tensors[] = {
    {8000000, 1, 1}, {1000000, 4, 9}, {6000000, 1, 1}, {7000000, 1, 2}};
static const double share[UNITS] = {0.32, 0.04, 0.04, 0.04, 0.04, 0.24, 0.28};
static const double work[UNITS] = {8.0 / 64, 9.0 / 64, 9.0 / 64, 9.0 / 64,
                                   9.0 / 64, 6.0 / 64, 14.0 / 64};

/**
 * Emulates the order of passes and collectives, and returns the step time. @p all_s is the time of
 * a collective of all units.
 */
static double unit_by_unit_s(double all_s, bool reshards)
{
    /* time at which the weights of the next unit arrive */
    double there_s = all_s * share[UNITS - 1];
    double gpu_s = 0; /* time at which the GPU becomes free */
    double channel_s = there_s;
    for (int u = UNITS - 1; u >= 0; u--) {
        const double since_s = fmax(there_s, gpu_s);
        gpu_s = since_s + 0.1 * work[u];
        if (u > 0)
            there_s = channel_s = fmax(channel_s, since_s) + all_s * share[u - 1];
    }
    if (reshards)
        there_s = channel_s = gpu_s + all_s * share[0];
    for (int u = 0; u < UNITS; u++) {
        const double since_s = reshards ? fmax(there_s, gpu_s) : gpu_s;
        gpu_s = since_s + 0.2 * work[u];
        if (reshards && u + 1 < UNITS)
            there_s = channel_s = fmax(channel_s, since_s) + all_s * share[u + 1];
        channel_s = fmax(channel_s, gpu_s) + all_s * share[u];
    }
    return channel_s;
}

/**
 * The loop variable _i is the value of reshard_after_forward. The bandwidth varies: some exchanges
 * take longer than the computation, and others are hidden by the computation.
 */
TEST_RANGE(each_unit_is_gathered_one_unit_ahead, 0, 2)
{
    support_case *c = published(3, _i == 1, DSGD_PIECES_TENSORS);
    c->workload.bytes = 0;
    c->workload.tensors = (dsgd_structs){4, tensors};
    for (double bandwidth = 0.05e9; bandwidth < 20e9; bandwidth *= 1.2) {
        c->platform.host_bandwidth_bytes_per_s = bandwidth;
        const double want_s = unit_by_unit_s(7.0 / 8 * 1e8 / bandwidth, _i == 1);
        const support_outcome *got = support_ok(c);
        ck_assert_msg(fabs(got->result.virtual_s / STEPS / want_s - 1) < 1e-9,
                      "%g B/s: a step of %.9g s, not %.9g s", bandwidth,
                      got->result.virtual_s / STEPS, want_s);
        ck_assert_double_eq_tol(got->result.shares.compute, 0.3 / want_s, 1e-9);
    }
}

static const dsgd_optimizer optimizers[] = {
    {.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01},
    {DSGD_OPTIMIZER_ADAMW, .lr = 0.01, .momentum = 0.9, .beta2 = 0.99, .epsilon = 1e-8},
    {.lr = 0.05, .clip = 0.5}};

/**
 * The loop variable _i selects the stage and the optimizer. If the update uses a property of the
 * gradient, such as its norm, it must use the property of the mean gradient.
 */
TEST_RANGE(every_stage_makes_the_models_of_allreduce, 0, 9)
{
    support_case *c = support_new("zero", 6), *want = support_new("allreduce", 6);
    support_option(c, "stage", 1 + _i / 3);
    SET(c, learning.optimizer = want->learning.optimizer = optimizers[_i % 3],
        config.exchange.pieces = want->config.exchange.pieces = 5);
    const support_outcome *a = support_ok(c), *b = support_ok(want);
    ck_assert_double_le(support_distance(a->x, b->x, 6 * a->n_params), support_rounding());
    ck_assert_double_eq(a->result.gradient_staleness_mean, 0);
}
