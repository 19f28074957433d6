/**
 * @file run.c
 * `dsgd run` and `dsgd check`: the runs of an experiment, and their table.
 */
#include <argp.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "command/analyse/sensitivity.h"
#include "command/command.h"
#include "command/experiment/experiment.h"
#include "command/experiment/plugin.h"
#include "command/run/pool.h"
#include "command/run/results.h"
#include "command/table.h"

enum {
    MOST_SETS = 256,
    KEY_SET = 256,
    KEY_NUMERICS,
    KEY_RESUME,
    KEY_ONLY,
    KEY_THREADS,
    KEY_FORCE,
    KEY_RECORD,
    KEY_SENSITIVITY,
    KEY_BASELINE
};

typedef struct arguments {
    const char *file, *folder, *record, *baseline;
    const char *sets[MOST_SETS];
    size_t n_sets;
    dsgd_plugin_paths plugins;
    long jobs, only, threads; /* 0: not given */
    int numerics;
    double sensitivity_percent; /* 0: none */
    bool resume, force, verbose;
} arguments;

static const char *const numerics_words[] = {"auto", "cpu", "cuda", "off", NULL};

static long positive(struct argp_state *state, const char *what, const char *text)
{
    char *end = NULL;
    const long number = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || number < 1 || number > 1000000)
        argp_error(state, "%s %s: a whole number from 1 to 1000000 is expected", what, text);
    return number;
}

static int numerics(struct argp_state *state, const char *text)
{
    for (int i = 0; numerics_words[i] != NULL; i++)
        if (strcmp(numerics_words[i], text) == 0)
            return i;
    argp_error(state, "--numerics %s: auto, cpu, cuda or off is expected", text);
    return 0;
}

