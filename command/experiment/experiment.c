/**
 * @file experiment.c
 * From an experiment file to a list of runs.
 */
#include "command/experiment/experiment.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "command/experiment/config.h"
#include "command/experiment/shipped.h"
#include "sim/network/cluster.h"
#include "sim/network/placement.h"
#include "sim/registry.h"
#include "sim/run.h"
#include "traces/expenses.h"
#include "traces/imbalance.h"

/* --- the table -------------------------------------------------------------------------------- */

static const char *const placements[] = {DSGD_PLACEMENT_NATURAL, DSGD_PLACEMENT_RANDOM, NULL};

/** Keys of an algorithm's entry beside its own options: they go before the file's. */
static const dsgd_option entry_options[] = {
    DSGD_OPTION_STRING(dsgd_planned_run, label, "name in the results; the algorithm's if absent"),
    DSGD_OPTION_AS("optimizer", RECORD, dsgd_planned_run, learning.optimizer,
                   "in place of keys of learn.optimizer", .fields = dsgd_optimizer_options,
                   .refines = true),
    DSGD_OPTION_AS("exchange", RECORD, dsgd_planned_run, config.exchange,
                   "in place of keys of the file's exchange", .fields = dsgd_exchange_options,
                   .refines = true),
    DSGD_OPTION_END,
};

const dsgd_option dsgd_experiment_options[] = {
    [DSGD_AXIS_PLATFORM] = DSGD_OPTION_RECORD(
        dsgd_planned_run, platform, dsgd_platform_options,
        "the cluster: a shipped one by its name, a file, a SimGrid XML file, or values",
        .shipped = "platforms", .key = "name", .required = true, .multiplies = true),
    [DSGD_AXIS_WORKLOAD] = DSGD_OPTION_RECORD(
        dsgd_planned_run, workload, dsgd_workload_options,
        "what is timed: a shipped one by its name, a file, or values", .shipped = "workloads",
        .key = "like", .required = true, .multiplies = true),
    [DSGD_AXIS_WORKERS] =
        DSGD_OPTION_LONG(dsgd_planned_run, workers, 0, 1, 1 << 20, NULL, "P, the number of GPUs",
                         .required = true, .multiplies = true),
    [DSGD_AXIS_ALGORITHM] =
        DSGD_OPTION_AS("algorithms", PICK, dsgd_planned_run, algorithm, "what is compared",
                       .registry = dsgd_algorithms, .key = "name", .fields = entry_options,
                       .required = true, .multiplies = true),
    [DSGD_AXIS_SEED] = DSGD_OPTION_LONG(dsgd_planned_run, seed, 1, 0, 9e15, NULL,
                                        "of every random draw", .multiplies = true),
    DSGD_OPTION_STRING(dsgd_planned_run, name, "of the experiment, and of its folder of results"),
    DSGD_OPTION_STRING(dsgd_planned_run, task,
                       "file of the question that this experiment answers, for `dsgd task`"),
    DSGD_OPTION_AS("inherent", BOOL, dsgd_planned_run, config.inherent,
                   "the workload's own imbalance applies", .init = true),
    DSGD_OPTION_AS("imbalance", PICKS, dsgd_planned_run, config.imbalance,
                   "on top of that, in order", .registry = dsgd_imbalance_kinds, .key = "kind",
                   .shipped = "imbalance"),
    DSGD_OPTION_AS("until", RECORD, dsgd_planned_run, config.until, "when a run ends",
                   .fields = dsgd_until_options, .required = true),
    DSGD_OPTION_AS("learn", RECORD, dsgd_planned_run, learning,
                   "what to learn; without it, timing only", .fields = dsgd_learning_options),
    DSGD_OPTION_AS("placement", LINES, dsgd_planned_run, config.placement,
                   "of workers, then servers, on hosts; or a list of hosts by index or name, or "
                   "a file with one per line",
                   .words = placements),
    DSGD_OPTION_AS("network", CHOICE, dsgd_planned_run, config.network,
                   "flows: SimGrid's, which share every link; loggp: messages share NICs alone, "
                   "for scale and quick looks",
                   .words = dsgd_network_names),
    DSGD_OPTION_AS("exchange", RECORD, dsgd_planned_run, config.exchange,
                   "how vectors are cut, and when and how their pieces travel",
                   .fields = dsgd_exchange_options),
    DSGD_OPTION_AS("stops", RECORDS, dsgd_planned_run, config.stops, "workers that fail",
                   .fields = dsgd_stop_options, .record_size = sizeof(dsgd_stop)),
    DSGD_OPTION_END,
};

