/**
 * @file data.h
 * Defines the data of a report, the sections of its page, and functions that write HTML.
 */
#pragma once

#include <jansson.h>

#include "command/analysis/frame.h"
#include "command/analysis/run_table.h"
#include "command/console/table.h"

typedef struct dsgd_report {
    const char *folder;
    dsgd_csv runs;
    const json_t *manifest;
    dsgd_frame frame;
    double *throughput; /* array [n_rows]: throughput of each run in samples/s; NAN if the
                         * throughput does not count */
} dsgd_report;

/**
 * Reads a results folder. Returns DSGD_EIO if the folder has no run or no manifest. Also returns
 * errors of dsgd_frame_open().
 */
dsgd_status dsgd_report_open(const char *folder, dsgd_report *report, dsgd_error *error);

/**
 * Writes the section that describes the experiment. The second function writes the section that
 * explains how to reproduce the experiment.
 */
void dsgd_report_set_up(const dsgd_report *report, FILE *html);
void dsgd_report_again(const dsgd_report *report, FILE *html);

/**
 * Draws the figures with target @p target, which may be NULL. Draws nothing if existing figures are
 * newer than the results. Returns an error message, or "" if there is no error.
 */
const char *dsgd_report_draw(const dsgd_report *report, const char *target);

/**
 * Writes figures into the page as SVG, each with a title and a description. If @p answer is true,
 * writes only the main figure; otherwise writes all other figures. Returns the number of these
 * figures.
 */
size_t dsgd_report_figures(const dsgd_report *report, bool answer, FILE *html);

/* --- HTML ------------------------------------------------------------------------------------- */

/**
 * HTML of the page up to the first section (page.html), with %s for the title. The page loads no
 * other file and runs no script, even if the results folder contains such files.
 */
extern const char dsgd_report_page[];

/**
 * Writes @p markup as HTML. Replaces each %s by the next argument, escaped. Other conversions are
 * not allowed.
 */
void dsgd_html(FILE *html, const char *markup, ...) __attribute__((format(printf, 2, 3)));

enum { DSGD_MOST_ROWS = 500 };

/**
 * Writes the headings and the first DSGD_MOST_ROWS rows of a table as HTML. The first @p n_texts
 * columns are texts; the other columns are numbers. @p label and @p caption are HTML.
 */
void dsgd_html_table(FILE *html, const char *label, const char *caption, const dsgd_columns *table,
                     size_t n_texts);

/** Starts a section with a heading. The caller ends the section with `</section>`. */
void dsgd_html_section(FILE *html, const char *id, const char *title);
