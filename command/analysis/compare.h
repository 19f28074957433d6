/**
 * @file compare.h
 * Parts of `dsgd compare`, also for others.
 */
#ifndef DSGD_COMMAND_ANALYSIS_COMPARE_H
#define DSGD_COMMAND_ANALYSIS_COMPARE_H

#include "command/analysis/comparison.h"

/** Writes FOLDER/compare.csv unless it is newer than runs.csv or no group has several seeds. */
dsgd_status dsgd_compare_refresh(const char *folder, dsgd_error *error);

/**
 * Prints where the throughput of each algorithm passes @p level times the baseline's, along each
 * swept number with all others as they are, and writes DIR/crossings.csv.
 */
dsgd_status dsgd_crossings_report(const dsgd_comparison *c, double level, const char *folder,
                                  dsgd_error *error);

/**
 * A sentence where algorithms that runs.csv compares sum by different collectives: in runs that
 * have workers, platform, workload and swept values (but what is swept of algorithms) in common. NULL:
 * they do not.
 */
const char *dsgd_mixed_collectives(const dsgd_csv *runs);

/** Prints it. */
void dsgd_warn_of_mixed_collectives(FILE *stream, const dsgd_csv *runs);

#endif
