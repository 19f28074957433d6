/**
 * @file run_rows.h
 * What a run adds to each file of results.
 */
#ifndef DSGD_COMMAND_RUNS_RUN_ROWS_H
#define DSGD_COMMAND_RUNS_RUN_ROWS_H

#include "command/experiment/experiment.h"
#include "command/runs/columns.h"

/** Writes the rows of a run into dsgd_results_files[k]. */
void dsgd_run_rows(FILE *stream, size_t k, const dsgd_run_key *key, const dsgd_planned_run *run,
                   const dsgd_run_result *result);

#endif
