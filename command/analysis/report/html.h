/**
 * @file html.h
 * Texts in a page of HTML.
 */
#ifndef DSGD_COMMAND_ANALYSIS_REPORT_HTML_H
#define DSGD_COMMAND_ANALYSIS_REPORT_HTML_H

#include <stdio.h>

/** Writes a text with what HTML keeps for itself escaped. */
void dsgd_html_text(FILE *html, const char *text);

/** Writes @p markup, in which each %s is the next text, escaped; other conversions it may not have. */
void dsgd_html(FILE *html, const char *markup, ...) __attribute__((format(printf, 2, 3)));

/** The same with one text, which it frees. */
void dsgd_html_own(FILE *html, const char *markup, char *text);

/** Begins a section with a heading; `</section>` ends it. */
void dsgd_html_section(FILE *html, const char *id, const char *title);

#endif
