/**
 * @file test_drop_compute.c
 * Tests DropCompute: the time at which a threshold ends a step, and the automatic choice of a
 * threshold.
 */
#include "tests/support/suite.h"
#include "tests/support/support.h"

SUITE(drop_compute, "drop_compute", .seconds = 240);

/**
 * A step has four micro-batches of 1 s each. The first half of each micro-batch is the forward
 * pass.
 */
TEST_RANGE(a_threshold_stops_before_the_next_backward_pass, 0, 9)
{
    static const double limits_s[] = {0, 0.4, 0.5, 2.2, 2.5, 3, 3.5, 4, 9};
    static const double steps_s[] = {0.5, 0.5, 1, 2.5, 3, 3.5, 4, 4, 4};
    support_case *c = support_no_learning(support_new("drop_compute", 1));
    SET(c, workload.step_s = 4, config.until.steps = 3);
    OPTIONS(c, {"micro_batches", 4}, {"spare", 1}, {"threshold", limits_s[_i]});
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 4 + 2 * steps_s[_i], 1e-9);
}

/**
 * One of four workers is late by 3 s in each step of 1 s. With a threshold of at least 0.875 s, the
 * other workers finish their steps. The late worker finishes only the first of its four
 * micro-batches, at 1 s. The step does (3 + 1 / 4) / 4 of the work in 1 / 4 of the time. The
 * threshold of 0.875 s is the smallest threshold with the largest gain. With a threshold of 1 s,
 * the late worker starts a second micro-batch, which is dropped after its forward pass. With a
 * threshold of 1.5 s, the step does (3 + 2 / 4) / 4 of the work in 2 / 4 of the time.
 */
TEST(an_automatic_threshold_is_the_one_that_gains_most)
{
    support_case *c = support_no_learning(support_new("drop_compute", 4));
    c->workload.bytes = 1;
    OPTIONS(c, {"micro_batches", 4}, {"calibration", 4}, {"spare", 0});
    support_imbalance_number(c, "delay", "seconds", 3);
    c->config.until.steps = 10;
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq_tol(got->result.virtual_s, 4 * 4 + 6 * 1, 1e-3);
    ck_assert_double_eq_tol(got->result.samples, 128 * (4 * 4 + 6 * 3.25), 1e-9);
    support_option(c, "threshold", -1); /* with -1, the run has no threshold */
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * 4, 1e-3);
}

/** Sets the speed of all hosts to the share @p speed of the reference GPU's speed. */
static void slow_hosts(support_case *c, double speed)
{
    static dsgd_platform_entry slow = {.first = 0, .count = 4, .bandwidth = 1};
    slow.speed = speed;
    c->platform.hosts = (dsgd_structs){1, &slow};
}

/**
 * On a host with half of the reference speed, a micro-batch of 1 s takes 2 s. The forward pass of
 * the second micro-batch ends at 3 s, and no further pass starts.
 */
TEST(a_threshold_is_in_seconds_of_the_host)
{
    support_case *c = support_no_learning(support_new("drop_compute", 1));
    slow_hosts(c, 0.5);
    SET(c, workload.step_s = 4, config.until.steps = 3);
    OPTIONS(c, {"micro_batches", 4}, {"spare", 1}, {"threshold", 2.2});
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 8 + 2 * 3, 1e-9);
}

/**
 * One of four workers is late by 3 s in each step, and the allreduce takes V s. Hosts have 1 / h of
 * the reference GPU's speed. If the late worker computes k micro-batches, the step does (3 + k / 4)
 * / 4 of the work. The step then takes h (k + V / h) s instead of h (4 + V / h) s. Dropping is a
 * gain if V < 12 h. Slow hosts slow down computation but not communication.
 */
static const struct {
    double slowness, communication_s;
    bool gains;
} costs[] = {{1, 11, true}, {1, 13, false}, {2, 22, true}, {2, 26, false}};