static double sensitivity(struct argp_state *state, const char *text)
{
    double percent = 20;
    if (text != NULL &&
        (!dsgd_parse_number(text, NULL, &percent) || percent <= 0 || percent >= 100))
        argp_error(state,
                   "--sensitivity=%s: a number of per cent above 0 and below 100 is expected",
                   text);
    return percent;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    arguments *const a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->plugins;
        return 0;
    case 'o':
        a->folder = text;
        return 0;
    case 'v':
        a->verbose = true;
        return 0;
    case 'j':
        a->jobs = positive(state, "-j", text);
        return 0;
    case KEY_SET:
        if (a->n_sets == MOST_SETS)
            argp_error(state, "--set: at most %d are possible", MOST_SETS);
        a->sets[a->n_sets++] = text;
        return 0;
    case KEY_NUMERICS:
        a->numerics = numerics(state, text);
        return 0;
    case KEY_RESUME:
        a->resume = true;
        return 0;
    case KEY_FORCE:
        a->force = true;
        return 0;
    case KEY_RECORD:
        a->record = text;
        return 0;
    case KEY_ONLY:
        a->only = positive(state, "--only", text);
        return 0;
    case KEY_THREADS:
        a->threads = positive(state, "--threads", text);
        return 0;
    case KEY_SENSITIVITY:
        a->sensitivity_percent = sensitivity(state, text);
        return 0;
    case KEY_BASELINE:
        a->baseline = text;
        return 0;
    case ARGP_KEY_END:
        if (a->baseline != NULL && a->sensitivity_percent == 0)
            argp_error(state,
                       "--baseline %s: it goes with --sensitivity; `dsgd compare` has its own",
                       a->baseline);
        return 0;
    case ARGP_KEY_ARG:
        if (a->file != NULL)
            argp_error(state, "%s: one experiment at a time", text);
        a->file = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the experiment file is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option run_options[] = {
    {"output", 'o', "DIR", 0, "Folder of the results (results/NAME)", 0},
    {"jobs", 'j', "N", 0, "Runs at the same time (the number of cores)", 0},
    {"set", KEY_SET, "A.B=C", 0, "Overrides a value of the experiment; may be repeated", 0},
    {"numerics", KEY_NUMERICS, "WHERE", 0, "Gradients on auto, cpu, cuda, or off", 0},
    {"threads", KEY_THREADS, "N", 0,
     "Computing threads per run, beside the one that simulates (cores / jobs - 1); changes no "
     "result",
     0},
    {"resume", KEY_RESUME, NULL, 0, "Does only what has no results yet", 0},
    {"record", KEY_RECORD, "FILE", 0,
     "Writes the operations on values to FILE, for `dsgd replay`; of several runs, or where FILE "
     "is a folder, to FILE/RUN.record. With --numerics off nothing is computed",
     0},
    {"only", KEY_ONLY, "RUN", 0, "Does this run alone", 0},
    {"verbose", 'v', NULL, 0, "Shows all runs, with the times of their parts and their memory", 0},
    {"force", KEY_FORCE, NULL, 0, "Replaces the results of another experiment", 0},
    {"sensitivity", KEY_SENSITIVITY, "PERCENT", OPTION_ARG_OPTIONAL,
     "Runs the experiment also with each calibrated parameter of its platform and workload so much "
     "smaller and larger (20), and says which speed-ups and rankings depend on it; results in "
     "results/NAME-sensitivity. With --numerics off nothing is learned meanwhile",
     0},
    {"baseline", KEY_BASELINE, "NAME", 0, "Of the speed-ups of --sensitivity (the first algorithm)",
     0},
    {0},
};

static const struct argp_option check_options[] = {
    {"set", KEY_SET, "A.B=C", 0, "Overrides a value of the experiment; may be repeated", 0},
    {"numerics", KEY_NUMERICS, "WHERE", 0, "As in `dsgd run`", 0},
    {"sensitivity", KEY_SENSITIVITY, "PERCENT", OPTION_ARG_OPTIONAL, "As in `dsgd run`", 0},
    {0},
};

enum { MOST_ROWS = 40, MOST_REASONS = 10 };

/**
 * Runs that the table shows: unchanged ones (--sensitivity sums up the others), or the one of
 * --only.
 */
static bool is_shown(const dsgd_pool_config *p, size_t i)
{
    return p->only > 0 ? (size_t)p->only == i + 1 : i < p->experiment->n_unchanged;
}

/** "group=4 collective=ring", or "4" where a single value is swept; the caller frees it. */
static char *swept_text(const dsgd_experiment *experiment, size_t i)
{
    char *text = dsgd_xstrdup("");
    for (size_t k = 0; k < experiment->n_columns; k++) {
        const char *const dot = strrchr(experiment->columns[k], '.');
        const char *const name = dot == NULL ? experiment->columns[k] : dot + 1;
        const char *const value = experiment->runs[i].swept[k];
        if (value == NULL || strcmp(name, "seed") == 0 || strcmp(name, "workers") == 0)
            continue;
        const bool named = experiment->n_columns > 1;
        char *const longer = dsgd_xprintf("%s%s%s%s%s", text, *text == '\0' ? "" : " ",
                                          named ? name : "", named ? "=" : "", value);
        free(text);
        text = longer;
    }
    return text;
}

/** Columns that are known before a run: of the @p n runs @p shown. */
static void add_plan(const dsgd_experiment *experiment, dsgd_columns *t, const size_t *shown)
{
    const size_t n = t->n_rows - 1;
    char **column = dsgd_columns_add(t, "run");
    for (size_t j = 0; j < n; j++)
        column[j + 1] = dsgd_xprintf("%zu", shown[j] + 1);
    column = dsgd_columns_add(t, "algorithm");
    for (size_t j = 0; j < n; j++)
        column[j + 1] = dsgd_xstrdup(experiment->runs[shown[j]].label);
    column = dsgd_columns_add(t, "workers");
    for (size_t j = 0; j < n; j++)
        column[j + 1] = dsgd_xprintf("%d", experiment->runs[shown[j]].config.workers);
    column = dsgd_columns_add(t, "seed");
    for (size_t j = 0; j < n; j++)
        column[j + 1] = dsgd_xprintf("%" PRIu64, experiment->runs[shown[j]].config.seed);
}

static void add_swept(const dsgd_experiment *experiment, dsgd_columns *t, const size_t *shown)
{
    const char *const dot = strrchr(experiment->columns[0], '.');
    const char *const single = dot == NULL ? experiment->columns[0] : dot + 1;
    char **const column = dsgd_columns_add(t, experiment->n_columns > 1 ? "swept" : single);
    bool any = false;
    for (size_t j = 1; j < t->n_rows; j++) {
        column[j] = swept_text(experiment, shown[j - 1]);
        any = any || *column[j] != '\0';
    }
    if (!any)
        dsgd_columns_drop(t);
}

/**
 * A field of runs.csv with four significant digits; from 1,000 on without a fraction. The caller
 * frees it.
 */
static char *result_text(const dsgd_pool_config *p, size_t i, const char *name)
{
    char *const field = dsgd_results_field(p->folder, i, name);
    double x = 0;
    char *text = NULL;
    if (field == NULL || *field == '\0')
        text = dsgd_xstrdup("-");
    else if (strcmp(name, "wall_s") != 0 && dsgd_parse_number(field, NULL, &x))
        text = dsgd_xprintf(fabs(x) >= 1000 && fabs(x) < 1e9 ? "%.0f" : "%#.4g", x);
    else
        text = dsgd_xstrdup(field);
    free(field);
    return text;
}

/** A column of runs.csv. @p skipped: a text; the column is left out where all runs have it. */
static void add_result(const dsgd_pool_config *p, dsgd_columns *t, const size_t *shown,
                       const char *name, const char *head, const char *skipped)
{
    bool needed = skipped == NULL;
    char **const column = dsgd_columns_add(t, head);
    for (size_t j = 1; j < t->n_rows; j++) {
        column[j] = result_text(p, shown[j - 1], name);
        needed = needed || strcmp(column[j], skipped) != 0;
    }
    if (!needed)
        dsgd_columns_drop(t);
}

/** Why runs failed or diverged, and with --verbose the figures that runs.csv lacks. */
static void print_notes(const dsgd_pool_config *p, bool verbose)
{
    size_t n_reasons = 0;
    for (size_t i = 0; i < p->experiment->n_runs; i++) {
        char *const note = is_shown(p, i) ? dsgd_results_note(p->folder, i) : NULL;
        char *const status = note == NULL ? NULL : dsgd_results_field(p->folder, i, "status");
        char *rest = note;
        const char *const reason = strsep(&rest, "\n");
        if (status != NULL && strcmp(status, "ok") != 0 && *reason != '\0' &&
            (n_reasons++ < MOST_REASONS || verbose)) {
            char *const heading = dsgd_xprintf("run %zu %s:", i + 1, status);
            dsgd_print_wrapped(stdout, heading, (int)strlen(heading) + 1, DSGD_LINE_WIDTH, reason);
            free(heading);
        }
        if (verbose && rest != NULL && *rest != '\0') {
            char *const heading = dsgd_xprintf("  run %zu:", i + 1);
            rest[strcspn(rest, "\n")] = '\0';
            dsgd_print_wrapped(stdout, heading, (int)strlen(heading) + 1, DSGD_LINE_WIDTH, rest);
            free(heading);
        }
        free(status);
        free(note);
    }
    if (n_reasons > MOST_REASONS && !verbose)
        printf("... %zu more; --resume -v shows them all\n", n_reasons - MOST_REASONS);
}

static void print_table(const dsgd_pool_config *p, bool verbose)
{
    const dsgd_experiment *const experiment = p->experiment;
    size_t *const shown = dsgd_xcalloc(experiment->n_runs, sizeof *shown);
    size_t n = 0;
    for (size_t i = 0; i < experiment->n_runs; i++)
        if (is_shown(p, i))
            shown[n++] = i;
    const size_t n_rows = verbose || n <= MOST_ROWS ? n : MOST_ROWS;
    dsgd_columns t = {.n_rows = n_rows + 1};
    add_plan(experiment, &t, shown);
    if (experiment->n_columns > 0)
        add_swept(experiment, &t, shown);
    add_result(p, &t, shown, "status", "status", "ok");
    add_result(p, &t, shown, "throughput_samples_per_s", "samples/s", NULL);
    add_result(p, &t, shown, "step_mean_s", "step (s)", NULL);
    add_result(p, &t, shown, "final_loss", "loss", "-");
    add_result(p, &t, shown, "final_accuracy", "accuracy", "-");
    add_result(p, &t, shown, "wall_s", "wall (s)", NULL);
    dsgd_columns_print(&t);
    if (n > n_rows)
        printf("... %zu more in %s/runs.csv\n", n - n_rows, p->folder);
    print_notes(p, verbose);
    free(shown);
    printf("\nresults: %s/runs.csv, curves.csv, workers.csv, manifest.json\n"
           "figures: dsgd plot %s\n",
           p->folder, p->folder);
}

static dsgd_status run_experiment(const arguments *a, const dsgd_pool_config *config,
                                  dsgd_error *error)
{
    const dsgd_experiment *const experiment = config->experiment;
    const char *const folder = config->folder;
    dsgd_pool_counts done = {0};
    dsgd_status status = dsgd_results_open(folder, experiment, config->command, a->force, error);
    if (status == DSGD_OK)
        status = dsgd_pool_run(config, &done, error);
    if (status == DSGD_OK)
        print_table(config, a->verbose);
    if (status == DSGD_OK && a->sensitivity_percent > 0 && a->only == 0)
        status =
            dsgd_sensitivity_report(experiment, folder, a->sensitivity_percent, a->baseline, error);
    if (status == DSGD_OK && done.n_failed > 0)
        status = dsgd_fail(error, DSGD_ERUNS, "%zu of %zu runs failed; the others are kept in %s",
                           done.n_failed, done.n_runs, folder);
    return status;
}

/** Checks data and models: of one run, or of every run where an option of `learn` is swept. */
static dsgd_status check_learning(const dsgd_experiment *experiment, dsgd_error *error)
{
    size_t n = experiment->n_runs > 0 ? 1 : 0;
    for (size_t k = 0; k < experiment->n_columns; k++)
        if (strncmp(experiment->columns[k], "learn", 5) == 0)
            n = experiment->n_unchanged;
    dsgd_status status = DSGD_OK;
    for (size_t i = 0; status == DSGD_OK && i < n; i++)
        if (experiment->runs[i].config.learning != NULL)
            status = dsgd_learning_check(experiment->runs[i].config.learning,
                                         experiment->runs[i].config.seed, error);
    return status;
}

/** Probes CUDA once for all runs; `auto` falls back to the CPU with a message. */
static dsgd_status choose_numerics(arguments *a, const dsgd_experiment *experiment,
                                   dsgd_error *error)
{
    bool learns = false;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_learning *const learning = experiment->runs[i].config.learning;
        learns = learns || (learning != NULL && learning->precision == DSGD_PRECISION_FLOAT);
    }
    if (a->numerics == DSGD_NUMERICS_CUDA)
        return dsgd_device_cuda_try(error);
    dsgd_error why = {""};
    if (a->numerics == DSGD_NUMERICS_AUTO && learns && dsgd_device_cuda_try(&why) != DSGD_OK) {
        fprintf(stderr, "dsgd: numerics on the CPU (%s)\n", why.text);
        a->numerics = DSGD_NUMERICS_CPU;
    }
    return DSGD_OK;
}

