/**
 * @file selection.h
 * Selects runs of an experiment by their numbers, or as one of several shards.
 */
#pragma once

#include "command/experiment/experiment.h"

/** A run with its cost. */
typedef struct dsgd_work {
    size_t i;
    double cost; /* relative cost, computed without executing the run, and equal on all machines */
} dsgd_work;

/** Returns the *n runs that has[n_runs] marks (all if it is NULL), the longest first. */
dsgd_work *dsgd_runs_by_cost(const dsgd_experiment *experiment, const bool *has, size_t *n);

/** Marks in has[n_runs] the runs of --only: numbers from 1 and ranges, such as 1,3,7:9. */
dsgd_status dsgd_selection_only(const dsgd_experiment *experiment, const char *text, bool *has,
                                dsgd_error *error);

enum { DSGD_MOST_SHARDS = 10000 };

/**
 * Marks in has[n_runs] the runs of --shard i/n. Each run is in exactly one of the n shards. The
 * shards have about the same work: runs are assigned longest first, each to the shard with the
 * least work.
 */
dsgd_status dsgd_selection_shard(const dsgd_experiment *experiment, const char *text, bool *has,
                                 dsgd_error *error);

/** Returns the runs that has[n] marks, in the form that --only accepts. */
char *dsgd_selection_text(const bool *has, size_t n);
