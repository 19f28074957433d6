/**
 * @file figures.c
 * Includes the SVG files of `dsgd plot` in the HTML page of a report.
 */
#include <ctype.h>
#include <sys/stat.h>

#include "base/csv.h"
#include "base/file.h"
#include "command/analysis/plot.h"
#include "command/analysis/report/data.h"

/**
 * Texts that precede a name in SVG. Each name gets a prefix, because different figures of a page
 * may use equal names.
 */
static const char *const references[] = {" id='",    " id=\"", "href='#",
                                         "href=\"#", "url(#",  "url('#"};

/**
 * Writes the content of an svg element. Adds the prefix of figure @p k to names. Removes gnuplot's
 * titles.
 */
static void write_inside(FILE *html, const char *text, const char *end, size_t k)
{
    static const char plot[] = "<g id=\"gnuplot_plot_", title_end[] = "</title>";
    while (text < end) {
        size_t length = 0;
        const char *const after =
            strncmp(text, plot, strlen(plot)) == 0 ? strstr(text, title_end) : NULL;
        if (after != NULL) {
            fputs("<g>", html);
            text = after + strlen(title_end);
        }
        for (size_t i = 0; i < sizeof references / sizeof references[0] && length == 0; i++)
            if (strncmp(text, references[i], strlen(references[i])) == 0)
                length = strlen(references[i]);
        if (length > 0)
            fprintf(html, "%.*sf%zu-", (int)length, text, k);
        else
            fputc(*text, html);
        text += length > 0 ? length : 1;
    }
}

/** Returns the viewBox of an SVG, such as "0 0 760 480". Returns "" if the SVG has no viewBox. */
static const char *box_of(const char *svg)
{
    static const char mark[] = "viewBox=\"";
    const char *const at = strstr(svg, mark), *const end = strchr(svg, '>');
    if (at == NULL || end == NULL || at > end)
        return "";
    const char *const numbers = at + strlen(mark);
    return dsgd_xprintf("%.*s", (int)strspn(numbers, "0123456789.+- "), numbers);
}

static bool write_figure(FILE *html, const char *svg, const char *name, size_t k)
{
    const char *const start = strstr(svg, "<svg");
    const char *const end = start == NULL ? NULL : strstr(start, "</svg>");
    const char *const box = end == NULL ? "" : box_of(start);
    /*
     * Reject a file that contains scripts or foreign objects, because gnuplot does not write them.
     */
    if (*box == '\0' || strcasestr(svg, "<script") != NULL ||
        strcasestr(svg, "<foreignObject") != NULL)
        return false;
    const char *inside = strchr(start, '>') + 1;
    /* The element <desc> contains gnuplot's name and version. */
    const char *const described = strstr(inside, "</desc>");
    if (described != NULL && described < end)
        inside = described + strlen("</desc>");
    char *caption = NULL;
    dsgd_figure_needs(name, &caption);
    if (*caption == '\0')
        dsgd_append(&caption, "%s.", name);
    const char *const of = dsgd_xprintf("%zu", k);
    dsgd_html(html,
              "<figure id=\"figure-%s\">\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
              "aria-label=\"Figure %s\">\n<svg viewBox=\"%s\" role=\"img\" "
              "aria-labelledby=\"f%s-title f%s-desc\" xmlns=\"http://www.w3.org/2000/svg\" "
              "xmlns:xlink=\"http://www.w3.org/1999/xlink\"",
              of, name, box, of, of);
    dsgd_html(html,
              ">\n<title id=\"f%s-title\">%s</title>\n"
              "<desc id=\"f%s-desc\">%s The tables of this page contain the numbers.</desc>",
              of, name, of, caption);
    write_inside(html, inside, end, k);
    dsgd_html(html, "</svg>\n</div>\n<figcaption>%s</figcaption>\n</figure>\n", caption);
    return true;
}

/**
 * Returns true if all figures are at least as new as runs.csv and were drawn with the target @p
 * target ("" for no target).
 */
static bool are_fresh(const char *folder, const char *target)
{
    char *data = NULL;
    size_t length = 0;
    if (dsgd_file_read(dsgd_xprintf("%s/figures/data.gp", folder), &data, &length, NULL) == DSGD_OK
            ? strstr(data, dsgd_xprintf("\ntarget_of_figures = '%s'\n", target)) == NULL
            : *target != '\0')
        return false;
    const char *const figures = dsgd_xprintf("%s/figures", folder);
    char **const names = dsgd_folder_names(figures, ".svg");
    struct stat of_runs, of_figure;
    bool fresh = names != NULL && names[0] != NULL &&
                 stat(dsgd_xprintf("%s/runs.csv", folder), &of_runs) == 0;
    for (size_t i = 0; fresh && names[i] != NULL; i++)
        fresh = stat(dsgd_xprintf("%s/%s", figures, names[i]), &of_figure) == 0 &&
                of_figure.st_mtime >= of_runs.st_mtime;
    return fresh;
}

/**
 * Returns true if a figure is the main figure, which is the first existing figure in the list
 * `answers`.
 */
static bool is_answer(const char *name, char *const *names)
{
    static const char *const answers[] = {"phase", "headline", "throughput"};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        for (size_t k = 0; names[k] != NULL; k++)
            if (strcmp(names[k], answers[i]) == 0)
                return strcmp(name, answers[i]) == 0;
    return false;
}

const char *dsgd_report_draw(const dsgd_report *report, const char *target)
{
    char command[] = "dsgd plot", format[] = "--format=svg";
    char *const aim = target == NULL ? NULL : dsgd_xprintf("--target=%s", target);
    char *words[] = {command, format, dsgd_xstrdup(report->folder), aim, NULL};
    dsgd_error error;
    return are_fresh(report->folder, target == NULL ? "" : target) ||
                   dsgd_command_plot.run(aim == NULL ? 3 : 4, words, &error) == DSGD_OK
               ? ""
               : dsgd_xstrdup(error.text);
}

size_t dsgd_report_figures(const dsgd_report *report, bool answer, FILE *html)
{
    /* largest size of a figure, and of all figures together, in bytes; larger pages open slowly */
    enum { MOST_BYTES = 3 << 18, MOST_BYTES_OF_ALL = 2 << 20 };
    const char *const figures = dsgd_xprintf("%s/figures", report->folder);
    char **const names = dsgd_folder_names(figures, ".svg");
    size_t n = 0, n_bytes = 0;
    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        names[i][strlen(names[i]) - 4] = '\0';
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        const char *const path = dsgd_xprintf("%s/%s.svg", figures, names[i]);
        char *text = NULL;
        size_t length = 0;
        if (is_answer(names[i], names) != answer ||
            dsgd_file_read(path, &text, &length, NULL) != DSGD_OK)
            continue;
        const bool fits = length <= MOST_BYTES && n_bytes + length <= MOST_BYTES_OF_ALL;
        n_bytes += fits ? length : 0;
        n += fits ? write_figure(html, text, names[i], i + 1) : 1;
        if (!fits)
            dsgd_html(
                html,
                "<p>The figure %s is too large for this page (%s MB): see <code>%s</code>.</p>\n",
                names[i], dsgd_readable((double)length / 1e6, 2), path);
    }
    return n;
}
