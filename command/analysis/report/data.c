/**
 * @file data.c
 * What the sections of a report read.
 */
#include "command/analysis/report/data.h"

#include <stdlib.h>
#include <string.h>

const char *dsgd_report_field(const dsgd_report *report, size_t row, const char *column)
{
    const size_t k = dsgd_csv_column(&report->runs, column);
    return k == report->runs.n_columns ? "" : dsgd_csv_field(&report->runs, row, k);
}

const json_t *dsgd_report_run(const dsgd_report *report, size_t row)
{
    const double run = dsgd_csv_value(&report->runs, row, dsgd_csv_column(&report->runs, "run"));
    const json_t *const all = json_object_get(report->manifest, "runs");
    return run >= 1 && run <= (double)report->n_planned ? json_array_get(all, (size_t)run - 1)
                                                        : NULL;
}

dsgd_ratio dsgd_report_speedup(const dsgd_report *report, const dsgd_frame_point *p)
{
    return dsgd_frame_ratio(&report->frame, p, p->baseline == p ? NULL : p->baseline,
                            report->throughput);
}

/** Whether the column has another value in the first run of a point. */
static bool is_compared(const dsgd_report *report, const char *column, const char *value)
{
    for (size_t k = 0; k < report->frame.n_points; k++)
        if (strcmp(dsgd_report_field(report, report->frame.points[k].rows[0], column), value) != 0)
            return true;
    return false;
}

char *dsgd_report_place(const dsgd_report *report, const dsgd_frame_point *p)
{
    static const char *const columns[] = {"platform", "workload", "network"};
    char *name = dsgd_xprintf("%s workers", dsgd_report_field(report, p->rows[0], "workers"));
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        const char *const mine = dsgd_report_field(report, p->rows[0], columns[c]);
        if (is_compared(report, columns[c], mine))
            dsgd_append(&name, ", %s", mine);
    }
    for (size_t k = 0; k < report->frame.n_keys; k++) {
        char *const text = dsgd_frame_text(&report->frame, p, k);
        if (report->frame.keys[k] >= report->frame.first_swept && *text != '\0' &&
            dsgd_frame_part(&report->frame, k) != DSGD_SERIES)
            dsgd_append(&name, ", %s", text);
        free(text);
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
        report->throughput = dsgd_frame_numbers(&report->frame, "throughput_samples_per_s");
    return status;
}

void dsgd_report_close(dsgd_report *report)
{
    dsgd_frame_close(&report->frame);
    free(report->throughput);
    json_decref(report->manifest);
    dsgd_csv_close(&report->runs);
    *report = (dsgd_report){.folder = NULL};
}
