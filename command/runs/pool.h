/**
 * @file pool.h
 * The runs of an experiment, one process each: SimGrid has one engine per process, and a crash
 * costs one run.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/progress.h"
#include "command/runs/results.h"

/** The limits at which the pool ends a run. */
typedef struct dsgd_run_limits {
    double timeout_s; /* wall time of a run; 0: none */
    double stall_s; /* CPU time in which nothing of a run moves; 0: DSGD_STALL_S */
} dsgd_run_limits;

/** No event of a healthy run takes a hundredth of it. */
enum { DSGD_STALL_S = 600 };

typedef struct dsgd_pool_config {
    const dsgd_experiment *experiment;
    const char *folder; /* of the results, for dsgd_results_open(); NULL: any */
    dsgd_results *results; /* of dsgd_results_open() */
    const char *command; /* the command line, for the manifest */
    int64_t jobs; /* processes at the same time; 0: one per core */
    int64_t threads; /* computing threads per process; 0: cores / jobs - 1 */
    const bool *selected; /* [n_runs]: runs that the command line names; NULL: all */
    const bool *chosen; /* [n_runs]: selected runs that a round asks for; NULL: all */
    int numerics; /* dsgd_numerics */
    dsgd_device_survey gpus; /* of dsgd_prepare_device() */
    dsgd_run_limits limits;
    dsgd_progress_form progress;
    /** Called in the process of run @p i instead of dsgd_simulate(); NULL: dsgd_simulate(). */
    dsgd_status (*simulate)(const void *simulator, size_t i, const dsgd_run_config *run,
                            dsgd_run_result *result, dsgd_error *error);
    const void *simulator;
    bool anew; /* also runs that have their results */
} dsgd_pool_config;

typedef struct dsgd_pool_counts {
    size_t n_runs, n_failed; /* of all rounds */
} dsgd_pool_counts;

/** Chooses runs round by round, each round from the results of those before. */
typedef struct dsgd_rounds {
    void *state;
    /** Marks the runs to do, in chosen[n_runs]; finished runs may be among them. NULL: one round of
     * all. */
    void (*choose)(void *state, bool *chosen);
    /** Reads the results of chosen runs; *more: there are others to choose. */
    dsgd_status (*read)(void *state, bool *more, dsgd_error *error);
} dsgd_rounds;

/**
 * Does the runs, shows progress on stderr, and writes a row of each run. A run beyond a limit is
 * ended; its row and a sentence report how far it came. DSGD_ERUNS after SIGINT, SIGTERM or SIGHUP;
 * finished runs are kept. If there are rounds, `chosen` has the runs of the last one.
 */
dsgd_status dsgd_pool_run(dsgd_pool_config *config, const dsgd_rounds *rounds,
                          dsgd_pool_counts *done, dsgd_error *error);

/** Returns where a run computes if the user asks for @p numerics (dsgd_numerics). */
dsgd_numerics dsgd_run_numerics(const dsgd_planned_run *run, int numerics, bool has_gpu);
