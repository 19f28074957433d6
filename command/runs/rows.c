/**
 * @file rows.c
 * Formats the settings and results of a run for tables.
 */
#include "command/runs/rows.h"

#include <inttypes.h>

#include "command/runs/swept.h"

void dsgd_row_plan(dsgd_columns *t, const dsgd_experiment *experiment, size_t i)
{
    const dsgd_planned_run *const run = &experiment->runs[i];
    dsgd_columns_row(t);
    dsgd_columns_put(t, "run", "%zu", i + 1);
    dsgd_columns_put(t, "algorithm", "%s", run->label);
    dsgd_columns_put(t, "workers", "%d", run->config.workers);
    dsgd_columns_put(t, "seed", "%" PRIu64, run->config.seed);
}

bool dsgd_row_shows(const dsgd_experiment *experiment, size_t k)
{
    const char *const column = experiment->columns[k];
    return strcmp(column, "seed") != 0 && strcmp(column, "workers") != 0;
}

const char *dsgd_row_value(const dsgd_experiment *experiment, size_t i, size_t k)
{
    const char *const value = experiment->runs[i].swept[k];
    return value == NULL ? "" : dsgd_swept_value(experiment->columns[k], value);
}

char *dsgd_row_swept(const dsgd_experiment *experiment, size_t i)
{
    char *text = dsgd_xstrdup("");
    for (size_t k = 0; k < experiment->n_columns; k++) {
        if (experiment->runs[i].swept[k] == NULL || !dsgd_row_shows(experiment, k))
            continue;
        dsgd_append(&text, *text == '\0' ? "" : " ");
        if (experiment->n_columns > 1)
            dsgd_append(&text, "%s=", dsgd_swept_name(experiment->columns[k]));
        dsgd_append(&text, "%s", dsgd_row_value(experiment, i, k));
    }
    return text;
}

const char *dsgd_row_result(const dsgd_results *results, size_t i, const char *name)
{
    const char *const field = dsgd_results_field(results, i, name);
    double x = 0;
    if (field == NULL || *field == '\0')
        return "-";
    if (strcmp(name, "wall_s") != 0 && dsgd_parse_number(field, NULL, &x))
        return dsgd_xprintf(fabs(x) >= 1000 && fabs(x) < 1e9 ? "%.0f" : "%#.4g", x);
    return dsgd_xstrdup(field);
}
