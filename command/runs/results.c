/**
 * @file results.c
 * Parts joined into files, and the folder that they are in.
 */
#include "command/runs/results.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "command/runs/columns.h"
#include "command/runs/manifest.h"
#include "command/runs/parts.h"
#include "command/runs/run_rows.h"

char *dsgd_swept_cells(const char *const *texts, size_t n_columns)
{
    char *cells = NULL;
    size_t n_bytes = 0;
    FILE *const stream = dsgd_text_open(&cells, &n_bytes);
    for (size_t k = 0; k < n_columns; k++) {
        fputc(',', stream);
        dsgd_csv_text(stream, texts[k] == NULL ? "" : texts[k]);
    }
    dsgd_text_close(stream, &cells);
    return cells;
}

/* --- parts ------------------------------------------------------------------------------------ */

/** Where workers go on by themselves they make unequal numbers of steps. */
static void print_steps(FILE *stream, const double *steps, int workers)
{
    double least = steps[0];
    double most = steps[0];
    for (int w = 1; w < workers; w++) {
        least = fmin(least, steps[w]);
        most = fmax(most, steps[w]);
    }
    if (most > least + 1) /* else only where in a step the run ended */
        fprintf(stream, " %g to %g steps per worker;", least, most);
}

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
    print_steps(stream, r->worker_steps, workers);
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
    free(text);
    free(swept);
    return status;
}

char *dsgd_results_note(const char *folder, size_t i)
{
    return dsgd_part_section(folder, i, DSGD_PART_NOTE);
}

/** Field @p name of a row of runs.csv, in fresh memory; NULL where the row is too short. */
static char *field_of(const char *row, const char *name)
{
    const size_t k = dsgd_column_place("runs", name);
    dsgd_csv csv; /* the row as the header of a table without rows */
    dsgd_csv_parse(&csv, row, NULL);
    char *const field = k < csv.n_columns ? dsgd_xstrdup(csv.fields[k]) : NULL;
    dsgd_csv_close(&csv);
    return field;
}

char *dsgd_results_field(const char *folder, size_t i, const char *column)
{
    char *const row = dsgd_part_section(folder, i, DSGD_PART_RUNS);
    char *const field = row == NULL ? NULL : field_of(row, column);
    free(row);
    return field;
}

const char *dsgd_results_currency(const dsgd_csv *runs)
{
    const char *const currency = dsgd_csv_first(runs, dsgd_csv_column(runs, "currency"));
    return currency == NULL ? "" : currency;
}

double dsgd_results_throughput(const char *folder, size_t i)
{
    char *const row = dsgd_part_section(folder, i, DSGD_PART_RUNS);
    char *const status = row == NULL ? NULL : field_of(row, "status");
    char *const text = row == NULL ? NULL : field_of(row, "throughput_samples_per_s");
    double throughput = NAN;
    if (status != NULL && dsgd_status_has_results(status) && text != NULL)
        dsgd_parse_number(text, NULL, &throughput);
    free(text);
    free(status);
    free(row);
    return throughput > 0 ? throughput : NAN;
}

dsgd_status dsgd_results_state(const char *folder, size_t i, dsgd_run_state *state,
                               dsgd_error *error)
{
    dsgd_part p;
    *state = DSGD_RUN_ABSENT;
    const dsgd_status status = dsgd_part_read(folder, i, &p, error);
    if (status != DSGD_OK || p.text == NULL)
        return status;
    char *const row =
        dsgd_xprintf("%.*s", (int)p.n_bytes[DSGD_PART_RUNS], p.sections[DSGD_PART_RUNS]);
    char *const outcome = field_of(row, "status");
    const bool done = outcome != NULL && dsgd_status_has_results(outcome);
    *state = done ? DSGD_RUN_DONE : DSGD_RUN_HAS_ROW;
    free(outcome);
    free(row);
    free(p.text);
    return DSGD_OK;
}

void dsgd_results_forget(const char *folder, size_t i)
{
    dsgd_part_remove(folder, i);
}

/** Appends the rows of all parts to the tables. */
static dsgd_status append_parts(const char *folder, size_t n_runs, const dsgd_whole_file *files,
                                size_t *n_rows, dsgd_error *error)
{
    *n_rows = 0;
    for (size_t i = 0; i < n_runs; i++) {
        dsgd_part p;
        const dsgd_status status = dsgd_part_read(folder, i, &p, error);
        if (status != DSGD_OK)
            return status;
        for (int k = 0; k < DSGD_PART_TABLES && p.text != NULL; k++)
            fwrite(p.sections[k], 1, p.n_bytes[k], files[k].stream);
        *n_rows += p.text != NULL;
        free(p.text);
    }
    return DSGD_OK;
}

dsgd_status dsgd_results_join(const char *folder, const dsgd_results_shape *shape, size_t *n_rows,
                              dsgd_error *error)
{
    dsgd_whole_file files[DSGD_PART_TABLES];
    char *const swept = dsgd_swept_cells(shape->columns, shape->n_columns);
    size_t n_open = 0;
    for (; n_open < DSGD_PART_TABLES; n_open++) {
        const dsgd_results_file *const file = dsgd_results_files[n_open];
        if (dsgd_whole_open(&files[n_open], error, "%s/%s.csv", folder, file->name) == NULL)
            break;
        dsgd_results_header(files[n_open].stream, file, swept);
    }
    dsgd_status status = n_open == DSGD_PART_TABLES ? DSGD_OK : DSGD_EIO;
    if (status == DSGD_OK)
        status = append_parts(folder, shape->n_runs, files, n_rows, error);
    for (size_t k = 0; k < n_open; k++)
        if (status != DSGD_OK)
            dsgd_whole_drop(&files[k]);
        else
            status = dsgd_whole_close(&files[k], error);
    free(swept);
    return status;
}

