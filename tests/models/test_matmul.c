/**
 * @file test_matmul.c
 * Tests small matrix products at every instruction set level of this machine. The tests compare
 * products with sums in long double. They also compare selected bits with the same operations,
 * executed one after another.
 */
#include <check.h>

#include "models/devices/multiply.h"
#include "tests/support/rig.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- instruction set levels ------------------------------------------------------------------- */

typedef DSGD_MULTIPLY(float, (*multiply_float));
typedef DSGD_MULTIPLY(double, (*multiply_double));

/**
 * The products of one instruction set level. `here` is true if this machine has the level, and
 * `fused` is true if the level uses fused multiply-add.
 */
typedef struct level {
    const char *name;
    bool here, fused;
    multiply_float in_float;
    multiply_double in_double;
} level;

static int levels(level *found)
{
    found[0] = (level){"base", true, false, dsgd_multiply_float_base, dsgd_multiply_double_base};
#ifdef __x86_64__
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
    found[1] = (level){"v3", v3, true, dsgd_multiply_float_v3, dsgd_multiply_double_v3};
    found[2] = (level){"v4",
                       v3 && __builtin_cpu_supports("avx512vl") &&
                           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"),
                       true, dsgd_multiply_float_v4, dsgd_multiply_double_v4};
    return 3;
#else
    return 1;
#endif
}

/* --- Functions that compute and check a product ----------------------------------------------- */

/** The sizes of a matrix product, and the strides of its operands. */
typedef struct shape {
    size_t m, n, k;
    size_t a_row, a_column, b_row, b_column, c_row;
    /*
     * if `adds` is true, C is added; if `biased` is true, a row is added and the result is max(C,
     * 0)
     */
    bool adds, biased;
} shape;

#define OPERANDS(p, at_a, at_b, at_c, row)                                                         \
    {                                                                                              \
        .m = (p)->m, .n = (p)->n, .k = (p)->k, .a = (at_a), .b = (at_b), .c = (at_c),              \
        .a_row = (p)->a_row, .a_column = (p)->a_column, .b_row = (p)->b_row,                       \
        .b_column = (p)->b_column, .c_row = (p)->c_row,                                            \
        .s = (p)->biased ? (row)                                                                   \
             : (p)->adds ? (at_c)                                                                  \
                         : NULL,                                                                   \
        .s_row = (p)->biased ? 0 : (p)->c_row, .relu = (p)->biased                                 \
    }

enum {
    ROOM = 1 << 16,
    GUARD = 64,
    EVERY = 7 /* the test compares the bits of every 7th element */
};

/**
 * The matrices A, B and C before the product, and the result. GUARD numbers before and after C must
 * not change.
 */
typedef struct sheet {
    double a[ROOM], b[ROOM], c[ROOM + 2 * GUARD], result[ROOM + 2 * GUARD];
} sheet;

static sheet *sheet_new(void)
{
    sheet *const s = dsgd_xcalloc(1, sizeof *s);
    for (size_t i = 0; i < ROOM; i++) {
        /* Both precisions use the same numbers, which a float can represent exactly. */
        s->a[i] = (double)(float)(rig_number(1, i) - 0.5);
        s->b[i] = (double)(float)(rig_number(2, i) - 0.5);
    }
    for (size_t i = 0; i < ROOM + 2 * GUARD; i++)
        s->c[i] = (double)(float)(rig_number(3, i) - 0.5);
    return kept(s);
}

/** Returns the number of elements in the memory of C, including the guards on both sides. */
static size_t size_of_c(const shape *p)
{
    return (p->m == 0 ? 0 : (p->m - 1) * p->c_row + p->n) + 2 * GUARD;
}

/**
 * Computes the product in float or in double, and writes the result to s->result. The operands have
 * memory of exactly the required size.
 */
