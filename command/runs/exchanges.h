/**
 * @file exchanges.h
 * Adds columns about exchanges to the table of runs, and prints notes on exchange settings that may
 * decide results.
 */
#pragma once

#include "base/csv.h"
#include "command/console/table.h"
#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/**
 * Adds the cells about the exchanges of run @p i: its chunks, such as 4x30.2MB, its collectives,
 * and whether fusion merged vectors.
 */
void dsgd_exchanges_put(dsgd_columns *t, const dsgd_results *results, size_t i);

/**
 * Removes the columns about exchanges in which all runs have the same value. Returns a line with
 * these values to print below the table, or "" if there is nothing to print.
 */
char *dsgd_exchanges_fold(dsgd_columns *t);

/**
 * Prints a note if an experiment varies the network but does not set `exchange`. Prints another
 * note if pipeline bubbles and collectives inside workers count twice.
 */
void dsgd_exchanges_warn_of_default(FILE *stream, const dsgd_experiment *experiment);

/**
 * Prints a note if buckets are merged. Prints another note if the experiment takes more than a
 * minute of CPU time because of many chunks.
 */
void dsgd_exchanges_warn_of_time(FILE *stream, const dsgd_experiment *experiment);

/**
 * Prints a note for each collective that the experiment sets but no run uses. @p runs is the table
 * runs.csv.
 */
void dsgd_exchanges_warn_of_unused(FILE *stream, const dsgd_experiment *experiment,
                                   const dsgd_csv *runs);
