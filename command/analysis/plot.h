/**
 * @file plot.h
 * Draws figures with gnuplot.
 */
#pragma once

#include "command/console/command.h"

/** `dsgd plot`; `dsgd report` calls it to draw its figures. */
extern const dsgd_command dsgd_command_plot;

/** Returns true if plots/ has a figure of this name. */
bool dsgd_figure_exists(const char *name);

/**
 * Reads the first comment lines of the script of a figure (or of a path that ends in .gp). Stores
 * the description in *caption, and returns the data that the figure needs, from a line such as
 * "# needs: a.csv b.csv:column --target". Returns NULL if there is no such figure.
 */
char *dsgd_figure_needs(const char *figure, char **caption);

/** Makes FOLDER/figures. Returns DSGD_EUSAGE if gnuplot cannot write there because of a quote. */
dsgd_status dsgd_figures_make(const char *folder, dsgd_error *error);

/** Draws a figure of plots/ from the data in @p folder into FOLDER/figures, and prints the files.
 */
dsgd_status dsgd_figure_draw(const char *figure, const char *folder, dsgd_error *error);

/** Draws a shipped figure from one table, FIGURE.csv, into one file. @p size NULL is the default
 * size. */
dsgd_status dsgd_figure_write(const char *figure, const char *table, const char *size,
                              const char *format, const char *path, dsgd_error *error);

/** Checks a size for `dsgd plot --size`. */
dsgd_status dsgd_figure_check_size(const char *size, dsgd_error *error);
