/**
 * @file test_outer.c
 * Tests algorithms with outer steps and with clusters. The tests check cases in which these
 * algorithms equal simpler algorithms, and the overlap of exchanges with steps.
 * (test_against_oracle.c compares values, and the tests of the oracle use published values.)
 */
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- Streaming DiLoCo ------------------------------------------------------------------------- */

SUITE(outer, "outer", .seconds = 60);

/**
 * Tests that Streaming DiLoCo with one fragment and no delay equals DiLoCo in values, time and
 * messages. The loop variable _i is the number of chunks.
 */
TEST_RANGE(streaming_diloco_of_one_fragment_is_diloco, 1, 4)
{
    support_case *c = support_new("streaming_diloco", 8);
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    c->config.exchange.pieces = _i;
    OPTIONS(c, {"period", 4}, {"fragments", 1}, {"delay", 0}, {"mixing", 0});
    const support_outcome *streaming = support_ok(c);
    support_case *d = support_new("diloco", 8);
    support_imbalance_number(d, "ramp", "seconds", 0.1);
    d->config.exchange.pieces = _i;
    support_option(d, "period", 4);
    const support_outcome *diloco = support_ok(d);
    ck_assert_double_eq_tol(streaming->result.virtual_s, diloco->result.virtual_s, 1e-9);
    ck_assert_uint_eq(streaming->result.messages, diloco->result.messages);
    ck_assert_double_le(support_distance(streaming->x, diloco->x, 8 * diloco->n_params),
                        support_rounding());
}

/**
 * Tests a delay of one step. The delay hides a fragment's exchange of 0.9 s completely, and hides
 * an exchange of 1.8 s only in part.
 */
TEST(a_delay_hides_the_exchange_of_a_fragment)
{
    support_case *c = support_no_learning(support_new("streaming_diloco", 2));
    OPTIONS(c, {"period", 8}, {"fragments", 4}, {"delay", 1});
    SET(c, config.exchange.pieces = 4, config.exchange.overlap = false,
        config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING, config.until.steps = 16,
        platform.host_latency_s = 0, workload.bytes = 4 * 9e9);
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 16, 1e-3);
    c->workload.bytes = 4 * 18e9;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 16 + 8 * 0.8, 1e-3);
}

/* --- clusters --------------------------------------------------------------------------------- */

static const support_outcome *clusters_of(double cluster, double inside, double between,
                                          const char *other)
{
    support_case *c = support_new(other != NULL ? other : "hierarchical", 12);
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    SET(c, platform.message_overhead_s = 5e-6, config.exchange.pieces = 2);
    if (other == NULL) {
        OPTIONS(c, {"cluster", cluster}, {"inside", inside}, {"between", between});
    }
    if (other == NULL || strcmp(other, "local_sgd") == 0)
        support_option(c, "period", 5);
    return support_ok(c);
}

static void expect_alike(const support_outcome *got, const support_outcome *want, bool in_time)
{
    ck_assert_double_le(support_distance(got->x, want->x, 12 * want->n_params), support_rounding());
    if (!in_time)
        return;
    ck_assert_double_eq_tol(got->result.virtual_s, want->result.virtual_s, 1e-9);
    ck_assert_uint_eq(got->result.messages, want->result.messages);
}

TEST(clusters_of_one_are_local_sgd)
{
    const support_outcome *want = clusters_of(0, 0, 0, "local_sgd");
    for (int inside = 0; inside < 2; inside++)
        for (int between = 0; between < 2; between++)
            expect_alike(clusters_of(1, inside, between, NULL), want, true);
}

/**
 * In every step, one worker is late by a second. In each round, the late worker is in another
 * cluster.
 */
TEST(delayed_corrections_wait_for_the_round_before)
{
    double virtual_s[3];
    for (int between = 1; between < 3; between++) {
        support_case *c = support_no_learning(support_new("hierarchical", 8));
        support_imbalance_number(c, "delay", "seconds", 1);
        OPTIONS(c, {"period", 2}, {"between", between});
        virtual_s[between] = support_ok(c)->result.virtual_s;
    }
    ck_assert_double_lt(virtual_s[2], 0.95 * virtual_s[1]);
}
