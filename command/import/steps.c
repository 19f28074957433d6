/**
 * @file steps.c
 * Fits imbalance entries to measured step times. First finds slow workers, then fits a distribution
 * to the remaining differences.
 */
#include "command/import/steps.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/option.h"
#include "traces/step_times.h"

/*
 * Workers differ if equal workers would show such differences with a probability below this bound.
 */
static const double least_p_value = 0.01;

/* largest deviation that the imbalance kind `persistent` accepts */
static const double most_persistent = 0.25;

/*
 * Largest accepted ratio of two values. With a larger ratio, a lognormal could have a deviation
 * that no imbalance entry accepts.
 */
static const double most_factor = 1e5;

/* A difference of more standard errors than this number is not due to chance. */
static const double most_errors = 4;

/*
 * Smallest distance of an outlier from the median worker. The first number is a multiple of the
 * standard deviation of the other workers. The second number is a share of the median.
 */
static const double least_deviations = 4, least_share = 0.05;

/** Returns true if the column names of a table show that it contains step times. */
static bool has_step_times(const dsgd_csv *csv)
{
    dsgd_step_times at;
    return dsgd_step_times_find(csv, NULL, NULL, &at, NULL) == DSGD_OK &&
           (csv->n_columns > 1 || at.is_named);
}

dsgd_status dsgd_steps_read(const dsgd_csv *csv, dsgd_steps *m, dsgd_error *error)
{
    dsgd_step_times at;
    DSGD_TRY(dsgd_step_times_read(csv, m->column, m->unit, 1e-12, &at, error));
    m->can_replay = at.workers != NULL && m->column == NULL && m->unit == NULL;
    m->column = csv->fields[at.time];
    m->unit = at.unit->text;
    m->n = csv->n_rows;
    m->seconds = at.seconds;
    m->worker = at.workers;
    m->step = at.workers == NULL ? NULL : at.steps;
    if (m->n < DSGD_LEAST_STEPS)
        return dsgd_fail(error, DSGD_EIO, "%s: a fit needs %d or more values, got %zu", csv->path,
                         DSGD_LEAST_STEPS, m->n);
    return DSGD_OK;
}

/**
 * Finds outliers: workers whose mean is too far from the median of all means for a normal
 * distribution. Divides the times of outliers by their factors, so that the other differences can
 * be fitted.
 */
static void find_outliers(dsgd_steps *m)
{
    enum { LEAST_WORKERS = 4 };
    const dsgd_fit_groups g = dsgd_fit_group(m->seconds, m->worker, m->n);
    double *const factors = dsgd_keep(2 * g.n, sizeof *factors), *const work = factors + g.n;
    /*
     * For a normal distribution, the standard deviation is 1.4826 times the median absolute
     * deviation from the median.
     */
    const double deviation = 1.4826 * gsl_stats_mad0(g.mean, 1, g.n, work);
    memcpy(work, g.mean, g.n * sizeof *work);
    const double median = gsl_stats_median(work, 1, g.n);
    m->outliers = dsgd_keep(g.n, sizeof *m->outliers);
    m->factors = dsgd_keep(g.n, sizeof *m->factors);
    for (size_t k = 0; k < g.n; k++) {
        const double distance = fabs(g.mean[k] - median);
        const bool is_outlier = g.n >= LEAST_WORKERS && distance >= least_share * median &&
                                distance >= least_deviations * deviation &&
                                distance >= most_errors * m->parts.passing_s / sqrt(g.count[k]);
        factors[k] = is_outlier ? g.mean[k] / median : 1;
        if (is_outlier) {
            m->outliers[m->n_outliers] = g.worker[k];
            m->factors[m->n_outliers++] = factors[k];
        }
    }
    for (size_t i = 0; i < m->n; i++)
        m->seconds[i] /= factors[g.of[i]];
}

/**
 * Removes the first step if it takes several times as long at all workers. Kernels are compiled in
 * such a step.
 */
