/**
 * @file results.c
 * Writes and reads the parts of runs, and joins them into the results files.
 */
#include "command/runs/results.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"

/* --- parts, written by the process of a run --------------------------------------------------- */

/**
 * Prints two lines. The first line is the reason why the run failed or diverged (empty if the run
 * is ok). The second line is the device that computed the run's gradients (empty if there are no
 * gradients).
 */
static void print_note(FILE *stream, const dsgd_run_result *r)
{
    fprintf(stream, "%s\n%s\n", r->why.text, strcmp(r->device, "off") == 0 ? "" : r->device);
}

dsgd_status dsgd_results_write(const char *folder, const dsgd_experiment *experiment, size_t i,
                               const dsgd_run_result *result, dsgd_error *error)
{
    const dsgd_planned_run *const run = &experiment->runs[i];
    const dsgd_run_key key = {i + 1, run->label, run->config.workers, run->config.seed,
                              dsgd_swept_cells(run->swept, experiment->n_columns)};
    char *text = NULL;
    size_t n = 0, n_bytes[DSGD_PART_SECTIONS];
    FILE *const stream = dsgd_text_open(&text, &n);
    for (int k = 0; k < DSGD_PART_SECTIONS; k++) {
        const size_t begin = n;
        if (k < DSGD_PART_TABLES)
            dsgd_run_rows(stream, (size_t)k, &key, run, result);
        else
            print_note(stream, result);
        dsgd_text_flush(stream);
        n_bytes[k] = n - begin;
    }
    dsgd_text_close(stream, &text);
    return dsgd_part_write(folder, i, text, n_bytes, error);
}

/* --- the folder ------------------------------------------------------------------------------- */

/**
 * Returns a text with the process that holds the lock, such as " (process 123 on host)". Returns ""
 * if the lock file names no process.
 */
static const char *holder_of(int descriptor)
{
    char text[256];
    const ssize_t n = pread(descriptor, text, sizeof text - 1, 0);
    text[n < 0 ? 0 : n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return text[0] == '\0' ? "" : dsgd_xprintf(" (%s)", text);
}

/**
 * Makes the results folder and locks it with flock(). Child processes inherit the lock. The lock is
 * released when the last of these processes exits.
 */
static dsgd_status lock(const char *folder, dsgd_error *error)
{
    DSGD_TRY(dsgd_make_folder(error, "%s", folder));
    DSGD_TRY(dsgd_make_folder_within(folder, ".parts", error));
    const char *const path = dsgd_xprintf("%s/.parts/lock", folder);
    const int descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return dsgd_fail(error, DSGD_EIO, "%s: the file cannot be written: %m", path);
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
        char host[128] = "";
        gethostname(host, sizeof host - 1);
        if (ftruncate(descriptor, 0) == 0) /* The lock also works if the lock file cannot be
                                            * written. */
            dprintf(descriptor, "process %jd on %s\n", (int64_t)getpid(), host);
        return DSGD_OK;
    }
    const dsgd_status status =
        errno == EWOULDBLOCK
            ? dsgd_refuse(error,
                          "%s: another dsgd%s is writing results here; wait until it ends, or give "
                          "another folder with -o",
                          folder, holder_of(descriptor))
            : dsgd_fail(error, DSGD_EIO,
                        "%s: the folder cannot be locked: %m; give a folder on a file system with "
                        "locks, such as a local one, with -o",
                        folder);
    close(descriptor);
    return status;
}

dsgd_status dsgd_results_take(const char *folder, const json_t *manifest, size_t n_runs, bool force,
                              dsgd_error *error)
{
    DSGD_TRY(lock(folder, error));
    json_t *const old = dsgd_manifest_read(folder);
    const char *const are = dsgd_manifest_other(folder, old, manifest);
    if (are != NULL && !force)
        return dsgd_refuse(
            error,
            "%s: the folder has %s; give another folder with -o, or --force to replace the results",
            folder, are);
    for (size_t i = 0; are != NULL && i < n_runs; i++)
        dsgd_part_remove(folder, i);
    return dsgd_manifest_write(folder, manifest, error);
}

char *dsgd_results_folder(const char *folder, const dsgd_experiment *experiment,
                          bool is_sensitivity)
{
    return folder != NULL ? dsgd_xstrdup(folder)
                          : dsgd_xprintf("results/%s%s", experiment->name,
                                         is_sensitivity ? "-sensitivity" : "");
}

