/**
 * @file task.c
 * Implements `dsgd task`. It executes a learner's experiment and prints whether the experiment
 * reaches the goals of its task.
 */
#include <unistd.h>

#include "base/program.h"
#include "command/analysis/comparison.h"
#include "command/analysis/frame.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/console/table.h"
#include "command/experiment/config.h"
#include "command/experiment/plugin.h"
#include "command/runs/pool.h"
#include "command/runs/results.h"
#include "command/studies/study.h"

/* --- the file --------------------------------------------------------------------------------- */

typedef struct goal {
    /*
     * measure, label of the algorithm, label of the other algorithm, and target; the last two are
     * NULL if the goal does not set them
     */
    const char *measure, *of, *against, *target;
    double at_least, at_most; /* smallest and largest accepted value of the measure; negative if
                               * there is no limit */
} goal;

typedef struct task {
    const char *path, *question, *given;
    dsgd_lines may_change;
    dsgd_structs goals;
    dsgd_config *config; /* the task file */
    dsgd_pool_config runs; /* runs of the learner's experiment */
} task;

static const char *const no_limit[] = {"none", NULL};

static const dsgd_option goal_options[] = {
    DSGD_OPTION_STRING(goal, measure,
                       "measure: a column of runs.csv, or a measure of `dsgd compare` such as "
                       "time_to_target_s; the mean over several seeds",
                       .required = true),
    DSGD_OPTION_STRING(goal, of, "label of the algorithm", .required = true),
    DSGD_OPTION_STRING(goal, against,
                       "label of another algorithm: the limits apply to the ratio of the two "
                       "measures, over several seeds to its geometric mean"),
    DSGD_OPTION_STRING(
        goal, target,
        "target of the measure: accuracy=NUMBER or loss=NUMBER (measures to a target only)"),
    DSGD_OPTION_DOUBLE(goal, at_least, -1, 0, 1e300, NULL, "lower limit of the measure",
                       .words = no_limit),
    DSGD_OPTION_DOUBLE(goal, at_most, -1, 0, 1e300, NULL, "upper limit of the measure",
                       .words = no_limit),
    DSGD_OPTION_END,
};

const dsgd_option dsgd_task_options[] = {
    DSGD_OPTION_STRING(task, question, "question of the task, in a sentence", .required = true),
    DSGD_OPTION_STRING(task, given, "file of the given experiment", .required = true),
    DSGD_OPTION_AS("may_change", LINES, task, may_change,
                   "keys of the experiment that a solution may change, such as "
                   "[algorithms.0.period, exchange]",
                   .required = true),
    DSGD_OPTION_STRUCTS(
        task, goals, goal, goal_options,
        "goals, each of which must be reached for all numbers of workers and swept values",
        .required = true),
    DSGD_OPTION_END,
};

/**
 * Returns the index of a measure of `dsgd compare`. Returns DSGD_N_MEASURES if @p name is not a
 * measure.
 */
static size_t find_measure(const char *name)
{
    size_t m = 0;
    while (m < DSGD_N_MEASURES && strcmp(dsgd_measures[m].name, name) != 0)
        m++;
    return m;
}

static const goal *goal_at(const task *t, size_t i)
{
    return (const goal *)t->goals.v + i;
}

/** Sets an error about a key of goal @p i. */
static dsgd_status goal_fails(const task *t, size_t i, const char *key, dsgd_error *error,
                              const char *sentence)
{
    size_t n = 0;
    dsgd_yaml *const entry =
        dsgd_yaml_elements(dsgd_yaml_find(dsgd_config_root(t->config), "goals"), &n)[i];
    dsgd_yaml *const value = dsgd_yaml_find(entry, key);
    return dsgd_yaml_fail(t->config, value != NULL ? value : entry, error, "%s", sentence);
}

static dsgd_status check_goal(const task *t, size_t i, dsgd_error *error)
{
    const goal *const g = goal_at(t, i);
    const size_t m = find_measure(g->measure);
    const bool to_target = m < DSGD_N_MEASURES && dsgd_measures[m].along != NULL;
    dsgd_target target;
    if (g->at_least < 0 && g->at_most < 0)
        return goal_fails(t, i, "measure", error, "the goal needs at_least or at_most");
    if (to_target != (g->target != NULL))
        return goal_fails(t, i, "measure", error,
                          to_target ? "a measure to a target needs `target`, such as loss=0.1"
                                    : "the goal has a target, but its measure does not need one");
    if (dsgd_target_parse(g->target, &target, NULL) != DSGD_OK)
        return goal_fails(t, i, "target", error,
                          "target must be accuracy=NUMBER (from 0 to 1) or loss=NUMBER");
    return DSGD_OK;
}

