/**
 * @file replay.c
 * `dsgd replay`: computes records, with progress, into one curves.csv.
 */
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/program.h"
#include "command/commands.h"
#include "command/console/arguments.h"
#include "command/runs/columns.h"
#include "models/record/replay.h"

typedef struct arguments {
    dsgd_operands files;
    const char *folder;
    dsgd_texts data;
    int numerics, precision;
    int64_t threads; /* 0: not given */
} arguments;

static const char *const precision_words[] = {"float", "double", NULL};

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, folder, "output", 'o', "DIR", "Folder of curves.csv (results/NAME-replay)"),
    DSGD_ARGUMENT(WORD, numerics, "numerics", 0, "WHERE", "Computes on auto, cpu or cuda",
                  .words = dsgd_computing_words),
    DSGD_ARGUMENT(COUNT, threads, "threads", 0, "N",
                  "Computing threads (the number of cores); changes no result"),
    DSGD_ARGUMENT(WORD, precision, "precision", 0, "HOW",
                  "Computes in float or double (as recorded)", .words = precision_words),
    DSGD_ARGUMENT(TEXTS, data, "data", 0, "OPTION=VALUE",
                  "Overrides an option of the data, such as path=DIR where its files are "
                  "elsewhere; may be repeated"),
    {.name = NULL},
};

static const char about[] =
    "Computes what `dsgd run --record` wrote down, on this machine, and writes DIR/curves.csv: the "
    "rows that the run would have written here. The records of one experiment may be given "
    "together.\vWhat the run decided by values (until: accuracy) stays decided as recorded. A "
    "record that is damaged, or whose data is not here, is refused with a sentence and exit status "
    "3.";

typedef struct progress {
    size_t i, n; /* current record, number of records */
    double start_wall_s, last_wall_s;
} progress;

/** Rewrites one line on a terminal; elsewhere prints a line every 10 s. */
static void show(void *argument, double share)
{
    progress *const p = argument;
    const bool terminal = isatty(STDERR_FILENO);
    const double now_s = dsgd_wall_s();
    if (now_s - p->last_wall_s < (terminal ? 0.2 : 10))
        return;
    p->last_wall_s = now_s;
    fprintf(stderr, "%srecord %zu of %zu: %.0f %%, %.0f s left%s", terminal ? "\r\033[K" : "",
            p->i + 1, p->n, 100 * share, (now_s - p->start_wall_s) * (1 - share) / share,
            terminal ? "" : "\n");
    fflush(stderr);
}

static void print_result(const dsgd_replay_result *r)
{
    const dsgd_point *const last = r->n_points > 0 ? &r->points[r->n_points - 1] : NULL;
    printf("%10zu%-2s%-16s%10d%10llu%10s%12.6g%12.6g%10.2f\n", r->run, "", r->label, r->workers,
           (unsigned long long)r->seed, r->divergence.happened ? "diverged" : "ok",
           last == NULL ? NAN : last->at.loss, last == NULL ? NAN : last->at.accuracy, r->wall_s);
    printf("            %llu operations (%s)", (unsigned long long)r->operations, r->device);
    if (r->decisions > 0)
        printf("; followed %llu decisions by values, %llu of them with other values here",
               (unsigned long long)r->decisions, (unsigned long long)r->different);
    if (r->divergence.happened)
        printf("; a number was no longer finite at step %llu of worker %u",
               (unsigned long long)r->divergence.where.step, r->divergence.where.worker);
    putchar('\n');
    fflush(stdout);
}

/** Writes all rows so far; the first record names the folder unless --output does. */
static dsgd_status write_curves(char **folder, const dsgd_replay_result *result, const char *rows,
                                dsgd_error *error)
{
    const char *const name = result->experiment == NULL ? "record" : result->experiment;
    if (*folder == NULL && !dsgd_is_file_name(name))
        return dsgd_refuse(error, "no folder of results can be called after the experiment of the "
                                  "record; give one with -o");
    if (*folder == NULL)
        *folder = dsgd_xprintf("results/%s-replay", name);
    DSGD_TRY(dsgd_make_folder(error, "%s", *folder));
    dsgd_whole_file file;
    if (dsgd_whole_open(&file, error, "%s/curves.csv", *folder) == NULL)
        return DSGD_EIO;
    dsgd_results_header(file.stream, &dsgd_curves_file, result->columns);
    fputs(rows, file.stream);
    return dsgd_whole_close(&file, error);
}

static dsgd_status replay_all(const arguments *a, char **folder, dsgd_error *error)
{
    char *rows = NULL;
    size_t n_bytes = 0;
    FILE *const stream = dsgd_text_open(&rows, &n_bytes);
    const bool has_cuda =
        a->numerics == DSGD_NUMERICS_AUTO && dsgd_device_cuda_try(NULL, NULL) == DSGD_OK;
    const int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
    dsgd_status status = DSGD_OK;
    printf("%10s  %-16s%10s%10s%10s%12s%12s%10s\n", "run", "algorithm", "workers", "seed", "status",
           "loss", "accuracy", "wall s");
    fflush(stdout);
    for (size_t i = 0; status == DSGD_OK && i < a->files.n; i++) {
        progress p = {i, a->files.n, dsgd_wall_s(), dsgd_wall_s()};
        const dsgd_replay_config config = {.path = a->files.v[i],
                                           .numerics = (dsgd_numerics)a->numerics,
                                           .has_cuda = has_cuda,
                                           .precision = a->precision,
                                           .threads = (uint32_t)(a->threads > 0 ? a->threads
                                                                 : cores < 1    ? 1
                                                                                : cores),
                                           .memory_bytes = dsgd_physical_bytes() / 2,
                                           .n_data = a->data.n,
                                           .data = a->data.v,
                                           .progress = show,
                                           .argument = &p};
        dsgd_replay_result result;
        status = dsgd_replay(&config, &result, error);
        if (isatty(STDERR_FILENO))
            fputs("\r\033[K", stderr);
        if (status == DSGD_OK) {
            const dsgd_run_key key = {result.run, result.label, result.workers, result.seed,
                                      result.cells};
            dsgd_curve_print(stream, &key, result.n_points, result.points);
            dsgd_text_flush(stream);
            status = write_curves(folder, &result, rows, error);
        }
        if (status == DSGD_OK)
            print_result(&result);
    }
    dsgd_text_close(stream, &rows);
    return status;
}

static dsgd_status replay(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {"FILE...", about, 1, SIZE_MAX, "the record is missing",
                                       options};
    arguments a = {.precision = -1};
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    char *folder = dsgd_xstrdup(a.folder);
    DSGD_TRY(replay_all(&a, &folder, error));
    printf("\nresults: %s/curves.csv\n", folder);
    return DSGD_OK;
}

const dsgd_command dsgd_command_replay = {
    .name = "replay",
    .usage = "FILE...",
    .summary = "computes what `dsgd run --record` wrote down, and writes curves.csv",
    .run = replay,
};
