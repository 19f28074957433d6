/**
 * @file multiply.c
 * Matrix products on one core, compiled for each real and level (DSGD_REAL, DSGD_LEVEL). The
 * compiler must not contract operations in this file: fused() marks the places where a product and
 * a sum are rounded once.
 *
 * C is divided into tiles of ROWS x COLUMNS that stay in registers during the loop over k. The
 * range of k is divided so that the strip of B for a row of tiles stays in the first-level cache. A
 * strip of B that does not consist of whole rows is copied first.
 */
#include "models/devices/multiply.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#define MULTIPLY DSGD_JOIN(dsgd_multiply_, DSGD_REAL, DSGD_LEVEL)

typedef DSGD_REAL real;
typedef DSGD_JOIN(dsgd_, operands, DSGD_REAL) operands;

#ifdef DSGD_IN_DOUBLE
#define OF_REALS pd
#else
#define OF_REALS ps
#endif

/*
 * Forms the name of an intrinsic: for example, OF_VECTORS(fmadd) is _mm512_fmadd_ps. The macro is
 * not defined if the level has no fused operations.
 */
#if defined(__AVX512F__)
#define OF_VECTORS(intrinsic) DSGD_JOIN(_mm512_, intrinsic, OF_REALS)
enum { VECTOR_BYTES = 64, ROWS = 12 };
#elif defined(__AVX2__)
#define OF_VECTORS(intrinsic) DSGD_JOIN(_mm256_, intrinsic, OF_REALS)
enum { VECTOR_BYTES = 32, ROWS = 6 };
#else
enum { VECTOR_BYTES = 16, ROWS = 4 };
#endif
enum {
    LANES = VECTOR_BYTES / (int)sizeof(real),
    VECTORS = 2,
    COLUMNS = VECTORS * LANES,
    DEPTH = 256,
    LINE_BYTES = 64
};

typedef real vector __attribute__((vector_size(VECTOR_BYTES)));
/* A vector that may start at any address of a real. */
typedef real loose_vector __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real))));

/** The properties that all tiles in a row of tiles share. */
typedef struct strip {
    size_t depth;
    size_t a_row, a_column;
    const real *b;
    size_t b_row;
    size_t c_row, s_row;
    bool relu;
} strip;

#define ALWAYS static inline __attribute__((always_inline))

/** Returns sum + factor * row, rounded once if the level has fused operations. */
ALWAYS vector fused(vector sum, real factor, vector row)
{
#ifdef OF_VECTORS
    return OF_VECTORS(fmadd)(OF_VECTORS(set1)(factor), row, sum);
#else
    return sum + factor * row;
#endif
}

/** Returns max(x, 0) for each element of @p x. NaN propagates. */
ALWAYS vector positive(vector x)
{
    const __typeof__(x < (vector){0}) negative = x < (vector){0};
    return (vector)(~negative & (__typeof__(negative))x);
}

/**
 * Computes one tile of constant size: C <- @p start + A B. Prefetches one cache line for each k,
 * starting at @p ahead.
 */
