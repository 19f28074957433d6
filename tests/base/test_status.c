/**
 * @file test_status.c
 * Broken contracts abort.
 */
#include <signal.h>

#include "base/status.h"
#include "tests/suites.h"

START_TEST(a_broken_promise_aborts)
{
    DSGD_ASSERT(1 + 1 == 3, "arithmetic of %d", 2);
}
END_TEST

Suite *status_suite(void)
{
    Suite *s = suite_create("status");
    TCase *t = tcase_create("status");
    tcase_add_test_raise_signal(t, a_broken_promise_aborts, SIGABRT);
    suite_add_tcase(s, t);
    return s;
}
