/**
 * @file sensitivity_runs.c
 * The runs of --sensitivity: each again with every calibrated parameter smaller and larger.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/experiment/config.h"
#include "command/experiment/plugin.h"
#include "command/studies/sensitivity.h"

/** Options of a platform or workload that are not calibrated. */
static const char *const exact[] = {
    "reference_speed", /* says on which host `step` was measured; it is `step` that may be wrong */
    "bytes", /* of the network, which can be counted */
    "busy_power", /* decides no time */
    "idle_power",
    "samples", /* the unit of the throughput, the same for all algorithms */
    NULL};

/** A part of a run whose options are varied. */
static const struct {
    const char *name;
    const dsgd_option *options;
    size_t offset; /* of the part in a dsgd_planned_run */
} parts[] = {
    {"platform", dsgd_platform_options, offsetof(dsgd_planned_run, platform)},
    {"workload", dsgd_workload_options, offsetof(dsgd_planned_run, workload)},
};

/** Adds run @p i with an option of a part times @p factor, if that makes a difference. */
static void add_variation(dsgd_experiment *experiment, size_t i, size_t part,
                          const dsgd_option *option, const char *parameter, double factor)
{
    dsgd_planned_run run = experiment->runs[i];
    double *const value = (double *)((char *)&run + parts[part].offset + option->offset);
    const double old = *value;
    /* A SimGrid file has its own links, and a single switch has no groups. */
    const int topology = run.platform.topology;
    const bool is_used =
        (strncmp(option->name, "host_", 5) != 0 || topology != DSGD_TOPOLOGY_XML) &&
        (strncmp(option->name, "group_", 6) != 0 || topology == DSGD_TOPOLOGY_GROUPS);
    *value = fmax(option->min, fmin(option->max, factor * old));
    if (!(old > 0) || *value == old || !is_used)
        return;
    run.unchanged = i;
    run.parameter = parameter;
    run.factor = *value == factor * old ? factor : *value / old;
    experiment->runs =
        dsgd_xrealloc(experiment->runs, experiment->n_runs + 1, sizeof *experiment->runs);
    experiment->runs[experiment->n_runs++] = run;
}

/**
 * Appends, for each calibrated parameter of platform and workload that is not 0, each run with that
 * parameter times 1 - percent / 100 and times 1 + percent / 100, clipped to the limits of its option.
 * All runs get the columns `parameter` and `factor`, empty in the unchanged ones.
 */
static dsgd_status vary(dsgd_experiment *experiment, double percent, dsgd_error *error)
{
    dsgd_config *const config = experiment->config;
    for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
        for (const dsgd_option *o = parts[part].options; o->name != NULL; o++) {
            if (o->kind != DSGD_DOUBLE || dsgd_find_word(exact, o->name) >= 0)
                continue; /* whole numbers are counts and shapes */
            const char *const parameter =
                dsgd_config_keep(config, "%s.%s", parts[part].name, o->name);
            for (int sign = -1; sign <= 1; sign += 2)
                for (size_t i = 0; i < experiment->n_unchanged; i++)
                    add_variation(experiment, i, part, o, parameter, 1 + sign * percent / 100);
            if (experiment->n_runs > DSGD_MOST_RUNS)
                return dsgd_fail(error, DSGD_EUSAGE,
                                 "%s: with their variations there are more than %d runs; shorten a "
                                 "list or a sweep",
                                 experiment->path, DSGD_MOST_RUNS);
        }
    }
    if (experiment->n_runs == experiment->n_unchanged)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: every calibrated parameter is 0, so there is nothing to vary",
                         experiment->path);
    static const char *const names[] = {"parameter", "factor"};
    const size_t n = experiment->n_columns;
    dsgd_experiment_add_columns(experiment, names, 2);
    for (size_t i = experiment->n_unchanged; i < experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        run->swept[n] = run->parameter;
        run->swept[n + 1] = dsgd_config_keep(config, "%.6g", run->factor);
    }
    return dsgd_experiment_settle(experiment, experiment->runs[0].config.numerics, error);
}

/** NULL stands for the first algorithm. */
static dsgd_status check_baseline(const dsgd_experiment *experiment, const char *baseline,
                                  dsgd_error *error)
{
    const char **const names =
        dsgd_config_alloc(experiment->config, (experiment->n_runs + 1) * sizeof *names);
    for (size_t i = 0; i < experiment->n_runs; i++)
        names[i] = experiment->runs[i].label;
    if (baseline == NULL || dsgd_find_word(names, baseline) >= 0)
        return DSGD_OK;
    char *const hint = dsgd_hint(baseline, names);
    dsgd_fail(error, DSGD_EUSAGE,
              "--baseline %s: %s has no such algorithm%s; `dsgd check` shows them", baseline,
              experiment->path, hint);
    free(hint);
    return DSGD_EUSAGE;
}

dsgd_status dsgd_sensitivity_open(const dsgd_request *request, dsgd_experiment *experiment,
                                  double *percent, dsgd_error *error)
{
    const char *const sensitivity = request->sensitivity;
    if (sensitivity != NULL &&
        (!dsgd_parse_number(sensitivity, NULL, percent) || !(*percent > 0 && *percent < 100)))
        return dsgd_fail(error, DSGD_EUSAGE,
                         "--sensitivity=%s: a number of per cent above 0 and below 100 is expected",
                         sensitivity);
    if (request->baseline != NULL && sensitivity == NULL)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "--baseline %s: it goes with --sensitivity; `dsgd compare` has its own",
                         request->baseline);
    dsgd_status status = dsgd_plugins_load(request->plugins, error);
    if (status == DSGD_OK)
        status = dsgd_experiment_open(request->path, request->sets->v, request->sets->n,
                                      (dsgd_numerics)request->numerics, experiment, error);
    if (status != DSGD_OK || sensitivity == NULL)
        return status;
    status = check_baseline(experiment, request->baseline, error);
    if (status == DSGD_OK)
        status = vary(experiment, *percent, error);
    if (status != DSGD_OK)
        dsgd_experiment_close(experiment);
    return status;
}
