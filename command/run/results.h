/**
 * @file results.h
 * The results of an experiment in one folder: runs.csv, curves.csv, workers.csv, staleness.csv,
 * manifest.json.
 *
 * Each run writes its rows into fragments (DIR/.parts/N.runs, ..., N from 1), which are joined in
 * the order of the list whenever a run ends. Every file is written beside its place and renamed: a
 * kill loses at most the runs under way.
 */
#ifndef DSGD_COMMAND_RUN_RESULTS_H
#define DSGD_COMMAND_RUN_RESULTS_H

#include "command/experiment/experiment.h"

/**
 * Makes the folder and writes the manifest. DSGD_EUSAGE: it has results of another experiment, and
 * not @p force.
 */
dsgd_status dsgd_results_open(const char *folder, const dsgd_experiment *experiment,
                              const char *command, bool force, dsgd_error *error);

/**
 * JSON on run @p i with its manifest, for the head of a record (models/record/record.h). The caller
 * frees it.
 */
char *dsgd_results_about(const dsgd_experiment *experiment, size_t i, const char *command);

/** Whether run @p i has a row with status ok or diverged. */
bool dsgd_results_has(const char *folder, size_t i);

/** Forgets the results of run @p i. */
void dsgd_results_forget(const char *folder, size_t i);

/** Writes the rows of run @p i. */
dsgd_status dsgd_results_write(const char *folder, const dsgd_experiment *experiment, size_t i,
                               const dsgd_run_result *result, dsgd_error *error);

/** Joins all fragments. */
dsgd_status dsgd_results_join(const char *folder, const dsgd_experiment *experiment,
                              dsgd_error *error);

/** Field @p column of the row of run @p i, NULL without a row. The caller frees it. */
char *dsgd_results_field(const char *folder, size_t i, const char *column);

/**
 * Two lines on run @p i: why it failed or diverged, and figures that runs.csv lacks; NULL: not
 * done. The caller frees them.
 */
char *dsgd_results_note(const char *folder, size_t i);

#endif
