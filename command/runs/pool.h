/**
 * @file pool.h
 * Executes the runs of an experiment, each in a process of its own: SimGrid has one engine per
 * process, and a crash costs one run.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/progress.h"
#include "command/runs/results.h"

/** The limits at which a run is ended. */
typedef struct dsgd_run_limits {
    double timeout_s; /* wall time of a run; 0 if there is no limit */
    double stall_s; /* CPU time without progress; 0 for DSGD_STALL_S */
} dsgd_run_limits;

/**
 * Default limit of CPU time without progress. No event of a healthy run takes a hundredth of it.
 */
enum { DSGD_STALL_S = 600 };

typedef struct dsgd_pool_config {
    const dsgd_experiment *experiment;
    const char *folder; /* results folder, for dsgd_results_open(); NULL for a temporary one */
    dsgd_results *results; /* set by dsgd_results_open() */
    const char *command; /* command line, for the manifest */
    int64_t jobs; /* number of processes at the same time; 0 for one per core */
    int64_t threads; /* number of computing threads per process; 0 for cores / jobs - 1 */
    const bool *selected; /* [n_runs] runs that the command line selects; NULL for all */
    const bool *chosen; /* [n_runs] selected runs that the current round needs; NULL for all */
    int numerics; /* dsgd_numerics */
    dsgd_device_survey gpus; /* set by dsgd_prepare_device() */
    dsgd_run_limits limits;
    dsgd_progress_form progress;
    /** Called in the process of run @p i instead of dsgd_simulate(), unless it is NULL. */
    dsgd_status (*simulate)(const void *simulator, size_t i, const dsgd_run_config *run,
                            dsgd_run_result *result, dsgd_error *error);
    const void *simulator;
    bool anew; /* executes runs again that have results */
} dsgd_pool_config;

typedef struct dsgd_pool_counts {
    size_t n_runs, n_failed; /* numbers over all rounds */
} dsgd_pool_counts;

/** Selects runs round by round, each round from the results of the rounds before. */
typedef struct dsgd_rounds {
    void *state;
    /**
     * Marks the runs to execute in chosen[n_runs], which may include finished runs. NULL if there
     * is one round with all runs.
     */
    void (*choose)(void *state, bool *chosen);
    /** Reads the results of the selected runs. Sets *more if there is another round. */
    dsgd_status (*read)(void *state, bool *more, dsgd_error *error);
} dsgd_rounds;

/**
 * Executes the runs, shows progress on stderr, and writes one row per run. A run that exceeds a
 * limit is ended; its row and its message tell how far it got. After SIGINT, SIGTERM or SIGHUP the
 * function returns DSGD_ERUNS and keeps the finished runs. If there are rounds, config->chosen
 * contains the runs of the last round.
 */
dsgd_status dsgd_pool_run(dsgd_pool_config *config, const dsgd_rounds *rounds,
                          dsgd_pool_counts *done, dsgd_error *error);

/** Returns where a run computes if the user asks for @p numerics (dsgd_numerics). */
dsgd_numerics dsgd_run_numerics(const dsgd_planned_run *run, int numerics, bool has_gpu);
