/**
 * @file test_scale.c
 * Tests that runs of every algorithm with thousands of workers start and end. Above 1,024 workers,
 * tables grow. Above 2,048 workers, actors need more memory mappings than the kernel allows by
 * default.
 */

#include "tests/support/suite.h"
#include "tests/support/support.h"

/**
 * Numbers of workers: 1,025 is one more than a power of two, and 2,048 is a power of two. With
 * 4,096 workers, there are more actors than a process could have with guard pages.
 */
static const int counts[] = {1025, 2048, 4096};

enum { N_COUNTS = sizeof counts / sizeof counts[0] };

static support_case *large(const char *algorithm, int workers)
{
    support_case *c = support_no_learning(support_new(algorithm, workers));
    support_imbalance_number(c, "ramp", "seconds", 1e-4); /* workers have different delays */
    /* short vectors make the allreduce use the algorithm with the fewest messages */
    c->workload.bytes = 1e4;
    c->config.until.steps = 2;
    return c;
}

/**
 * Returns true if each worker sends its vector to all other workers. For 4,096 workers, these 17
 * million pairs of workers would need too much memory for a test.
 */
static bool tells_all(const support_case *c)
{
    return strcmp(c->config.algorithm->about.name, "cluster_based") == 0;
}

static void two_steps_end(int row)
{
    const int n = support_n_algorithms();
    support_case *const c = large(dsgd_algorithms[row % n]->name, counts[row / n]);
    if (row >= n && tells_all(c))
        return;
    const support_outcome *got = support_simulate(c);
    if (got->status == DSGD_EUSAGE) {
        ck_assert_has(got->error.text, ", got 1025");
        return;
    }
    ck_assert_msg(got->status == DSGD_OK, "%s", got->error.text);
    ck_assert_msg(got->result.outcome == DSGD_RUN_OK, "%s", got->result.why.text);
    ck_assert_double_eq(got->result.steps, 2);
}

SUITE(scale, "scale", .seconds = 300);

TEST_RANGE(two_steps_of_a_thousand_workers_end, 0, support_n_algorithms())
{
    two_steps_end(_i);
}

TEST(eight_servers_of_a_thousand_workers_answer_concurrently)
{
    support_case *c = large("easgd", 1025);
    support_option(c, "servers", 8);
    SET(c, config.exchange.pieces = 4, config.exchange.blocking = false);
    ck_assert_double_eq(support_ok(c)->result.steps, 2);
}

SUITE(scale_long, "scale_long", .seconds = 300);

TEST_RANGE(two_steps_of_thousands_of_workers_end, support_n_algorithms(),
           N_COUNTS *support_n_algorithms())
{
    two_steps_end(_i);
}

/** Each worker has 18 actors. The run ends as soon as the actors have started. */
TEST(concurrent_chunks_need_more_actors_than_guard_pages)
{
    support_case *c = large("eager_solo", 4096);
    SET(c, config.exchange.pieces = 16, config.exchange.blocking = false,
        config.until = (dsgd_until){.seconds = 1e-3});
    ck_assert_double_eq(support_ok(c)->result.steps, 0);
}
