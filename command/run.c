/**
 * @file run.c
 * Implements `dsgd run`. It executes the runs of an experiment and prints a table of these runs.
 */
#include "base/csv.h"
#include "base/file.h"
#include "base/program.h"
#include "command/analysis/verdict.h"
#include "command/console/command.h"
#include "command/console/table.h"
#include "command/experiment/experiment.h"
#include "command/experiment/plugin.h"
#include "command/runs/exchanges.h"
#include "command/runs/pool.h"
#include "command/runs/prepare.h"
#include "command/runs/results.h"
#include "command/runs/rows.h"
#include "command/runs/selection.h"
#include "command/runs/swept.h"
#include "command/studies/phase.h"
#include "command/studies/sensitivity.h"
#include "command/studies/study.h"

typedef struct arguments {
    dsgd_operands file;
    const char *folder, *sensitivity;
    dsgd_texts sets, plugins;
    const char *only, *shard;
    int64_t jobs, threads; /* number of processes, and number of threads; 0 if the user does not
                            * give the option */
    int numerics, progress;
    double sensitivity_percent; /* variation of numeric parameters in percent; NAN if --sensitivity
                                 * varies only choices */
    dsgd_run_limits limits;
    bool force, refine;
} arguments;

static const dsgd_argument run_options[] = {
    DSGD_ARGUMENT(TEXT, folder, "output", 'o', "DIR",
                  "Folder of the results [default: results/NAME]"),
    DSGD_ARGUMENT(COUNT, jobs, "jobs", 'j', "N",
                  "Number of runs at the same time [default: number of cores]"),
    DSGD_ARGUMENT(TEXTS, sets, "set", 0, "A.B=C",
                  "Overrides a value of the experiment (may be repeated)"),
    DSGD_ARGUMENT(
        WORD, numerics, "numerics", 0, "WHERE",
        "Where to compute gradients: auto, cpu or cuda; off: compute none [default: auto]",
        .words = dsgd_numerics_words),
    DSGD_ARGUMENT(COUNT, threads, "threads", 0, "N",
                  "Computing threads per run, in addition to the thread that simulates [default: "
                  "cores / jobs - 1]; changes no result"),
    DSGD_ARGUMENT(TEXT, only, "only", 0, "RUNS",
                  "Executes only these runs: a number, or a list with ranges, such as 1,3,7:9"),
    DSGD_ARGUMENT(TEXT, shard, "shard", 0, "I/N",
                  "Executes part I of N parts of the list of runs, each with about the same work. "
                  "Each part needs a folder of its own; `dsgd merge` merges the folders"),
    DSGD_ARGUMENT_LIMITS(limits),
    DSGD_ARGUMENT(WORD, progress, "progress", 0, "FORM",
                  "Form of the progress on stderr: auto (a bar, and a row for each run that ends), "
                  "json (an object per line) or off [default: auto]",
                  .words = dsgd_progress_forms),
    DSGD_ARGUMENT(FLAG, force, "force", 0, NULL,
                  "Executes all runs again and replaces the results in the folder. Without it, "
                  "results of the same experiment are kept, and a folder with results of another "
                  "experiment is rejected"),
    DSGD_ARGUMENT(
        TEXT, sensitivity, "sensitivity", 0, "PERCENT",
        "Also runs the experiment with each number of the platform, the workload and the "
        "compression PERCENT smaller and larger [default: 20], and with other collectives and "
        "numbers of chunks. Reports which speed-ups and rankings depend on them. choices: varies "
        "only collectives, chunks and the guessed speed of an encoder. The results are in "
        "results/NAME-sensitivity. --numerics off skips training",
        .implied = "20"),
    DSGD_ARGUMENT(
        FLAG, refine, "refine", 0, NULL,
        "With two swept numbers: runs a coarse grid, then refines it only where the fastest "
        "algorithm changes. Writes DIR/phase.csv; draw it with `dsgd plot DIR phase`"),
    DSGD_ARGUMENT_PLUGIN,
    DSGD_ARGUMENT_RESUME,
    {.name = NULL},
};

enum { MOST_ROWS = 40, MOST_REASONS = 10 };

/**
 * Returns true if the table shows run @p i. It shows unchanged runs (varied runs of --sensitivity
 * have their own summary) and runs that --only or --shard selects.
 */
static bool is_shown(const dsgd_pool_config *p, size_t i)
{
    if (p->chosen != NULL && !p->chosen[i])
        return false;
    return p->selected != NULL ? p->selected[i] : i < p->experiment->n_unchanged;
}