/* --- states and rows of runs ------------------------------------------------------------------ */

struct dsgd_result_row {
    size_t i; /* index of the run; SIZE_MAX if no row was read */
    size_t n_fields;
    /* texts in a row: reason why the run failed or diverged, device, and fields of the row */
    char *texts;
};

static void end_row(void *row)
{
    free(((struct dsgd_result_row *)row)->texts);
}

dsgd_results *dsgd_results_new(const char *folder, size_t n_runs, const char *const *columns,
                               size_t n_columns)
{
    dsgd_results *const results = dsgd_keep(1, sizeof *results);
    *results = (dsgd_results){.folder = folder,
                              .n_runs = n_runs,
                              .n_columns = n_columns,
                              .columns = columns,
                              .state = dsgd_keep(n_runs + 1, sizeof *results->state),
                              .row = dsgd_keep(1, sizeof *results->row)};
    results->row->i = SIZE_MAX;
    dsgd_keep_for(end_row, results->row);
    return results;
}

dsgd_status dsgd_results_open(const dsgd_results_config *config, dsgd_results **results,
                              dsgd_error *error)
{
    const dsgd_experiment *const experiment = config->experiment;
    json_t *manifest = NULL;
    *results = NULL;
    void *const mark = dsgd_mark();
    DSGD_TRY(dsgd_manifest_new(config, &manifest, error));
    DSGD_TRY(dsgd_results_take(config->folder, manifest, experiment->n_runs, config->force, error));
    dsgd_drop(mark); /* Free the manifest, because it needs much memory if there are many runs. */
    *results = dsgd_results_new(config->folder, experiment->n_runs, experiment->columns,
                                experiment->n_columns);
    return DSGD_OK;
}

/** Returns section @p k of a part as a text. */
static char *section(const dsgd_part *part, int k)
{
    return memcpy(dsgd_keep(part->n_bytes[k] + 1, 1), part->sections[k], part->n_bytes[k]);
}

/** Returns the row of a part. The row is parsed as the header of a table that has no rows. */
static dsgd_csv row_of(const dsgd_part *part)
{
    dsgd_csv cells;
    dsgd_csv_parse(&cells, section(part, DSGD_PART_RUNS), NULL);
    return cells;
}

static size_t place_of(const char *column)
{
    size_t k = 0;
    DSGD_ASSERT(dsgd_column_find(column, &k) != NULL, "runs.csv has no column %s", column);
    return k;
}

bool dsgd_part_fits(const dsgd_part *part, size_t n_swept)
{
    return row_of(part).n_columns == place_of("wall_s") + 1 + n_swept;
}

dsgd_run_state dsgd_part_state(const dsgd_part *part)
{
    if (part->text == NULL)
        return DSGD_RUN_ABSENT;
    const dsgd_csv cells = row_of(part);
    const size_t k = place_of("status");
    return k < cells.n_columns && dsgd_status_has_results(cells.fields[k]) ? DSGD_RUN_DONE
                                                                           : DSGD_RUN_HAS_ROW;
}

/** Reads a part and stores the state of the part's run. */
static dsgd_status read_part(const dsgd_results *results, size_t i, dsgd_part *part,
                             dsgd_error *error)
{
    const dsgd_status status = dsgd_part_read(results->folder, i, part, error);
    results->state[i] = dsgd_part_state(part);
    return status;
}

/**
 * Reads the row and the note of a run. If the part does not exist, the row and the note are empty.
 */
static dsgd_status read_row(const dsgd_results *results, size_t i, dsgd_error *error)
{
    struct dsgd_result_row *const row = results->row;
    void *const mark = dsgd_mark();
    dsgd_part part;
    dsgd_csv cells = {.n_columns = 0};
    char *note = NULL, *text = NULL;
    size_t n = 0;
    const dsgd_status status = read_part(results, i, &part, error);
    if (part.text != NULL) {
        cells = row_of(&part);
        note = section(&part, DSGD_PART_NOTE);
    }
    const char *const why = note == NULL ? "" : strsep(&note, "\n");
    const char *const device = note == NULL ? "" : strsep(&note, "\n");
    FILE *const stream = dsgd_text_open(&text, &n);
    fprintf(stream, "%s%c%s%c", why, '\0', device, '\0');
    for (size_t k = 0; k < cells.n_columns; k++)
        fprintf(stream, "%s%c", cells.fields[k], '\0');
    dsgd_text_close(stream, &text);
    row->texts = memcpy(dsgd_xrealloc(row->texts, n, 1), text, n);
    row->i = i;
    row->n_fields = cells.n_columns;
    dsgd_drop(mark);
    return status;
}

