/**
 * @file oracle_encoded.h
 * Emulations in lock-step, as in tests/support/oracle.h, of algorithms that compress their
 * messages: gradient compressions, error feedback, Ok-Topk, PowerSGD and CHOCO-SGD.
 *
 * Piece k of K begins at parameter lockstep_cut(n, k, K), and is compressed by itself.
 */
#pragma once

#include "tests/support/oracle.h"

/** The place where a value is compressed. Stochastic compressions use it. */
typedef struct oracle_place {
    int worker; /* rank; -1 if all workers are alike */
    long step; /* step; for a sum, the number of the sum */
    bool sum;
    size_t piece, first; /* number of the piece, and its first parameter */
} oracle_place;

typedef struct oracle_encoding oracle_encoding;
/** Compresses one piece: q <- Q(v). */
typedef void oracle_encode(const oracle_encoding *e, oracle_place at, size_t n, const double *v,
                           double *q);
struct oracle_encoding {
    oracle_encode *encode;
    double density; /* top_k, random_k: k = max(1, floor(n density)) */
    long levels; /* qsgd, uniform */
    double at; /* threshold */
    /**
     * Returns a uniform number in [0, 1) for value number @p index of the piece, or of the factor
     * of low_rank.
     */
    double (*draw)(oracle_place at, size_t index);
};

/**
 * top_k keeps the k largest absolute values; of equal values it keeps the lowest index. random_k
 * keeps the values with the k largest draws.
 */
oracle_encode oracle_identity, oracle_top_k, oracle_random_k, oracle_threshold;
/** Computes sign(v) ||v||_1 / n. The sign of 0 is plus. */
oracle_encode oracle_sign;
/** Computes round(s v / max|v|) max|v| / s. */
oracle_encode oracle_uniform;
/**
 * Computes ||v|| sign(v) (floor(l) + Bernoulli(l - floor(l))) / s with l = s |v| / ||v||_2, or 0 if
 * v = 0.
 */
oracle_encode oracle_qsgd;
/**
 * Computes p (A^T p)^T with p = A f / |A f|, of rank 1. A has floor(sqrt n) rows, and f is 2 draws
 * - 1.
 */
oracle_encode oracle_low_rank;

/**
 * Emulates error feedback: a = e + G; s = Q(a); e <- a - s. The local step takes the mean of s. If
 * @p again (1-bit Adam, DoubleSqueeze), the local step takes u instead: b = d + mean of s; u =
 * Q(b); d <- b - u, the same at all workers.
 * @param feedback if false, e and d stay 0
 */
void oracle_feedback(const oracle_problem *p, const oracle_encoding *encoding, size_t pieces,
                     bool feedback, bool again, double *x);

/** Emulates EF21: c = Q(G - h); h <- h + c. The local step takes the mean of all h. */
void oracle_ef21(const oracle_problem *p, const oracle_encoding *encoding, size_t pieces,
                 double *x);

/**
 * Emulates deep gradient compression: m <- mu m + G; v <- v + m; s = Q(v), by top_k. m and v become
 * 0 at the values that were sent. The local step takes the mean of s.
 */
void oracle_momentum_correction(const oracle_problem *p, const oracle_encoding *top_k,
                                size_t pieces, double mu, double *x);

/**
 * Emulates Ok-Topk with new thresholds in every step. It selects values with |a| >= the k-th
 * largest, and sums with |sum| >= the k-th largest non-zero sum; k = max(1, floor(n density)) of a
 * piece. The local step takes sum / P.
 */
void oracle_ok_topk(const oracle_problem *p, double density, size_t pieces, double *x);

/**
 * A matrix of the model, stored by rows. If `size` is not 0, elements after the first `size` are
 * zeros that belong to no parameter. If `columns` is 0, these are `rows` parameters that are
 * exchanged dense.
 */
typedef struct oracle_matrix {
    size_t first, rows, columns, size;
} oracle_matrix;

/** Options of PowerSGD. */
typedef struct oracle_power_options {
    size_t rank;
    const oracle_matrix *matrix;
    size_t n_matrices;
    bool both; /* if true, both products in a step (the paper); else one, alternating, left first */
    /** Returns the initial values of p (if @p right is false) or q, [rows or columns][rank]. */
    double (*start)(size_t matrix, bool right, size_t row, size_t column);
} oracle_power_options;
void oracle_power_sgd(const oracle_problem *p, oracle_power_options options, double *x);

/** Options of CHOCO-SGD. */
typedef struct oracle_choco_options {
    const double *mixing; /* [P][P] */
    double gamma;
    const oracle_encoding *encoding;
    size_t pieces;
} oracle_choco_options;
void oracle_choco(const oracle_problem *p, oracle_choco_options options, double *x);
