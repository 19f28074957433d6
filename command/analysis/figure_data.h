/**
 * @file figure_data.h
 * What figures draw: means over seeds of a folder of results with their 95 % intervals, as a file
 * that gnuplot loads.
 *
 * A figure draws the series of a frame. Of their places it takes apart the value of `along` (the
 * number of workers, or else what is swept most finely), which is the place on an axis, and
 * everything else that varies, which is a panel. Nothing is averaged over a place or a panel, and
 * variations of --sensitivity are not drawn.
 */
#pragma once

#include "command/analysis/frame.h"
#include "command/console/arguments.h"

/** What a user chose; texts are those of the command line. */
typedef struct dsgd_figure_choice {
    const char *only; /* series, a comma between; NULL: all */
    dsgd_texts labels; /* series=title */
    const char *target; /* such as accuracy=0.8; NULL: none */
    const char *points; /* a CSV file of what was measured; NULL: what was published */
    dsgd_framing framing; /* what ratios are over */
} dsgd_figure_choice;

/**
 * Reads runs.csv, and curves.csv, staleness.csv, manifest.json and published points where they are,
 * and writes OUTPUT/data.gp, whose head says what is in it. DSGD_EUSAGE for a series that
 * is not there, or what is wrong with choice->points.
 */
dsgd_status dsgd_figure_data(const char *folder, const char *output,
                             const dsgd_figure_choice *choice, dsgd_error *error);

/* --- its parts: a block is a series at a place of a panel ------------------------------------- */

/** The runs of a folder of results as figures arrange them. */
typedef struct dsgd_figure_runs {
    dsgd_csv csv; /* runs.csv */
    dsgd_frame frame, ratios; /* of which the second has the baselines that were chosen */
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

/** The same runs in the frame of ratios. */
const dsgd_frame_point *dsgd_figure_ratio(const dsgd_figure_runs *runs, const dsgd_frame_point *p);

/**
 * Rows of $points out of a table: its columns are `algorithm`, others that runs differ in (also
 * without path and unit), `low` and `high`, and y, or x and y, of @p quantities; or those of
 * published.csv. DSGD_EUSAGE with file, line and value; of @p shipped ones, rows of no run are left
 * out.
 */
dsgd_status dsgd_figure_points(const dsgd_figure_runs *runs, const dsgd_csv *csv,
                               const dsgd_names *quantities, bool shipped, char **text,
                               dsgd_error *error);

/** What curves are of; a NULL behind them. */
extern const char *const dsgd_figure_of_curves[];

/**
 * $curves and $staleness: means over seeds out of FOLDER/curves.csv with their intervals, and what
 * these reach, and the shares of ages out of FOLDER/staleness.csv; blocks without a number where
 * there is no such table.
 */
void dsgd_figure_curves(FILE *out, const dsgd_figure_runs *runs, const char *folder);

/**
 * $steps out of FOLDER/steps.csv, of each block the share of all its runs' steps that take no
 * longer; $step_marks, a few points of it; and shortest_step and longest_step, the shortest step
 * above 0 s and the longest of each frame (1 and 0: there is none). Without that file blocks have
 * no numbers.
 */
void dsgd_figure_steps(FILE *out, const dsgd_figure_runs *runs, const char *folder);

/**
 * What is in FOLDER/phase.csv: `racer`, the algorithms; of either side (x, y) its title, values
 * that have ticks, their texts for readers, whether it is logarithmic, and where its cells begin
 * and end; and $cells, a block for each y, as `columns_of_cells` says. Nothing where there is no
 * such table.
 */
void dsgd_figure_cells(FILE *out, const char *folder);

/* --- values as gnuplot reads them ------------------------------------------------------------- */

/** A comma, and a number or NaN. */
void dsgd_gnuplot_number(FILE *out, double x);

/** NAME = 'TEXT', in single quotes, as gnuplot reads it. */
void dsgd_gnuplot_variable(FILE *out, const char *name, const char *text);

/** An array of numbers. */
void dsgd_gnuplot_numbers(FILE *out, const char *name, const double *x, size_t n);

/** An array of texts. */
void dsgd_gnuplot_texts(FILE *out, const char *name, const char *const *texts, size_t n);
