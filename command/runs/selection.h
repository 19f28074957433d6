/**
 * @file selection.h
 * Selects runs of an experiment by their numbers, or by shards.
 */
#pragma once

#include "command/experiment/experiment.h"

/** A run with its cost. */
typedef struct dsgd_work {
    size_t i;
    double cost; /* relative cost of the run, which is estimated without executing it and is equal
                  * on all machines */
} dsgd_work;

/**
 * Returns the *n runs i for which has[i] is true (all runs if @p has is NULL), the longest run
 * first.
 */
dsgd_work *dsgd_runs_by_cost(const dsgd_experiment *experiment, const bool *has, size_t *n);

/** Sets has[i] for the runs of option --only: numbers from 1 and ranges, such as 1,3,7:9. */
dsgd_status dsgd_selection_only(const dsgd_experiment *experiment, const char *text, bool *has,
                                dsgd_error *error);

enum { DSGD_MOST_SHARDS = 10000 };

/**
 * Sets has[i] for the runs of option --shard i/n. Each run is in exactly one of the n shards. Runs
 * are assigned to shards with the longest run first, each to the shard with the least work, so that
 * the shards have about equal work.
 */
dsgd_status dsgd_selection_shard(const dsgd_experiment *experiment, const char *text, bool *has,
                                 dsgd_error *error);

/** Returns the runs i for which has[i] is true, as a text in the format of --only. */
char *dsgd_selection_text(const bool *has, size_t n);
