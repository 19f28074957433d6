/**
 * @file results.h
 * The results of an experiment in one folder: runs.csv, curves.csv, workers.csv, staleness.csv,
 * steps.csv, manifest.json.
 *
 * Each run writes its rows into a part (DIR/.parts/N.part, N from 1) with a checksum; the parts are
 * joined in the order of the list. Every file is written beside its place and renamed: a kill loses
 * at most the runs under way. A part is whole, or its run is done again.
 */
#ifndef DSGD_COMMAND_RUNS_RESULTS_H
#define DSGD_COMMAND_RUNS_RESULTS_H

#include <jansson.h>

#include "base/csv.h"
#include "command/console/arguments.h"
#include "command/experiment/experiment.h"
#include "command/runs/columns.h"

typedef struct dsgd_results_config {
    const char *folder;
    const dsgd_experiment *experiment;
    const char *command; /* the command line */
    const dsgd_texts *plugins; /* files; NULL: none */
    int numerics; /* dsgd_numerics; auto: on a GPU, where it can */
    bool force; /* results of another experiment are forgotten */
} dsgd_results_config;

/**
 * Makes the folder, which nobody else writes to until this process and those that it starts have
 * ended, however they end. DSGD_EUSAGE: another process does, which the sentence names.
 */
dsgd_status dsgd_results_lock(const char *folder, dsgd_error *error);

/**
 * Makes and locks the folder, and writes the manifest. DSGD_EUSAGE: another
 * process has the lock; or the folder has results, and not @p force, of another experiment, other
 * contents of the files that it names, other libraries, or another build of the program or its
 * plug-ins.
 */
dsgd_status dsgd_results_open(const dsgd_results_config *config, dsgd_error *error);

/** The same with a manifest that is there. */
dsgd_status dsgd_results_take(const char *folder, const json_t *manifest, size_t n_runs, bool force,
                              dsgd_error *error);

/** Where results go: @p folder, or where there is none as the experiment is called. The caller frees it. */
char *dsgd_results_folder(const char *folder, const dsgd_experiment *experiment,
                          bool is_sensitivity);

/**
 * The last cells of a row, each behind a comma: the swept values or columns texts[n_columns], NULL
 * for an empty one. The caller frees them.
 */
char *dsgd_swept_cells(const char *const *texts, size_t n_columns);

/**
 * JSON on run @p i with its manifest, for the head of a record (models/record/record.h). The caller
 * frees it.
 */
char *dsgd_results_about(const dsgd_experiment *experiment, size_t i, const char *command);

/** Whether the file is the whole record of run @p i. */
bool dsgd_results_has_record(const dsgd_experiment *experiment, size_t i, const char *path);

/** What a folder has of a run. */
typedef enum dsgd_run_state {
    DSGD_RUN_ABSENT, /* nothing that is whole */
    DSGD_RUN_HAS_ROW, /* a row with status failed or timeout */
    DSGD_RUN_DONE /* a row with status ok or diverged */
} dsgd_run_state;

/** DSGD_EIO: it cannot be known. */
dsgd_status dsgd_results_state(const char *folder, size_t i, dsgd_run_state *state,
                               dsgd_error *error);

/** Forgets the results of run @p i. */
void dsgd_results_forget(const char *folder, size_t i);

/** Writes the rows of run @p i. */
dsgd_status dsgd_results_write(const char *folder, const dsgd_experiment *experiment, size_t i,
                               const dsgd_run_result *result, dsgd_error *error);

/** How many runs a folder is for, and its swept columns. */
typedef struct dsgd_results_shape {
    size_t n_runs, n_columns;
    const char *const *columns; /* [n_columns] */
} dsgd_results_shape;

/** Joins all parts into the files; *n_rows runs have a whole part. */
dsgd_status dsgd_results_join(const char *folder, const dsgd_results_shape *shape, size_t *n_rows,
                              dsgd_error *error);

/**
 * The first swept column of runs.csv, to which the last belongs too; n_columns without any. By the
 * manifest.json beside the file; where that has no `swept`, as of older versions, behind `wall_s`.
 */
size_t dsgd_results_first_swept(const dsgd_csv *runs);

/** Field @p column of the row of run @p i, NULL without a row. The caller frees it. */
char *dsgd_results_field(const char *folder, size_t i, const char *column);

/** The currency of costs, of which an experiment has one; "": no run has a cost. */
const char *dsgd_results_currency(const dsgd_csv *runs);

/** Samples per second of run @p i; NAN: it is not done, or did nothing. */
double dsgd_results_throughput(const char *folder, size_t i);

/**
 * Two lines on run @p i: why it failed or diverged, and figures that runs.csv lacks; NULL: not
 * done. The caller frees them.
 */
char *dsgd_results_note(const char *folder, size_t i);

#endif
