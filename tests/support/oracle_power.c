/**
 * @file oracle_power.c
 * Emulates PowerSGD (tests/support/oracle_encoded.h), with all workers in lock-step.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kept.h"
#include "tests/support/lockstep.h"
#include "tests/support/oracle_encoded.h"

/** A matrix of the problem and its two factors. */
typedef struct factors {
    const oracle_problem *p;
    size_t first, rows, columns, size, rank;
    double *left, *right; /* factors p [rows][rank] and q [columns][rank] */
    double *own; /* product of one worker's matrix and a factor; has room for the longer factor */
} factors;

/**
 * Makes the columns of a matrix a [n][rank] orthonormal, one after another. The function subtracts
 * the projections on the previous columns, then divides by the norm.
 */
static void orthogonalise(double *a, size_t n, size_t rank)
{
    for (size_t c = 0; c < rank; c++) {
        for (size_t before = 0; before < c; before++) {
            double along = 0;
            for (size_t i = 0; i < n; i++)
                along += a[i * rank + before] * a[i * rank + c];
            for (size_t i = 0; i < n; i++)
                a[i * rank + c] -= along * a[i * rank + before];
        }
        double norm = 0;
        for (size_t i = 0; i < n; i++)
            norm += a[i * rank + c] * a[i * rank + c];
        norm = fmax(sqrt(norm), 1e-16);
        for (size_t i = 0; i < n; i++)
            a[i * rank + c] /= norm;
    }
}

/**
 * Multiplies a worker's matrix A by a factor: to <- A from. If @p transposed is true, to <- A^T
 * from.
 */
static void multiply(const factors *f, const double *a, bool transposed, const double *from,
                     double *to)
{
    memset(to, 0, (transposed ? f->columns : f->rows) * f->rank * sizeof *to);
    for (size_t i = 0; i < f->rows; i++)
        for (size_t j = 0; j < f->columns && i * f->columns + j < f->size; j++)
            for (size_t c = 0; c < f->rank; c++) {
                const size_t in = transposed ? i : j;
                const size_t out = transposed ? j : i;
                to[out * f->rank + c] += a[i * f->columns + j] * from[in * f->rank + c];
            }
}

/** Adds a multiple of a product of factors to a matrix: a <- a + scale left right^T. */
static void add_product(const factors *f, double scale, const double *left, const double *right,
                        double *a)
{
    for (size_t i = 0; i < f->rows; i++)
        for (size_t j = 0; j < f->columns && i * f->columns + j < f->size; j++)
            for (size_t c = 0; c < f->rank; c++)
                a[i * f->columns + j] += scale * left[i * f->rank + c] * right[j * f->rank + c];
}

/**
 * Sets one factor to the sum over all workers of A times the other factor (or of A^T times it, if
 * @p transposed is true). If @p deduct is true, subtracts from each worker's A the part that this
 * worker has sent.
 */
static void sum_products(factors *f, double *e, bool transposed, bool deduct)
{
    const size_t n = (transposed ? f->columns : f->rows) * f->rank;
    const double *const from = transposed ? f->left : f->right;
    double *const to = transposed ? f->right : f->left;
    memset(to, 0, n * sizeof *to);
    for (int w = 0; w < f->p->workers; w++) {
        double *const a = e + (size_t)w * f->p->n + f->first;
        multiply(f, a, transposed, from, f->own);
        for (size_t i = 0; i < n; i++)
            to[i] += f->own[i];
        if (deduct)
            add_product(f, -1, transposed ? from : f->own, transposed ? f->own : from, a);
    }
}

/**
 * Makes the only product of a step. If @p product is even, the left factor is made orthogonal and
 * the right factor is computed. If it is odd, the right factor is made orthogonal and the left
 * factor is computed.
 */
static void alternate(factors *f, long product, double *e, double *u)
{
    const bool left = product % 2 == 0;
    if (left)
        orthogonalise(f->left, f->rows, f->rank);
    else
        orthogonalise(f->right, f->columns, f->rank);
    sum_products(f, e, left, true);
    add_product(f, 1.0 / f->p->workers, f->left, f->right, u + f->first);
}

static void both_products(factors *f, double *e, double *u)
{
    sum_products(f, e, false, false);
    orthogonalise(f->left, f->rows, f->rank);
    sum_products(f, e, true, false);
    for (size_t i = 0; i < f->columns * f->rank; i++)
        f->right[i] /= f->p->workers;
    add_product(f, 1, f->left, f->right, u + f->first);
    for (int w = 0; w < f->p->workers; w++)
        add_product(f, -1, f->left, f->right, e + (size_t)w * f->p->n + f->first);
}

/** Exchanges parameters without compression. Sets u to the mean of e, and sets e to 0. */
static void dense(const oracle_problem *p, size_t first, size_t n, double *e, double *u)
{
    for (size_t i = first; i < first + n; i++) {
        for (int w = 0; w < p->workers; w++) {
            u[i] += e[(size_t)w * p->n + i] / p->workers;
            e[(size_t)w * p->n + i] = 0;
        }
    }
}

static factors factors_new(const oracle_problem *p, const oracle_power_options *o, size_t m)
{
    const oracle_matrix *const of = &o->matrix[m];
    factors f = {.p = p,
                 .first = of->first,
                 .rows = of->rows,
                 .columns = of->columns,
                 .size = of->size > 0 ? of->size : of->rows * (of->columns > 0 ? of->columns : 1),
                 .rank = o->rank};
    f.left = lockstep_zeros(f.rows * f.rank);
    f.right = lockstep_zeros(f.columns * f.rank + 1);
    f.own = lockstep_zeros((f.rows + f.columns) * f.rank);
    for (size_t i = 0; i < f.rows * f.rank && of->columns > 0; i++)
        f.left[i] = o->start(m, false, i / f.rank, i % f.rank);
    for (size_t i = 0; i < f.columns * f.rank; i++)
        f.right[i] = o->start(m, true, i / f.rank, i % f.rank);
    return f;
}

/**
 * Sets the update u to the mean of the parts of e that are sent, and e to the parts that are not
 * sent.
 */
static void power_step(factors *f, const oracle_power_options *o, long step, double *e, double *u)
{
    for (size_t m = 0; m < o->n_matrices; m++) {
        if (f[m].columns == 0)
            dense(f[m].p, f[m].first, f[m].size, e, u);
        else if (o->both)
            both_products(&f[m], e, u);
        else
            alternate(&f[m], step, e, u);
    }
}

void oracle_power_sgd(const oracle_problem *p, oracle_power_options options, double *x)
{
    lockstep s = lockstep_begin(p, x);
    double *const e = lockstep_zeros(s.count);
    double *const u = lockstep_zeros(p->n);
    factors *const f = kept(calloc(options.n_matrices, sizeof *f));
    for (size_t m = 0; m < options.n_matrices; m++)
        f[m] = factors_new(p, &options, m);
    for (long t = 0; t < p->steps; t++) {
        lockstep_gradients(&s, t, x);
        for (size_t i = 0; i < s.count; i++)
            e[i] += s.g[i];
        memset(u, 0, p->n * sizeof *u);
        power_step(f, &options, t, e, u);
        lockstep_set_all(p, u, s.g);
        lockstep_descend(&s);
    }
    for (size_t m = 0; m < options.n_matrices; m++) {
        free(f[m].left);
        free(f[m].right);
        free(f[m].own);
    }
}
