/**
 * @file test_microbenchmark.c
 * Repeats the micro-benchmark of the eager-SGD paper (PPoPP'20, figures 8 and 9). In this
 * benchmark, 32 workers call a collective of 64 B to 256 KB, 64 times, with a barrier between two
 * calls. Worker i arrives i ms late. The result is the latency of the call, averaged over workers,
 * with the parameters of Piz Daint.
 *
 * The tests compare the latency with closed forms. If all workers wait for the last worker, the
 * mean wait is 15.5 ms. For a random initiator, the mean of max(0, r - i) over workers i and
 * initiators r is (n^2 - 1) / (6 n) = 5.328 ms. On average, (n + 1) / 2 = 16.5 workers have then
 * arrived.
 */
#include "sim/engine/vectors.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { WORKERS = 32, CALLS = 64, SIZES = 5 };

static const struct {
    double bytes, synchronous_ms, majority_ms, solo_ms;
} published[SIZES] = {
    {64, 15.55, 5.29, 0.25},    {512, 15.67, 5.98, 0.255},   {4096, 15.90, 6.08, 0.255},
    {32768, 16.31, 6.82, 0.27}, {262144, 17.07, 7.82, 0.28},
};

static void measure(dsgd_node *self, bool partial, dsgd_initiator initiator)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    dsgd_partial *sum =
        partial ? dsgd_partial_new(
                      self, (dsgd_partial_spec){.initiator = initiator, .draining = true}, NULL)
                : NULL;
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_piece_wait(g, 0);
        const double arrived_s = dsgd_now_s();
        if (partial)
            dsgd_partial_sum(self, sum, g, g);
        else
            dsgd_allreduce_sum(self, g, DSGD_WORLD);
        support_current->note[self->rank] += (dsgd_now_s() - arrived_s) / CALLS;
        dsgd_barrier(self);
    }
}

static void measure_synchronous(dsgd_node *self)
{
    measure(self, false, DSGD_FIRST_ARRIVER);
}

static void measure_majority(dsgd_node *self)
{
    measure(self, true, DSGD_EACH_IN_TURN); /* every rank is the initiator of two of the 64 calls */
}

static void measure_solo(dsgd_node *self)
{
    measure(self, true, DSGD_FIRST_ARRIVER);
}

TEST_ALGORITHM(synchronous, .work = measure_synchronous);
TEST_ALGORITHM(majority, .work = measure_majority);
TEST_ALGORITHM(solo, .work = measure_solo);

static support_outcome *benchmark(const dsgd_algorithm *algorithm, double bytes, double late_s)
{
    support_case *c = support_no_learning(support_of(algorithm, WORKERS));
    /* These are the parameters of traces/platforms/piz-daint.yaml, within one group. */
    SET(c, platform.host_bandwidth_bytes_per_s = 9.4e9, platform.host_latency_s = 1.07e-6,
        platform.message_overhead_s = 10e-6, platform.reduction_s_per_byte = 0.26e-9,
        workload.bytes = bytes, workload.step_s = 1e-3,
        config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
        config.until.steps = CALLS);
    support_imbalance_number(c, "ramp", "seconds", late_s);
    return support_ok(c);
}

static double mean_ms(const support_outcome *outcome)
{
    double sum = 0;
    for (int w = 0; w < WORKERS; w++)
        sum += outcome->note[w];
    return 1e3 * sum / WORKERS;
}

SUITE(microbenchmark, "published rows", .seconds = 60);

TEST_RANGE(synchronous_latency_is_within_a_tenth_of_the_published, 0, SIZES)
{
    const double got_ms = mean_ms(benchmark(&synchronous, published[_i].bytes, 1e-3));
    printf("micro-benchmark, %6.0f B: synchronous %.3f ms (published %.2f)\n", published[_i].bytes,
           got_ms, published[_i].synchronous_ms);
    ck_assert_double_le(fabs(got_ms / published[_i].synchronous_ms - 1), 0.10);
}

TEST_RANGE(majority_waits_for_its_initiator, 0, SIZES)
{
    const support_outcome *got = benchmark(&majority, published[_i].bytes, 1e-3);
    const double active = got->result.partial_active_mean;
    /*
     * Workers that have arrived also wait for the collective itself. The time of the collective is
     * measured in a run in which all workers arrive together.
     */
    const double collective_ms = mean_ms(benchmark(&majority, published[_i].bytes, 0));
    const double expected_ms =
        (WORKERS * WORKERS - 1.0) / (6.0 * WORKERS) + collective_ms * active / WORKERS;
    printf("micro-benchmark, %6.0f B: majority %.3f ms, %.1f active (published %.2f ms, 16.1 to "
           "17.5 active)\n",
           published[_i].bytes, mean_ms(got), active, published[_i].majority_ms);
    ck_assert_double_le(fabs(mean_ms(got) / expected_ms - 1), 0.02);
    ck_assert_double_eq_tol(active, 16.5, 0.02 * 16.5);
}

TEST_RANGE(solo_does_not_wait, 0, SIZES)
{
    const support_outcome *got = benchmark(&solo, published[_i].bytes, 1e-3);
    const double first_ms = 1e3 * got->note[0];
    /*
     * Only the first worker waits, unless the collective takes longer than the delay of the next
     * worker (256 KB: 1.2 ms).
     */
    double expected_ms = 0;
    for (int w = 0; w < WORKERS; w++)
        expected_ms += fmax(0, first_ms - w) / WORKERS;
    printf("micro-benchmark, %6.0f B: solo %.4f ms, %.2f active (published %.3f ms, call overheads "
           "included, 1.0 to 1.06 active)\n",
           published[_i].bytes, mean_ms(got), got->result.partial_active_mean,
           published[_i].solo_ms);
    ck_assert_double_le(fabs(mean_ms(got) / expected_ms - 1), 0.02);
    ck_assert_double_eq_tol(got->result.partial_active_mean, 1, 0.02);
}
