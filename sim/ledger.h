/**
 * @file ledger.h
 * Which values a run had: what each was computed from, and who held, sent and got which, when.
 * It is kept in memory, for small runs. It does not change the results.
 *
 * A value is named by its place in `values`: equal operations on equal values are one. Vectors are
 * in one piece (`exchange: pieces: 1`, at most one server).
 */
#pragma once

#include "models/values/listener.h"

typedef struct dsgd_made {
    dsgd_made_by by; /* ZERO: only values[0]; CONSTANT: the model at time 0 */
    int worker; /* who computed it first */
    int64_t step; /* the step that this was in */
    double at_s; /* virtual: a gradient is begun, all else is made at that instant */
    /* [n], each before this one: the model of a gradient; model and gradient of an update; the
     * operands of a combination. An encoding lists none. */
    size_t n, *from;
    double *weights; /* [n] of a combination, divided by the divisor; of an update 1 and - lr */
    dsgd_value value; /* held during the run */
    double *elements; /* [n_params], after the run */
} dsgd_made;

typedef enum dsgd_yaml_kind {
    DSGD_ENTRY_MODEL, /* from now on the host's model is `value` */
    DSGD_ENTRY_UPDATED, /* a local step has made it, of the model or of another vector */
    DSGD_ENTRY_SENT, /* a verb sends it */
    DSGD_ENTRY_RECEIVED, /* a message of `peer` has brought it */
    DSGD_ENTRY_SAMPLED, /* the host gives it to a sum */
    DSGD_ENTRY_USED /* the host uses that sum */
} dsgd_yaml_kind;

/** Scopes of sums from here on are of communicators; below are 0, all workers, and versions. */
#define DSGD_SCOPE_COMM ((uint64_t)1 << 32)

static inline bool dsgd_scope_is_of_versions(uint64_t scope)
{
    return scope > 0 && scope < DSGD_SCOPE_COMM;
}

typedef struct dsgd_ledger_entry {
    dsgd_yaml_kind kind;
    int host; /* workers by rank, then servers */
    int peer; /* of RECEIVED the sender */
    int64_t step; /* of the host */
    double at_s;
    size_t value;
    int64_t stamp; /* of RECEIVED and SAMPLED: local steps that its owner had made; -1: no value */
    uint64_t scope, number; /* of SAMPLED and USED: which sum (sim/exchange/reductions.h) */
    const char *verb; /* of SENT */
} dsgd_ledger_entry;

typedef struct dsgd_ledger {
    size_t n_params;
    size_t n_values, n_entries;
    dsgd_made *values; /* [n_values], as they were made */
    dsgd_ledger_entry *entries; /* [n_entries], as they happened */

    bool ended; /* the run has; a worker that continues adds nothing */
} dsgd_ledger;
