/**
 * @file figure_runs.h
 * The runs of a folder of results as figures arrange them.
 *
 * Runs that differ in the seed alone are a group. A group has a series (the algorithm, and what is
 * swept of algorithms alone), a place (the value of `along`: the number of workers, or else what is
 * swept most finely) and a panel (everything else that varies).
 */
#ifndef DSGD_COMMAND_ANALYSIS_FIGURE_RUNS_H
#define DSGD_COMMAND_ANALYSIS_FIGURE_RUNS_H

#include <stdbool.h>

#include "base/csv.h"
#include "command/analysis/gnuplot.h"
#include "command/console/arguments.h"

/** What a user chose; texts are those of the command line. */
typedef struct dsgd_figure_choice {
    const char *only, *order; /* series, a comma between; NULL: all, in the order of the file */
    dsgd_texts labels; /* series=title */
    const char *target; /* such as accuracy=0.8; NULL: none */
} dsgd_figure_choice;

typedef struct dsgd_figure_runs {
    dsgd_csv csv; /* runs.csv */
    size_t run, algorithm, seed, status, wall; /* columns */
    size_t along, parameter; /* columns; n_columns: none */
    bool *varies, *numeric; /* [n_columns]: a key with several values; all of them numbers */
    size_t *series_of, *place_of, *panel_of; /* [n_rows]; of a row that does not count SIZE_MAX */
    dsgd_names series, places, panels; /* places as the table has them, panels for readers */
    size_t *order, n_order; /* the series that are drawn */
} dsgd_figure_runs;

/** A group of runs. */
typedef struct dsgd_figure_group {
    size_t panel, place, series;
} dsgd_figure_group;

/** DSGD_EUSAGE: there is no such series, or no run with results. To be closed in any case. */
dsgd_status dsgd_figure_runs_open(const char *folder, const dsgd_figure_choice *choice,
                                  dsgd_figure_runs *runs, dsgd_error *error);
void dsgd_figure_runs_close(dsgd_figure_runs *runs);

const char *dsgd_figure_field(const dsgd_figure_runs *runs, size_t row, size_t column);

/** Whether figures show the row: it ran to an end, and is no variation of --sensitivity. */
bool dsgd_figure_counts(const dsgd_figure_runs *runs, size_t row);

/** The rows of a group into rows[n_rows], in the order of the file. Gives their number. */
size_t dsgd_figure_gather(const dsgd_figure_runs *runs, dsgd_figure_group group, size_t *rows);

/** A place as a number; NAN: it is none. */
double dsgd_figure_place(const dsgd_figure_runs *runs, size_t place);

/** Index of the series of that name (@p length bytes), or series.n. */
size_t dsgd_figure_series(const dsgd_figure_runs *runs, const char *name, size_t length);

#endif
