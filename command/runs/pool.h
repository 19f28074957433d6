/**
 * @file pool.h
 * Executes the runs of an experiment in one process per run. The reason is that SimGrid has one
 * engine per process, and that a crash then ends only one run.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/progress.h"
#include "command/runs/results.h"

/** Limits of the time that a run may take. */
typedef struct dsgd_run_limits {
    double timeout_s; /* limit of the wall time of a run, in seconds; 0 if there is no limit */
    double stall_s; /* limit of the CPU time without progress, in seconds; 0 selects DSGD_STALL_S */
} dsgd_run_limits;

/**
 * Default limit of the CPU time without progress, in seconds. In healthy runs, an event takes less
 * than a hundredth of this time.
 */
enum { DSGD_STALL_S = 600 };

typedef struct dsgd_pool_config {
    const dsgd_experiment *experiment;
    const char *folder; /* results folder; NULL selects a temporary folder */
    dsgd_results *results; /* results of the runs, which dsgd_results_open() sets */
    const char *command; /* command line, which is written to the manifest */
    int64_t jobs; /* largest number of simultaneous processes; 0 selects one process per core */
    int64_t threads; /* number of computing threads per process; 0 selects cores / jobs - 1 */
    const bool *selected; /* array [n_runs]: true for each run that the command line selects; NULL
                           * selects all runs */
    const bool *chosen; /* array [n_runs]: true for each selected run that the current round needs;
                         * NULL selects all runs */
    int numerics; /* device that computes gradients, a value of dsgd_numerics */
    dsgd_device_survey gpus; /* GPUs of this machine, which dsgd_prepare_device() sets */
    dsgd_run_limits limits;
    dsgd_progress_form progress;
    /** Function that simulates run @p i in the process of the run. NULL selects dsgd_simulate(). */
    dsgd_status (*simulate)(const void *simulator, size_t i, const dsgd_run_config *run,
                            dsgd_run_result *result, dsgd_error *error);
    const void *simulator;
    bool anew; /* true if finished runs must be executed again */
} dsgd_pool_config;

typedef struct dsgd_pool_counts {
    /* number of executed runs, and number of failed runs, over all rounds */
    size_t n_runs, n_failed;
} dsgd_pool_counts;

/**
 * Functions that select the runs of each round. The selection depends on the results of earlier
 * rounds.
 */
typedef struct dsgd_rounds {
    void *state;
    /**
     * Sets chosen[i] to true for each run i of the next round. Finished runs may be included. If
     * this function is NULL, one round executes all runs.
     */
    void (*choose)(void *state, bool *chosen);
    /** Reads the results of the selected runs. Sets *more to true if another round follows. */
    dsgd_status (*read)(void *state, bool *more, dsgd_error *error);
} dsgd_rounds;

/**
 * Executes the runs, shows progress on stderr, and writes one row per run. Ends a run that exceeds
 * a limit; the row of this run and a message then contain its progress. After SIGINT, SIGTERM or
 * SIGHUP, returns DSGD_ERUNS and keeps the finished runs. If there are rounds, config->chosen
 * contains the runs of the last round.
 */
dsgd_status dsgd_pool_run(dsgd_pool_config *config, const dsgd_rounds *rounds,
                          dsgd_pool_counts *done, dsgd_error *error);

/**
 * Returns the device that computes the gradients of a run. @p numerics (dsgd_numerics) is the
 * user's choice.
 */
dsgd_numerics dsgd_run_numerics(const dsgd_planned_run *run, int numerics, bool has_gpu);