dsgd_status dsgd_results_read(dsgd_results *results, size_t i, dsgd_error *error)
{
    /* Mark the results files as outdated, because the part may be new. */
    results->is_joined = false;
    return read_row(results, i, error);
}

void dsgd_results_forget(dsgd_results *results, size_t i)
{
    results->is_joined = results->is_joined && results->state[i] == DSGD_RUN_ABSENT;
    dsgd_part_remove(results->folder, i);
    results->state[i] = DSGD_RUN_ABSENT;
}

dsgd_run_state dsgd_results_state(const dsgd_results *results, size_t i)
{
    return results->state[i];
}

/**
 * Returns text number @p k of the row of run @p i. Returns NULL if the run has no row, and "" after
 * the last text.
 */
static const char *text_of(const dsgd_results *results, size_t i, size_t k)
{
    if (results->state[i] == DSGD_RUN_ABSENT)
        return NULL;
    if (results->row->i != i)
        read_row(results, i, NULL);
    if (k >= 2 + results->row->n_fields)
        return "";
    const char *text = results->row->texts;
    for (; k > 0; k--)
        text += strlen(text) + 1;
    return text;
}

const char *dsgd_results_field(const dsgd_results *results, size_t i, const char *column)
{
    return text_of(results, i, 2 + place_of(column));
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
    return results->state[i] == DSGD_RUN_DONE && throughput > 0 ? throughput : NAN;
}

const char *dsgd_results_why(const dsgd_results *results, size_t i)
{
    const char *const why = text_of(results, i, 0);
    return why == NULL ? "" : why;
}

const char *dsgd_results_device(const dsgd_results *results, size_t i)
{
    const char *const device = text_of(results, i, 1);
    return device == NULL ? "" : device;
}

/* --- files ------------------------------------------------------------------------------------ */

dsgd_status dsgd_results_join(dsgd_results *results, dsgd_error *error)
{
    dsgd_whole_file files[DSGD_PART_TABLES];
    const char *const swept = dsgd_swept_cells(results->columns, results->n_columns);
    size_t n_open = 0;
    for (; n_open < DSGD_PART_TABLES; n_open++) {
        const dsgd_results_file *const file = dsgd_results_files[n_open];
        if (dsgd_whole_open(&files[n_open], error, "%s/%s.csv", results->folder, file->name) ==
            NULL)
            break;
        dsgd_results_header(files[n_open].stream, file, swept);
    }
    dsgd_status status = n_open == DSGD_PART_TABLES ? DSGD_OK : DSGD_EIO;
    size_t n_before = 0;
    results->n_rows = 0;
    for (size_t i = 0; i < results->n_runs && status == DSGD_OK; i++) {
        void *const mark = dsgd_mark();
        dsgd_part part;
        n_before += results->state[i] != DSGD_RUN_ABSENT;
        status = read_part(results, i, &part, error);
        for (int k = 0; k < DSGD_PART_TABLES && part.text != NULL; k++)
            fwrite(part.sections[k], 1, part.n_bytes[k], files[k].stream);
        results->n_rows += part.text != NULL;
        dsgd_drop(mark);
    }
    for (size_t k = 0; k < n_open; k++)
        if (status != DSGD_OK)
            dsgd_whole_drop(&files[k]);
        else
            status = dsgd_whole_close(&files[k], error);
    results->is_joined = status == DSGD_OK;
    /* Only missing rows are an error. There may be more rows, from runs that have just ended. */
    if (status == DSGD_OK && results->n_rows < n_before)
        return dsgd_fail(
            error, DSGD_EIO,
            "%s: %zu runs have results, but runs.csv contains %zu; has another program "
            "changed the folder?",
            results->folder, n_before, results->n_rows);
    return status;
}
