/**
 * @file experiment.h
 * An experiment file as a list of runs: the product of its platforms, workloads, worker counts,
 * algorithms, seeds and sweeps, in this order, the last varying fastest.
 */
#pragma once

#include "sim/algorithm.h"
#include "sim/run.h"

/** Of one experiment, with the variations of `--sensitivity`; each takes some 2 kB. */
enum { DSGD_MOST_RUNS = 100000 };

/** The lists that multiply the runs, slowest first. */
typedef enum dsgd_axis {
    DSGD_AXIS_PLATFORM,
    DSGD_AXIS_WORKLOAD,
    DSGD_AXIS_WORKERS,
    DSGD_AXIS_ALGORITHM,
    DSGD_AXIS_SEED,
    DSGD_N_AXES
} dsgd_axis;

/** One run with everything that its configuration points to. */
typedef struct dsgd_planned_run {
    const char *name; /* of the experiment; NULL where the file gives none */
    const char *task; /* a file for `dsgd task`; NULL: none */
    int64_t workers, seed; /* as in the file */
    dsgd_run_config config;
    dsgd_platform platform;
    dsgd_workload workload;
    dsgd_learning learning;
    dsgd_spec algorithm;
    const char *label; /* of the algorithm, in the results; its name where the file gives none */
    const char *platform_name, *workload_name; /* as in the file */
    size_t chosen[DSGD_N_AXES]; /* which element of each list */
    const char **swept; /* [n_columns] of the experiment; NULL where a sweep is not this run's */
    /* The run that this one varies (command/studies/sensitivity.h), or its own index. */
    size_t unchanged;
    const char *parameter; /* that is varied, such as platform.host_bandwidth; NULL: none */
    double factor; /* by which */
    bool has_own_exchange; /* its algorithm gives one */
} dsgd_planned_run;

/** The keys of an experiment file; the first DSGD_N_AXES are the lists, by dsgd_axis. */
extern const dsgd_option dsgd_experiment_options[];

typedef struct dsgd_experiment {
    const char *path, *name;
    size_t n_runs, n_unchanged;
    dsgd_planned_run *runs; /* [n_runs]: n_unchanged as the file has them, then their variations */
    size_t n_columns; /* sweeps */
    const char **columns; /* [n_columns] see dsgd_experiment_open() */
    size_t n_left_out; /* runs that their algorithms refuse, ... */
    char *left_out; /* ... and lines that say why; "": none */
    struct dsgd_config *config; /* the file and all files that it names */
} dsgd_experiment;

/**
 * Reads and checks an experiment, with @p n_sets overrides of the form a.b=c, for runs whose
 * numerics are where @p numerics says. Sets that and what decides results; the rest is the
 * caller's.
 *
 * A column is called as the path of what is swept, and the unit where it has one:
 * platform.host_bandwidth_bytes_per_s; swept.platform where that is the whole platform, whose own
 * column has its name. A run that its algorithm refuses (so many workers) is left out, if it has
 * others.
 */
dsgd_status dsgd_experiment_open(const char *path, const char *const *sets, size_t n_sets,
                                 dsgd_numerics numerics, dsgd_experiment *experiment,
                                 dsgd_error *error);

/** Adds columns behind the swept ones; all runs have NULL there. */
void dsgd_experiment_add_columns(dsgd_experiment *experiment, const char *const *names, size_t n);

/**
 * Points the configuration of a run at its parts, which move when runs are copied, and checks it.
 */
dsgd_status dsgd_planned_run_check(dsgd_planned_run *run, dsgd_numerics numerics,
                                   dsgd_error *error);

/** The same for all runs. */
dsgd_status dsgd_experiment_settle(dsgd_experiment *experiment, dsgd_numerics numerics,
                                   dsgd_error *error);

/**
 * Of experiment.c alone. Leaves out what an algorithm refuses, such as 6 workers in groups of 4; of
 * an algorithm that refuses everything all stays, to be refused.
 */
void dsgd_experiment_leave_out(dsgd_experiment *experiment, size_t n_algorithms);

/**
 * The same. Refuses runs that results could not tell apart, and prices that could not be compared.
 */
dsgd_status dsgd_experiment_refuse_alike(const dsgd_experiment *experiment, dsgd_error *error);
