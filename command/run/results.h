/**
 * @file results.h
 * What an experiment leaves behind: runs.csv, curves.csv, workers.csv and manifest.json in one folder.
 *
 * Each run writes its rows into fragments of its own (DIR/.parts/N.runs and so on, N from 1), which are joined in the order of the list
 * whenever a run ends; everything is written beside its place and renamed, so that a kill loses at most the runs under way.
 */
#ifndef DSGD_COMMAND_RUN_RESULTS_H
#define DSGD_COMMAND_RUN_RESULTS_H

#include "command/experiment/experiment.h"

/** Makes the folder, or says why it cannot be written; refuses a folder that has the results of another experiment, unless @p force. */
dsgd_status dsgd_results_open(const char *folder, const dsgd_experiment *experiment,
                              const char *command, bool force, dsgd_error *error);

/** What a record says about run @p i, with its part of the manifest (models/record/record.h). The caller frees it. */
char *dsgd_results_about(const dsgd_experiment *experiment, size_t i, const char *command);

/** Whether run @p i has results, other than of a failure. */
bool dsgd_results_has(const char *folder, size_t i);

/** Forgets the results of run @p i. */
void dsgd_results_forget(const char *folder, size_t i);

/** Writes the rows of run @p i. */
dsgd_status dsgd_results_write(const char *folder, const dsgd_experiment *experiment, size_t i,
                               const dsgd_run_result *result, dsgd_error *error);

/** Joins all rows that are there. */
dsgd_status dsgd_results_join(const char *folder, const dsgd_experiment *experiment,
                              dsgd_error *error);

/** Field @p column of the row of run @p i in fresh memory, NULL where there is no such row. */
char *dsgd_results_field(const char *folder, size_t i, const char *column);

/** Two lines on run @p i: why it failed or diverged, and figures that runs.csv lacks; NULL: not done. The caller frees them. */
char *dsgd_results_note(const char *folder, size_t i);

#endif
