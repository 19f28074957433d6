/**
 * @file imbalance.c
 * Implements `dsgd imbalance fit`. It fits imbalance entries of an experiment to measured step
 * times.
 */
#include "base/file.h"
#include "base/json.h"
#include "command/analysis/plot.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/import/steps.h"

typedef struct arguments {
    dsgd_operands words;
    const char *column, *folder;
    int unit; /* unit of the step times; 0 if the name of the column contains the unit */
} arguments;

static void print_entries(const dsgd_steps *m)
{
    printf(
        "\n# Relative to the mean: with `step: %.6gs` in the workload, the seconds are those of\n"
        "# %s.\nimbalance: # %s, the best fit\n%s\nimbalance: # as measured\n%s"
        "\n# or the same steps, in the same order, of the same workers:\n",
        m->mean_s, m->file, dsgd_steps_title(&m->fits[0]), dsgd_steps_entries(m, false),
        /* Also print the measured quantiles, because they are more exact than any fit. */
        dsgd_steps_entries(m, true));
    if (m->can_replay)
        printf("# - {kind: replay, file: %s}\n", dsgd_yaml_word(m->file));
    else
        puts("# kind `replay` reads a CSV file with the columns worker (or rank) and seconds, and "
             "optionally step");
}

/**
 * Writes a table of measured and fitted quantiles, one row per measured value, with at most 2000
 * rows.
 */
static dsgd_status write_quantiles(const dsgd_steps *m, const char *folder, dsgd_error *error)
{
    enum { MOST = 2000 };
    const size_t n = m->n < MOST ? m->n : MOST;
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/quantiles.csv", folder);
    if (stream == NULL)
        return DSGD_EIO;
    fputs("percent,measured", stream);
    for (int i = 0; i < DSGD_FITS; i++)
        fprintf(stream, ",%s", dsgd_steps_title(&m->fits[i]));
    fputc('\n', stream);
    for (size_t i = 0; i < n; i++) {
        const double p = ((double)i + 0.5) / (double)n;
        double quantiles[1 + DSGD_FITS] = {m->seconds[(size_t)(p * (double)m->n)]};
        for (int j = 0; j < DSGD_FITS; j++)
            quantiles[1 + j] = dsgd_fit_quantile(&m->fits[j], p);
        dsgd_csv_number(stream, 100 * p);
        dsgd_csv_numbers(stream, quantiles, 1 + DSGD_FITS);
        fputc('\n', stream);
    }
    return dsgd_whole_close(&file, error);
}

static const char *const unit_words[] = {"by-name", "s", "ms", "us", "ns", "min", NULL};

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, column, "column", 'c', "NAME",
                  "Column of step times [default: `seconds`, else the only column, else the only "
                  "column named after a unit, such as step_time_ms]"),
    DSGD_ARGUMENT(
        WORD, unit, "unit", 0, "UNIT",
        "Unit of the column: s, ms, us, ns or min [default: taken from the column name, else s]",
        .words = unit_words),
    DSGD_ARGUMENT(TEXT, folder, "output", 'o', "DIR",
                  "Writes DIR/quantiles.csv and draws a figure of it"),
    {.name = NULL},
};

static dsgd_status imbalance(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "fit FILE",
        "Fits distributions to the step times in a CSV file, one per row, and prints entries for "
        "the imbalance of an experiment. With a column `worker` or `rank`, differences between "
        "workers are separated from variation from step to step.",
        2,
        2,
        "imbalance: give `fit` and a CSV file of step times, such as `dsgd imbalance fit "
        "steps.csv`",
        options};
    arguments a = {.column = NULL};
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    if (strcmp(a.words.v[0], "fit") != 0)
        return dsgd_refuse(error, "%s", syntax.expected);
    if (a.folder != NULL && *a.folder == '\0')
        return dsgd_refuse(error, "-o must be the name of a folder, got an empty text");
    dsgd_steps m = {
        .file = a.words.v[1], .column = a.column, .unit = a.unit == 0 ? NULL : unit_words[a.unit]};
    dsgd_csv csv;
    DSGD_TRY(dsgd_csv_read(&csv, error, "%s", m.file));
    DSGD_TRY(dsgd_steps_read(&csv, &m, error));
    DSGD_TRY(dsgd_steps_fit(&m, error));
    dsgd_steps_print(&m);
    print_entries(&m);
    if (a.folder == NULL)
        return DSGD_OK;
    DSGD_TRY(dsgd_figures_make(a.folder, error));
    DSGD_TRY(write_quantiles(&m, a.folder, error));
    putchar('\n');
    return dsgd_figure_draw("quantiles", a.folder, error);
}

const dsgd_command dsgd_command_imbalance = {
    .name = "imbalance",
    .usage = "fit FILE.csv",
    .summary = "fits distributions to measured step times",
    .run = imbalance,
};
