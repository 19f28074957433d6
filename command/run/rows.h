/**
 * @file rows.h
 * What a run is and what came out of it, as texts for tables and progress.
 */
#ifndef DSGD_COMMAND_RUN_ROWS_H
#define DSGD_COMMAND_RUN_ROWS_H

#include "command/experiment/experiment.h"

/**
 * The swept values of run @p i: "group=4 collective=ring", or "4" where a single value is swept.
 * Without those of workers and seeds, which rows have anyway. The caller frees it.
 */
char *dsgd_row_swept(const dsgd_experiment *experiment, size_t i);

/**
 * A field of runs.csv with four significant digits; from 1,000 on without a fraction; "-" where
 * there is none. The caller frees it.
 */
char *dsgd_row_result(const char *folder, size_t i, const char *name);

#endif
