/**
 * @file imbalance.c
 * `dsgd imbalance fit`: from measured step times to an entry for an experiment's list.
 *
 * Entries are relative to the mean and scale: they shape any workload's step, and give the measured
 * seconds back where the workload's step is the mean.
 */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/option.h"
#include "command/analysis/plot.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "traces/fit.h"
#include "traces/step_times.h"

enum { LEAST_VALUES = 10 };

/* Workers differ if workers with equal means would differ as much with less probability. */
static const double least_p_value = 0.01;

/* The largest deviation that the kind `persistent` takes. */
static const double most_persistent = 0.25;

/* Up to here `slow` names workers. */
enum { MOST_WORKER = 1 << 20 };

/* Of values that differ by more, a lognormal can have a deviation that no entry takes. */
static const double most_factor = 1e5;

/* What is this far, in standard errors of its mean, is no chance. */
static const double most_errors = 4;

/* An outlier is this far from the median worker, in standard deviations of the others and as a share. */
static const double least_deviations = 4, least_share = 0.05;

typedef struct arguments {
    dsgd_operands words;
    const char *column, *folder;
    int unit; /* 0: by the column's name */
} arguments;

/** What was measured, and what became of it. */
typedef struct measured {
    const char *file, *column;
    size_t n;
    double *seconds; /* [n]; from step to step alone, once the workers' own part is taken out */
    double *worker; /* [n], NULL where the file does not say */
    double all_mean_s, deviation_s, min_s, max_s; /* as measured */
    double mean_s; /* without what outliers take longer */
    dsgd_variance_components parts;
    bool persistent; /* there is such a part */
    const char *unit; /* of the column */
    size_t n_outliers;
    double *outliers,
        *factors; /* [n_outliers] workers, and their means as multiples of the median */
    bool can_replay; /* the file has the columns for it */
    dsgd_fit fits[DSGD_FITS];
} measured;

/** A number within limits, whole or not; else a sentence that says what it has to be. */
static dsgd_status read_field(const dsgd_csv *csv, size_t row, size_t column, bool is_time,
                              double *x, dsgd_error *error)
{
    const char *const text = dsgd_csv_field(csv, row, column);
    if (dsgd_parse_number(text, NULL, x) &&
        (is_time ? *x >= 1e-12 && *x <= 1e9 : *x >= 0 && *x <= MOST_WORKER && *x == floor(*x)))
        return DSGD_OK;
    return dsgd_fail(error, DSGD_EIO, "%s:%zu: %s is \"%s\", but has to be a %s", csv->path,
                     csv->lines[row + 1], csv->fields[column], text,
                     is_time ? "number above 0 and up to 1e9" : "whole number from 0 to 1048576");
}

static dsgd_status read_values(const dsgd_csv *csv, measured *m, dsgd_error *error)
{
    dsgd_step_times at;
    DSGD_TRY(dsgd_step_times_find(csv, m->column, m->unit, &at, error));
    const size_t column = at.time, worker = at.worker;
    m->can_replay = worker < csv->n_columns && m->column == NULL && m->unit == NULL;
    m->column = csv->fields[column];
    m->unit = at.unit->text;
    m->n = csv->n_rows;
    m->seconds = dsgd_keep(m->n + 1, sizeof *m->seconds);
    if (worker < csv->n_columns && worker != column)
        m->worker = dsgd_keep(m->n + 1, sizeof *m->worker);
    for (size_t i = 0; i < m->n; i++) {
        DSGD_TRY(read_field(csv, i, column, true, &m->seconds[i], error));
        m->seconds[i] *= at.unit->factor;
        if (m->worker != NULL)
            DSGD_TRY(read_field(csv, i, worker, false, &m->worker[i], error));
    }
    if (m->n < LEAST_VALUES)
        return dsgd_fail(error, DSGD_EIO, "%s: %zu values, but a fit needs %d or more", csv->path,
                         m->n, LEAST_VALUES);
    return DSGD_OK;
}

/**
 * Workers whose mean is far from the median of all means: what one normal distribution of workers
 * does not hold. Takes their factor out of their values, so that the rest can be fitted.
 */
static void find_outliers(measured *m)
{
    enum { LEAST_WORKERS = 4 };
    size_t n_numbers = 0, n = 0;
    for (size_t i = 0; i < m->n; i++)
        n_numbers = m->worker[i] >= (double)n_numbers ? (size_t)m->worker[i] + 1 : n_numbers;
    double *const counts = dsgd_keep(3 * n_numbers, sizeof *counts); /* 0: there is no worker */
    double *const means_s = counts + n_numbers, *const x = means_s + n_numbers;
    for (size_t i = 0; i < m->n; i++) {
        const size_t w = (size_t)m->worker[i];
        counts[w]++;
        means_s[w] += (m->seconds[i] - means_s[w]) / counts[w];
    }
    for (size_t w = 0; w < n_numbers; w++)
        if (counts[w] > 0)
            x[n++] = means_s[w];
    const double median = gsl_stats_median(x, 1, n);
    for (size_t k = 0; k < n; k++)
        x[k] = fabs(x[k] - median);
    const double deviation = 1.4826 * gsl_stats_median(x, 1, n); /* of a normal distribution */
    m->outliers = dsgd_keep(n, sizeof *m->outliers);
    m->factors = dsgd_keep(n, sizeof *m->factors);
    for (size_t w = 0; w < n_numbers; w++) {
        const double distance = fabs(means_s[w] - median);
        const bool is_outlier = counts[w] > 0 && n >= LEAST_WORKERS &&
                                distance >= least_share * median &&
                                distance >= least_deviations * deviation &&
                                distance >= most_errors * m->parts.passing_s / sqrt(counts[w]);
        means_s[w] = is_outlier ? means_s[w] / median : 1;
        if (is_outlier) {
            m->outliers[m->n_outliers] = (double)w;
            m->factors[m->n_outliers++] = means_s[w];
        }
    }
    for (size_t i = 0; i < m->n; i++)
        m->seconds[i] /= means_s[(size_t)m->worker[i]];
}

