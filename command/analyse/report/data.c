/**
 * @file data.c
 * Groups the rows of runs.csv, and pairs them by seed with the first algorithm.
 */
#include "command/analyse/report/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/analyse/summary.h"
#include "command/run/results.h"

const char *dsgd_report_field(const dsgd_report *report, size_t row, const char *column)
{
    const size_t k = dsgd_csv_column(&report->runs, column);
    return k == report->runs.n_columns ? "" : dsgd_csv_field(&report->runs, row, k);
}

static double number_at(const dsgd_report *report, size_t row, const char *column)
{
    return dsgd_csv_value(&report->runs, row, dsgd_csv_column(&report->runs, column));
}

const char *dsgd_report_currency(const dsgd_report *report)
{
    for (size_t row = 0; row < report->runs.n_rows; row++)
        if (*dsgd_report_field(report, row, "currency") != '\0')
            return dsgd_report_field(report, row, "currency");
    return "";
}

static bool is_usable(const dsgd_report *report, size_t row)
{
    return dsgd_status_has_results(dsgd_report_field(report, row, "status"));
}

const json_t *dsgd_report_run(const dsgd_report *report, size_t row)
{
    const double run = number_at(report, row, "run");
    const json_t *const all = json_object_get(report->manifest, "runs");
    return run >= 1 && run <= (double)report->n_planned ? json_array_get(all, (size_t)run - 1)
                                                        : NULL;
}

/** What a row has in common with the runs of other seeds, and of other algorithms. */
static char *key_of(const dsgd_report *report, size_t row, bool with_algorithm)
{
    static const char *const columns[] = {"workers", "platform", "workload", "network"};
    char *key = dsgd_xstrdup(with_algorithm ? dsgd_report_field(report, row, "algorithm") : "");
    for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++)
        dsgd_append(&key, "\x1f%s", dsgd_report_field(report, row, columns[k]));
    for (size_t k = report->first_swept; k < report->runs.n_columns; k++) {
        const char *const name = report->runs.fields[k];
        if (strcmp(name, "seed") != 0 && (with_algorithm || !dsgd_is_of_algorithms(name)))
            dsgd_append(&key, "\x1f%s", dsgd_csv_field(&report->runs, row, k));
    }
    return key;
}

/** Whether a row counts for the figures of a group. */
static bool is_of_group(const dsgd_report *report, const dsgd_cell *group, size_t row)
{
    return report->group_of[row] == (size_t)(group - report->groups) && is_usable(report, row);
}

/** Of a column times @p factor, over the runs of a group. */
static dsgd_interval interval_of(const dsgd_report *report, const dsgd_cell *group,
                                 const char *column, double factor)
{
    double *const x = dsgd_xcalloc(report->runs.n_rows + 1, sizeof *x);
    dsgd_interval of = {NAN, NAN, 0};
    for (size_t row = 0; row < report->runs.n_rows; row++) {
        const double value = number_at(report, row, column);
        if (isfinite(value) && is_of_group(report, group, row))
            x[of.n++] = factor * value;
    }
    dsgd_mean(x, of.n, &of.mean, &of.ci);
    free(x);
    return of;
}

/** Row of a group with a seed, or n_rows. */
static size_t row_with_seed(const dsgd_report *report, const dsgd_cell *group, const char *seed)
{
    size_t row = 0;
    while (row < report->runs.n_rows &&
           (strcmp(dsgd_report_field(report, row, "seed"), seed) != 0 ||
            !is_of_group(report, group, row)))
        row++;
    return row;
}

static void pair_with(const dsgd_report *report, dsgd_cell *group, const dsgd_cell *baseline)
{
    static const char column[] = "throughput_samples_per_s";
    double *const x = dsgd_xcalloc(report->runs.n_rows + 1, sizeof *x);
    size_t n = 0;
    for (size_t row = 0; row < report->runs.n_rows; row++) {
        if (!is_of_group(report, group, row))
            continue;
        const size_t other =
            row_with_seed(report, baseline, dsgd_report_field(report, row, "seed"));
        if (other == report->runs.n_rows)
            continue;
        const double ratio = number_at(report, row, column) / number_at(report, other, column);
        if (isfinite(ratio))
            x[n++] = ratio;
    }
    group->speed_up.n = n;
    dsgd_mean(x, n, &group->speed_up.mean, &group->speed_up.ci);
    free(x);
}