/** Reads the task file @p file. If @p file is NULL, reads the task that the experiment names. */
static dsgd_status read_task(const dsgd_experiment *experiment, const char *file, task *t,
                             dsgd_error *error)
{
    const char *const name = experiment->runs[0].task;
    *t = (task){.path = file};
    if (name == NULL && file == NULL)
        return dsgd_refuse(
            error, "%s: the experiment names no task; add `task: FILE`, or give --task FILE",
            experiment->path);
    const char *const path = file != NULL ? file : dsgd_config_path(experiment->config, name);
    t->path = path;
    DSGD_TRY(dsgd_config_open_named(experiment->config, path, &t->config, error));
    DSGD_TRY(dsgd_config_read(t->config, dsgd_config_root(t->config), dsgd_task_options, NULL, t,
                              error));
    if (t->goals.n == 0)
        return dsgd_yaml_fail(t->config, NULL, error,
                              "goals is an empty list; give at least one goal");
    for (size_t i = 0; i < t->goals.n; i++)
        DSGD_TRY(check_goal(t, i, error));
    return DSGD_OK;
}

/* --- the learner's experiment ----------------------------------------------------------------- */

/**
 * Checks the learner's experiment. It may differ from the given experiment only in keys that may
 * change, and it must contain the algorithms of the goals.
 */
static dsgd_status check_changes(const dsgd_experiment *experiment, const task *t,
                                 dsgd_error *error)
{
    dsgd_experiment given;
    const char *const path = dsgd_config_path(t->config, t->given);
    DSGD_TRY(dsgd_experiment_open(path, NULL, 0, DSGD_NUMERICS_OFF, &given, error));
    const char **const paths = dsgd_keep(t->may_change.n + 1, sizeof *paths);
    memcpy(paths, t->may_change.v, t->may_change.n * sizeof *paths);
    DSGD_TRY(dsgd_config_check_changes(experiment->config, given.config, paths, error));
    for (size_t i = 0; i < 2 * t->goals.n; i++) {
        const goal *const g = goal_at(t, i / 2);
        const char *const label = i % 2 == 0 ? g->of : g->against;
        bool found = label == NULL;
        for (size_t k = 0; !found && k < experiment->n_runs; k++)
            found = strcmp(experiment->runs[k].label, label) == 0;
        if (!found)
            return dsgd_refuse(
                error,
                "%s: no algorithm has the label `%s`, which a goal of the task needs; "
                "give an algorithm this label",
                experiment->path, label);
    }
    return DSGD_OK;
}

/* --- goals ------------------------------------------------------------------------------------ */

/** Measured values for a goal at one place (a combination of workers and swept values). */
typedef struct outcome {
    double of, against, ratio; /* measure of each of the two algorithms, and the ratio of these
                                * measures; NAN if a measure does not exist */
    bool met;
} outcome;

/**
 * Computes the measure of each row. The result is NAN if the row has no measure or diverged.
 * Returns DSGD_EUSAGE if the measure is a text.
 */
static dsgd_status read_measure(const dsgd_comparison *c, const char *measure, double *x)
{
    const size_t m = find_measure(measure), column = dsgd_csv_column(&c->csv, measure);
    for (size_t row = 0; row < c->csv.n_rows; row++) {
        x[row] = m < DSGD_N_MEASURES && c->numbers[m] != NULL ? c->numbers[m][row] : NAN;
        if (m == DSGD_N_MEASURES && dsgd_frame_counts(&c->frame, row, measure))
            DSGD_TRY(dsgd_csv_read_number(&c->csv, row, column, &x[row], NULL));
    }
    return DSGD_OK;
}

/**
 * Compares the mean of a measure over all seeds with the limits of a goal. All seeds must have the
 * measure. @p x contains the measure of each row.
 */
