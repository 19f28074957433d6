/**
 * @file data.h
 * The data of a report, the sections of its page, and functions that write HTML.
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
    double *throughput; /* [n_rows]; NAN if it does not count */
} dsgd_report;

/** Reads a results folder. Returns DSGD_EIO if it has no run or no manifest, or an error of
 * dsgd_frame_open(). */
dsgd_status dsgd_report_open(const char *folder, dsgd_report *report, dsgd_error *error);

/** Write the sections that describe the experiment, and how to reproduce it. */
void dsgd_report_set_up(const dsgd_report *report, FILE *html);
void dsgd_report_again(const dsgd_report *report, FILE *html);

/**
 * Draws the figures with this target (may be NULL), unless they exist and are newer than the
 * results. Returns an error message, or "".
 */
const char *dsgd_report_draw(const dsgd_report *report, const char *target);

/**
 * Writes figures into the page as SVG with a title and a description: only the main figure, if
 * @p answer, or else all others. Returns their number.
 */
size_t dsgd_report_figures(const dsgd_report *report, bool answer, FILE *html);

/* --- HTML ------------------------------------------------------------------------------------- */

/**
 * The page up to the first section (page.html), with %s for its title. The page loads nothing and
 * runs no script, whatever the results folder contains.
 */
extern const char dsgd_report_page[];

/** Writes @p markup with each %s replaced by the next text, escaped. No other conversions are
 * allowed. */
void dsgd_html(FILE *html, const char *markup, ...) __attribute__((format(printf, 2, 3)));

enum { DSGD_MOST_ROWS = 500 };

/**
 * Writes the headings and the first DSGD_MOST_ROWS rows of a table. Columns before @p n_texts are
 * texts, the others are numbers. @p label and @p caption are HTML.
 */
void dsgd_html_table(FILE *html, const char *label, const char *caption, const dsgd_columns *table,
                     size_t n_texts);

/** Starts a section with a heading; `</section>` ends it. */
void dsgd_html_section(FILE *html, const char *id, const char *title);
