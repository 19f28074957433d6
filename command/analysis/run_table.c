/**
 * @file run_table.c
 * Finds the rows of each run in a table by the run's number.
 */
#include "command/analysis/run_table.h"

#include "base/file.h"

dsgd_status dsgd_runs_read(dsgd_csv *runs, const char *folder, dsgd_error *error)
{
    if (!dsgd_can_read("%s/runs.csv", folder))
        return dsgd_fail(error, DSGD_EIO,
                         "%s: not a results folder (it has no runs.csv); `dsgd run EXPERIMENT.yaml "
                         "-o %s` makes one",
                         folder, folder);
    return dsgd_csv_read(runs, error, "%s/runs.csv", folder);
}

/**
 * Returns an array of *n numbers, one for each run number, starting at 0. Each number is 1 + the
 * index of the run's row in runs.csv, or 0 if the run has no row.
 */
static size_t *rows_of_runs(const dsgd_csv *runs, size_t *n)
{
    const size_t column = dsgd_csv_column(runs, "run");
    size_t *row_of = NULL;
    *n = 0;
    for (size_t row = 0; row < runs->n_rows; row++) {
        const double run = dsgd_csv_value(runs, row, column);
        if (!(run >= 0 && run < 1e7))
            continue;
        *n = (size_t)run >= *n ? (size_t)run + 1 : *n;
        row_of = dsgd_keep_more(row_of, *n, sizeof *row_of);
        row_of[(size_t)run] = row + 1;
    }
    return row_of;
}

dsgd_status dsgd_run_table_open(dsgd_run_table *t, const dsgd_csv *runs, const char *folder,
                                const char *name, dsgd_error *error)
{
    size_t n_runs = 0;
    const dsgd_status status = dsgd_csv_read(&t->csv, error, "%s/%s", folder, name);
    if (status != DSGD_OK)
        t->csv = (dsgd_csv){.n_rows = 0};
    const size_t *const row_of = rows_of_runs(runs, &n_runs);
    const size_t run = dsgd_csv_column(&t->csv, "run");
    t->first = dsgd_keep(2 * runs->n_rows + 1, sizeof *t->first);
    t->n = t->first + runs->n_rows;
    t->next = dsgd_keep(t->csv.n_rows + 1, sizeof *t->next);
    for (size_t row = 0; row < runs->n_rows; row++)
        t->first[row] = SIZE_MAX;
    for (size_t k = t->csv.n_rows; k-- > 0;) {
        const double x = dsgd_csv_value(&t->csv, k, run);
        if (!(x >= 0 && x < (double)n_runs) || row_of[(size_t)x] == 0)
            continue;
        const size_t row = row_of[(size_t)x] - 1;
        t->next[k] = t->first[row];
        t->first[row] = k;
        t->n[row]++;
    }
    return error == NULL ? DSGD_OK : status;
}

void dsgd_run_table_ends(const dsgd_run_table *t, size_t row, const char *column, double *first,
                         double *last)
{
    const size_t c = dsgd_csv_column(&t->csv, column);
    *first = *last = NAN;
    for (size_t k = t->first[row]; k != SIZE_MAX; k = t->next[k]) {
        *last = dsgd_csv_value(&t->csv, k, c);
        *first = isnan(*first) ? *last : *first;
    }
}

const json_t *dsgd_run_of(const json_t *manifest, const dsgd_csv *runs, size_t row)
{
    const double run = dsgd_csv_value(runs, row, dsgd_csv_column(runs, "run"));
    const json_t *const all = json_object_get(manifest, "runs");
    return run >= 1 && run <= (double)json_array_size(all) ? json_array_get(all, (size_t)run - 1)
                                                           : NULL;
}

const json_t *dsgd_run_option(const json_t *run, const char *part, const char *key)
{
    return json_object_get(json_object_get(run, part), key);
}

const char *dsgd_sample_unit(const json_t *manifest, const dsgd_csv *runs)
{
    const char *unit = NULL;
    for (size_t row = 0; row < runs->n_rows; row++) {
        const char *const text = json_string_value(
            dsgd_run_option(dsgd_run_of(manifest, runs, row), "workload", "unit"));
        if (text == NULL || (unit != NULL && strcmp(text, unit) != 0))
            return "samples";
        unit = text;
    }
    return unit == NULL ? "samples" : unit;
}

const char *dsgd_field_of(const dsgd_csv *csv, size_t row, const char *column)
{
    const size_t k = dsgd_csv_column(csv, column);
    return k == csv->n_columns ? "" : dsgd_csv_field(csv, row, k);
}
