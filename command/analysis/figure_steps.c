/**
 * @file figure_steps.c
 * Merges the step-time histograms of runs into cumulative distributions.
 */
#include "command/analysis/figure_data.h"

#include "command/analysis/run_table.h"

/** Steps with similar times: their mean time, and their share of all steps of the runs. */
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

/**
 * Merges bins whose means differ by at most 1 %, because the mean of a bin differs between seeds.
 */
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

static distribution read_distribution(const dsgd_run_table *t, const dsgd_frame_point *p)
{
    const size_t step_s = dsgd_csv_column(&t->csv, "step_s");
    const size_t share = dsgd_csv_column(&t->csv, "share");
    distribution d = {.n = 0};
    for (size_t i = 0; p != NULL && i < p->n_rows; i++) {
        const size_t before = d.n;
        for (size_t row = t->first[p->rows[i]]; row != SIZE_MAX; row = t->next[row]) {
            const bin b = {dsgd_csv_value(&t->csv, row, step_s),
                           dsgd_csv_value(&t->csv, row, share)};
            if (!(b.step_s >= 0) || !(b.share > 0))
                continue;
            d.v = dsgd_keep_more(d.v, d.n + 1, sizeof *d.v);
            d.v[d.n++] = b;
        }
        d.n_runs += d.n > before;
    }
    join_bins(&d);
    return d;
}

/**
 * Writes the positions of marks on a curve, at a few shares. @p offset differs between series, so
 * that the marks of different series do not overlap.
 */
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

void dsgd_figure_steps(FILE *out, const dsgd_figure_runs *runs, const char *folder)
{
    const size_t n_blocks = runs->n_frames * runs->drawn.n;
    distribution *const of = dsgd_keep(n_blocks + 1, sizeof *of);
    dsgd_run_table steps;
    dsgd_run_table_open(&steps, &runs->csv, folder, "steps.csv", NULL);
    double *const shortest = dsgd_keep(runs->n_frames + 1, sizeof *shortest);
    double *const longest = dsgd_keep(runs->n_frames + 1, sizeof *longest);
    for (size_t k = 0; k < runs->n_frames; k++)
        shortest[k] = INFINITY;
    for (size_t b = 0; b < n_blocks; b++) {
        double *const least = &shortest[b / runs->drawn.n];
        double *const most = &longest[b / runs->drawn.n];
        of[b] = read_distribution(&steps, runs->points[b]);
        for (size_t k = 0; k < of[b].n; k++) {
            *least = of[b].v[k].step_s > 0 ? fmin(*least, of[b].v[k].step_s) : *least;
            *most = fmax(*most, of[b].v[k].step_s);
        }
        if ((b + 1) % runs->drawn.n == 0 && !isfinite(*least))
            *least = 1;
    }
    for (int marks = 0; marks < 2; marks++) {
        fprintf(out, "%s << EOD\n", marks ? "$step_marks" : "$steps");
        for (size_t b = 0; b < n_blocks; b++) {
            fputs(b == 0 ? "" : "\n\n", out);
            double sum = 0;
            if (marks)
                put_marks(out, &of[b], ((double)(b % runs->drawn.n) + 0.5) / (double)runs->drawn.n);
            /* Write a row without numbers, because gnuplot does not count a block without rows. */
            else if (of[b].n == 0)
                fputs("NaN,NaN\n", out);
            else
                fprintf(out, "%.9g,0\n", of[b].v[0].step_s);
            for (size_t k = 0; !marks && k < of[b].n; k++)
                fprintf(out, "%.9g,%.9g\n", of[b].v[k].step_s, fmin(1, sum += of[b].v[k].share));
        }
        fputs("EOD\n", out);
    }
    dsgd_gnuplot_numbers(out, "shortest_step", shortest, runs->n_frames);
    dsgd_gnuplot_numbers(out, "longest_step", longest, runs->n_frames);
}
