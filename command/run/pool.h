/**
 * @file pool.h
 * The runs of an experiment, each in a process of its own, because SimGrid has one engine per process and a crash must cost one run only.
 */
#ifndef DSGD_COMMAND_RUN_POOL_H
#define DSGD_COMMAND_RUN_POOL_H

#include "command/experiment/experiment.h"

typedef struct dsgd_pool_config {
    const dsgd_experiment *experiment;
    const char *folder; /* of results, which are open (results.h) */
    const char *command; /* as it was given, for the records */
    const char *record; /* file or folder of records; NULL: none */
    long jobs; /* processes at the same time */
    long threads; /* that compute in each, beside the one that simulates; 0: cores / jobs - 1 */
    long only; /* this run alone, counted from 1; 0: all */
    int numerics; /* dsgd_numerics */
    bool resume; /* only what has no results, or no record, yet */
} dsgd_pool_config;

typedef struct dsgd_pool_counts {
    size_t n_runs, n_failed; /* of those that were to be done */
} dsgd_pool_counts;

/** Does the runs, shows progress on stderr, and leaves a row for each. DSGD_ERUNS after SIGINT or SIGTERM: what was done is kept. */
dsgd_status dsgd_pool_run(const dsgd_pool_config *config, dsgd_pool_counts *done,
                          dsgd_error *error);

/** Whether `record`, which is there, is a folder whose records are named by their runs. */
bool dsgd_pool_records_in_folder(const dsgd_pool_config *config);

/** Of the machine, at least 1. */
long dsgd_cores(void);

#endif