static const dsgd_option *const platform_option = &dsgd_experiment_options[DSGD_AXIS_PLATFORM];
static const dsgd_option *const workload_option = &dsgd_experiment_options[DSGD_AXIS_WORKLOAD];
static const dsgd_option *const algorithm_option = &dsgd_experiment_options[DSGD_AXIS_ALGORITHM];

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text);
    return n >= strlen(end) && strcmp(text + n - strlen(end), end) == 0;
}

/* --- one run ---------------------------------------------------------------------------------- */

static dsgd_status read_platform(dsgd_experiment *experiment, dsgd_entry *entry,
                                 dsgd_planned_run *run, dsgd_error *error)
{
    dsgd_config *const config = experiment->config;
    const char *const name_key[] = {platform_option->key, NULL};
    entry = dsgd_entry_chosen(config, entry);
    dsgd_entry *const named = dsgd_entry_chosen(
        config, dsgd_entry_text(entry) != NULL ? entry : dsgd_entry_find(entry, *name_key));
    const char *const name = dsgd_entry_text(named);
    dsgd_options_default(dsgd_platform_options, &run->platform);
    run->platform_name = name != NULL ? name : "inline";
    if (named != NULL && name == NULL)
        return dsgd_entry_fail(config, named, error,
                               "name has to be a text; several platforms are a list of them");
    if (dsgd_entry_is_empty(entry))
        return dsgd_entry_fail(config, entry, error,
                               "platform is empty: give a name, or values such as topology and "
                               "host_bandwidth; `dsgd list platforms` has names");
    dsgd_status status = DSGD_OK;
    if (name != NULL && ends_with(name, ".xml")) {
        run->platform.topology = DSGD_TOPOLOGY_XML;
        run->platform.file = dsgd_config_path(config, name);
        dsgd_config_note_data(config, run->platform.file);
    } else if (name != NULL) {
        dsgd_config *file = NULL;
        status = dsgd_named_open(config, named, "platforms", name, NULL, &file, error);
        if (status == DSGD_OK)
            status = dsgd_config_read(file, dsgd_config_root(file), dsgd_platform_options, NULL,
                                      &run->platform, error);
    }
    if (status == DSGD_OK && dsgd_entry_text(entry) == NULL)
        status = dsgd_config_refine(config, entry, dsgd_platform_options, name_key, &run->platform,
                                    error);
    return status;
}

static dsgd_status read_workload(dsgd_experiment *experiment, dsgd_entry *entry,
                                 dsgd_planned_run *run, dsgd_error *error)
{
    dsgd_config *const config = experiment->config;
    entry = dsgd_entry_chosen(config, entry);
    run->workload_name = dsgd_entry_text(entry);
    if (run->workload_name == NULL) {
        run->workload_name = "inline";
        return dsgd_workload_read(config, entry, &run->workload, error);
    }
    dsgd_config *file = NULL;
    const dsgd_status status =
        dsgd_named_open(config, entry, "workloads", run->workload_name, NULL, &file, error);
    if (status != DSGD_OK)
        return status;
    return dsgd_workload_read(file, dsgd_config_root(file), &run->workload, error);
}

