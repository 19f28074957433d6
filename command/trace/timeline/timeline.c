/**
 * @file timeline.c
 * Implements `dsgd timeline`. It simulates one run of an experiment again, and shows a window of
 * the run as a trace, a chart or a figure.
 */
#include <limits.h>
#include <zlib.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/program.h"
#include "command/analysis/plot.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/console/table.h"
#include "command/experiment/config.h"
#include "command/experiment/plugin.h"
#include "command/experiment/shipped.h"
#include "command/runs/pool.h"
#include "command/runs/provenance.h"
#include "command/trace/timeline/view.h"

typedef struct arguments {
    dsgd_operands source;
    const char *steps, *workers, *output, *size;
    dsgd_texts sets, plugins;
    int64_t run; /* number of the run; 0 if the user does not give --run */
    int format, numerics;
} arguments;

enum { JSON, TEXT }; /* indices of the first two words in format_words */
static const char *const format_words[] = {"json", "text", "svg", "pdf", "png", NULL};

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(COUNT, run, "run", 0, "RUN",
                  "Number of the run, as in `dsgd check` [default: 1]"),
    DSGD_ARGUMENT(
        TEXT, steps, "steps", 0, "A:B",
        "Window from the start of step A to the start of step B, counted from 0; `:` is the "
        "whole run [default: 0:10; 0:4 for text and figures]"),
    DSGD_ARGUMENT(TEXT, workers, "workers", 0, "A-B,C",
                  "Ranks of the workers, or `all` [default: the first 32; the first 16 for text "
                  "and figures]"),
    DSGD_ARGUMENT(
        WORD, format, "format", 0, "FORMAT",
        "Format: json (Chrome's trace events, for Perfetto and speedscope), text (a Gantt "
        "chart of 2 to 16 workers), or svg, pdf or png (the chart as a figure) [default: "
        "json]",
        .words = format_words),
    DSGD_ARGUMENT(
        TEXT, output, "output", 'o', "FILE",
        "Output file; json is compressed if the name ends in .gz [default: NAME-RUN.json.gz, "
        ".svg and so on; text: standard output]"),
    DSGD_ARGUMENT(TEXT, size, "size", 0, "SIZE",
                  "Size of a figure, as in `dsgd plot` (svg, pdf, png only)"),
    DSGD_ARGUMENT(TEXTS, sets, "set", 0, "A.B=C",
                  "Overrides a value of the experiment (may be repeated)"),
    DSGD_ARGUMENT(
        WORD, numerics, "numerics", 0, "WHERE",
        "Where to compute gradients, as in `dsgd run` [default: off; times do not depend on "
        "gradients, except with `until: accuracy`]",
        .words = dsgd_numerics_words),
    DSGD_ARGUMENT_PLUGIN,
    {.name = NULL},
};

static const char about[] =
    "Simulates one run of an experiment or of a results folder again, and writes a timeline of a "
    "window of it: when each worker computes, exchanges and waits, and for which worker; messages; "
    "versions of partial collectives.";

/* --- the window ------------------------------------------------------------------------------- */

/**
 * Reads a whole number at *text and moves *text to the end of this number. Returns false if there
 * is no number or if the number is too large.
 */
static bool read_count(const char **text, int64_t *number)
{
    char *end = NULL;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *number = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0 && *number <= INT_MAX;
}

static dsgd_status read_steps(const char *text, dsgd_timeline *t, dsgd_error *error)
{
    const char *rest = text;
    t->first_step = 0;
    t->end_step = INT64_MAX;
    const bool first = *rest == ':' || read_count(&rest, &t->first_step);
    const bool colon = first && *rest++ == ':';
    const bool last = colon && (*rest == '\0' || read_count(&rest, &t->end_step));
    if (!last || *rest != '\0')
        return dsgd_refuse(
            error,
            "--steps must be the first step, a colon, and the step at whose start the "
            "window ends, such as 100:110, got %s",
            text);
    if (t->end_step <= t->first_step)
        return dsgd_refuse(error, "--steps %s: the window must end after it starts, but %jd >= %jd",
                           text, t->first_step, t->end_step);
    return DSGD_OK;
}

