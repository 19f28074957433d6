/**
 * @file tune.c
 * `dsgd tune`: the best learning rate of each algorithm, and other options.
 */
#include "command/studies/tune/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "command/console/command.h"
#include "command/console/table.h"
#include "command/experiment/edit.h"
#include "command/experiment/plugin.h"
#include "command/runs/prepare.h"
#include "command/runs/swept.h"
#include "command/studies/study.h"

typedef struct arguments {
    dsgd_operands file;
    const char *folder, *target;
    dsgd_texts over, sets, plugins;
    long jobs, seeds, threads; /* 0: not given */
    int on, numerics, progress;
    dsgd_run_limits limits;
    bool force;
} arguments;

/* `auto` first: what was not given. */
static const char *const on_words[] = {"auto", "time", "steps", "final", NULL};

enum { DEFAULT_SEEDS = 3, MOST_SEEDS = 100 };

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, target, "target", 't', "WHAT=NUMBER",
                  "What is to be reached: accuracy=NUMBER or loss=NUMBER, as of `dsgd compare`"),
    DSGD_ARGUMENT(WORD, on, "on", 0, "WHAT",
                  "What is best: the least virtual time to the target (time), the fewest steps "
                  "(steps), or the best accuracy or loss at the end (final). Without it, time with "
                  "a target and final without",
                  .words = on_words),
    DSGD_ARGUMENT(TEXTS, over, "over", 0, "PATH=VALUES",
                  "Tries FROM:TO:N, by equal factors, or what stands behind `sweep:` in an "
                  "experiment. PATH is learn.optimizer.KEY or exchange.KEY, of each algorithm, or "
                  "LABEL.KEY of one, such as wagma.group=[2, 4, 8]; may be repeated, then all "
                  "combinations are tried. Without one for learn.optimizer.lr, nine rates around "
                  "the file's, by factors of 2, and others beyond where the best is at an end"),
    DSGD_ARGUMENT(COUNT, seeds, "seeds", 0, "N", "Seeds of the last rung (3)"),
    DSGD_ARGUMENT(TEXT, folder, "output", 'o', "DIR", "Folder of the results (results/NAME-tune)"),
    DSGD_ARGUMENT(COUNT, jobs, "jobs", 'j', "N", "Runs at the same time (the number of cores)"),
    DSGD_ARGUMENT(TEXTS, sets, "set", 0, "A.B=C",
                  "Overrides a value of the experiment; may be repeated"),
    DSGD_ARGUMENT(WORD, numerics, "numerics", 0, "WHERE", "Gradients on auto, cpu or cuda",
                  .words = dsgd_computing_words),
    DSGD_ARGUMENT(COUNT, threads, "threads", 0, "N", "As in `dsgd run`"),
    DSGD_ARGUMENT_LIMITS(limits),
    DSGD_ARGUMENT(WORD, progress, "progress", 0, "FORM", "As in `dsgd run`: auto, json or off",
                  .words = dsgd_progress_forms),
    DSGD_ARGUMENT(FLAG, force, "force", 0, NULL, "As in `dsgd run`: does all anew"),
    DSGD_ARGUMENT_PLUGIN,
    DSGD_ARGUMENT_RESUME,
    {.name = NULL},
};

/** What is asked, from the command line. */
static dsgd_status read_arguments(const arguments *a, dsgd_tune *t, dsgd_error *error)
{
    const dsgd_status status = dsgd_target_parse(a->target, &t->target, error);
    if (status != DSGD_OK)
        return status;
    t->on = a->on > 0           ? (dsgd_tune_on)(a->on - 1)
            : a->target != NULL ? DSGD_TUNE_TIME
                                : DSGD_TUNE_FINAL;
    t->n_seeds = a->seeds > 0 ? (size_t)a->seeds : DEFAULT_SEEDS;
    if (t->on != DSGD_TUNE_FINAL && a->target == NULL)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "--on %s: to what? Give --target accuracy=NUMBER or "
                         "loss=NUMBER",
                         on_words[a->on]);
    if (t->on == DSGD_TUNE_FINAL && a->target != NULL)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "--target %s: what counts at the end needs no target; leave out one of "
                         "--target and --on final",
                         a->target);
    if (t->n_seeds > MOST_SEEDS)
        return dsgd_fail(error, DSGD_EUSAGE, "--seeds %ld: %d are the most", a->seeds, MOST_SEEDS);
    return DSGD_OK;
}

/* --- tuned.yaml ------------------------------------------------------------------------------- */

static void add(char ***sets, size_t *n, char *set)
{
    *sets = dsgd_xrealloc(*sets, *n + 1, sizeof **sets);
    (*sets)[(*n)++] = set;
}

