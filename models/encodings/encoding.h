/**
 * @file encoding.h
 * Encodings (kinds of gradient compression) that a user can name. An encoding determines the values
 * that replace a vector, and their bytes.
 *
 * A chunk of the workload has a different number of elements from the same chunk of the reduced
 * model. An encoding therefore keeps a share of a chunk's elements. Bytes are counted for the chunk
 * of the workload, with the workload's bytes per element. Elements that an encoding keeps are
 * float32.
 */
#pragma once

#include "models/encodings/params.h"
#include "models/values/values.h"

/** The ways in which an allreduce sums compressed vectors. */
typedef enum dsgd_encoding_sum {
    /*
     * Every worker receives all compressed vectors and sums them. This sum is needed if workers
     * keep different elements.
     */
    DSGD_SUM_GATHERED,
    /*
     * A reduce-scatter and then an allgather of compressed data. Between them, each worker
     * compresses its share of the sum. This is bidirectional compression, as in 1-bit Adam (Tang et
     * al., ICML 2021).
     */
    DSGD_SUM_REENCODED,
    /*
     * An allreduce of the compressed bytes. It is possible if sums have the same form as the
     * vectors.
     */
    DSGD_SUM_DIRECT
} dsgd_encoding_sum;

/**
 * The place where a vector is compressed. The place determines the random numbers of the encoding.
 */
typedef struct dsgd_encoding_at {
    dsgd_origin where;
    size_t piece;
    size_t first; /* index in the vector of the chunk's first element */
    uint64_t seed;
    uint32_t worker; /* rank of the worker; UINT32_MAX if all workers use the same random numbers */
    uint32_t step;
    uint32_t call; /* number of this compression within the worker's step; below 2^24 */
    size_t parts; /* number of equal parts of the chunk that are compressed separately; 0 means one
                   * part */
} dsgd_encoding_at;

/** An encoding that a user can name: an entry of dsgd_encoding_kinds. */
typedef struct dsgd_encoding_kind {
    dsgd_entry about;
    dsgd_codec_kind does; /* value that is passed to the functions below as argument `kind` */
    /**
     * Returns the codec of a chunk of @p n >= 1 elements. The caller sets the coordinates of its
     * random numbers. If the pointer is NULL, Q(x) = x.
     */
    dsgd_codec (*codec)(dsgd_codec_kind kind, const void *params, size_t n);
    /**
     * Returns Q(x) for an encoding that needs several codecs. If the pointer is NULL, the encoding
     * uses codec().
     */
    dsgd_value (*apply)(const void *params, dsgd_values *values, const dsgd_encoding_at *at,
                        dsgd_value x);
    /**
     * Returns the bytes of a compressed chunk of @p n elements. If the pointer is NULL, the chunk
     * is not compressed.
     */
    double (*bytes)(dsgd_codec_kind kind, const void *params, double n);
    dsgd_encoding_sum sum; /* how an allreduce sums vectors, unless option `reduce` selects
                            * DSGD_SUM_REENCODED */
    bool sparse; /* whether most elements of the result are 0; the time of a sum then depends on the
                  * bytes */
    bool of_differences; /* whether the encoding may only compress differences, because a model must
                          * not lose elements */
    /**
     * Returns the contraction of the encoding, see dsgd_encoding_contraction(). If the pointer is
     * NULL, the contraction depends on the values.
     */
    double (*contraction)(const void *params);
} dsgd_encoding_kind;

static inline const dsgd_encoding_kind *dsgd_encoding_kind_of(const dsgd_spec *pick)
{
    return (const dsgd_encoding_kind *)pick->about;
}

/** Returns the compressed vector Q(x). The caller owns the returned value. */
dsgd_value dsgd_encoding_apply(const dsgd_spec *pick, dsgd_values *values,
                               const dsgd_encoding_at *at, dsgd_value x);

/**
 * Returns the compressed bytes of a chunk of @p bytes with @p value_bytes per element. The result
 * is at most @p bytes.
 */
double dsgd_encoding_bytes(const dsgd_spec *pick, double bytes, double value_bytes);

dsgd_encoding_sum dsgd_encoding_sum_of(const dsgd_spec *pick);

/** Returns true if vectors are sent without compression. */
bool dsgd_encoding_is_none(const dsgd_spec *pick);

/* --- low-rank approximation ------------------------------------------------------------------- */

/** Shape of a chunk of n elements as a nearly square matrix, stored row by row. */
typedef struct dsgd_matrix {
    size_t rows, columns;
} dsgd_matrix;

dsgd_matrix dsgd_matrix_of(size_t n);

/**
 * Returns true if factors of rank @p rank have fewer bytes than a chunk of @p n elements: rank
 * (rows + columns) <= n.
 */
bool dsgd_matrix_has_rank(size_t n, size_t rank);

/**
 * Returns a random factor, which is the same at all workers. Returns zeros if the chunk is too
 * small for @p rank.
 */
dsgd_value dsgd_matrix_start(dsgd_values *values, const dsgd_encoding_at *at, size_t rank,
                             bool of_columns);

/** A step of a low-rank compression, with one of the low-rank codecs. */
typedef struct dsgd_matrix_step {
    dsgd_codec_kind kind;
    int64_t rank;
    bool of_columns; /* for ORTHOGONAL: true if the factor has as many rows as the matrix has
                      * columns */
} dsgd_matrix_step;

/** Returns the codec that computes @p step for a chunk of @p n elements. */
dsgd_codec dsgd_matrix_codec(const dsgd_matrix_step *step, size_t n);

/**
 * Returns the result of @p step for inputs @p x and @p z, or @p otherwise if the chunk is too small
 * for the rank. The caller owns the value.
 */
dsgd_value dsgd_matrix_apply(const dsgd_matrix_step *step, dsgd_values *values, dsgd_origin where,
                             size_t piece, dsgd_value x, dsgd_value z, dsgd_value otherwise);

/**
 * Returns the bytes of a factor of a chunk. If the chunk is too small for @p rank, returns the
 * bytes of the chunk itself.
 */
double dsgd_factor_bytes(double piece_bytes, double value_bytes, int64_t rank, bool of_columns);
