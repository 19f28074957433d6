/**
 * @file figure_steps.c
 * Histograms of runs, put together and summed up.
 */
#include "command/analysis/figure_steps.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/csv.h"

/** Steps of one time, as a part of all steps of the runs so far. */
typedef struct bin {
    double step_s, share;
} bin;

typedef struct distribution {
    bin *v;
    size_t n;
    double n_runs;
} distribution;

static int compare_bins(const void *a, const void *b)
{
    const bin *const x = a, *const y = b;
    return (x->step_s > y->step_s) - (x->step_s < y->step_s);
}

/** Rows of a run lie together. */
static void read_distributions(const dsgd_csv *csv, const dsgd_step_blocks *blocks,
                               distribution *of)
{
    const size_t columns[] = {dsgd_csv_column(csv, "run"), dsgd_csv_column(csv, "step_s"),
                              dsgd_csv_column(csv, "share")};
    double last = NAN;
    for (size_t row = 0; row < csv->n_rows; row++) {
        double x[3];
        for (size_t k = 0; k < 3; k++)
            x[k] = dsgd_csv_value(csv, row, columns[k]);
        const bool known = x[0] >= 0 && x[0] < (double)blocks->n_runs;
        const size_t block = known ? blocks->block_of_run[(size_t)x[0]] : SIZE_MAX;
        if (block == SIZE_MAX || !(x[1] >= 0) || !(x[2] > 0))
            continue;
        distribution *const d = &of[block];
        d->v = dsgd_xrealloc(d->v, d->n + 1, sizeof *d->v);
        d->v[d->n++] = (bin){x[1], x[2]};
        d->n_runs += x[0] != last;
        last = x[0];
    }
}

/** Seeds have the same bins, but other means in them: what is within 1 % is drawn as one. */
static void join_bins(distribution *d)
{
    size_t n = 0;
    double first_s = 0;
    if (d->n > 0)
        qsort(d->v, d->n, sizeof *d->v, compare_bins);
    for (size_t k = 0; k < d->n; k++) {
        const bin b = {d->v[k].step_s, d->v[k].share / d->n_runs};
        if (n > 0 && b.step_s <= 1.01 * first_s) {
            bin *const to = &d->v[n - 1];
            to->step_s = (to->step_s * to->share + b.step_s * b.share) / (to->share + b.share);
            to->share += b.share;
        } else {
            first_s = b.step_s;
            d->v[n++] = b;
        }
    }
    d->n = n;
}

static void put_block(FILE *out, const distribution *d)
{
    double sum = 0;
    if (d->n == 0) /* a block without a row would not count */
        fputs("NaN,NaN\n", out);
    else
        fprintf(out, "%.9g,0\n", d->v[0].step_s);
    for (size_t k = 0; k < d->n; k++)
        fprintf(out, "%.9g,%.9g\n", d->v[k].step_s, fmin(1, sum += d->v[k].share));
}

/** Where the curve is at some shares, which series do not have in common. */
static void put_marks(FILE *out, const distribution *d, double offset)
{
    enum { N_MARKS = 5 };
    double sum = 0;
    size_t k = 0;
    for (int m = 0; m < N_MARKS; m++) {
        const double share = (m + offset) / N_MARKS;
        while (k < d->n && sum + d->v[k].share < share)
            sum += d->v[k++].share;
        if (k < d->n)
            fprintf(out, "%.9g,%.9g\n", d->v[k].step_s, share);
        else
            fputs("NaN,NaN\n", out);
    }
}

static void put_reach(FILE *out, const distribution *of, const dsgd_step_blocks *blocks, bool high)
{
    fprintf(out, "array %s_step[%zu] = [", high ? "longest" : "shortest", blocks->n_cells);
    for (size_t c = 0; c < blocks->n_cells; c++) {
        double low_s = INFINITY, high_s = 0;
        for (size_t i = 0; i < blocks->n_series; i++) {
            const distribution *const d = &of[c * blocks->n_series + i];
            for (size_t k = 0; k < d->n; k++)
                low_s = d->v[k].step_s > 0 ? fmin(low_s, d->v[k].step_s) : low_s;
            high_s = d->n > 0 ? fmax(high_s, d->v[d->n - 1].step_s) : high_s;
        }
        fprintf(out, "%s%.9g", c == 0 ? "" : ", ", high ? high_s : isfinite(low_s) ? low_s : 1);
    }
    fputs("]\n", out);
}

void dsgd_figure_steps(FILE *out, const char *folder, const dsgd_step_blocks *blocks)
{
    const size_t n_blocks = blocks->n_cells * blocks->n_series;
    distribution *const of = dsgd_xcalloc(n_blocks + 1, sizeof *of);
    dsgd_csv csv;
    if (dsgd_csv_read(&csv, NULL, "%s/steps.csv", folder) == DSGD_OK)
        read_distributions(&csv, blocks, of);
    dsgd_csv_close(&csv);
    for (int marks = 0; marks < 2; marks++) {
        fprintf(out, "%s << EOD\n", marks ? "$step_marks" : "$steps");
        for (size_t b = 0; b < n_blocks; b++) {
            fputs(b == 0 ? "" : "\n\n", out);
            if (!marks)
                join_bins(&of[b]);
            if (marks)
                put_marks(out, &of[b],
                          ((double)(b % blocks->n_series) + 0.5) / (double)blocks->n_series);
            else
                put_block(out, &of[b]);
        }
        fputs("EOD\n", out);
    }
    put_reach(out, of, blocks, false);
    put_reach(out, of, blocks, true);
    for (size_t b = 0; b < n_blocks; b++)
        free(of[b].v);
    free(of);
}
