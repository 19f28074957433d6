/**
 * @file test_accounting.c
 * Where the time of a step goes: shares of computing, waiting and communicating, and what is
 * exposed.
 */
#include "tests/suites.h"
#include "tests/support/support.h"

START_TEST(shares_of_time_are_those_of_computing_waiting_and_communicating)
{
    support_case *c = support_new(NULL, 4);
    support_no_learning(c);
    support_algorithm(c, &support_averaging);
    c->workload.bytes = 1e9; /* 2 phases of 0.1 s */
    c->config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    support_imbalance_number(c, "ramp", "seconds",
                             0.1); /* worker i computes 1 + 0.1 i seconds of a step of 1.5 */
    const dsgd_time_shares shares = support_ok(c)->result.shares;
    ck_assert_double_eq_tol(shares.compute, 1.15 / 1.5, 1e-3);
    ck_assert_double_eq_tol(shares.wait, 0.15 / 1.5, 1e-3);
    ck_assert_double_eq_tol(shares.communicate, 0.2 / 1.5, 1e-3);
}
END_TEST

/** Worker 0 computes 1 s, waits 0.2 s for the other, and gets its vector in 0.1 s. */
START_TEST(shares_of_time_of_messages_begin_when_both_sides_are_there)
{
    support_case *c = support_new("d_psgd", 2);
    support_no_learning(c);
    c->workload.bytes = 1e9;
    support_imbalance_number(c, "ramp", "seconds", 0.2);
    const dsgd_time_shares shares = support_ok(c)->result.shares;
    ck_assert_double_eq_tol(shares.compute, 1.1 / 1.3, 1e-3);
    ck_assert_double_eq_tol(shares.wait, 0.1 / 1.3, 1e-3);
    ck_assert_double_eq_tol(shares.communicate, 0.1 / 1.3, 1e-3);
}
END_TEST

/**
 * Worker i of 4 is i ms late: who waits for all waits 1.5 ms on average; at a barrier also those
 * wait who have nobody to wait for.
 */
START_TEST(what_is_exposed_comes_before_a_barrier)
{
    support_case *c = support_new(_i == 0 ? "allreduce" : "local_sgd", 4);
    support_no_learning(c);
    c->workload.bytes = 1;
    c->config.until.steps = 10;
    c->config.exchange.barrier = true;
    support_imbalance_number(c, "ramp", "seconds", 1e-3);
    if (_i == 1)
        support_option(c, "period", 1000);
    const support_outcome *const run = support_ok(c);
    ck_assert_double_eq_tol(run->result.exposed_mean_s, _i == 0 ? 1.5e-3 : 0, 1e-5);
    ck_assert_double_eq_tol(run->result.virtual_s, 10 * 1.003, 1e-4);
}
END_TEST

Suite *accounting_suite(void)
{
    Suite *s = suite_create("accounting");
    TCase *t = tcase_create("accounting");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, shares_of_time_are_those_of_computing_waiting_and_communicating);
    tcase_add_test(t, shares_of_time_of_messages_begin_when_both_sides_are_there);
    tcase_add_loop_test(t, what_is_exposed_comes_before_a_barrier, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
