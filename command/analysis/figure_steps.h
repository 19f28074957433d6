/**
 * @file figure_steps.h
 * The distributions of step times that figures draw, out of steps.csv.
 */
#ifndef DSGD_COMMAND_ANALYSIS_FIGURE_STEPS_H
#define DSGD_COMMAND_ANALYSIS_FIGURE_STEPS_H

#include "command/analysis/figure_runs.h"

/**
 * Writes $steps, of each block (a series at a place of a panel) the share of all its runs' steps that take
 * no longer; $step_marks, a few points of it; and shortest_step and longest_step, the shortest step
 * above 0 s and the longest of each frame (1 and 0: there is none). A folder without steps.csv has
 * blocks without numbers.
 */
void dsgd_figure_steps(FILE *out, const dsgd_figure_runs *runs, const char *folder);

#endif