static void run(const level *l, bool in_double, const shape *p, sheet *s)
{
    const size_t n_a = p->m * p->k == 0 ? 0 : (p->m - 1) * p->a_row + (p->k - 1) * p->a_column + 1;
    const size_t n_b = p->n * p->k == 0 ? 0 : (p->k - 1) * p->b_row + (p->n - 1) * p->b_column + 1;
    const size_t n_c = size_of_c(p);
    ck_assert(n_a <= ROOM && n_b <= ROOM && n_c <= ROOM + 2 * GUARD);
    memcpy(s->result, s->c, n_c * sizeof *s->c);
    if (in_double) {
        /* The arrays have the exact size, so a sanitizer detects accesses outside them. */
        double *const a = dsgd_xcalloc(n_a, sizeof *a);
        double *const b = dsgd_xcalloc(n_b, sizeof *b);
        memcpy(a, s->a, n_a * sizeof *a);
        memcpy(b, s->b, n_b * sizeof *b);
        double *const row = dsgd_xcalloc(p->n, sizeof *row);
        memcpy(row, s->c + GUARD, p->n * sizeof *row);
        const dsgd_operands_double o = OPERANDS(p, a, b, s->result + GUARD, row);
        l->in_double(&o, NULL);
        free(a), free(b), free(row);
        return;
    }
    float *const a = dsgd_xcalloc(n_a, sizeof *a), *const b = dsgd_xcalloc(n_b, sizeof *b);
    float *const c = dsgd_xcalloc(n_c, sizeof *c);
    for (size_t i = 0; i < n_a; i++)
        a[i] = (float)s->a[i];
    for (size_t i = 0; i < n_b; i++)
        b[i] = (float)s->b[i];
    for (size_t i = 0; i < n_c; i++)
        c[i] = (float)s->c[i];
    float *const row = dsgd_xcalloc(p->n, sizeof *row);
    for (size_t j = 0; j < p->n; j++)
        row[j] = (float)s->c[GUARD + j];
    /* Memory to prefetch, which affects only the speed. */
    dsgd_ahead ahead = {(const char *)s->b, n_b * sizeof *s->b};
    const dsgd_operands_float o = OPERANDS(p, a, b, c + GUARD, row);
    l->in_float(&o, &ahead);
    ck_assert(ahead.at + ahead.bytes == (const char *)(s->b + n_b));
    for (size_t i = 0; i < n_c; i++)
        s->result[i] = (double)c[i];
    free(a), free(b), free(c), free(row);
}

/**
 * Returns the value to which products are added for the element of C at index @p at, in column @p
 * j.
 */
static double start_of(const shape *p, const sheet *s, size_t j, size_t at)
{
    return p->biased ? s->c[GUARD + j] : p->adds ? s->c[at] : 0;
}

/**
 * Returns element (i, j) of C, at index @p at, with the bits that the level guarantees. Terms are
 * added in the order of k, with one rounding per term if the level is fused, otherwise with two.
 */
static double promised(const level *l, bool in_double, const shape *p, const sheet *s, size_t i,
                       size_t j, size_t at)
{
    double sum = start_of(p, s, j, at);
    for (size_t k = 0; k < p->k; k++) {
        const double a = s->a[i * p->a_row + k * p->a_column];
        const double b = s->b[k * p->b_row + j * p->b_column];
        if (in_double)
            sum = l->fused ? fma(a, b, sum) : a * b + sum;
        else if (l->fused)
            sum = (double)fmaf((float)a, (float)b, (float)sum);
        else
            sum = (double)((float)a * (float)b + (float)sum);
    }
    return p->biased && sum < 0 ? 0 : sum;
}

/**
 * Checks all elements of C. Each must be near the exact sum, with an error of k roundings at most.
 * Selected elements must have the guaranteed bits, and nothing outside C may change.
 */
