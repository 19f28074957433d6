/**
 * @file exchanges.h
 * Adds columns about exchanges to the table of runs. Prints notes on exchange settings that may
 * change results.
 */
#pragma once

#include "base/csv.h"
#include "command/console/table.h"
#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/**
 * Adds cells about the exchanges of run @p i: its chunks (such as 4x30.2MB), its collectives, and
 * whether fusion merged vectors.
 */
void dsgd_exchanges_put(dsgd_columns *t, const dsgd_results *results, size_t i);

/**
 * Removes the columns about exchanges that have the same value in all runs. Returns a line with
 * these values, to be printed below the table. Returns "" if no column is removed.
 */
char *dsgd_exchanges_fold(dsgd_columns *t);

/**
 * Prints a note if an experiment varies the network but does not set `exchange`. Also prints a note
 * if the time of pipeline bubbles and of collectives inside workers counts twice.
 */
void dsgd_exchanges_warn_of_default(FILE *stream, const dsgd_experiment *experiment);

/**
 * Prints a note if buckets are merged. Also prints a note if many chunks make the experiment take
 * more than a minute of CPU time.
 */
void dsgd_exchanges_warn_of_time(FILE *stream, const dsgd_experiment *experiment);

/**
 * Prints a note for each collective that the experiment sets but no run uses. @p runs is the table
 * runs.csv.
 */
void dsgd_exchanges_warn_of_unused(FILE *stream, const dsgd_experiment *experiment,
                                   const dsgd_csv *runs);
