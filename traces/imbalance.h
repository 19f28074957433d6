/**
 * @file imbalance.h
 * Computes the time for which a worker computes in a step. A list of imbalance entries is applied
 * to a base time in order.
 *
 * Each entry has a kind from dsgd_imbalance_kinds. All random numbers are counter-based
 * (base/draw.h), so the time is a pure function of seed, worker and step.
 */
#pragma once

#include "base/draw.h"
#include "base/option.h"
#include "base/status.h"

/** Size of the mini-batch of one step. */
typedef struct dsgd_batch_size {
    double samples;
    double rows; /* number of rows of all samples together */
    double longest; /* number of rows of the longest sample */
} dsgd_batch_size;

/** A step of a worker whose computation time is to be computed. */
typedef struct dsgd_step_at {
    uint64_t seed;
    int n_workers;
    int worker; /* rank of the worker, in [0, n_workers) */
    int64_t step; /* number of the step of this worker, from 0 */
    dsgd_batch_size batch; /* mini-batch of the step; all zeros if no entry reads the mini-batch */
    /* dsgd_imbalance_seconds() sets the next two members for each entry. */
    uint32_t purpose; /* purpose of the random numbers that this entry uses */
    const void *state; /* state that load() created; NULL if the kind has no state */
} dsgd_step_at;

/** A kind of imbalance. The table dsgd_imbalance_kinds points to the member `about`. */
typedef struct dsgd_imbalance_kind {
    dsgd_entry about; /* name, summary and options of the kind; required */
    /**
     * Rejects values that the option table cannot reject, such as too many workers. This function
     * is pure and optional.
     */
    dsgd_status (*check)(const void *params, int n_workers, dsgd_error *error);
    /**
     * Creates *state, for example from a CSV file. The caller frees *state with free(). This
     * function is optional.
     */
    dsgd_status (*load)(const void *params, void **state, dsgd_error *error);
    /**
     * Returns the step time in seconds after this entry. @p so_far_s is the step time before this
     * entry. This function is required.
     */
    double (*seconds)(const void *params, dsgd_step_at at, double so_far_s);
    bool reads_samples; /* true if the function `seconds` reads at.batch */
    bool is_fixed; /* true if the step times are the same for every seed */
} dsgd_imbalance_kind;

/**
 * Defines the imbalance kind NAME from NAME_params, NAME_options and NAME_seconds(). The further
 * arguments are the summary and other members.
 */
#define DSGD_IMBALANCE(name_, ...)                                                                 \
    const dsgd_imbalance_kind dsgd_imbalance_##name_ = {                                           \
        .about = {.name = #name_, DSGD_PARAMS(name_##_params, name_##_options)},                   \
        .seconds = name_##_seconds,                                                                \
        .about.summary = __VA_ARGS__}

extern const dsgd_entry *const dsgd_imbalance_kinds[]; /* table of all kinds of imbalance; the last
                                                        * entry is NULL */

/**
 * Returns the coordinates of random number @p index of an entry, for the step in @p at and for
 * worker @p worker.
 */
static inline dsgd_draw dsgd_imbalance_draw(dsgd_step_at at, uint32_t worker, uint32_t index)
{
    return (dsgd_draw){at.seed, at.purpose, worker, (uint32_t)at.step, index};
}

/**
 * Returns random number @p index of an entry, for the worker and step in @p at. The number is
 * uniform in (0, 1).
 */
static inline double dsgd_imbalance_uniform(dsgd_step_at at, uint32_t index)
{
    return dsgd_draw_uniform(dsgd_imbalance_draw(at, (uint32_t)at.worker, index));
}

/**
 * Option `scale` of imbalance kinds with a random number. dsgd_imbalance_scaled() implements this
 * option.
 */
#define DSGD_OPTION_SCALE(type)                                                                    \
    DSGD_OPTION_BOOL(type, scale, false,                                                           \
                     "true: multiply the step time so far by the random number; false: add it")
static inline double dsgd_imbalance_scaled(bool scale, double so_far_s, double value)
{
    return scale ? so_far_s * value : so_far_s + value;
}

/** A list of loaded entries. */
typedef struct dsgd_imbalance dsgd_imbalance;

/**
 * Checks and loads the entries of n_lists lists. The lists must exist for as long as *imbalance.
 */
dsgd_status dsgd_imbalance_open(const dsgd_specs *entries, size_t n_lists, int n_workers,
                                dsgd_imbalance **imbalance, dsgd_error *error);
void dsgd_imbalance_close(dsgd_imbalance *imbalance);

/** Returns true if an entry of the list reads dsgd_step_at.batch, the mini-batch of a step. */
bool dsgd_imbalance_reads_samples(const dsgd_imbalance *imbalance);

/**
 * Returns the time of one step in seconds, at least 0. Applies the entries to the base time @p
 * base_s in order.
 */
double dsgd_imbalance_seconds(const dsgd_imbalance *imbalance, double base_s, dsgd_step_at at);

/** Statistics of step times, in seconds. */
typedef struct dsgd_step_statistics {
    double mean_s, deviation_s, min_s, max_s; /* mean, standard deviation, minimum and maximum over
                                               * all workers and steps */
    double slowest_s, median_s, fastest_s; /* times of the slowest, median and fastest worker of a
                                            * step, averaged over the steps */
} dsgd_step_statistics;

/**
 * Returns statistics of the times of @p n_steps steps of all workers. No entry of the list may read
 * dsgd_step_at.batch.
 */
dsgd_step_statistics dsgd_imbalance_statistics(const dsgd_imbalance *imbalance, double base_s,
                                               int n_workers, int64_t n_steps);
