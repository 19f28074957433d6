/**
 * @file selection.h
 * Some of the runs of an experiment: by their numbers, or as one of several shards.
 */
#pragma once

#include "command/experiment/experiment.h"

/** A run of an experiment. */
typedef struct dsgd_work {
    size_t i;
    double cost; /* relative, known without running it: machines agree on it */
} dsgd_work;

/** The *n runs of has[n_runs] (NULL: all), the longest first. */
dsgd_work *dsgd_runs_by_cost(const dsgd_experiment *experiment, const bool *has, size_t *n);

/** Marks in has[n_runs] what --only names: numbers from 1 and ranges, such as 1,3,7:9. */
dsgd_status dsgd_selection_only(const dsgd_experiment *experiment, const char *text, bool *has,
                                dsgd_error *error);

enum { DSGD_MOST_SHARDS = 10000 };

/**
 * Marks in has[n_runs] the runs of --shard i/n. The n shards have every run once, and about the
 * same work each: the longest run goes first, to the shard that has least.
 */
dsgd_status dsgd_selection_shard(const dsgd_experiment *experiment, const char *text, bool *has,
                                 dsgd_error *error);

/** The runs of has[n] as --only takes them. */
char *dsgd_selection_text(const bool *has, size_t n);