static void drop_warm_up(dsgd_steps *m)
{
    /*
     * smallest ratio of the first step's time to the median step time for which the first step is a
     * warm-up
     */
    static const double least = 3;
    enum { LEAST_STEPS = 3 };
    double *const copy = dsgd_keep(m->n, sizeof *copy);
    const double first = gsl_stats_min(m->step, 1, m->n);
    double least_s = INFINITY; /* shortest time that any worker takes for the first step */
    size_t n = 0;
    memcpy(copy, m->seconds, m->n * sizeof *copy);
    const double median_s = gsl_stats_median(copy, 1, m->n);
    for (size_t i = 0; i < m->n; i++)
        least_s = m->step[i] == first ? fmin(least_s, m->seconds[i]) : least_s;
    if (least_s < least * median_s || gsl_stats_max(m->step, 1, m->n) < first + LEAST_STEPS)
        return;
    for (size_t i = 0; i < m->n; i++)
        if (m->step[i] != first) {
            m->seconds[n] = m->seconds[i];
            m->worker[n] = m->worker[i];
            m->step[n++] = m->step[i];
        }
    m->n = n;
    m->warm_up = least_s / median_s;
}

/** Prints a note if the first step was removed from the step times. */
static void print_warm_up(const dsgd_steps *m)
{
    if (m->warm_up > 0)
        printf("the first step takes %.3g times the median, or more, at all workers; it is left "
               "out as "
               "a warm-up\n",
               m->warm_up);
}

/**
 * Removes the part of step times that all workers of a step have in common, unless this part is due
 * to chance. Workers do not wait for each other because of this part.
 */
static void level_steps(dsgd_steps *m)
{
    enum { LEAST_WORKERS = 4 };
    double *const x = dsgd_keep(m->n, sizeof *x);
    memcpy(x, m->seconds, m->n * sizeof *x);
    dsgd_fit_level(x, m->worker, m->n);
    const dsgd_variance_components steps = dsgd_fit_components(x, m->step, m->n);
    if (steps.p_value >= least_p_value || m->n < LEAST_WORKERS * steps.n_workers)
        return;
    m->common = steps.persistent_s / gsl_stats_mean(x, 1, m->n);
    dsgd_fit_level(m->seconds, m->step, m->n);
}

dsgd_status dsgd_steps_fit(dsgd_steps *m, dsgd_error *error)
{
    if (m->step != NULL && m->worker != NULL)
        drop_warm_up(m);
    gsl_stats_minmax(&m->min_s, &m->max_s, m->seconds, 1, m->n);
    m->mean_s = m->all_mean_s = gsl_stats_mean(m->seconds, 1, m->n);
    m->deviation_s = gsl_stats_sd(m->seconds, 1, m->n);
    if (m->max_s > most_factor * m->min_s)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: the values of %s, from %g to %g s, differ by a factor above 1e5 and "
                         "cannot be fitted",
                         m->file, m->column, m->min_s, m->max_s);
    /*
     * If deviations are smaller, the distribution functions of the families fail, and the imbalance
     * entries would also fail.
     */
    if (m->deviation_s < 1e-6 * m->mean_s)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: all values of %s are about %g, so there is nothing to fit", m->file,
                         m->column, m->mean_s);
    if (m->step != NULL)
        level_steps(m);
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
                         "%s: every worker has only one value of %s, so there is nothing to fit",
                         m->file, m->column);
    dsgd_fit_all(m->seconds, m->n, m->fits);
    return DSGD_OK;
}

const char *dsgd_steps_title(const dsgd_fit *fit)
{
    return dsgd_xprintf("%s%s", fit->shifted ? "shifted " : "", fit->family->name);
}

