/**
 * @file report.c
 * `dsgd report`: the results of a folder as one page of HTML that needs nothing else.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/option.h"
#include "command/analyse/report/data.h"
#include "command/analyse/summary.h"
#include "command/arguments.h"
#include "command/command.h"
#include "command/run/results.h"

/* Nothing is loaded and no script runs, whatever a folder of results brings along. */
static const char head[] =
    "<meta charset=\"utf-8\"/>\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'; img-src data:\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
    "<style>\n"
    "body { margin: 0 auto; padding: 1rem; max-width: 62rem; color: #1a1a1a; background: #fff;\n"
    "  font: 1rem/1.5 system-ui, sans-serif; }\n"
    "h1 { font-size: 1.6rem; line-height: 1.25; }\n"
    "h2 { font-size: 1.25rem; margin-top: 2.2rem; border-bottom: 1px solid #767676; }\n"
    "a { color: #0b4fa0; }\n"
    "nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; padding: 0; list-style: none; }\n"
    "nav a { display: inline-block; padding: .3rem 0; }\n"
    ".scroll { overflow-x: auto; border: 1px solid #d0d0d0; }\n"
    ".scroll:focus-visible, a:focus-visible { outline: 3px solid #0b4fa0; outline-offset: 2px; }\n"
    "table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }\n"
    "caption { text-align: left; padding: .5rem; font-weight: 600; }\n"
    "th, td { padding: .3rem .6rem; text-align: left; white-space: nowrap;\n"
    "  border-top: 1px solid #d0d0d0; }\n"
    "td.n, th.n { text-align: right; }\n"
    "figure { margin: 1.5rem 0; }\n"
    "svg { display: block; width: 100%; min-width: 34rem; max-width: 46rem; height: auto;\n"
    "  margin: 0 auto; }\n"
    "figcaption { color: #404040; font-size: .9rem; }\n"
    "pre { overflow-x: auto; padding: .6rem; background: #f2f2f2; }\n"
    "code { font: .9rem/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }\n"
    ".warnings li { margin: .4rem 0; padding: .3rem .7rem; border-left: .3rem solid #a34700; }\n"
    "dt { font-weight: 600; margin-top: .5rem; }\n"
    "dd { margin-left: 1rem; overflow-wrap: anywhere; }\n"
    "@media print { nav { display: none; } body { max-width: none; padding: 0; font-size: 10pt; }\n"
    "  .scroll { overflow: visible; border: 0; } svg { min-width: 0; }\n"
    "  figure, tr { break-inside: avoid; } th, td { white-space: normal; } }\n"
    "</style>\n";

void dsgd_html_text(FILE *html, const char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '&')
            fputs("&amp;", html);
        else if (c == '<')
            fputs("&lt;", html);
        else if (c == '>')
            fputs("&gt;", html);
        else if (c == '"')
            fputs("&quot;", html);
        else if (c >= ' ' || c == '\n' || c == '\t')
            fputc(c, html);
    }
}