/** Checks that every run learns something and that the record can be written. */
static dsgd_status check_record(const dsgd_pool_config *config, dsgd_error *error)
{
    const dsgd_experiment *const experiment = config->experiment;
    if (*config->record == '\0')
        return dsgd_fail(error, DSGD_EUSAGE, "--record: the name of a file is expected");
    for (size_t i = 0; i < experiment->n_runs; i++)
        if (experiment->runs[i].config.learning == NULL)
            return dsgd_fail(error, DSGD_EUSAGE,
                             "--record %s: nothing is learned in %s, so there is nothing to "
                             "record; `learn` says what",
                             config->record, experiment->path);
    if (dsgd_pool_records_in_folder(config))
        return dsgd_make_folder(config->record, error);
    char *const beside = dsgd_xprintf("%s.part", config->record);
    FILE *const stream = fopen(beside, "ab");
    dsgd_status status = DSGD_OK;
    if (stream == NULL)
        status = dsgd_fail(error, DSGD_EIO, "%s: the record cannot be written: %m", beside);
    else
        fclose(stream);
    unlink(beside);
    free(beside);
    return status;
}

static char *joined(int count, char **words)
{
    char *text = dsgd_xstrdup("dsgd");
    for (int i = 0; i < count; i++) {
        char *const longer = dsgd_xprintf("%s %s", text, words[i]);
        free(text);
        text = longer;
    }
    return text;
}

