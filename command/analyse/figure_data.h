/**
 * @file figure_data.h
 * What figures draw: means over seeds of a folder of results with their 95 % intervals, as a file
 * that gnuplot loads.
 *
 * Runs that differ in the seed alone are a group. A group has a series (the algorithm, and what is
 * swept of algorithms alone), a place (the value of `along`: the number of workers, or else what is
 * swept most finely) and a panel (everything else that varies). Nothing is averaged over a place or
 * a panel.
 */
#ifndef DSGD_COMMAND_ANALYSE_FIGURE_DATA_H
#define DSGD_COMMAND_ANALYSE_FIGURE_DATA_H

#include <stdio.h>

#include "base/status.h"
#include "command/arguments.h"

/** What a user chose; texts are those of the command line. */
typedef struct dsgd_figure_choice {
    const char *only, *order; /* series, a comma between; NULL: all, in the order of the file */
    dsgd_texts labels; /* series=title */
    const char *target; /* such as accuracy=0.8; NULL: none */
} dsgd_figure_choice;

/**
 * Reads runs.csv, and curves.csv, staleness.csv, manifest.json and published points where they are,
 * and writes OUTPUT/data.gp, whose head says what is in it. DSGD_EUSAGE for a series that
 * is not there.
 */
dsgd_status dsgd_figure_data(const char *folder, const char *output,
                             const dsgd_figure_choice *choice, dsgd_error *error);

/** A text in single quotes, which are doubled within; control characters, which would end a line, are spaces. */
void dsgd_gnuplot_text(FILE *out, const char *text);

#endif
