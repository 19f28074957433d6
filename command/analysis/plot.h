/**
 * @file plot.h
 * Draws figures with gnuplot.
 */
#pragma once

#include "command/console/command.h"

/** The sub-command `dsgd plot`. `dsgd report` also calls it to draw figures. */
extern const dsgd_command dsgd_command_plot;

/** Returns true if the folder plots/ contains a figure with this name. */
bool dsgd_figure_exists(const char *name);

/**
 * Reads the comment at the start of a figure's script. @p figure is the name of a figure or a path
 * that ends in .gp. Stores the figure's description in *caption. Returns the data that the figure
 * needs, from a line such as "# needs: a.csv b.csv:column --target". Returns NULL if the figure
 * does not exist.
 */
char *dsgd_figure_needs(const char *figure, char **caption);

/**
 * Makes the folder FOLDER/figures. Returns DSGD_EUSAGE if the path contains a quote, because
 * gnuplot cannot write to such a path.
 */
dsgd_status dsgd_figures_make(const char *folder, dsgd_error *error);

/**
 * Draws a figure of plots/ from the data in @p folder. Writes the figure's files into
 * FOLDER/figures and prints their names.
 */
dsgd_status dsgd_figure_draw(const char *figure, const char *folder, dsgd_error *error);

/**
 * Draws a shipped figure from one table, FIGURE.csv, into one file. If @p size is NULL, the figure
 * has its default size.
 */
dsgd_status dsgd_figure_write(const char *figure, const char *table, const char *size,
                              const char *format, const char *path, dsgd_error *error);

/** Checks the value of the option `dsgd plot --size`. */
dsgd_status dsgd_figure_check_size(const char *size, dsgd_error *error);
