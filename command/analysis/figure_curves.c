/**
 * @file figure_curves.c
 * Evaluations of all seeds of a group, one by one; and how old what they use is.
 */
#include "command/analysis/figure_curves.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "command/analysis/figure_steps.h"
#include "command/analysis/frame.h"

/** Columns of curves.csv; then megabytes per worker so far. */
static const char *const curves[] = {"virtual_s", "steps",     "loss",
                                     "accuracy",  "consensus", "megabytes"};
static const char *const ages[] = {"staleness", "gradient_staleness"};

enum { N_CURVES = sizeof curves / sizeof curves[0], MOST_AGES = 10000 };

/** A table with rows about runs: a list of them for each row of runs.csv. SIZE_MAX: none. */
typedef struct table {
    dsgd_csv csv;
    size_t *first, *n; /* [n_rows of runs.csv] */
    size_t *next; /* [n_rows] */
} table;

typedef struct data {
    const dsgd_figure_runs *runs;
    table curves, staleness;
    size_t curve[N_CURVES - 1], age, measure, share; /* columns of these */
    size_t sent, bytes, steps, workers; /* columns of runs.csv */
    size_t *group, n_group; /* rows of runs.csv */
    size_t *at; /* [n_group]: rows of curves.csv, of the evaluation at hand */
    double *x; /* [n_group] */
} data;

/* --- tables about runs ------------------------------------------------------------------------ */

/** Row of runs.csv by the number of a run, from 0 to most; SIZE_MAX: none. The caller frees it. */
static size_t *rows_of_runs(const dsgd_figure_runs *runs, size_t *n)
{
    size_t *row_of = NULL;
    *n = 0;
    for (size_t row = 0; row < runs->csv.n_rows; row++) {
        const double run = dsgd_csv_value(&runs->csv, row, runs->run);
        if (!(run >= 0 && run < 1e7))
            continue;
        if ((size_t)run >= *n)
            row_of = dsgd_xrealloc(row_of, (size_t)run + 1, sizeof *row_of);
        for (; *n <= (size_t)run; ++*n)
            row_of[*n] = SIZE_MAX;
        row_of[(size_t)run] = row;
    }
    return row_of;
}

/** Reads a table, which may be absent. */
static void read_table(table *t, const dsgd_figure_runs *runs, const char *folder, const char *name)
{
    const size_t n = runs->csv.n_rows;
    size_t n_runs = 0;
    if (dsgd_csv_read(&t->csv, NULL, "%s/%s", folder, name) != DSGD_OK) {
        dsgd_csv_close(&t->csv);
        t->csv = (dsgd_csv){.n_rows = 0};
    }
    size_t *const row_of = rows_of_runs(runs, &n_runs);
    const size_t run = dsgd_csv_column(&t->csv, "run");
    t->first = dsgd_xcalloc(n + 1, sizeof *t->first);
    t->n = dsgd_xcalloc(n + 1, sizeof *t->n);
    t->next = dsgd_xcalloc(t->csv.n_rows + 1, sizeof *t->next);
    for (size_t row = 0; row < n; row++)
        t->first[row] = SIZE_MAX;
    for (size_t k = t->csv.n_rows; k-- > 0;) {
        const double x = dsgd_csv_value(&t->csv, k, run);
        const size_t about = x >= 0 && x < (double)n_runs ? row_of[(size_t)x] : SIZE_MAX;
        if (about == SIZE_MAX)
            continue;
        t->next[k] = t->first[about];
        t->first[about] = k;
        t->n[about]++;
    }
    free(row_of);
}

static void close_table(table *t)
{
    dsgd_csv_close(&t->csv);
    free(t->first);
    free(t->n);
    free(t->next);
}

static size_t n_cells(const data *d)
{
    return d->runs->panels.n * d->runs->places.n;
}

/** Finds the rows of block @p b. */
static void gather(data *d, size_t b)
{
    const dsgd_figure_runs *const r = d->runs;
    const size_t cell = b / r->n_order;
    const dsgd_figure_group group = {cell / r->places.n, cell % r->places.n,
                                     r->order[b % r->n_order]};
    d->n_group = dsgd_figure_gather(r, group, d->group);
    for (size_t i = 0; i < d->n_group; i++)
        d->at[i] = d->curves.first[d->group[i]];
}

/* --- curves ----------------------------------------------------------------------------------- */

/** What means reach after the first evaluation; written as 1 to 0 for nothing. */
typedef struct reach {
    double *low, *high; /* [n_cells][N_CURVES] */
} reach;

