/**
 * @file params.h
 * Gradient compression as an option, for algorithms that have one or fix some of its parameters.
 * Part of the contract of algorithms.
 */
#pragma once

#include "base/option.h"

DSGD_BEGIN_C

/** NULL-terminated; `dsgd list encodings`. */
extern const dsgd_entry *const dsgd_encoding_kinds[];

/** A row of an option table, for a field of type dsgd_spec. */
#define DSGD_OPTION_ENCODING(type, field, init_, ...)                                              \
    DSGD_OPTION_SPEC(type, field, dsgd_encoding_kinds, "kind", __VA_ARGS__, .init_text = init_)

/** The first member of every kind's parameters. */
typedef struct dsgd_encoding_params {
    bool feedback;
    int reduce; /* reduction in allreduces: DSGD_REDUCE_* */
} dsgd_encoding_params;

/** GATHER: every worker receives all sent vectors. The others compress the sum again. */
enum {
    DSGD_REDUCE_GATHER,
    DSGD_REDUCE_REGIONS, /* for top_k */
    DSGD_REDUCE_BIDIRECTIONAL = DSGD_REDUCE_REGIONS /* for integers and signs */
};

/** Parameters of `top_k`, `random_k` and `threshold`. */
typedef struct dsgd_selection {
    dsgd_encoding_params common;
    double share; /* of the elements of a chunk */
    double at; /* threshold (threshold) */
    int64_t value_bits, index_bits;
    bool unbiased; /* for random_k */
} dsgd_selection;

/** Returns the encoding with this name. @p params belongs to the caller and must outlive the run.
 */
dsgd_spec dsgd_encoding_of(const char *name, const void *params);

/**
 * Returns w in E |Q(x) - x|^2 <= (1 - w) |x|^2 for long chunks, at most 1; NAN if it depends on the
 * values. For sign it is the mean for normal numbers; for top_k the value for elements that are
 * kept until they are sent; otherwise a bound.
 */
double dsgd_encoding_contraction(const dsgd_spec *pick);

/**
 * Returns true if w is 0 or less. The values that error feedback keeps, or a public copy of a
 * model, then grow without bound (Karimireddy et al., ICML 2019, assumption A).
 */
bool dsgd_encoding_expands(const dsgd_spec *pick);

/** Rejects an encoding that expands, for algorithm @p name; the error contains @p consequence. */
dsgd_status dsgd_encoding_check_contracts(const dsgd_spec *pick, const char *name,
                                          const char *consequence, dsgd_error *error);

/** Returns true if the encoding has error feedback. */
bool dsgd_encoding_feeds_back(const dsgd_spec *pick);

/** Returns true if allreduces compress the sum again, so that it differs from the sum of the sent
 * vectors. */
bool dsgd_encoding_sums_again(const dsgd_spec *pick);

DSGD_END_C