/** An algorithm, its label in the results, and its options of the optimizer and of exchanges. */
static dsgd_status read_algorithm(dsgd_config *config, dsgd_entry *entry, dsgd_planned_run *run,
                                  dsgd_error *error)
{
    dsgd_status status = dsgd_config_read_value(config, entry, algorithm_option, run, error);
    if (status != DSGD_OK)
        return status;
    run->label = run->algorithm.about->name;
    entry = dsgd_entry_chosen(config, entry);
    for (const dsgd_option *o = algorithm_option->fields; o->name != NULL && status == DSGD_OK;
         o++) {
        dsgd_entry *const own = dsgd_entry_find(entry, o->name);
        if (own != NULL)
            status = dsgd_config_read_value(config, own, o, run, error);
    }
    if (status == DSGD_OK && (run->label[0] == '\0' || strpbrk(run->label, ",\"\n") != NULL))
        return dsgd_entry_fail(config, dsgd_entry_find(entry, "label"), error,
                               "label has to be a text without commas and quotes");
    run->has_own_exchange = dsgd_entry_find(entry, "exchange") != NULL;
    return status;
}

static dsgd_status read_axes(dsgd_experiment *experiment, dsgd_entry *const entries[DSGD_N_AXES],
                             dsgd_planned_run *run, dsgd_error *error)
{
    dsgd_config *const config = experiment->config;
    dsgd_status status = read_platform(experiment, entries[DSGD_AXIS_PLATFORM], run, error);
    if (status == DSGD_OK)
        status = read_workload(experiment, entries[DSGD_AXIS_WORKLOAD], run, error);
    if (status == DSGD_OK)
        status = dsgd_config_read_value(config, entries[DSGD_AXIS_WORKERS],
                                        &dsgd_experiment_options[DSGD_AXIS_WORKERS], run, error);
    if (status == DSGD_OK)
        status = read_algorithm(config, entries[DSGD_AXIS_ALGORITHM], run, error);
    if (status == DSGD_OK && entries[DSGD_AXIS_SEED] != NULL)
        status = dsgd_config_read_value(config, entries[DSGD_AXIS_SEED],
                                        &dsgd_experiment_options[DSGD_AXIS_SEED], run, error);
    run->config.workers = (int)run->workers;
    run->config.seed = (uint64_t)run->seed;
    return status;
}

/** A folder of results gets this name. */
static dsgd_status read_name(dsgd_experiment *experiment, const char *name, dsgd_error *error)
{
    dsgd_config *const config = experiment->config;
    if (name == NULL)
        return DSGD_OK;
    experiment->name = name;
    if (dsgd_is_file_name(name))
        return DSGD_OK;
    return dsgd_entry_fail(config, dsgd_entry_find(dsgd_config_root(config), "name"), error,
                           "name is `%s`, but a folder is called so: it needs a character, has "
                           "no `/` and no control character, and does not begin with `.`",
                           name);
}

/** Reads a run with the sweeps chosen as they are. */
static dsgd_status read_run(dsgd_experiment *experiment, dsgd_entry *const entries[DSGD_N_AXES],
                            dsgd_planned_run *run, dsgd_error *error)
{
    dsgd_config *const config = experiment->config;
    dsgd_status status = dsgd_config_read(config, dsgd_config_root(config), dsgd_experiment_options,
                                          NULL, run, error);
    if (status == DSGD_OK)
        status = read_axes(experiment, entries, run, error);
    if (status != DSGD_OK)
        return status;
    status = read_name(experiment, run->name, error);
    if (status != DSGD_OK)
        return status;
    run->config.algorithm = (const dsgd_algorithm *)run->algorithm.about;
    run->config.params = run->algorithm.params;
    return DSGD_OK;
}

/* --- all runs --------------------------------------------------------------------------------- */

/** A sweep counts for a run unless it is in an element of an axis that the run did not choose. */
typedef struct swept {
    dsgd_sweep *sweep;
    size_t axis, element; /* where it is; DSGD_N_AXES: in none */
} swept;

/** The chosen element of each axis, and the sweeps. */
typedef struct odometer {
    dsgd_entry *lists[DSGD_N_AXES];
    size_t chosen[DSGD_N_AXES], n[DSGD_N_AXES];
    swept *sweeps; /* [n_columns] */
} odometer;

