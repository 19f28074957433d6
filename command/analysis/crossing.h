/**
 * @file crossing.h
 * At which swept values speed-ups pass a level.
 */
#ifndef DSGD_COMMAND_ANALYSIS_CROSSING_H
#define DSGD_COMMAND_ANALYSIS_CROSSING_H

#include "command/analysis/comparison.h"

/**
 * Prints where the throughput of each algorithm passes @p level times the baseline's, along each
 * swept number with all others as they are, and writes DIR/crossings.csv.
 */
dsgd_status dsgd_crossings_report(const dsgd_comparison *c, double level, const char *folder,
                                  dsgd_error *error);

#endif
