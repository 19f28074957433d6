/**
 * @file multiply.h
 * Small matrix products on one core. For a thousand small models, a BLAS call per model reaches
 * only half of the peak of a core. The reason is that it packs both operands and does not know the
 * next call. These functions read operands in place, and they prefetch the memory of the next call
 * during the present call. Encodings have a source file of their own (encode.c).
 *
 * The code is compiled for several levels of the instruction set. Elements are summed in the order
 * of k, with fused multiply-add if the level has it. All levels with fused multiply-add therefore
 * give equal bits.
 */
#pragma once

#include "models/devices/device.h"

/** Makes the identifier ab_c from the values of three macros. */
#define DSGD_JOIN(a, b, c) DSGD_JOIN_(a, b, c)
#define DSGD_JOIN_(a, b, c) a##b##_##c

/** Memory that a product prefetches while it computes. `at` advances and `bytes` decreases. */
typedef struct dsgd_ahead {
    const char *at;
    size_t bytes;
} dsgd_ahead;

/**
 * The product C [m][n] <- S + A [m][k] B [k][n]. If relu is true, C <- max(C, 0) follows. Element
 * (i, j) of A is at a[i * a_row + j * a_column]. Rows of C and of S are contiguous. S may be C. If
 * S is NULL, it means 0.
 */
#define DSGD_OPERANDS(real)                                                                        \
    typedef struct dsgd_operands_##real {                                                          \
        size_t m, n, k;                                                                            \
        const real *a, *b;                                                                         \
        real *c;                                                                                   \
        size_t a_row, a_column, b_row, b_column, c_row;                                            \
        const real *s;                                                                             \
        size_t s_row;                                                                              \
        bool relu;                                                                                 \
    } dsgd_operands_##real

DSGD_OPERANDS(float);
DSGD_OPERANDS(double);

/** Declares a function that computes one product. @p ahead may be NULL. */
#define DSGD_MULTIPLY(real, name) void name(const dsgd_operands_##real *p, dsgd_ahead *ahead)

DSGD_MULTIPLY(float, dsgd_multiply_float_base);
DSGD_MULTIPLY(float, dsgd_multiply_float_v3);
DSGD_MULTIPLY(float, dsgd_multiply_float_v4);
DSGD_MULTIPLY(double, dsgd_multiply_double_base);
DSGD_MULTIPLY(double, dsgd_multiply_double_v3);
DSGD_MULTIPLY(double, dsgd_multiply_double_v4);

#ifdef DSGD_REAL /* The following declarations are for source files that are compiled for each     \
                  * real and level. */
#define ENCODE DSGD_JOIN(dsgd_encode_, DSGD_REAL, DSGD_LEVEL)
/**
 * Computes an encoding. Its inputs must not be NULL. Returns true if all elements of y are finite.
 */
bool ENCODE(const dsgd_encode_op *op);
#endif
