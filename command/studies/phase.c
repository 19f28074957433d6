/**
 * @file phase.c
 * The grid of an experiment, and phase.csv.
 */
#include "command/studies/phase.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/option.h"

/* --- the grid --------------------------------------------------------------------------------- */

/** The numbers of a column, rising, each once; false: a value is none, or there is only one. */
static bool read_values(dsgd_phase *p, size_t side)
{
    const dsgd_experiment *const e = p->experiment;
    double *const values = dsgd_xcalloc(e->n_unchanged, sizeof *values);
    p->values[side] = values;
    for (size_t i = 0; i < e->n_unchanged; i++) {
        const char *const text = e->runs[i].swept[p->columns[side]];
        if (text == NULL || !dsgd_parse_number(text, NULL, &values[i]))
            return false;
    }
    gsl_sort(values, 1, e->n_unchanged);
    for (size_t i = 0; i < e->n_unchanged; i++)
        if (p->n[side] == 0 || values[i] > values[p->n[side] - 1])
            values[p->n[side]++] = values[i];
    return p->n[side] > 1;
}

/** Finds the two sweeps, and demands that beside them algorithms and seeds alone differ. */
static bool find_sides(dsgd_phase *p)
{
    const dsgd_experiment *const e = p->experiment;
    size_t n = 0;
    for (size_t k = 0; k < e->n_columns; k++) {
        if (strcmp(e->columns[k], "seed") == 0)
            continue;
        if (n == 2)
            return false;
        p->columns[n++] = k;
    }
    const bool sweeps_workers = n == 2 && (strcmp(e->columns[p->columns[0]], "workers") == 0 ||
                                           strcmp(e->columns[p->columns[1]], "workers") == 0);
    for (size_t i = 0; n == 2 && i < e->n_unchanged; i++)
        if (e->runs[i].chosen[DSGD_AXIS_PLATFORM] > 0 ||
            e->runs[i].chosen[DSGD_AXIS_WORKLOAD] > 0 ||
            (e->runs[i].config.workers != e->runs[0].config.workers && !sweeps_workers))
            return false;
    return n == 2 && read_values(p, 0) && read_values(p, 1);
}

static size_t index_of(const double *values, size_t n, double x)
{
    size_t i = 0;
    while (i + 1 < n && values[i] < x)
        i++;
    return i;
}

/** The number of the algorithm or seed of a run: how many came before it. */
static size_t number_of(size_t *seen, size_t *n, size_t chosen)
{
    for (size_t i = 0; i < *n; i++)
        if (seen[i] == chosen)
            return i;
    seen[(*n)++] = chosen;
    return *n - 1;
}

/** Puts each run at its place. */
static void find_runs(dsgd_phase *p)
{
    const dsgd_experiment *const e = p->experiment;
    size_t *const algorithms = dsgd_xcalloc(2 * e->n_unchanged, sizeof *algorithms);
    size_t *const seeds = algorithms + e->n_unchanged;
    p->labels = dsgd_xcalloc(e->n_unchanged, sizeof *p->labels);
    for (size_t i = 0; i < e->n_unchanged; i++) {
        const dsgd_planned_run *const run = &e->runs[i];
        p->labels[number_of(algorithms, &p->n_algorithms, run->chosen[DSGD_AXIS_ALGORITHM])] =
            run->label;
        number_of(seeds, &p->n_seeds, run->config.seed);
    }
    const size_t n_cells = p->n[0] * p->n[1];
    p->cells = dsgd_xcalloc(n_cells, sizeof *p->cells);
    p->wanted = dsgd_xcalloc(n_cells * p->n_algorithms, sizeof *p->wanted);
    p->logs = dsgd_xcalloc(n_cells * p->n_algorithms, sizeof *p->logs);
    for (size_t k = 0; k < n_cells * p->n_algorithms; k++)
        p->logs[k] = NAN;
    p->runs = dsgd_xcalloc(n_cells * p->n_algorithms * p->n_seeds, sizeof *p->runs);
    for (size_t i = 0; i < e->n_unchanged; i++) {
        const dsgd_planned_run *const run = &e->runs[i];
        size_t at[2];
        for (size_t side = 0; side < 2; side++) {
            double x = 0;
            dsgd_parse_number(run->swept[p->columns[side]], NULL, &x);
            at[side] = index_of(p->values[side], p->n[side], x);
        }
        const size_t a = number_of(algorithms, &p->n_algorithms, run->chosen[DSGD_AXIS_ALGORITHM]);
        const size_t s = number_of(seeds, &p->n_seeds, run->config.seed);
        p->runs[(dsgd_phase_at(p, at[0], at[1]) * p->n_algorithms + a) * p->n_seeds + s] = i + 1;
    }
    free(algorithms);
}

