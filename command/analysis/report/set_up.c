/**
 * @file set_up.c
 * The first and the last section of a report: what was asked, of which cluster, workload and
 * algorithms; and how to run it again.
 */
#include "base/csv.h"
#include "base/option.h"
#include "command/analysis/report/data.h"
#include "command/runs/swept.h"

/** The values of a column in the order of their first rows, as "a, b and c". */
static const char *values_of(const dsgd_report *r, const char *column)
{
    const size_t k = dsgd_csv_column(&r->runs, column);
    dsgd_names values = {.n = 0};
    if (k == r->runs.n_columns)
        return "unknown";
    for (size_t row = 0; row < r->runs.n_rows; row++)
        if (*dsgd_csv_field(&r->runs, row, k) != '\0')
            dsgd_names_add(&values, dsgd_csv_field(&r->runs, row, k));
    for (size_t i = 0; i < values.n; i++)
        values.v[i] = dsgd_swept_value(column, values.v[i]);
    return dsgd_listed(values.v, " and ");
}

static void write_question(FILE *html, const dsgd_report *r)
{
    const double *const loss = dsgd_frame_numbers(&r->frame, "final_loss");
    bool learns = false;
    for (size_t row = 0; row < r->runs.n_rows; row++)
        learns = learns || !isnan(loss[row]);
    dsgd_html(html, "<p>How fast do %s train%s, on %s workers of %s with the workload %s",
              values_of(r, "algorithm"), learns ? ", and how well does the model learn" : "",
              values_of(r, "workers"), values_of(r, "platform"), values_of(r, "workload"));
    for (size_t k = r->frame.first_swept; k < r->runs.n_columns; k++)
        dsgd_html(html, k == r->frame.first_swept ? ", over %s (%s)" : "; over %s (%s)",
                  dsgd_swept_name(r->runs.fields[k]), values_of(r, r->runs.fields[k]));
    fputs("?</p>\n", html);
}

