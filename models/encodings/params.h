/**
 * @file params.h
 * Gradient compression as an option of algorithms: algorithms can offer the whole option or fix
 * some of its parameters. Part of the contract of algorithms.
 */
#pragma once

#include "base/option.h"

DSGD_BEGIN_C

/** Table of all encodings, as printed by `dsgd list encodings`; ends with NULL. */
extern const dsgd_entry *const dsgd_encoding_kinds[];

/** A row of an option table for an encoding. The field must have type dsgd_spec. */
#define DSGD_OPTION_ENCODING(type, field, init_, ...)                                              \
    DSGD_OPTION_SPEC(type, field, dsgd_encoding_kinds, "kind", __VA_ARGS__, .init_text = init_)

/** Parameters common to all encodings; the first member of the parameters of every kind. */
typedef struct dsgd_encoding_params {
    bool feedback;
    int reduce; /* reduction in allreduces, one of DSGD_REDUCE_* */
} dsgd_encoding_params;

/**
 * Reductions in allreduces. With GATHER, every worker receives all sent vectors. REGIONS and
 * BIDIRECTIONAL compress the sum again.
 */
enum {
    DSGD_REDUCE_GATHER,
    DSGD_REDUCE_REGIONS, /* REGIONS can be used only with top_k */
    /* BIDIRECTIONAL can be used only with sign, uniform and qsgd */
    DSGD_REDUCE_BIDIRECTIONAL = DSGD_REDUCE_REGIONS
};

/** Parameters of encodings top_k, random_k and threshold. */
typedef struct dsgd_selection {
    dsgd_encoding_params common;
    double share; /* share of the elements of a chunk that are sent */
    double at; /* threshold for the absolute value of an element, for encoding threshold */
    int64_t value_bits, index_bits;
    bool unbiased; /* true if sent values are divided by `share`, for random_k */
} dsgd_selection;

/**
 * Returns the encoding named @p name. @p params belongs to the caller and must outlive the run.
 */
dsgd_spec dsgd_encoding_of(const char *name, const void *params);

/**
 * Returns the contraction w, at most 1, in E |Q(x) - x|^2 <= (1 - w) |x|^2 for long chunks. Returns
 * NAN if w depends on the values. For sign, w is the mean for normal numbers. For top_k, w assumes
 * that elements are kept until they are sent. For other encodings, w is a bound.
 */
double dsgd_encoding_contraction(const dsgd_spec *pick);

/**
 * Returns true if the contraction w is 0 or less. In that case, the residual of error feedback or a
 * public copy of a model grows without bound (Karimireddy et al., ICML 2019, assumption A).
 */
bool dsgd_encoding_expands(const dsgd_spec *pick);

/**
 * Rejects an encoding that expands, for algorithm @p name. The error message contains @p
 * consequence.
 */
dsgd_status dsgd_encoding_check_contracts(const dsgd_spec *pick, const char *name,
                                          const char *consequence, dsgd_error *error);

/** Returns true if the encoding has error feedback. */
bool dsgd_encoding_feeds_back(const dsgd_spec *pick);

/**
 * Returns true if allreduces compress the sum again. The result then differs from the sum of the
 * sent vectors.
 */
bool dsgd_encoding_sums_again(const dsgd_spec *pick);

DSGD_END_C