/** Assignments of the best values; where there are none, of what the file has. */
static void add_best(const dsgd_tune *t, const dsgd_experiment *plain, char ***sets, size_t *n)
{
    bool *const has_best = dsgd_xcalloc(t->n_contestants, sizeof *has_best);
    for (size_t i = 0; i < t->n_trials; i++) {
        const dsgd_tune_trial *const trial = &t->trials[i];
        const dsgd_tune_contestant *const c = &t->contestants[trial->contestant];
        for (size_t k = 0; trial->fate == DSGD_TUNE_BEST && k < c->n_options; k++) {
            add(sets, n,
                dsgd_xprintf("%s=%s", c->options[k].path,
                             dsgd_tune_text_of(c, trial->candidate, k)));
            has_best[trial->contestant] = true;
        }
    }
    for (size_t i = 0; i < plain->n_runs; i++) {
        const size_t a = plain->runs[i].chosen[DSGD_AXIS_ALGORITHM];
        if (!has_best[a])
            add(sets, n,
                dsgd_xprintf("algorithms.%zu.name=%s", a, plain->runs[i].algorithm.about->name));
        has_best[a] = true;
    }
    free(has_best);
}

/** The user's file with the best values, and a name of its own. */
static dsgd_status write_tuned(const arguments *a, const dsgd_tune *t, const dsgd_experiment *plain,
                               const char *command, dsgd_error *error)
{
    char **sets = NULL;
    size_t n = 0;
    for (size_t i = 0; i < a->sets.n; i++)
        if (dsgd_is_of_algorithms(a->sets.v[i]))
            add(&sets, &n, dsgd_xstrdup(a->sets.v[i]));
    const size_t expands = n;
    add(&sets, &n, dsgd_xstrdup(t->sets[a->sets.n])); /* the list of algorithms as mappings */
    add_best(t, plain, &sets, &n);
    add(&sets, &n, dsgd_xprintf("name=%s-tuned", plain->name));
    char *text = NULL;
    dsgd_status status =
        dsgd_config_edited(plain->path, (const char *const *)sets, n, expands, &text, error);
    dsgd_whole_file file;
    if (status == DSGD_OK && dsgd_whole_open(&file, error, "%s/tuned.yaml", t->folder) != NULL) {
        fprintf(file.stream, "# By `%s`; tune.csv has all that was tried.\n%s", command, text);
        status = dsgd_whole_close(&file, error);
    } else if (status == DSGD_OK) {
        status = DSGD_EIO;
    }
    for (size_t i = 0; i < n; i++)
        free(sets[i]);
    free(sets);
    free(text);
    return status;
}

/** How to go on; a file that names others by relative paths has to stay beside them. */
static void print_end(const arguments *a, const dsgd_tune *t, const dsgd_experiment *plain)
{
    char *const tuned = dsgd_xprintf("%s/tuned.yaml", t->folder);
    dsgd_experiment again;
    dsgd_error why;
    const dsgd_status status =
        dsgd_experiment_open(tuned, a->sets.v, a->sets.n, a->numerics, &again, &why);
    printf("all that was tried: %s/tune.csv\n", t->folder);
    char *command = dsgd_xstrdup("dsgd run");
    dsgd_append_word(&command, tuned);
    for (size_t i = 0; i < a->sets.n; i++)
        if (!dsgd_is_of_algorithms(a->sets.v[i])) {
            dsgd_append(&command, " --set");
            dsgd_append_word(&command, a->sets.v[i]);
        }
    printf("tuned: %s\n", command);
    free(command);
    if (status == DSGD_OK)
        dsgd_experiment_close(&again);
    else
        printf("Copy it beside %s first, which names other files: there\n%s\n", plain->path,
               why.text);
    free(tuned);
}

/* --- the command ------------------------------------------------------------------------------ */

/** A tuning under way, as the state of a study. */
typedef struct tuning {
    const arguments *arguments;
    dsgd_tune *tune;
    const dsgd_experiment *plain;
    const char *command;
} tuning;

static dsgd_status print_plan(void *state, dsgd_error *error)
{
    (void)error;
    dsgd_tune_print_plan(((const tuning *)state)->tune);
    return DSGD_OK;
}

static void choose(void *state, bool *chosen)
{
    dsgd_tune_choose(((const tuning *)state)->tune, chosen);
}

static dsgd_status advance(void *state, bool *more, dsgd_error *error)
{
    return dsgd_tune_advance(((const tuning *)state)->tune, more, error);
}