static outcome judge(const dsgd_comparison *c, const goal *want, const dsgd_frame_point *g,
                     const double *x)
{
    /* relative rounding error of times and means; for example, 3 * 0.1 differs from 0.3 */
    static const double rounding = 1e-9;
    double *const of = dsgd_keep(3 * g->n_rows, sizeof *of);
    double *const against = of + g->n_rows, *const logs = against + g->n_rows;
    for (size_t i = 0; i < g->n_rows; i++) {
        const size_t other = want->against == NULL || g->baseline == NULL
                                 ? SIZE_MAX
                                 : dsgd_frame_seed(&c->frame, g->baseline, g->rows[i]);
        of[i] = x[g->rows[i]];
        against[i] = other == SIZE_MAX ? NAN : x[other];
        logs[i] = log(of[i] / against[i]);
    }
    outcome o = {.of = dsgd_mean(of, g->n_rows).mean,
                 .against = dsgd_mean(against, g->n_rows).mean,
                 .ratio = dsgd_ratio_of(logs, g->n_rows).ratio};
    const double reached = want->against == NULL ? o.of : o.ratio;
    o.met = (want->at_least < 0 || reached >= want->at_least * (1 - rounding)) &&
            (want->at_most < 0 || reached <= want->at_most * (1 + rounding)) && !isnan(reached);
    return o;
}

static const char *number(double x)
{
    return isnan(x) ? "none" : dsgd_xprintf(fabs(x) < 1000 || fabs(x) >= 1e9 ? "%.4g" : "%.0f", x);
}

/** Prints the result of a goal: the measured value and the limits. */
static void print_outcome(const dsgd_comparison *c, const dsgd_frame_point *g, const goal *want,
                          const outcome *o)
{
    char *const label = dsgd_frame_label(&c->frame, g);
    const char *measure = want->measure;
    if (strcmp(want->measure, dsgd_measures[DSGD_THROUGHPUT].name) == 0)
        measure = "samples/s";
    else if (strcmp(want->measure, dsgd_measures[DSGD_TO_TARGET].name) == 0)
        measure = dsgd_xprintf("virtual seconds to %s", want->target);
    else if (want->target != NULL)
        measure = dsgd_xprintf("%s, %s", want->measure, want->target);
    char *text = dsgd_xprintf("%s of %s: %s", measure, label, number(o->of));
    if (want->against != NULL && isnan(o->ratio))
        dsgd_append(&text, ", of %s %s", want->against, number(o->against));
    else if (want->against != NULL)
        dsgd_append(&text, ", %.4g times %s's %s", o->ratio, want->against, number(o->against));
    dsgd_append(&text, ";");
    if (want->at_least >= 0)
        dsgd_append(&text, " at least %.10g", want->at_least);
    if (want->at_most >= 0)
        dsgd_append(&text, "%s at most %.10g", want->at_least >= 0 ? " and" : "", want->at_most);
    const char *const verdict = o->met ? "passed: " : "not yet: ";
    dsgd_print_text(verdict, (int)strlen(verdict), "%s%s asked", text,
                    want->against == NULL ? " is" : " times is");
}

/**
 * Checks a goal at all places. If a place misses the goal, prints the result at the first such
 * place. Otherwise, prints the result at the first place.
 */
static dsgd_status judge_goal(const task *t, size_t i, bool *met, dsgd_error *error)
{
    const goal *const want = goal_at(t, i);
    const dsgd_framing how = {.baseline = want->against};
    const dsgd_frame_point *shown = NULL;
    outcome of_shown = {.met = true};
    dsgd_comparison c;
    DSGD_TRY(dsgd_comparison_open(t->runs.folder, &how, want->target, &c, error));
    if (find_measure(want->measure) == DSGD_N_MEASURES &&
        dsgd_csv_column(&c.csv, want->measure) == c.csv.n_columns)
        return goal_fails(t, i, "measure", error,
                          "measure must be a column of runs.csv or a measure of `dsgd compare`");
    double *const x = dsgd_keep(c.csv.n_rows, sizeof *x);
    if (read_measure(&c, want->measure, x) != DSGD_OK)
        return goal_fails(t, i, "measure", error, "measure must be a column of numbers");
    for (size_t k = 0; of_shown.met && k < c.frame.n_points; k++) {
        const dsgd_frame_point *const g = &c.frame.points[k];
        if (strcmp(dsgd_frame_value(&c.frame, g, 0), want->of) != 0)
            continue;
        const outcome o = judge(&c, want, g, x);
        if (shown == NULL || !o.met) {
            shown = g;
            of_shown = o;
        }
    }
    print_outcome(&c, shown, want, &of_shown);
    *met = of_shown.met;
    return DSGD_OK;
}

/* --- the command ------------------------------------------------------------------------------ */

