/**
 * @file test_staleness.c
 * How old the values are that an algorithm uses: bounds, closed forms, and histograms.
 */
#include "tests/suites.h"
#include "tests/support/support.h"

START_TEST(histograms_agree_with_mean_and_largest)
{
    support_case *c = support_new(dsgd_algorithms[_i]->name, 8);
    support_no_learning(c);
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    c->config.exchange.pieces = 3;
    const support_outcome *got = support_ok(c);
    double sum = 0;
    double mean = 0;
    double largest = 0;
    for (int age = 0; age < SUPPORT_AGES; age++) {
        ck_assert_double_ge(got->ages[age], 0);
        sum += got->ages[age];
        mean += got->ages[age] * age;
        largest = got->ages[age] > 0 ? age : largest;
    }
    if (got->result.n_ages > 0)
        ck_assert_double_eq_tol(sum, 1, 1e-12);
    ck_assert_double_eq_tol(mean, got->result.staleness_mean, 1e-12);
    ck_assert_double_eq(largest, got->result.staleness_max);
}
END_TEST

START_TEST(a_push_misses_one_update_of_every_other_worker)
{
    const int p = _i;
    const long steps = 12;
    support_case *c = support_new("a_psgd", p);
    support_imbalance_number(c, "ramp", "seconds", 0.001); /* always in the same order */
    c->config.until = (dsgd_until){0};
    c->config.steps_each = steps;
    c->config.exchange.pieces = 2;
    c->config.exchange.overlap = false; /* else all push their first piece before anyone fetches */
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.staleness_max, p - 1);
    /* In the first round the i-th to come misses the i - 1 before it. */
    const double last = (double)(p * (steps - 1) + 1) / (double)(p * steps);
    ck_assert_double_eq_tol(got->ages[p - 1], last, 1e-12);
    for (int age = 0; age < p - 1; age++)
        ck_assert_double_eq_tol(got->ages[age], 1.0 / (double)(p * steps), 1e-12);
}
END_TEST

/**
 * Three pieces that travel one after another for 0.8 s each: the first two come before the next
 * step, the third in its course.
 */
START_TEST(an_overlapped_push_waits_for_nothing_until_its_delay)
{
    support_case *c = support_new("osgp", 8);
    support_no_learning(c);
    c->workload.bytes = 24e9;
    c->config.exchange.pieces = 3;
    support_option(c, "delay", 3);
    support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.virtual_s, 20);
    ck_assert_double_eq(got->result.staleness_max, 3);
    support_option(c, "delay", 2); /* until the last piece has come */
    got = support_ok(c);
    ck_assert_double_gt(got->result.virtual_s, 20 + 8 * 0.4);
    ck_assert_double_eq(got->result.staleness_max, 2);
}
END_TEST

START_TEST(overlapped_push_is_one_step_old)
{
    support_case *c = support_new("osgp", 8);
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.staleness_max, 1);
    ck_assert_double_gt(got->ages[1], 0.99);
}
END_TEST

START_TEST(a_push_may_be_older_than_its_delay_where_rounds_end_sooner)
{
    support_case *c = support_new("osgp", 16);
    support_no_learning(c);
    dsgd_pick *const late = &c->imbalance[0];
    support_imbalance_number(c, "delay", "seconds", 3);
    support_set(late->about, late->params, "workers", 2);
    c->config.until.steps = 100;
    ck_assert_double_eq(support_ok(c)->result.staleness_max, 1);
    support_option(c, "delay", 2);
    ck_assert_double_gt(support_ok(c)->result.staleness_max, 2);
}
END_TEST

START_TEST(wagma_is_never_as_stale_as_its_period)
{
    static const int some_periods[] = {2, 4, 8};
    support_case *c = support_new("wagma", 16);
    support_no_learning(c);
    support_option(c, "period", some_periods[_i]);
    support_imbalance_number(c, "delay", "seconds",
                             20); /* one worker, so long that the others finish their round */
    c->config.until.steps = 64;
    const support_outcome *got = support_ok(c);
    ck_assert_double_gt(got->result.staleness_max, 0);
    ck_assert_double_lt(got->result.staleness_max, some_periods[_i]);
}
END_TEST

START_TEST(dasgd_uses_averages_d_steps_old)
{
    support_case *c = support_new("dasgd", 8);
    support_no_learning(c);
    support_option(c, "tau", 4);
    support_option(c, "d", _i);
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.staleness_mean, _i);
    ck_assert_double_eq(got->result.staleness_max, _i);
}
END_TEST

START_TEST(synchronous_sgd_is_never_stale)
{
    support_case *c = support_new("allreduce", 8);
    support_no_learning(c);
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    ck_assert_double_eq(support_ok(c)->result.staleness_max, 0);
}
END_TEST

Suite *staleness_suite(void)
{
    Suite *s = suite_create("staleness");
    TCase *t = tcase_create("staleness");
    tcase_set_timeout(t, 240);
    tcase_add_loop_test(t, histograms_agree_with_mean_and_largest, 0, support_n_algorithms());
    tcase_add_loop_test(t, a_push_misses_one_update_of_every_other_worker, 2, 9);
    tcase_add_test(t, an_overlapped_push_waits_for_nothing_until_its_delay);
    tcase_add_test(t, overlapped_push_is_one_step_old);
    tcase_add_test(t, a_push_may_be_older_than_its_delay_where_rounds_end_sooner);
    tcase_add_loop_test(t, wagma_is_never_as_stale_as_its_period, 0, 3);
    tcase_add_loop_test(t, dasgd_uses_averages_d_steps_old, 0, 5);
    tcase_add_test(t, synchronous_sgd_is_never_stale);
    suite_add_tcase(s, t);
    return s;
}