/** Plug-ins come first, so that the file can name their algorithms. */
static dsgd_status open_experiment(const arguments *a, dsgd_experiment *experiment,
                                   dsgd_error *error)
{
    dsgd_status status = dsgd_plugins_load(&a->plugins, error);
    if (status == DSGD_OK)
        status = dsgd_experiment_open(a->file, a->sets, a->n_sets, a->numerics, experiment, error);
    if (status != DSGD_OK || a->sensitivity_percent == 0)
        return status;
    status = dsgd_sensitivity_check(experiment, a->baseline, error);
    if (status == DSGD_OK)
        status = dsgd_sensitivity_vary(experiment, a->sensitivity_percent, error);
    if (status != DSGD_OK)
        dsgd_experiment_close(experiment);
    return status;
}

static dsgd_status run(int count, char **words, dsgd_error *error)
{
    static const struct argp argp = {
        run_options,
        parse,
        "EXPERIMENT.yaml",
        "Runs an experiment: every run of its list, in processes of their own.",
        dsgd_plugin_option,
        NULL,
        NULL};
    arguments a = {0};
    char *const command = joined(count, words);
    argp_parse(&argp, count, words, 0, NULL, &a);
    dsgd_experiment experiment;
    dsgd_status status = open_experiment(&a, &experiment, error);
    if (status == DSGD_OK) {
        char *const folder = a.folder != NULL
                                 ? dsgd_xstrdup(a.folder)
                                 : dsgd_xprintf("results/%s%s", experiment.name,
                                                a.sensitivity_percent > 0 ? "-sensitivity" : "");
        dsgd_pool_config config = {.experiment = &experiment,
                                   .folder = folder,
                                   .command = command,
                                   .record = a.record,
                                   .jobs = a.jobs > 0 ? a.jobs : dsgd_cores(),
                                   .threads = a.threads,
                                   .only = a.only,
                                   .resume = a.resume};
        if (a.only > 0 && (size_t)a.only > experiment.n_runs)
            status = dsgd_fail(error, DSGD_EUSAGE,
                               "--only %ld: there are %zu runs; `dsgd check %s` lists them", a.only,
                               experiment.n_runs, a.file);
        if (status == DSGD_OK && a.record != NULL)
            status = check_record(&config, error);
        if (status == DSGD_OK && (a.numerics != DSGD_NUMERICS_OFF || a.record != NULL))
            status = check_learning(&experiment, error);
        if (status == DSGD_OK)
            status = choose_numerics(&a, &experiment, error);
        config.numerics = a.numerics;
        if (status == DSGD_OK)
            status = run_experiment(&a, &config, error);
        free(folder);
        dsgd_experiment_close(&experiment);
    }
    free(command);
    return status;
}

