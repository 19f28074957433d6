/**
 * @file figure_data.h
 * What figures draw: means over seeds of a folder of results with their 95 % intervals, as a file
 * that gnuplot loads.
 *
 * Figures show means over seeds; nothing is averaged over a place or a panel (figure_runs.h).
 */
#ifndef DSGD_COMMAND_ANALYSIS_FIGURE_DATA_H
#define DSGD_COMMAND_ANALYSIS_FIGURE_DATA_H

#include "command/analysis/figure_runs.h"

/**
 * Reads runs.csv, and curves.csv, staleness.csv, manifest.json and published points where they are,
 * and writes OUTPUT/data.gp, whose head says what is in it. DSGD_EUSAGE for a series that
 * is not there.
 */
dsgd_status dsgd_figure_data(const char *folder, const char *output,
                             const dsgd_figure_choice *choice, dsgd_error *error);

#endif