/** Quantity @p c of run @p i of the group at its evaluation at hand. */
static double evaluation(const data *d, size_t i, size_t c)
{
    if (c < N_CURVES - 1)
        return dsgd_csv_value(&d->curves.csv, d->at[i], d->curve[c]);
    /* Those of the run, in proportion to its steps; servers' too in results without that column. */
    const size_t parts[] = {d->sent, d->steps, d->bytes, d->workers};
    double x[4];
    for (size_t k = 0; k < 4; k++)
        x[k] = dsgd_csv_value(&d->runs->csv, d->group[i], parts[k]);
    const double sent_bytes = isnan(x[0]) ? x[2] / x[3] : x[0];
    return sent_bytes * 1e-6 * evaluation(d, i, 1) / x[1];
}

/** Evaluation @p k of all, which the runs of the group are at; takes them to the next. */
static void put_evaluation(FILE *out, data *d, size_t k, double *low, double *high)
{
    fprintf(out, "%zu", k);
    for (size_t c = 0; c < N_CURVES; c++) {
        for (size_t i = 0; i < d->n_group; i++)
            d->x[i] = evaluation(d, i, c);
        const dsgd_interval mean = dsgd_mean(d->x, d->n_group);
        dsgd_gnuplot_number(out, mean.mean);
        dsgd_gnuplot_number(out, d->n_group == 1 ? 0 : mean.ci);
        if (k > 0 && isfinite(mean.mean)) {
            low[c] = fmin(low[c], mean.mean);
            high[c] = fmax(high[c], mean.mean);
        }
    }
    fputc('\n', out);
    for (size_t i = 0; i < d->n_group; i++)
        d->at[i] = d->curves.next[d->at[i]];
}

/** How many evaluations all seeds of the group have. */
static size_t count_evaluations(const data *d)
{
    size_t n = d->n_group == 0 ? 0 : SIZE_MAX;
    for (size_t k = 0; k < d->n_group; k++)
        n = d->curves.n[d->group[k]] < n ? d->curves.n[d->group[k]] : n;
    return n;
}

static void put_reach(FILE *out, const data *d, const reach *r)
{
    for (size_t c = 0; c < N_CURVES; c++)
        for (int top = 0; top < 2; top++) {
            fprintf(out, "array %s_%s[%zu] = [", top ? "high" : "low", curves[c], n_cells(d));
            for (size_t k = 0; k < n_cells(d); k++) {
                const double x = (top ? r->high : r->low)[k * N_CURVES + c];
                fputs(k == 0 ? "" : ", ", out);
                fprintf(out, "%.9g", isfinite(x) ? x : top ? 0. : 1.);
            }
            fputs("]\n", out);
        }
    fputs("quantities_of_curves = '", out);
    for (size_t c = N_CURVES - 1; c-- > 0;) {
        bool has = false;
        for (size_t k = 0; k < n_cells(d); k++)
            has = has || isfinite(r->high[k * N_CURVES + c]);
        fprintf(out, "%s%s", has ? " " : "", has ? curves[c] : "");
    }
    fputs(" '\n", out);
}

static void put_curves(FILE *out, data *d)
{
    size_t most = 0;
    reach r = {dsgd_xcalloc(n_cells(d) * N_CURVES, sizeof(double)),
               dsgd_xcalloc(n_cells(d) * N_CURVES, sizeof(double))};
    for (size_t k = 0; k < n_cells(d) * N_CURVES; k++) {
        r.low[k] = INFINITY;
        r.high[k] = -INFINITY;
    }
    fputs("columns_of_curves = ' evaluation", out);
    for (size_t c = 0; c < N_CURVES; c++)
        fprintf(out, " %s %s_ci", curves[c], curves[c]);
    fputs(" '\n$curves << EOD\n", out);
    for (size_t b = 0; b < n_cells(d) * d->runs->n_order; b++) {
        const size_t at = b / d->runs->n_order * N_CURVES;
        gather(d, b);
        const size_t n = count_evaluations(d);
        most = n > most ? n : most;
        fputs(b == 0 ? "" : "\n\n", out);
        for (size_t k = 0; k < n; k++)
            put_evaluation(out, d, k, r.low + at, r.high + at);
        if (n == 0) /* a block without a row would not count */
            fputs("0,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN\n", out);
    }
    fputs("EOD\n", out);
    fprintf(out, "most_evaluations = %zu\n", most);
    put_reach(out, d, &r);
    free(r.low);
    free(r.high);
}

/* --- staleness -------------------------------------------------------------------------------- */

