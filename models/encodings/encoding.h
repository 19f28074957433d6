/**
 * @file encoding.h
 * Encodings that a user can name: what is sent in place of a vector, and how many bytes that is.
 *
 * A piece of the workload has other elements than that of the reduced model: what an encoding keeps
 * of a piece is a share of its elements, and bytes are counted for the workload's piece, by the
 * bytes that one of its numbers takes otherwise. Numbers that an encoding keeps are float32.
 */
#pragma once

#include "models/encodings/params.h"
#include "models/values/values.h"

/** How an allreduce adds encoded vectors. */
typedef enum dsgd_encoding_sum {
    /* Every worker gets all encoded vectors and adds them: what is kept differs among workers. */
    DSGD_SUM_GATHERED,
    /* A reduce-scatter and an allgather at the encoded width, between which who has a share of the
     * sum encodes it: bidirectional compression, as in 1-bit Adam (Tang et al., ICML 2021). */
    DSGD_SUM_REENCODED,
    /* An allreduce of as many bytes: sums are of the same form. */
    DSGD_SUM_DIRECT
} dsgd_encoding_sum;

/** Where a vector is encoded: the coordinates of its draws. */
typedef struct dsgd_encoding_at {
    dsgd_origin where;
    size_t piece;
    size_t first; /* element of the vector with which the piece begins */
    uint64_t seed;
    uint32_t worker; /* UINT32_MAX: the same draws at all workers */
    uint32_t step;
    uint32_t call; /* of the worker in its step; below 2^24 */
    size_t parts; /* even ones of the piece, each encoded by itself: no block is longer; 0: one */
} dsgd_encoding_at;

/** What each head in dsgd_encoding_kinds is of. */
typedef struct dsgd_encoding_kind {
    dsgd_entry about;
    dsgd_codec_kind does; /* the `kind` of the functions below: several encodings share them */
    /**
     * Q of a piece of @p n elements, n >= 1, in numbers; its draws are set by the caller. NULL: x.
     */
    dsgd_codec (*codec)(dsgd_codec_kind kind, const void *params, size_t n);
    /** Optional, instead of one codec: Q(x) by several. */
    dsgd_value (*apply)(const void *params, dsgd_values *values, const dsgd_encoding_at *at,
                        dsgd_value x);
    /** Bytes of a piece of @p n numbers on the wire; NULL: all that they take. */
    double (*bytes)(dsgd_codec_kind kind, const void *params, double n);
    dsgd_encoding_sum sum; /* REENCODED where its option `reduce` says so */
    bool sparse; /* a selection: most numbers are 0; adding one costs in proportion to its bytes */
    bool of_differences; /* drops what a model must not lose */
    /** dsgd_encoding_contraction(); NULL: it depends on values. */
    double (*contraction)(const void *params);
} dsgd_encoding_kind;

static inline const dsgd_encoding_kind *dsgd_encoding_kind_of(const dsgd_spec *pick)
{
    return (const dsgd_encoding_kind *)pick->about;
}

/** Q(x): a value that the caller owns. */
dsgd_value dsgd_encoding_apply(const dsgd_spec *pick, dsgd_values *values,
                               const dsgd_encoding_at *at, dsgd_value x);

/** On the wire, of a piece that takes @p bytes otherwise, @p value_bytes a number; never more. */
double dsgd_encoding_bytes(const dsgd_spec *pick, double bytes, double value_bytes);

dsgd_encoding_sum dsgd_encoding_sum_of(const dsgd_spec *pick);

/** Whether all is sent as it is. */
bool dsgd_encoding_is_none(const dsgd_spec *pick);

/* --- low rank --------------------------------------------------------------------------------- */

/** A piece of n elements as a matrix: as near to a square as it can be, row by row. */
typedef struct dsgd_matrix {
    size_t rows, columns;
} dsgd_matrix;

dsgd_matrix dsgd_matrix_of(size_t n);

/** Whether factors of this rank save anything: rank (rows + columns) <= n. */
bool dsgd_matrix_has_rank(size_t n, size_t rank);

/** A drawn factor, the same at all workers; zeros where the piece has no such rank. */
dsgd_value dsgd_matrix_start(dsgd_values *values, const dsgd_encoding_at *at, size_t rank,
                             bool of_columns);

/** One of the last codecs, of a rank. */
typedef struct dsgd_matrix_step {
    dsgd_codec_kind kind;
    int64_t rank;
    bool of_columns; /* ORTHOGONAL: a factor of as many rows as the matrix has columns */
} dsgd_matrix_step;

/** Of a piece of n elements. */
dsgd_codec dsgd_matrix_codec(const dsgd_matrix_step *step, size_t n);

/** Its value; @p otherwise where the piece has no such rank. The caller owns it. */
dsgd_value dsgd_matrix_apply(const dsgd_matrix_step *step, dsgd_values *values, dsgd_origin where,
                             size_t piece, dsgd_value x, dsgd_value z, dsgd_value otherwise);

/** Bytes of a factor of a piece of so many bytes; of the piece where it has no such rank. */
double dsgd_factor_bytes(double piece_bytes, double value_bytes, int64_t rank, bool of_columns);
