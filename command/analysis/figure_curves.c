/**
 * @file figure_curves.c
 * Writes the learning curves of a point, averaged over its seeds. Also writes the ages of the
 * values that the runs use.
 */
#include "command/analysis/figure_data.h"

#include "command/analysis/run_table.h"

/**
 * Quantities of learning curves: columns of curves.csv, and the number of megabytes that a worker
 * has sent.
 */
const char *const dsgd_figure_of_curves[] = {"virtual_s", "steps",     "loss", "accuracy",
                                             "consensus", "megabytes", NULL};
static const char *const ages[] = {"staleness", "gradient_staleness"};

enum {
    LOSS = 2,
    N_CURVES = sizeof dsgd_figure_of_curves / sizeof dsgd_figure_of_curves[0] - 1,
    MOST_AGES = 10000
};

typedef struct data {
    const dsgd_figure_runs *runs;
    dsgd_run_table curves;
    size_t curve[N_CURVES - 1]; /* indices of the columns of curves.csv */
    double *sent_bytes, *steps; /* arrays [n_rows of runs.csv]: bytes that a worker sends in a run,
                                 * and steps of the worker */
    size_t *at; /* array [n_rows of a point]: row of each run in curves.csv for the current
                 * evaluation */
    double *x; /* array [n_rows of a point]: value of each run at the current evaluation */
    double *low[N_CURVES], *high[N_CURVES]; /* arrays [n_frames]: smallest and largest mean; 1 and 0
                                             * if no means exist */
    double *start; /* array [n_frames]: highest loss at a first evaluation */
} data;

/* --- curves ----------------------------------------------------------------------------------- */

/** Returns quantity @p c at the current evaluation of the i-th run of a point. */
static double evaluation(const data *d, const dsgd_frame_point *p, size_t i, size_t c)
{
    if (c < N_CURVES - 1)
        return dsgd_csv_value(&d->curves.csv, d->at[i], d->curve[c]);
    /* The bytes sent so far are the run's total bytes times the share of steps that are done. */
    const size_t row = p->rows[i];
    return d->sent_bytes[row] * 1e-6 * evaluation(d, p, i, 1) / d->steps[row];
}

/**
 * Writes the means at the current evaluation, which has the number @p k. Then moves all runs to the
 * next evaluation.
 */
static void put_evaluation(FILE *out, data *d, const dsgd_frame_point *p, size_t k, size_t frame)
{
    fprintf(out, "%zu", k);
    for (size_t c = 0; c < N_CURVES; c++) {
        for (size_t i = 0; i < p->n_rows; i++)
            d->x[i] = evaluation(d, p, i, c);
        const dsgd_interval mean = dsgd_mean(d->x, p->n_rows);
        dsgd_gnuplot_number(out, mean.mean);
        dsgd_gnuplot_number(out, mean.drawn);
        if (k == 0 && c == LOSS && isfinite(mean.mean))
            d->start[frame] = fmax(d->start[frame], mean.mean);
        double *const low = &d->low[c][frame], *const high = &d->high[c][frame];
        if (k > 0 && isfinite(mean.mean)) {
            const bool first = *low > *high;
            *low = first ? mean.mean : fmin(*low, mean.mean);
            *high = first ? mean.mean : fmax(*high, mean.mean);
        }
    }
    fputc('\n', out);
    for (size_t i = 0; i < p->n_rows; i++)
        d->at[i] = d->curves.next[d->at[i]];
}

/** Limits the range of losses that a figure shows. Diverging losses are outside this range. */
static void cut_losses(const data *d)
{
    for (size_t k = 0; k < d->runs->n_frames; k++) {
        double *const low = &d->low[LOSS][k], *const high = &d->high[LOSS][k];
        if (!(d->start[k] > 0) || *low > *high)
            continue;
        *low = fmin(*low, d->start[k]);
        *high = fmin(*high, 2 * d->start[k]);
    }
}

/**
 * Writes the ranges of the means after the first evaluation. Also writes the names of the
 * quantities that have values.
 */
static void put_reach(FILE *out, const data *d)
{
    cut_losses(d);
    char *quantities = dsgd_xstrdup(" ");
    for (size_t c = 0; c < N_CURVES; c++) {
        bool has = false;
        for (size_t k = 0; k < d->runs->n_frames; k++)
            has = has || d->low[c][k] <= d->high[c][k];
        dsgd_gnuplot_numbers(out, dsgd_xprintf("low_%s", dsgd_figure_of_curves[c]), d->low[c],
                             d->runs->n_frames);
        dsgd_gnuplot_numbers(out, dsgd_xprintf("high_%s", dsgd_figure_of_curves[c]), d->high[c],
                             d->runs->n_frames);
        if (has && c < N_CURVES - 1)
            quantities = dsgd_xprintf(" %s%s", dsgd_figure_of_curves[c], quantities);
    }
    dsgd_gnuplot_variable(out, "quantities_of_curves", quantities);
}

