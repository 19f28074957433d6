/**
 * @file study.h
 * A study: runs of an experiment that are selected, executed and read in rounds, and a conclusion
 * from them. Each study has its own mathematics.
 */
#pragma once

#include "command/console/arguments.h"
#include "command/runs/pool.h"

typedef struct dsgd_study {
    dsgd_rounds rounds; /* its state is also passed to the functions below */
    /**
     * Called after the results folder was made and before the first run; NULL if there is nothing
     * to do.
     */
    dsgd_status (*plan)(void *state, dsgd_error *error);
    /** Called after the last round. */
    dsgd_status (*conclude)(void *state, const dsgd_pool_counts *done, dsgd_error *error);
} dsgd_study;

/**
 * Checks the data that the runs learn from, unless numerics are off, and tries the GPUs. Sets
 * config->numerics and config->gpus.
 */
dsgd_status dsgd_study_prepare(dsgd_pool_config *config, dsgd_error *error);

/**
 * Executes a study after dsgd_study_prepare(). If @p config has no folder, a temporary folder is
 * used and removed at the end. The functions of the study find the folder in `config->folder` and
 * the results in `config->results`.
 */
dsgd_status dsgd_study_run(const dsgd_study *study, dsgd_pool_config *config,
                           const dsgd_texts *plugins, dsgd_error *error);

/**
 * Finds why each run cannot win, by the rules of verdicts: why[n_runs] by the number of the run
 * minus 1, NULL if it can win.
 */
dsgd_status dsgd_study_outcomes(const char *folder, size_t n_runs, const char **why,
                                dsgd_error *error);

/**
 * Returns DSGD_EUSAGE if @p n_runs, with all runs derived from the experiment, is above
 * DSGD_MOST_RUNS.
 */
dsgd_status dsgd_study_check_length(const dsgd_experiment *experiment, size_t n_runs,
                                    dsgd_error *error);

/** The keys of the file of a task. (task.c) */
extern const dsgd_option dsgd_task_options[];
