/**
 * @file results.h
 * Manages the results of an experiment in one folder: runs.csv, curves.csv, workers.csv,
 * staleness.csv, steps.csv, failures.csv and manifest.json.
 *
 * Each run writes its rows with a checksum into a part, DIR/.parts/N.part for run number N. The
 * parts are joined into the files in the order of the runs. Each file is written under another name
 * and then renamed. If the program is killed, at most the running runs are therefore lost. A run
 * without a complete part is executed again. Only the states of all runs and the row of one run are
 * in memory. Therefore, the use of memory does not grow during a sweep of 100,000 runs.
 */
#pragma once

#include "command/runs/columns.h"
#include "command/runs/manifest.h"
#include "command/runs/parts.h"
#include "command/runs/provenance.h"
#include "sim/result.h"

/** State of a run's results in a folder. */
typedef enum dsgd_run_state {
    DSGD_RUN_ABSENT, /* The folder contains no complete part of the run. */
    DSGD_RUN_HAS_ROW, /* The row of the run has status failed or timeout. */
    /* The row of the run has status ok or diverged. */
    DSGD_RUN_DONE
} dsgd_run_state;

/**
 * The results in a folder at the time when they were last read or joined. Runs are numbered from 0.
 */
typedef struct dsgd_results {
    const char *folder;
    size_t n_runs, n_columns;
    size_t n_rows; /* number of rows of runs.csv */
    const char *const *columns; /* array of the names of n_columns swept columns */
    bool is_joined; /* true if the files contain all parts that this process has read or written */
    dsgd_run_state *state; /* array with the states of n_runs runs */
    struct dsgd_result_row *row; /* row of the run that was last read */
} dsgd_results;

/**
 * Makes an object without results. The caller must keep @p folder and @p columns as long as the
 * object.
 */
dsgd_results *dsgd_results_new(const char *folder, size_t n_runs, const char *const *columns,
                               size_t n_columns);

/**
 * Returns the path of the results folder. If @p folder is NULL, returns the default folder of the
 * experiment; otherwise, returns @p folder.
 */
char *dsgd_results_folder(const char *folder, const dsgd_experiment *experiment,
                          bool is_sensitivity);

/**
 * Makes the results folder, locks it and writes the manifest. The lock lasts until this process and
 * all processes that it starts have ended. Returns DSGD_EUSAGE if another process has the lock.
 * Unless @p force is true, also returns DSGD_EUSAGE if the folder contains results with another
 * manifest. Manifests differ if the experiment, its files, the libraries, the program or its
 * plug-ins differ.
 */
dsgd_status dsgd_results_take(const char *folder, const json_t *manifest, size_t n_runs, bool force,
                              dsgd_error *error);

/**
 * Makes and locks the results folder of an experiment with dsgd_results_take(). Keeps usable
 * results. Sets *results to NULL after an error.
 */
dsgd_status dsgd_results_open(const dsgd_results_config *config, dsgd_results **results,
                              dsgd_error *error);

/** Writes the part of run @p i. The process of the run calls this function. */
dsgd_status dsgd_results_write(const char *folder, const dsgd_experiment *experiment, size_t i,
                               const dsgd_run_result *result, dsgd_error *error);

/**
 * Reads the part of run @p i. If the part cannot be read, returns DSGD_EIO. The part then counts as
 * absent.
 */
dsgd_status dsgd_results_read(dsgd_results *results, size_t i, dsgd_error *error);

/**
 * Reads all parts and joins them into the results files. Returns DSGD_EIO if a file cannot be read
 * or written, or if a part has disappeared.
 */
dsgd_status dsgd_results_join(dsgd_results *results, dsgd_error *error);

/** Removes the part of run @p i and sets the state of the run to absent. */
void dsgd_results_forget(dsgd_results *results, size_t i);

dsgd_run_state dsgd_results_state(const dsgd_results *results, size_t i);

/**
 * Returns true if the row of a part has as many columns as runs.csv. Returns false if another
 * version of dsgd wrote the part.
 */
bool dsgd_part_fits(const dsgd_part *part, size_t n_swept);

/** Returns the state of a run that has this part. */
dsgd_run_state dsgd_part_state(const dsgd_part *part);

/**
 * Returns field @p column in the row of run @p i. Returns NULL if the run has no row. The text is
 * valid until another run is read.
 */
const char *dsgd_results_field(const dsgd_results *results, size_t i, const char *column);

/**
 * Returns field @p column in the row of run @p i as a number. Returns NAN if the field is empty or
 * if the run has no row.
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
 * Returns the device that computed the gradients of run @p i. Returns "" if the run computed no
 * gradients or has no row.
 */
const char *dsgd_results_device(const dsgd_results *results, size_t i);