typedef struct arguments {
    dsgd_operands file;
    const char *task;
    dsgd_texts sets, plugins;
    int64_t jobs, threads; /* number of processes, and number of threads; 0 if the user does not
                            * give the option */
    int numerics;
    dsgd_run_limits limits;
} arguments;

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, task, "task", 0, "FILE",
                  "Uses this task instead of the task that the experiment names, for example to "
                  "mark a solution"),
    DSGD_ARGUMENT(COUNT, jobs, "jobs", 'j', "N",
                  "Number of runs at the same time [default: number of cores]"),
    DSGD_ARGUMENT(TEXTS, sets, "set", 0, "A.B=C",
                  "Overrides a value of the experiment (may be repeated)"),
    DSGD_ARGUMENT(WORD, numerics, "numerics", 0, "WHERE",
                  "Where to compute gradients: auto, cpu or cuda [default: auto]",
                  .words = dsgd_computing_words),
    DSGD_ARGUMENT(COUNT, threads, "threads", 0, "N", "As in `dsgd run`"),
    DSGD_ARGUMENT_LIMITS(limits),
    DSGD_ARGUMENT_PLUGIN,
    {.name = NULL},
};

/** Prints the result of each goal of a task after all runs have ended. */
static dsgd_status ask(void *state, dsgd_error *error)
{
    (void)error;
    const task *const t = state;
    printf("task %s\n", t->path);
    dsgd_print_text("", 0, "%s", t->question);
    dsgd_program_flush();
    return DSGD_OK;
}

static dsgd_status judge_runs(void *state, const dsgd_pool_counts *done, dsgd_error *error)
{
    const task *const t = state;
    const dsgd_experiment *const experiment = t->runs.experiment;
    for (size_t i = 0; done->n_failed > 0 && i < experiment->n_runs; i++)
        if (dsgd_results_state(t->runs.results, i) != DSGD_RUN_DONE)
            return dsgd_fail(error, DSGD_ERUNS, "%zu of %zu runs failed; run %zu (%s): %s",
                             done->n_failed, done->n_runs, i + 1, experiment->runs[i].label,
                             dsgd_results_why(t->runs.results, i));
    size_t n_met = 0;
    for (size_t i = 0; i < t->goals.n; i++) {
        bool met = false;
        DSGD_TRY(judge_goal(t, i, &met, error));
        n_met += met;
    }
    if (t->goals.n > 1)
        printf("\n%s: %zu of %zu goals are met\n", n_met == t->goals.n ? "passed" : "not yet",
               n_met, t->goals.n);
    *error = (dsgd_error){""}; /* Clear the error message, because the missed goals have already
                                * been printed. */
    return n_met < t->goals.n ? DSGD_ERUNS : DSGD_OK;
}

static dsgd_status run(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "EXPERIMENT.yaml",
        "Executes an experiment that names a task, and reports whether it reaches the goals of the "
        "task: exit status 0 if it does, 5 if it does not. The experiment may differ from the "
        "given "
        "one only in the keys that the task allows. `dsgd describe task` lists the keys of a task.",
        1,
        1,
        "task: give one experiment file, such as `dsgd task start.yaml`",
        options};
    arguments a = {.limits = {0}};
    dsgd_experiment experiment;
    task t;
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    DSGD_TRY(dsgd_plugins_load(&a.plugins, error));
    DSGD_TRY(dsgd_experiment_open(a.file.v[0], a.sets.v, a.sets.n, a.numerics, &experiment, error));
    DSGD_TRY(read_task(&experiment, a.task, &t, error));
    DSGD_TRY(check_changes(&experiment, &t, error));
    t.runs = (dsgd_pool_config){.experiment = &experiment,
                                .command = "dsgd task",
                                .jobs = a.jobs,
                                .threads = a.threads,
                                .limits = a.limits,
                                .numerics = a.numerics,
                                .progress =
                                    isatty(STDERR_FILENO) ? DSGD_PROGRESS_AUTO : DSGD_PROGRESS_OFF};
    const dsgd_study study = {{.state = &t}, ask, judge_runs};
    DSGD_TRY(dsgd_study_prepare(&t.runs, error));
    /* The study uses a temporary results folder. */
    return dsgd_study_run(&study, &t.runs, &a.plugins, error);
}

const dsgd_command dsgd_command_task = {
    .name = "task",
    .usage = "EXPERIMENT.yaml",
    .summary = "executes an experiment and reports whether it reaches the goals of its task",
    .run = run,
};
