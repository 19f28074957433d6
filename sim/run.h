/**
 * @file run.h
 * One run, from its configuration to its result: the whole engine seen from outside. SimGrid has one engine per process, so call
 * dsgd_simulate() once per process.
 */
#ifndef DSGD_SIM_RUN_H
#define DSGD_SIM_RUN_H

#include "base/status.h"
#include "sim/config.h"

enum { DSGD_MOST_AGES = 4096 };

typedef enum dsgd_outcome {
    DSGD_RUN_OK,
    DSGD_RUN_DIVERGED,
    DSGD_RUN_TIMEOUT,
    DSGD_RUN_FAILED
} dsgd_outcome;

/** Shares of a worker's time; they sum to 1. Communication that hides behind computation counts as computation. */
typedef struct dsgd_time_shares {
    double compute, wait, communicate;
} dsgd_time_shares;

typedef struct dsgd_run_result {
    int outcome; /* dsgd_outcome */
    dsgd_error why; /* where it diverged, or why it failed */
    double virtual_s;
    double steps; /* gradient steps of all workers / P */
    double samples, learn_samples;
    double step_mean_s; /* seconds of one step, mean over workers */
    double exposed_mean_s; /* of that, after the computation has ended and before the step has */
    dsgd_time_shares shares; /* mean over workers */
    dsgd_time_shares
        *worker_shares; /* [workers], for the figure of where each worker's time goes */
    double *worker_steps; /* [workers] */
    double staleness_mean, staleness_max;
    size_t n_ages;
    double
        *ages; /* [n_ages] share of uses by age in steps; the last bin possible holds all beyond */
    uint64_t messages;
    double bytes;
    double partial_active_mean; /* fresh contributions per partial collective; NAN without any */
    uint64_t
        partial_skipped; /* sums that a worker missed because a later one had overwritten them */
    size_t n_points;
    dsgd_point *points; /* [n_points], the first at time 0; none without learning */
    double ideal_s; /* plausibility: compute only, nobody waits */
    double
        link_s; /* plausibility: bytes sent per worker over its own link, if nothing else took time */
    double timing_wall_s, total_wall_s;
    dsgd_values_stats numerics;
    double local_loss, local_accuracy,
        local_accuracy_min; /* over workers' own models at the end; NAN where not asked for */
    const char *device; /* name of the device that computed, "off" for none */
} dsgd_run_result;

/**
 * Runs to the bound. DSGD_OK also when the run diverged or failed (see outcome); an error only for input or device trouble found
 * before time 0. Release the result by dsgd_run_result_free().
 */
dsgd_status dsgd_simulate(const dsgd_run_config *config, dsgd_run_result *result,
                          dsgd_error *error);
void dsgd_run_result_free(dsgd_run_result *result);

/** What can be refused before anything runs: `check` of the algorithm, of the imbalance, of the bounds. Pure. */
dsgd_status dsgd_run_check(const dsgd_run_config *config, dsgd_error *error);

/** Loads the data and lays out the model, only to find out whether they are good. Slower than dsgd_run_check(): it reads files. */
dsgd_status dsgd_learning_check(const dsgd_learning *learning, uint64_t seed, dsgd_error *error);

#endif
