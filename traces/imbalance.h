/**
 * @file imbalance.h
 * How many seconds a worker computes in a step: a base time, shaped in order by a list of entries.
 *
 * Each entry is of a kind out of dsgd_imbalance_kinds. All draws are counter-based, so that the seconds of (worker, step) do not
 * depend on who asks, when, or how often.
 */
#ifndef DSGD_TRACES_IMBALANCE_H
#define DSGD_TRACES_IMBALANCE_H

#include <stdint.h>

#include "base/option.h"
#include "base/status.h"

/** The samples of a step's mini-batch. */
typedef struct dsgd_batch_size {
    double samples;
    double rows; /* of all of them */
    double longest; /* rows of the one that has most */
} dsgd_batch_size;

/** Whose step, of how many workers, under which seed. */
typedef struct dsgd_step_at {
    uint64_t seed;
    int n_workers;
    int worker; /* [0, n_workers) */
    long step; /* >= 0, the worker's own count */
    dsgd_batch_size batch; /* zeros where no entry reads it */
} dsgd_step_at;

/** A kind of imbalance. The registry is dsgd_imbalance_kinds; its heads are the first members of these. */
typedef struct dsgd_imbalance_kind {
    dsgd_about about; /* required */
    /** Optional: refuses what the option table cannot, such as more delayed workers than there are. Pure. */
    dsgd_status (*check)(const void *params, int n_workers, dsgd_error *error);
    /** Optional: reads what the entry needs (a CSV file). *state is released by free(). Relative paths are as given. */
    dsgd_status (*load)(const void *params, void **state, dsgd_error *error);
    /** Required: the new seconds, given those so far. @p purpose is this entry's own, for its draws. */
    double (*seconds)(const void *params, const void *state, uint32_t purpose, dsgd_step_at at,
                      double so_far_s);
    bool reads_samples; /* `seconds` reads at.batch */
} dsgd_imbalance_kind;

extern const dsgd_about *const dsgd_imbalance_kinds[]; /* NULL-terminated */

/** A uniform draw in (0, 1) of an entry for one worker and step; @p index tells its draws apart. */
double dsgd_imbalance_uniform(uint32_t purpose, dsgd_step_at at, uint32_t index);

/** A loaded list, ready to be asked. */
typedef struct dsgd_imbalance dsgd_imbalance;

/** Checks and loads @p entries (picks out of dsgd_imbalance_kinds; not owned, and must outlive the list). */
dsgd_status dsgd_imbalance_open(const dsgd_picks *entries, size_t n_lists, int n_workers,
                                dsgd_imbalance **imbalance, dsgd_error *error);
void dsgd_imbalance_close(dsgd_imbalance *imbalance);

/** Whether an entry reads dsgd_step_at.batch. */
bool dsgd_imbalance_reads_samples(const dsgd_imbalance *imbalance);

/** Seconds of one step: @p base_s, shaped by the entries in order; never below 0. */
double dsgd_imbalance_seconds(const dsgd_imbalance *imbalance, double base_s, dsgd_step_at at);

/** What a list makes of a step. */
typedef struct dsgd_step_statistics {
    double mean_s, deviation_s, min_s, max_s; /* over workers and steps */
    double slowest_s, median_s, fastest_s; /* of the workers of a step, mean over steps */
} dsgd_step_statistics;

/** Draws @p n_steps steps of @p n_workers workers, for whom the list was opened. The list must not read dsgd_step_at.batch. */
dsgd_step_statistics dsgd_imbalance_statistics(const dsgd_imbalance *imbalance, double base_s,
                                               int n_workers, long n_steps);

#endif
