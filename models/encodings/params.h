/**
 * @file params.h
 * Encodings as options, for algorithms that have one or fix some of it. Part of the contract.
 */
#ifndef DSGD_MODELS_ENCODINGS_PARAMS_H
#define DSGD_MODELS_ENCODINGS_PARAMS_H

#include "base/option.h"

/** NULL-terminated; `dsgd list encodings`. */
extern const dsgd_about *const dsgd_encoding_kinds[];

/** A row of an option table: a field of type dsgd_pick. */
#define DSGD_OPTION_ENCODING(type, field, init_, ...)                                              \
    DSGD_OPTION_PICK(type, field, dsgd_encoding_kinds, "kind", __VA_ARGS__, .init_text = init_)

/** The first member of every kind's parameters. */
typedef struct dsgd_encoding_params {
    bool feedback;
} dsgd_encoding_params;

/** Parameters of `top_k`, `random_k` and `threshold`. */
typedef struct dsgd_selection {
    dsgd_encoding_params common;
    double share; /* of the elements of a piece */
    double at; /* of threshold */
    long value_bits, index_bits;
    int reduce; /* of top_k */
    bool unbiased; /* of random_k */
} dsgd_selection;

enum { DSGD_REDUCE_GATHER, DSGD_REDUCE_REGIONS };

/** An encoding by its name; @p params, of the caller, has to outlive the run. */
dsgd_pick dsgd_encoding_of(const char *name, const void *params);

/** Whether it keeps what is not sent, to add it to what is sent next. */
bool dsgd_encoding_feeds_back(const dsgd_pick *pick);

#endif
