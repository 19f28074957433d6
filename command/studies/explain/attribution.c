/**
 * @file attribution.c
 * Runs the experiment as it is, then its counterfactuals, in a folder that is there only meanwhile.
 */
#include "command/studies/explain/attribution.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/program.h"
#include "command/analysis/plot.h"
#include "command/console/command.h"
#include "command/runs/manifest.h"
#include "command/runs/prepare.h"
#include "command/runs/results.h"
#include "command/studies/study.h"

/** What is asked, of an open experiment. */
typedef struct attribution {
    const dsgd_explain_options *options;
    dsgd_experiment *experiment;
    dsgd_pool_config config;
    bool *wanted; /* [n_unchanged] */
    bool is_second; /* round: the counterfactuals */
    dsgd_error failure; /* the first */
    dsgd_status failed;
} attribution;

/* --- the runs --------------------------------------------------------------------------------- */

static dsgd_status simulate(const void *of, size_t i, const dsgd_run_config *run,
                            dsgd_run_result *result, dsgd_error *error)
{
    const attribution *const a = of;
    return i < a->experiment->n_unchanged
               ? dsgd_facts_record(run, result, a->config.folder, i, error)
               : dsgd_simulate(run, result, error);
}

/** The counterfactuals of a run that are other than it. */
static void choose_counterfactuals(attribution *a, size_t i, bool *chosen)
{
    dsgd_facts facts;
    dsgd_error why;
    if (dsgd_results_state(a->config.results, i) != DSGD_RUN_DONE)
        return;
    const dsgd_status status = dsgd_facts_read(a->config.folder, i, &facts, &why);
    for (int which = 0; status == DSGD_OK && which < DSGD_N_COUNTERFACTUALS; which++)
        chosen[dsgd_counterfactual_run(a->experiment, i, which)] =
            dsgd_counterfactual_settle(a->experiment, i, which, &facts);
    if (a->failed == DSGD_OK && status != DSGD_OK) {
        a->failed = status;
        a->failure = why;
    }
    dsgd_facts_free(&facts);
}

static void choose(void *of, bool *chosen)
{
    attribution *const a = of;
    for (size_t i = 0; i < a->experiment->n_unchanged; i++) {
        if (a->wanted[i] && a->is_second)
            choose_counterfactuals(a, i, chosen);
        else
            chosen[i] = a->wanted[i];
    }
}

/** After the first round there is another where it had results, but for a figure. */
static dsgd_status read_results(void *of, bool *more, dsgd_error *error)
{
    attribution *const a = of;
    *more = false;
    for (size_t i = 0; i < a->experiment->n_unchanged; i++)
        *more = *more || (a->wanted[i] && dsgd_results_throughput(a->config.results, i) > 0);
    *more = *more && !a->is_second && a->options->format == DSGD_EXPLAIN_TEXT;
    a->is_second = true;
    *error = a->failure;
    return a->failed;
}

/* --- what is shown ---------------------------------------------------------------------------- */

static long least(long a, long b)
{
    return a < b ? a : b;
}

/** The slow-down of every worker in every step, as the table of a figure; the caller frees it. */
static char *table_of(const dsgd_facts *f)
{
    enum { MOST_ROWS = 128, MOST_COLUMNS = 160 }; /* cells that can be told apart on half a page */
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *const stream = dsgd_text_open(&text, &n_bytes);
    const long rows = (f->n_workers + MOST_ROWS - 1) / MOST_ROWS;
    const long columns = (f->n_steps + MOST_COLUMNS - 1) / MOST_COLUMNS;
    fputs("worker,workers,step,steps,slowdown\n", stream);
    for (long i = 0; i < f->n_workers; i += rows)
        for (long t = 0; t < f->n_steps; t += columns) {
            const long n[] = {least(rows, f->n_workers - i), least(columns, f->n_steps - t)};
            double worst = NAN; /* over the median; NAN: nothing is computed there */
            for (long k = 0; k < n[0] * n[1]; k++)
                worst = fmax(worst, f->compute_s[(i + k / n[1]) * f->n_steps + t + k % n[1]] /
                                        f->gradient_s); /* but for NAN */
            fprintf(stream, "%ld,%ld,%ld,%ld,", i, n[0], t, n[1]);
            if (isnan(worst)) /* an empty cell would move others: an image is rows of one length */
                fputs("nan", stream);
            else
                dsgd_csv_number(stream, worst);
            fputc('\n', stream);
        }
    dsgd_text_close(stream, &text);
    return text;
}

