/**
 * @file set_up.c
 * Writes the last two sections of a report. One section describes the experiment with its cluster,
 * workload and algorithms. The other section explains how to reproduce the experiment.
 */
#include "base/csv.h"
#include "base/option.h"
#include "command/analysis/report/data.h"
#include "command/runs/swept.h"

/**
 * Returns the distinct values of a column as a text such as "a, b and c". The values have the order
 * of their first rows.
 */
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
    dsgd_html(html,
              "<p>How fast do %s train on %s workers of the platform %s, with the workload %s",
              values_of(r, "algorithm"), values_of(r, "workers"), values_of(r, "platform"),
              values_of(r, "workload"));
    for (size_t k = r->frame.first_swept; k < r->runs.n_columns; k++)
        dsgd_html(html, k == r->frame.first_swept ? ", for %s %s" : "; for %s %s",
                  dsgd_swept_name(r->runs.fields[k]), values_of(r, r->runs.fields[k]));
    fputs("?</p>\n", html);
}

/**
 * Writes a value of the manifest. Writes a word as a text and other values as JSON. Writes nothing
 * if the value is missing.
 */
static void write_fact(FILE *html, const char *name, const json_t *value)
{
    const bool is_list = json_is_array(value) || json_is_object(value);
    const bool is_empty = is_list && json_array_size(value) + json_object_size(value) == 0;
    if (value == NULL || json_is_null(value))
        return;
    dsgd_html(html, "<dt>%s</dt>\n<dd>%s</dd>\n", name,
              is_empty                ? "none"
              : json_is_string(value) ? json_string_value(value)
                                      : json_dumps(value, JSON_ENCODE_ANY));
}

/** Writes the options of each algorithm. */
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
        write_fact(html, "Platform", dsgd_run_option(run, "platform", "summary"));
        write_fact(html, "Workload", dsgd_run_option(run, "workload", "summary"));
        if (!json_is_false(json_object_get(run, "inherent")))
            write_fact(html, "Imbalance of the workload",
                       dsgd_run_option(run, "workload", "inherent"));
        write_fact(html, "Imbalance added", json_object_get(run, "imbalance"));
        write_algorithms(html, r);
        write_fact(html, "End of a run (until)", json_object_get(run, "until"));
        dsgd_html(html, "<dt>Seeds</dt>\n<dd>%s</dd>\n", values_of(r, "seed"));
        write_fact(html, "Network", json_object_get(run, "network"));
        write_fact(html, "Exchange", json_object_get(run, "exchange"));
        write_fact(html, "Training (learn)", json_object_get(run, "learn"));
    }
    fputs("</dl>\n<p>For a swept option, this is the value in the first run.</p>\n</details>\n"
          "</section>\n",
          html);
}

void dsgd_report_again(const dsgd_report *r, FILE *html)
{
    const char *const command = json_string_value(json_object_get(r->manifest, "command"));
    const char *const version = json_string_value(json_object_get(r->manifest, "dsgd"));
    dsgd_html_section(html, "again", "How to reproduce it");
    char *report = dsgd_xstrdup("dsgd report");
    dsgd_append_word(&report, r->folder);
    dsgd_html(
        html,
        "<pre tabindex=\"0\" role=\"region\" "
        "aria-label=\"Commands\"><code>%s\n%s</code></pre>\n<p>The results are in <code>%s</code>, "
        "all parameters in its "
        "<code>manifest.json</code>. On the same machine and with the same libraries, the same "
        "experiment gives the same bytes.</p>\n<dl>\n<dt>dsgd</dt>\n<dd>%s</dd>\n",
        command == NULL ? "dsgd run" : command, report, r->folder,
        version == NULL ? "unknown" : version);
    write_fact(html, "Libraries", json_object_get(r->manifest, "libraries"));
    write_fact(html, "Data files", json_object_get(r->manifest, "files"));
    fputs("</dl>\n</section>\n", html);
}
