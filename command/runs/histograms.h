/**
 * @file histograms.h
 * Rows of staleness.csv and steps.csv: how old what workers use is, and how long their steps take.
 */
#ifndef DSGD_COMMAND_RUNS_HISTOGRAMS_H
#define DSGD_COMMAND_RUNS_HISTOGRAMS_H

#include "command/runs/curve.h"
#include "sim/result.h"

/** Their columns but those of swept values, which follow. */
extern const char dsgd_staleness_columns[], dsgd_step_columns[];

/** A row for each age that values had when they were used, and gradients when they were applied. */
void dsgd_staleness_print(FILE *stream, const dsgd_run_key *key, const dsgd_run_result *result);

/** A row for each bin of step times, from the shortest to the longest. */
void dsgd_step_times_print(FILE *stream, const dsgd_run_key *key, const dsgd_run_result *result);

#endif