static bool applies(const odometer *o, const swept *s)
{
    return s->axis == DSGD_N_AXES || o->chosen[s->axis] == s->element;
}

/** Finds the sweeps in the axes. */
static void find_sweeps(dsgd_experiment *experiment, odometer *o, dsgd_sweep **sweeps)
{
    dsgd_config *const config = experiment->config;
    o->sweeps = dsgd_config_alloc(config, (experiment->n_columns + 1) * sizeof *o->sweeps);
    for (size_t k = 0; k < experiment->n_columns; k++)
        o->sweeps[k] = (swept){sweeps[k], DSGD_N_AXES, 0};
    for (size_t a = 0; a < DSGD_N_AXES; a++)
        for (size_t i = 0; experiment->n_columns > 0 && o->lists[a] != NULL && i < o->n[a]; i++) {
            size_t n = 0;
            dsgd_sweep **const inside =
                dsgd_config_sweeps(config, dsgd_entry_at(o->lists[a], i), &n);
            for (size_t j = 0; j < n; j++)
                for (size_t k = 0; k < experiment->n_columns; k++)
                    if (inside[j] == sweeps[k])
                        o->sweeps[k] = (swept){sweeps[k], a, i};
        }
}

/** The number of runs that an odometer will give. */
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

static dsgd_status add_run(dsgd_experiment *experiment, const odometer *o, dsgd_error *error)
{
    dsgd_config *const config = experiment->config;
    dsgd_entry *entries[DSGD_N_AXES];
    for (size_t a = 0; a < DSGD_N_AXES; a++)
        entries[a] = o->lists[a] == NULL ? NULL : dsgd_entry_at(o->lists[a], o->chosen[a]);
    experiment->runs =
        dsgd_xrealloc(experiment->runs, experiment->n_runs + 1, sizeof *experiment->runs);
    dsgd_planned_run *const run = &experiment->runs[experiment->n_runs++];
    *run = (dsgd_planned_run){
        .unchanged = experiment->n_runs - 1,
        .swept = dsgd_config_alloc(config, (experiment->n_columns + 1) * sizeof(char *))};
    memcpy(run->chosen, o->chosen, sizeof run->chosen);
    const dsgd_status status = read_run(experiment, entries, run, error);
    for (size_t i = 0; i < experiment->n_columns; i++)
        run->swept[i] =
            applies(o, &o->sweeps[i]) ? dsgd_sweep_text(config, o->sweeps[i].sweep) : NULL;
    return status;
}

/** Runs through the values of the sweeps from the i-th on that apply. */
static dsgd_status add_swept(dsgd_experiment *experiment, const odometer *o, size_t i,
                             dsgd_error *error)
{
    if (i == experiment->n_columns)
        return add_run(experiment, o, error);
    dsgd_sweep *const sweep = o->sweeps[i].sweep;
    const size_t n = applies(o, &o->sweeps[i]) ? sweep->n : 1;
    dsgd_status status = DSGD_OK;
    for (size_t v = 0; status == DSGD_OK && v < n; v++) {
        sweep->chosen = v;
        status = add_swept(experiment, o, i + 1, error);
    }
    sweep->chosen = 0;
    return status;
}

static dsgd_status add_all(dsgd_experiment *experiment, odometer *o, size_t axis, dsgd_error *error)
{
    if (axis == DSGD_N_AXES)
        return add_swept(experiment, o, 0, error);
    dsgd_status status = DSGD_OK;
    for (o->chosen[axis] = 0; status == DSGD_OK && o->chosen[axis] < o->n[axis]; o->chosen[axis]++)
        status = add_all(experiment, o, axis + 1, error);
    return status;
}

