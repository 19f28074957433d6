/**
 * @file estimate.h
 * What runs will take, from short runs of a few of their steps.
 */
#pragma once

#include "command/experiment/experiment.h"

/** Of one run, on this machine with nothing beside it. */
typedef struct dsgd_estimate {
    double cpu_s; /* of all threads; NAN: nothing bounds its steps but an accuracy */
    double memory_bytes; /* of its process and of the program that started it, at most */
} dsgd_estimate;

typedef struct dsgd_estimate_sum {
    double cpu_s; /* of all runs whose times are known */
    double longest_s, most_bytes; /* of one run */
    size_t n_unknown;
    double available_bytes; /* of this machine's memory, the control group's, and `ulimit -m` */
} dsgd_estimate_sum;

/**
 * Fills estimates[n_runs]. Runs that differ in seeds, bounds, labels and optimizers are alike; of
 * each kind one is run for a few steps, twice or more often, and what a step and an evaluation take
 * is drawn out to its bounds. Where a GPU computes, the simulation alone is estimated.
 *
 * DSGD_EUSAGE: a run needs more memory than is available. DSGD_ERUNS: a short run failed.
 */
dsgd_status dsgd_estimate_runs(const dsgd_experiment *experiment, int numerics,
                               dsgd_estimate *estimates, dsgd_error *error);

dsgd_estimate_sum dsgd_estimate_sum_of(const dsgd_experiment *experiment,
                                       const dsgd_estimate *estimates);