/** Prints why runs failed or diverged. */
static void print_notes(const dsgd_pool_config *p)
{
    size_t n_reasons = 0;
    for (size_t i = 0; i < p->experiment->n_runs; i++) {
        if (!is_shown(p, i))
            continue;
        const char *const why = dsgd_results_why(p->results, i);
        if (*why != '\0' && n_reasons++ < MOST_REASONS) {
            char *const heading =
                dsgd_xprintf("run %zu %s:", i + 1, dsgd_results_field(p->results, i, "status"));
            dsgd_print_text(heading, (int)strlen(heading) + 1, "%s", why);
        }
    }
    if (n_reasons > MOST_REASONS)
        printf("... %zu more in column `why` of runs.csv\n", n_reasons - MOST_REASONS);
}

/** Prints the devices that computed the gradients. */
static void print_devices(const dsgd_pool_config *p)
{
    dsgd_names devices = {.n = 0};
    for (size_t i = 0; i < p->experiment->n_runs; i++) {
        const char *const device = is_shown(p, i) ? dsgd_results_device(p->results, i) : "";
        if (*device != '\0')
            dsgd_names_add(&devices, dsgd_xstrdup(device));
    }
    if (devices.n > 0)
        fprintf(stderr, "gradients computed on: %s\n", dsgd_listed(devices.v, " and "));
}

/** columns of runs.csv that the table on stdout contains */
static const struct {
    const char *name, *head;
    /* the column is hidden if all runs have this text; NULL if the column is always shown */
    const char *skipped;
} results[] = {
    {"status", "status", "ok"},          {"throughput_samples_per_s", "samples/s", NULL},
    {"step_mean_s", "step (s)", NULL},   {"final_loss", "loss", "-"},
    {"final_accuracy", "accuracy", "-"}, {"wall_s", "wall (s)", NULL},
};

enum { N_RESULTS = sizeof results / sizeof results[0] };

static void print_table(const dsgd_pool_config *p)
{
    const dsgd_experiment *const experiment = p->experiment;
    const char *const folder = p->results->folder;
    size_t n = 0;
    dsgd_columns t = {.wraps = false};
    for (size_t i = 0; i < experiment->n_runs; i++) {
        if (!is_shown(p, i) || n++ >= MOST_ROWS)
            continue;
        dsgd_row_plan(&t, experiment, i);
        for (size_t k = 0; k < experiment->n_columns; k++)
            if (dsgd_row_shows(experiment, k))
                dsgd_columns_take(&t, dsgd_swept_name(experiment->columns[k]),
                                  dsgd_row_value(experiment, i, k));
        for (size_t k = 0; k < N_RESULTS; k++)
            dsgd_columns_take(&t, results[k].head, dsgd_row_result(p->results, i, results[k].name));
        dsgd_exchanges_put(&t, p->results, i);
    }
    for (size_t k = 0; k < experiment->n_columns; k++) /* Hide swept columns that have no value in
                                                        * any row. */
        dsgd_columns_hide(&t, dsgd_swept_name(experiment->columns[k]), "");
    for (size_t k = 0; k < N_RESULTS; k++)
        if (results[k].skipped != NULL)
            dsgd_columns_hide(&t, results[k].head, results[k].skipped);
    char *const exchange = dsgd_exchanges_fold(&t);
    dsgd_columns_print(&t);
    if (n > t.n_rows)
        printf("... %zu more in %s/runs.csv\n", n - t.n_rows, folder);
    print_notes(p);
    if (p->numerics != DSGD_NUMERICS_OFF)
        dsgd_splits_print(experiment);
    printf("\n%s%sresults: %s/runs.csv, curves.csv, workers.csv, manifest.json\n"
           "figures: dsgd plot %s\n",
           exchange, *exchange == '\0' ? "" : "\n", folder, dsgd_shell_word(folder));
}

/* --- the study -------------------------------------------------------------------------------- */

/** State of the study that executes the runs of an experiment. */
typedef struct inquiry {
    const arguments *arguments;
    const dsgd_pool_config *config;
    dsgd_phase phase; /* map that shows which algorithm wins at each pair of swept numbers */
    bool has_phase;
} inquiry;

static dsgd_status plan(void *state, dsgd_error *error)
{
    inquiry *const q = state;
    const dsgd_pool_config *const config = q->config;
    const dsgd_status status =
        dsgd_phase_open(config->experiment, config->results, &q->phase, error);
    q->has_phase = status == DSGD_OK;
    if (!q->arguments->refine)
        return DSGD_OK;
    if (q->has_phase)
        dsgd_phase_begin(&q->phase);
    return status;
}

/** Selects the runs for the next round of a phase diagram. */
static void choose(void *state, bool *chosen)
{
    dsgd_phase_choose(&((const inquiry *)state)->phase, chosen);
}