static dsgd_status write_map(const attribution *a, dsgd_error *error)
{
    const char *const format = dsgd_explain_formats[a->options->format];
    const size_t i = a->options->run > 0 ? (size_t)a->options->run - 1 : 0;
    dsgd_facts facts;
    dsgd_status status = dsgd_facts_read(a->config.folder, i, &facts, error);
    if (status == DSGD_OK && !(facts.gradient_s > 0))
        status = dsgd_fail(error, DSGD_ERUNS, "run %zu ended before any step was computed", i + 1);
    if (status == DSGD_OK) {
        char *const path =
            a->options->output != NULL
                ? dsgd_xstrdup(a->options->output)
                : dsgd_xprintf("%s-%zu-slowdown.%s", a->experiment->name, i + 1, format);
        char *const table = table_of(&facts);
        status = dsgd_figure_write("slowdown", table, a->options->size, format, path, error);
        if (status == DSGD_OK)
            printf("%s: step times of run %zu (%s)\n", path, i + 1, a->experiment->runs[i].label);
        free(table);
        free(path);
    }
    dsgd_facts_free(&facts);
    return status;
}

static dsgd_status conclude(void *of, const dsgd_pool_counts *done, dsgd_error *error)
{
    const attribution *const a = of;
    const dsgd_explained explained = {a->experiment, a->config.results, a->wanted};
    const char *const output = a->options->output;
    dsgd_status status = DSGD_OK;
    if (a->options->format != DSGD_EXPLAIN_TEXT) {
        status = write_map(a, error);
    } else {
        dsgd_program_flush();
        FILE *const file = output == NULL ? stdout : fopen(output, "w");
        if (file == NULL || dup2(fileno(file), STDOUT_FILENO) < 0)
            return dsgd_fail(error, DSGD_EIO, "%s: it cannot be written: %m", output);
        if (file != stdout)
            fclose(file);
        status = dsgd_explained_print(&explained, error);
    }
    return status == DSGD_OK && done->n_failed > 0
               ? dsgd_fail(error, DSGD_ERUNS, "%zu of %zu runs failed", done->n_failed,
                           done->n_runs)
               : status;
}

/** A figure is of one run: the first, where none is named. */
static dsgd_status choose_runs(attribution *a, dsgd_error *error)
{
    const dsgd_experiment *const experiment = a->experiment;
    const bool figure = a->options->format != DSGD_EXPLAIN_TEXT;
    const size_t run = (size_t)(figure && a->options->run == 0 ? 1 : a->options->run);
    if (run > experiment->n_unchanged)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "--run %zu: there are %zu runs; `dsgd check %s` lists them", run,
                         experiment->n_unchanged, experiment->path);
    a->wanted = dsgd_xcalloc(experiment->n_unchanged, sizeof *a->wanted);
    for (size_t i = 0; i < experiment->n_unchanged; i++)
        a->wanted[i] = run == 0 || run == i + 1;
    return DSGD_OK;
}

dsgd_status dsgd_attribution(const dsgd_explain_options *options, dsgd_error *error)
{
    const int numerics = options->numerics < 0 ? DSGD_NUMERICS_OFF : options->numerics;
    const dsgd_source source = {options->source.v[0], &options->sets, numerics, options->run};
    dsgd_experiment experiment;
    dsgd_status status = dsgd_source_open(&source, &experiment, error);
    if (status != DSGD_OK)
        return status;
    attribution a = {.options = options,
                     .experiment = &experiment,
                     .config = {.experiment = &experiment,
                                .command = "dsgd explain",
                                .jobs = options->jobs > 0 ? options->jobs : dsgd_cores(),
                                .numerics = numerics,
                                .limits = options->limits,
                                .simulate = simulate,
                                .simulator = &a}};
    const dsgd_study study = {&a, NULL, choose, read_results, conclude};
    status = choose_runs(&a, error);
    dsgd_prepare_left_out(&experiment);
    if (status == DSGD_OK)
        status = dsgd_study_prepare(&a.config, numerics != DSGD_NUMERICS_OFF, false, error);
    if (status == DSGD_OK)
        status = dsgd_counterfactuals_add(&experiment, a.config.numerics, error);
    if (status == DSGD_OK)
        status = dsgd_study_run(&study, &a.config, &options->plugins, error);
    free(a.wanted);
    dsgd_experiment_close(&experiment);
    return status;
}
