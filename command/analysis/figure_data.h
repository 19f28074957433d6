/**
 * @file figure_data.h
 * Writes the data of figures as a file that gnuplot loads: means over the seeds of a results
 * folder, with their 95 % intervals.
 *
 * A figure draws the series of a frame. It splits the place of a point into its value of the column
 * `along` (the number of workers, or else the swept column with most values), which becomes the
 * position on an axis, and everything else that varies, which becomes a panel. In figures, "place"
 * means the position. No mean mixes places or panels, and variations of --sensitivity are not
 * drawn.
 */
#pragma once

#include "command/analysis/frame.h"
#include "command/console/arguments.h"

/** The choices of the user, as texts of the command line. */
typedef struct dsgd_figure_choice {
    const char *only; /* series, separated by commas; NULL for all */
    dsgd_texts labels; /* series=title */
    const char *target; /* such as accuracy=0.8, or NULL */
    const char *points; /* CSV file of measured points; NULL for the published points */
    dsgd_framing framing; /* baseline of ratios */
} dsgd_figure_choice;

/**
 * Reads runs.csv and, if they exist, curves.csv, staleness.csv, manifest.json and published points,
 * and writes OUTPUT/data.gp, whose head describes its content. Returns DSGD_EUSAGE for an unknown
 * series or an error in choice->points.
 */
dsgd_status dsgd_figure_data(const char *folder, const char *output,
                             const dsgd_figure_choice *choice, dsgd_error *error);

/* --- parts: a block has the data of one series at one place of one panel ---------------------- */

/** The runs of a results folder, arranged for figures. */
typedef struct dsgd_figure_runs {
    dsgd_csv csv; /* runs.csv */
    dsgd_frame frame, ratios; /* ratios: with the baselines that the user chose */
    size_t key; /* key of the frame whose values are the places; 0 if none exists */
    const char *along; /* column of the places, or "" */
    bool *differs; /* [frame.n_keys]: has several values, which figures distinguish */
    bool *numeric; /* [frame.n_keys]: all values are numbers */
    dsgd_names series, drawn; /* all series, and those that are drawn, in their order */
    dsgd_names places, panels; /* places as in the table, panels as text for readers */
    size_t n_frames; /* number of panels times number of places */
    const dsgd_frame_point **points; /* [n_frames][drawn.n]; NULL if there is no run */
} dsgd_figure_runs;

/** Arranges the runs of a folder. Returns DSGD_EUSAGE for an unknown series, or if no run has
 * results. */
dsgd_status dsgd_figure_runs_open(const char *folder, const dsgd_figure_choice *choice,
                                  dsgd_figure_runs *runs, dsgd_error *error);

/** Returns the point with the same runs in the frame of ratios. */
const dsgd_frame_point *dsgd_figure_ratio(const dsgd_figure_runs *runs, const dsgd_frame_point *p);

/**
 * Converts a table of points into rows of $points. Its columns are `algorithm`, columns in which
 * runs differ (also without path and unit), `low` and `high`, and y, or x and y, of @p quantities;
 * or the columns of published.csv. Returns DSGD_EUSAGE with file, line and value. If the table is a
 * @p shipped one, rows that match no run are skipped without a warning.
 */
dsgd_status dsgd_figure_points(const dsgd_figure_runs *runs, const dsgd_csv *csv,
                               const dsgd_names *quantities, bool shipped, char **text,
                               dsgd_error *error);

/** The quantities of curves, and a NULL after the last. */
extern const char *const dsgd_figure_of_curves[];

/**
 * Writes $curves (means over seeds from FOLDER/curves.csv with their intervals), the ranges of
 * these means, and $staleness (shares of ages from FOLDER/staleness.csv). If a table is missing,
 * its blocks have no numbers.
 */
void dsgd_figure_curves(FILE *out, const dsgd_figure_runs *runs, const char *folder);

/**
 * Writes data from FOLDER/steps.csv: $steps, for each block the cumulative distribution of step
 * times over all its runs; $step_marks, a few points of it; shortest_step and longest_step, the
 * shortest step above 0 s and the longest one of each frame (1 and 0 if none exists). If the file
 * is missing, blocks have no numbers.
 */
void dsgd_figure_steps(FILE *out, const dsgd_figure_runs *runs, const char *folder);

/**
 * Writes data from FOLDER/phase.csv, or nothing if there is no such table: `racer`, the algorithms;
 * for each axis (x, y) its title, the values and texts of its ticks, whether it is logarithmic, and
 * where its cells start and end; $cells, one block for each y, with the columns of
 * `columns_of_cells`.
 */
void dsgd_figure_cells(FILE *out, const char *folder);

/* --- values as gnuplot reads them ------------------------------------------------------------- */

/** Writes a comma and a number or NaN. */
void dsgd_gnuplot_number(FILE *out, double x);

/** Writes NAME = 'TEXT', with the quotes of the text escaped for gnuplot. */
void dsgd_gnuplot_variable(FILE *out, const char *name, const char *text);

/** Writes an array of numbers. */
void dsgd_gnuplot_numbers(FILE *out, const char *name, const double *x, size_t n);

/** Writes an array of texts. */
void dsgd_gnuplot_texts(FILE *out, const char *name, const char *const *texts, size_t n);
