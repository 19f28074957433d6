/**
 * @file oracle_encoded.h
 * Emulations in lock-step, as in tests/support/oracle.h, of the algorithms that send less than they
 * have: encodings, error feedback, Ok-Topk, PowerSGD, CHOCO-SGD.
 *
 * Piece k of K begins at parameter lockstep_cut(n, k, K), and is encoded for itself.
 */
#ifndef DSGD_TESTS_SUPPORT_ORACLE_ENCODED_H
#define DSGD_TESTS_SUPPORT_ORACLE_ENCODED_H

#include "tests/support/oracle.h"

/** Where a value is encoded: for stochastic encodings. */
typedef struct oracle_place {
    int worker;
    long step;
    size_t piece, first; /* first: parameter that the piece begins with */
} oracle_place;

/** q <- Q(v) for one piece; the rest of the struct is options of the encodings below. */
typedef struct oracle_encoding oracle_encoding;
struct oracle_encoding {
    void (*encode)(const oracle_encoding *e, oracle_place at, size_t n, const double *v, double *q);
    double density; /* top_k: k = max(1, floor(n density)) */
    long levels; /* qsgd */
    /** qsgd: uniform in [0, 1), of the index-th value of the piece. */
    double (*draw)(oracle_place at, size_t index);
};

void oracle_identity(const oracle_encoding *e, oracle_place at, size_t n, const double *v,
                     double *q);
/** The k largest absolute values; among equals the lowest index. */
void oracle_top_k(const oracle_encoding *e, oracle_place at, size_t n, const double *v, double *q);
/** sign(v) ||v||_1 / n; the sign of 0 is that of plus. */
void oracle_sign(const oracle_encoding *e, oracle_place at, size_t n, const double *v, double *q);
/** l = s |v| / ||v||_2; ||v|| sign(v) (floor(l) + Bernoulli(l - floor(l))) / s; 0 if v = 0. */
void oracle_qsgd(const oracle_encoding *e, oracle_place at, size_t n, const double *v, double *q);

/**
 * Error feedback: a = e + G; s = Q(a); e <- a - s; the local step takes the mean of s.
 * @param feedback false: e stays 0
 */
void oracle_feedback(const oracle_problem *p, const oracle_encoding *encoding, size_t pieces,
                     bool feedback, double *x);

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

#endif
