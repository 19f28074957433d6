/**
 * @file html.h
 * Texts in a page of HTML.
 */
#ifndef DSGD_COMMAND_ANALYSIS_REPORT_HTML_H
#define DSGD_COMMAND_ANALYSIS_REPORT_HTML_H

#include <stdio.h>

/** Writes a text with what HTML keeps for itself escaped. */
void dsgd_html_text(FILE *html, const char *text);

/** The same of a format with its arguments. */
void dsgd_html_put(FILE *html, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Writes a text and frees it. */
void dsgd_html_put_own(FILE *html, char *text);

/** Begins a section with a heading; `</section>` ends it. */
void dsgd_html_section(FILE *html, const char *id, const char *title);

#endif