static dsgd_status summarize(measured *m, dsgd_error *error)
{
    gsl_stats_minmax(&m->min_s, &m->max_s, m->seconds, 1, m->n);
    m->mean_s = m->all_mean_s = gsl_stats_mean(m->seconds, 1, m->n);
    m->deviation_s = gsl_stats_sd(m->seconds, 1, m->n);
    if (m->max_s > most_factor * m->min_s)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: values of %s are from %g to %g s: step times that differ by a factor "
                         "above 1e5 cannot be fitted",
                         m->file, m->column, m->min_s, m->max_s);
    /* Below that the distribution functions of the families fail, and so would an entry. */
    if (m->deviation_s < 1e-6 * m->mean_s)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: all values of %s are %g, or next to it: there is nothing to fit",
                         m->file, m->column, m->mean_s);
    if (m->worker != NULL) {
        m->parts = dsgd_fit_components(m->seconds, m->worker, m->n);
        find_outliers(m);
        if (m->n_outliers > 0) {
            m->parts = dsgd_fit_components(m->seconds, m->worker, m->n);
            m->mean_s = gsl_stats_mean(m->seconds, 1, m->n);
        }
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
    return dsgd_xprintf("%s%s", fit->shifted ? "shifted " : "", fit->family->name);
}

static void print_fits(const measured *m)
{
    printf("%s: %zu values of %s%s%s\n"
           "mean %.6g s, standard deviation %.4g s, from %.6g to %.6g s\n",
           m->file, m->n, m->column, strcmp(m->unit, "s") == 0 ? "" : ", in ",
           strcmp(m->unit, "s") == 0 ? "" : m->unit, m->all_mean_s, m->deviation_s, m->min_s,
           m->max_s);
    for (size_t k = 0; k < m->n_outliers; k++)
        printf("worker %.0f takes %.3g times as long as the median worker\n", m->outliers[k],
               m->factors[k]);
    if (m->n_outliers > 0)
        puts("(what follows is without these factors)");
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
    for (size_t k = 0; k < m->n_outliers; k++)
        printf("  - {kind: slow, worker: %.0f, factor: %.4g}\n", m->outliers[k], m->factors[k]);
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
    printf("  - kind: quantiles\n    scale: true\n    table: {");
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        const double beyond = fmin(percents[i], 100 - percents[i]) / 100 * (double)m->n;
        if (beyond > 0 && beyond < 2) /* too few values beyond it */
            continue;
        const double x =
            gsl_stats_quantile_from_sorted_data(m->seconds, 1, m->n, percents[i] / 100);
        printf("%s%g: %.5g",
               n == 0              ? ""
               : n % PER_LINE == 0 ? ",\n            "
                                   : ", ",
               percents[i], x / m->mean_s);
        n++;
    }
    puts("}");
}

/**
 * Says where the best fit is farther from a high quantile than chance allows: the slowest of many
 * workers lives there.
 */
static void warn_of_tail(const measured *m)
{
    static const double shares[] = {0.001, 0.01, 0.05};
    const double n = (double)m->n;
    for (size_t k = 0; k < sizeof shares / sizeof shares[0]; k++) {
        const double p = 1 - shares[k];
        const double margin = most_errors * sqrt(n * p * shares[k]);
        const double low = floor(n * p - margin);
        const double high = ceil(n * p + margin);
        if (n * shares[k] < 2 || low < 0)
            continue;
        const double fitted = dsgd_fit_quantile(&m->fits[0], p);
        const double found = gsl_stats_quantile_from_sorted_data(m->seconds, 1, m->n, p);
        const bool too_short = fitted < m->seconds[(size_t)low];
        const bool too_long = high < n && fitted > m->seconds[(size_t)high];
        if ((!too_short && !too_long) || fabs(fitted - found) < 0.01 * m->mean_s)
            continue;
        printf("\nnote: the best fit misses the tail: %g %% of the steps take longer than %.4g s,\n"
               "      %.4g s by the fit; take the quantiles as measured, or `replay`\n",
               100 * shares[k], found, fitted);
        return;
    }
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
    puts("\n# or the very steps, in their order and of their workers:"); /* no fit is better */
    if (m->can_replay)
        printf("# - {kind: replay, file: %s}\n", dsgd_yaml_word(m->file));
    else
        puts("# kind `replay` takes a CSV file with the columns worker (or rank) and seconds, and "
             "perhaps step");
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

static const char *const unit_words[] = {"by-name", "s", "ms", "us", "ns", "min", NULL};

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, column, "column", 'c', "NAME",
                  "The column of step times (seconds, the only one, or the only one that is called "
                  "after a unit, such as step_time_ms)"),
    DSGD_ARGUMENT(WORD, unit, "unit", 0, "UNIT",
                  "Of the column: s, ms, us, ns or min (by its name, else s)", .words = unit_words),
    DSGD_ARGUMENT(TEXT, folder, "output", 'o', "DIR", "Writes DIR/quantiles.csv and draws it"),
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
        return dsgd_refuse(error, "-o: the name of a folder is expected");
    measured m = {
        .file = a.words.v[1], .column = a.column, .unit = a.unit == 0 ? NULL : unit_words[a.unit]};
    dsgd_csv csv;
    DSGD_TRY(dsgd_csv_read(&csv, error, "%s", m.file));
    DSGD_TRY(read_values(&csv, &m, error));
    DSGD_TRY(summarize(&m, error));
    print_fits(&m);
    warn_of_tail(&m);
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