static void demand_product(const level *l, bool in_double, const shape *p, const sheet *s)
{
    const double unit = in_double ? 1.2e-16 : 6e-8;
    static bool written[ROOM + 2 * GUARD];
    const size_t n_c = size_of_c(p);
    memset(written, 0, n_c * sizeof *written);
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            const size_t at = GUARD + i * p->c_row + j;
            long double sum = (long double)start_of(p, s, j, at);
            for (size_t k = 0; k < p->k; k++)
                sum += (long double)s->a[i * p->a_row + k * p->a_column] *
                       (long double)s->b[k * p->b_row + j * p->b_column];
            sum = p->biased && sum < 0 ? 0 : sum;
            const double tolerance = unit * (double)(p->k + 1) * (0.5 + 0.25 * (double)p->k);
            if (!(fabs(s->result[at] - (double)sum) <= tolerance))
                ck_abort_msg("%s %s, %zu x %zu x %zu: element %zu, %zu is %.17g, but %.17g",
                             l->name, in_double ? "double" : "float", p->m, p->n, p->k, i, j,
                             s->result[at], (double)sum);
            const double exactly =
                (i + j) % EVERY == 0 ? promised(l, in_double, p, s, i, j, at) : s->result[at];
            if (memcmp(&exactly, &s->result[at], sizeof exactly) != 0)
                ck_abort_msg("%s %s, %zu x %zu x %zu: element %zu, %zu is %a, which has other bits "
                             "than %a",
                             l->name, in_double ? "double" : "float", p->m, p->n, p->k, i, j,
                             s->result[at], exactly);
            written[at] = true;
        }
    for (size_t i = 0; i < n_c; i++)
        if (!written[i] && s->result[i] != s->c[i])
            ck_abort_msg("%s, %zu x %zu x %zu: wrote beside C", l->name, p->m, p->n, p->k);
}

/**
 * Checks the product at every level and in both precisions. Levels with fused multiply-add must
 * give equal bits.
 */
static void try_everywhere(const shape *p, sheet *s)
{
    static double before[2][ROOM + 2 * GUARD];
    const size_t bytes = size_of_c(p) * sizeof(double);
    level found[3];
    const int n = levels(found);
    bool any[2] = {false, false};
    for (int i = 0; i < n; i++)
        for (int in_double = 0; in_double < 2 && found[i].here; in_double++) {
            run(&found[i], in_double, p, s);
            demand_product(&found[i], in_double, p, s);
            if (found[i].fused && any[in_double])
                ck_assert_msg(memcmp(before[in_double], s->result, bytes) == 0,
                              "%zu x %zu x %zu: %s has other bits", p->m, p->n, p->k,
                              found[i].name);
            if (found[i].fused) {
                memcpy(before[in_double], s->result, bytes);
                any[in_double] = true;
            }
        }
}

/**
 * Returns a product whose operands may be transposed, or have @p gap unused elements in each row.
 * Bits of @p start select a sum with C and a bias.
 */
static shape shape_of(size_t m, size_t n, size_t k, bool a_turned, bool b_turned, size_t gap,
                      int start)
{
    return (shape){.m = m,
                   .n = n,
                   .k = k,
                   .a_row = a_turned ? 1 : k + gap,
                   .a_column = a_turned ? m + gap : 1,
                   .b_row = b_turned ? 1 : n + gap,
                   .b_column = b_turned ? k + gap : 1,
                   .c_row = n + gap,
                   .adds = (start & 4) != 0,
                   .biased = (start & 16) != 0};
}

/* --- tests ------------------------------------------------------------------------------------ */

SUITE(matmul, "products", .seconds = 120);

/**
 * The bits of the loop variable _i select transposed operands (1, 2), a sum with C (4), rows with
 * gaps (8), and a bias with a ReLU (16).
 */
