/**
 * @file test_scale.c
 * Every algorithm with thousands of workers: runs begin and end. Beyond 1,024 tables grow, beyond
 * 2,048 and 4,096 actors outgrow what the kernel maps by default.
 */
#include <string.h>

#include "tests/suites.h"
#include "tests/support/support.h"

/** A power of two, one more, and more actors than one process could have with guard pages. */
static const int counts[] = {1025, 2048, 4096};

enum { N_COUNTS = sizeof counts / sizeof counts[0] };

static support_case *large(const char *algorithm, int workers)
{
    support_case *c = support_new(algorithm, workers);
    support_no_learning(c);
    support_imbalance_number(c, "ramp", "seconds", 1e-4); /* who is how late, not at once */
    c->workload.bytes = 1e4; /* short: allreduces take the fewest messages */
    c->config.until.steps = 2;
    if (SUPPORT_SLOW) /* SimGrid's actors would be threads: too many */
        c->config.network = DSGD_NETWORK_NICS;
    return c;
}

START_TEST(two_steps_of_thousands_of_workers_end) /* _i: worker count, algorithm */
{
    const int n = support_n_algorithms();
    const support_outcome *got =
        support_simulate(large(dsgd_algorithms[_i % n]->name, counts[_i / n]));
    if (got->status == DSGD_EUSAGE) {
        ck_assert_ptr_nonnull(strstr(got->error.text, "would do, got 1025"));
        return;
    }
    ck_assert_msg(got->status == DSGD_OK, "%s", got->error.text);
    ck_assert_msg(got->result.outcome == DSGD_RUN_OK, "%s", got->result.why.text);
    ck_assert_double_eq(got->result.steps, 2);
}
END_TEST

/** 18 actors per worker. Nothing but their start is simulated. */
START_TEST(pieces_side_by_side_are_more_actors_than_guard_pages)
{
    support_case *c = large("eager_solo", 4096);
    c->config.exchange.pieces = 16;
    c->config.exchange.blocking = false;
    c->config.until = (dsgd_until){.seconds = 1e-3};
    ck_assert_double_eq(support_ok(c)->result.steps, 0);
}
END_TEST

START_TEST(eight_servers_of_a_thousand_workers_answer_side_by_side)
{
    support_case *c = large("easgd", 1025);
    support_option(c, "servers", 8);
    c->config.exchange.pieces = 4;
    c->config.exchange.blocking = false;
    ck_assert_double_eq(support_ok(c)->result.steps, 2);
}
END_TEST

/** With counts[from] to counts[to - 1] workers. */
static Suite *suite_of(const char *name, int from, int to)
{
    Suite *s = suite_create(name);
    TCase *t = tcase_create(name);
    const int n = support_n_algorithms();
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, two_steps_of_thousands_of_workers_end, from * n, to * n);
    if (from > 0)
        tcase_add_test(t, pieces_side_by_side_are_more_actors_than_guard_pages);
    else
        tcase_add_test(t, eight_servers_of_a_thousand_workers_answer_side_by_side);
    suite_add_tcase(s, t);
    return s;
}

Suite *scale_suite(void)
{
    return suite_of("scale", 0, 1);
}

Suite *scale_long_suite(void)
{
    return suite_of("scale_long", 1, N_COUNTS);
}