static void add_persistent(const dsgd_steps *m, char **text)
{
    for (size_t k = 0; k < m->n_outliers; k++)
        dsgd_append(text, "  - {kind: slow, worker: %.0f, factor: %.4g}\n", m->outliers[k],
                    m->factors[k]);
    const double deviation = m->parts.persistent_s / m->mean_s;
    if (m->common > 0)
        dsgd_append(text,
                    "  - {kind: lognormal, mean: 1, deviation: %.4g, scale: true, common: true}\n",
                    m->common);
    if (m->persistent && deviation <= most_persistent)
        dsgd_append(text, "  - {kind: persistent, deviation: %.4g}\n", deviation);
    else if (m->persistent)
        dsgd_append(text, "%s",
                    "  # The workers differ too much for a normal distribution around 1.\n"
                    "  # Use {kind: slow, worker: ...} for each slow worker.\n");
}

static void add_quantiles(const dsgd_steps *m, char **text)
{
    static const double percents[] = {0,  1,  2.5, 5,  10, 20,   25, 30,   40,   50, 60,
                                      70, 75, 80,  90, 95, 97.5, 99, 99.5, 99.9, 100};
    enum { PER_LINE = 6 };
    int n = 0;
    dsgd_append(text, "  - kind: quantiles\n    scale: true\n    table: {");
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        const double beyond = fmin(percents[i], 100 - percents[i]) / 100 * (double)m->n;
        /* Skip a quantile if too few values are beyond it. */
        if (beyond > 0 && beyond < 2)
            continue;
        const double x =
            gsl_stats_quantile_from_sorted_data(m->seconds, 1, m->n, percents[i] / 100);
        dsgd_append(text, "%s%g: %.5g",
                    n == 0              ? ""
                    : n % PER_LINE == 0 ? ",\n            "
                                        : ", ",
                    percents[i], x / m->mean_s);
        n++;
    }
    dsgd_append(text, "}\n");
}

/**
 * Prints a warning if the best fit differs from a high quantile by more than chance allows. High
 * quantiles matter, because the slowest of many workers has such a time.
 */
static void warn_of_tail(const dsgd_steps *m)
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

void dsgd_steps_print(const dsgd_steps *m)
{
    printf("%s: %zu values of %s%s%s\n"
           "mean %.6g s, standard deviation %.4g s, from %.6g to %.6g s\n",
           m->file, m->n, m->column, strcmp(m->unit, "s") == 0 ? "" : ", in ",
           strcmp(m->unit, "s") == 0 ? "" : m->unit, m->all_mean_s, m->deviation_s, m->min_s,
           m->max_s);
    print_warm_up(m);
    for (size_t k = 0; k < m->n_outliers; k++)
        printf("worker %.0f takes %.3g times as long as the median worker\n", m->outliers[k],
               m->factors[k]);
    if (m->n_outliers > 0)
        puts("(the following numbers are without these factors)");
    if (m->common > 0)
        printf("steps differ by %.3g %% (standard deviation) at all workers together\n",
               100 * m->common);
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
        printf("%-18s  %10.6g  %13.6g  %10.6g  %14.2f  %10.2f  %6.4f\n", dsgd_steps_title(f),
               f->mean_s, f->deviation_s, f->shift_s, f->log_likelihood, f->aic, f->ks);
    }
    warn_of_tail(m);
}

char *dsgd_steps_entries(const dsgd_steps *m, bool as_measured)
{
    const dsgd_fit *const best = &m->fits[0];
    char *text = dsgd_xstrdup("");
    if (as_measured) {
        add_quantiles(m, &text);
    } else {
        dsgd_append(&text, "  - {kind: %s, mean: %.9g, deviation: %.6g, ", best->family->name,
                    best->mean_s / m->mean_s, best->deviation_s / m->mean_s);
        if (best->shifted)
            dsgd_append(&text, "shift: %.9g, ", best->shift_s / m->mean_s);
        dsgd_append(&text, "scale: true%s}\n", m->is_whole ? ", common: true" : "");
    }
    add_persistent(m, &text);
    return text;
}

/* --- reader of `dsgd import` ------------------------------------------------------------------ */

