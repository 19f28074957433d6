/**
 * @file data.c
 * What the tables of a report have of each group of runs.
 */
#include "command/analysis/report/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/runs/swept.h"

const char *dsgd_report_field(const dsgd_report *report, size_t row, const char *column)
{
    const size_t k = dsgd_csv_column(&report->runs, column);
    return k == report->runs.n_columns ? "" : dsgd_csv_field(&report->runs, row, k);
}

static double number_at(const dsgd_report *report, size_t row, const char *column)
{
    return dsgd_csv_value(&report->runs, row, dsgd_csv_column(&report->runs, column));
}

const json_t *dsgd_report_run(const dsgd_report *report, size_t row)
{
    const double run = number_at(report, row, "run");
    const json_t *const all = json_object_get(report->manifest, "runs");
    return run >= 1 && run <= (double)report->n_planned ? json_array_get(all, (size_t)run - 1)
                                                        : NULL;
}

/** Of a column times @p factor, over the runs of a group. */
static dsgd_interval interval_of(const dsgd_report *report, const dsgd_cell *group,
                                 const char *column, double factor)
{
    double *const x = dsgd_frame_numbers(&report->frame, column);
    for (size_t row = 0; row < report->runs.n_rows; row++)
        x[row] *= factor;
    const dsgd_interval of = dsgd_frame_mean(group->of, x);
    free(x);
    return of;
}

bool dsgd_report_is_baseline(const dsgd_cell *group)
{
    return group->of->baseline == group->of;
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
    double *const throughput = dsgd_frame_numbers(&report->frame, "throughput_samples_per_s");
    if (!dsgd_report_is_baseline(g))
        g->speed_up = dsgd_frame_ratio(&report->frame, g->of, g->of->baseline, throughput);
    free(throughput);
}

static void find_groups(dsgd_report *report)
{
    report->n_groups = report->frame.n_points;
    report->groups = dsgd_xcalloc(report->n_groups + 1, sizeof *report->groups);
    for (size_t k = 0; k < report->n_groups; k++) {
        const dsgd_frame_point *const of = &report->frame.points[k];
        report->groups[k] = (dsgd_cell){.of = of, .first = of->rows[0]};
        measure(report, &report->groups[k]);
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
    for (size_t k = report->frame.first_swept; k < report->runs.n_columns; k++) {
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
    static const char *const needed[] = {"run", "workers"};
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
    if (status == DSGD_OK)
        status = dsgd_frame_open(&report->runs, &(dsgd_framing){.by = NULL}, &report->frame, error);
    if (status == DSGD_OK)
        find_groups(report);
    return status;
}

void dsgd_report_close(dsgd_report *report)
{
    dsgd_frame_close(&report->frame);
    free(report->groups);
    json_decref(report->manifest);
    dsgd_csv_close(&report->runs);
    *report = (dsgd_report){.folder = NULL};
}