/** Adds the shares of a run; gives its oldest age. */
static size_t add_ages(const data *d, size_t run, double (*share)[2])
{
    const dsgd_csv *const csv = &d->staleness.csv;
    size_t oldest = 0;
    for (size_t row = d->staleness.first[run]; row != SIZE_MAX; row = d->staleness.next[row]) {
        const double age = dsgd_csv_value(csv, row, d->age);
        if (!(age >= 0))
            continue;
        const size_t at = age < MOST_AGES ? (size_t)age : MOST_AGES;
        oldest = at > oldest ? at : oldest;
        for (size_t k = 0; k < 2; k++)
            if (d->measure < csv->n_columns &&
                strcmp(dsgd_csv_field(csv, row, d->measure), ages[k]) == 0)
                share[at][k] += dsgd_csv_value(csv, row, d->share) / (double)d->n_group;
    }
    return oldest;
}

/** Shares of ages, a row for each age; the last row has the mean of older ones than MOST_AGES. */
static void put_ages(FILE *out, const data *d, double (*share)[2])
{
    size_t oldest = 0;
    memset(share, 0, (MOST_AGES + 1) * sizeof *share);
    for (size_t k = 0; k < d->n_group; k++) {
        const size_t age = add_ages(d, d->group[k], share);
        oldest = age > oldest ? age : oldest;
    }
    for (size_t age = 0; age <= oldest; age++) {
        fprintf(out, "%zu", age);
        for (size_t k = 0; k < 2; k++)
            dsgd_gnuplot_number(out, d->n_group == 0 ? NAN : share[age][k]);
        fputc('\n', out);
    }
}

static void put_staleness(FILE *out, data *d)
{
    double(*const share)[2] = dsgd_xcalloc(MOST_AGES + 1, sizeof *share);
    fputs("columns_of_staleness = ' age staleness gradient_staleness '\n$staleness << EOD\n", out);
    for (size_t b = 0; b < n_cells(d) * d->runs->n_order; b++) {
        gather(d, b);
        fputs(b == 0 ? "" : "\n\n", out);
        put_ages(out, d, share);
    }
    fputs("EOD\n", out);
    free(share);
}

/* --- step times ------------------------------------------------------------------------------- */

static void put_steps(FILE *out, const dsgd_figure_runs *runs, const char *folder)
{
    dsgd_step_blocks blocks = {.n_cells = runs->panels.n * runs->places.n,
                               .n_series = runs->n_order};
    size_t *const row_of = rows_of_runs(runs, &blocks.n_runs);
    size_t *const block_of = dsgd_xcalloc(blocks.n_runs + 1, sizeof *block_of);
    for (size_t run = 0; run < blocks.n_runs; run++) {
        const size_t row = row_of[run];
        block_of[run] = SIZE_MAX;
        for (size_t k = 0; row != SIZE_MAX && k < runs->n_order; k++)
            if (runs->order[k] == runs->series_of[row])
                block_of[run] =
                    (runs->panel_of[row] * runs->places.n + runs->place_of[row]) * runs->n_order +
                    k;
    }
    blocks.block_of_run = block_of;
    dsgd_figure_steps(out, folder, &blocks);
    free(block_of);
    free(row_of);
}

/* --- all of them ------------------------------------------------------------------------------------- */

void dsgd_figure_curves(FILE *out, const dsgd_figure_runs *runs, const char *folder)
{
    const size_t n = runs->csv.n_rows;
    data d = {.runs = runs,
              .sent = dsgd_csv_column(&runs->csv, "sent_mean_bytes"),
              .bytes = dsgd_csv_column(&runs->csv, "bytes"),
              .steps = dsgd_csv_column(&runs->csv, "steps"),
              .workers = dsgd_csv_column(&runs->csv, "workers"),
              .group = dsgd_xcalloc(2 * n, sizeof *d.group),
              .x = dsgd_xcalloc(n, sizeof *d.x)};
    d.at = d.group + n;
    read_table(&d.curves, runs, folder, "curves.csv");
    read_table(&d.staleness, runs, folder, "staleness.csv");
    for (size_t c = 0; c < N_CURVES - 1; c++)
        d.curve[c] = dsgd_csv_column(&d.curves.csv, curves[c]);
    d.age = dsgd_csv_column(&d.staleness.csv, "age");
    d.measure = dsgd_csv_column(&d.staleness.csv, "measure");
    d.share = dsgd_csv_column(&d.staleness.csv, "share");
    put_curves(out, &d);
    put_staleness(out, &d);
    put_steps(out, runs, folder);
    close_table(&d.curves);
    close_table(&d.staleness);
    free(d.group);
    free(d.x);
}