static void put_curves(FILE *out, data *d)
{
    size_t most = 0;
    fputs("columns_of_curves = ' evaluation", out);
    for (size_t c = 0; c < N_CURVES; c++)
        fprintf(out, " %s %s_ci", dsgd_figure_of_curves[c], dsgd_figure_of_curves[c]);
    fputs(" '\n$curves << EOD\n", out);
    for (size_t b = 0; b < d->runs->n_frames * d->runs->drawn.n; b++) {
        const dsgd_frame_point *const p = d->runs->points[b];
        /* number of evaluations that exist in all runs of the point */
        size_t n = p == NULL ? 0 : SIZE_MAX;
        for (size_t i = 0; p != NULL && i < p->n_rows; i++) {
            d->at[i] = d->curves.first[p->rows[i]];
            n = d->curves.n[p->rows[i]] < n ? d->curves.n[p->rows[i]] : n;
        }
        most = n > most ? n : most;
        fputs(b == 0 ? "" : "\n\n", out);
        for (size_t k = 0; k < n; k++)
            put_evaluation(out, d, p, k, b / d->runs->drawn.n);
        /* Write a row without numbers, because gnuplot does not count an empty block. */
        if (n == 0)
            fputs("0,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN\n", out);
    }
    fputs("EOD\n", out);
    fprintf(out, "most_evaluations = %zu\n", most);
    put_reach(out, d);
}

/* --- staleness -------------------------------------------------------------------------------- */

/** Writes the shares of ages, one row per age. The last row contains all ages from MOST_AGES on. */
static void put_ages(FILE *out, const dsgd_run_table *t, const dsgd_frame_point *p,
                     double (*share)[2])
{
    const size_t of_age = dsgd_csv_column(&t->csv, "age"), of = dsgd_csv_column(&t->csv, "share");
    size_t oldest = 0;
    memset(share, 0, (MOST_AGES + 1) * sizeof *share);
    for (size_t i = 0; p != NULL && i < p->n_rows; i++)
        for (size_t row = t->first[p->rows[i]]; row != SIZE_MAX; row = t->next[row]) {
            const double age = dsgd_csv_value(&t->csv, row, of_age);
            if (!(age >= 0))
                continue;
            const size_t at = age < MOST_AGES ? (size_t)age : MOST_AGES;
            oldest = at > oldest ? at : oldest;
            for (size_t k = 0; k < 2; k++)
                if (strcmp(dsgd_field_of(&t->csv, row, "measure"), ages[k]) == 0)
                    share[at][k] += dsgd_csv_value(&t->csv, row, of) / (double)p->n_rows;
        }
    for (size_t age = 0; age <= oldest; age++) {
        fprintf(out, "%zu", age);
        for (size_t k = 0; k < 2; k++)
            dsgd_gnuplot_number(out, p == NULL ? NAN : share[age][k]);
        fputc('\n', out);
    }
}

/**
 * Writes the failures of workers, one row per failure. A row contains the number of its block and
 * the time of the failure.
 */
static void put_failures(FILE *out, const dsgd_figure_runs *runs, const char *folder)
{
    /* largest number of failures that a figure shows; more marks would overlap */
    enum { MOST = 2000 };
    dsgd_run_table t;
    dsgd_run_table_open(&t, &runs->csv, folder, "failures.csv", NULL);
    const size_t time = dsgd_csv_column(&t.csv, "time_s");
    size_t n = 0;
    fputs("$failures << EOD\n-1,NaN\n", out);
    for (size_t b = 0; t.csv.n_rows > 0 && b < runs->n_frames * runs->drawn.n; b++)
        for (size_t i = 0; runs->points[b] != NULL && i < runs->points[b]->n_rows; i++)
            for (size_t row = t.first[runs->points[b]->rows[i]]; row != SIZE_MAX && n < MOST;
                 row = t.next[row], n++)
                fprintf(out, "%zu,%.9g\n", b, dsgd_csv_value(&t.csv, row, time));
    fprintf(out, "EOD\nn_failures = %zu\n", n < MOST ? n : 0);
}

/* --- all blocks ------------------------------------------------------------------------------- */

void dsgd_figure_curves(FILE *out, const dsgd_figure_runs *runs, const char *folder)
{
    const size_t n_frames = runs->n_frames;
    data d = {.runs = runs,
              .at = dsgd_keep(runs->csv.n_rows, sizeof *d.at),
              .x = dsgd_keep(runs->csv.n_rows, sizeof *d.x),
              .start = dsgd_keep(n_frames, sizeof *d.start)};
    d.steps = dsgd_frame_numbers(&runs->frame, "steps");
    d.sent_bytes = dsgd_frame_numbers(&runs->frame, "sent_mean_bytes");
    for (size_t c = 0; c < N_CURVES; c++) {
        d.low[c] = dsgd_keep(n_frames, sizeof *d.low[c]);
        d.high[c] = dsgd_keep(n_frames, sizeof *d.high[c]);
        for (size_t k = 0; k < n_frames; k++)
            d.low[c][k] = 1;
    }
    dsgd_run_table_open(&d.curves, &runs->csv, folder, "curves.csv", NULL);
    for (size_t c = 0; c < N_CURVES - 1; c++)
        d.curve[c] = dsgd_csv_column(&d.curves.csv, dsgd_figure_of_curves[c]);
    put_curves(out, &d);
    dsgd_run_table staleness;
    dsgd_run_table_open(&staleness, &runs->csv, folder, "staleness.csv", NULL);
    double(*const share)[2] = dsgd_keep(MOST_AGES + 1, sizeof *share);
    fputs("columns_of_staleness = ' age staleness gradient_staleness '\n$staleness << EOD\n", out);
    for (size_t b = 0; b < n_frames * runs->drawn.n; b++) {
        fputs(b == 0 ? "" : "\n\n", out);
        put_ages(out, &staleness, runs->points[b], share);
    }
    fputs("EOD\n", out);
    put_failures(out, runs, folder);
}
