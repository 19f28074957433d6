/**
 * @file plot.h
 * Drawing of figures by gnuplot.
 */
#pragma once

#include "command/console/command.h"

/** `dsgd plot`, which `dsgd report` has draw its figures. */
extern const dsgd_command dsgd_command_plot;

/** Whether plots/ has a figure of this name. */
bool dsgd_figure_exists(const char *name);

/**
 * What the first lines of the script of a figure, or at a path that ends in .gp, say of it, and
 * that it needs,
 * "# needs: a.csv b.csv:column --target"; NULL: it is no figure.
 */
char *dsgd_figure_needs(const char *figure, char **caption);

/** Makes FOLDER/figures. DSGD_EUSAGE where gnuplot could not write there. */
dsgd_status dsgd_figures_make(const char *folder, dsgd_error *error);

/** Draws a figure of plots/ from the data in @p folder into FOLDER/figures, prints the files. */
dsgd_status dsgd_figure_draw(const char *figure, const char *folder, dsgd_error *error);

/** Draws a shipped figure of one table, FIGURE.csv, into one file; @p size NULL: as it is. */
dsgd_status dsgd_figure_write(const char *figure, const char *table, const char *size,
                              const char *format, const char *path, dsgd_error *error);

/** Whether it is a size of `dsgd plot --size`. */
dsgd_status dsgd_figure_check_size(const char *size, dsgd_error *error);