/** A format whose arguments are escaped. */
static void put(FILE *html, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(FILE *html, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const text = dsgd_xvprintf(format, arguments);
    va_end(arguments);
    dsgd_html_text(html, text);
    free(text);
}

/** Writes a text and frees it. */
static void put_own(FILE *html, char *text)
{
    put(html, "%s", text);
    free(text);
}

static void section(FILE *html, const char *id, const char *title)
{
    fprintf(html, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", id, id, title);
}

/* --- question and set-up ---------------------------------------------------------------------- */

/** The values of a column in the order of their first rows, as "a, b and c"; the caller frees it. */
static char *values_of(const dsgd_report *r, size_t column)
{
    if (column == r->runs.n_columns)
        return dsgd_xstrdup("unknown");
    const char **const values = dsgd_xcalloc(r->runs.n_rows + 1, sizeof *values);
    char *text = dsgd_xstrdup("");
    size_t n = 0;
    for (size_t row = 0; row < r->runs.n_rows; row++) {
        const char *const value = dsgd_csv_field(&r->runs, row, column);
        if (*value != '\0' && dsgd_find_word(values, value) < 0)
            values[n++] = value;
    }
    for (size_t i = 0; i < n; i++) {
        char *const shown = dsgd_swept_value(r->runs.fields[column], values[i]);
        dsgd_append(&text, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ", shown);
        free(shown);
    }
    free(values);
    return text;
}

static void put_values(FILE *html, const dsgd_report *r, const char *column)
{
    char *const text = values_of(r, dsgd_csv_column(&r->runs, column));
    put(html, "%s", text);
    free(text);
}

static bool learns(const dsgd_report *r)
{
    for (size_t k = 0; k < r->n_groups; k++)
        if (r->groups[k].loss.n > 0)
            return true;
    return false;
}

static void write_question(FILE *html, const dsgd_report *r)
{
    fputs("<p>How fast do ", html);
    put_values(html, r, "algorithm");
    fprintf(html, " train%s, on ", learns(r) ? ", and how well does the model learn" : "");
    put_values(html, r, "workers");
    fputs(" workers of ", html);
    put_values(html, r, "platform");
    fputs(" with the workload ", html);
    put_values(html, r, "workload");
    for (size_t k = r->first_swept; k < r->runs.n_columns; k++) {
        fputs(k == r->first_swept ? ", over " : "; over ", html);
        put_own(html, dsgd_swept_name(r->runs.fields[k]));
        fputs(" (", html);
        put_own(html, values_of(r, k));
        fputs(")", html);
    }
    fputs("?</p>\n", html);
}

/** A value of the manifest: "name (a 1, b 2)" of a mapping. */
static void put_value(FILE *html, const json_t *value)
{
    const char *key = NULL;
    json_t *part = NULL;
    const char *const name = json_string_value(json_object_get(value, "name"));
    if (json_is_string(value))
        put(html, "%s", json_string_value(value));
    else if (json_is_number(value))
        fprintf(html, "%.10g", json_number_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", html);
    for (size_t i = 0; i < json_array_size(value); i++) {
        fputs(i == 0 ? "" : "; ", html);
        put_value(html, json_array_get(value, i));
    }
    if (name != NULL)
        put(html, "%s", name);
    size_t n = 0;
    json_object_foreach((json_t *)value, key, part)
    {
        const bool is_empty =
            json_is_null(part) || (json_is_array(part) && json_array_size(part) == 0);
        if (strcmp(key, "name") == 0 || is_empty)
            continue;
        put(html, "%s%s ", n > 0 ? ", " : name == NULL ? "" : " (", key);
        if (json_is_object(part) && json_object_get(part, "name") == NULL)
            fputs("{", html);
        put_value(html, part);
        if (json_is_object(part) && json_object_get(part, "name") == NULL)
            fputs("}", html);
        n++;
    }
    if (name != NULL && n > 0)
        fputc(')', html);
}

static void write_fact(FILE *html, const char *name, const json_t *value)
{
    if (value == NULL || json_is_null(value))
        return;
    const bool is_empty = json_is_array(value)
                              ? json_array_size(value) == 0
                              : json_is_object(value) && json_object_size(value) == 0;
    fputs("<dt>", html);
    put(html, "%s", name);
    fputs("</dt>\n<dd>", html);
    put_value(html, value);
    fputs(is_empty ? "none</dd>\n" : "</dd>\n", html);
}

static const char *text_at(const json_t *object, const char *part, const char *key)
{
    const char *const text = json_string_value(json_object_get(json_object_get(object, part), key));
    return text == NULL ? "" : text;
}

static double number_at(const json_t *object, const char *part, const char *key)
{
    return json_number_value(json_object_get(json_object_get(object, part), key));
}

/** When a run ends, in words. */
static void write_until(FILE *html, const json_t *run)
{
    static const struct {
        const char *key, *before, *after;
    } bounds[] = {{"steps", "", " steps of all workers, divided by their number"},
                  {"seconds", "", " virtual seconds"},
                  {"samples", "", " samples"},
                  {"accuracy", "an accuracy of ", ""}};
    const char *separator = "<dt>Runs end after</dt>\n<dd>";
    for (size_t k = 0; k < sizeof bounds / sizeof bounds[0]; k++) {
        const double bound = number_at(run, "until", bounds[k].key);
        if (!(bound > 0))
            continue;
        fprintf(html, "%s%s%g%s", separator, bounds[k].before, bound, bounds[k].after);
        separator = ", or ";
    }
    fputs(*separator == '<' ? "" : "</dd>\n", html);
}

/** The options of each algorithm, by its label. */
static void write_algorithms(FILE *html, const dsgd_report *r)
{
    for (size_t k = 0; k < r->n_groups; k++) {
        const size_t row = r->groups[k].first;
        const char *const label = dsgd_report_field(r, row, "algorithm");
        bool seen = false;
        for (size_t j = 0; j < k && !seen; j++)
            seen = strcmp(dsgd_report_field(r, r->groups[j].first, "algorithm"), label) == 0;
        if (seen)
            continue;
        char *const name = dsgd_xprintf("Algorithm %s", label);
        write_fact(html, name, json_object_get(dsgd_report_run(r, row), "algorithm"));
        free(name);
    }
}

static void write_set_up(FILE *html, const dsgd_report *r)
{
    const json_t *const run = dsgd_report_run(r, 0);
    section(html, "set-up", "Set-up");
    write_question(html, r);
    fputs("<dl>\n", html);
    if (run != NULL) {
        fputs("<dt>Platform</dt>\n<dd>", html);
        put(html, "%s: %s", dsgd_report_field(r, 0, "platform"),
            text_at(run, "platform", "summary"));
        fputs("</dd>\n<dt>Workload</dt>\n<dd>", html);
        put(html, "%s: %s; %g s per step without imbalance, %g %s per worker and step",
            dsgd_report_field(r, 0, "workload"), text_at(run, "workload", "summary"),
            number_at(run, "workload", "step"), number_at(run, "workload", "samples"),
            text_at(run, "workload", "unit"));
        fputs("</dd>\n", html);
        if (!json_is_false(json_object_get(run, "inherent")))
            write_fact(html, "Imbalance of the workload",
                       json_object_get(json_object_get(run, "workload"), "inherent"));
        write_fact(html, "Imbalance on top", json_object_get(run, "imbalance"));
        write_algorithms(html, r);
        write_until(html, run);
        fputs("<dt>Seeds</dt>\n<dd>", html);
        put_values(html, r, "seed");
        fputs("</dd>\n", html);
        write_fact(html, "Network", json_object_get(run, "network"));
        write_fact(html, "Exchange", json_object_get(run, "exchange"));
        write_fact(html, "Learns", json_object_get(run, "learn"));
    }
    fputs("</dl>\n<p>Of options that are swept this is the first run's value.</p>\n</section>\n",
          html);
}

/* --- results ---------------------------------------------------------------------------------- */

/** Four significant digits of the mean, and as many decimals of the interval. */
static void put_interval(FILE *html, dsgd_interval x)
{
    const double size = fmax(fabs(x.mean), 1e-9);
    const int decimals = size >= 1000 ? 0 : size < 1e-3 ? 6 : 3 - (int)floor(log10(size));
    if (!isfinite(x.mean))
        fputs("<td class=\"n\">unknown</td>", html);
    else if (size >= 1e9)
        fprintf(html, "<td class=\"n\">%.4g ± %.2g</td>", x.mean, x.ci);
    else if (isfinite(x.ci))
        fprintf(html, "<td class=\"n\">%.*f ± %.*f</td>", decimals, x.mean, decimals, x.ci);
    else
        fprintf(html, "<td class=\"n\">%.*f</td>", decimals, x.mean);
}

/** Three significant digits, and the interval, which lies on a logarithmic scale. */
static void put_ratio(FILE *html, const dsgd_cell *g)
{
    const dsgd_ratio *const r = &g->speed_up;
    if (dsgd_report_is_baseline(g))
        fputs("<td class=\"n\">baseline</td>", html);
    else if (r->n == 0)
        fputs("<td class=\"n\">unknown</td>", html);
    else if (r->n == 1)
        fprintf(html, "<td class=\"n\">%.3g</td>", r->ratio);
    else
        fprintf(html, "<td class=\"n\">%.3g (%.3g to %.3g)</td>", r->ratio, r->low, r->high);
}

/** A quantity of the tables; a column is left out where no group has it. */
typedef struct quantity {
    const char *head;
    size_t offset; /* of an interval in dsgd_cell; is_speed_up: the ratio */
} quantity;

static const size_t is_speed_up = SIZE_MAX; /* an offset */

static dsgd_interval interval_at(const dsgd_cell *g, size_t offset)
{
    if (offset == is_speed_up)
        return (dsgd_interval){g->speed_up.ratio, NAN, g->speed_up.n};
    return *(const dsgd_interval *)(const void *)((const char *)g + offset);
}

static void write_table(FILE *html, const dsgd_report *r, const char *caption,
                        const quantity *quantities, size_t n)
{
    enum { MOST_ROWS = 500 };
    fprintf(html,
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">\n<table>\n"
            "<caption>%s</caption>\n<thead>\n<tr><th scope=\"col\">algorithm</th>"
            "<th scope=\"col\" class=\"n\">workers</th>",
            caption, caption);
    for (size_t k = r->first_swept; k < r->runs.n_columns; k++) {
        fputs("<th scope=\"col\">", html);
        put_own(html, dsgd_swept_name(r->runs.fields[k]));
        fputs("</th>", html);
    }
    fputs("<th scope=\"col\" class=\"n\">seeds</th>", html);
    for (size_t q = 0; q < n; q++) {
        fputs("<th scope=\"col\" class=\"n\">", html);
        put(html, "%s", quantities[q].head);
        fputs("</th>", html);
    }
    fputs("</tr>\n</thead>\n<tbody>\n", html);
    for (size_t i = 0; i < r->n_groups && i < MOST_ROWS; i++) {
        const dsgd_cell *const g = &r->groups[i];
        fputs("<tr><th scope=\"row\">", html);
        put(html, "%s", dsgd_report_field(r, g->first, "algorithm"));
        fprintf(html, "</th><td class=\"n\">");
        put(html, "%s", dsgd_report_field(r, g->first, "workers"));
        fputs("</td>", html);
        for (size_t k = r->first_swept; k < r->runs.n_columns; k++) {
            fputs("<td>", html);
            const char *const value = dsgd_csv_field(&r->runs, g->first, k);
            put_own(html, dsgd_swept_value(r->runs.fields[k], value));
            fputs("</td>", html);
        }
        fprintf(html, "<td class=\"n\">%zu</td>", g->speed.n);
        for (size_t q = 0; q < n; q++)
            if (quantities[q].offset == is_speed_up)
                put_ratio(html, g);
            else
                put_interval(html, interval_at(g, quantities[q].offset));
        fputs("</tr>\n", html);
    }
    fputs("</tbody>\n</table>\n</div>\n", html);
    if (r->n_groups > MOST_ROWS)
        fprintf(html, "<p>%zu more rows are in runs.csv.</p>\n", r->n_groups - MOST_ROWS);
}

static void write_quantities(FILE *html, const dsgd_report *r, const char *caption,
                             const quantity *all, size_t n_all)
{
    quantity shown[8];
    size_t n = 0;
    for (size_t q = 0; q < n_all; q++)
        for (size_t k = 0; k < r->n_groups; k++)
            if (interval_at(&r->groups[k], all[q].offset).n > 0) {
                shown[n++] = all[q];
                break;
            }
    write_table(html, r, caption, shown, n);
}

/** Of what throughput counts: the first run's, for several workloads seldom share a table. */
static const char *unit_of(const dsgd_report *r)
{
    const char *const unit = text_at(dsgd_report_run(r, 0), "workload", "unit");
    return *unit == '\0' ? "samples" : unit;
}

/** Whether a group is the first one at its place. */
static bool is_first(const dsgd_report *r, size_t k)
{
    size_t j = 0;
    while (!dsgd_seed_groups_same_place(&r->seeds, r->groups[j].of, r->groups[k].of))
        j++;
    return j == k;
}

/** Who is fastest at each place, and by how much. */
static void write_answers(FILE *html, const dsgd_report *r)
{
    enum { MOST_PLACES = 24 };
    size_t n = 0;
    fputs("<ul>\n", html);
    for (size_t k = 0; k < r->n_groups; k++) {
        if (!is_first(r, k) || ++n > MOST_PLACES)
            continue;
        const dsgd_cell *best = &r->groups[k];
        for (size_t j = k + 1; j < r->n_groups; j++)
            if (dsgd_seed_groups_same_place(&r->seeds, r->groups[j].of, r->groups[k].of) &&
                (r->groups[j].speed.mean > best->speed.mean || !isfinite(best->speed.mean)))
                best = &r->groups[j];
        char *const place = dsgd_report_place(r, best);
        fputs("<li>", html);
        put(html, "%s: %s is fastest, with %.4g %s/s", place,
            dsgd_report_field(r, best->first, "algorithm"), best->speed.mean, unit_of(r));
        if (best->speed_up.n > 0)
            put(html, ", %.3g times %s%s", best->speed_up.ratio, r->seeds.baseline,
                best->speed_up.n > 1 && best->speed_up.n_settling > 0 ? ", which could be chance"
                                                                      : "");
        fputs(".</li>\n", html);
        free(place);
    }
    fputs("</ul>\n", html);
    if (n > MOST_PLACES)
        fprintf(html, "<p>%zu more places are in the table.</p>\n", n - MOST_PLACES);
}

static dsgd_status write_results(FILE *html, const dsgd_report *r, const char *target,
                                 dsgd_error *error)
{
    char *const throughput = dsgd_xprintf("throughput (%s/s)", unit_of(r));
    char *const times = dsgd_xprintf("times %s", r->n_groups == 0 ? "" : r->seeds.baseline);
    const quantity quantities[] = {
        {throughput, offsetof(dsgd_cell, speed)},
        {times, is_speed_up},
        {"step (s)", offsetof(dsgd_cell, step)},
        {"final loss", offsetof(dsgd_cell, loss)},
        {"final accuracy", offsetof(dsgd_cell, accuracy)},
    };
    section(html, "results", "Results");
    write_answers(html, r);
    write_quantities(html, r, "Means over seeds", quantities,
                     sizeof quantities / sizeof quantities[0]);
    free(throughput);
    free(times);
    fputs("<p>±: half width of the 95 % confidence interval over seeds. Ratios are geometric means "
          "with this interval, paired by seed: all algorithms meet the same slow "
          "workers.</p>\n",
          html);
    const dsgd_status status = dsgd_report_target(r, target, html, error);
    fputs("</section>\n", html);
    return status;
}

static void write_time(FILE *html, const dsgd_report *r)
{
    char *const cost = dsgd_xprintf("cost (%s)", dsgd_results_currency(&r->runs));
    const quantity quantities[] = {
        {"computing (%)", offsetof(dsgd_cell, compute)},
        {"waiting (%)", offsetof(dsgd_cell, wait)},
        {"exchanging (%)", offsetof(dsgd_cell, exchange)},
        {"sent per worker (MB)", offsetof(dsgd_cell, megabytes)},
        {"most sent by one (MB)", offsetof(dsgd_cell, most_megabytes)},
        {"energy (kJ)", offsetof(dsgd_cell, energy_kj)},
        {cost, offsetof(dsgd_cell, cost)},
    };
    section(html, "time", "Where time went");
    write_quantities(html, r, "Shares of a worker&#39;s time, what it sent, and what all GPUs took",
                     quantities, sizeof quantities / sizeof quantities[0]);
    free(cost);
    fputs("<p>What travels while a worker computes counts as computing. Energy is that of the "
          "workers' "
          "GPUs: without processors, servers, network and cooling.</p>\n</section>\n",
          html);
}

static void write_warnings(FILE *html, const dsgd_report *r)
{
    size_t n = 0;
    char **const warnings = dsgd_report_warnings(r, &n);
    section(html, "warnings", "Warnings");
    fputs(n == 0 ? "<p>None.</p>\n" : "<ul class=\"warnings\">\n", html);
    for (size_t i = 0; i < n; i++) {
        fputs("<li>", html);
        put(html, "%s", warnings[i]);
        fputs("</li>\n", html);
        free(warnings[i]);
    }
    fputs(n == 0 ? "</section>\n" : "</ul>\n</section>\n", html);
    free(warnings);
}

static void write_figures(FILE *html, const dsgd_report *r)
{
    dsgd_error error = {""};
    size_t n = 0;
    section(html, "figures", "Figures");
    if (dsgd_report_figures(r, html, &n, &error) != DSGD_OK) {
        fputs("<p>Figures could not be drawn: ", html);
        put(html, "%s", error.text);
        fputs("</p>\n", html);
    }
    fputs(n == 0 ? "<p>There is none.</p>\n</section>\n" : "</section>\n", html);
}

static void write_again(FILE *html, const dsgd_report *r)
{
    const char *const command = json_string_value(json_object_get(r->manifest, "command"));
    const char *const version = json_string_value(json_object_get(r->manifest, "dsgd"));
    section(html, "again", "How to run it again");
    fputs("<pre><code>", html);
    char *report = dsgd_xstrdup("dsgd report");
    dsgd_append_word(&report, r->folder);
    put(html, "%s\n%s", command == NULL ? "dsgd run" : command, report);
    free(report);
    fputs("</code></pre>\n<p>Results in <code>", html);
    put(html, "%s", r->folder);
    fputs(
        "</code>, all parameters in its <code>manifest.json</code>. The same experiment gives the "
        "same bytes on one machine and set of libraries.</p>\n<dl>\n<dt>dsgd</dt>\n<dd>",
        html);
    put(html, "%s", version == NULL ? "unknown" : version);
    fputs("</dd>\n", html);
    write_fact(html, "Libraries", json_object_get(r->manifest, "libraries"));
    write_fact(html, "Files of data", json_object_get(r->manifest, "files"));
    fputs("</dl>\n</section>\n", html);
}

static dsgd_status write_page(FILE *html, const dsgd_report *r, const char *target,
                              dsgd_error *error)
{
    const char *const name = json_string_value(json_object_get(r->manifest, "experiment"));
    fputs("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n",
          html);
    fprintf(html, "%s<title>", head);
    put(html, "%s: report", name == NULL ? r->folder : name);
    fputs("</title>\n</head>\n<body>\n<header>\n<h1>", html);
    put(html, "%s", name == NULL ? r->folder : name);
    fputs("</h1>\n<nav aria-label=\"Sections\">\n<ul>\n<li><a href=\"#set-up\">Set-up</a></li>\n"
          "<li><a href=\"#warnings\">Warnings</a></li>\n"
          "<li><a href=\"#results\">Results</a></li>\n"
          "<li><a href=\"#figures\">Figures</a></li>\n"
          "<li><a href=\"#time\">Where time went</a></li>\n"
          "<li><a href=\"#again\">How to run it again</a></li>\n"
          "</ul>\n</nav>\n</header>\n<main>\n",
          html);
    write_set_up(html, r);
    write_warnings(html, r);
    const dsgd_status status = write_results(html, r, target, error);
    write_figures(html, r);
    write_time(html, r);
    write_again(html, r);
    fputs("</main>\n</body>\n</html>\n", html);
    return status;
}

typedef struct arguments {
    dsgd_operands words;
    const char *output, *target;
} arguments;

static dsgd_status report(int count, char **words, dsgd_error *error)
{
    static const dsgd_argument options[] = {
        DSGD_ARGUMENT(TEXT, output, "output", 'o', "FILE", "The page (DIR/report.html)"),
        DSGD_ARGUMENT(
            TEXT, target, "target", 't', "WHAT=NUMBER",
            "Adds what it takes to reach accuracy=NUMBER or loss=NUMBER (the accuracy that "
            "runs go on until)"),
        {.name = NULL},
    };
    static const dsgd_syntax syntax = {
        "DIR",
        "Writes the results of a folder as one page of HTML: question and set-up, warnings, tables "
        "with intervals, figures, where time went, and how to run it again.",
        1,
        1,
        "report: give the folder of an experiment's results",
        options};
    arguments a = {.output = NULL};
    dsgd_status status = dsgd_parse(count, words, &syntax, &a, error);
    if (status != DSGD_OK)
        return status;
    dsgd_report r;
    status = dsgd_report_open(a.words.v[0], &r, error);
    char *const path =
        a.output == NULL ? dsgd_xprintf("%s/report.html", a.words.v[0]) : dsgd_xstrdup(a.output);
    dsgd_whole_file file;
    if (status == DSGD_OK && dsgd_whole_open(&file, error, "%s", path) == NULL)
        status = DSGD_EIO;
    else if (status == DSGD_OK) {
        status = write_page(file.stream, &r, a.target, error);
        if (status == DSGD_OK)
            status = dsgd_whole_close(&file, error);
        else
            dsgd_whole_drop(&file);
    }
    if (status == DSGD_OK)
        printf("report       %s\n", path);
    free(path);
    dsgd_report_close(&r);
    return status;
}

const dsgd_command dsgd_command_report = {
    .name = "report",
    .usage = "DIR",
    .summary = "writes the results of a folder as one page of HTML",
    .run = report,
};
