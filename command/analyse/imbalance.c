/**
 * @file imbalance.c
 * `dsgd imbalance fit`: from measured step times to an entry for an experiment's list.
 *
 * Entries are relative to the mean and scale: they shape any workload's step, and give the measured
 * seconds back where the workload's step is the mean.
 */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/option.h"
#include "command/arguments.h"
#include "command/command.h"
#include "traces/fit.h"

enum { LEAST_VALUES = 10 };

/* Workers differ if workers with equal means would differ as much with less probability. */
static const double least_p_value = 0.01;

/* The largest deviation that the kind `persistent` takes. */
static const double most_persistent = 0.25;

typedef struct arguments {
    dsgd_operands words;
    const char *column, *folder;
} arguments;

/** What was measured, and what became of it. */
typedef struct measured {
    const char *file, *column;
    size_t n;
    double *seconds; /* [n]; from step to step alone, once the workers' own part is taken out */
    double *worker; /* [n], NULL where the file does not say */
    double mean_s, deviation_s, min_s, max_s;
    dsgd_variance_components parts;
    bool persistent; /* there is such a part */
    dsgd_fit fits[DSGD_FITS];
} measured;

static dsgd_status find_column(const dsgd_csv *csv, const char *wanted, size_t *column,
                               dsgd_error *error)
{
    *column = dsgd_csv_column(csv, wanted == NULL ? "seconds" : wanted);
    if (*column == csv->n_columns && wanted == NULL && csv->n_columns == 1)
        *column = 0;
    double number = 0;
    if (*column < csv->n_columns && dsgd_parse_number(csv->fields[*column], NULL, &number))
        return dsgd_fail(error, DSGD_EIO,
                         "%s:1: the first line has to name the columns, but it says \"%s\"",
                         csv->path, csv->fields[*column]);
    if (*column < csv->n_columns)
        return DSGD_OK;
    char *names = dsgd_xstrdup(csv->fields[0]);
    for (size_t i = 1; i < csv->n_columns; i++)
        dsgd_append(&names, ", %s", csv->fields[i]);
    const dsgd_status status =
        dsgd_fail(error, DSGD_EIO,
                  "%s:1: there is no column \"%s\", but %s; --column NAME says which to take",
                  csv->path, wanted == NULL ? "seconds" : wanted, names);
    free(names);
    return status;
}

static dsgd_status read_field(const dsgd_csv *csv, size_t row, size_t column, double least,
                              const char *limits, double *number, dsgd_error *error)
{
    const char *const text = dsgd_csv_field(csv, row, column);
    if (dsgd_parse_number(text, NULL, number) && *number >= least && *number <= 1e9)
        return DSGD_OK;
    return dsgd_fail(error, DSGD_EIO, "%s:%zu: %s is \"%s\", but has to be a number %s", csv->path,
                     csv->lines[row + 1], csv->fields[column], text, limits);
}

static dsgd_status read_values(const dsgd_csv *csv, measured *m, dsgd_error *error)
{
    size_t column = 0;
    dsgd_status status = find_column(csv, m->column, &column, error);
    if (status != DSGD_OK)
        return status;
    const size_t worker = dsgd_csv_column(csv, "worker");
    m->column = csv->fields[column];
    m->n = csv->n_rows;
    m->seconds = dsgd_xcalloc(m->n + 1, sizeof *m->seconds);
    if (worker < csv->n_columns && worker != column)
        m->worker = dsgd_xcalloc(m->n + 1, sizeof *m->worker);
    for (size_t i = 0; status == DSGD_OK && i < m->n; i++) {
        status = read_field(csv, i, column, 1e-12, "above 0 and up to 1e9", &m->seconds[i], error);
        if (status == DSGD_OK && m->worker != NULL)
            status = read_field(csv, i, worker, 0, "from 0 to 1e9", &m->worker[i], error);
    }
    if (status == DSGD_OK && m->n < LEAST_VALUES)
        return dsgd_fail(error, DSGD_EIO, "%s: %zu values, but a fit needs %d or more", csv->path,
                         m->n, LEAST_VALUES);
    return status;
}

