/**
 * @file test_draw.c
 * Tests that random numbers are pure functions with known answers.
 */
#include <Random123/philox.h>

#include "base/draw.h"
#include "base/status.h"
#include "tests/support/suite.h"

SUITE(draw, "draw");

TEST(philox_gives_known_answers)
{
    /*
     * These numbers are the known answers of Random123 (file kat_vectors) for philox4x32-10 with
     * zeros as counter and key.
     */
    const philox4x32_ctr_t counter = {{0, 0, 0, 0}};
    const philox4x32_key_t key = {{0, 0}};
    const philox4x32_ctr_t zero = philox4x32(counter, key);
    ck_assert_uint_eq(zero.v[0], 0x6627e8d5);
    ck_assert_uint_eq(zero.v[1], 0xe169c58d);
    ck_assert_uint_eq(zero.v[2], 0xbc57ac4c);
    ck_assert_uint_eq(zero.v[3], 0x9b00dbd8);
    const double first = dsgd_draw_uniform((dsgd_draw){0, 0, 0, 0, 0});
    const uint64_t bits = 0x6627e8d5e169c58du;
    ck_assert_double_eq(first, ((double)(bits >> 11) + 0.5) * 0x1p-53);
    ck_assert_uint_eq(dsgd_draw_below((dsgd_draw){0, 0, 0, 0, 0}, 1000), 399); /* 0.39904 * 1000 */
}

TEST(every_coordinate_of_a_draw_matters)
{
    const dsgd_draw at = {1, 2, 3, 4, 5};
    dsgd_draw others[5] = {at, at, at, at, at};
    others[0].seed++;
    others[1].purpose++;
    others[2].worker++;
    others[3].step++;
    others[4].index++;
    for (int i = 0; i < 5; i++)
        ck_assert_double_ne(dsgd_draw_uniform(at), dsgd_draw_uniform(others[i]));
}

TEST(many_draws_equal_single_draws)
{
    double u[5] = {0, 0, 0, 0, 2};
    dsgd_draw at = {1, 2, 3, 4, UINT32_MAX - 1}; /* in this draw, the index wraps around */
    dsgd_draw_uniforms(at, 4, u);
    for (int i = 0; i < 4; i++, at.index++)
        ck_assert_double_eq(u[i], dsgd_draw_uniform(at));
    ck_assert_double_eq(u[4], 2);
}

static const uint32_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 100, 1023, 1024, 60000};

TEST_RANGE(a_permutation_takes_every_place_once, 0, 11)
{
    const uint32_t n = sizes[_i];
    bool *const taken = dsgd_keep(n, sizeof *taken);
    uint32_t at_home = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t image =
            dsgd_draw_permuted((dsgd_draw){.seed = 7, .purpose = 1, .step = 9}, n, i);
        ck_assert_uint_lt(image, n);
        ck_assert(!taken[image]);
        taken[image] = true;
        ck_assert_uint_eq(
            dsgd_draw_place((dsgd_draw){.seed = 7, .purpose = 1, .step = 9}, n, image), i);
        at_home += image == i;
    }
    if (n >= 100)
        ck_assert_uint_lt(at_home, 12); /* a random permutation has about one fixed point */
}

/**
 * Tests draws in order and out of order. The number of permutations in use is larger than the
 * number that the permuter keeps in memory.
 */
TEST_RANGE(many_images_equal_single_images, 0, 17)
{
    enum { DRAWS = 20000 };
    static const uint32_t large[] = {65535, 65536, 65537, 1281167, 1u << 30, UINT32_MAX};
    const uint32_t n = _i < (int)(sizeof sizes / sizeof sizes[0])
                           ? sizes[_i]
                           : large[_i - (int)(sizeof sizes / sizeof sizes[0])];
    const dsgd_draw at = {.seed = 0x123456789abcdefu, .purpose = 1, .worker = 3, .step = 77};
    dsgd_permuter *const permuter = dsgd_permuter_new(at, n);
    for (uint32_t k = 0; k < DRAWS; k++) {
        dsgd_draw now = at;
        now.step = k % 3 == 0 ? k / 5000 : k % 7 == 0 ? UINT32_MAX - k % 2 : k % 6;
        const uint32_t i =
            k % 2 == 0 ? k % n : (uint32_t)dsgd_draw_below((dsgd_draw){.seed = 5, .index = k}, n);
        uint32_t images[3];
        const uint32_t together = n - i < 3 ? n - i : 3;
        dsgd_permuter_images(permuter, now.step, i, together, images);
        for (uint32_t j = 0; j < together; j++)
            ck_assert_uint_eq(images[j], dsgd_draw_permuted(now, n, i + j));
    }
    free(permuter);
}

TEST(uniform_draws_have_the_moments_of_the_uniform)
{
    double sum = 0;
    double squares = 0;
    enum { N = 100000 };
    for (uint32_t i = 0; i < N; i++) {
        const double u = dsgd_draw_uniform((dsgd_draw){.seed = 3, .index = i});
        ck_assert(u > 0 && u < 1);
        sum += u;
        squares += u * u;
    }
    ck_assert_double_eq_tol(sum / N, 0.5, 5 / sqrt(12.0 * N));
    ck_assert_double_eq_tol(squares / N, 1.0 / 3, 0.005);
}
