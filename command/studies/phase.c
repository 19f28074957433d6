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
#include "command/experiment/config.h"

/* --- the grid --------------------------------------------------------------------------------- */

/** The numbers of a column, rising, each once; false: a value is none, or there is only one. */
static bool read_values(dsgd_phase *p, size_t side)
{
    const dsgd_experiment *const e = p->experiment;
    double *const values = dsgd_config_alloc(e->config, e->n_unchanged * sizeof *values);
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
    dsgd_config *const config = e->config;
    size_t *const algorithms = dsgd_config_alloc(config, e->n_unchanged * sizeof *algorithms);
    size_t *const seeds = dsgd_config_alloc(config, e->n_unchanged * sizeof *seeds);
    p->labels = dsgd_config_alloc(config, e->n_unchanged * sizeof *p->labels);
    for (size_t i = 0; i < e->n_unchanged; i++) {
        const dsgd_planned_run *const run = &e->runs[i];
        p->labels[number_of(algorithms, &p->n_algorithms, run->chosen[DSGD_AXIS_ALGORITHM])] =
            run->label;
        number_of(seeds, &p->n_seeds, run->config.seed);
    }
    p->n_cells = p->n[0] * p->n[1];
    p->cells = dsgd_config_alloc(config, p->n_cells * sizeof *p->cells);
    p->blocks = dsgd_config_alloc(config, p->n_cells * sizeof *p->blocks);
    for (size_t k = 0; k < p->n_cells; k++) {
        dsgd_phase_cell *const c = &p->cells[k];
        c->at[0] = k % p->n[0];
        c->at[1] = k / p->n[0];
        c->wanted = dsgd_config_alloc(config, p->n_algorithms * sizeof *c->wanted);
        c->logs = dsgd_config_alloc(config, p->n_algorithms * sizeof *c->logs);
        c->runs = dsgd_config_alloc(config, p->n_algorithms * p->n_seeds * sizeof *c->runs);
        for (size_t a = 0; a < p->n_algorithms; a++)
            c->logs[a] = NAN;
    }
    for (size_t i = 0; i < e->n_unchanged; i++) {
        const dsgd_planned_run *const run = &e->runs[i];
        size_t at[2] = {0, 0};
        for (size_t side = 0; side < 2; side++) {
            double x = 0;
            dsgd_parse_number(run->swept[p->columns[side]], NULL, &x);
            while (at[side] + 1 < p->n[side] && p->values[side][at[side]] < x)
                at[side]++;
        }
        const size_t a = number_of(algorithms, &p->n_algorithms, run->chosen[DSGD_AXIS_ALGORITHM]);
        const size_t s = number_of(seeds, &p->n_seeds, run->config.seed);
        p->cells[at[1] * p->n[0] + at[0]].runs[a * p->n_seeds + s] = i + 1;
    }
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

void dsgd_phase_choose(const dsgd_phase *phase, bool *chosen)
{
    for (const dsgd_phase_cell *c = phase->cells; c < phase->cells + phase->n_cells; c++)
        for (size_t a = 0; a < phase->n_algorithms; a++)
            for (size_t s = 0; s < c->wanted[a]; s++)
                if (c->runs[a * phase->n_seeds + s] > 0)
                    chosen[c->runs[a * phase->n_seeds + s] - 1] = true;
}

/* --- phase.csv -------------------------------------------------------------------------------- */

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
    /* An algorithm's lead: by how many powers of two it is faster than the best of the others. */
    for (const dsgd_phase_cell *c = phase->cells; c < phase->cells + phase->n_cells; c++) {
        if (c->at[0] == 0) /* gnuplot takes rows behind a blank line for the next line of a grid */
            fputc('\n', stream);
        dsgd_csv_number(stream, phase->values[0][c->at[0]]);
        dsgd_csv_numbers(stream, &phase->values[1][c->at[1]], 1);
        fprintf(stream, ",%d,%d,%s,%s", c->is_known, c->is_uncertain, phase->labels[c->winner],
                phase->labels[c->second]);
        dsgd_csv_numbers(stream, (double[]){c->ratio, c->low, c->high}, 3);
        for (size_t a = 0; a < phase->n_algorithms; a++) {
            const double best = c->logs[a == c->winner ? c->second : c->winner];
            dsgd_csv_numbers(stream, (double[]){(c->logs[a] - best) / log(2)}, 1);
        }
        fputc('\n', stream);
    }
    return dsgd_whole_close(&file, error);
}
