/**
 * @file imbalance.h
 * The seconds that a worker computes in a step: a base time to which a list of entries is applied
 * in order.
 *
 * Each entry has a kind from dsgd_imbalance_kinds. All random numbers are counter-based
 * (base/draw.h), so the seconds are a pure function of seed, worker and step.
 */
#pragma once

#include "base/draw.h"
#include "base/option.h"
#include "base/status.h"

/** The samples of a step's mini-batch. */
typedef struct dsgd_batch_size {
    double samples;
    double rows; /* total of all samples */
    double longest; /* rows of the longest sample */
} dsgd_batch_size;

/** A step of a worker. */
typedef struct dsgd_step_at {
    uint64_t seed;
    int n_workers;
    int worker; /* [0, n_workers) */
    int64_t step; /* of this worker, from 0 */
    dsgd_batch_size batch; /* zeros if no entry reads it */
    /* dsgd_imbalance_seconds() sets these for each entry. */
    uint32_t purpose; /* of the entry's random numbers */
    const void *state; /* from load(); NULL if the kind has none */
} dsgd_step_at;

/** A kind of imbalance; the registry dsgd_imbalance_kinds points to their `about`. */
typedef struct dsgd_imbalance_kind {
    dsgd_entry about; /* required */
    /** Optional, pure. Rejects values that the option table cannot, such as too many workers. */
    dsgd_status (*check)(const void *params, int n_workers, dsgd_error *error);
    /** Optional. Creates *state, for example from a CSV file. The caller calls free(). */
    dsgd_status (*load)(const void *params, void **state, dsgd_error *error);
    /** Required. Returns the seconds after this entry; @p so_far_s are those before it. */
    double (*seconds)(const void *params, dsgd_step_at at, double so_far_s);
    bool reads_samples; /* `seconds` reads at.batch */
    bool is_fixed; /* the seconds are the same for every seed */
} dsgd_imbalance_kind;

/** Defines a kind from NAME_params, NAME_options and NAME_seconds(), its summary and other members.
 */
#define DSGD_IMBALANCE(name_, ...)                                                                 \
    const dsgd_imbalance_kind dsgd_imbalance_##name_ = {                                           \
        .about = {.name = #name_, DSGD_PARAMS(name_##_params, name_##_options)},                   \
        .seconds = name_##_seconds,                                                                \
        .about.summary = __VA_ARGS__}

extern const dsgd_entry *const dsgd_imbalance_kinds[]; /* NULL-terminated */

/** Returns the coordinates of random number @p index of the entry and step for @p worker. */
static inline dsgd_draw dsgd_imbalance_draw(dsgd_step_at at, uint32_t worker, uint32_t index)
{
    return (dsgd_draw){at.seed, at.purpose, worker, (uint32_t)at.step, index};
}

/** Returns random number @p index of the entry, worker and step, uniform in (0, 1). */
static inline double dsgd_imbalance_uniform(dsgd_step_at at, uint32_t index)
{
    return dsgd_draw_uniform(dsgd_imbalance_draw(at, (uint32_t)at.worker, index));
}

/** The option `scale` of kinds with a random number, and the function that implements it. */
#define DSGD_OPTION_SCALE(type)                                                                    \
    DSGD_OPTION_BOOL(type, scale, false,                                                           \
                     "true: multiply the step time so far by the random number; false: add it")
static inline double dsgd_imbalance_scaled(bool scale, double so_far_s, double value)
{
    return scale ? so_far_s * value : so_far_s + value;
}

/** A list of loaded entries. */
typedef struct dsgd_imbalance dsgd_imbalance;

/** Checks and loads entries[n_lists] of dsgd_imbalance_kinds. They must outlive the list. */
dsgd_status dsgd_imbalance_open(const dsgd_specs *entries, size_t n_lists, int n_workers,
                                dsgd_imbalance **imbalance, dsgd_error *error);
void dsgd_imbalance_close(dsgd_imbalance *imbalance);

/** Returns true if an entry reads dsgd_step_at.batch. */
bool dsgd_imbalance_reads_samples(const dsgd_imbalance *imbalance);

/** Returns the seconds of one step, never below 0: the entries are applied to @p base_s in order.
 */
double dsgd_imbalance_seconds(const dsgd_imbalance *imbalance, double base_s, dsgd_step_at at);

/** Statistics of step times. */
typedef struct dsgd_step_statistics {
    double mean_s, deviation_s, min_s, max_s; /* over workers and steps */
    double slowest_s, median_s, fastest_s; /* over the workers of a step; mean over steps */
} dsgd_step_statistics;

/** Returns the statistics of @p n_steps steps of all workers. The list must not read
 * dsgd_step_at.batch. */
dsgd_step_statistics dsgd_imbalance_statistics(const dsgd_imbalance *imbalance, double base_s,
                                               int n_workers, int64_t n_steps);