static dsgd_status refine(void *state, bool *more, dsgd_error *error)
{
    (void)error;
    *more = dsgd_phase_refine(&((inquiry *)state)->phase);
    return DSGD_OK;
}

static dsgd_status conclude(void *state, const dsgd_pool_counts *done, dsgd_error *error)
{
    inquiry *const q = state;
    const arguments *const a = q->arguments;
    const dsgd_pool_config *const config = q->config;
    size_t n_chosen = 0;
    for (size_t i = 0; a->refine && i < config->experiment->n_runs; i++)
        n_chosen += config->chosen[i];
    if (a->refine)
        printf("%zu of %zu runs were needed\n", n_chosen, config->experiment->n_unchanged);
    if (q->has_phase && config->selected == NULL)
        DSGD_TRY(dsgd_phase_write(&q->phase, error));
    print_table(config);
    dsgd_csv runs;
    dsgd_program_flush();
    print_devices(config);
    const bool has_runs = dsgd_csv_read(&runs, NULL, "%s/runs.csv", config->folder) == DSGD_OK;
    if (has_runs) {
        dsgd_warn_of_mixed_collectives(stderr, &runs);
        dsgd_exchanges_warn_of_unused(stderr, config->experiment, &runs);
    }
    dsgd_exchanges_warn_of_default(stderr, config->experiment);
    if (a->sensitivity != NULL && config->selected == NULL)
        DSGD_TRY(dsgd_sensitivity_report(config->experiment, config->results,
                                         a->sensitivity_percent, error));
    return done->n_failed == 0
               ? DSGD_OK
               : dsgd_fail(error, DSGD_ERUNS,
                           "%zu of %zu runs failed; the results of the others are in %s",
                           done->n_failed, done->n_runs, config->folder);
}

/*
 * Checks that the experiment fits the options of the command line. Then executes all runs, or the
 * runs that --only or --shard selects.
 */

/**
 * Checks that the experiment fits the command line, then executes all runs or the runs of --only or
 * --shard.
 */
static dsgd_status run_open(const arguments *a, dsgd_pool_config *config, dsgd_error *error)
{
    bool *const selected = dsgd_keep(config->experiment->n_runs + 1, sizeof *selected);
    if (a->shard != NULL && a->only != NULL)
        return dsgd_refuse(error, "--shard %s and --only exclude each other", a->shard);
    if (a->shard != NULL)
        DSGD_TRY(dsgd_selection_shard(config->experiment, a->shard, selected, error));
    else if (a->only != NULL)
        DSGD_TRY(dsgd_selection_only(config->experiment, a->only, selected, error));
    config->selected = a->shard == NULL && a->only == NULL ? NULL : selected;
    dsgd_prepare_left_out(config->experiment);
    if (config->selected == NULL)
        dsgd_exchanges_warn_of_time(stderr, config->experiment);
    if (a->refine && (a->only != NULL || a->shard != NULL || a->sensitivity != NULL))
        return dsgd_refuse(
            error, "--refine selects the runs itself; leave out --only, --shard and --sensitivity");
    DSGD_TRY(dsgd_study_prepare(config, error));
    inquiry q = {.arguments = a, .config = config};
    const dsgd_study study = {
        {&q, a->refine ? choose : NULL, a->refine ? refine : NULL}, plan, conclude};
    return dsgd_study_run(&study, config, &a->plugins, error);
}

static dsgd_status run(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "EXPERIMENT.yaml",
        "Executes all runs of an experiment, each in a process of its own, and writes the results "
        "into a folder.",
        1,
        1,
        "run: give one experiment file, such as `dsgd run experiment.yaml`",
        run_options};
    arguments a = {.folder = NULL};
    char *const command = dsgd_shell_command((size_t)count, words);
    dsgd_experiment experiment;
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    DSGD_TRY(dsgd_plugins_load(&a.plugins, error));
    DSGD_TRY(dsgd_experiment_open(a.file.v[0], a.sets.v, a.sets.n, (dsgd_numerics)a.numerics,
                                  &experiment, error));
    if (a.sensitivity != NULL)
        DSGD_TRY(dsgd_sensitivity_open(a.sensitivity, &experiment, &a.sensitivity_percent, error));
    dsgd_pool_config config = {
        .experiment = &experiment,
        .folder = dsgd_results_folder(a.folder, &experiment, a.sensitivity != NULL),
        .command = command,
        .jobs = a.jobs,
        .threads = a.threads,
        .limits = a.limits,
        .numerics = a.numerics,
        .anew = a.force,
        .progress = (dsgd_progress_form)a.progress};
    return run_open(&a, &config, error);
}

const dsgd_command dsgd_command_run = {
    .name = "run",
    .usage = "EXPERIMENT.yaml",
    .summary = "executes an experiment and writes its results",
    .run = run,
};
