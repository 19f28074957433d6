/**
 * @file check.c
 * Implements `dsgd check`. It checks an experiment and prints the experiment's runs as a table.
 */
#include "base/program.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/console/table.h"
#include "command/experiment/plugin.h"
#include "command/runs/exchanges.h"
#include "command/runs/prepare.h"
#include "command/runs/rows.h"
#include "command/studies/sensitivity.h"

typedef struct arguments {
    dsgd_operands file;
    const char *sensitivity;
    dsgd_texts sets, plugins;
    double sensitivity_percent; /* variation of numeric parameters in percent; NAN if --sensitivity
                                 * varies only choices */
    int numerics;
} arguments;

static const dsgd_argument check_options[] = {
    DSGD_ARGUMENT(TEXTS, sets, "set", 0, "A.B=C",
                  "Overrides a value of the experiment (may be repeated)"),
    DSGD_ARGUMENT(WORD, numerics, "numerics", 0, "WHERE", "As in `dsgd run`",
                  .words = dsgd_numerics_words),
    DSGD_ARGUMENT(TEXT, sensitivity, "sensitivity", 0, "PERCENT", "As in `dsgd run`",
                  .implied = "20"),
    DSGD_ARGUMENT_PLUGIN,
    {.name = NULL},
};

static void print_plan(const dsgd_experiment *experiment)
{
    printf("%s: %s\n", experiment->name, dsgd_counted(experiment->n_runs, "run"));
    dsgd_columns t = {.wraps = true};
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        dsgd_row_plan(&t, experiment, i);
        dsgd_columns_put(&t, "workload", "%s", run->workload_name);
        dsgd_columns_put(&t, "platform", "%s", run->platform_name);
        for (size_t k = 0; k < experiment->n_columns; k++)
            dsgd_columns_put(&t, experiment->columns[k], "%s",
                             run->swept[k] == NULL ? "" : run->swept[k]);
    }
    dsgd_columns_print(&t);
}

static dsgd_status check(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "EXPERIMENT.yaml",
        "Checks an experiment and prints its runs, without executing them.",
        1,
        1,
        "check: give one experiment file, such as `dsgd check experiment.yaml`",
        check_options};
    arguments a = {.sensitivity = NULL};
    dsgd_experiment experiment;
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    DSGD_TRY(dsgd_plugins_load(&a.plugins, error));
    DSGD_TRY(dsgd_experiment_open(a.file.v[0], a.sets.v, a.sets.n, (dsgd_numerics)a.numerics,
                                  &experiment, error));
    if (a.sensitivity != NULL)
        DSGD_TRY(dsgd_sensitivity_open(a.sensitivity, &experiment, &a.sensitivity_percent, error));
    if (a.numerics != DSGD_NUMERICS_OFF)
        DSGD_TRY(dsgd_prepare_data(&experiment, error));
    print_plan(&experiment);
    if (a.numerics != DSGD_NUMERICS_OFF)
        dsgd_splits_print(&experiment);
    dsgd_prepare_left_out(&experiment);
    dsgd_program_flush();
    dsgd_exchanges_warn_of_default(stderr, &experiment);
    dsgd_exchanges_warn_of_time(stderr, &experiment);
    return DSGD_OK;
}

const dsgd_command dsgd_command_check = {
    .name = "check",
    .usage = "EXPERIMENT.yaml",
    .summary = "checks an experiment and lists its runs",
    .run = check,
};