static void measure(const dsgd_report *report, dsgd_cell *g)
{
    const double workers = number_at(report, g->first, "workers");
    g->speed = interval_of(report, g, "throughput_samples_per_s", 1);
    g->step = interval_of(report, g, "step_mean_s", 1);
    g->loss = interval_of(report, g, "final_loss", 1);
    g->accuracy = interval_of(report, g, "final_accuracy", 1);
    g->compute = interval_of(report, g, "compute_share", 100);
    g->wait = interval_of(report, g, "wait_share", 100);
    g->exchange = interval_of(report, g, "comm_share", 100);
    g->megabytes = interval_of(report, g, "sent_mean_bytes", 1e-6);
    if (g->megabytes.n == 0) /* results of before there was that column */
        g->megabytes = interval_of(report, g, "bytes", 1e-6 / workers);
    g->most_megabytes = interval_of(report, g, "sent_max_bytes", 1e-6);
    if (!(g->most_megabytes.mean > (1 + 1e-3) * g->megabytes.mean))
        g->most_megabytes = (dsgd_interval){NAN, NAN, 0};
    g->energy_kj = interval_of(report, g, "energy_j", 1e-3);
    g->cost = interval_of(report, g, "cost", 1);
    g->n = g->speed.n;
}

static void find_groups(dsgd_report *report)
{
    report->group_of = dsgd_xcalloc(report->runs.n_rows, sizeof *report->group_of);
    for (size_t row = 0; row < report->runs.n_rows; row++) {
        char *const key = key_of(report, row, true);
        size_t k = 0;
        while (k < report->n_groups && strcmp(report->groups[k].key, key) != 0)
            k++;
        report->group_of[row] = k;
        if (k < report->n_groups) {
            free(key);
            continue;
        }
        report->groups =
            dsgd_xrealloc(report->groups, report->n_groups + 1, sizeof *report->groups);
        report->groups[report->n_groups++] =
            (dsgd_cell){.first = row, .key = key, .place = key_of(report, row, false)};
    }
    for (size_t k = 0; k < report->n_groups; k++) {
        dsgd_cell *const g = &report->groups[k];
        measure(report, g);
        size_t first = 0;
        while (strcmp(report->groups[first].place, g->place) != 0)
            first++;
        g->is_baseline = first == k;
        pair_with(report, g, &report->groups[first]);
    }
}

char *dsgd_report_place(const dsgd_report *report, const dsgd_cell *group)
{
    char *name = dsgd_xprintf("%s workers", dsgd_report_field(report, group->first, "workers"));
    static const char *const columns[] = {"platform", "workload", "network"};
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
        for (size_t k = 0; k < report->n_groups; k++) { /* named where several are compared */
            const char *const mine = dsgd_report_field(report, group->first, columns[c]);
            if (strcmp(dsgd_report_field(report, report->groups[k].first, columns[c]), mine) != 0) {
                dsgd_append(&name, ", %s", mine);
                break;
            }
        }
    for (size_t k = report->first_swept; k < report->runs.n_columns; k++) {
        const char *const column = report->runs.fields[k];
        const char *const value = dsgd_csv_field(&report->runs, group->first, k);
        if (*value == '\0' || dsgd_is_of_algorithms(column) || strcmp(column, "seed") == 0)
            continue;
        char *const key = dsgd_swept_name(column);
        char *const shown = dsgd_swept_value(column, value);
        dsgd_append(&name, ", %s %s", key, shown);
        free(key);
        free(shown);
    }
    return name;
}

dsgd_status dsgd_report_open(const char *folder, dsgd_report *report, dsgd_error *error)
{
    *report = (dsgd_report){.folder = folder};
    dsgd_status status = dsgd_csv_read(&report->runs, error, "%s/runs.csv", folder);
    if (status == DSGD_OK && report->runs.n_rows == 0)
        return dsgd_fail(error, DSGD_EIO, "%s/runs.csv: there is no run in it", folder);
    static const char *const needed[] = {"run", "algorithm", "workers", "seed", "status"};
    for (size_t k = 0; status == DSGD_OK && k < sizeof needed / sizeof needed[0]; k++) {
        size_t column = 0;
        status = dsgd_csv_need(&report->runs, needed[k], &column, error);
    }
    if (status != DSGD_OK)
        return status;
    char *const path = dsgd_xprintf("%s/manifest.json", folder);
    json_error_t why;
    report->manifest = json_load_file(path, 0, &why);
    if (report->manifest == NULL)
        status = dsgd_fail(error, DSGD_EIO, "%s: line %d: %s", path, why.line, why.text);
    free(path);
    report->n_planned = json_array_size(json_object_get(report->manifest, "runs"));
    report->first_swept = dsgd_csv_column(&report->runs, "wall_s");
    report->first_swept += report->first_swept < report->runs.n_columns;
    if (status == DSGD_OK)
        find_groups(report);
    return status;
}

void dsgd_report_close(dsgd_report *report)
{
    for (size_t k = 0; k < report->n_groups; k++) {
        free(report->groups[k].key);
        free(report->groups[k].place);
    }
    free(report->groups);
    free(report->group_of);
    json_decref(report->manifest);
    dsgd_csv_close(&report->runs);
    *report = (dsgd_report){.folder = NULL};
}
