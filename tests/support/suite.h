/**
 * @file suite.h
 * Macros that define and register a test in one place. A suite consists of the tests after SUITE()
 * in its file, up to the next SUITE(), in their order. CASE() begins a test case of Check within
 * the suite.
 *
 *     SUITE(graph, "neighbours", .seconds = 60);
 *
 *     TEST(a_ring_has_two_neighbours)
 *     {
 *         ...
 *     }
 *
 *     TEST_ROWS(shares_add_up_to_one, graphs) // once for each row; _i is its number
 *     {
 *         ...
 *     }
 */
#pragma once

#include <check.h>
#include <stdbool.h>
#include <string.h>

/** A registered item of a file: a test, the start of a test case, or the start of a suite. */
typedef struct suite_entry {
    const char *name; /* name of the test case; NULL if the entry is a test */
    /* name of the suite that starts with this test case; NULL if no suite starts here */
    const char *suite;
    /* time limit in seconds for each test of the test case; if 0, Check's default applies */
    double seconds;
    SFun set_up, tear_down; /* functions that run before and after each test; NULL if not needed */
    bool once; /* if true, set_up and tear_down run once for all tests, in the parent */
    const TTest *test;
    int from, to; /* the test runs once for each _i from `from` to to - 1 */
    int line;
    struct suite_entry *next;
} suite_entry;

/** Builds the suite with this name from the registered entries of a file. */
Suite *suite_of(const suite_entry *entries, const char *name);

#define SUITE_REGISTER(function, ...)                                                              \
    __attribute__((constructor)) static void function(void)                                        \
    {                                                                                              \
        static suite_entry entry;                                                                  \
        entry = (suite_entry){__VA_ARGS__, .line = __LINE__, .next = suite_entries};               \
        suite_entries = &entry;                                                                    \
    }

/** Starts a suite and its first test case. Further arguments initialize fields of suite_entry. */
#define SUITE(suite_name, ...)                                                                     \
    static suite_entry *suite_entries; /* the list of entries is complete before main() runs */    \
    SUITE_REGISTER(suite_name##_begin, .suite = #suite_name, .name = __VA_ARGS__)                  \
    Suite *suite_name##_suite(void);                                                               \
    Suite *suite_name##_suite(void)                                                                \
    {                                                                                              \
        return suite_of(suite_entries, #suite_name);                                               \
    }                                                                                              \
    _Static_assert(true, "")

/** Starts another test case of the current suite. */
#define CASE(...) CASE_AT(__LINE__, __VA_ARGS__)
#define CASE_AT(at, ...) CASE_NAMED(at, __VA_ARGS__)
#define CASE_NAMED(at, ...)                                                                        \
    SUITE_REGISTER(case_of_line_##at, .name = __VA_ARGS__)                                         \
    _Static_assert(true, "")

/**
 * Defines a test, whose body follows the macro. The test runs once for each _i from @p from_ to @p
 * to_ - 1.
 */
#define TEST_RANGE(test_name, from_, to_)                                                          \
    static void test_name##_body(int _i CK_ATTRIBUTE_UNUSED);                                      \
    static const TTest test_name##_test = {#test_name, test_name##_body, __FILE__, __LINE__};      \
    SUITE_REGISTER(test_name##_register, .test = &test_name##_test, .from = (int)(from_),          \
                   .to = (int)(to_))                                                               \
    static void test_name##_body(int _i CK_ATTRIBUTE_UNUSED)
#define TEST_ROWS(test_name, rows) TEST_RANGE(test_name, 0, sizeof rows / sizeof rows[0])
#define TEST(test_name) TEST_RANGE(test_name, 0, 1)

/** Fails the test unless the string @p text contains the string @p part. */
#define ck_assert_has(text, part)                                                                  \
    do {                                                                                           \
        const char *const text_ = (text);                                                          \
        const char *const part_ = (part);                                                          \
        ck_assert_msg(strstr(text_, part_) != NULL, "no `%s` in: %s", part_, text_);               \
    } while (0)
