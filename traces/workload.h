/**
 * @file workload.h
 * A workload: the network whose time is modelled. Its bytes, its tensors, its seconds per step, its samples per step.
 * Not to be confused with the reduced model, which is really trained (models/).
 */
#ifndef DSGD_TRACES_WORKLOAD_H
#define DSGD_TRACES_WORKLOAD_H

#include "base/option.h"
#include "base/status.h"

/** Filled by dsgd_workload_options from a YAML file, shipped (traces/workloads/) or the user's own. */
typedef struct dsgd_workload {
    const char *summary;
    const char *origin; /* where the figures come from */
    double bytes; /* of one gradient or model; 0 where tensors are given */
    dsgd_records tensors; /* of dsgd_tensors, in backward order; none: one tensor of `bytes` */
    double step_s; /* seconds of one step on one GPU, without what `inherent` adds */
    double samples; /* per worker and step */
    const char *sample_unit; /* "images", "tokens", ... */
    double backward_share; /* share of step_s, at its end, in which gradients become ready */
    dsgd_picks inherent; /* imbalance that belongs to the workload, out of dsgd_imbalance_kinds */
} dsgd_workload;

/** A row of a tensor list: @c count tensors of @c elements float32 each. */
typedef struct dsgd_tensors {
    long elements;
    long count;
} dsgd_tensors;

extern const dsgd_option dsgd_workload_options[];

/** Refuses what the table cannot: neither bytes nor tensors, or both. */
dsgd_status dsgd_workload_check(const dsgd_workload *workload, dsgd_error *error);

/** Bytes of one gradient, whichever way they were given. */
double dsgd_workload_bytes(const dsgd_workload *workload);

/**
 * Splits one gradient into the pieces of its exchanges, in backward order: whole tensors until a bucket of @p bucket_bytes is full; or,
 * where that is 0, @p n_pieces equal ones; or every tensor (n_pieces 0). *bytes is a fresh array of the returned length, which the
 * caller frees.
 */
size_t dsgd_workload_pieces(const dsgd_workload *workload, size_t n_pieces, double bucket_bytes,
                            double **bytes);

#endif
