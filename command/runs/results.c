/**
 * @file results.c
 * Parts: written by runs, read into memory, joined into files.
 */
#include "command/runs/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"

/* --- in the process of a run ------------------------------------------------------------------ */

/** Line 1: why it did not end well, else empty. Line 2, unless it failed: what runs.csv lacks. */
static void print_note(FILE *stream, const dsgd_run_result *r, int workers)
{
    const bool failed = r->outcome == DSGD_RUN_FAILED || r->outcome == DSGD_RUN_TIMEOUT;
    fprintf(stream, "%s\n", r->outcome == DSGD_RUN_OK ? "" : r->why.text);
    if (failed)
        return;
    fprintf(stream, "simulated %.4g s; compute alone %.4g s", r->virtual_s, r->ideal_s);
    if (!isnan(r->link_s))
        fprintf(stream, ", links alone %.4g s", r->link_s);
    fputc(';', stream);
    fprintf(stream, " staleness %.2f (at most %g), lag %.2f (%g), of gradients %.2f (%g);",
            r->staleness_mean, r->staleness_max, r->lag_mean, r->lag_max,
            r->gradient_staleness_mean, r->gradient_staleness_max);
    if (!isnan(r->partial_active_mean))
        fprintf(stream,
                " %.1f fresh contributions per partial collective, %.6g sums missed, %.6g used "
                "again;",
                r->partial_active_mean, r->partial_skipped, r->partial_duplicates);
    double least = r->worker_steps[0], most = r->worker_steps[0];
    for (int w = 1; w < workers; w++) {
        least = fmin(least, r->worker_steps[w]);
        most = fmax(most, r->worker_steps[w]);
    }
    if (most > least + 1) /* workers go on by themselves; else only where in a step the run ended */
        fprintf(stream, " %g to %g steps per worker;", least, most);
    fprintf(stream, " wall: timing %.1f s, numerics %.1f s (%s), peak values %.0f MB\n",
            r->timing_wall_s, r->numerics.busy_wall_s, r->device,
            (double)r->numerics.peak_bytes / 1e6);
}

dsgd_status dsgd_results_write(const char *folder, const dsgd_experiment *experiment, size_t i,
                               const dsgd_run_result *result, dsgd_error *error)
{
    const dsgd_planned_run *const run = &experiment->runs[i];
    char *const swept = dsgd_swept_cells(run->swept, experiment->n_columns);
    const dsgd_run_key key = {i + 1, run->label, run->config.workers, run->config.seed, swept};
    char *text = NULL;
    size_t n = 0;
    size_t ends[DSGD_PART_SECTIONS];
    FILE *const stream = dsgd_text_open(&text, &n);
    for (int k = 0; k < DSGD_PART_SECTIONS; k++) {
        if (k < DSGD_PART_TABLES)
            dsgd_run_rows(stream, (size_t)k, &key, run, result);
        else
            print_note(stream, result, run->config.workers);
        dsgd_text_flush(stream);
        ends[k] = n;
    }
    dsgd_text_close(stream, &text);
    const dsgd_status status = dsgd_part_write(folder, i, text, ends, error);
    return status;
}

/* --- rows in memory --------------------------------------------------------------------------- */

/** What is known of a run. */
struct dsgd_result_row {
    dsgd_run_state state;
    dsgd_csv cells; /* its row, as the header of a table without rows */
    char *why, *figures; /* lines of its note; NULL without a row */
};

dsgd_results *dsgd_results_new(const char *folder, size_t n_runs, const char *const *columns,
                               size_t n_columns)
{
    dsgd_results *const results = dsgd_keep(1, sizeof *results);
    *results = (dsgd_results){.folder = folder,
                              .n_runs = n_runs,
                              .n_columns = n_columns,
                              .columns = columns,
                              .rows = dsgd_keep(n_runs + 1, sizeof *results->rows)};
    return results;
}

static void clear(dsgd_results *results, size_t i)
{
    struct dsgd_result_row *const row = &results->rows[i];
    *row = (struct dsgd_result_row){.state = DSGD_RUN_ABSENT};
}

dsgd_status dsgd_results_open(const dsgd_results_config *config, dsgd_results **results,
                              dsgd_error *error)
{
    const dsgd_experiment *const experiment = config->experiment;
    json_t *manifest = NULL;
    *results = NULL;
    dsgd_status status = dsgd_manifest_new(config, &manifest, error);
    if (status == DSGD_OK)
        status =
            dsgd_results_take(config->folder, manifest, experiment->n_runs, config->force, error);
    if (status == DSGD_OK)
        *results = dsgd_results_new(config->folder, experiment->n_runs, experiment->columns,
                                    experiment->n_columns);
    return status;
}

/** A section in fresh memory. */
static char *section(const dsgd_part *part, int k)
{
    return dsgd_xprintf("%.*s", (int)part->n_bytes[k], part->sections[k]);
}