static dsgd_status summarize(measured *m, dsgd_error *error)
{
    gsl_stats_minmax(&m->min_s, &m->max_s, m->seconds, 1, m->n);
    m->mean_s = gsl_stats_mean(m->seconds, 1, m->n);
    m->deviation_s = gsl_stats_sd(m->seconds, 1, m->n);
    /* Below that the distribution functions of the families fail, and so would an entry. */
    if (m->deviation_s < 1e-6 * m->mean_s)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: all values of %s are %g, or next to it: there is nothing to fit",
                         m->file, m->column, m->mean_s);
    if (m->worker != NULL) {
        m->parts = dsgd_fit_components(m->seconds, m->worker, m->n);
        m->persistent = m->parts.p_value < least_p_value;
        if (m->persistent)
            dsgd_fit_level(m->seconds, m->worker, m->n);
    }
    gsl_sort(m->seconds, 1, m->n);
    if (m->seconds[m->n - 1] - m->seconds[0] < 1e-6 * m->mean_s)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: every worker has one value of %s: there is nothing to fit", m->file,
                         m->column);
    dsgd_fit_all(m->seconds, m->n, m->fits);
    return DSGD_OK;
}

static const char *title(const dsgd_fit *fit)
{
    if (!fit->shifted)
        return fit->family->name;
    return fit->family == &dsgd_family_gamma ? "shifted gamma" : "shifted lognormal";
}

static void print_fits(const measured *m)
{
    printf("%s: %zu values of %s\n"
           "mean %.6g s, standard deviation %.4g s, from %.6g to %.6g s\n",
           m->file, m->n, m->column, m->mean_s, m->deviation_s, m->min_s, m->max_s);
    if (m->worker != NULL)
        printf("%zu workers: their own means differ by %.3g %% (standard deviation), %s by chance\n"
               "(p = %.2g); from step to step it is %.3g %%%s\n",
               m->parts.n_workers, 100 * m->parts.persistent_s / m->mean_s,
               m->persistent ? "not" : "perhaps", m->parts.p_value,
               100 * m->parts.passing_s / m->mean_s,
               m->persistent ? "; the fits are to that part" : "");
    puts("\nfit                   mean (s)  deviation (s)   shift (s)  log-likelihood         AIC  "
         "    KS");
    for (int i = 0; i < DSGD_FITS; i++) {
        const dsgd_fit *const f = &m->fits[i];
        printf("%-18s  %10.6g  %13.6g  %10.6g  %14.2f  %10.2f  %6.4f\n", title(f), f->mean_s,
               f->deviation_s, f->shift_s, f->log_likelihood, f->aic, f->ks);
    }
}

static void print_persistent(const measured *m)
{
    const double deviation = m->parts.persistent_s / m->mean_s;
    if (m->persistent && deviation <= most_persistent)
        printf("  - {kind: persistent, deviation: %.4g}\n", deviation);
    else if (m->persistent)
        puts("  # The workers differ too much for one normal around 1;\n"
             "  # {kind: slow, worker: ...} says which are slow.");
}

static void print_quantiles(const measured *m)
{
    static const double percents[] = {0,  1,  2.5, 5,  10, 20,   25, 30,   40,   50, 60,
                                      70, 75, 80,  90, 95, 97.5, 99, 99.5, 99.9, 100};
    enum { PER_LINE = 6 };
    int n = 0;
    puts("  - kind: quantiles\n    scale: true");
    printf("    table: {");
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        const double beyond = fmin(percents[i], 100 - percents[i]) / 100 * (double)m->n;
        if (beyond > 0 && beyond < 2) /* too few values beyond it */
            continue;
        printf("%s%g: %.5g",
               n == 0              ? ""
               : n % PER_LINE == 0 ? ",\n            "
                                   : ", ",
               percents[i],
               gsl_stats_quantile_from_sorted_data(m->seconds, 1, m->n, percents[i] / 100) /
                   m->mean_s);
        n++;
    }
    puts("}");
}

