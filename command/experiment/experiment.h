/**
 * @file experiment.h
 * An experiment file as a list of runs: the product of its platforms, workloads, worker counts,
 * algorithms, seeds and sweeps, in this order, the last varying fastest.
 */
#pragma once

#include "sim/algorithm.h"
#include "sim/run.h"

/**
 * Largest number of runs of an experiment, with the variations of `--sensitivity`. Each run takes
 * about 2 kB.
 */
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
    const char *name; /* name of the experiment; NULL if the file has none */
    const char *task; /* file for `dsgd task`; NULL if there is none */
    int64_t workers, seed; /* as in the file */
    dsgd_run_config config;
    dsgd_platform platform;
    dsgd_workload workload;
    dsgd_learning learning;
    dsgd_spec algorithm;
    /* label of the algorithm in the results; its name if the file gives no label */
    const char *label;
    const char *platform_name, *workload_name; /* as in the file */
    size_t chosen[DSGD_N_AXES]; /* index of the chosen element of each list */
    const char **swept; /* [n_columns] swept values; NULL if a sweep does not apply to this run */
    /* Index of the run that this run varies (command/studies/sensitivity.h), or its own index. */
    size_t unchanged;
    /* varied parameter, such as platform.host_bandwidth; NULL if there is none */
    const char *parameter;
    double factor; /* factor of the variation */
    bool has_own_exchange; /* its algorithm has an exchange of its own */
} dsgd_planned_run;

/**
 * The keys of an experiment file. The first DSGD_N_AXES are the lists, in the order of dsgd_axis.
 */
extern const dsgd_option dsgd_experiment_options[];

typedef struct dsgd_experiment {
    const char *path, *name;
    size_t n_runs, n_unchanged;
    dsgd_planned_run *runs; /* [n_runs] first n_unchanged runs of the file, then their variations */
    size_t n_columns; /* number of swept columns */
    const char **columns; /* [n_columns] see dsgd_experiment_open() */
    size_t n_left_out; /* number of runs that their algorithms reject */
    char *left_out; /* lines that say why; "" if there are none */
    struct dsgd_config *config; /* the file and all files that it names */
} dsgd_experiment;

/**
 * Reads and checks an experiment with @p n_sets overrides of the form a.b=c, for runs whose
 * gradients are computed where @p numerics says. Sets that and everything that decides results; the
 * caller sets the rest of the configuration.
 *
 * A column has the path of the swept value as its name, followed by the unit if there is one:
 * platform.host_bandwidth_bytes_per_s. It is swept.platform if the whole platform is swept, because
 * the column `platform` contains its name. A run that its algorithm rejects (for its number of
 * workers) is left out, if the algorithm has other runs.
 */
dsgd_status dsgd_experiment_open(const char *path, const char *const *sets, size_t n_sets,
                                 dsgd_numerics numerics, dsgd_experiment *experiment,
                                 dsgd_error *error);

/** Adds columns after the swept columns. All runs have NULL there. */
void dsgd_experiment_add_columns(dsgd_experiment *experiment, const char *const *names, size_t n);

/**
 * Sets the pointers of a run's configuration to the parts of the run, which move when runs are
 * copied, and checks it.
 */
dsgd_status dsgd_planned_run_check(dsgd_planned_run *run, dsgd_numerics numerics,
                                   dsgd_error *error);

/** Does the same for all runs. */
dsgd_status dsgd_experiment_settle(dsgd_experiment *experiment, dsgd_numerics numerics,
                                   dsgd_error *error);

/**
 * For experiment.c only. Leaves out runs that an algorithm rejects, such as 6 workers in groups of
 * 4. If an algorithm rejects all of its runs, they stay, so that the error is reported.
 */
void dsgd_experiment_leave_out(dsgd_experiment *experiment, size_t n_algorithms);

/**
 * For experiment.c only. Rejects runs that results could not tell apart, and prices that could not
 * be compared.
 */
dsgd_status dsgd_experiment_refuse_alike(const dsgd_experiment *experiment, dsgd_error *error);
