/**
 * @file figure_data.h
 * Writes the data of figures as a file that gnuplot loads. The data are means over the seeds of a
 * results folder, with their 95 % intervals.
 *
 * A figure draws the series of a frame. One column, `along`, becomes the axis: the number of
 * workers, or else the swept column with most values. In figures, a "place" is a value of this
 * column, which is a position on the axis. Each combination of the other varied values becomes a
 * panel. A mean never mixes places or panels. Figures do not show variations of --sensitivity.
 */
#pragma once

#include "command/analysis/frame.h"
#include "command/console/arguments.h"

/** Options of `dsgd plot` that select the data of figures, as texts from the command line. */
typedef struct dsgd_figure_choice {
    /* names of the series to draw, separated by commas; NULL selects all series */
    const char *only;
    dsgd_texts labels; /* titles of series, in the form series=title */
    const char *target; /* text of a target such as accuracy=0.8, or NULL */
    const char *points; /* CSV file of measured points; NULL selects the published points */
    dsgd_framing framing; /* baseline of the ratios in figures */
} dsgd_figure_choice;

/**
 * Reads runs.csv and, if they exist, curves.csv, staleness.csv, manifest.json and published points.
 * Writes OUTPUT/data.gp, which starts with a description of its content. Returns DSGD_EUSAGE if a
 * series is unknown or if choice->points contains an error.
 */
dsgd_status dsgd_figure_data(const char *folder, const char *output,
                             const dsgd_figure_choice *choice, dsgd_error *error);

/* --- parts of data.gp: one block per series, place and panel ---------------------------------- */

/** The runs of a results folder, arranged for figures. */
typedef struct dsgd_figure_runs {
    dsgd_csv csv; /* the table runs.csv */
    dsgd_frame frame, ratios; /* frame: uses the default baselines; ratios: uses the baselines that
                               * the user selected */
    size_t key; /* index of the key whose values are the axis positions; 0 if no such key exists */
    const char *along; /* name of the column whose values are the axis positions, or "" */
    bool *differs; /* array [frame.n_keys]: true if figures distinguish the values of the key */
    bool *numeric; /* array [frame.n_keys]: true if all values of the key are numbers */
    dsgd_names series, drawn; /* series: names of all series; drawn: names of the drawn series, in
                               * the order of the table */
    dsgd_names places, panels; /* places: axis positions as in the table; panels: names of panels
                                * for readers */
    size_t n_frames; /* number of panels times number of axis positions */
    /* array [n_frames][drawn.n] of points; an element is NULL if no run exists */
    const dsgd_frame_point **points;
} dsgd_figure_runs;

/**
 * Arranges the runs of a folder for figures. Returns DSGD_EUSAGE if a series is unknown or if no
 * run has results.
 */
dsgd_status dsgd_figure_runs_open(const char *folder, const dsgd_figure_choice *choice,
                                  dsgd_figure_runs *runs, dsgd_error *error);

/** Returns the point that has the same runs as @p p in the frame `ratios`. */
const dsgd_frame_point *dsgd_figure_ratio(const dsgd_figure_runs *runs, const dsgd_frame_point *p);

/**
 * Converts a table of points into lines of $points. A table without the columns of published.csv
 * has the columns `algorithm`, `low` and `high`. It also has columns in which runs differ (their
 * names may lack path and unit), and the columns y, or x and y, from @p quantities. Returns
 * DSGD_EUSAGE with file, line and value. If the table is @p shipped, skips rows that match no run
 * without a warning.
 */
dsgd_status dsgd_figure_points(const dsgd_figure_runs *runs, const dsgd_csv *csv,
                               const dsgd_names *quantities, bool shipped, char **text,
                               dsgd_error *error);

/** names of the quantities of learning curves; NULL ends the array */
extern const char *const dsgd_figure_of_curves[];

/**
 * Writes three kinds of data. $curves contains means over seeds from FOLDER/curves.csv with their
 * intervals. The ranges of these means follow. $staleness contains shares of ages from
 * FOLDER/staleness.csv. If a table is missing, its blocks contain no numbers.
 */
void dsgd_figure_curves(FILE *out, const dsgd_figure_runs *runs, const char *folder);

/**
 * Writes data from FOLDER/steps.csv. $steps contains the cumulative distribution of step times over
 * the runs of each block. $step_marks contains a few points of each distribution. shortest_step and
 * longest_step contain the shortest step above 0 s and the longest step at each axis position of
 * each panel. They contain 1 and 0 if there are no steps. If the file is missing, the blocks
 * contain no numbers.
 */
void dsgd_figure_steps(FILE *out, const dsgd_figure_runs *runs, const char *folder);

/**
 * Writes data from FOLDER/phase.csv. Writes nothing if this table does not exist. `racer` contains
 * the algorithms. For each axis (x, y), writes its title and the values and texts of its ticks.
 * Also writes whether the axis is logarithmic, and where its cells start and end. $cells has one
 * block for each y, with the columns of `columns_of_cells`.
 */
void dsgd_figure_cells(FILE *out, const char *folder);

/* --- values in the syntax of gnuplot ---------------------------------------------------------- */

/** Writes a comma, followed by a number or NaN. */
void dsgd_gnuplot_number(FILE *out, double x);

/** Writes the assignment NAME = 'TEXT'. Quotes in the text are escaped for gnuplot. */
void dsgd_gnuplot_variable(FILE *out, const char *name, const char *text);

/** Writes the definition of an array of @p n numbers. */
void dsgd_gnuplot_numbers(FILE *out, const char *name, const double *x, size_t n);

/** Writes the definition of an array of @p n texts. */
void dsgd_gnuplot_texts(FILE *out, const char *name, const char *const *texts, size_t n);
