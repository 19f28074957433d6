/**
 * @file multiply.h
 * Small matrix products on one core. A BLAS call for each of a thousand small models reaches half of what a core can do, because it packs
 * both operands and knows nothing of the next call; here operands are read in place, and the memory of
 * the next call is fetched during this one.
 *
 * Compiled for several levels of the instruction set. Elements are summed in the order of k, by fused multiply-add where the machine
 * has it, so that levels with it agree to the bit, whatever the sizes.
 */
#ifndef DSGD_MODELS_DEVICES_MULTIPLY_H
#define DSGD_MODELS_DEVICES_MULTIPLY_H

#include <stdbool.h>
#include <stddef.h>

/** Memory that will be needed soon: a product fetches some of it while it computes, and moves on. */
typedef struct dsgd_ahead {
    const char *at;
    size_t bytes;
} dsgd_ahead;

/** A matrix [rows][columns] in memory: element (i, j) is at data[i * row + j * column]. @p ahead may be NULL. */
#define DSGD_MULTIPLY(real, name)                                                                  \
    void name(size_t m, size_t n, size_t k, const real *a, size_t a_row, size_t a_column,          \
              const real *b, size_t b_row, size_t b_column, real *c, size_t c_row, bool adds,      \
              dsgd_ahead *ahead)

/* C [m][n] <- A [m][k] B [k][n], or C + A B. Rows of C are contiguous. */

DSGD_MULTIPLY(float, dsgd_multiply_float_base);
DSGD_MULTIPLY(float, dsgd_multiply_float_v3);
DSGD_MULTIPLY(float, dsgd_multiply_float_v4);
DSGD_MULTIPLY(double, dsgd_multiply_double_base);
DSGD_MULTIPLY(double, dsgd_multiply_double_v3);
DSGD_MULTIPLY(double, dsgd_multiply_double_v4);

#endif
