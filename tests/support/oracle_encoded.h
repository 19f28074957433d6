/**
 * @file oracle_encoded.h
 * Emulations in lock-step, as in tests/support/oracle.h, of the algorithms that send less than they
 * have: encodings, error feedback, Ok-Topk, PowerSGD, CHOCO-SGD.
 *
 * Piece k of K begins at parameter lockstep_cut(n, k, K), and is encoded for itself.
 */
#pragma once

#include "tests/support/oracle.h"

/** Where a value is encoded: for stochastic encodings. */
typedef struct oracle_place {
    int worker; /* -1: all alike */
    long step; /* of a sum: its number */
    bool sum;
    size_t piece, first; /* first: parameter that the piece begins with */
} oracle_place;

typedef struct oracle_encoding oracle_encoding;
/** q <- Q(v) for one piece. */
typedef void oracle_encode(const oracle_encoding *e, oracle_place at, size_t n, const double *v,
                           double *q);
struct oracle_encoding {
    oracle_encode *encode;
    double density; /* top_k, random_k: k = max(1, floor(n density)) */
    long levels; /* qsgd, uniform */
    double at; /* threshold */
    /** Uniform in [0, 1), of the index-th value of the piece, or of low_rank's factor. */
    double (*draw)(oracle_place at, size_t index);
};

/**
 * top_k: the k largest absolute values; among equals the lowest index. random_k: k largest draws.
 */
oracle_encode oracle_identity, oracle_top_k, oracle_random_k, oracle_threshold;
/** sign(v) ||v||_1 / n; the sign of 0 is that of plus. */
oracle_encode oracle_sign;
/** round(s v / max|v|) max|v| / s. */
oracle_encode oracle_uniform;
/** l = s |v| / ||v||_2; ||v|| sign(v) (floor(l) + Bernoulli(l - floor(l))) / s; 0 if v = 0. */
oracle_encode oracle_qsgd;
/** p (A^T p)^T, p = A f / |A f|, of rank 1: A of floor(sqrt n) rows, f of 2 draws - 1. */
oracle_encode oracle_low_rank;

/**
 * Error feedback: a = e + G; s = Q(a); e <- a - s; the local step takes the mean of s, or, @p again
 * (1-bit Adam, DoubleSqueeze): b = d + mean of s; u = Q(b); d <- b - u, alike at all.
 * @param feedback false: e and d stay 0
 */
void oracle_feedback(const oracle_problem *p, const oracle_encoding *encoding, size_t pieces,
                     bool feedback, bool again, double *x);

/** EF21: c = Q(G - h); h <- h + c; the local step takes the mean of all h. */
void oracle_ef21(const oracle_problem *p, const oracle_encoding *encoding, size_t pieces,
                 double *x);

/**
 * Deep gradient compression: m <- mu m + G; v <- v + m; s = Q(v), by top_k; v and m become 0 where
 * something was sent. The local step takes the mean of s.
 */
void oracle_momentum_correction(const oracle_problem *p, const oracle_encoding *top_k,
                                size_t pieces, double mu, double *x);

/**
 * Ok-Topk with new thresholds in every step: selected are |a| >= the k-th largest and |sum| >= the
 * k-th largest non-zero sum, k = max(1, floor(n density)) of a piece. The local step takes sum / P.
 */
void oracle_ok_topk(const oracle_problem *p, double density, size_t pieces, double *x);

/**
 * A matrix of the model, by rows, of which elements behind the first `size`, unless that is 0, are
 * zeros that nobody has; columns 0: `rows` parameters that are exchanged dense.
 */
typedef struct oracle_matrix {
    size_t first, rows, columns, size;
} oracle_matrix;

/** PowerSGD. */
typedef struct oracle_power_options {
    size_t rank;
    const oracle_matrix *matrix;
    size_t n_matrices;
    bool both; /* the paper's: both products in a step; else one, alternating, the left first */
    /** Initial values of p (right false) or q, [rows or columns][rank]. */
    double (*start)(size_t matrix, bool right, size_t row, size_t column);
} oracle_power_options;
void oracle_power_sgd(const oracle_problem *p, oracle_power_options options, double *x);

/** CHOCO-SGD. */
typedef struct oracle_choco_options {
    const double *mixing; /* [P][P] */
    double gamma;
    const oracle_encoding *encoding;
    size_t pieces;
} oracle_choco_options;
void oracle_choco(const oracle_problem *p, oracle_choco_options options, double *x);