ALWAYS void tile(int rows, int vectors, const strip *s, const real *a, const real *start, real *c,
                 const char *ahead)
{
    vector sum[ROWS][VECTORS];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            if (start != NULL)
                sum[i][v] = *(const loose_vector *)(start + (size_t)i * s->s_row + v * LANES);
            else
                sum[i][v] = (vector){0};
    for (size_t k = 0; k < s->depth; k++) {
        if (ahead != NULL)
            __builtin_prefetch(ahead + k * LINE_BYTES, 0, 2);
        vector row[VECTORS];
        for (int v = 0; v < vectors; v++)
            row[v] = *(const loose_vector *)(s->b + k * s->b_row + v * LANES);
        for (int i = 0; i < rows; i++) {
            const real factor = a[(size_t)i * s->a_row + k * s->a_column];
            for (int v = 0; v < vectors; v++)
                sum[i][v] = fused(sum[i][v], factor, row[v]);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            *(loose_vector *)(c + (size_t)i * s->c_row + v * LANES) =
                s->relu ? positive(sum[i][v]) : sum[i][v];
}

ALWAYS void tile_of(int vectors, const strip *s, size_t rows, const real *a, const real *start,
                    real *c, const char *ahead)
{
#define TILE(n)                                                                                    \
    case n:                                                                                        \
        tile(n, vectors, s, a, start, c, ahead);                                                   \
        break
    switch (rows) {
        TILE(1);
        TILE(2);
        TILE(3);
        TILE(4);
#if defined(__AVX2__)
        TILE(5);
        TILE(6);
#endif
#if defined(__AVX512F__)
        TILE(7);
        TILE(8);
        TILE(9);
        TILE(10);
        TILE(11);
        TILE(12);
#endif
    }
#undef TILE
}

/** Copies n elements in a few moves of constant size. n must be less than COLUMNS. */
ALWAYS void copy_few(real *to, const real *from, size_t n)
{
#pragma GCC unroll 8
    for (size_t part = COLUMNS / 2; part > 0; part /= 2) {
        if ((n & part) == 0)
            continue;
        memcpy(to, from, part * sizeof(real));
        to += part;
        from += part;
    }
}

/** Computes a tile that is narrower than its vectors. Uses a copy of C with full rows. */
static void narrow_tile(const strip *whole, size_t rows, size_t columns, const real *a,
                        const real *start, real *c, const char *ahead)
{
    real wide[ROWS * COLUMNS];
    strip s = *whole;
    s.c_row = s.s_row = COLUMNS;
    for (size_t i = 0; start != NULL && i < rows; i++) {
        for (size_t j = 0; j < COLUMNS; j++)
            wide[i * COLUMNS + j] = 0;
        copy_few(wide + i * COLUMNS, start + i * whole->s_row, columns);
    }
    const real *const from = start != NULL ? wide : NULL;
    if (columns <= LANES)
        tile_of(1, &s, rows, a, from, wide, ahead);
    else
        tile_of(VECTORS, &s, rows, a, from, wide, ahead);
    for (size_t i = 0; i < rows; i++)
        copy_few(c + i * whole->c_row, wide + i * COLUMNS, columns);
}

/** Copies @p columns columns of B to rows of COLUMNS elements, with zeros after them. */
static void copy_strip(real *to, size_t depth, size_t columns, const real *b, size_t b_row,
                       size_t b_column)
{
    for (size_t k = 0; k < depth; k++)
        for (size_t j = 0; j < COLUMNS; j++)
            to[k * COLUMNS + j] = j < columns ? b[k * b_row + j * b_column] : (real)0;
}

/**
 * Returns the number of rows of B that can be read as vectors, starting at column @p j. If the tile
 * has full width, these are all rows. Otherwise they are the rows whose vectors end within B.
 * Returns 0 if a copy of all rows costs less than a separate pass over C for the other rows.
 */
static size_t readable_rows(const operands *p, size_t j)
{
    const size_t n = p->n;
    const size_t k = p->k;
    const size_t columns = n - j;
    if (p->b_column != 1)
        return 0;
    if (columns >= COLUMNS)
        return k;
    const size_t width = columns <= LANES ? LANES : COLUMNS;
    const size_t end = (k - 1) * p->b_row + n; /* number of elements of B */
    if (k == 0 || end < j + width || (k <= DEPTH && k <= p->m))
        return 0;
    return p->b_row == 0 ? k : (end - j - width) / p->b_row + 1;
}

/**
 * Returns the memory that a tile of this depth prefetches, one cache line for each k. Returns NULL
 * if there is not enough memory left to prefetch.
 */
static const char *fetched(dsgd_ahead *ahead, size_t depth)
{
    const size_t bytes = depth * LINE_BYTES;
    if (ahead == NULL || ahead->bytes < bytes)
        return NULL;
    const char *const at = ahead->at;
    ahead->at += bytes;
    ahead->bytes -= bytes;
    return at;
}

void MULTIPLY(const operands *p, dsgd_ahead *ahead)
{
#ifdef __AVX512F__
    /* with AVX-512, at least half of each vector would otherwise be unused */
    if (p->n <= LANES / 2) {
        DSGD_JOIN(dsgd_multiply_, DSGD_REAL, v3)(p, ahead);
        return;
    }
#endif
    real copy[DEPTH * COLUMNS];
    for (size_t j = 0; j < p->n; j += COLUMNS) {
        const size_t columns = p->n - j < COLUMNS ? p->n - j : COLUMNS;
        const size_t readable = readable_rows(p, j);
        size_t first = 0;
        do {
            const size_t left = (first < readable ? readable : p->k) - first;
            strip s = {.depth = left < DEPTH ? left : DEPTH,
                       .a_row = p->a_row,
                       .a_column = p->a_column,
                       .b = p->b + first * p->b_row + j * p->b_column,
                       .b_row = p->b_row,
                       .c_row = p->c_row,
                       .s_row = first > 0 ? p->c_row : p->s_row,
                       .relu = p->relu && first + (left < DEPTH ? left : DEPTH) == p->k};
            const real *const start = first > 0 ? p->c : p->s;
            if (first >= readable) {
                copy_strip(copy, s.depth, columns, s.b, p->b_row, p->b_column);
                s.b = copy;
                s.b_row = COLUMNS;
            }
            for (size_t i = 0; i < p->m; i += ROWS) {
                const size_t rows = p->m - i < ROWS ? p->m - i : ROWS;
                const real *const from = p->a + i * p->a_row + first * p->a_column;
                const real *const begin = start == NULL ? NULL : start + i * s.s_row + j;
                real *const to = p->c + i * p->c_row + j;
                const char *const lines = fetched(ahead, s.depth);
                if (columns == COLUMNS)
                    tile_of(VECTORS, &s, rows, from, begin, to, lines);
                else if (columns == LANES)
                    tile_of(1, &s, rows, from, begin, to, lines);
                else
                    narrow_tile(&s, rows, columns, from, begin, to, lines);
            }
            first += s.depth;
        } while (first < p->k);
    }
}
