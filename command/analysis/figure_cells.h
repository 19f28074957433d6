/**
 * @file figure_cells.h
 * Cells of a phase diagram, as a file of gnuplot has them.
 */
#ifndef DSGD_COMMAND_ANALYSIS_FIGURE_CELLS_H
#define DSGD_COMMAND_ANALYSIS_FIGURE_CELLS_H

#include <stdio.h>

/**
 * Writes what is in FOLDER/phase.csv: `racer`, the algorithms; of either side (x, y) its title, its
 * values, their texts for readers, whether it is logarithmic, and where its cells begin and end; and $cells, a block for
 * each y, as `columns_of_cells` says. Nothing where there is no such table.
 */
void dsgd_figure_cells(FILE *out, const char *folder);

#endif
