/**
 * @file oracle_encoded.h
 * Emulations in lock-step, as in tests/support/oracle.h, of algorithms that compress their
 * messages: gradient compressions, error feedback, Ok-Topk, PowerSGD and CHOCO-SGD.
 *
 * Piece k of K starts at parameter lockstep_cut(n, k, K). Each piece is compressed separately.
 */
#pragma once

#include "tests/support/oracle.h"

/**
 * Identifies a compressed value. Stochastic compressions derive their random numbers from this
 * identity.
 */
typedef struct oracle_place {
    int worker; /* rank of the worker that compresses, or -1 if all workers draw the same numbers */
    long step; /* number of the step, or number of the sum if a sum is compressed */
    bool sum;
    size_t piece, first; /* number of the piece, and index of its first parameter */
} oracle_place;

typedef struct oracle_encoding oracle_encoding;
/** Compresses one piece of n values: q <- Q(v). */
typedef void oracle_encode(const oracle_encoding *e, oracle_place at, size_t n, const double *v,
                           double *q);
struct oracle_encoding {
    oracle_encode *encode;
    /* fraction of the values that top_k and random_k keep: k = max(1, floor(n density)) */
    double density;
    long levels; /* number of levels s of the encodings qsgd and uniform */
    double at; /* threshold of the encoding `threshold`, which sets smaller absolute values to 0 */
    /**
     * Returns a uniform random number in [0, 1) for value number @p index of the piece. For
     * low_rank, @p index is the number of a value of the factor f.
     */
    double (*draw)(oracle_place at, size_t index);
};

/**
 * Four compressions. identity changes nothing. top_k keeps the k largest absolute values, and
 * prefers the lowest index if values are equal. random_k keeps the values with the k largest draws.
 * threshold keeps the absolute values above `at`.
 */
oracle_encode oracle_identity, oracle_top_k, oracle_random_k, oracle_threshold;
/** Compresses v to one bit per value: sign(v) ||v||_1 / n. The sign of 0 is plus. */
oracle_encode oracle_sign;
/** Rounds v to s levels: round(s v / max|v|) max|v| / s. */
oracle_encode oracle_uniform;
/**
 * Compresses v by QSGD: ||v|| sign(v) (floor(l) + Bernoulli(l - floor(l))) / s with l = s |v| /
 * ||v||_2. The result is 0 if v = 0.
 */
oracle_encode oracle_qsgd;
/**
 * Approximates v, as a matrix A, by rank 1: p (A^T p)^T with p = A f / |A f|. A has floor(sqrt n)
 * rows. The values of f are random numbers in [-1, 1).
 */
oracle_encode oracle_low_rank;

/**
 * Emulates error feedback with gradients G. A step computes a = e + G, sends s = Q(a), and sets e
 * <- a - s. The local step takes the mean of s.
 * @param feedback if false, the errors e and d stay 0
 * @param again if true (1-bit Adam, DoubleSqueeze), the mean is compressed again. A step then
 * computes b = d + mean of s and u = Q(b), and sets d <- b - u. The error d is the same at all
 * workers. The local step takes u.
 */
void oracle_feedback(const oracle_problem *p, const oracle_encoding *encoding, size_t pieces,
                     bool feedback, bool again, double *x);

/**
 * Emulates EF21 with gradients G. A step sends c = Q(G - h), and sets h <- h + c. The local step
 * takes the mean of all workers' h.
 */
void oracle_ef21(const oracle_problem *p, const oracle_encoding *encoding, size_t pieces,
                 double *x);

/**
 * Emulates deep gradient compression with gradients G. A step computes m <- mu m + G and v <- v +
 * m, and sends s = Q(v), where Q is top_k. The elements of m and v that were sent become 0. The
 * local step takes the mean of s.
 */
void oracle_momentum_correction(const oracle_problem *p, const oracle_encoding *top_k,
                                size_t pieces, double mu, double *x);

/**
 * Emulates Ok-Topk with new thresholds in every step. A worker sends the values whose |a| is at
 * least its k-th largest |a|. A sum is kept if its absolute value is at least the k-th largest
 * non-zero absolute value of the sums. For a piece of n values, k = max(1, floor(n density)). The
 * local step takes sum / P.
 */
void oracle_ok_topk(const oracle_problem *p, double density, size_t pieces, double *x);

/**
 * A matrix of the model, stored by rows. If `size` is not 0, the matrix elements after the first
 * `size` elements are zeros that belong to no parameter. If `columns` is 0, the matrix stands for
 * `rows` parameters that are exchanged without compression.
 */
typedef struct oracle_matrix {
    size_t first, rows, columns, size;
} oracle_matrix;

/** Options of PowerSGD. */
typedef struct oracle_power_options {
    size_t rank;
    const oracle_matrix *matrix;
    size_t n_matrices;
    /*
     * if true, each step makes both products (as in the paper); if false, steps make the left and
     * the right product in turn
     */
    bool both;
    /**
     * Returns the initial value at (row, column) of a factor. If @p right is true, the factor is q
     * [columns][rank]; otherwise, the factor is p [rows][rank].
     */
    double (*start)(size_t matrix, bool right, size_t row, size_t column);
} oracle_power_options;
void oracle_power_sgd(const oracle_problem *p, oracle_power_options options, double *x);

/** Options of CHOCO-SGD. */
typedef struct oracle_choco_options {
    const double *mixing; /* mixing matrix W, [P][P] */
    double gamma;
    const oracle_encoding *encoding;
    size_t pieces;
} oracle_choco_options;
void oracle_choco(const oracle_problem *p, oracle_choco_options options, double *x);
