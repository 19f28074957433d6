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
    size_t key; /* of the frame, which places are along; 0: none */
    const char *along; /* its column; "": none */
    bool *differs; /* [frame.n_keys]: has several values that figures tell apart */
    bool *numeric; /* [frame.n_keys]: all are numbers */
    dsgd_names series, drawn; /* all of them, and what is drawn in its order */
    dsgd_names places, panels; /* places as the table has them, panels for readers */
    size_t n_frames; /* of a figure: a panel at a place each */
    const dsgd_frame_point **points; /* [n_frames][drawn.n]; NULL: there is no run */
} dsgd_figure_runs;

/** DSGD_EUSAGE: there is no such series, or no run with results. */
dsgd_status dsgd_figure_runs_open(const char *folder, const dsgd_figure_choice *choice,
                                  dsgd_figure_runs *runs, dsgd_error *error);

#endif
