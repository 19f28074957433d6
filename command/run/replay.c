/**
 * @file replay.c
 * `dsgd replay`: computes records, with progress, into one curves.csv.
 */
#include "command/run/replay.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/program.h"
#include "command/run/curve.h"
#include "models/record/replay.h"

enum { KEY_NUMERICS = 256, KEY_THREADS, KEY_PRECISION, KEY_DATA };

typedef struct arguments {
    size_t n_files, n_data;
    const char **files, **data; /* [n_files], [n_data] */
    const char *folder;
    int numerics, precision;
    long threads; /* 0: not given */
} arguments;

static const char *const numerics_words[] = {"auto", "cpu", "cuda", NULL};
static const char *const precision_words[] = {"float", "double", NULL};

static int find_word(const char *const *words, const char *text)
{
    int i = 0;
    while (words[i] != NULL && strcmp(words[i], text) != 0)
        i++;
    return words[i] == NULL ? -1 : i;
}

static void add(const char ***list, size_t *n, const char *text)
{
    *list = dsgd_xrealloc(*list, *n + 1, sizeof **list);
    (*list)[(*n)++] = text;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    arguments *const a = state->input;
    char *end = NULL;
    switch (key) {
    case 'o':
        a->folder = text;
        return 0;
    case KEY_NUMERICS:
        a->numerics = find_word(numerics_words, text);
        if (a->numerics < 0)
            argp_error(state, "--numerics %s: auto, cpu or cuda is expected", text);
        return 0;
    case KEY_PRECISION:
        a->precision = find_word(precision_words, text);
        if (a->precision < 0)
            argp_error(state, "--precision %s: float or double is expected", text);
        return 0;
    case KEY_THREADS:
        a->threads = strtol(text, &end, 10);
        if (*text == '\0' || *end != '\0' || a->threads < 1 || a->threads > 1000000)
            argp_error(state, "--threads %s: a whole number from 1 to 1000000 is expected", text);
        return 0;
    case KEY_DATA:
        add(&a->data, &a->n_data, text);
        return 0;
    case ARGP_KEY_ARG:
        add(&a->files, &a->n_files, text);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the record is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"output", 'o', "DIR", 0, "Folder of curves.csv (results/NAME-replay)", 0},
    {"numerics", KEY_NUMERICS, "WHERE", 0, "Computes on auto, cpu or cuda", 0},
    {"threads", KEY_THREADS, "N", 0, "Computing threads (the number of cores); decides no result",
     0},
    {"precision", KEY_PRECISION, "HOW", 0, "Computes in float or double (as recorded)", 0},
    {"data", KEY_DATA, "OPTION=VALUE", 0,
     "Overrides an option of the data, such as path=DIR where its files are elsewhere; may be "
     "repeated",
     0},
    {0},
};

static const char about[] =
    "Computes what `dsgd run --record` wrote down, on this machine, and writes DIR/curves.csv: the "
    "rows that the run would have written here. The records of one experiment may be given "
    "together.\vWhat the run decided by values (until: accuracy) stays decided as recorded. A "
    "record that is damaged, or whose data is not here, is refused with a sentence and exit status "
    "3.";

/* --- progress --------------------------------------------------------------------------------- */

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

/* --- the whole -------------------------------------------------------------------------------- */

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
    if (*folder == NULL)
        *folder = dsgd_xprintf("results/%s-replay",
                               result->experiment == NULL ? "record" : result->experiment);
    dsgd_status status = dsgd_make_folder(*folder, error);
    dsgd_whole_file file;
    if (status == DSGD_OK)
        status = dsgd_whole_open(&file, dsgd_xprintf("%s/curves.csv", *folder), error);
    if (status != DSGD_OK)
        return status;
    fprintf(file.stream, "%s%s", dsgd_curve_columns, rows);
    return dsgd_whole_close(&file, error);
}

static dsgd_status replay_all(const arguments *a, char **folder, dsgd_error *error)
{
    char *rows = NULL;
    size_t n_bytes = 0;
    FILE *const stream = open_memstream(&rows, &n_bytes);
    DSGD_ASSERT(stream != NULL, "no memory for rows");
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    dsgd_status status = DSGD_OK;
    printf("%10s  %-16s%10s%10s%10s%12s%12s%10s\n", "run", "algorithm", "workers", "seed", "status",
           "loss", "accuracy", "wall s");
    fflush(stdout);
    for (size_t i = 0; status == DSGD_OK && i < a->n_files; i++) {
        progress p = {i, a->n_files, dsgd_wall_s(), dsgd_wall_s()};
        const dsgd_replay_config config = {.path = a->files[i],
                                           .numerics = (dsgd_numerics)a->numerics,
                                           .precision = a->precision,
                                           .threads = (uint32_t)(a->threads > 0 ? a->threads
                                                                 : cores < 1    ? 1
                                                                                : cores),
                                           .memory_bytes = (size_t)sysconf(_SC_PHYS_PAGES) *
                                                           (size_t)sysconf(_SC_PAGESIZE) / 2,
                                           .n_data = a->n_data,
                                           .data = a->data,
                                           .progress = show,
                                           .argument = &p};
        dsgd_replay_result result;
        status = dsgd_replay(&config, &result, error);
        if (isatty(STDERR_FILENO))
            fputs("\r\033[K", stderr);
        if (status == DSGD_OK) {
            const dsgd_run_key key = {result.run, result.label, result.workers, result.seed};
            dsgd_curve_print(stream, &key, result.n_points, result.points);
            fflush(stream);
            status = write_curves(folder, &result, rows, error);
        }
        if (status == DSGD_OK)
            print_result(&result);
        dsgd_replay_result_free(&result);
    }
    fclose(stream);
    free(rows);
    return status;
}

dsgd_status dsgd_command_replay_run(int count, char **words, dsgd_error *error)
{
    static const struct argp argp = {options, parse, "FILE...", about, NULL, NULL, NULL};
    arguments a = {.precision = -1};
    argp_parse(&argp, count, words, 0, NULL, &a);
    char *folder = dsgd_xstrdup(a.folder);
    const dsgd_status status = replay_all(&a, &folder, error);
    if (status == DSGD_OK)
        printf("\nresults: %s/curves.csv\n", folder);
    free(folder);
    free(a.files);
    free(a.data);
    return status;
}