/** A value of the manifest: "name (a 1, b 2)" of a mapping. */
static void put_value(FILE *html, const json_t *value)
{
    const char *key = NULL;
    json_t *part = NULL;
    const char *const name = json_string_value(json_object_get(value, "name"));
    if (json_is_string(value))
        dsgd_html(html, "%s", json_string_value(value));
    else if (json_is_number(value))
        fprintf(html, "%.10g", json_number_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", html);
    for (size_t i = 0; i < json_array_size(value); i++) {
        fputs(i == 0 ? "" : "; ", html);
        put_value(html, json_array_get(value, i));
    }
    if (name != NULL)
        dsgd_html(html, "%s", name);
    size_t n = 0;
    json_object_foreach((json_t *)value, key, part)
    {
        const bool is_empty =
            json_is_null(part) || (json_is_array(part) && json_array_size(part) == 0);
        if (strcmp(key, "name") == 0 || is_empty)
            continue;
        const bool braces = json_is_object(part) && json_object_get(part, "name") == NULL;
        dsgd_html(html, "%s%s %s",
                  n++ > 0        ? ", "
                  : name == NULL ? ""
                                 : " (",
                  key, braces ? "{" : "");
        put_value(html, part);
        fputs(braces ? "}" : "", html);
    }
    if (name != NULL && n > 0)
        fputc(')', html);
}

static void write_fact(FILE *html, const char *name, const json_t *value)
{
    if (value == NULL || json_is_null(value))
        return;
    const bool is_empty = (json_is_array(value) || json_is_object(value)) &&
                          json_array_size(value) + json_object_size(value) == 0;
    dsgd_html(html, "<dt>%s</dt>\n<dd>", name);
    put_value(html, value);
    fputs(is_empty ? "none</dd>\n" : "</dd>\n", html);
}

static const char *text_at(const json_t *run, const char *part, const char *key)
{
    const char *const text = json_string_value(dsgd_run_option(run, part, key));
    return text == NULL ? "" : text;
}

/** When a run ends, in words. */
static void write_until(FILE *html, const json_t *run)
{
    static const struct {
        const char *key, *before, *after;
    } bounds[] = {{"steps", "", " steps per worker, on average"},
                  {"seconds", "", " virtual seconds"},
                  {"samples", "", " samples"},
                  {"accuracy", "an accuracy of ", ""}};
    const char *separator = "<dt>Runs end after</dt>\n<dd>";
    for (size_t k = 0; k < sizeof bounds / sizeof bounds[0]; k++) {
        const double bound = json_number_value(dsgd_run_option(run, "until", bounds[k].key));
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
    dsgd_names labels = {.n = 0};
    for (size_t k = 0; k < r->frame.n_points; k++) {
        const size_t row = r->frame.points[k].rows[0], n = labels.n;
        const char *const label = dsgd_field_of(&r->runs, row, "algorithm");
        if (dsgd_names_add(&labels, label) == n)
            write_fact(html, dsgd_xprintf("Algorithm %s", label),
                       json_object_get(dsgd_run_of(r->manifest, &r->runs, row), "algorithm"));
    }
}

void dsgd_report_set_up(const dsgd_report *r, FILE *html)
{
    const json_t *const run = dsgd_run_of(r->manifest, &r->runs, 0);
    dsgd_html_section(html, "set-up", "Set-up");
    write_question(html, r);
    fputs("<details>\n<summary>Platform, workload, algorithms and their options</summary>\n<dl>\n",
          html);
    if (run != NULL) {
        dsgd_html(
            html,
            "<dt>Platform</dt>\n<dd>%s: %s</dd>\n<dt>Workload</dt>\n<dd>%s: %s; %s s per step "
            "without imbalance, %s %s per worker and step</dd>\n",
            dsgd_field_of(&r->runs, 0, "platform"), text_at(run, "platform", "summary"),
            dsgd_field_of(&r->runs, 0, "workload"), text_at(run, "workload", "summary"),
            dsgd_xprintf("%g", json_number_value(dsgd_run_option(run, "workload", "step"))),
            dsgd_xprintf("%g", json_number_value(dsgd_run_option(run, "workload", "samples"))),
            text_at(run, "workload", "unit"));
        if (!json_is_false(json_object_get(run, "inherent")))
            write_fact(html, "Imbalance of the workload",
                       dsgd_run_option(run, "workload", "inherent"));
        write_fact(html, "Imbalance on top", json_object_get(run, "imbalance"));
        write_algorithms(html, r);
        write_until(html, run);
        dsgd_html(html, "<dt>Seeds</dt>\n<dd>%s</dd>\n", values_of(r, "seed"));
        write_fact(html, "Network", json_object_get(run, "network"));
        write_fact(html, "Exchange", json_object_get(run, "exchange"));
        write_fact(html, "Learns", json_object_get(run, "learn"));
    }
    fputs(
        "</dl>\n<p>Where an option is swept, this is its value in the first run.</p>\n</details>\n"
        "</section>\n",
        html);
}

void dsgd_report_again(const dsgd_report *r, FILE *html)
{
    const char *const command = json_string_value(json_object_get(r->manifest, "command"));
    const char *const version = json_string_value(json_object_get(r->manifest, "dsgd"));
    dsgd_html_section(html, "again", "How to run it again");
    char *report = dsgd_xstrdup("dsgd report");
    dsgd_append_word(&report, r->folder);
    dsgd_html(html,
              "<pre tabindex=\"0\" role=\"region\" "
              "aria-label=\"Commands\"><code>%s\n%s</code></pre>\n<p>Results in <code>%s</code>, "
              "all parameters in its "
              "<code>manifest.json</code>. The same experiment gives the same bytes on one machine "
              "and set of libraries.</p>\n<dl>\n<dt>dsgd</dt>\n<dd>%s</dd>\n",
              command == NULL ? "dsgd run" : command, report, r->folder,
              version == NULL ? "unknown" : version);
    write_fact(html, "Libraries", json_object_get(r->manifest, "libraries"));
    write_fact(html, "Files of data", json_object_get(r->manifest, "files"));
    fputs("</dl>\n</section>\n", html);
}