static const char *field_of(const dsgd_csv *cells, const char *column)
{
    const size_t k = dsgd_column_place("runs", column);
    return k < cells->n_columns ? cells->fields[k] : NULL;
}

static dsgd_run_state state_of(const dsgd_csv *cells)
{
    const char *const status = field_of(cells, "status");
    return status != NULL && dsgd_status_has_results(status) ? DSGD_RUN_DONE : DSGD_RUN_HAS_ROW;
}

static void parse_row(const dsgd_part *part, dsgd_csv *cells)
{
    char *const text = section(part, DSGD_PART_RUNS);
    dsgd_csv_parse(cells, text, NULL);
}

dsgd_run_state dsgd_part_state(const dsgd_part *part)
{
    dsgd_csv cells;
    if (part->text == NULL)
        return DSGD_RUN_ABSENT;
    parse_row(part, &cells);
    const dsgd_run_state state = state_of(&cells);
    return state;
}

/** Keeps what a part says, or that there is none. */
static void keep(dsgd_results *results, size_t i, const dsgd_part *part)
{
    struct dsgd_result_row *const row = &results->rows[i];
    clear(results, i);
    if (part->text == NULL)
        return;
    parse_row(part, &row->cells);
    row->state = state_of(&row->cells);
    row->why = section(part, DSGD_PART_NOTE);
    row->figures = row->why;
    strsep(&row->figures, "\n");
    if (row->figures != NULL)
        row->figures[strcspn(row->figures, "\n")] = '\0';
}

dsgd_status dsgd_results_read(dsgd_results *results, size_t i, dsgd_error *error)
{
    dsgd_part part;
    const dsgd_status status = dsgd_part_read(results->folder, i, &part, error);
    keep(results, i, &part);
    results->is_joined = false; /* there is something to read */
    return status;
}

void dsgd_results_forget(dsgd_results *results, size_t i)
{
    results->is_joined = results->is_joined && results->rows[i].state == DSGD_RUN_ABSENT;
    dsgd_part_remove(results->folder, i);
    clear(results, i);
}

dsgd_run_state dsgd_results_state(const dsgd_results *results, size_t i)
{
    return results->rows[i].state;
}

const char *dsgd_results_field(const dsgd_results *results, size_t i, const char *column)
{
    return field_of(&results->rows[i].cells, column);
}

double dsgd_results_value(const dsgd_results *results, size_t i, const char *column)
{
    const char *const field = dsgd_results_field(results, i, column);
    double x = NAN;
    return field != NULL && dsgd_parse_number(field, NULL, &x) ? x : NAN;
}

double dsgd_results_throughput(const dsgd_results *results, size_t i)
{
    const double throughput = dsgd_results_value(results, i, "throughput_samples_per_s");
    return results->rows[i].state == DSGD_RUN_DONE && throughput > 0 ? throughput : NAN;
}

const char *dsgd_results_why(const dsgd_results *results, size_t i)
{
    const char *const why = results->rows[i].why;
    return why == NULL ? "" : why;
}

const char *dsgd_results_figures(const dsgd_results *results, size_t i)
{
    const char *const figures = results->rows[i].figures;
    return figures == NULL ? "" : figures;
}

/* --- files ------------------------------------------------------------------------------------ */

/** Reads all parts, and appends their rows to the files. */
static dsgd_status append_parts(dsgd_results *results, const dsgd_whole_file *files,
                                dsgd_error *error)
{
    for (size_t i = 0; i < results->n_runs; i++) {
        dsgd_part part;
        const dsgd_status status = dsgd_part_read(results->folder, i, &part, error);
        keep(results, i, &part);
        for (int k = 0; k < DSGD_PART_TABLES && part.text != NULL; k++)
            fwrite(part.sections[k], 1, part.n_bytes[k], files[k].stream);
        if (status != DSGD_OK)
            return status;
    }
    return DSGD_OK;
}

dsgd_status dsgd_results_join(dsgd_results *results, dsgd_error *error)
{
    dsgd_whole_file files[DSGD_PART_TABLES];
    char *const swept = dsgd_swept_cells(results->columns, results->n_columns);
    size_t n_open = 0;
    for (; n_open < DSGD_PART_TABLES; n_open++) {
        const dsgd_results_file *const file = dsgd_results_files[n_open];
        if (dsgd_whole_open(&files[n_open], error, "%s/%s.csv", results->folder, file->name) ==
            NULL)
            break;
        dsgd_results_header(files[n_open].stream, file, swept);
    }
    dsgd_status status = n_open == DSGD_PART_TABLES ? DSGD_OK : DSGD_EIO;
    if (status == DSGD_OK)
        status = append_parts(results, files, error);
    for (size_t k = 0; k < n_open; k++)
        if (status != DSGD_OK)
            dsgd_whole_drop(&files[k]);
        else
            status = dsgd_whole_close(&files[k], error);
    results->is_joined = status == DSGD_OK;
    return status;
}
