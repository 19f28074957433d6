/**
 * @file check.c
 * `dsgd check`: the runs of an experiment and what they will take, as a table, as lines for other
 * programs, or as a job of Slurm.
 */
#include <inttypes.h>

#include "base/csv.h"
#include "base/program.h"
#include "command/console/command.h"
#include "command/console/table.h"
#include "command/runs/estimate.h"
#include "command/runs/exchanges.h"
#include "command/runs/expand.h"
#include "command/runs/prepare.h"
#include "command/runs/results.h"
#include "command/runs/rows.h"
#include "command/studies/sensitivity.h"

enum { AS_TABLE, AS_JSON, AS_COMMANDS, AS_SLURM };

static const char *const forms[] = {"table", "json", "commands", "slurm", NULL};

typedef struct arguments {
    dsgd_operands file;
    const char *sensitivity, *folder;
    dsgd_texts sets, plugins;
    double sensitivity_percent; /* 0: none */
    double chunk_s; /* 0: not given */
    int numerics, form;
    bool estimates;
} arguments;

static const dsgd_argument check_options[] = {
    DSGD_ARGUMENT(FLAG, estimates, "estimate", 'e', NULL,
                  "Runs each kind of run for a few steps, shows which CPU time and memory all will "
                  "take, and refuses what does not fit into this machine's memory"),
    DSGD_ARGUMENT(
        WORD, form, "as", 0, "FORM",
        "table; json: an object per run; commands: one per run, for GNU parallel; slurm: a script "
        "for `bash`, which submits an array of tasks and a job that merges their results. Task K "
        "writes to DIR.tasks/K, for `dsgd merge DIR.tasks/* -o DIR`",
        .words = forms),
    DSGD_ARGUMENT(SECONDS, chunk_s, "chunk", 0, "DURATION",
                  "Of a command or task of Slurm (10min), which does several runs"),
    DSGD_ARGUMENT(TEXT, folder, "output", 'o', "DIR", "Folder of the results (results/NAME)"),
    DSGD_ARGUMENT(TEXTS, sets, "set", 0, "A.B=C",
                  "Overrides a value of the experiment; may be repeated"),
    DSGD_ARGUMENT(WORD, numerics, "numerics", 0, "WHERE", "As in `dsgd run`",
                  .words = dsgd_numerics_words),
    DSGD_ARGUMENT(TEXT, sensitivity, "sensitivity", 0, "PERCENT", "As in `dsgd run`",
                  .implied = "20"),
    DSGD_ARGUMENT_PLUGIN,
    {.name = NULL},
};

/** @p estimates NULL: none. */
static void print_plan(const dsgd_experiment *experiment, const dsgd_estimate *estimates)
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
        if (estimates == NULL)
            continue;
        const double cpu_s = estimates[i].cpu_s;
        if (isnan(cpu_s))
            dsgd_columns_put(&t, "CPU (s)", "?");
        else
            dsgd_columns_put(&t, "CPU (s)", cpu_s < 100 ? "%.2g" : "%.0f", cpu_s);
        dsgd_columns_put(&t, "memory (MB)", "%.0f", 1e-6 * estimates[i].memory_bytes);
    }
    dsgd_columns_print(&t);
    if (estimates == NULL)
        return;
    const dsgd_estimate_sum sum = dsgd_estimate_sum_of(experiment, estimates);
    const char *const unknown =
        sum.n_unknown == 0
            ? ""
            : dsgd_xprintf("; the time is not known of %s that an accuracy alone ends",
                           dsgd_counted(sum.n_unknown, "run"));
    dsgd_print_text("estimated:", 11,
                    "about %.2g CPU seconds in all, %.2g of the longest run; at most %.0f MB of "
                    "memory per run, of which %.0f fit at a time into the %.3g GB that are "
                    "available%s",
                    sum.cpu_s, sum.longest_s, 1e-6 * sum.most_bytes,
                    floor(sum.available_bytes / fmax(1, sum.most_bytes)),
                    1e-9 * sum.available_bytes, unknown);
}

