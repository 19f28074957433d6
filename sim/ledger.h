/**
 * @file ledger.h The values of a run. The ledger lists from which values each value was computed,
 * and which hosts held, sent and received the value, with times. The ledger is kept in memory, so
 * it is for small runs. It does not change the results.
 *
 * The index in `values` identifies a value. Equal operations on equal values give one value.
 * Vectors must have one chunk (`exchange: pieces: 1`, at most one server).
 */
#pragma once

#include "models/values/listener.h"

typedef struct dsgd_made {
    /* operation that made the value: ZERO only for values[0], CONSTANT for the model at time 0 */
    dsgd_made_by by;
    int worker; /* rank of the first worker that computed the value */
    int64_t step; /* step of worker `worker` when it computed the value */
    double at_s; /* virtual time of the operation; for a gradient, time of its start */
    /*
     * [n] indices of the operands, which are all smaller than the index of this value. A gradient
     * has one operand, the model. An update has two operands, the model and the gradient. A linear
     * combination has all its operands. An encoding has no operands.
     */
    size_t n, *from;
    /*
     * [n] weights of the operands. For a linear combination, they are divided by the divisor. For
     * an update, they are 1 and -lr.
     */
    double *weights;
    dsgd_value value; /* handle of the value, which is retained during the run */
    double *elements; /* [n_params] elements of the value, which are read after the run */
} dsgd_made;

typedef enum dsgd_yaml_kind {
    DSGD_ENTRY_MODEL, /* entry: the model of the host is `value` from now on */
    DSGD_ENTRY_UPDATED, /* entry: a local step computed `value`, for the model or another vector */
    DSGD_ENTRY_SENT, /* entry: a verb sends `value` */
    DSGD_ENTRY_RECEIVED, /* entry: a message of host `peer` delivered `value` */
    DSGD_ENTRY_SAMPLED, /* entry: the host contributes `value` to a sum */
    /* entry: the host uses the sum `value` */
    DSGD_ENTRY_USED
} dsgd_yaml_kind;

/**
 * First scope that belongs to a communicator. Smaller scopes are 0 for all workers, and numbers
 * from 1 on for versions of partial collectives.
 */
#define DSGD_SCOPE_COMM ((uint64_t)1 << 32)

static inline bool dsgd_scope_is_of_versions(uint64_t scope)
{
    return scope > 0 && scope < DSGD_SCOPE_COMM;
}

typedef struct dsgd_ledger_entry {
    dsgd_yaml_kind kind;
    int host; /* rank of a worker, or n_workers + rank of a server */
    int peer; /* host that sent the value; only for kind RECEIVED */
    int64_t step; /* current step of the host */
    double at_s;
    size_t value;
    /*
     * number of local steps of the owner when the value was made (-1 for a contribution of zeros);
     * only for RECEIVED and SAMPLED
     */
    int64_t stamp;
    /* identity of the sum; only for SAMPLED and USED (sim/exchange/reductions.h) */
    uint64_t scope, number;
    const char *verb; /* name of the verb; only for SENT */
} dsgd_ledger_entry;

typedef struct dsgd_ledger {
    size_t n_params;
    size_t n_values, n_entries;
    dsgd_made *values; /* [n_values] all values in the order of their computation */
    dsgd_ledger_entry *entries; /* [n_entries] all entries in the order of their times */

    bool ended; /* true after the end of the run; if the run continues, nothing is added */
} dsgd_ledger;