static void print_entries(const measured *m)
{
    const dsgd_fit *const best = &m->fits[0];
    printf("\n# Relative to the mean: with `step: %.6gs` in the workload the seconds are those of\n"
           "# %s.\nimbalance: # %s, the best of the fits\n",
           m->mean_s, m->file, title(best));
    printf("  - {kind: %s, mean: %.9g, deviation: %.6g, ", best->family->name,
           best->mean_s / m->mean_s, best->deviation_s / m->mean_s);
    if (best->shifted)
        printf("shift: %.9g, ", best->shift_s / m->mean_s);
    puts("scale: true}");
    print_persistent(m);
    puts("\nimbalance: # as measured");
    print_quantiles(m);
    print_persistent(m);
}

/** Measured and fitted quantiles side by side, of every value or, where there are many, of some. */
static dsgd_status write_quantiles(const measured *m, const char *folder, dsgd_error *error)
{
    enum { MOST = 2000 };
    const size_t n = m->n < MOST ? m->n : MOST;
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/quantiles.csv", folder);
    if (stream == NULL)
        return DSGD_EIO;
    fputs("percent,measured", stream);
    for (int i = 0; i < DSGD_FITS; i++)
        fprintf(stream, ",%s", title(&m->fits[i]));
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

static dsgd_status draw_quantiles(const measured *m, const char *folder, dsgd_error *error)
{
    dsgd_status status = dsgd_figures_make(folder, error);
    if (status == DSGD_OK)
        status = write_quantiles(m, folder, error);
    if (status == DSGD_OK) {
        putchar('\n');
        status = dsgd_figure_draw("quantiles", folder, error);
    }
    return status;
}

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, column, "column", 'c', "NAME",
                  "The column of step times (seconds, or the only one)"),
    DSGD_ARGUMENT(TEXT, folder, "output", 'o', "DIR", "Writes DIR/quantiles.csv and draws it"),
    {.name = NULL},
};

static dsgd_status imbalance(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "fit FILE",
        "Fits distributions to the step times in a CSV file, one per row, and prints entries for "
        "the imbalance of an experiment. With a column `worker`, differences between workers are "
        "separated from variation from step to step.",
        2,
        2,
        "imbalance: give `fit` and a CSV file of step times, such as `dsgd imbalance fit "
        "steps.csv`",
        options};
    arguments a = {.column = NULL};
    dsgd_status status = dsgd_parse(count, words, &syntax, &a, error);
    if (status == DSGD_OK && strcmp(a.words.v[0], "fit") != 0)
        status = dsgd_fail(error, DSGD_EUSAGE, "%s", syntax.expected);
    if (status != DSGD_OK)
        return status;
    if (a.folder != NULL && *a.folder == '\0')
        return dsgd_fail(error, DSGD_EUSAGE, "-o: the name of a folder is expected");
    measured m = {.file = a.words.v[1], .column = a.column};
    dsgd_csv csv;
    status = dsgd_csv_read(&csv, error, "%s", m.file);
    if (status == DSGD_OK)
        status = read_values(&csv, &m, error);
    if (status == DSGD_OK)
        status = summarize(&m, error);
    if (status == DSGD_OK) {
        print_fits(&m);
        print_entries(&m);
        if (a.folder != NULL)
            status = draw_quantiles(&m, a.folder, error);
    }
    free(m.seconds);
    free(m.worker);
    dsgd_csv_close(&csv);
    return status;
}

const dsgd_command dsgd_command_imbalance = {
    .name = "imbalance",
    .usage = "fit FILE.csv",
    .summary = "fits distributions to measured step times, for an experiment's imbalance",
    .run = imbalance,
};
