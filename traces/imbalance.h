/**
 * @file imbalance.h
 * The seconds that a worker computes in a step: a base time, to which the entries of a list are
 * applied in order.
 *
 * Each entry is of a kind out of dsgd_imbalance_kinds. All draws are counter-based (base/draw.h):
 * the seconds of (seed, worker, step) are a pure function.
 */
#pragma once

#include "base/draw.h"
#include "base/option.h"
#include "base/status.h"

/** The samples of a step's mini-batch. */
typedef struct dsgd_batch_size {
    double samples;
    double rows; /* of all samples */
    double longest; /* rows of the longest sample */
} dsgd_batch_size;

/** A step of a worker. */
typedef struct dsgd_step_at {
    uint64_t seed;
    int n_workers;
    int worker; /* [0, n_workers) */
    int64_t step; /* >= 0, of this worker */
    dsgd_batch_size batch; /* zeros where no entry reads it */
    /* Of the entry that is evaluated; set by dsgd_imbalance_seconds(). */
    uint32_t purpose; /* of its draws */
    const void *state; /* what load() made; NULL without one */
} dsgd_step_at;

/** A kind of imbalance; the registry dsgd_imbalance_kinds points to their `about`. */
typedef struct dsgd_imbalance_kind {
    dsgd_entry about; /* required */
    /** Optional, pure. Refuses what the option table cannot, such as too many delayed workers. */
    dsgd_status (*check)(const void *params, int n_workers, dsgd_error *error);
    /** Optional: makes *state, such as of a CSV file; the caller releases it by free(). */
    dsgd_status (*load)(const void *params, void **state, dsgd_error *error);
    /** Required: the seconds after this entry, from @p so_far_s before it. */
    double (*seconds)(const void *params, dsgd_step_at at, double so_far_s);
    bool reads_samples; /* `seconds` reads at.batch */
    bool is_fixed; /* the same for every seed */
} dsgd_imbalance_kind;

/**
 * Defines a kind by NAME_params, NAME_options, NAME_seconds(), its summary, and further members.
 */
#define DSGD_IMBALANCE(name_, ...)                                                                 \
    const dsgd_imbalance_kind dsgd_imbalance_##name_ = {                                           \
        .about = {.name = #name_, DSGD_PARAMS(name_##_params, name_##_options)},                   \
        .seconds = name_##_seconds,                                                                \
        .about.summary = __VA_ARGS__}

extern const dsgd_entry *const dsgd_imbalance_kinds[]; /* NULL-terminated */

/** A draw of the entry and step, for @p worker; @p index distinguishes its draws. */
static inline dsgd_draw dsgd_imbalance_draw(dsgd_step_at at, uint32_t worker, uint32_t index)
{
    return (dsgd_draw){at.seed, at.purpose, worker, (uint32_t)at.step, index};
}

/** A uniform draw in (0, 1) of the entry, worker and step. */
static inline double dsgd_imbalance_uniform(dsgd_step_at at, uint32_t index)
{
    return dsgd_draw_uniform(dsgd_imbalance_draw(at, (uint32_t)at.worker, index));
}

/** An option `scale` of kinds that draw a number, and what it does. */
#define DSGD_OPTION_SCALE(type)                                                                    \
    DSGD_OPTION_BOOL(type, scale, false,                                                           \
                     "true: multiply the step time so far by the random number; false: add it")
static inline double dsgd_imbalance_scaled(bool scale, double so_far_s, double value)
{
    return scale ? so_far_s * value : so_far_s + value;
}

/** A loaded list. */
typedef struct dsgd_imbalance dsgd_imbalance;

/** Checks and loads entries[n_lists] (of dsgd_imbalance_kinds), which must outlive the list. */
dsgd_status dsgd_imbalance_open(const dsgd_specs *entries, size_t n_lists, int n_workers,
                                dsgd_imbalance **imbalance, dsgd_error *error);
void dsgd_imbalance_close(dsgd_imbalance *imbalance);

/** Whether an entry reads dsgd_step_at.batch. */
bool dsgd_imbalance_reads_samples(const dsgd_imbalance *imbalance);

/** Seconds of one step: @p base_s, shaped by the entries in order; never below 0. */
double dsgd_imbalance_seconds(const dsgd_imbalance *imbalance, double base_s, dsgd_step_at at);

/** The distribution of a step's seconds. */
typedef struct dsgd_step_statistics {
    double mean_s, deviation_s, min_s, max_s; /* over workers and steps */
    double slowest_s, median_s, fastest_s; /* of the workers of a step, mean over steps */
} dsgd_step_statistics;

/** Of @p n_steps steps of all workers. The list must not read dsgd_step_at.batch. */
dsgd_step_statistics dsgd_imbalance_statistics(const dsgd_imbalance *imbalance, double base_s,
                                               int n_workers, int64_t n_steps);
