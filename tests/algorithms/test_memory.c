/**
 * @file test_memory.c
 * Tests that no algorithm uses more memory if a run has more steps. If an exchange forgot to free
 * or to release an object, the number of objects would grow with each step.
 */
#include "tests/support/suite.h"
#include "tests/support/support.h"

/**
 * UNDER_WAY is the allowed difference in the number of memory blocks. The number of exchanges in
 * flight at the end of a run may differ.
 */
enum { WORKERS = 4, STEPS = 120, UNDER_WAY = 100 };

/** Splits the workers into two groups by the pairs of ranks: the even pairs and the odd pairs. */
static void halves(const void *params, int n_workers, int *colour)
{
    for (int i = 0; i < n_workers; i++)
        colour[i] = i / 2 % 2;
}

/** A test algorithm that calls the collectives that few algorithms call. */
static void collective_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        const double step = (double)self->step;
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_allgather(self, &step, 1, DSGD_WORLD);
        const dsgd_comm *const half = dsgd_comm_split(self, halves);
        dsgd_collective_run(self, DSGD_BROADCAST, x, 0, half);
        dsgd_collective_run(self, DSGD_REDUCE, g, 1, half);
    }
}

TEST_ALGORITHM(collective, .work = collective_work);

static const struct {
    int network; /* kind of network, which is a value of dsgd_network_kind */
    double fusion; /* size of a fused message in bytes, or 0 if messages are not fused */
} ways[] = {{DSGD_NETWORK_FLOWS, 0}, {DSGD_NETWORK_SIMGRID, 0}, {DSGD_NETWORK_FLOWS, 64e6}};

enum { N_WAYS = sizeof ways / sizeof ways[0] };

SUITE(memory, "memory", .seconds = 60);

/** The loop variable _i selects the algorithm and the way in which it runs. */
TEST_RANGE(more_steps_use_no_more_memory, 0, N_WAYS *(support_n_algorithms() + 1))
{
    /* the array of algorithms ends with NULL */
    const dsgd_entry *const about = dsgd_algorithms[_i / N_WAYS];
    const dsgd_algorithm *const algorithm =
        about == NULL ? &collective : (const dsgd_algorithm *)about;
    size_t blocks[2];
    size_t bytes[2];
    if (ways[_i % N_WAYS].fusion > 0 && (~algorithm->traits & DSGD_SENDS_ALLREDUCES) != 0)
        return;
    for (int k = 0; k < 2; k++) {
        support_case *c = support_new(about == NULL ? NULL : about->name, WORKERS);
        if (about == NULL)
            c->config.algorithm = &collective;
        c->workload.bytes = 50e6;
        /* The first 60 steps use all mini-batches, so all memory per mini-batch exists by then. */
        support_set(c->learning.data.about, c->learning.data.params, "points", 960);
        c->platform.message_overhead_s = 1e-5;
        support_imbalance_number(c, "delay", "seconds", 0.7);
        support_imbalance_number(c, "ramp", "seconds", 0.01);
        c->config.exchange.pieces = 3;
        /* with several threads, the peak memory would depend on which worker is faster */
        c->config.threads = 0;
        c->config.network = ways[_i % N_WAYS].network;
        c->config.exchange.fusion_bytes = ways[_i % N_WAYS].fusion;
        c->config.exchange.cycle_s = 1e-3;
        c->config.until.steps = k == 0 ? STEPS : 5 * STEPS;
        const support_outcome *got = support_ok(c);
        blocks[k] = got->result.n_blocks_kept;
        bytes[k] = got->result.numerics.peak_bytes;
    }
    ck_assert_msg(blocks[1] <= blocks[0] + UNDER_WAY, "%zu blocks, for more steps %zu", blocks[0],
                  blocks[1]);
    ck_assert_msg(bytes[1] <= 2 * bytes[0], "%zu bytes, for more steps %zu", bytes[0], bytes[1]);
}
