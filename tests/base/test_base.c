/**
 * @file test_base.c
 * Random numbers are pure functions with known answers; names and numbers are read as people write them.
 */
#include <Random123/philox.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/draw.h"
#include "base/option.h"
#include "base/round.h"
#include "base/status.h"
#include "tests/suites.h"

START_TEST(philox_gives_its_known_answers)
{
    /* Random123's kat_vectors for philox4x32-10: all zeros. */
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
END_TEST

START_TEST(every_coordinate_of_a_draw_matters)
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
END_TEST

static const uint32_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 100, 1023, 1024, 60000};

START_TEST(a_permutation_takes_every_place_once)
{
    const uint32_t n = sizes[_i];
    bool *const taken = dsgd_xcalloc(n, sizeof *taken);
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
        ck_assert_uint_lt(at_home, 12); /* about one fixed point on average */
    free(taken);
}
END_TEST

START_TEST(uniform_draws_have_the_moments_of_the_uniform)
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
END_TEST

static const struct {
    const char *text, *unit;
    double number; /* NAN: refused */
} numbers[] = {
    {"320ms", "s", 0.32},
    {"25us", "s", 25e-6},
    {"2min", "s", 120},
    {"1.5", "s", 1.5},
    {"16M", "bytes", 16e6},
    {"4KiB", "bytes", 4096},
    {"10GB/s", "bytes/s", 1e10},
    {"1e-9", NULL, 1e-9},
    {"", "s", NAN},
    {" 1", "s", NAN},
    {"1 s", "s", NAN},
    {"5 apples", "s", NAN},
    {"nan", NULL, NAN},
    {"inf", "s", NAN},
    {"0x10", NULL, NAN},
    {"1e999", NULL, NAN},
    {"3ms", "bytes", NAN},
    {"3ms", NULL, NAN},
    {"-2", NULL, -2},
};

START_TEST(numbers_are_read_with_their_units)
{
    double got = 0;
    const bool read = dsgd_parse_number(numbers[_i].text, numbers[_i].unit, &got);
    ck_assert_msg(read == !isnan(numbers[_i].number), "\"%s\"", numbers[_i].text);
    if (read)
        ck_assert_double_eq_tol(got, numbers[_i].number, 1e-15 * fabs(got));
}
END_TEST

START_TEST(the_nearest_name_is_the_one_that_was_meant)
{
    static const char *const names[] = {"allreduce", "eager_solo", "wagma", "ad_psgd", NULL};
    ck_assert_str_eq(dsgd_nearest("wagam", names), "wagma");
    ck_assert_str_eq(dsgd_nearest("allredcue", names), "allreduce");
    ck_assert_str_eq(dsgd_nearest("AD_PSGD", names), "ad_psgd");
    ck_assert_ptr_null(dsgd_nearest("zookeeper", names));
    char *const texts[] = {dsgd_hint("wagam", names), dsgd_hint("zookeeper", names),
                           dsgd_listed((const char *const[]){"a", "b", "c", NULL}, " or "),
                           dsgd_listed(NULL, ", ")};
    const char *const expected[] = {"; did you mean `wagma`?", "", "a, b or c", ""};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        ck_assert_str_eq(texts[k], expected[k]);
        free(texts[k]);
    }
}
END_TEST

START_TEST(what_is_whole_up_to_rounding_stays)
{
    ck_assert_double_gt(0.07 * 100, 7);
    ck_assert_double_eq(dsgd_ceil(0.07 * 100), 7);
    ck_assert_double_eq(dsgd_ceil(7.0000001), 8);
    ck_assert_double_lt(0.3 / 0.1, 3);
    ck_assert_double_eq(dsgd_floor(0.3 / 0.1), 3);
    ck_assert_double_eq(dsgd_floor(2.9999999), 2);
    ck_assert_double_eq(dsgd_ceil(0), 0);
    ck_assert_double_eq(dsgd_ceil(1e-300), 1);
    ck_assert(isinf(dsgd_floor(INFINITY)));
}
END_TEST

START_TEST(a_broken_promise_aborts)
{
    DSGD_ASSERT(1 + 1 == 3, "arithmetic of %d", 2);
}
END_TEST

Suite *base_suite(void)
{
    Suite *s = suite_create("base");
    TCase *t = tcase_create("base");
    tcase_add_test(t, philox_gives_its_known_answers);
    tcase_add_test(t, every_coordinate_of_a_draw_matters);
    tcase_add_loop_test(t, a_permutation_takes_every_place_once, 0, 11);
    tcase_add_test(t, uniform_draws_have_the_moments_of_the_uniform);
    tcase_add_loop_test(t, numbers_are_read_with_their_units, 0,
                        sizeof numbers / sizeof numbers[0]);
    tcase_add_test(t, the_nearest_name_is_the_one_that_was_meant);
    tcase_add_test(t, what_is_whole_up_to_rounding_stays);
    tcase_add_test_raise_signal(t, a_broken_promise_aborts, SIGABRT);
    suite_add_tcase(s, t);
    return s;
}
