/**
 * @file tune.c
 * Implements `dsgd tune`. It finds the best learning rate of each algorithm, or the best values of
 * other options.
 */
#include "command/studies/tune/tune.h"

#include "base/file.h"
#include "command/console/command.h"
#include "command/experiment/config.h"
#include "command/experiment/plugin.h"
#include "command/runs/prepare.h"
#include "command/runs/swept.h"
#include "command/studies/study.h"

typedef struct arguments {
    dsgd_operands file;
    const char *folder, *target;
    dsgd_texts over, sets, plugins;
    int64_t jobs, seeds, threads; /* number of processes, of seeds and of threads; 0 if the user
                                   * does not give the option */
    int on, numerics, progress;
    dsgd_run_limits limits;
    bool force;
} arguments;

static const char *const on_words[] = {"time", "steps", NULL};

enum { DEFAULT_SEEDS = 3, MOST_SEEDS = 100 };

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, target, "target", 't', "WHAT=NUMBER",
                  "Target to reach: accuracy=NUMBER or loss=NUMBER, as in `dsgd compare`"),
    DSGD_ARGUMENT(WORD, on, "on", 0, "WHAT",
                  "Criterion to minimise: virtual time (time) or steps (steps) until the target is "
                  "reached [default: time]. Without --target, the best is the best accuracy or "
                  "loss at the end, or the highest throughput if nothing is learned",
                  .words = on_words),
    DSGD_ARGUMENT(
        TEXTS, over, "over", 0, "PATH=VALUES",
        "Tries these values of PATH: FROM:TO:N (N values with equal factors between them), or what "
        "can follow `sweep:` in an experiment. PATH is learn.optimizer.KEY, exchange.KEY or "
        "failures.KEY (for each algorithm), or LABEL.KEY (for one algorithm), such as "
        "wagma.group=[2, 4, 8]. May be repeated: then all combinations are tried. If "
        "learn.optimizer.lr is not given, tries nine rates around the one in the file, each twice "
        "the one before, and further rates while the best one is the smallest or the largest"),
    DSGD_ARGUMENT(COUNT, seeds, "seeds", 0, "N", "Number of seeds in the last round [default: 3]"),
    DSGD_ARGUMENT(TEXT, folder, "output", 'o', "DIR",
                  "Folder of the results [default: results/NAME-tune]"),
    DSGD_ARGUMENT(COUNT, jobs, "jobs", 'j', "N",
                  "Number of runs at the same time [default: number of cores]"),
    DSGD_ARGUMENT(TEXTS, sets, "set", 0, "A.B=C",
                  "Overrides a value of the experiment (may be repeated)"),
    DSGD_ARGUMENT(WORD, numerics, "numerics", 0, "WHERE",
                  "Where to compute gradients: auto, cpu or cuda [default: auto]",
                  .words = dsgd_computing_words),
    DSGD_ARGUMENT(COUNT, threads, "threads", 0, "N", "As in `dsgd run`"),
    DSGD_ARGUMENT_LIMITS(limits),
    DSGD_ARGUMENT(WORD, progress, "progress", 0, "FORM", "As in `dsgd run`: auto, json or off",
                  .words = dsgd_progress_forms),
    DSGD_ARGUMENT(FLAG, force, "force", 0, NULL, "As in `dsgd run`: executes all runs again"),
    DSGD_ARGUMENT_PLUGIN,
    DSGD_ARGUMENT_RESUME,
    {.name = NULL},
};

/** Reads the criterion and the number of seeds from the options of the command line. */
static dsgd_status read_arguments(const arguments *a, dsgd_tune *t, dsgd_error *error)
{
    DSGD_TRY(dsgd_target_parse(a->target, &t->target, error));
    t->on = a->target == NULL ? DSGD_TUNE_FINAL : (dsgd_tune_on)(a->on < 0 ? 0 : a->on);
    t->n_seeds = a->seeds > 0 ? (size_t)a->seeds : DEFAULT_SEEDS;
    if (a->on >= 0 && a->target == NULL)
        return dsgd_refuse(error,
                           "--on %s needs a target: give --target accuracy=NUMBER or loss=NUMBER",
                           on_words[a->on]);
    if (t->n_seeds > MOST_SEEDS)
        return dsgd_refuse(error, "--seeds must be at most %d, got %jd", MOST_SEEDS, a->seeds);
    return DSGD_OK;
}

/* --- tuned.yaml ------------------------------------------------------------------------------- */

/** Writes the user's experiment with the best values to the file tuned.yaml. */
static dsgd_status write_tuned(const dsgd_tune *t, dsgd_error *error)
{
    dsgd_lines sets = {0, NULL};
    for (size_t i = 0; i < t->own->n; i++)
        if (dsgd_is_of_algorithms(t->own->v[i]))
            dsgd_tune_add(&sets, t->own->v[i]);
    /* Turn the algorithms into mappings first, because only then can their options be set. */
    dsgd_tune_add(&sets, t->sets.v[t->own->n]);
    for (size_t i = 0; i < t->n_algorithms; i++) {
        const dsgd_tuned *const a = &t->algorithms[i];
        const dsgd_planned_run *const run =
            &t->grid.runs[dsgd_tune_run(t, a->ranked->candidate, 0, 0)];
        for (size_t k = 0; dsgd_tune_has_best(a) && k < t->n_options; k++)
            if (run->swept[k] != NULL)
                dsgd_tune_add(
                    &sets, dsgd_xprintf("algorithms.%zu.%s=%s", i, t->options[k], run->swept[k]));
    }
    dsgd_tune_add(&sets, dsgd_xprintf("name=%s-tuned", t->plain->name));
    char *text = NULL;
    dsgd_whole_file file;
    DSGD_TRY(dsgd_config_edited(t->plain->path, sets.v, sets.n, &text, error));
    if (dsgd_whole_open(&file, error, "%s/tuned.yaml", t->pool.folder) == NULL)
        return DSGD_EIO;
    fprintf(file.stream, "# Written by `%s`; runs.csv contains all runs.\n%s", t->command, text);
    return dsgd_whole_close(&file, error);
}

