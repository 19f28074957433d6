/**
 * @file folder.h
 * A folder of results: who writes to it, and what its results are of.
 */
#ifndef DSGD_COMMAND_RUNS_FOLDER_H
#define DSGD_COMMAND_RUNS_FOLDER_H

#include <jansson.h>

#include "base/csv.h"
#include "command/experiment/experiment.h"

/** Where results go: @p folder, or where there is none as the experiment is called. The caller frees it. */
char *dsgd_results_folder(const char *folder, const dsgd_experiment *experiment,
                          bool is_sensitivity);

/**
 * Makes and flock()s the folder; children inherit the lock, and the last to exit releases it.
 * DSGD_EUSAGE: another process has it, which the sentence names.
 */
dsgd_status dsgd_results_lock(const char *folder, dsgd_error *error);

/**
 * Locks the folder, and writes the manifest. DSGD_EUSAGE: another process has the lock; or the
 * folder has results, and not @p force, of another experiment, other contents of the files that it
 * names, other libraries, or another build of the program or its plug-ins.
 */
dsgd_status dsgd_results_take(const char *folder, const json_t *manifest, size_t n_runs, bool force,
                              dsgd_error *error);

/**
 * The first swept column of runs.csv, to which the last belongs too; n_columns without any. By the
 * manifest.json beside the file; where that has no `swept`, as of older versions, behind `wall_s`.
 */
size_t dsgd_results_first_swept(const dsgd_csv *runs);

#endif
