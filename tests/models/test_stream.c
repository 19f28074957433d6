/**
 * @file test_stream.c
 * The stream of samples: epochs are permutations, and P workers together see one large batch.
 */
#include <stdint.h>

#include "tests/suites.h"
#include "tests/support/support.h"

START_TEST(an_epoch_is_a_permutation)
{
    enum { N = 600, BATCH = 5, WORKERS = 4, STEPS = N / BATCH / WORKERS };
    const dsgd_stream stream = {9, N, WORKERS, BATCH};
    uint32_t first[N];
    uint32_t moved = 0;
    for (uint32_t epoch = 0; epoch < 2; epoch++) {
        bool seen[N] = {false};
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t t = epoch * STEPS + i / (BATCH * WORKERS);
            const uint32_t at = dsgd_stream_sample(&stream, i / BATCH % WORKERS, t, i % BATCH);
            ck_assert_uint_lt(at, N);
            ck_assert(!seen[at]);
            seen[at] = true;
            moved += epoch > 0 && first[i] != at;
            first[i] = at;
        }
    }
    ck_assert_uint_gt(moved, N * 9 / 10); /* the second epoch is a permutation of its own */
}
END_TEST

START_TEST(workers_see_what_one_large_batch_sees)
{
    const dsgd_stream many = {9, 1000, 6, 7};
    const dsgd_stream one = {9, 1000, 1, 42};
    for (uint64_t t = 0; t < 60; t++)
        for (uint32_t i = 0; i < 42; i++)
            ck_assert_uint_eq(dsgd_stream_sample(&many, i / 7, t, i % 7),
                              dsgd_stream_sample(&one, 0, t, i));
}
END_TEST

Suite *stream_suite(void)
{
    Suite *s = suite_create("stream");
    TCase *t = tcase_create("stream");
    tcase_add_test(t, an_epoch_is_a_permutation);
    tcase_add_test(t, workers_see_what_one_large_batch_sees);
    suite_add_tcase(s, t);
    return s;
}
