/**
 * @file results.h
 * Manages the results of an experiment in one folder: runs.csv, curves.csv, workers.csv,
 * staleness.csv, steps.csv, failures.csv and manifest.json.
 *
 * Each run writes its rows with a checksum into a part, DIR/.parts/N.part for run number N. The
 * parts are joined into the files in the order of the runs. Each file is written under another name
 * and then renamed, so a kill loses at most the running runs. A run without a complete part is
 * executed again. Only the states of all runs and the row of one run are in memory, so the use of
 * memory does not grow during a sweep of 100,000 runs.
 */
#pragma once

#include "command/runs/columns.h"
#include "command/runs/manifest.h"
#include "command/runs/parts.h"
#include "command/runs/provenance.h"
#include "sim/result.h"

/** The state of a run's results in a folder. */
typedef enum dsgd_run_state {
    DSGD_RUN_ABSENT, /* no complete part */
    DSGD_RUN_HAS_ROW, /* row with status failed or timeout */
    /* row with status ok or diverged */
    DSGD_RUN_DONE
} dsgd_run_state;

/** The results in a folder when they were last read or joined. Runs are numbered from 0. */
typedef struct dsgd_results {
    const char *folder;
    size_t n_runs, n_columns;
    size_t n_rows; /* number of rows of runs.csv */
    const char *const *columns; /* array of n_columns swept columns */
    bool is_joined; /* true if the files contain all parts that this process knows */
    dsgd_run_state *state; /* array of n_runs states */
    struct dsgd_result_row *row; /* row of the run that was read last */
} dsgd_results;

/** Makes an object without results. @p folder and @p columns must live as long as the object. */
dsgd_results *dsgd_results_new(const char *folder, size_t n_runs, const char *const *columns,
                               size_t n_columns);

/**
 * Returns the results folder: @p folder, or the default folder of the experiment if @p folder is
 * NULL.
 */
char *dsgd_results_folder(const char *folder, const dsgd_experiment *experiment,
                          bool is_sensitivity);

/**
 * Makes the folder, locks it and writes the manifest. The lock lasts until this process and all
 * processes that it starts have ended. Returns DSGD_EUSAGE if another process has the lock. Unless
 * @p force is true, also returns DSGD_EUSAGE if the folder contains results with another manifest.
 * Manifests differ if the experiment, its files, the libraries, the program or its plug-ins differ.
 */
dsgd_status dsgd_results_take(const char *folder, const json_t *manifest, size_t n_runs, bool force,
                              dsgd_error *error);

/**
 * Takes the folder of an experiment with dsgd_results_take(), and keeps usable results. Sets
 * *results to NULL after an error.
 */
dsgd_status dsgd_results_open(const dsgd_results_config *config, dsgd_results **results,
                              dsgd_error *error);

/** Writes the part of run @p i. Called in the process of the run. */
dsgd_status dsgd_results_write(const char *folder, const dsgd_experiment *experiment, size_t i,
                               const dsgd_run_result *result, dsgd_error *error);

/**
 * Reads the part of run @p i. If the part cannot be read, returns DSGD_EIO, and the part counts as
 * absent.
 */
dsgd_status dsgd_results_read(dsgd_results *results, size_t i, dsgd_error *error);

/**
 * Reads all parts, and joins them into the files. Returns DSGD_EIO if a file cannot be read or
 * written, or if a part has disappeared.
 */
dsgd_status dsgd_results_join(dsgd_results *results, dsgd_error *error);

/** Removes the part of run @p i, and sets its state to absent. */
void dsgd_results_forget(dsgd_results *results, size_t i);

dsgd_run_state dsgd_results_state(const dsgd_results *results, size_t i);

/**
 * Returns true if the row of a part has as many columns as runs.csv. If not, another version of
 * dsgd wrote the part.
 */
bool dsgd_part_fits(const dsgd_part *part, size_t n_swept);

/** Returns the state of a run with this part. */
dsgd_run_state dsgd_part_state(const dsgd_part *part);

/**
 * Returns field @p column of the row of run @p i, or NULL if the run has no row. The text is valid
 * until another run is read.
 */
const char *dsgd_results_field(const dsgd_results *results, size_t i, const char *column);

/**
 * Returns field @p column of the row of run @p i as a number. Returns NAN if the field is empty or
 * the run has no row.
 */
double dsgd_results_value(const dsgd_results *results, size_t i, const char *column);

/**
 * Returns the throughput of run @p i in samples per second. Returns NAN if the run is not done or
 * made no progress.
 */
double dsgd_results_throughput(const dsgd_results *results, size_t i);

/**
 * Returns the reason why run @p i failed or diverged. Returns "" if the run is ok or has no row.
 * The text is valid until another run is read.
 */
const char *dsgd_results_why(const dsgd_results *results, size_t i);

/**
 * Returns the device that computed the gradients of run @p i. Returns "" if none did or the run has
 * no row.
 */
const char *dsgd_results_device(const dsgd_results *results, size_t i);
