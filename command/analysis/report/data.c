/**
 * @file data.c
 * Reads the data of a report. Also contains functions that write texts and tables as HTML.
 */
#include "command/analysis/report/data.h"
#include "command/runs/manifest.h"

dsgd_status dsgd_report_open(const char *folder, dsgd_report *report, dsgd_error *error)
{
    size_t column = 0;
    *report = (dsgd_report){.folder = folder};
    DSGD_TRY(dsgd_runs_read(&report->runs, folder, error));
    if (report->runs.n_rows == 0)
        return dsgd_fail(error, DSGD_EIO, "%s/runs.csv: the table has no run", folder);
    DSGD_TRY(dsgd_csv_need(&report->runs, "run", &column, error));
    DSGD_TRY(dsgd_csv_need(&report->runs, "workers", &column, error));
    report->manifest = dsgd_manifest_unfold(dsgd_manifest_read(folder));
    if (report->manifest == NULL)
        return dsgd_fail(
            error, DSGD_EIO,
            "%s/manifest.json, which describes the runs, is missing or not JSON. `dsgd "
            "run` writes it; `dsgd compare %s` does not need it",
            folder, folder);
    DSGD_TRY(dsgd_frame_open(&report->runs, &(dsgd_framing){.by = NULL}, &report->frame, error));
    report->throughput = dsgd_frame_numbers(&report->frame, "throughput_samples_per_s");
    return DSGD_OK;
}

/* --- HTML ------------------------------------------------------------------------------------- */

/** Writes a text as HTML. Escapes special characters and removes control characters. */
static void put_text(FILE *html, const char *text)
{
    static const char *const escaped[256] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (escaped[c] != NULL)
            fputs(escaped[c], html);
        else if (c >= ' ' || c == '\n' || c == '\t')
            fputc(c, html);
    }
}

void dsgd_html(FILE *html, const char *markup, ...)
{
    va_list texts;
    va_start(texts, markup);
    for (const char *at = strstr(markup, "%s"); at != NULL; at = strstr(markup, "%s")) {
        fwrite(markup, 1, (size_t)(at - markup), html);
        put_text(html, va_arg(texts, const char *));
        markup = at + 2;
    }
    va_end(texts);
    fputs(markup, html);
}

void dsgd_html_section(FILE *html, const char *id, const char *title)
{
    dsgd_html(html, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", id, id, title);
}

static const char *class_of(size_t column, size_t n_texts)
{
    return column < n_texts ? "" : " class=\"n\"";
}

void dsgd_html_table(FILE *html, const char *label, const char *caption, const dsgd_columns *t,
                     size_t n_texts)
{
    fprintf(html,
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">\n<table>\n"
            "<caption>%s</caption>\n<thead>\n<tr>",
            label, caption);
    for (size_t k = 0; k < t->n_columns; k++) {
        fprintf(html, "<th scope=\"col\"%s>", class_of(k, n_texts));
        dsgd_html(html, "%s</th>", t->v[k].head);
    }
    fputs("</tr>\n</thead>\n<tbody>\n", html);
    for (size_t row = 0; row < t->n_rows && row < DSGD_MOST_ROWS; row++) {
        for (size_t k = 0; k < t->n_columns; k++) {
            fprintf(html, k == 0 ? "<tr><th scope=\"row\"%s>" : "<td%s>", class_of(k, n_texts));
            dsgd_html(html, k == 0 ? "%s</th>" : "%s</td>", t->v[k].cells[row]);
        }
        fputs("</tr>\n", html);
    }
    fputs("</tbody>\n</table>\n</div>\n", html);
}
