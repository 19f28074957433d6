/**
 * @file experiment.c
 * Reads an experiment file as a list of runs.
 */
#include "command/experiment/experiment.h"

#include "base/file.h"
#include "base/unit.h"
#include "command/experiment/config.h"
#include "command/experiment/traces.h"
#include "sim/registry.h"

/* --- the table -------------------------------------------------------------------------------- */

static const char *const placements[] = {DSGD_PLACEMENT_NATURAL, DSGD_PLACEMENT_RANDOM,
                                         DSGD_PLACEMENT_OUTER, NULL};

/**
 * Keys that each algorithm can set in addition to its own options. They have priority over the
 * experiment's values of these keys.
 */
static const dsgd_option entry_options[] = {
    DSGD_OPTION_STRING(dsgd_planned_run, label,
                       "name in the results [default: name of the algorithm]"),
    DSGD_OPTION_AS("optimizer", STRUCT, dsgd_planned_run, learning.optimizer,
                   "values that replace those of learn.optimizer for this algorithm",
                   .fields = dsgd_optimizer_options, .refines = true),
    DSGD_OPTION_AS("exchange", STRUCT, dsgd_planned_run, config.exchange,
                   "values that replace those of the file's exchange for this algorithm",
                   .fields = dsgd_exchange_options, .refines = true),
    DSGD_OPTION_AS("failures", STRUCT, dsgd_planned_run, config.failures,
                   "values that replace those of the file's failures for this algorithm",
                   .fields = dsgd_failures_options, .refines = true),
    DSGD_OPTION_END,
};

const dsgd_option dsgd_experiment_options[] = {
    [DSGD_AXIS_PLATFORM] = DSGD_OPTION_STRUCT(
        dsgd_planned_run, platform, dsgd_platform_options,
        "cluster: the name of a shipped platform, a file, a SimGrid XML file, or values",
        .shipped = "platforms", .key = "name", .required = true, .multiplies = true),
    [DSGD_AXIS_WORKLOAD] = DSGD_OPTION_STRUCT(
        dsgd_planned_run, workload, dsgd_workload_options,
        "training job: the name of a shipped workload, a file, or values", .shipped = "workloads",
        .key = "like", .required = true, .multiplies = true),
    [DSGD_AXIS_WORKERS] = DSGD_OPTION_LONG(
        dsgd_planned_run, workers, 0, 1, 1 << 20, NULL,
        "number of workers P: one per GPU, or one per group of GPUs (`inner`, `gpus`)",
        .required = true, .multiplies = true),
    [DSGD_AXIS_ALGORITHM] =
        DSGD_OPTION_AS("algorithms", SPEC, dsgd_planned_run, algorithm, "algorithms to compare",
                       .registry = dsgd_algorithms, .key = "name", .fields = entry_options,
                       .required = true, .multiplies = true),
    [DSGD_AXIS_SEED] = DSGD_OPTION_LONG(dsgd_planned_run, seed, 1, 0, 9e15, NULL,
                                        "seed of all random numbers", .multiplies = true),
    DSGD_OPTION_STRING(
        dsgd_planned_run, name,
        "name of the experiment and of its results folder [default: name of the file]"),
    DSGD_OPTION_STRING(dsgd_planned_run, task,
                       "file of the task that this experiment solves, for `dsgd task`"),
    DSGD_OPTION_AS(
        "inherent", BOOL, dsgd_planned_run, config.inherent,
        "whether the workload's own imbalance applies, such as sentences of different length",
        .init = true),
    DSGD_OPTION_AS(
        "imbalance", SPECS, dsgd_planned_run, config.imbalance,
        "stragglers: delays and slow workers in addition to `inherent`, applied in order",
        .registry = dsgd_imbalance_kinds, .key = "kind", .shipped = "imbalance"),
    DSGD_OPTION_AS("until", STRUCT, dsgd_planned_run, config.until, "end of a run",
                   .fields = dsgd_until_options, .required = true),
    DSGD_OPTION_AS("learn", STRUCT, dsgd_planned_run, learning,
                   "training: model, data and optimizer; without it, only times are simulated",
                   .fields = dsgd_learning_options),
    DSGD_OPTION_AS("placement", LINES, dsgd_planned_run, config.placement,
                   "placement of the workers, then of the servers, on hosts: natural, random, "
                   "outer, a list of "
                   "hosts by index or name, or a file with one host per line",
                   .words = placements),
    DSGD_OPTION_AS("network", CHOICE, dsgd_planned_run, config.network,
                   "network model. flows: messages share every link max-min fairly. simgrid: "
                   "SimGrid times each message; it gives the same times, more slowly",
                   .words = dsgd_network_names),
    DSGD_OPTION_AS("exchange", STRUCT, dsgd_planned_run, config.exchange,
                   "communication: how vectors are split into chunks, when chunks are sent, and by "
                   "which collective",
                   .fields = dsgd_exchange_options),
    DSGD_OPTION_AS(
        "failures", STRUCT, dsgd_planned_run, config.failures,
        "fault tolerance: failures of workers, checkpoints, and the policy after a failure",
        .fields = dsgd_failures_options),
    DSGD_OPTION_END,
};

