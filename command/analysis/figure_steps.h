/**
 * @file figure_steps.h
 * The distributions of step times that figures draw, out of steps.csv.
 */
#ifndef DSGD_COMMAND_ANALYSIS_FIGURE_STEPS_H
#define DSGD_COMMAND_ANALYSIS_FIGURE_STEPS_H

#include <stddef.h>
#include <stdio.h>

/** Which runs are drawn where. A block is a series in a cell, which is a frame; cell by cell. */
typedef struct dsgd_step_blocks {
    const size_t *block_of_run; /* [n_runs], by the number of a run; SIZE_MAX: in none */
    size_t n_runs, n_cells, n_series;
} dsgd_step_blocks;

/**
 * Writes $steps, of each block the share of all its runs' steps that take no longer; $step_marks, a
 * few points of it; and shortest_step and longest_step, the shortest step above 0 s and the longest of
 * each cell (1 and 0: there is none). A folder without steps.csv has blocks without numbers.
 */
void dsgd_figure_steps(FILE *out, const char *folder, const dsgd_step_blocks *blocks);

#endif
