/**
 * @file set.h
 * A macro that sets several fields of a test case at once.
 */
#pragma once

/**
 * Assigns several fields of @p c. SET(c, workload.bytes = 8, config.until.steps = 20) means
 * c->workload.bytes = 8; c->config.until.steps = 20. The macro takes 2 to 12 assignments, and
 * evaluates @p c once for each assignment. An initializer with a comma needs parentheses.
 */
#define SET(c, ...)                                                                                \
    do {                                                                                           \
        SET_COUNTED(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)(c, __VA_ARGS__);           \
    } while (0)
#define SET_COUNTED(a, b, c, d, e, f, g, h, i, j, k, l, n, ...) SET_##n
#define SET_1(c, a) (c)->a
#define SET_2(c, a, ...) (c)->a, SET_1(c, __VA_ARGS__)
#define SET_3(c, a, ...) (c)->a, SET_2(c, __VA_ARGS__)
#define SET_4(c, a, ...) (c)->a, SET_3(c, __VA_ARGS__)
#define SET_5(c, a, ...) (c)->a, SET_4(c, __VA_ARGS__)
#define SET_6(c, a, ...) (c)->a, SET_5(c, __VA_ARGS__)
#define SET_7(c, a, ...) (c)->a, SET_6(c, __VA_ARGS__)
#define SET_8(c, a, ...) (c)->a, SET_7(c, __VA_ARGS__)
#define SET_9(c, a, ...) (c)->a, SET_8(c, __VA_ARGS__)
#define SET_10(c, a, ...) (c)->a, SET_9(c, __VA_ARGS__)
#define SET_11(c, a, ...) (c)->a, SET_10(c, __VA_ARGS__)
#define SET_12(c, a, ...) (c)->a, SET_11(c, __VA_ARGS__)
