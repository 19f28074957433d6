/**
 * @file test_exchange.c
 * Exchanges: by pieces, tensors or buckets; side by side, and overlapped with the backward pass.
 */
#include <stdint.h>

#include "tests/sim/costs.h"
#include "tests/suites.h"
#include "tests/support/support.h"

/**
 * Two overheads, but one pass over memory: three vectors are read and one is written, where adding
 * one to another reads two.
 */
START_TEST(neighbours_share_a_link_and_are_averaged_in_one_pass)
{
    const double step_s = support_ok(costly("d_psgd", 8))->result.virtual_s / 10;
    const double pass_s = 4.0 / 3 * reduction_s_per_byte * bytes;
    expect_close(step_s - 1, wire_s + bytes / bandwidth + 2 * overhead_s + pass_s);
}
END_TEST

START_TEST(exchanges_are_as_many_as_pieces_tensors_or_buckets)
{
    static dsgd_tensors tensors[] = {{1000, 3}, {5000, 2}};
    static const dsgd_exchange_config ways[] = {
        {.pieces = 2},
        {.pieces = DSGD_PIECES_TENSORS},
        {.pieces = DSGD_PIECES_BUCKETS, .bucket_bytes = 8000}};
    static const uint64_t exchanges[] = {2, 5, 3};
    support_case *c = costly("allreduce", 2);
    c->workload.bytes = 0;
    c->workload.tensors = (dsgd_records){2, tensors};
    for (int blocking = 0; blocking < 2; blocking++) {
        c->config.exchange = ways[_i];
        c->config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
        c->config.exchange.blocking = blocking;
        const support_outcome *got = support_ok(c);
        ck_assert_uint_eq(got->result.messages, 2 * 10 * exchanges[_i]);
        ck_assert_double_eq_tol(got->result.bytes, 2 * 10 * 4 * 13000, 1e-6);
        ck_assert_double_eq_tol(got->result.link_s, 10 * 4 * 13000 / bandwidth, 1e-12);
    }
}
END_TEST

/** Four pieces of 0.1 s by an overhead alone: side by side they take as long as one. */
START_TEST(nonblocking_exchanges_run_concurrently)
{
    support_case *c = costly("local_sgd", 2);
    support_option(c, "period", 1);
    c->platform.message_overhead_s = 0.1;
    c->config.exchange = (dsgd_exchange_config){
        .pieces = 4, .blocking = true, .collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING};
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * 1.4, 0.02);
    c->config.exchange.blocking = false;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * 1.1, 0.02);
}
END_TEST

START_TEST(overlap_hides_all_but_the_last_piece)
{
    support_case *c = support_new(NULL, 4);
    support_no_learning(c);
    support_algorithm(c, &support_averaging);
    c->workload.bytes =
        400e6; /* 2 phases of 40 ms for a piece of 100 MB, 125 ms of backward pass each */
    c->config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    c->config.exchange.pieces = 4;
    c->config.until.steps = 10;
    const double piece_s = 2 * (100e6 / bandwidth + latency_s);
    expect_close(support_ok(c)->result.virtual_s / 10, 1 + piece_s);
    c->config.exchange.overlap = false;
    expect_close(support_ok(c)->result.virtual_s / 10, 1 + 4 * piece_s);
}
END_TEST

Suite *exchange_suite(void)
{
    Suite *s = suite_create("exchange");
    TCase *t = tcase_create("exchange");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, neighbours_share_a_link_and_are_averaged_in_one_pass);
    tcase_add_loop_test(t, exchanges_are_as_many_as_pieces_tensors_or_buckets, 0, 3);
    tcase_add_test(t, nonblocking_exchanges_run_concurrently);
    tcase_add_test(t, overlap_hides_all_but_the_last_piece);
    suite_add_tcase(s, t);
    return s;
}