double dsgd_import_steps(dsgd_import *in, dsgd_steps *m)
{
    dsgd_error why = {""};
    const bool is_computing = strcmp(m->column, DSGD_COMPUTING) == 0;
    if (m->n < DSGD_LEAST_STEPS || dsgd_steps_fit(m, &why) != DSGD_OK) {
        printf("imbalance: none (%s)\n",
               m->n < DSGD_LEAST_STEPS
                   ? dsgd_xprintf("%zu step times; %d are needed", m->n, DSGD_LEAST_STEPS)
                   : why.text);
        return NAN;
    }
    print_warm_up(m);
    for (size_t i = 0; i < m->n_outliers; i++)
        printf("rank %.0f is %s: it %s %.4g ms in a step, %.3g ms %s than the median rank%s\n",
               m->outliers[i], m->factors[i] > 1 ? "slow" : "fast",
               is_computing ? "computes" : "takes", 1e3 * m->factors[i] * m->mean_s,
               1e3 * fabs(m->factors[i] - 1) * m->mean_s, m->factors[i] > 1 ? "more" : "less",
               is_computing && m->factors[i] > 1
                   ? "; the others wait for its computing, not for a link"
                   : "");
    if (m->is_whole || m->step != NULL)
        printf("steps differ by %.3g %% at all ranks together\n",
               100 * (m->is_whole ? m->deviation_s / m->mean_s : m->common));
    if (!m->is_whole)
        printf("ranks differ by %.3g %% for good and %.3g %% from step to step (standard "
               "deviations)\n",
               100 * m->parts.persistent_s / m->mean_s, 100 * m->parts.passing_s / m->mean_s);
    char *rest = dsgd_steps_entries(m, false), *line = NULL;
    while ((line = strsep(&rest, "\n")) != NULL)
        if (strlen(line) > 2)
            dsgd_import_line(in, DSGD_IMPORT_IMBALANCE, m->file, "%s", line + 2);
    return m->mean_s;
}

static bool recognise(const char *head)
{
    dsgd_csv csv;
    head += strncmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (*head == '#' || *head == '\r' || *head == '\n')
        head += strcspn(head, "\n") + (head[strcspn(head, "\n")] == '\n');
    const size_t first = strcspn(head, "\r\n");
    char *const header = dsgd_xprintf("%.*s\n", (int)first, head);
    for (char *c = header; *c != '\0'; c++)
        /* Treat semicolons and tabs as commas, because read() later rejects mixed separators. */
        *c = *c == ';' || *c == '\t' ? ',' : *c;
    return head[first] != '\0' && strpbrk(head, "{}<>") == NULL &&
           dsgd_csv_parse(&csv, header, NULL) == DSGD_OK && has_step_times(&csv);
}

static dsgd_status read(dsgd_import *in, const char *path, void *state, dsgd_error *error)
{
    dsgd_csv csv;
    dsgd_steps *const m = state;
    if (m->file != NULL)
        return dsgd_refuse(error,
                           "%s and %s both contain step times; give the step times of one job",
                           m->file, path);
    m->file = dsgd_xstrdup(path);
    DSGD_TRY(dsgd_csv_read(&csv, error, "%s", path));
    DSGD_TRY(dsgd_steps_read(&csv, m, error));
    dsgd_import_gave(in, "%zu values of %s, in %s%s", m->n, m->column, m->unit,
                     m->worker == NULL ? "" : ", of workers");
    return DSGD_OK;
}

static dsgd_status finish(dsgd_import *in, void *state, dsgd_error *error)
{
    dsgd_steps *const m = state;
    double highest = 0;
    (void)error;
    for (size_t i = 0; i < m->n && m->worker != NULL; i++)
        highest = fmax(highest, m->worker[i]);
    const double mean_s = dsgd_import_steps(in, m);
    if (!isnan(mean_s))
        dsgd_import_step(in, mean_s, m->file);
    if (highest > 0)
        dsgd_import_workers(in, (int64_t)highest + 1, m->file);
    return DSGD_OK;
}

const dsgd_import_reader dsgd_import_step_times = {
    .name = "step times",
    .gives = "CSV files of step times, as for `dsgd imbalance fit`: imbalance",
    .recognise = recognise,
    .read = read,
    .state_bytes = sizeof(dsgd_steps),
    .finish = finish,
};