/** Finds the lists, of which the required ones have to be there. */
static dsgd_status find_axes(dsgd_experiment *experiment, odometer *o, dsgd_error *error)
{
    dsgd_config *const config = experiment->config;
    for (size_t a = 0; a < DSGD_N_AXES; a++) {
        const dsgd_option *const option = &dsgd_experiment_options[a];
        o->lists[a] = dsgd_entry_find(dsgd_config_root(config), option->name);
        o->n[a] = !option->required && o->lists[a] == NULL ? 1 : dsgd_entry_count(o->lists[a]);
        if (o->n[a] == 0)
            return dsgd_entry_fail(config, o->lists[a], error,
                                   "%s is missing; `dsgd list` shows what there is", option->name);
    }
    return DSGD_OK;
}

static bool same_options(const dsgd_option *options, const void *a, const void *b)
{
    json_t *const of_a = dsgd_json_options(options, a);
    json_t *const of_b = dsgd_json_options(options, b);
    const bool same = json_equal(of_a, of_b) == 1;
    json_decref(of_a);
    json_decref(of_b);
    return same;
}

/** Whether a user's XML, which takes a process to check, is checked by the run before. */
static bool is_checked(const dsgd_experiment *experiment, size_t i)
{
    static const dsgd_option placement[] = {
        DSGD_OPTION_AS("placement", LINES, dsgd_run_config, placement, NULL), DSGD_OPTION_END};
    const dsgd_planned_run *const run = &experiment->runs[i];
    if (i == 0 || run->platform.topology != DSGD_TOPOLOGY_XML)
        return false;
    const dsgd_planned_run *const before = &experiment->runs[i - 1];
    return run->config.network == before->config.network &&
           dsgd_machine_of(&run->config).n_hosts == dsgd_machine_of(&before->config).n_hosts &&
           same_options(dsgd_platform_options, &run->platform, &before->platform) &&
           same_options(placement, &run->config, &before->config);
}

dsgd_status dsgd_experiment_settle(dsgd_experiment *experiment, dsgd_numerics numerics,
                                   dsgd_error *error)
{
    for (size_t i = 0; i < experiment->n_runs; i++) {
        dsgd_planned_run *const run = &experiment->runs[i];
        run->config.numerics = numerics;
        run->config.platform = &run->platform;
        run->config.workload = &run->workload;
        run->config.learning = run->learning.model.about == NULL ? NULL : &run->learning;
        run->config.machine_checked = is_checked(experiment, i);
        dsgd_error why;
        const dsgd_status status = dsgd_run_check(&run->config, &why);
        if (status != DSGD_OK)
            return dsgd_fail(error, status, "%s: run %zu: %s", experiment->path, i + 1, why.text);
        run->config.machine_checked = true;
    }
    return DSGD_OK;
}

/** Whether the algorithm takes so many workers with these options. */
static bool is_possible(const dsgd_planned_run *run, dsgd_error *why)
{
    const dsgd_algorithm *const algorithm = run->config.algorithm;
    return algorithm->check == NULL ||
           algorithm->check(run->config.params, run->config.workers, why) == DSGD_OK;
}

/** A line on the first run of those that are left out for the same reason. */
static void note_left_out(dsgd_experiment *experiment, const dsgd_planned_run *run, const char *why)
{
    char *const line = dsgd_xprintf("%s, %d workers: %s\n", run->label, run->config.workers, why);
    if (experiment->left_out == NULL)
        experiment->left_out = dsgd_xstrdup("");
    if (strstr(experiment->left_out, line) == NULL)
        dsgd_append(&experiment->left_out, "%s", line);
    free(line);
}

void dsgd_experiment_keep(dsgd_experiment *experiment, const bool *keep)
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

/**
 * Leaves out what an algorithm refuses, such as 6 workers in groups of 4. Of an algorithm that
 * refuses everything all stays, to be refused.
 */
