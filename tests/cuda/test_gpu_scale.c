/**
 * @file test_gpu_scale.c
 * Every algorithm with a thousand workers on the CUDA module, emulated: the record of what it has
 * computed is replayed there to the same bits, and on the CPU to the rounding of sums, whose order
 * is another.
 */
#include <unistd.h>

#include "models/record/replay.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { STEPS = 1 };

/** A power of two for all; others, which take the same kernels in other shapes, for a few. */
static const struct {
    int workers;
    const char *algorithm; /* NULL: all */
} counts[] = {{1024, NULL}, {1025, "streaming_diloco"}, {1000, "hierarchical"}};

enum { N_COUNTS = sizeof counts / sizeof counts[0] };

static void use_emulation(void)
{
    setenv("DSGD_CUDA_MODULE", DSGD_EMULATED_CUDA, 1);
}

/** As few as the algorithm allows: the emulation takes a millisecond and more for a block. */
static long least_pieces(const support_case *c)
{
    const dsgd_algorithm *const a = c->config.algorithm;
    return a->least_pieces == NULL ? 1 : a->least_pieces(c->config.params, c->config.workers);
}

/** Some are late, so that the asynchronous ones mix what is old. */
static support_case *large(const char *algorithm, int workers)
{
    support_case *c = support_new(algorithm, workers);
    support_imbalance_number(c, "ramp", "seconds", 1);
    c->workload.bytes = 1e4;
    c->learning.precision = DSGD_PRECISION_FLOAT;
    c->learning.batch = 1;
    c->config.exchange.pieces = least_pieces(c);
    c->learning.optimizer.lr = 1e-4; /* the mean of so many is as one step of it: none diverges */
    c->config.network = DSGD_NETWORK_NICS;
    c->config.numerics = DSGD_NUMERICS_CUDA;
    c->config.until = (dsgd_until){.steps = STEPS};
    c->config.record_about = "{\"run\": 1}";
    return c;
}

static void expect_replay(const char *record, const support_outcome *run, int numerics,
                          double rounding)
{
    const dsgd_replay_config config = {.path = record,
                                       .numerics = numerics,
                                       .precision = -1,
                                       .threads = 1,
                                       .memory_bytes = (size_t)1 << 30};
    dsgd_replay_result again;
    dsgd_error error = {""};
    ck_assert_msg(dsgd_replay(&config, &again, &error) == DSGD_OK, "%s", error.text);
    ck_assert_uint_gt(again.n_points, 0);
    ck_assert_uint_eq(again.n_points, run->result.n_points);
    if (rounding == 0)
        ck_assert_uint_eq(again.different, 0);
    for (size_t i = 0; i < again.n_points; i++) {
        const double got = run->points[i].at.loss;
        const double want = again.points[i].at.loss;
        ck_assert_msg(fabs(got - want) <= rounding * want, "%.9g on CUDA, not %.9g", got, want);
    }
}

SUITE(gpu_scale_long, "gpu_scale", .seconds = 120, .set_up = use_emulation);

TEST_RANGE(a_thousand_workers_compute_the_same_on_cuda, 0,
           support_n_algorithms() + N_COUNTS - 1) /* _i: the algorithms, then the rest */
{
    const int n = support_n_algorithms();
    const int row = _i < n ? 0 : _i - n + 1;
    const char *const name = row == 0 ? dsgd_algorithms[_i]->name : counts[row].algorithm;
    char record[] = "/tmp/dsgd-gpu-scale-XXXXXX";
    const int descriptor = mkstemp(record);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    support_case *c = large(name, counts[row].workers);
    c->config.record = record;
    const support_outcome *const got = support_ok(c);
    expect_replay(record, got, DSGD_NUMERICS_CUDA, 0);
    expect_replay(record, got, DSGD_NUMERICS_CPU, 1e-5);
    unlink(record);
}
