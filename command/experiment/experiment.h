/**
 * @file experiment.h
 * Represents an experiment file as a list of runs. The runs are the product of its platforms,
 * workloads, worker counts, algorithms, seeds and sweeps, in this order. The last factor varies
 * fastest.
 */
#pragma once

#include "sim/algorithm.h"
#include "sim/run.h"

/**
 * Largest number of runs of an experiment, including the variations of `--sensitivity`. Each run
 * takes about 2 kB of memory.
 */
enum { DSGD_MOST_RUNS = 100000 };

/**
 * The lists of an experiment file. The runs are the product of these lists. The first list varies
 * slowest.
 */
typedef enum dsgd_axis {
    DSGD_AXIS_PLATFORM,
    DSGD_AXIS_WORKLOAD,
    DSGD_AXIS_WORKERS,
    DSGD_AXIS_ALGORITHM,
    DSGD_AXIS_SEED,
    DSGD_N_AXES
} dsgd_axis;

/** A run with all objects to which its configuration points. */
typedef struct dsgd_planned_run {
    const char *name; /* name of the experiment; NULL if the file has no name */
    const char *task; /* task file for `dsgd task`; NULL if the experiment names no task */
    int64_t workers, seed; /* number of workers and seed, as the file contains them */
    dsgd_run_config config;
    dsgd_platform platform;
    dsgd_workload workload;
    dsgd_learning learning;
    dsgd_spec algorithm;
    /* label of the algorithm in the results; the algorithm's name if the file gives no label */
    const char *label;
    const char *platform_name, *workload_name; /* names of platform and workload as the file
                                                * contains them, or "inline" */
    size_t chosen[DSGD_N_AXES]; /* index of the element that the run uses in each list */
    const char **swept; /* array of n_columns swept values; an element is NULL if its sweep does not
                         * apply to this run */
    /*
     * Index of the original run if this run is a variation (command/studies/sensitivity.h).
     * Otherwise, the index of this run itself.
     */
    size_t unchanged;
    /*
     * parameter that is varied, such as platform.host_bandwidth; NULL if this run is not a
     * variation
     */
    const char *parameter;
    double factor; /* factor by which the varied parameter is multiplied */
    /* true if the algorithm's entry in the file has its own key `exchange` */
    bool has_own_exchange;
} dsgd_planned_run;

/**
 * Keys of an experiment file. The first DSGD_N_AXES keys are the lists of the file, in the order of
 * dsgd_axis.
 */
extern const dsgd_option dsgd_experiment_options[];

typedef struct dsgd_experiment {
    const char *path, *name;
    size_t n_runs, n_unchanged;
    dsgd_planned_run *runs; /* array of n_runs runs; the n_unchanged runs of the file come first,
                             * then their variations */
    size_t n_columns; /* number of swept columns in the results */
    const char **columns; /* array of n_columns column names; see dsgd_experiment_open() */
    size_t n_left_out; /* number of runs that are skipped because their algorithms reject them */
    char *left_out; /* reasons why runs are skipped, one per line; "" if no run is skipped */
    struct dsgd_config *config; /* the experiment file and all files that it names */
} dsgd_experiment;

/**
 * Reads and checks an experiment. Applies @p n_sets overrides of the form a.b=c. @p numerics is the
 * device that computes gradients. Sets the parts of each run's configuration that determine
 * results; the caller sets the other parts.
 *
 * The name of a column is the path of the swept value, followed by the unit if there is one, such
 * as platform.host_bandwidth_bytes_per_s. If the whole platform is swept, the name is
 * swept.platform, because the column `platform` contains the platform's name. Skips a run if its
 * algorithm rejects the number of workers, unless the algorithm rejects all of its runs.
 */
dsgd_status dsgd_experiment_open(const char *path, const char *const *sets, size_t n_sets,
                                 dsgd_numerics numerics, dsgd_experiment *experiment,
                                 dsgd_error *error);

/** Adds columns after the swept columns. All runs have the value NULL in the new columns. */
void dsgd_experiment_add_columns(dsgd_experiment *experiment, const char *const *names, size_t n);

/**
 * Makes the pointers in a run's configuration point to the parts of the run. Then checks the
 * configuration. Call this function after a run was copied, because its parts have moved.
 */
dsgd_status dsgd_planned_run_check(dsgd_planned_run *run, dsgd_numerics numerics,
                                   dsgd_error *error);

/** Calls dsgd_planned_run_check() for all runs of the experiment. */
dsgd_status dsgd_experiment_settle(dsgd_experiment *experiment, dsgd_numerics numerics,
                                   dsgd_error *error);

/**
 * Removes the runs that their algorithm rejects, such as 6 workers in groups of 4. If an algorithm
 * rejects all of its runs, keeps them, so that the error is reported. Only experiment.c calls this
 * function.
 */
void dsgd_experiment_leave_out(dsgd_experiment *experiment, size_t n_algorithms);

/**
 * Rejects an experiment if two runs have equal names in the results, or if prices have different
 * currencies. Only experiment.c calls this function.
 */
dsgd_status dsgd_experiment_refuse_alike(const dsgd_experiment *experiment, dsgd_error *error);