/** Reads a list of ranks such as 0-3,7. Sets chosen[rank] to true for each of these ranks. */
static dsgd_status read_workers(const char *text, int n_workers, bool *chosen, dsgd_error *error)
{
    const char *rest = text;
    if (strcmp(text, "all") == 0) {
        memset(chosen, true, (size_t)n_workers);
        return DSGD_OK;
    }
    do {
        int64_t first = 0;
        bool good = read_count(&rest, &first);
        int64_t last = first;
        if (good && *rest == '-')
            good = ++rest != NULL && read_count(&rest, &last);
        if (!good || last < first || (*rest != ',' && *rest != '\0'))
            return dsgd_refuse(
                error, "--workers must be ranks from 0, such as 0-3 or 0-3,7, or `all`, got %s",
                text);
        if (last >= n_workers)
            return dsgd_refuse(error, "--workers %s: the run has %d workers, with ranks 0 to %d",
                               text, n_workers, n_workers - 1);
        memset(chosen + first, true, (size_t)(last - first) + 1);
    } while (*rest++ == ',');
    return DSGD_OK;
}

enum { TRACE_WORKERS = 32, CHART_WORKERS = 16 };

static dsgd_status read_window(const arguments *a, int n_workers, bool *chosen, dsgd_timeline *t,
                               dsgd_error *error)
{
    const bool trace = a->format == JSON;
    const int most = trace ? TRACE_WORKERS : CHART_WORKERS;
    DSGD_TRY(read_steps(a->steps != NULL ? a->steps : trace ? "0:10" : "0:4", t, error));
    if (a->workers != NULL)
        DSGD_TRY(read_workers(a->workers, n_workers, chosen, error));
    int n = 0;
    for (int i = 0; i < n_workers; i++) {
        chosen[i] = chosen[i] || (a->workers == NULL && i < most);
        n += chosen[i];
    }
    if (!trace && n > most)
        return dsgd_refuse(
            error,
            "--workers %s: a chart has room for %d workers, got %d; use fewer, or --format json",
            a->workers, most, n);
    t->chosen = chosen;
    return DSGD_OK;
}

/* --- output ----------------------------------------------------------------------------------- */

dsgd_status dsgd_text_write(const char *path, const char *text, size_t n, dsgd_error *error)
{
    gzFile const file = gzopen(path, dsgd_ends_with(path, ".gz") ? "wb6" : "wbT");
    bool good = file != NULL && gzfwrite(text, 1, n, file) == n;
    if (file != NULL)
        good = gzclose(file) == Z_OK && good;
    return good ? DSGD_OK : dsgd_fail(error, DSGD_EIO, "%s: cannot write the file: %m", path);
}

static dsgd_status write_view(const arguments *a, const dsgd_view *view, const char *name,
                              dsgd_error *error)
{
    static const char *const endings[] = {"json.gz", "txt", "svg", "pdf", "png"};
    size_t n = 0;
    char *text = NULL;
    FILE *const stream = dsgd_text_open(&text, &n);
    if (a->format == JSON) {
        dsgd_view_write_json(view, stream);
    } else if (a->format == TEXT) {
        fprintf(stream, "%s, %d workers\n", view->run->label, view->n_workers);
        dsgd_view_print(view, dsgd_terminal_width(STDOUT_FILENO, DSGD_TEXT_WIDTH), stream);
    } else {
        dsgd_view_write_csv(view, stream);
    }
    dsgd_text_close(stream, &text);
    if (a->format == TEXT && a->output == NULL) {
        fwrite(text, 1, n, stdout);
        return DSGD_OK;
    }
    const char *const path =
        a->output != NULL ? a->output : dsgd_xprintf("%s-%jd.%s", name, a->run, endings[a->format]);
    DSGD_TRY(
        a->format == JSON || a->format == TEXT
            ? dsgd_text_write(path, text, n, error)
            : dsgd_figure_write("timeline", text, a->size, format_words[a->format], path, error));
    printf("%s: %.6g to %.6g s of run %jd (%s)%s\n", path, view->timeline->since_s,
           view->timeline->end_s, a->run, view->run->label,
           a->format == JSON ? "; open it in ui.perfetto.dev or speedscope.app" : "");
    return DSGD_OK;
}

/* --- the simulated run ------------------------------------------------------------------------ */

