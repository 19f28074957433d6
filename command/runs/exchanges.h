/**
 * @file exchanges.h
 * What the table of runs says of how vectors travelled, and warnings of what that may decide.
 */
#pragma once

#include "base/csv.h"
#include "command/console/table.h"
#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/** The next cells of run @p i: its pieces, such as 4x30.2MB, and its collectives, if fused. */
void dsgd_exchanges_put(dsgd_columns *t, const dsgd_results *results, size_t i);

/**
 * Removes these columns where all runs have the same; a line on them to print under the table,
 * empty where there is nothing to say.
 */
char *dsgd_exchanges_fold(dsgd_columns *t);

/**
 * Prints a sentence where an experiment varies the network, and leaves out `exchange`, and one
 * where bubbles and sums inside workers count twice.
 */
void dsgd_exchanges_warn_of_default(FILE *stream, const dsgd_experiment *experiment);

/** Prints a sentence where buckets are merged, and one where many pieces make it take over a
 * minute. */
void dsgd_exchanges_warn_of_time(FILE *stream, const dsgd_experiment *experiment);

/**
 * Prints a sentence for each option of `exchange` that has another value than the default, and no
 * effect in any run.
 *
 * @param runs runs.csv; NULL where nothing has run, which leaves out what only a run can tell
 */
void dsgd_exchanges_warn_of_unused(FILE *stream, const dsgd_experiment *experiment,
                                   const dsgd_csv *runs);