static void print_plan(const dsgd_experiment *experiment)
{
    const size_t n = experiment->n_runs;
    size_t *const shown = dsgd_xcalloc(n, sizeof *shown);
    for (size_t i = 0; i < n; i++)
        shown[i] = i;
    printf("%s: %zu runs\n", experiment->name, n);
    dsgd_columns t = {.n_rows = n + 1, .wraps = true};
    add_plan(experiment, &t, shown);
    free(shown);
    char **column = dsgd_columns_add(&t, "workload");
    for (size_t i = 0; i < n; i++)
        column[i + 1] = dsgd_xstrdup(experiment->runs[i].workload_name);
    column = dsgd_columns_add(&t, "platform");
    for (size_t i = 0; i < n; i++)
        column[i + 1] = dsgd_xstrdup(experiment->runs[i].platform_name);
    for (size_t k = 0; k < experiment->n_columns; k++) {
        column = dsgd_columns_add(&t, experiment->columns[k]);
        for (size_t i = 0; i < n; i++) {
            const char *const value = experiment->runs[i].swept[k];
            column[i + 1] = dsgd_xstrdup(value == NULL ? "" : value);
        }
    }
    dsgd_columns_print(&t);
}

static dsgd_status check(int count, char **words, dsgd_error *error)
{
    static const struct argp argp = {
        check_options,
        parse,
        "EXPERIMENT.yaml",
        "Checks an experiment and shows its runs, without running them.",
        dsgd_plugin_option,
        NULL,
        NULL};
    arguments a = {0};
    argp_parse(&argp, count, words, 0, NULL, &a);
    dsgd_experiment experiment;
    dsgd_status status = open_experiment(&a, &experiment, error);
    if (status != DSGD_OK)
        return status;
    if (a.numerics != DSGD_NUMERICS_OFF)
        status = check_learning(&experiment, error);
    if (status != DSGD_OK) {
        dsgd_experiment_close(&experiment);
        return status;
    }
    print_plan(&experiment);
    dsgd_experiment_close(&experiment);
    return DSGD_OK;
}

const dsgd_command dsgd_command_run = {
    .name = "run",
    .usage = "EXPERIMENT.yaml",
    .summary = "runs an experiment and writes its results",
    .run = run,
};

const dsgd_command dsgd_command_check = {
    .name = "check",
    .usage = "EXPERIMENT.yaml",
    .summary = "checks an experiment and shows its runs, without running them",
    .run = check,
};
