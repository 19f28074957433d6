/**
 * @file study.h
 * A study: runs of an experiment that are chosen, done and read in rounds, and what follows from
 * them. The mathematics is each study's own.
 */
#pragma once

#include "command/console/arguments.h"
#include "command/runs/pool.h"

typedef struct dsgd_study {
    dsgd_rounds rounds; /* whose state is also that of the functions below */
    /** When the folder of results is there, before the first run; NULL: nothing. */
    dsgd_status (*plan)(void *state, dsgd_error *error);
    /** All rounds are over. */
    dsgd_status (*conclude)(void *state, const dsgd_pool_counts *done, dsgd_error *error);
} dsgd_study;

/**
 * Checks the data that the runs learn from, unless numerics are off, and tries the GPUs. Sets
 * config->numerics and config->gpus.
 */
dsgd_status dsgd_study_prepare(dsgd_pool_config *config, dsgd_error *error);

/**
 * Does it, after dsgd_study_prepare(). Without a folder in @p config it has one meanwhile, which is
 * removed; in the functions of the study `config->folder` names it, and `config->results` has what
 * came out.
 */
dsgd_status dsgd_study_run(const dsgd_study *study, dsgd_pool_config *config,
                           const dsgd_texts *plugins, dsgd_error *error);

/**
 * Why each run cannot win, as verdicts have it, by its number less 1: [n_runs], NULL where it can.
 */
dsgd_status dsgd_study_outcomes(const char *folder, size_t n_runs, const char **why,
                                dsgd_error *error);

/** DSGD_EUSAGE: @p n_runs, with all that is made of them, are more than DSGD_MOST_RUNS. */
dsgd_status dsgd_study_check_length(const dsgd_experiment *experiment, size_t n_runs,
                                    dsgd_error *error);

/** The keys of a task's file. (task.c) */
extern const dsgd_option dsgd_task_options[];
