/**
 * @file test_status.c
 * Broken contracts abort.
 */
#include "base/status.h"
#include "tests/suites.h"
#include "tests/support/support.h"

static void break_promise(const void *number)
{
    DSGD_ASSERT(1 + 1 == 3, "arithmetic of %d", *(const int *)number);
}

START_TEST(a_broken_promise_aborts)
{
    const int two = 2;
    support_function_aborts(break_promise, &two, "1 + 1 == 3 does not hold: arithmetic of 2\n");
}
END_TEST

Suite *status_suite(void)
{
    Suite *s = suite_create("status");
    TCase *t = tcase_create("status");
    tcase_add_test(t, a_broken_promise_aborts);
    suite_add_tcase(s, t);
    return s;
}