size_t dsgd_results_first_swept(const dsgd_csv *runs)
{
    const size_t n = runs->n_columns;
    const size_t wall = dsgd_csv_column(runs, "wall_s");
    const char *const slash = strrchr(runs->path, '/');
    char *const folder = slash == NULL
                             ? dsgd_xstrdup(".")
                             : dsgd_xprintf("%.*s", (int)(slash - runs->path), runs->path);
    json_t *const manifest = dsgd_manifest_read(folder);
    const json_t *const swept = json_object_get(manifest, "swept");
    const size_t n_swept = json_array_size(swept);
    size_t first = json_is_array(swept) && n_swept <= n ? n - n_swept : n;
    for (size_t k = 0; k < n_swept && first < n; k++) {
        const char *const name = json_string_value(json_array_get(swept, k));
        if (name == NULL || strcmp(runs->fields[n - n_swept + k], name) != 0)
            first = n;
    }
    if (!json_is_array(swept)) /* of an older version */
        first = wall < n ? wall + 1 : n;
    json_decref(manifest);
    free(folder);
    return first;
}

/* --- the folder ------------------------------------------------------------------------------- */

/** Who has the lock: what he wrote into its file, as " (...)"; "" where nobody said so. */
static char *holder_of(int descriptor)
{
    char text[256];
    const ssize_t n = pread(descriptor, text, sizeof text - 1, 0);
    text[n < 0 ? 0 : n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return text[0] == '\0' ? dsgd_xstrdup("") : dsgd_xprintf(" (%s)", text);
}

/** Says whose lock it is now; where that fails, the lock holds all the same. */
static void sign(int descriptor)
{
    char host[128] = "";
    gethostname(host, sizeof host - 1);
    char *const text = dsgd_xprintf("process %ld on %s\n", (long)getpid(), host);
    if (ftruncate(descriptor, 0) == 0 &&
        pwrite(descriptor, text, strlen(text), 0) != (ssize_t)strlen(text))
        errno = 0;
    free(text);
}

static dsgd_status lock(const char *folder, dsgd_error *error)
{
    char *const path = dsgd_xprintf("%s/.parts/lock", folder);
    const int descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    dsgd_status status = DSGD_OK;
    if (descriptor < 0)
        status = dsgd_fail(error, DSGD_EIO, "%s: the file cannot be written: %m", path);
    free(path);
    if (status != DSGD_OK || flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
        if (status == DSGD_OK)
            sign(descriptor);
        return status;
    }
    if (errno == EWOULDBLOCK) {
        char *const holder = holder_of(descriptor);
        status = dsgd_fail(error, DSGD_EUSAGE,
                           "%s: another dsgd%s is writing its results here; wait for its end, or "
                           "take another folder with -o",
                           folder, holder);
        free(holder);
    } else {
        status = dsgd_fail(error, DSGD_EIO,
                           "%s: the folder cannot be locked: %m; take a folder with -o on a file "
                           "system with locks, such as a local one",
                           folder);
    }
    close(descriptor);
    return status;
}

dsgd_status dsgd_results_lock(const char *folder, dsgd_error *error)
{
    dsgd_status status = dsgd_make_folder(error, "%s", folder);
    if (status == DSGD_OK)
        status = dsgd_make_folder(error, "%s/.parts", folder);
    return status == DSGD_OK ? lock(folder, error) : status;
}

dsgd_status dsgd_results_take(const char *folder, const json_t *manifest, size_t n_runs, bool force,
                              dsgd_error *error)
{
    const dsgd_status status = dsgd_results_lock(folder, error);
    if (status != DSGD_OK)
        return status;
    json_t *const old = dsgd_manifest_read(folder);
    const char *const are = dsgd_manifest_other(folder, old, manifest);
    json_decref(old);
    if (are != NULL && !force)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: the folder has %s; take another folder with -o, or --force to "
                         "replace them",
                         folder, are);
    for (size_t i = 0; are != NULL && i < n_runs; i++)
        dsgd_results_forget(folder, i);
    return dsgd_manifest_write(folder, manifest, error);
}

dsgd_status dsgd_results_open(const dsgd_results_config *config, dsgd_error *error)
{
    json_t *manifest = NULL;
    dsgd_status status = dsgd_manifest_new(config, &manifest, error);
    if (status == DSGD_OK)
        status = dsgd_results_take(config->folder, manifest, config->experiment->n_runs,
                                   config->force, error);
    json_decref(manifest);
    return status;
}

char *dsgd_results_folder(const char *folder, const dsgd_experiment *experiment,
                          bool is_sensitivity)
{
    return folder != NULL ? dsgd_xstrdup(folder)
                          : dsgd_xprintf("results/%s%s", experiment->name,
                                         is_sensitivity ? "-sensitivity" : "");
}
