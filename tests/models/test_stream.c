/**
 * @file test_stream.c
 * Tests the stream of samples. Each epoch must be a permutation of the data, and P workers together
 * must use the samples of one large batch.
 */
#include "tests/support/stream.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

SUITE(stream, "stream");

TEST(an_epoch_is_a_permutation)
{
    enum { N = 600, BATCH = 5, WORKERS = 4, STEPS = N / BATCH / WORKERS };
    const dsgd_stream stream = {9, N, WORKERS, BATCH};
    uint32_t first[N], moved = 0;
    for (uint32_t epoch = 0; epoch < 2; epoch++) {
        bool seen[N] = {false};
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t t = epoch * STEPS + i / (BATCH * WORKERS);
            const uint32_t at = stream_sample(&stream, i / BATCH % WORKERS, t, i % BATCH);
            ck_assert_uint_lt(at, N);
            ck_assert(!seen[at]);
            seen[at] = true;
            moved += epoch > 0 && first[i] != at;
            first[i] = at;
        }
    }
    /* the order in the second epoch differs from the order in the first epoch */
    ck_assert_uint_gt(moved, N * 9 / 10);
}

TEST(workers_see_what_one_large_batch_sees)
{
    const dsgd_stream many = {9, 1000, 6, 7}, one = {9, 1000, 1, 42};
    for (uint64_t t = 0; t < 60; t++)
        for (uint32_t i = 0; i < 42; i++)
            ck_assert_uint_eq(stream_sample(&many, i / 7, t, i % 7), stream_sample(&one, 0, t, i));
}

/**
 * Tests that a sampler draws the same samples as one call per sample. The calls include workers in
 * different steps, several workers in one call, and the ends of short epochs.
 */
TEST(many_mini_batches_are_those_drawn_sample_by_sample)
{
    const dsgd_stream streams[] = {{9, 1000, 6, 7}, {9, 3, 6, 7}, {1, 60000, 1025, 16}};
    for (size_t k = 0; k < sizeof streams / sizeof streams[0]; k++) {
        const dsgd_stream *const stream = &streams[k];
        dsgd_sampler *const sampler = dsgd_sampler_new(stream);
        for (uint64_t i = 0; i < 3000; i++) {
            const uint32_t w = (uint32_t)(i * 7 % stream->n_workers);
            const uint64_t t = i / 100 + i * i % 5 + (i % 50 == 0 ? (uint64_t)1 << 40 : 0);
            const uint32_t batch = stream->batch, count = 1 + (uint32_t)(i % (3ull * batch));
            uint32_t indices[3 * 16];
            dsgd_sampler_draw(sampler, w, t, count, indices);
            for (uint32_t j = 0; j < count; j++)
                ck_assert_uint_eq(indices[j], stream_sample(stream, w + j / batch, t, j % batch));
        }
        dsgd_sampler_free(sampler);
    }
}

/**
 * Tests the number of rows in a mini-batch, for samples with different lengths and for samples of
 * full length.
 */
TEST(rows_are_those_of_the_samples)
{
    enum { N = 1000 };
    const dsgd_stream stream = {9, N, 6, 7};
    uint16_t lengths[N];
    for (uint32_t i = 0; i < N; i++)
        lengths[i] = (uint16_t)(1 + i * i % 97);
    dsgd_data data = {.n_rows = 100, .train = {.n = N, .lengths = lengths}};
    dsgd_sampler *const sampler = dsgd_sampler_new(&stream);
    double rows = 0, longest = 0;
    for (uint64_t t = 0; t < 100; t++) {
        uint16_t sum = 0, most = 0;
        for (uint32_t j = 0; j < stream.batch; j++) {
            const uint16_t n = lengths[stream_sample(&stream, 5, t, j)];
            sum = (uint16_t)(sum + n);
            most = n > most ? n : most;
        }
        dsgd_sampler_rows(sampler, &data, 5, t, &rows, &longest);
        ck_assert_double_eq(rows, sum);
        ck_assert_double_eq(longest, most);
    }
    data.train.lengths = NULL;
    dsgd_sampler_rows(sampler, &data, 5, 1, &rows, &longest);
    ck_assert_double_eq(rows, 700);
    ck_assert_double_eq(longest, 100);
    dsgd_sampler_free(sampler);
}
