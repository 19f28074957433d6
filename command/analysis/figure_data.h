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

/* --- its parts, of which each block is a series at a place of a panel ------------------------------ */

/**
 * $curves and $staleness: means over seeds out of FOLDER/curves.csv with their intervals, and what these
 * reach, and the shares of ages out of FOLDER/staleness.csv; blocks without a number where there is no
 * such table.
 */
void dsgd_figure_curves(FILE *out, const dsgd_figure_runs *runs, const char *folder);

/**
 * $steps out of FOLDER/steps.csv, of each block the share of all its runs' steps that take no longer;
 * $step_marks, a few points of it; and shortest_step and longest_step, the shortest step above 0 s and
 * the longest of each frame (1 and 0: there is none). Without that file blocks have no numbers.
 */
void dsgd_figure_steps(FILE *out, const dsgd_figure_runs *runs, const char *folder);

/**
 * What is in FOLDER/phase.csv: `racer`, the algorithms; of either side (x, y) its title, its values,
 * their texts for readers, whether it is logarithmic, and where its cells begin and end; and $cells, a
 * block for each y, as `columns_of_cells` says. Nothing where there is no such table.
 */
void dsgd_figure_cells(FILE *out, const char *folder);

#endif
