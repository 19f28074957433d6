/**
 * @file selection.h
 * Selects runs of an experiment by their numbers, or by shards.
 */
#pragma once

#include "command/experiment/experiment.h"

/** A run with its estimated cost. */
typedef struct dsgd_work {
    size_t i;
    double cost; /* relative cost of the run; it is estimated without executing the run, and is
                  * equal on all machines */
} dsgd_work;

/**
 * Returns the *n runs i for which has[i] is true, the longest run first. If @p has is NULL, returns
 * all runs.
 */
dsgd_work *dsgd_runs_by_cost(const dsgd_experiment *experiment, const bool *has, size_t *n);

/**
 * Sets has[i] to true for the runs of option --only. The option contains numbers from 1 and ranges,
 * such as 1,3,7:9.
 */
dsgd_status dsgd_selection_only(const dsgd_experiment *experiment, const char *text, bool *has,
                                dsgd_error *error);

enum { DSGD_MOST_SHARDS = 10000 };

/**
 * Sets has[i] to true for the runs of option --shard i/n. Each run is in exactly one of the n
 * shards. Assigns the longest run first, and each run to the shard with the least work so far. All
 * shards then have about equal work.
 */
dsgd_status dsgd_selection_shard(const dsgd_experiment *experiment, const char *text, bool *has,
                                 dsgd_error *error);

/** Returns a text that lists the runs i for which has[i] is true, in the format of --only. */
char *dsgd_selection_text(const bool *has, size_t n);