static void leave_out(dsgd_experiment *experiment, size_t n_algorithms)
{
    bool *const possible = dsgd_xcalloc(n_algorithms, sizeof *possible);
    dsgd_error why;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        possible[run->chosen[DSGD_AXIS_ALGORITHM]] |= is_possible(run, &why);
    }
    bool *const keep = dsgd_xcalloc(experiment->n_runs + 1, sizeof *keep);
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        keep[i] = !possible[run->chosen[DSGD_AXIS_ALGORITHM]] || is_possible(run, &why);
        if (!keep[i]) {
            note_left_out(experiment, run, why.text);
            experiment->n_left_out++;
        }
    }
    dsgd_experiment_keep(experiment, keep);
    free(keep);
    free(possible);
}

/** What rows of results tell a run by. */
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

/** No two runs may have the same name: their rows would count as two seeds, or as one algorithm. */
static dsgd_status refuse_twins(const dsgd_experiment *experiment, dsgd_error *error)
{
    const size_t n = experiment->n_runs;
    name_of_run *const names = dsgd_xcalloc(n + 1, sizeof *names);
    for (size_t i = 0; i < n; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        names[i] = (name_of_run){dsgd_xprintf("%s, %ld workers, seed %ld, %s on %s", run->label,
                                              run->workers, run->seed, run->workload_name,
                                              run->platform_name),
                                 i};
        for (size_t k = 0; k < experiment->n_columns; k++)
            dsgd_append(&names[i].text, "%s%s", run->swept[k] == NULL ? "" : ", ",
                        run->swept[k] == NULL ? "" : run->swept[k]);
    }
    qsort(names, n, sizeof *names, compare_names);
    dsgd_status status = DSGD_OK;
    for (size_t i = 1; i < n && status == DSGD_OK; i++)
        if (strcmp(names[i - 1].text, names[i].text) == 0)
            status =
                dsgd_fail(error, DSGD_EUSAGE,
                          "%s: results could not tell run %zu from run %zu: %s; give a value "
                          "once, two entries of an algorithm a `label` each, and what differs in "
                          "platforms or workloads as {sweep: [...]}",
                          experiment->path, names[i].run + 1, names[i - 1].run + 1, names[i].text);
    for (size_t i = 0; i < n; i++)
        free(names[i].text);
    free(names);
    return status;
}

/** Costs of all runs can be compared. */
static dsgd_status refuse_currencies(const dsgd_experiment *experiment, dsgd_error *error)
{
    dsgd_price first = {0, ""}, price;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        if (!dsgd_platform_price(&experiment->runs[i].platform, &price))
            continue;
        if (first.currency[0] == '\0')
            first = price;
        if (strcmp(price.currency, first.currency) != 0)
            return dsgd_fail(error, DSGD_EUSAGE,
                             "%s: prices are in %s and %s; give all platforms of an experiment a "
                             "price in one currency",
                             experiment->path, first.currency, price.currency);
    }
    return DSGD_OK;
}

static dsgd_status add_runs(dsgd_experiment *experiment, odometer *o, dsgd_sweep **sweeps,
                            dsgd_error *error)
{
    find_sweeps(experiment, o, sweeps);
    const double n_runs = count_runs(experiment, o);
    if (n_runs > DSGD_MOST_RUNS)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: there are %.10g runs, but %d is the most; shorten a list or a sweep, "
                         "or cut the experiment in several",
                         experiment->path, n_runs, DSGD_MOST_RUNS);
    const dsgd_status status = add_all(experiment, o, 0, error);
    if (status == DSGD_OK && !dsgd_is_file_name(experiment->name))
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: no folder of results can be called after this file; give the "
                         "experiment a `name`",
                         experiment->path);
    return status;
}

/** The file's name without folder and ending: the experiment's, where it has none. */
static const char *default_name(dsgd_config *config, const char *path)
{
    const char *const slash = strrchr(path, '/');
    const char *const base = slash == NULL ? path : slash + 1;
    char *const name = dsgd_config_alloc(config, strlen(base) + 1);
    return strncpy(name, base, strcspn(base, "."));
}

