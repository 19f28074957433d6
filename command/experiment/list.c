/**
 * @file list.c
 * Removes runs that algorithms reject, and checks that the names of runs are unique.
 */
#include "command/experiment/experiment.h"

#include "base/json.h"
#include "sim/network/cluster.h"
#include "sim/run.h"
#include "traces/platform.h"

/**
 * Returns true if the check of the previous run also covers run @p i. A check should not be
 * repeated, because checking a user's SimGrid XML needs a process.
 */
static bool is_checked(const dsgd_experiment *experiment, size_t i)
{
    static const dsgd_option checked[] = {
        DSGD_OPTION_STRUCT(dsgd_planned_run, platform, dsgd_platform_options, NULL),
        DSGD_OPTION_LINES(dsgd_planned_run, config.placement, NULL, NULL), DSGD_OPTION_END};
    const dsgd_planned_run *const run = &experiment->runs[i], *const before = run - 1;
    if (i == 0 || dsgd_platform_has_numbers(&run->platform) ||
        run->config.network != before->config.network ||
        dsgd_machine_of(&run->config).n_hosts != dsgd_machine_of(&before->config).n_hosts)
        return false;
    void *const mark = dsgd_mark();
    const bool is =
        json_equal(dsgd_json_options(checked, run), dsgd_json_options(checked, before)) == 1;
    dsgd_drop(mark);
    return is;
}

static void point_at_parts(dsgd_planned_run *run, dsgd_numerics numerics)
{
    run->config.numerics = numerics;
    run->config.platform = &run->platform;
    run->config.workload = &run->workload;
    run->config.learning = run->learning.model.about == NULL ? NULL : &run->learning;
}

dsgd_status dsgd_planned_run_check(dsgd_planned_run *run, dsgd_numerics numerics, dsgd_error *error)
{
    point_at_parts(run, numerics);
    return dsgd_run_check(&run->config, error);
}

dsgd_status dsgd_experiment_settle(dsgd_experiment *experiment, dsgd_numerics numerics,
                                   dsgd_error *error)
{
    for (size_t i = 0; i < experiment->n_runs; i++) {
        dsgd_planned_run *const run = &experiment->runs[i];
        point_at_parts(run, numerics);
        run->config.machine_checked = is_checked(experiment, i);
        dsgd_error why;
        const dsgd_status status = dsgd_run_check(&run->config, &why);
        if (status != DSGD_OK)
            return dsgd_fail(error, status, "%s: run %zu: %s", experiment->path, i + 1, why.text);
        run->config.machine_checked = true;
    }
    return DSGD_OK;
}

/** Returns true if the run's algorithm, with its options, accepts the run's number of workers. */
static bool is_possible(const dsgd_planned_run *run, dsgd_error *why)
{
    const dsgd_run_config *const c = &run->config;
    return dsgd_algorithm_check(c->algorithm, c->params, c->workers, why) == DSGD_OK;
}

/** Removes each run i for which keep[i] is false. Call dsgd_experiment_settle() afterwards. */
static void keep_runs(dsgd_experiment *experiment, const bool *keep)
{
    size_t n = 0;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        if (!keep[i])
            continue;
        experiment->runs[n] = experiment->runs[i];
        experiment->runs[n].unchanged = n;
        n++;
    }
    experiment->n_runs = n;
    experiment->n_unchanged = n;
}

void dsgd_experiment_leave_out(dsgd_experiment *experiment, size_t n_algorithms)
{
    bool *const possible = dsgd_keep(n_algorithms, sizeof *possible);
    bool *const keep = dsgd_keep(experiment->n_runs + 1, sizeof *keep);
    dsgd_error why;
    experiment->left_out = dsgd_xstrdup("");
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        keep[i] = is_possible(run, &why);
        possible[run->chosen[DSGD_AXIS_ALGORITHM]] |= keep[i];
    }
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        keep[i] = keep[i] || !possible[run->chosen[DSGD_AXIS_ALGORITHM]];
        if (keep[i])
            continue;
        is_possible(run, &why);
        const char *const line =
            dsgd_xprintf("%s, %d workers: %s\n", run->label, run->config.workers, why.text);
        /* Several runs can have the same reason; add only one line for it. */
        if (strstr(experiment->left_out, line) == NULL)
            dsgd_append(&experiment->left_out, "%s", line);
        experiment->n_left_out++;
    }
    keep_runs(experiment, keep);
}

/** The properties that identify a run in the results, joined into one text. */
typedef struct name_of_run {
    char *text;
    size_t run;
} name_of_run;

static int compare_names(const void *a, const void *b)
{
    const name_of_run *const x = a, *const y = b;
    const int order = strcmp(x->text, y->text);
    return order != 0 ? order : (x->run > y->run) - (x->run < y->run);
}

/**
 * Rejects an experiment with two runs that have equal properties. A reader of the results would
 * think that their rows belong to two seeds or to one algorithm.
 */
static dsgd_status refuse_twins(const dsgd_experiment *experiment, dsgd_error *error)
{
    const size_t n = experiment->n_runs;
    void *const mark = dsgd_mark();
    name_of_run *const names = dsgd_keep(n + 1, sizeof *names);
    for (size_t i = 0; i < n; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        names[i] = (name_of_run){dsgd_xprintf("%s, %jd workers, seed %jd, %s on %s", run->label,
                                              run->workers, run->seed, run->workload_name,
                                              run->platform_name),
                                 i};
        for (size_t k = 0; k < experiment->n_columns; k++)
            if (run->swept[k] != NULL)
                dsgd_append(&names[i].text, ", %s", run->swept[k]);
    }
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i - 1].text, names[i].text) == 0)
            return dsgd_refuse(error,
                               "%s: the results could not tell run %zu from run %zu: %s; give each "
                               "value once, a `label` to each of two entries of one algorithm, and "
                               "values that differ in platforms or workloads as {sweep: [...]}",
                               experiment->path, names[i].run + 1, names[i - 1].run + 1,
                               names[i].text);
    dsgd_drop(mark);
    return DSGD_OK;
}

dsgd_status dsgd_experiment_refuse_alike(const dsgd_experiment *experiment, dsgd_error *error)
{
    DSGD_TRY(refuse_twins(experiment, error));
    dsgd_price first = {0, ""}, price;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        if (!dsgd_platform_price(&experiment->runs[i].platform, &price))
            continue;
        if (first.currency[0] == '\0')
            first = price;
        if (strcmp(price.currency, first.currency) != 0)
            return dsgd_refuse(
                error,
                "%s: prices are in %s and %s; give the prices of all platforms in one "
                "currency",
                experiment->path, first.currency, price.currency);
    }
    return DSGD_OK;
}

void dsgd_experiment_add_columns(dsgd_experiment *experiment, const char *const *names, size_t n)
{
    const size_t before = experiment->n_columns, all = before + n;
    experiment->columns = dsgd_keep_more(experiment->columns, all, sizeof *experiment->columns);
    memcpy(experiment->columns + before, names, n * sizeof *names);
    experiment->n_columns = all;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const char **const values = dsgd_keep(all, sizeof *values);
        experiment->runs[i].swept =
            memcpy(values, experiment->runs[i].swept, before * sizeof *values);
    }
}