static dsgd_status conclude(void *state, const dsgd_pool_counts *done, dsgd_error *error)
{
    (void)done; /* failed runs have ended it */
    const tuning *const of = state;
    dsgd_status status = dsgd_tune_write(of->tune, error);
    if (status == DSGD_OK)
        status = write_tuned(of->arguments, of->tune, of->plain, of->command, error);
    if (status == DSGD_OK) {
        dsgd_tune_print(of->tune);
        print_end(of->arguments, of->tune, of->plain);
    }
    return status;
}

/** A sentence about an assignment that the user did not make is about the --over behind it. */
static void name_over(const dsgd_tune *t, size_t n_own, dsgd_error *error)
{
    static const char set[] = "--set ";
    const size_t n = sizeof set - 1;
    const dsgd_error before = *error;
    for (size_t i = n_own; i < t->n_sets; i++)
        if (strncmp(before.text, set, n) == 0 &&
            strncmp(before.text + n, t->sets[i], strlen(t->sets[i])) == 0)
            dsgd_fail(error, DSGD_EUSAGE, "--over %s", before.text + n);
}

/** Opens the grid and runs what the rungs need of it. */
static dsgd_status tune_open(const arguments *a, dsgd_tune *t, const dsgd_experiment *plain,
                             const char *command, dsgd_error *error)
{
    dsgd_experiment *const grid = &t->grid;
    dsgd_pool_config config = {.experiment = grid,
                               .folder = t->folder,
                               .command = command,
                               .jobs = a->jobs > 0 ? a->jobs : dsgd_cores(),
                               .threads = a->threads,
                               .limits = a->limits,
                               .anew = a->force,
                               .numerics = a->numerics,
                               .progress = (dsgd_progress_form)a->progress};
    dsgd_status status = dsgd_experiment_open(plain->path, (const char *const *)t->sets, t->n_sets,
                                              a->numerics, grid, error);
    if (status != DSGD_OK) {
        name_over(t, a->sets.n, error);
        return status;
    }
    t->experiment = grid;
    dsgd_prepare_left_out(grid);
    status = dsgd_tune_find(t, error);
    if (status == DSGD_OK)
        status = dsgd_experiment_settle(grid, a->numerics, error);
    if (status == DSGD_OK)
        status = dsgd_study_prepare(&config, true, false, error);
    tuning of = {a, t, plain, command};
    const dsgd_study study = {&of, print_plan, choose, advance, conclude};
    if (status == DSGD_OK)
        status = dsgd_study_run(&study, &config, &a->plugins, error);
    t->experiment = NULL;
    dsgd_experiment_close(grid);
    return status;
}

static dsgd_status tune_file(const arguments *a, dsgd_tune *t, const char *command,
                             dsgd_error *error)
{
    dsgd_experiment plain;
    dsgd_status status = dsgd_plugins_load(&a->plugins, error);
    if (status == DSGD_OK)
        status =
            dsgd_experiment_open(a->file.v[0], a->sets.v, a->sets.n, a->numerics, &plain, error);
    if (status != DSGD_OK)
        return status;
    char *const folder =
        a->folder != NULL ? dsgd_xstrdup(a->folder) : dsgd_xprintf("results/%s-tune", plain.name);
    t->folder = folder;
    for (size_t i = 0; i < a->sets.n; i++) {
        t->sets = dsgd_xrealloc(t->sets, t->n_sets + 1, sizeof *t->sets);
        t->sets[t->n_sets++] = dsgd_xstrdup(a->sets.v[i]);
    }
    status = dsgd_tune_plan(t, &plain, &a->over, error);
    if (status == DSGD_OK)
        status = tune_open(a, t, &plain, command, error);
    free(folder);
    dsgd_experiment_close(&plain);
    return status;
}

static dsgd_status tune(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "EXPERIMENT.yaml",
        "Finds the best learning rate of each algorithm of an experiment, or other options, by "
        "successive halving; writes DIR/tuned.yaml, the experiment with them, and DIR/tune.csv, "
        "all that was tried.",
        1,
        1,
        "tune: give the file of one experiment",
        options};
    arguments a = {.folder = NULL};
    char *command = dsgd_xstrdup(words[0]);
    for (int i = 1; i < count; i++)
        dsgd_append(&command, " %s", words[i]);
    dsgd_status status = dsgd_parse(count, words, &syntax, &a, error);
    dsgd_tune t = {.on = DSGD_TUNE_FINAL};
    if (status == DSGD_OK)
        status = read_arguments(&a, &t, error);
    if (status == DSGD_OK)
        status = tune_file(&a, &t, command, error);
    dsgd_tune_close(&t);
    free(command);
    return status;
}

const dsgd_command dsgd_command_tune = {
    .name = "tune",
    .usage = "EXPERIMENT.yaml",
    .summary = "finds each algorithm's best rate, or other options",
    .run = tune,
};