/**
 * Prints the commands that copy and run the tuned experiment. The copy must be in the same folder
 * as the user's file, because the file may name other files by relative paths.
 */
static void print_end(const dsgd_tune *t)
{
    const char *const path = t->plain->path, *const slash = strrchr(path, '/');
    char *command = dsgd_xstrdup("cp");
    const char *const tuned = dsgd_xprintf(
        "%.*s%s-tuned.yaml", slash == NULL ? 0 : (int)(slash + 1 - path), path, t->plain->name);
    dsgd_append_word(&command, dsgd_xprintf("%s/tuned.yaml", t->pool.folder));
    dsgd_append_word(&command, tuned);
    dsgd_append(&command, " && dsgd run");
    dsgd_append_word(&command, tuned);
    for (size_t i = 0; i < t->own->n; i++)
        if (!dsgd_is_of_algorithms(t->own->v[i])) {
            dsgd_append(&command, " --set");
            dsgd_append_word(&command, t->own->v[i]);
        }
    printf("all runs: %s/runs.csv\ntuned: %s\n", t->pool.folder, command);
}

/* --- the command ------------------------------------------------------------------------------ */

static dsgd_status conclude(void *state, const dsgd_pool_counts *done, dsgd_error *error)
{
    (void)done; /* If runs fail, the study ends before it calls this function. */
    const dsgd_tune *const t = state;
    DSGD_TRY(write_tuned(t, error));
    DSGD_TRY(dsgd_tune_print(t, error));
    print_end(t);
    return DSGD_OK;
}

/**
 * Opens the grid of candidates. The user's --set assignments have already been checked, so an error
 * in an assignment comes from an option --over.
 */
static dsgd_status open_grid(dsgd_tune *t, int numerics, dsgd_error *error)
{
    static const char set[] = "--set ";
    const dsgd_status status =
        dsgd_experiment_open(t->plain->path, t->sets.v, t->sets.n, numerics, &t->grid, error);
    const dsgd_error before = *error;
    if (status != DSGD_OK && strncmp(before.text, set, sizeof set - 1) == 0)
        dsgd_refuse(error, "--over %s", before.text + sizeof set - 1);
    return status;
}

/** Executes those runs of the grid that the rungs need. */
static dsgd_status tune_file(const arguments *a, dsgd_tune *t, dsgd_error *error)
{
    DSGD_TRY(dsgd_tune_plan(t, &a->over, error));
    DSGD_TRY(open_grid(t, a->numerics, error));
    t->pool = (dsgd_pool_config){
        .experiment = &t->grid,
        .folder = a->folder != NULL ? a->folder : dsgd_xprintf("results/%s-tune", t->plain->name),
        .command = t->command,
        .jobs = a->jobs,
        .threads = a->threads,
        .limits = a->limits,
        .anew = a->force,
        .numerics = a->numerics,
        .progress = (dsgd_progress_form)a->progress};
    dsgd_prepare_left_out(&t->grid);
    DSGD_TRY(dsgd_tune_find(t, error));
    DSGD_TRY(dsgd_experiment_settle(&t->grid, a->numerics, error));
    DSGD_TRY(dsgd_study_prepare(&t->pool, error));
    const dsgd_study study = {{t, dsgd_tune_choose, dsgd_tune_advance}, NULL, conclude};
    return dsgd_study_run(&study, &t->pool, &a->plugins, error);
}

static dsgd_status tune(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "EXPERIMENT.yaml",
        "Finds the best learning rate of each algorithm of an experiment, or the best values of "
        "other options, by successive halving. Writes DIR/tuned.yaml, the experiment with the best "
        "values, and DIR/tune.csv, the printed table.",
        1,
        1,
        "tune: give one experiment file, such as `dsgd tune experiment.yaml`",
        options};
    arguments a = {.on = -1};
    char *const command = dsgd_shell_command((size_t)count, words);
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    dsgd_experiment plain;
    dsgd_tune t = {.plain = &plain, .command = command, .own = &a.sets};
    DSGD_TRY(read_arguments(&a, &t, error));
    DSGD_TRY(dsgd_plugins_load(&a.plugins, error));
    DSGD_TRY(dsgd_experiment_open(a.file.v[0], a.sets.v, a.sets.n, a.numerics, &plain, error));
    for (size_t i = 0; i < a.sets.n; i++)
        dsgd_tune_add(&t.sets, a.sets.v[i]);
    return tune_file(&a, &t, error);
}

const dsgd_command dsgd_command_tune = {
    .name = "tune",
    .usage = "EXPERIMENT.yaml",
    .summary = "finds the best learning rate of each algorithm, or other options",
    .run = tune,
};