static const dsgd_option *const platform_option = &dsgd_experiment_options[DSGD_AXIS_PLATFORM];
static const dsgd_option *const workload_option = &dsgd_experiment_options[DSGD_AXIS_WORKLOAD];
static const dsgd_option *const algorithm_option = &dsgd_experiment_options[DSGD_AXIS_ALGORITHM];

/* --- one run ---------------------------------------------------------------------------------- */

static dsgd_status read_platform(dsgd_config *config, dsgd_yaml *entry, dsgd_planned_run *run,
                                 dsgd_error *error)
{
    entry = dsgd_yaml_chosen(config, entry);
    const char *const text = dsgd_yaml_text(entry);
    const char *const name = dsgd_yaml_text(dsgd_yaml_chosen(
        config, text != NULL ? entry : dsgd_yaml_find(entry, platform_option->key)));
    run->platform_name = name != NULL ? name : "inline";
    dsgd_yaml *key = NULL, *first = NULL;
    void *iterator = NULL;
    if (text == NULL ? !dsgd_yaml_next(entry, &iterator, &key, &first) : *text == '\0')
        return dsgd_yaml_fail(
            config, entry, error,
            "platform is empty; give a name (see `dsgd list platforms`), or values "
            "such as topology and host_bandwidth");
    return dsgd_platform_read(config, entry, &run->platform, error);
}

/**
 * Reads an algorithm and its label in the results. Also reads the algorithm's own values for
 * optimizer, exchanges and failures.
 */
static dsgd_status read_algorithm(dsgd_config *config, dsgd_yaml *entry, dsgd_planned_run *run,
                                  dsgd_error *error)
{
    DSGD_TRY(dsgd_config_read_value(config, entry, algorithm_option, run, error));
    run->label = run->algorithm.about->name;
    entry = dsgd_yaml_chosen(config, entry);
    for (const dsgd_option *o = algorithm_option->fields; o->name != NULL; o++) {
        dsgd_yaml *const own = dsgd_yaml_find(entry, o->name);
        if (own != NULL)
            DSGD_TRY(dsgd_config_read_value(config, own, o, run, error));
    }
    if (run->label[0] == '\0' || strpbrk(run->label, ",\"\n") != NULL)
        return dsgd_yaml_fail(config, dsgd_yaml_find(entry, "label"), error,
                              "label must be a text without commas and quotes");
    run->has_own_exchange = dsgd_yaml_find(entry, "exchange") != NULL;
    return DSGD_OK;
}

/* --- the list of runs ------------------------------------------------------------------------- */

/**
 * A sweep. It applies to all runs unless the sweep is inside an element of a list. It then applies
 * only to runs that use this element.
 */
