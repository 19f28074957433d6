/**
 * @file test_gpu_scale.c
 * Tests every algorithm with about a thousand workers on the emulated CUDA module. The losses of
 * two equal runs must have equal bits. The losses of a run on the CPU may differ by rounding,
 * because its sums have another order.
 */
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { STEPS = 1 };

/**
 * Numbers of workers. All algorithms run with 1,024 workers. Two of them also run with other
 * numbers, for which the same kernels have other shapes.
 */
static const struct {
    int workers;
    const char *algorithm; /* name of the algorithm, or NULL for all algorithms */
} counts[] = {{1024, NULL}, {1025, "streaming_diloco"}, {1000, "hierarchical"}};

enum { N_COUNTS = sizeof counts / sizeof counts[0] };

static void use_emulation(void)
{
    setenv("DSGD_CUDA_MODULE", DSGD_EMULATED_CUDA, 1);
}

/**
 * Returns the smallest number of chunks that the algorithm allows. More chunks need more blocks,
 * and the emulation takes at least 1 ms per block.
 */
static long least_pieces(const support_case *c)
{
    const dsgd_algorithm *const a = c->config.algorithm;
    return a->least_pieces == NULL ? 1 : a->least_pieces(c->config.params, c->config.workers);
}

/**
 * Returns a run of many workers. Some of them are slow, so asynchronous algorithms use stale
 * values.
 */
static support_case *large(const char *algorithm, int workers)
{
    support_case *c = support_new(algorithm, workers);
    support_imbalance_number(c, "ramp", "seconds", 1);
    c->workload.bytes = 1e4;
    c->learning.precision = DSGD_PRECISION_FLOAT;
    c->learning.batch = 1;
    c->config.exchange.pieces = least_pieces(c);
    /* the learning rate is so small that no run with so many workers diverges */
    c->learning.optimizer.lr = 1e-4;
    c->config.until = (dsgd_until){.steps = STEPS};
    return c;
}

static void expect_losses(const support_outcome *got, const support_outcome *want, double rounding)
{
    ck_assert_uint_gt(got->result.n_points, 0);
    ck_assert_uint_eq(got->result.n_points, want->result.n_points);
    for (size_t i = 0; i < got->result.n_points; i++) {
        const double loss = got->points[i].at.loss, other = want->points[i].at.loss;
        ck_assert_msg(fabs(loss - other) <= rounding * other, "%.9g on CUDA, not %.9g", loss,
                      other);
    }
}

SUITE(gpu_scale_long, "gpu_scale", .seconds = 120, .set_up = use_emulation);

/*
 * The first values of the loop variable _i select the algorithms. The last values select the
 * further rows of counts.
 */
TEST_RANGE(a_thousand_workers_compute_the_same_on_cuda, 0, support_n_algorithms() + N_COUNTS - 1)
{
    const int n = support_n_algorithms();
    const int row = _i < n ? 0 : _i - n + 1;
    const char *const name = row == 0 ? dsgd_algorithms[_i]->name : counts[row].algorithm;
    const int numerics[] = {DSGD_NUMERICS_CUDA, DSGD_NUMERICS_CUDA, DSGD_NUMERICS_CPU};
    const support_outcome *got[3];
    for (int k = 0; k < 3; k++) {
        support_case *const c = large(name, counts[row].workers);
        c->config.numerics = numerics[k];
        got[k] = support_ok(c);
    }
    expect_losses(got[0], got[1], 0);
    expect_losses(got[0], got[2], 1e-5);
}