/** `dsgd run FILE`, and what goes for all of its runs. */
static char *command_of(const arguments *a, const char *program)
{
    char *text = dsgd_xprintf("%s run %s", program, dsgd_shell_word(a->file.v[0]));
    for (size_t i = 0; i < a->sets.n; i++)
        dsgd_append(&text, " --set %s", dsgd_shell_word(a->sets.v[i]));
    for (size_t i = 0; i < a->plugins.n; i++)
        dsgd_append(&text, " --plugin %s", dsgd_shell_word(a->plugins.v[i]));
    if (a->numerics != DSGD_NUMERICS_AUTO)
        dsgd_append(&text, " --numerics %s", dsgd_numerics_words[a->numerics]);
    if (a->sensitivity != NULL)
        dsgd_append(&text, " --sensitivity=%s", a->sensitivity);
    dsgd_append(&text, " -j 1 --threads 1 --progress off");
    return text;
}

/** The experiment for another program, on standard output. */
static dsgd_status expand(const arguments *a, const dsgd_experiment *experiment,
                          const dsgd_estimate *estimates, dsgd_error *error)
{
    bool learns = false;
    for (size_t i = 0; i < experiment->n_runs; i++)
        learns = learns || experiment->runs[i].config.learning != NULL;
    char *const path = dsgd_program_path(); /* wherever the command is run */
    char *const program = dsgd_shell_word(path == NULL ? "dsgd" : path);
    const bool varies = a->sensitivity != NULL;
    const dsgd_expansion e = {.experiment = experiment,
                              .estimates = estimates,
                              .folder = dsgd_results_folder(a->folder, experiment, varies),
                              .program = program,
                              .command = command_of(a, program),
                              .chunk_s = a->chunk_s > 0        ? a->chunk_s
                                         : a->form == AS_SLURM ? 600
                                                               : 0,
                              .computes = learns && a->numerics != DSGD_NUMERICS_OFF};
    if (a->form == AS_SLURM)
        DSGD_TRY(dsgd_expand_slurm(&e, error));
    else if (a->form == AS_JSON)
        dsgd_expand_json(&e);
    else if (strpbrk(dsgd_xprintf("%s%s", e.command, e.folder), "\n\r") != NULL)
        return dsgd_refuse(error, "--as commands: a line each, but a name here has a line break");
    else
        dsgd_expand_commands(&e);
    return DSGD_OK;
}

static dsgd_status check_open(arguments *a, const dsgd_experiment *experiment, dsgd_error *error)
{
    dsgd_estimate *estimates = NULL;
    if (a->chunk_s > 0 && a->form != AS_COMMANDS && a->form != AS_SLURM)
        return dsgd_refuse(error, "--chunk: it goes with --as commands or --as slurm");
    if (a->numerics != DSGD_NUMERICS_OFF)
        DSGD_TRY(dsgd_prepare_data(experiment, error));
    if (a->estimates || a->chunk_s > 0 || a->form == AS_SLURM) {
        dsgd_device_survey survey;
        int numerics = a->numerics;
        estimates = dsgd_keep(experiment->n_runs, sizeof *estimates);
        DSGD_TRY(dsgd_prepare_device(experiment, false, &numerics, &survey, error));
        DSGD_TRY(dsgd_estimate_runs(experiment, numerics, estimates, error));
    }
    if (a->form != AS_TABLE) {
        DSGD_TRY(expand(a, experiment, estimates, error));
    } else {
        print_plan(experiment, estimates);
        if (a->numerics != DSGD_NUMERICS_OFF)
            dsgd_splits_print(experiment);
    }
    dsgd_prepare_left_out(experiment);
    dsgd_program_flush();
    dsgd_exchanges_warn_of_unused(stderr, experiment, NULL);
    dsgd_exchanges_warn_of_default(stderr, experiment);
    dsgd_exchanges_warn_of_time(stderr, experiment);
    return DSGD_OK;
}

static dsgd_status check(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "EXPERIMENT.yaml",
        "Checks an experiment and shows its runs, without running them; or what they will take, or "
        "commands that do them on other machines.",
        1,
        1,
        "check: give the file of one experiment",
        check_options};
    arguments a = {.folder = NULL};
    dsgd_experiment experiment;
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    DSGD_TRY(dsgd_sensitivity_open(
        &(dsgd_request){a.file.v[0], &a.sets, &a.plugins, a.numerics, a.sensitivity, NULL},
        &experiment, &a.sensitivity_percent, error));
    return check_open(&a, &experiment, error);
}

const dsgd_command dsgd_command_check = {
    .name = "check",
    .usage = "EXPERIMENT.yaml",
    .summary = "checks an experiment and shows its runs",
    .run = check,
};
