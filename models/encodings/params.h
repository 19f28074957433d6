/**
 * @file params.h
 * Encodings as options, for algorithms that have one or fix some of it. Part of the contract.
 */
#pragma once

#include "base/option.h"

DSGD_BEGIN_C

/** NULL-terminated; `dsgd list encodings`. */
extern const dsgd_entry *const dsgd_encoding_kinds[];

/** A row of an option table: a field of type dsgd_spec. */
#define DSGD_OPTION_ENCODING(type, field, init_, ...)                                              \
    DSGD_OPTION_SPEC(type, field, dsgd_encoding_kinds, "kind", __VA_ARGS__, .init_text = init_)

/** The first member of every kind's parameters. */
typedef struct dsgd_encoding_params {
    bool feedback;
    int reduce; /* how allreduces add: DSGD_REDUCE_* */
} dsgd_encoding_params;

/** GATHER: everybody all that was sent; the others encode the sum again. */
enum {
    DSGD_REDUCE_GATHER,
    DSGD_REDUCE_REGIONS, /* of top_k */
    DSGD_REDUCE_BIDIRECTIONAL = DSGD_REDUCE_REGIONS /* of integers and signs */
};

/** Parameters of `top_k`, `random_k` and `threshold`. */
typedef struct dsgd_selection {
    dsgd_encoding_params common;
    double share; /* of the elements of a piece */
    double at; /* of threshold */
    int64_t value_bits, index_bits;
    bool unbiased; /* of random_k */
} dsgd_selection;

/** An encoding by its name; @p params, of the caller, has to outlive the run. */
dsgd_spec dsgd_encoding_of(const char *name, const void *params);

/**
 * w in E |Q(x) - x|^2 <= (1 - w) |x|^2, of long pieces: of sign the mean for normal numbers, of
 * top_k that for what is kept until it is sent, else a bound; at most 1, NAN where it depends on
 * values.
 */
double dsgd_encoding_contraction(const dsgd_spec *pick);

/**
 * Whether w is 0 or less: what error feedback keeps, or a public copy, then grows for ever
 * (Karimireddy et al., ICML 2019, assumption A).
 */
bool dsgd_encoding_expands(const dsgd_spec *pick);

/** Refuses an encoding that expands, for an algorithm of that name, and says what comes of it. */
dsgd_status dsgd_encoding_check_contracts(const dsgd_spec *pick, const char *name,
                                          const char *consequence, dsgd_error *error);

/** Whether it keeps what is not sent, to add it to what is sent next. */
bool dsgd_encoding_feeds_back(const dsgd_spec *pick);

/** Whether allreduces encode the sum again, so that it is not the sum of what was sent. */
bool dsgd_encoding_sums_again(const dsgd_spec *pick);

DSGD_END_C
