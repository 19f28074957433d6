/**
 * @file figure_runs.h
 * The runs of a folder of results as figures arrange them.
 *
 * A figure draws the series of a frame. Of their places it takes apart the value of `along` (the number
 * of workers, or else what is swept most finely), which is the place on an axis, and everything else that
 * varies, which is a panel. Variations of --sensitivity are not drawn.
 */
#ifndef DSGD_COMMAND_ANALYSIS_FIGURE_RUNS_H
#define DSGD_COMMAND_ANALYSIS_FIGURE_RUNS_H

#include "command/analysis/frame.h"
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
    dsgd_frame frame;
    size_t along; /* key of the frame; 0: none */
    bool *differs; /* [frame.n_keys]: has several values that figures tell apart */
    bool *numeric; /* [frame.n_keys]: all are numbers */
    dsgd_names series, places, panels; /* places as the table has them, panels for readers */
    size_t *order, n_order; /* the series that are drawn */
    const dsgd_frame_point **points; /* [panels.n][places.n][n_order]; NULL: there is no run */
} dsgd_figure_runs;

/** DSGD_EUSAGE: there is no such series, or no run with results. */
dsgd_status dsgd_figure_runs_open(const char *folder, const dsgd_figure_choice *choice,
                                  dsgd_figure_runs *runs, dsgd_error *error);

/** Frames of a figure: a panel at a place each. Each has a block of `points` for its series. */
size_t dsgd_figure_frames(const dsgd_figure_runs *runs);

/** The column of the places; "": none. */
const char *dsgd_figure_along(const dsgd_figure_runs *runs);

/** A place as a number; NAN: it is none. */
double dsgd_figure_place(const dsgd_figure_runs *runs, size_t place);

/** Index of the series of that name (@p length bytes), or series.n. */
size_t dsgd_figure_series(const dsgd_figure_runs *runs, const char *name, size_t length);

#endif