typedef struct swept {
    dsgd_sweep *sweep;
    size_t axis, element; /* axis: list that contains the sweep, DSGD_N_AXES if no list contains it;
                           * element: index of the list's element */
} swept;

/** A position in the product of all lists: the chosen element of each list, and the sweeps. */
typedef struct odometer {
    dsgd_yaml **elements[DSGD_N_AXES]; /* array of the n elements of each list; if the file lacks a
                                        * list, its only element is NULL */
    size_t chosen[DSGD_N_AXES], n[DSGD_N_AXES];
    swept *sweeps; /* array of n_columns sweeps */
} odometer;

static bool applies(const odometer *o, const swept *s)
{
    return s->axis == DSGD_N_AXES || o->chosen[s->axis] == s->element;
}

/** Finds the list and the list element that contain each sweep. */
static void find_sweeps(dsgd_experiment *experiment, odometer *o, dsgd_sweep **sweeps)
{
    o->sweeps = dsgd_keep(experiment->n_columns, sizeof *o->sweeps);
    for (size_t k = 0; k < experiment->n_columns; k++) {
        o->sweeps[k] = (swept){sweeps[k], DSGD_N_AXES, 0};
        for (size_t a = 0; a < DSGD_N_AXES; a++)
            for (size_t i = 0; o->elements[a][0] != NULL && i < o->n[a]; i++)
                if (dsgd_yaml_is_in(sweeps[k]->entry, o->elements[a][i]))
                    o->sweeps[k] = (swept){sweeps[k], a, i};
    }
}

/** Returns the number of runs that all lists and sweeps together produce. */
static double count_runs(const dsgd_experiment *experiment, const odometer *o)
{
    double n_runs = 1;
    for (size_t a = 0; a <= DSGD_N_AXES; a++) {
        double of_axis = 0;
        for (size_t i = 0; i < (a == DSGD_N_AXES ? 1 : o->n[a]); i++) {
            double of_element = 1;
            for (size_t k = 0; k < experiment->n_columns; k++)
                if (o->sweeps[k].axis == a && o->sweeps[k].element == i)
                    of_element *= (double)o->sweeps[k].sweep->n;
            of_axis += of_element;
        }
        n_runs *= of_axis;
    }
    return n_runs;
}

/**
 * Returns true if the next run has the same element of list @p axis as the last run, and if no
 * sweep changes this element.
 */
static bool is_same(const dsgd_experiment *experiment, const odometer *o, size_t axis)
{
    const size_t n = experiment->n_runs;
    bool same = n > 0 && experiment->runs[n - 1].chosen[axis] == o->chosen[axis];
    for (size_t k = 0; k < experiment->n_columns; k++)
        same = same && !(o->sweeps[k].axis == axis && applies(o, &o->sweeps[k]));
    return same;
}

/**
 * Reads the run at the current position. If the platform or workload equals that of the previous
 * run, copies it.
 */
static dsgd_status read_run(const dsgd_experiment *experiment, const odometer *o,
                            dsgd_planned_run *run, dsgd_error *error)
{
    dsgd_config *const config = experiment->config;
    const dsgd_planned_run *const before = run - 1;
    dsgd_yaml *entries[DSGD_N_AXES];
    for (size_t a = 0; a < DSGD_N_AXES; a++)
        entries[a] = o->elements[a][o->chosen[a]];
    DSGD_TRY(dsgd_config_read(config, dsgd_config_root(config), dsgd_experiment_options, NULL, run,
                              error));
    if (is_same(experiment, o, DSGD_AXIS_PLATFORM)) {
        run->platform = before->platform;
        run->platform_name = before->platform_name;
    } else {
        DSGD_TRY(read_platform(config, entries[DSGD_AXIS_PLATFORM], run, error));
    }
    if (is_same(experiment, o, DSGD_AXIS_WORKLOAD)) {
        run->workload = before->workload;
        run->workload_name = before->workload_name;
    } else {
        dsgd_yaml *const entry = dsgd_yaml_chosen(config, entries[DSGD_AXIS_WORKLOAD]);
        const char *const name = dsgd_yaml_text(entry);
        run->workload_name = name != NULL ? name : "inline";
        DSGD_TRY(dsgd_workload_read(config, entry, &run->workload, error));
    }
    DSGD_TRY(dsgd_config_read_value(config, entries[DSGD_AXIS_WORKERS],
                                    &dsgd_experiment_options[DSGD_AXIS_WORKERS], run, error));
    DSGD_TRY(read_algorithm(config, entries[DSGD_AXIS_ALGORITHM], run, error));
    if (run->name != NULL && !dsgd_is_file_name(run->name))
        return dsgd_yaml_fail(config, dsgd_yaml_find(dsgd_config_root(config), "name"), error,
                              "name must be usable as the name of a folder (not empty, no `/`, no "
                              "control character, no `.` at the start), got `%s`",
                              run->name);
    run->config.workers = (int)run->workers;
    run->config.algorithm = (const dsgd_algorithm *)run->algorithm.about;
    run->config.params = run->algorithm.params;
    return DSGD_OK;
}

