/**
 * @file phase.c
 * Cells, and blocks of cells that are cut where the winner changes.
 */
#include "command/analyse/phase.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/option.h"
#include "command/analyse/ratio.h"
#include "command/run/results.h"

/** A coarse grid has at least as many steps along each side, or as many as there are. */
enum { LEAST_STEPS = 3 };

static size_t cell_at(const dsgd_phase *p, size_t x, size_t y)
{
    return y * p->n[0] + x;
}

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
    p->logs = dsgd_xcalloc(n_cells * p->n_algorithms, sizeof *p->logs);
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
        p->runs[(cell_at(p, at[0], at[1]) * p->n_algorithms + a) * p->n_seeds + s] = i + 1;
    }
    free(algorithms);
}

dsgd_status dsgd_phase_open(const dsgd_experiment *experiment, const char *folder,
                            dsgd_phase *phase, dsgd_error *error)
{
    *phase = (dsgd_phase){.experiment = experiment, .folder = folder};
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
    free(phase->logs);
    free(phase->cells);
    free(phase->blocks);
}

/* --- cells ------------------------------------------------------------------------------------ */

/** The logarithm of a run's throughput; NAN: it has no result that counts. */
static double log_of(const dsgd_phase *p, size_t run)
{
    return run > 0 ? log(dsgd_results_throughput(p->folder, run - 1)) : NAN;
}

/** Winner and second by means; those that are not known come last. */
static void rank(const dsgd_phase *p, size_t c)
{
    dsgd_phase_cell *const cell = &p->cells[c];
    const double *const logs = &p->logs[c * p->n_algorithms];
    cell->winner = 0;
    for (size_t a = 1; a < p->n_algorithms; a++)
        if (!(logs[cell->winner] >= logs[a]) && !isnan(logs[a]))
            cell->winner = a;
    cell->second = cell->winner == 0 ? 1 : 0;
    for (size_t a = 0; a < p->n_algorithms; a++)
        if (a != cell->winner && !(logs[cell->second] >= logs[a]) && !isnan(logs[a]))
            cell->second = a;
    cell->ratio = exp(logs[cell->winner] - logs[cell->second]);
    cell->low = NAN;
    cell->high = NAN;
}

/** Reads a wanted cell. An algorithm of which a seed is missing is not known there. */
static void read_cell(dsgd_phase *p, size_t c)
{
    dsgd_phase_cell *const cell = &p->cells[c];
    double *const of_seeds = dsgd_xcalloc(p->n_algorithms * p->n_seeds, sizeof *of_seeds);
    size_t n_known = 0;
    for (size_t a = 0; a < p->n_algorithms; a++) {
        double sum = 0;
        for (size_t s = 0; s < p->n_seeds; s++) {
            const size_t k = a * p->n_seeds + s;
            of_seeds[k] = log_of(p, p->runs[c * p->n_algorithms * p->n_seeds + k]);
            sum += of_seeds[k];
        }
        p->logs[c * p->n_algorithms + a] = sum / (double)p->n_seeds;
        n_known += !isnan(sum);
    }
    rank(p, c);
    cell->is_known = n_known > 0;
    double *const differences = of_seeds + cell->winner * p->n_seeds;
    for (size_t s = 0; s < p->n_seeds; s++)
        differences[s] -= of_seeds[cell->second * p->n_seeds + s];
    if (n_known > 1) {
        const dsgd_ratio ratio = dsgd_ratio_of(differences, p->n_seeds);
        cell->low = ratio.low;
        cell->high = ratio.high;
        cell->is_uncertain = p->n_seeds > 1 ? ratio.n_settling > 0 : cell->ratio < 1 + 1e-9;
    }
    free(of_seeds);
}

/** The share of the way from one value to another at which a third lies. */
static double share_of(const double *values, size_t from, size_t at, size_t to)
{
    if (from == to)
        return 0;
    if (values[from] > 0) /* as ranges with `log` have it */
        return log(values[at] / values[from]) / log(values[to] / values[from]);
    return (values[at] - values[from]) / (values[to] - values[from]);
}

