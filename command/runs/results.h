/**
 * @file results.h
 * The results of an experiment in one folder: runs.csv, curves.csv, workers.csv, staleness.csv,
 * steps.csv, failures.csv, manifest.json.
 *
 * Each run writes its rows into a part (DIR/.parts/N.part, N from 1) with a checksum. The parts are
 * joined in the order of the list. Every file is written beside its place and renamed, so a kill
 * loses at most the runs in progress. A run without a whole part is done again. Memory holds the
 * state of each run, and the row of the run that was read last: a sweep of 100,000 runs takes no
 * more at its end than at its start.
 */
#pragma once

#include "command/runs/columns.h"
#include "command/runs/manifest.h"
#include "command/runs/parts.h"
#include "command/runs/provenance.h"
#include "sim/result.h"

/** The results of a run in a folder. */
typedef enum dsgd_run_state {
    DSGD_RUN_ABSENT, /* there is no whole part */
    DSGD_RUN_HAS_ROW, /* a row with status failed or timeout */
    DSGD_RUN_DONE /* a row with status ok or diverged */
} dsgd_run_state;

/** The results in a folder, of each run (from 0), as they were when last read or joined. */
typedef struct dsgd_results {
    const char *folder;
    size_t n_runs, n_columns;
    size_t n_rows; /* of runs.csv */
    const char *const *columns; /* [n_columns] swept */
    bool is_joined; /* the files have what the parts have, as far as this process knows */
    dsgd_run_state *state; /* [n_runs] */
    struct dsgd_result_row *row; /* of the run that was read last */
} dsgd_results;

/** Makes a list without results; @p folder and @p columns live as long as the list. */
dsgd_results *dsgd_results_new(const char *folder, size_t n_runs, const char *const *columns,
                               size_t n_columns);

/** Where results go: @p folder; if it is NULL, the folder with the experiment's name. */
char *dsgd_results_folder(const char *folder, const dsgd_experiment *experiment,
                          bool is_sensitivity);

/**
 * Makes and locks the folder, until the last process that was started since ends, and writes the
 * manifest. DSGD_EUSAGE: another process has the lock, which the sentence names; or the folder has
 * results, and not @p force, of another experiment, other contents of the files that it names,
 * other libraries, or another build of the program or its plug-ins.
 */
dsgd_status dsgd_results_take(const char *folder, const json_t *manifest, size_t n_runs, bool force,
                              dsgd_error *error);

/**
 * Takes the folder of an experiment (dsgd_results_take()), and forgets nothing that can be taken
 * up. *results is NULL after an error.
 */
dsgd_status dsgd_results_open(const dsgd_results_config *config, dsgd_results **results,
                              dsgd_error *error);

/** In the process of run @p i: writes its part. */
dsgd_status dsgd_results_write(const char *folder, const dsgd_experiment *experiment, size_t i,
                               const dsgd_run_result *result, dsgd_error *error);

/** Reads the part of run @p i. DSGD_EIO: the part cannot be read, and counts as absent. */
dsgd_status dsgd_results_read(dsgd_results *results, size_t i, dsgd_error *error);

/** Reads all parts, and joins them into the files. DSGD_EIO also if a part has disappeared. */
dsgd_status dsgd_results_join(dsgd_results *results, dsgd_error *error);

/** Removes the part of run @p i, and forgets it. */
void dsgd_results_forget(dsgd_results *results, size_t i);

dsgd_run_state dsgd_results_state(const dsgd_results *results, size_t i);

/** Whether a part's row has as many columns as this version's runs.csv; else another version wrote
 * it. */
bool dsgd_part_fits(const dsgd_part *part, size_t n_swept);

/** Returns the state of the run by its part. */
dsgd_run_state dsgd_part_state(const dsgd_part *part);

/** Field @p column of the row of run @p i, until another run is asked for; NULL without a row. */
const char *dsgd_results_field(const dsgd_results *results, size_t i, const char *column);

/** The same as a number; NAN: it is empty, or there is no row. */
double dsgd_results_value(const dsgd_results *results, size_t i, const char *column);

/** Samples per second of run @p i; NAN: it is not done, or did nothing. */
double dsgd_results_throughput(const dsgd_results *results, size_t i);

/** Why run @p i failed or diverged; "" where it did not, or there is no row. As long as a field. */
const char *dsgd_results_why(const dsgd_results *results, size_t i);

/** Returns the device that computed the gradients of run @p i; "" if none did or there is no row.
 */
const char *dsgd_results_device(const dsgd_results *results, size_t i);