static dsgd_status add_run(dsgd_experiment *experiment, const odometer *o, dsgd_error *error)
{
    dsgd_config *const config = experiment->config;
    /* true if the new run differs from the last run only in its seed */
    bool by_seed_alone = experiment->n_columns == 0;
    for (size_t a = 0; a < DSGD_N_AXES; a++)
        by_seed_alone = by_seed_alone && (a == DSGD_AXIS_SEED || is_same(experiment, o, a));
    dsgd_planned_run *const run = &experiment->runs[experiment->n_runs];
    *run = by_seed_alone ? run[-1] : (dsgd_planned_run){.name = NULL};
    memcpy(run->chosen, o->chosen, sizeof run->chosen);
    if (!by_seed_alone)
        DSGD_TRY(read_run(experiment, o, run, error));
    dsgd_yaml *const seed = o->elements[DSGD_AXIS_SEED][o->chosen[DSGD_AXIS_SEED]];
    if (seed != NULL)
        DSGD_TRY(dsgd_config_read_value(config, seed, &dsgd_experiment_options[DSGD_AXIS_SEED], run,
                                        error));
    run->config.seed = (uint64_t)run->seed;
    experiment->name = run->name != NULL ? run->name : experiment->name;
    run->unchanged = experiment->n_runs++;
    run->swept = dsgd_keep(experiment->n_columns, sizeof *run->swept);
    for (size_t k = 0; k < experiment->n_columns; k++)
        run->swept[k] =
            applies(o, &o->sweeps[k]) ? dsgd_sweep_text(config, o->sweeps[k].sweep) : NULL;
    return DSGD_OK;
}

/**
 * Adds all runs for list number i and all later lists. Loops over the elements of the list, then
 * over the values of the sweeps that apply.
 */
static dsgd_status add_all(dsgd_experiment *experiment, odometer *o, size_t i, dsgd_error *error)
{
    if (i == DSGD_N_AXES + experiment->n_columns)
        return add_run(experiment, o, error);
    const swept *const s = i < DSGD_N_AXES ? NULL : &o->sweeps[i - DSGD_N_AXES];
    size_t *const chosen = s == NULL ? &o->chosen[i] : &s->sweep->chosen;
    const size_t n = s == NULL ? o->n[i] : applies(o, s) ? s->sweep->n : 1;
    for (*chosen = 0; *chosen < n; ++*chosen)
        DSGD_TRY(add_all(experiment, o, i + 1, error));
    *chosen = 0;
    return DSGD_OK;
}

