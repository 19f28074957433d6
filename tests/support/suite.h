/**
 * @file suite.h
 * Tests that are named once: where they stand. A suite is the tests of its file behind SUITE(), up
 * to the next one, in their order; CASE() begins a test case of Check within it.
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

/** A test, or the beginning of a test case, or of a suite. */
typedef struct suite_entry {
    const char *name; /* of a case; NULL: a test */
    const char *suite; /* that the case begins; NULL: none */
    double seconds; /* limit of a test of the case; 0: Check's */
    SFun set_up, tear_down; /* of each test; may be NULL */
    bool once; /* of all tests together, in the parent of their processes */
    const TTest *test;
    int from, to; /* a test runs for _i = from .. to - 1 */
    int line;
    struct suite_entry *next;
} suite_entry;

/** The suite of that name among a file's entries. */
Suite *suite_of(const suite_entry *entries, const char *name);

#define SUITE_REGISTER(function, ...)                                                              \
    __attribute__((constructor)) static void function(void)                                        \
    {                                                                                              \
        static suite_entry entry;                                                                  \
        entry = (suite_entry){__VA_ARGS__, .line = __LINE__, .next = suite_entries};               \
        suite_entries = &entry;                                                                    \
    }

/** A suite and its first case, with fields of suite_entry. */
#define SUITE(suite_name, ...)                                                                     \
    static suite_entry *suite_entries; /* of this file, which register before main() */            \
    SUITE_REGISTER(suite_name##_begin, .suite = #suite_name, .name = __VA_ARGS__)                  \
    Suite *suite_name##_suite(void);                                                               \
    Suite *suite_name##_suite(void)                                                                \
    {                                                                                              \
        return suite_of(suite_entries, #suite_name);                                               \
    }                                                                                              \
    _Static_assert(true, "")

/** One more case of the suite. */
#define CASE(...) CASE_AT(__LINE__, __VA_ARGS__)
#define CASE_AT(at, ...) CASE_NAMED(at, __VA_ARGS__)
#define CASE_NAMED(at, ...)                                                                        \
    SUITE_REGISTER(case_of_line_##at, .name = __VA_ARGS__)                                         \
    _Static_assert(true, "")

/** The body follows; in it, _i goes from the first number to below the second. */
#define TEST_RANGE(test_name, from_, to_)                                                          \
    static void test_name##_body(int _i CK_ATTRIBUTE_UNUSED);                                      \
    static const TTest test_name##_test = {#test_name, test_name##_body, __FILE__, __LINE__};      \
    SUITE_REGISTER(test_name##_register, .test = &test_name##_test, .from = (int)(from_),          \
                   .to = (int)(to_))                                                               \
    static void test_name##_body(int _i CK_ATTRIBUTE_UNUSED)
#define TEST_ROWS(test_name, rows) TEST_RANGE(test_name, 0, sizeof rows / sizeof rows[0])
#define TEST(test_name) TEST_RANGE(test_name, 0, 1)

/** A text has a part. */
#define ck_assert_has(text, part)                                                                  \
    do {                                                                                           \
        const char *const text_ = (text);                                                          \
        const char *const part_ = (part);                                                          \
        ck_assert_msg(strstr(text_, part_) != NULL, "no `%s` in: %s", part_, text_);               \
    } while (0)
