/**
 * @file study.h
 * Defines a study. A study selects, executes and reads runs of an experiment in rounds. A
 * conclusion follows from their results. Each kind of study defines its own computations.
 */
#pragma once

#include "command/console/arguments.h"
#include "command/runs/pool.h"

typedef struct dsgd_study {
    dsgd_rounds rounds; /* functions that select and read the runs of each round; plan() and
                         * conclude() have the same state */
    /**
     * Function that is called before the first run, when the results folder already exists. NULL if
     * the study needs no such function.
     */
    dsgd_status (*plan)(void *state, dsgd_error *error);
    /** Function that is called after the last round. */
    dsgd_status (*conclude)(void *state, const dsgd_pool_counts *done, dsgd_error *error);
} dsgd_study;

/**
 * Checks the training data, unless numerics are off. Tests the GPUs. Sets config->numerics and
 * config->gpus.
 */
dsgd_status dsgd_study_prepare(dsgd_pool_config *config, dsgd_error *error);

/**
 * Executes a study. Call dsgd_study_prepare() first. If @p config has no folder, uses a temporary
 * folder and removes it at the end. The functions of the study find the path of the folder in
 * `config->folder` and the results in `config->results`.
 */
dsgd_status dsgd_study_run(const dsgd_study *study, dsgd_pool_config *config,
                           const dsgd_texts *plugins, dsgd_error *error);

/**
 * Finds why each run cannot win, by the rules of verdicts. why[i] is the reason for run number i +
 * 1. It is NULL if the run can win.
 */
dsgd_status dsgd_study_outcomes(const char *folder, size_t n_runs, const char **why,
                                dsgd_error *error);

/**
 * Returns DSGD_EUSAGE if there are too many runs. @p n_runs is the number of runs including their
 * variations; the limit is DSGD_MOST_RUNS.
 */
dsgd_status dsgd_study_check_length(const dsgd_experiment *experiment, size_t n_runs,
                                    dsgd_error *error);

/** keys of a task file (task.c) */
extern const dsgd_option dsgd_task_options[];
