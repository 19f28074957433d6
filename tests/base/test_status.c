/**
 * @file test_status.c
 * Broken contracts abort; words of a command line can be given to a shell again.
 */
#include "base/status.h"

#include <stdlib.h>

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

START_TEST(words_are_quoted_where_a_shell_would_split_them)
{
    char *command = dsgd_xstrdup("dsgd");
    for (const char *const *word = (const char *const[]){"run", "a b.yaml", "x=[1, 2]", "", "it's",
                                                         "$HOME", "lr=0.1:1:7", NULL};
         *word != NULL; word++)
        dsgd_append_word(&command, *word);
    ck_assert_str_eq(command, "dsgd run 'a b.yaml' 'x=[1, 2]' '' 'it'\\''s' '$HOME' lr=0.1:1:7");
    free(command);
}
END_TEST

Suite *status_suite(void)
{
    Suite *s = suite_create("status");
    TCase *t = tcase_create("status");
    tcase_add_test(t, a_broken_promise_aborts);
    tcase_add_test(t, words_are_quoted_where_a_shell_would_split_them);
    suite_add_tcase(s, t);
    return s;
}