TEST_RANGE(products_are_sums_of_products, 0, 32)
{
    static const size_t sizes[] = {0,  1,  2,  3,  4,  5,  7,  8,  9, 15,
                                   16, 17, 31, 32, 33, 63, 64, 65, 70};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    sheet *const s = sheet_new();
    const size_t step = SUPPORT_SLOW ? 5 : 1;
    for (size_t i = 0; i < SIZES; i++)
        for (size_t j = 0; j < SIZES; j++)
            /* For each pair of sizes, tests a third of all k, or all k if both sizes are small. */
            for (size_t k = 0; k < SIZES; k++) {
                if ((i + j + k) % (i + j < 10 ? 1 : 3) != 0 || (i * 7 + j * 3 + k) % step != 0)
                    continue;
                const shape p =
                    shape_of(sizes[i], sizes[j], sizes[k], _i & 1, _i & 2, _i & 8 ? 3 : 0, _i);
                try_everywhere(&p, s);
            }
}

/* The bits of the loop variable _i have the same meaning as in the test above. */
TEST_RANGE(long_sums_are_split_and_continued, 0, 32)
{
    /*
     * The product reads 256 rows of B at once. It prefetches B if rows of B are contiguous and
     * wider than a tile.
     */
    static const size_t depths[] = {255, 256, 257, 300, 511, 512, 513, 700};
    sheet *const s = sheet_new();
    for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++)
        for (size_t n = 1; n <= 70; n += n < 33 ? 8 : 37)
            for (size_t m = 1; m <= 9; m += 4) {
                const shape p = shape_of(m, n, depths[d], _i & 1, _i & 2, _i & 8 ? 2 : 0, _i);
                try_everywhere(&p, s);
            }
}

TEST(a_row_may_be_read_again_and_again)
{
    /*
     * This product sums the columns of B. The matrix A consists of a single 1, which strides of 0
     * repeat.
     */
    sheet *const s = sheet_new();
    for (size_t n = 1; n <= 70; n += 3) {
        const shape ones = {1, n, 33, 0, 0, n, 1, n, false, false};
        try_everywhere(&ones, s);
        const shape column = {5, n, 33, 0, 1, n, 1, n, true, false};
        try_everywhere(&column, s);
    }
}

TEST(element_bits_do_not_depend_on_the_product_around_it)
{
    /*
     * Tests one row of a product with 11 rows against a product with only this row. Also tests the
     * first columns against a product with only these columns.
     */
    sheet *const s = sheet_new();
    level found[3];
    const int n_levels = levels(found);
    for (int l = 0; l < n_levels; l++)
        for (int in_double = 0; in_double < 2 && found[l].here; in_double++)
            for (size_t n = 1; n <= 70; n++) {
                static double whole[70];
                const shape many = shape_of(11, n, 37, false, false, 0, 0);
                run(&found[l], in_double, &many, s);
                memcpy(whole, s->result + GUARD, n * sizeof *whole);
                shape one = many;
                one.m = 1;
                run(&found[l], in_double, &one, s);
                ck_assert_mem_eq(s->result + GUARD, whole, n * sizeof *whole);
                one.n = (n + 1) / 2; /* this product has fewer columns of the same matrix B */
                run(&found[l], in_double, &one, s);
                ck_assert_mem_eq(s->result + GUARD, whole, one.n * sizeof *whole);
            }
}

TEST(nan_spreads_along_its_row_and_column_only)
{
    level found[3];
    const int n_levels = levels(found);
    for (int l = 0; l < n_levels; l++) {
        if (!found[l].here)
            continue;
        enum { M = 9, N = 35, K = 5 };
        float a[M * K] = {0}, b[K * N] = {0}, c[M * N];
        a[3 * K + 1] = NAN;
        b[2 * N + 33] = INFINITY; /* infinity times 0 is NaN */
        const shape p = shape_of(M, N, K, false, false, 0, 0);
        const dsgd_operands_float o = OPERANDS(&p, a, b, c, NULL);
        found[l].in_float(&o, NULL);
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++)
                ck_assert(isnan(c[i * N + j]) == (i == 3 || j == 33));
    }
}
