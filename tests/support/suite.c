/**
 * @file suite.c
 * Builds a suite of Check from the registered tests of a file.
 */
#include "tests/support/suite.h"

#include <stdlib.h>

enum { MOST_ENTRIES = 200 };

static int by_line(const void *a, const void *b)
{
    return (*(const suite_entry *const *)a)->line - (*(const suite_entry *const *)b)->line;
}

static TCase *case_of(const suite_entry *e)
{
    TCase *const t = tcase_create(e->name);
    if (e->seconds > 0)
        tcase_set_timeout(t, e->seconds);
    if (e->once)
        tcase_add_unchecked_fixture(t, e->set_up, e->tear_down);
    else
        tcase_add_checked_fixture(t, e->set_up, e->tear_down);
    return t;
}

Suite *suite_of(const suite_entry *entries, const char *name)
{
    const suite_entry *all[MOST_ENTRIES];
    size_t n = 0;
    for (const suite_entry *e = entries; e != NULL; e = e->next) {
        if (n == MOST_ENTRIES)
            abort();
        all[n++] = e;
    }
    qsort(all, n, sizeof all[0], by_line);
    Suite *const s = suite_create(name);
    TCase *t = NULL;
    for (size_t i = 0; i < n; i++) {
        if (all[i]->suite != NULL && strcmp(all[i]->suite, name) != 0)
            t = NULL;
        else if (all[i]->suite != NULL || (all[i]->name != NULL && t != NULL))
            suite_add_tcase(s, t = case_of(all[i]));
        else if (t != NULL)
            tcase_add_loop_test(t, all[i]->test, all[i]->from, all[i]->to);
    }
    return s;
}