static dsgd_status simulate(const dsgd_planned_run *run, int numerics, const dsgd_timeline *wanted,
                            dsgd_view *view, dsgd_error *error)
{
    dsgd_run_config config = run->config;
    const bool has_cuda = numerics == DSGD_NUMERICS_AUTO && config.learning != NULL &&
                          dsgd_device_cuda_try(NULL, NULL) == DSGD_OK;
    config.numerics = dsgd_run_numerics(run, numerics, has_cuda);
    config.threads = 1;
    config.memory_bytes = dsgd_physical_bytes() / 2;
    return dsgd_view_open(run, &config, wanted, view, error);
}

static dsgd_status show_run(const arguments *a, const dsgd_experiment *experiment,
                            dsgd_error *error)
{
    if ((size_t)a->run > experiment->n_runs)
        return dsgd_refuse(
            error, "--run must be between 1 and %zu, got %jd; `dsgd check %s` lists the runs",
            experiment->n_runs, a->run, experiment->path);
    const dsgd_planned_run *const run = &experiment->runs[a->run - 1];
    dsgd_timeline t = {.first_step = 0};
    dsgd_view view;
    bool *const chosen = dsgd_keep((size_t)run->config.workers, sizeof *chosen);
    DSGD_TRY(read_window(a, run->config.workers, chosen, &t, error));
    DSGD_TRY(simulate(run, a->numerics, &t, &view, error));
    return write_view(a, &view, experiment->name, error);
}

char *dsgd_yaml_of(const char *path, const char *algorithm)
{
    dsgd_config *file = NULL;
    dsgd_yaml **list = NULL;
    size_t n = 0;
    if (dsgd_config_open(path, &file, NULL) == DSGD_OK)
        list = dsgd_yaml_elements(dsgd_yaml_find(dsgd_config_root(file), "algorithms"), &n);
    for (size_t i = 0; i < n; i++) {
        const char *const name = dsgd_yaml_text(dsgd_yaml_find(list[i], "name"));
        if (name != NULL && strcmp(name, algorithm) == 0)
            return dsgd_yaml_yaml(list[i]);
    }
    return dsgd_xprintf("{name: %s}", algorithm);
}

void dsgd_timeline_print_example(const char *algorithm)
{
    static const bool all[] = {true, true, true, true};
    char *const path = dsgd_xprintf("%s/plots/timeline/timeline.yaml", dsgd_data_folder());
    const char *const sets[] = {dsgd_xprintf("algorithms=[%s]", dsgd_yaml_of(path, algorithm))};
    dsgd_experiment experiment;
    dsgd_view view;
    if (dsgd_experiment_open(path, sets, 1, DSGD_NUMERICS_OFF, &experiment, NULL) != DSGD_OK)
        return;
    const dsgd_planned_run *const run = &experiment.runs[0];
    DSGD_ASSERT(run->config.workers == sizeof all / sizeof all[0], "%d workers",
                run->config.workers);
    if (simulate(run, DSGD_NUMERICS_OFF, &(dsgd_timeline){.end_step = 4, .chosen = all}, &view,
                 NULL) == DSGD_OK) {
        puts("\nexample: four workers, the last of which is slow (plots/timeline/timeline.yaml)");
        dsgd_view_print(&view, DSGD_TEXT_WIDTH, stdout);
    }
}

static dsgd_status timeline(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "EXPERIMENT|DIR",
        about,
        1,
        1,
        "timeline: expected the file of one experiment, or the folder of its results",
        options};
    arguments a = {.run = 1, .numerics = DSGD_NUMERICS_OFF};
    dsgd_experiment experiment;
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    if (a.size != NULL)
        DSGD_TRY(dsgd_figure_check_size(a.size, error));
    DSGD_TRY(dsgd_plugins_load(&a.plugins, error));
    DSGD_TRY(dsgd_source_open(&(dsgd_source){a.source.v[0], &a.sets, a.numerics, a.run},
                              &experiment, error));
    return show_run(&a, &experiment, error);
}

const dsgd_command dsgd_command_timeline = {
    .name = "timeline",
    .usage = "EXPERIMENT|DIR",
    .summary = "shows one run over time, as a trace or a Gantt chart",
    .run = timeline,
};