TEST_ROWS(an_automatic_threshold_counts_communication, costs)
{
    /* number of vectors that each of four workers sends per allreduce */
    static const double share_of_a_vector = 2 * 3 / 4.0;
    const double v = costs[_i].communication_s, h = costs[_i].slowness;
    const bool gains = costs[_i].gains;
    support_case *c = support_no_learning(support_new("drop_compute", 4));
    slow_hosts(c, 1 / h);
    c->workload.bytes = v * 10e9 / share_of_a_vector;
    OPTIONS(c, {"micro_batches", 4}, {"calibration", 4}, {"spare", 1});
    support_imbalance_number(c, "delay", "seconds", 3);
    c->config.until.steps = 10;
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq_tol(got->result.samples, 128 * (5 * 4 + 5 * (gains ? 3.25 : 4)), 1e-9);
    ck_assert_double_eq_tol(got->result.virtual_s, 10 * v + h * (5 * 4 + 5 * (gains ? 1 : 4)),
                            1e-3);
}

TEST(spared_first_steps_drop_no_micro_batch)
{
    support_case *c = support_no_learning(support_new("drop_compute", 1));
    OPTIONS(c, {"micro_batches", 2}, {"threshold", 0});
    c->config.until.steps = 10;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 5 + 5 * 0.25, 1e-9);
    support_option(c, "spare", 0);
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * 0.25, 1e-9);
}

TEST(automatic_threshold_drops_nothing_if_it_gains_nothing)
{
    support_case *c = support_no_learning(support_new("drop_compute", 4));
    c->workload.bytes = 1;
    OPTIONS(c, {"calibration", 2}, {"spare", 2});
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 20, 1e-3);
}

enum { NO_THRESHOLD = -1, AUTO_THRESHOLD = -2 };

/**
 * Returns the throughput in samples per second with a threshold. The value AUTO_THRESHOLD stands
 * for the automatic threshold. One step in eight is much longer than all other steps.
 */
static double throughput_with(double threshold, double backward_share, int micro_batches,
                              double bytes)
{
    /*
     * Runs with a fixed threshold have the same number of whole steps as the calibration has, so
     * that only the thresholds differ.
     */
    enum { WHOLE_STEPS = 10 };
    support_case *c = support_no_learning(support_new("drop_compute", 8));
    OPTIONS(c, {"threshold", threshold}, {"calibration", WHOLE_STEPS},
            {"spare", threshold == AUTO_THRESHOLD ? 0 : WHOLE_STEPS},
            {"micro_batches", micro_batches});
    SET(c, workload.bytes = bytes, workload.backward_share = backward_share);
    dsgd_table *const table = support_imbalance(c, "quantiles");
    static double percent[] = {0, 85, 90, 100}, seconds[] = {0, 0.1, 1.5, 3};
    *table = (dsgd_table){4, percent, seconds};
    c->config.until.steps = 400;
    const support_outcome *got = support_ok(c);
    return got->result.samples / got->result.virtual_s;
}

static const struct {
    double backward_share;
    int micro_batches;
    double bytes; /* size of a vector in bytes; 1e10 bytes take 1.75 s */
    double gains; /* minimum ratio of the throughput to the throughput without a threshold */
} thresholds[] = {{0.5, 12, 1e6, 1.3}, {1, 4, 1e6, 1.3}, {0.5, 4, 1e6, 1.3},  {0, 12, 1e6, 1.3},
                  {1, 2, 1e6, 1.3},    {1, 12, 1e10, 1}, {1, 12, 6e10, 0.999}};

TEST_RANGE(the_automatic_threshold_is_as_good_as_the_best_fixed_one, 0,
           SUPPORT_SLOW ? 0 : sizeof thresholds / sizeof thresholds[0])
{
    const double backward_share = thresholds[_i].backward_share;
    const int m = thresholds[_i].micro_batches;
    const double bytes = thresholds[_i].bytes;
    double best = 0;
    for (double threshold = 0.1; threshold < 4; threshold += 0.1)
        best = fmax(best, throughput_with(threshold, backward_share, m, bytes));
    const double automatic = throughput_with(AUTO_THRESHOLD, backward_share, m, bytes);
    const double none = throughput_with(NO_THRESHOLD, backward_share, m, bytes);
    printf("DropCompute, %d micro-batches: %.0f samples/s without a threshold, "
           "%.0f with the automatic one, %.0f with the best fixed one\n",
           m, none, automatic, best);
    ck_assert_double_gt(automatic, thresholds[_i].gains * none);
    ck_assert_double_gt(automatic, 0.98 * best);
}