/** Units as columns say them, and the words of keys that say it already. */
static const struct {
    const char *unit, *column, *word;
} units[] = {
    {"s", "s", "seconds"},
    {"bytes", "bytes", "bytes"},
    {"bytes/s", "bytes_per_s", "bytes_per_s"},
    {"flop/s", "flop_per_s", "flop_per_s"},
    {"W", "w", "_w"},
};

/** The name of its column, once a value has been read. */
static const char *column_of(dsgd_config *config, const dsgd_sweep *sweep)
{
    const char *const path = sweep->path;
    if (strcmp(path, platform_option->name) == 0 || strcmp(path, "network") == 0 ||
        strcmp(path, workload_option->name) == 0) /* are columns of every run already */
        return dsgd_config_keep(config, "swept.%s", path);
    for (size_t k = 0; k < sizeof units / sizeof units[0]; k++)
        if (sweep->is_number && sweep->unit != NULL && strcmp(sweep->unit, units[k].unit) == 0 &&
            !ends_with(path, units[k].word))
            return dsgd_config_keep(config, "%s_%s", path, units[k].column);
    return path;
}

void dsgd_experiment_add_columns(dsgd_experiment *experiment, const char *const *names, size_t n)
{
    const size_t before = experiment->n_columns, all = before + n;
    const char **const columns = dsgd_config_alloc(experiment->config, all * sizeof *columns);
    memcpy(columns, experiment->columns, before * sizeof *columns);
    memcpy(columns + before, names, n * sizeof *columns);
    experiment->columns = columns;
    experiment->n_columns = all;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        dsgd_planned_run *const run = &experiment->runs[i];
        const char **const values = dsgd_config_alloc(experiment->config, all * sizeof *values);
        memcpy(values, run->swept, before * sizeof *values);
        run->swept = values;
    }
}

dsgd_status dsgd_experiment_open(const char *path, const char *const *sets, size_t n_sets,
                                 dsgd_numerics numerics, dsgd_experiment *experiment,
                                 dsgd_error *error)
{
    *experiment = (dsgd_experiment){.config = NULL};
    dsgd_config *config = NULL;
    dsgd_status status = dsgd_config_open(path, &config, error);
    if (status != DSGD_OK)
        return status;
    experiment->config = config;
    experiment->path = dsgd_config_keep(config, "%s", path);
    experiment->name = default_name(config, path);
    for (size_t i = 0; status == DSGD_OK && i < n_sets; i++)
        status = dsgd_config_override(config, sets[i], error);
    if (status == DSGD_OK)
        status = dsgd_config_spread(config, error);
    dsgd_sweep **const sweeps =
        dsgd_config_sweeps(config, dsgd_config_root(config), &experiment->n_columns);
    odometer o = {.n = {0}};
    if (status == DSGD_OK)
        status = find_axes(experiment, &o, error);
    if (status == DSGD_OK)
        status = add_runs(experiment, &o, sweeps, error);
    if (status == DSGD_OK && experiment->n_runs == 0)
        status = dsgd_fail(error, DSGD_EUSAGE, "%s: there is no run: a sweep is empty", path);
    experiment->columns = dsgd_config_alloc(config, (experiment->n_columns + 1) * sizeof(char *));
    for (size_t i = 0; status == DSGD_OK && i < experiment->n_columns; i++)
        experiment->columns[i] = column_of(config, sweeps[i]);
    if (status == DSGD_OK) {
        leave_out(experiment, o.n[DSGD_AXIS_ALGORITHM]);
        status = dsgd_experiment_settle(experiment, numerics, error);
    }
    if (status == DSGD_OK)
        status = refuse_twins(experiment, error);
    if (status == DSGD_OK)
        status = refuse_currencies(experiment, error);
    experiment->n_unchanged = experiment->n_runs;
    if (status != DSGD_OK)
        dsgd_experiment_close(experiment);
    return status;
}

void dsgd_experiment_close(dsgd_experiment *experiment)
{
    dsgd_config_close(experiment->config);
    free(experiment->runs);
    free(experiment->left_out);
    *experiment = (dsgd_experiment){0};
}
