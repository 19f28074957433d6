/**
 * @file ledger.h The values of a run: from which values each was computed, and which host held,
 * sent and received which value when. The list is kept in memory, for small runs. It does not
 * change the results.
 *
 * A value is named by its index in `values`. Equal operations on equal values give one value.
 * Vectors have one chunk (`exchange: pieces: 1`, at most one server).
 */
#pragma once

#include "models/values/listener.h"

typedef struct dsgd_made {
    dsgd_made_by by; /* operation; ZERO only for values[0]; CONSTANT for the model at time 0 */
    int worker; /* rank of the worker that computed the value first */
    int64_t step; /* step of that worker */
    double at_s; /* virtual time: start of a gradient, or instant of any other operation */
    /*
     * [n] indices of the operands, all smaller than the index of this value: the model of a
     * gradient; model and gradient of an update; the operands of a combination. Encodings list no
     * operand.
     */
    size_t n, *from;
    /*
     * [n] weights of the operands: of a combination, divided by the divisor; of an update, 1 and
     * -lr
     */
    double *weights;
    dsgd_value value; /* value, held during the run */
    double *elements; /* [n_params] elements, read after the run */
} dsgd_made;

typedef enum dsgd_yaml_kind {
    DSGD_ENTRY_MODEL, /* the host's model is `value` from now on */
    DSGD_ENTRY_UPDATED, /* a local step computed it, for the model or another vector */
    DSGD_ENTRY_SENT, /* a verb sends it */
    DSGD_ENTRY_RECEIVED, /* a message of `peer` delivered it */
    DSGD_ENTRY_SAMPLED, /* the host contributes it to a sum */
    DSGD_ENTRY_USED /* the host uses the sum */
} dsgd_yaml_kind;

/**
 * Scopes from this number on belong to communicators. Smaller ones are 0 for all workers, and
 * versions of partial collectives.
 */
#define DSGD_SCOPE_COMM ((uint64_t)1 << 32)

static inline bool dsgd_scope_is_of_versions(uint64_t scope)
{
    return scope > 0 && scope < DSGD_SCOPE_COMM;
}

typedef struct dsgd_ledger_entry {
    dsgd_yaml_kind kind;
    int host; /* workers by rank, then servers */
    int peer; /* sender, for RECEIVED */
    int64_t step; /* step of the host */
    double at_s;
    size_t value;
    /*
     * local steps that the value's owner had made, for RECEIVED and SAMPLED; -1 if there is no
     * value
     */
    int64_t stamp;
    /* identity of the sum, for SAMPLED and USED (sim/exchange/reductions.h) */
    uint64_t scope, number;
    const char *verb; /* verb, for SENT */
} dsgd_ledger_entry;

typedef struct dsgd_ledger {
    size_t n_params;
    size_t n_values, n_entries;
    dsgd_made *values; /* [n_values], in the order in which they were computed */
    dsgd_ledger_entry *entries; /* [n_entries], in the order of their times */

    bool ended; /* true after the end of the run; workers that continue add nothing */
} dsgd_ledger;