dsgd_status dsgd_phase_open(const dsgd_experiment *experiment, const dsgd_results *results,
                            dsgd_phase *phase, dsgd_error *error)
{
    *phase = (dsgd_phase){.experiment = experiment, .results = results};
    const bool fits = find_sides(phase);
    if (fits)
        find_runs(phase);
    if (!fits || phase->n_algorithms < 2)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: two or more algorithms, two swept numbers, such as "
                         "platform.host_bandwidth and imbalance.0.deviation, and nothing else but "
                         "seeds are needed for a phase diagram",
                         experiment->path);
    return DSGD_OK;
}

void dsgd_phase_close(dsgd_phase *phase)
{
    free(phase->values[0]);
    free(phase->values[1]);
    free(phase->labels);
    free(phase->runs);
    free(phase->wanted);
    free(phase->logs);
    free(phase->cells);
    free(phase->blocks);
}

size_t dsgd_phase_at(const dsgd_phase *phase, size_t x, size_t y)
{
    return y * phase->n[0] + x;
}

void dsgd_phase_choose(const dsgd_phase *phase, bool *chosen)
{
    for (size_t k = 0; k < phase->n[0] * phase->n[1] * phase->n_algorithms; k++)
        for (size_t s = 0; s < phase->wanted[k]; s++)
            if (phase->runs[k * phase->n_seeds + s] > 0)
                chosen[phase->runs[k * phase->n_seeds + s] - 1] = true;
}

/* --- phase.csv -------------------------------------------------------------------------------- */

/** By how many powers of two an algorithm is faster than the best of the others. */
static double lead_of(const dsgd_phase *p, size_t c, size_t a)
{
    const dsgd_phase_cell *const cell = &p->cells[c];
    const double *const logs = &p->logs[c * p->n_algorithms];
    return (logs[a] - logs[a == cell->winner ? cell->second : cell->winner]) / log(2);
}

static void write_cell(FILE *stream, const dsgd_phase *p, size_t x, size_t y)
{
    const size_t c = dsgd_phase_at(p, x, y);
    const dsgd_phase_cell *const cell = &p->cells[c];
    dsgd_csv_number(stream, p->values[0][x]);
    dsgd_csv_numbers(stream, &p->values[1][y], 1);
    fprintf(stream, ",%d,%d,%s,%s", cell->is_known, cell->is_uncertain, p->labels[cell->winner],
            p->labels[cell->second]);
    dsgd_csv_numbers(stream, (double[]){cell->ratio, cell->low, cell->high}, 3);
    for (size_t a = 0; a < p->n_algorithms; a++)
        dsgd_csv_numbers(stream, (double[]){lead_of(p, c, a)}, 1);
    fputc('\n', stream);
}

dsgd_status dsgd_phase_write(dsgd_phase *phase, dsgd_error *error)
{
    dsgd_phase_interpolate(phase);
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/phase.csv", phase->results->folder);
    if (stream == NULL)
        return DSGD_EIO;
    for (size_t side = 0; side < 2; side++) {
        dsgd_csv_text(stream, phase->experiment->columns[phase->columns[side]]);
        fputc(',', stream);
    }
    fputs("simulated,uncertain,winner,second,ratio,ratio_low,ratio_high", stream);
    for (size_t a = 0; a < phase->n_algorithms; a++)
        fprintf(stream, ",lead_%s", phase->labels[a]);
    for (size_t y = 0; y < phase->n[1]; y++) {
        fputc('\n',
              stream); /* gnuplot takes rows behind a blank line for the next line of a grid */
        for (size_t x = 0; x < phase->n[0]; x++)
            write_cell(stream, phase, x, y);
    }
    return dsgd_whole_close(&file, error);
}
