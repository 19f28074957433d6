/**
 * @file results.h
 * The results of an experiment in one folder: runs.csv, curves.csv, workers.csv, staleness.csv,
 * steps.csv, failures.csv, manifest.json.
 *
 * Each run writes its rows into a part (DIR/.parts/N.part, N from 1) with a checksum. The parts are
 * joined in the order of the list. Every file is written under another name and then renamed, so a
 * kill loses at most the running runs. A run without a complete part is executed again. Memory
 * contains the state of each run, and the row of the run that was read last: a sweep of 100,000
 * runs needs no more memory at its end than at its start.
 */
#pragma once

#include "command/runs/columns.h"
#include "command/runs/manifest.h"
#include "command/runs/parts.h"
#include "command/runs/provenance.h"
#include "sim/result.h"

/** The state of the results of a run in a folder. */
typedef enum dsgd_run_state {
    DSGD_RUN_ABSENT, /* there is no complete part */
    DSGD_RUN_HAS_ROW, /* a row with status failed or timeout */
    DSGD_RUN_DONE /* a row with status ok or diverged */
} dsgd_run_state;

/** The results in a folder, for each run (from 0), as of the last read or join. */
typedef struct dsgd_results {
    const char *folder;
    size_t n_runs, n_columns;
    size_t n_rows; /* number of rows of runs.csv */
    const char *const *columns; /* [n_columns] swept columns */
    bool is_joined; /* the files contain all parts, as far as this process knows */
    dsgd_run_state *state; /* [n_runs] */
    struct dsgd_result_row *row; /* row of the run that was read last */
} dsgd_results;

/** Makes a list without results. @p folder and @p columns must live as long as the list. */
dsgd_results *dsgd_results_new(const char *folder, size_t n_runs, const char *const *columns,
                               size_t n_columns);

/** Returns the results folder: @p folder, or the default folder of the experiment if it is NULL. */
char *dsgd_results_folder(const char *folder, const dsgd_experiment *experiment,
                          bool is_sensitivity);

/**
 * Makes the folder, locks it until the last process that was started since then ends, and writes
 * the manifest. Returns DSGD_EUSAGE if another process has the lock, which the error names. Also
 * returns DSGD_EUSAGE if the folder has results of another experiment, of other contents of its
 * files, of other libraries, or of another build of the program or its plug-ins, unless @p force.
 */
dsgd_status dsgd_results_take(const char *folder, const json_t *manifest, size_t n_runs, bool force,
                              dsgd_error *error);

/**
 * Takes the folder of an experiment with dsgd_results_take(), and keeps results that can be used.
 * *results is NULL after an error.
 */
dsgd_status dsgd_results_open(const dsgd_results_config *config, dsgd_results **results,
                              dsgd_error *error);

/** Writes the part of run @p i, in its process. */
dsgd_status dsgd_results_write(const char *folder, const dsgd_experiment *experiment, size_t i,
                               const dsgd_run_result *result, dsgd_error *error);

/**
 * Reads the part of run @p i. Returns DSGD_EIO if the part cannot be read; it then counts as
 * absent.
 */
dsgd_status dsgd_results_read(dsgd_results *results, size_t i, dsgd_error *error);

/**
 * Reads all parts, and joins them into the files. Also returns DSGD_EIO if a part has disappeared.
 */
dsgd_status dsgd_results_join(dsgd_results *results, dsgd_error *error);

/** Removes the part of run @p i and its state. */
void dsgd_results_forget(dsgd_results *results, size_t i);

dsgd_run_state dsgd_results_state(const dsgd_results *results, size_t i);

/**
 * Returns whether the row of a part has as many columns as runs.csv of this version. If not,
 * another version wrote the part.
 */
bool dsgd_part_fits(const dsgd_part *part, size_t n_swept);

/** Returns the state of a run, given its part. */
dsgd_run_state dsgd_part_state(const dsgd_part *part);

/**
 * Returns field @p column of the row of run @p i, or NULL if there is no row. It is valid until
 * another run is read.
 */
const char *dsgd_results_field(const dsgd_results *results, size_t i, const char *column);

/** Returns the same field as a number, or NAN if it is empty or there is no row. */
double dsgd_results_value(const dsgd_results *results, size_t i, const char *column);

/**
 * Returns the samples per second of run @p i, or NAN if the run is not done or made no progress.
 */
double dsgd_results_throughput(const dsgd_results *results, size_t i);

/**
 * Returns why run @p i failed or diverged; "" if it did not, or if there is no row. It is valid as
 * long as a field.
 */
const char *dsgd_results_why(const dsgd_results *results, size_t i);

/** Returns the device that computed the gradients of run @p i; "" if none did or there is no row.
 */
const char *dsgd_results_device(const dsgd_results *results, size_t i);