/** Finds the lists of the experiment file. Checks that all required lists exist. */
static dsgd_status find_axes(dsgd_experiment *experiment, odometer *o, dsgd_error *error)
{
    dsgd_config *const config = experiment->config;
    for (size_t a = 0; a < DSGD_N_AXES; a++) {
        const dsgd_option *const option = &dsgd_experiment_options[a];
        dsgd_yaml *const list = dsgd_yaml_find(dsgd_config_root(config), option->name);
        o->elements[a] = dsgd_yaml_elements(list, &o->n[a]);
        if (!option->required && list == NULL)
            o->n[a] = 1;
        if (o->n[a] == 0)
            return dsgd_yaml_fail(config, list, error,
                                  "%s is %s; `dsgd list` shows the valid names", option->name,
                                  list == NULL ? "missing" : "an empty list");
    }
    return DSGD_OK;
}

static dsgd_status add_runs(dsgd_experiment *experiment, odometer *o, dsgd_sweep **sweeps,
                            dsgd_error *error)
{
    find_sweeps(experiment, o, sweeps);
    const double n_runs = count_runs(experiment, o);
    if (n_runs > DSGD_MOST_RUNS)
        return dsgd_refuse(
            error,
            "%s: the experiment has %.10g runs, but at most %d are possible; shorten a "
            "list or a sweep, or split the experiment",
            experiment->path, n_runs, DSGD_MOST_RUNS);
    experiment->runs = dsgd_keep((size_t)n_runs + 1, sizeof *experiment->runs);
    DSGD_TRY(add_all(experiment, o, 0, error));
    if (!dsgd_is_file_name(experiment->name))
        return dsgd_refuse(error,
                           "%s: the name of this file cannot be the name of a results folder; give "
                           "the experiment a `name`",
                           experiment->path);
    return DSGD_OK;
}

/** Returns the column name of a sweep. Call this function after a value of the sweep was read. */
static const char *column_of(const dsgd_sweep *sweep)
{
    const char *const path = sweep->path;
    if (strcmp(path, platform_option->name) == 0 || strcmp(path, "network") == 0 ||
        strcmp(path, workload_option->name) == 0) /* The results already have columns for the names
                                                   * of platform and workload, so skip this name. */
        return dsgd_xprintf("swept.%s", path);
    const dsgd_unit *const unit = sweep->is_number ? dsgd_unit_named(sweep->unit) : NULL;
    if (unit != NULL && unit->column != NULL && !dsgd_ends_with(path, unit->word))
        return dsgd_xprintf("%s_%s", path, unit->column);
    return path;
}

dsgd_status dsgd_experiment_open(const char *path, const char *const *sets, size_t n_sets,
                                 dsgd_numerics numerics, dsgd_experiment *experiment,
                                 dsgd_error *error)
{
    *experiment = (dsgd_experiment){.config = NULL};
    dsgd_config *config = NULL;
    DSGD_TRY(dsgd_config_open(path, &config, error));
    experiment->config = config;
    experiment->path = dsgd_xstrdup(path);
    const char *const slash = strrchr(path, '/'), *const base = slash == NULL ? path : slash + 1;
    experiment->name = dsgd_xprintf("%.*s", (int)strcspn(base, "."), base);
    for (size_t i = 0; i < n_sets; i++)
        DSGD_TRY(dsgd_config_override(config, sets[i], error));
    DSGD_TRY(dsgd_config_spread(config, error));
    dsgd_sweep **const sweeps = dsgd_config_sweeps(config, &experiment->n_columns);
    odometer o = {.n = {0}};
    DSGD_TRY(find_axes(experiment, &o, error));
    DSGD_TRY(add_runs(experiment, &o, sweeps, error));
    if (experiment->n_runs == 0)
        return dsgd_refuse(error, "%s: the experiment has no runs, because a sweep is empty", path);
    experiment->columns = dsgd_keep(experiment->n_columns, sizeof *experiment->columns);
    for (size_t i = 0; i < experiment->n_columns; i++)
        experiment->columns[i] = column_of(sweeps[i]);
    dsgd_experiment_leave_out(experiment, o.n[DSGD_AXIS_ALGORITHM]);
    DSGD_TRY(dsgd_experiment_settle(experiment, numerics, error));
    return dsgd_experiment_refuse_alike(experiment, error);
}
