/**
 * @file data.h
 * The results of a folder as a report needs them, the sections of its page, and texts in HTML.
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
    double *throughput; /* of each row; NAN: does not count */
} dsgd_report;

/** DSGD_EIO: no runs.csv with a row, or no manifest; or as dsgd_frame_open(). */
dsgd_status dsgd_report_open(const char *folder, dsgd_report *report, dsgd_error *error);

/** Write what was asked of what; and how to run it again. */
void dsgd_report_set_up(const dsgd_report *report, FILE *html);
void dsgd_report_again(const dsgd_report *report, FILE *html);

/**
 * Draws the figures unless they are newer than the results and of this target (NULL: none). Gives
 * why they could not be drawn; "": they could.
 */
const char *dsgd_report_draw(const dsgd_report *report, const char *target);

/**
 * Writes figures in place, as SVG with a title and a description: the one alone that answers who
 * wins
 * (@p answer), or all others. Gives how many.
 */
size_t dsgd_report_figures(const dsgd_report *report, bool answer, FILE *html);

/* --- HTML ------------------------------------------------------------------------------------- */

/**
 * The page up to the first section, with %s where its title goes (page.html). Nothing is loaded and
 * no script runs, whatever a folder of results brings along.
 */
extern const char dsgd_report_page[];

/**
 * Writes @p markup, in which each %s is the next text, escaped; other conversions it may not have.
 */
void dsgd_html(FILE *html, const char *markup, ...) __attribute__((format(printf, 2, 3)));

enum { DSGD_MOST_ROWS = 500 };

/**
 * Writes the first DSGD_MOST_ROWS rows of a table: headings, then texts up to column @p n_texts,
 * then numbers.
 * @p label and @p caption are HTML.
 */
void dsgd_html_table(FILE *html, const char *label, const char *caption, const dsgd_columns *table,
                     size_t n_texts);

/** Begins a section with a heading; `</section>` ends it. */
void dsgd_html_section(FILE *html, const char *id, const char *title);