/** Between the corners of its block. */
static void interpolate(dsgd_phase *p, const dsgd_phase_block *b, size_t x, size_t y)
{
    const double u = share_of(p->values[0], b->from[0], x, b->to[0]);
    const double v = share_of(p->values[1], b->from[1], y, b->to[1]);
    const size_t c = cell_at(p, x, y);
    const size_t corners[] = {cell_at(p, b->from[0], b->from[1]), cell_at(p, b->to[0], b->from[1]),
                              cell_at(p, b->from[0], b->to[1]), cell_at(p, b->to[0], b->to[1])};
    const double weights[] = {(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v};
    for (size_t a = 0; a < p->n_algorithms; a++) {
        double *const log = &p->logs[c * p->n_algorithms + a];
        *log = 0;
        for (size_t k = 0; k < 4; k++)
            *log += weights[k] * p->logs[corners[k] * p->n_algorithms + a];
    }
    rank(p, c);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void add_block(dsgd_phase *p, dsgd_phase_block block)
{
    p->blocks = dsgd_xrealloc(p->blocks, p->n_blocks + 1, sizeof *p->blocks);
    p->blocks[p->n_blocks++] = block;
    for (size_t k = 0; k < 4; k++)
        p->cells[cell_at(p, k % 2 == 0 ? block.from[0] : block.to[0],
                         k / 2 == 0 ? block.from[1] : block.to[1])]
            .is_wanted = true;
}

/** Steps along a side: the largest power of two that leaves LEAST_STEPS of them. */
static size_t stride_of(const dsgd_phase *p, size_t side)
{
    size_t stride = 1;
    while (2 * stride * LEAST_STEPS <= p->n[side] - 1)
        stride *= 2;
    return stride;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void dsgd_phase_begin(dsgd_phase *phase)
{
    const size_t stride[] = {stride_of(phase, 0), stride_of(phase, 1)};
    for (size_t y = 0; y + 1 < phase->n[1]; y += stride[1])
        for (size_t x = 0; x + 1 < phase->n[0]; x += stride[0])
            add_block(phase, (dsgd_phase_block){{x, y},
                                                {least(x + stride[0], phase->n[0] - 1),
                                                 least(y + stride[1], phase->n[1] - 1)}});
}

/** Whether the winner changes or is uncertain among the cells that are known, its edges included. */
static bool is_open(const dsgd_phase *p, const dsgd_phase_block *b)
{
    const size_t winner = p->cells[cell_at(p, b->from[0], b->from[1])].winner;
    for (size_t y = b->from[1]; y <= b->to[1]; y++)
        for (size_t x = b->from[0]; x <= b->to[0]; x++) {
            const dsgd_phase_cell *const cell = &p->cells[cell_at(p, x, y)];
            if (cell->is_known && (cell->winner != winner || cell->is_uncertain))
                return true;
        }
    return false;
}

/** Cuts block @p i in up to four; false: it is as small as can be. */
static bool cut(dsgd_phase *p, size_t i)
{
    const dsgd_phase_block b = p->blocks[i];
    const size_t middle[] = {(b.from[0] + b.to[0]) / 2, (b.from[1] + b.to[1]) / 2};
    const bool cuts[] = {middle[0] > b.from[0], middle[1] > b.from[1]};
    if (!cuts[0] && !cuts[1])
        return false;
    p->blocks[i] = p->blocks[--p->n_blocks];
    for (size_t k = 0; k < 4; k++) {
        const bool high[] = {k % 2 == 1, k / 2 == 1};
        dsgd_phase_block part = b;
        for (size_t side = 0; side < 2; side++)
            if (high[side])
                part.from[side] = middle[side];
            else if (cuts[side])
                part.to[side] = middle[side];
        if ((!high[0] || cuts[0]) && (!high[1] || cuts[1]))
            add_block(p, part);
    }
    return true;
}

static void read_wanted(dsgd_phase *p)
{
    for (size_t c = 0; c < p->n[0] * p->n[1]; c++)
        if (p->cells[c].is_wanted && !p->cells[c].is_known)
            read_cell(p, c);
}

bool dsgd_phase_refine(dsgd_phase *phase)
{
    read_wanted(phase);
    bool any = false;
    for (size_t i = phase->n_blocks; i-- > 0;)
        if (is_open(phase, &phase->blocks[i]))
            any = cut(phase, i) || any;
    return any;
}

void dsgd_phase_want_all(dsgd_phase *phase)
{
    for (size_t y = 0; y + 1 < phase->n[1]; y++)
        for (size_t x = 0; x + 1 < phase->n[0]; x++)
            add_block(phase, (dsgd_phase_block){{x, y}, {x + 1, y + 1}});
}

void dsgd_phase_choose(const dsgd_phase *phase, bool *chosen)
{
    const size_t n_per_cell = phase->n_algorithms * phase->n_seeds;
    for (size_t k = 0; k < phase->n[0] * phase->n[1] * n_per_cell; k++)
        if (phase->cells[k / n_per_cell].is_wanted && phase->runs[k] > 0)
            chosen[phase->runs[k] - 1] = true;
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
    const size_t c = cell_at(p, x, y);
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
    read_wanted(phase);
    for (size_t i = 0; i < phase->n_blocks; i++) {
        const dsgd_phase_block *const b = &phase->blocks[i];
        for (size_t y = b->from[1]; y <= b->to[1]; y++)
            for (size_t x = b->from[0]; x <= b->to[0]; x++)
                if (!phase->cells[cell_at(phase, x, y)].is_known)
                    interpolate(phase, b, x, y);
    }
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/phase.csv", phase->folder);
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
