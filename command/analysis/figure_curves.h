/**
 * @file figure_curves.h
 * What figures draw over time and over ages: $curves and $staleness, each a block for each
 * panel, place and series.
 */
#ifndef DSGD_COMMAND_ANALYSIS_FIGURE_CURVES_H
#define DSGD_COMMAND_ANALYSIS_FIGURE_CURVES_H

#include "command/analysis/figure_runs.h"

/**
 * Writes means over seeds out of FOLDER/curves.csv with their intervals, and what these reach, and the
 * shares of ages out of FOLDER/staleness.csv; blocks without a number where there is no such table.
 */
void dsgd_figure_curves(FILE *out, const dsgd_figure_runs *runs, const char *folder);

#endif
