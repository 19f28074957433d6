/**
 * @file exchanges.h
 * The columns on exchanges in the table of runs, and notes on settings of exchanges that may decide
 * results.
 */
#pragma once

#include "base/csv.h"
#include "command/console/table.h"
#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/**
 * Adds the next cells of run @p i: its chunks, such as 4x30.2MB, its collectives, and whether they
 * were fused.
 */
void dsgd_exchanges_put(dsgd_columns *t, const dsgd_results *results, size_t i);

/**
 * Removes these columns if all runs have the same value. Returns a line about them to print below
 * the table; empty if there is nothing to print.
 */
char *dsgd_exchanges_fold(dsgd_columns *t);

/**
 * Prints a note if an experiment varies the network but leaves out `exchange`, and a note if
 * bubbles and collectives inside workers count twice.
 */
void dsgd_exchanges_warn_of_default(FILE *stream, const dsgd_experiment *experiment);

/**
 * Prints a note if buckets are merged, and a note if many chunks make the experiment take over a
 * minute.
 */
void dsgd_exchanges_warn_of_time(FILE *stream, const dsgd_experiment *experiment);

/**
 * Prints a note for each collective that the experiment chooses but no run uses. @p runs is
 * runs.csv.
 */
void dsgd_exchanges_warn_of_unused(FILE *stream, const dsgd_experiment *experiment,
                                   const dsgd_csv *runs);
