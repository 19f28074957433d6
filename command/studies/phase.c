/**
 * @file phase.c
 * Refines the grid of an experiment with two swept numbers. Reads the results at grid points.
 * Divides blocks of the grid in which the fastest algorithm changes. Writes phase.csv.
 */
#include "command/studies/phase.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/csv.h"
#include "base/file.h"
#include "command/analysis/verdict.h"
#include "command/experiment/config.h"
#include "command/studies/study.h"

/* --- the grid --------------------------------------------------------------------------------- */

/**
 * Reads the distinct numbers of a swept column in ascending order. Returns false if a value is not
 * a number, or if there is only one number.
 */
static bool read_values(dsgd_phase *p, size_t side)
{
    const dsgd_experiment *const e = p->experiment;
    double *const values = dsgd_keep(e->n_unchanged, sizeof *values);
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

/**
 * Finds the two swept columns. Returns false if the runs also differ in anything except algorithms
 * and seeds.
 */
static bool find_sides(dsgd_phase *p)
{
    const dsgd_experiment *const e = p->experiment;
    size_t n = 0;
    bool sweeps_workers = false;
    for (size_t k = 0; k < e->n_columns; k++) {
        if (strcmp(e->columns[k], "seed") == 0)
            continue;
        if (n == 2)
            return false;
        p->columns[n++] = k;
        sweeps_workers = sweeps_workers || strcmp(e->columns[k], "workers") == 0;
    }
    for (size_t i = 0; n == 2 && i < e->n_unchanged; i++)
        if (e->runs[i].chosen[DSGD_AXIS_PLATFORM] > 0 ||
            e->runs[i].chosen[DSGD_AXIS_WORKLOAD] > 0 ||
            (e->runs[i].config.workers != e->runs[0].config.workers && !sweeps_workers))
            return false;
    return n == 2 && read_values(p, 0) && read_values(p, 1);
}

static dsgd_phase_place *place_at(const dsgd_phase *p, size_t x, size_t y)
{
    return &p->places[y * p->n[0] + x];
}

/** Assigns each run to its grid point. */
static void find_runs(dsgd_phase *p)
{
    const dsgd_experiment *const e = p->experiment;
    const size_t n = e->n_unchanged;
    /* for each run, the number of its algorithm and the number of its seed */
    size_t(*const numbers)[2] = dsgd_keep(n, sizeof *numbers);
    dsgd_names labels = {.n = 0}, seeds = {.n = 0};
    for (size_t i = 0; i < n; i++) {
        numbers[i][0] = dsgd_names_add(&labels, e->runs[i].label);
        numbers[i][1] = dsgd_names_add(&seeds, dsgd_xprintf("%jd", e->runs[i].seed));
    }
    p->labels = labels.v;
    p->n_algorithms = labels.n;
    p->n_seeds = seeds.n;
    p->n_places = p->n[0] * p->n[1];
    p->places = dsgd_keep(p->n_places, sizeof *p->places);
    p->blocks = dsgd_keep(p->n_places, sizeof *p->blocks);
    for (size_t k = 0; k < p->n_places; k++) {
        dsgd_phase_place *const c = &p->places[k];
        *c = (dsgd_phase_place){.at = {k % p->n[0], k / p->n[0]},
                                .wanted = dsgd_keep(p->n_algorithms, sizeof *c->wanted),
                                .logs = dsgd_keep(p->n_algorithms, sizeof *c->logs),
                                .runs = dsgd_keep(p->n_algorithms * p->n_seeds, sizeof *c->runs)};
        for (size_t a = 0; a < p->n_algorithms; a++)
            c->logs[a] = NAN;
    }
    for (size_t i = 0; i < n; i++) {
        size_t at[2] = {0, 0};
        for (size_t side = 0; side < 2; side++) {
            double x = 0;
            dsgd_parse_number(e->runs[i].swept[p->columns[side]], NULL, &x);
            while (p->values[side][at[side]] < x)
                at[side]++;
        }
        place_at(p, at[0], at[1])->runs[numbers[i][0] * p->n_seeds + numbers[i][1]] = i + 1;
    }
}

dsgd_status dsgd_phase_open(const dsgd_experiment *experiment, const dsgd_results *results,
                            dsgd_phase *phase, dsgd_error *error)
{
    *phase = (dsgd_phase){.experiment = experiment,
                          .results = results,
                          .out = dsgd_keep(experiment->n_runs, sizeof *phase->out)};
    if (find_sides(phase))
        find_runs(phase);
    if (phase->n_algorithms < 2)
        return dsgd_refuse(
            error,
            "%s: a phase diagram needs two or more algorithms, two swept numbers, such as "
            "platform.host_bandwidth and imbalance.0.deviation, and no other sweep except seeds",
            experiment->path);
    return DSGD_OK;
}

void dsgd_phase_choose(const dsgd_phase *phase, bool *chosen)
{
    for (const dsgd_phase_place *c = phase->places; c < phase->places + phase->n_places; c++)
        for (size_t a = 0; a < phase->n_algorithms; a++)
            for (size_t s = 0; s < c->wanted[a]; s++)
                if (c->runs[a * phase->n_seeds + s] > 0)
                    chosen[c->runs[a * phase->n_seeds + s] - 1] = true;
}

/**
 * smallest number of steps of the coarse grid along each side, unless the full grid has fewer steps
 */
enum { LEAST_STEPS = 3 };

/**
 * A single seed is enough to determine the fastest algorithm if its lead is at least this number of
 * standard deviations of the noise.
 */
static const double enough = 2;

/**
 * Error bound of an interpolated throughput, as a share of the change of the throughput from one
 * side of the block to the other.
 */
static const double curved = 0.5;

static dsgd_phase_place *corner_of(const dsgd_phase *p, const dsgd_phase_block *b, size_t k)
{
    return place_at(p, k % 2 == 0 ? b->from[0] : b->to[0], k / 2 == 0 ? b->from[1] : b->to[1]);
}

static dsgd_phase_block whole_grid(const dsgd_phase *p)
{
    return (dsgd_phase_block){{0, 0}, {p->n[0] - 1, p->n[1] - 1}};
}

/**
 * Computes the interpolation weights of a block's four corners. @p u and @p v are positions along
 * the two sides of the block, from 0 to 1.
 */
static void find_weights(double u, double v, double weights[4])
{
    for (size_t k = 0; k < 4; k++)
        weights[k] = (k % 2 == 0 ? 1 - u : u) * (k / 2 == 0 ? 1 - v : v);
}

/* --- results ---------------------------------------------------------------------------------- */

/**
 * Returns the logarithm of a run's throughput. Returns NAN if the run has no valid result or cannot
 * win.
 */
static double log_of(const dsgd_phase *p, const dsgd_phase_place *c, size_t a, size_t s)
{
    const size_t run = c->runs[a * p->n_seeds + s];
    return run > 0 && p->out[run - 1] == NULL ? log(dsgd_results_throughput(p->results, run - 1))
                                              : NAN;
}

/**
 * Finds the fastest and the second fastest algorithm at a grid point. Algorithms with unknown
 * throughput come last.
 */
static void rank(const dsgd_phase *p, dsgd_phase_place *c)
{
    const double *const x = c->logs;
    c->winner = 0;
    for (size_t a = 1; a < p->n_algorithms; a++)
        if (!(x[c->winner] >= x[a]) && !isnan(x[a]))
            c->winner = a;
    c->second = c->winner == 0 ? 1 : 0;
    for (size_t a = 0; a < p->n_algorithms; a++)
        if (a != c->winner && !(x[c->second] >= x[a]) && !isnan(x[a]))
            c->second = a;
    c->ratio = exp(x[c->winner] - x[c->second]);
    c->low = c->high = NAN;
    /* If only one throughput is known, the ratio is NAN, and this comparison is then false. */
    c->is_uncertain = c->ratio < 1 + DSGD_TIE;
}

/**
 * Returns the standard deviation between seeds at a grid point. It is interpolated geometrically
 * between the corners of the grid.
 */
static double noise_at(const dsgd_phase *p, const dsgd_phase_place *c)
{
    double weights[4], sum = 0;
    find_weights((double)c->at[0] / (double)(p->n[0] - 1), (double)c->at[1] / (double)(p->n[1] - 1),
                 weights);
    for (size_t k = 0; k < 4; k++)
        sum += weights[k] * log(fmax(p->noise[k], 1e-9));
    return exp(sum);
}

/**
 * Computes the confidence interval of the winner's throughput divided by the second algorithm's
 * throughput, over the seeds that both have. If there is only one seed, compares the lead with the
 * noise.
 */
static void judge(const dsgd_phase *p, dsgd_phase_place *c)
{
    const size_t a = c->winner, b = c->second;
    const size_t n = c->wanted[a] < c->wanted[b] ? c->wanted[a] : c->wanted[b];
    if (isnan(c->ratio))
        return;
    if (n <= 1) {
        c->is_uncertain = c->is_uncertain || !(log(c->ratio) >= enough * noise_at(p, c));
        return;
    }
    double *const differences = dsgd_keep(n, sizeof *differences);
    for (size_t s = 0; s < n; s++)
        differences[s] = log_of(p, c, a, s) - log_of(p, c, b, s);
    const dsgd_ratio ratio = dsgd_ratio_of(differences, n);
    c->low = ratio.low;
    c->high = ratio.high;
    c->is_uncertain = c->is_uncertain || ratio.n_settling != 0;
}

/**
 * Returns the mean logarithm of an algorithm's throughput over the wanted seeds. Returns NAN if no
 * seed is wanted or if a run has no result.
 */
static double mean_of(const dsgd_phase *p, const dsgd_phase_place *c, size_t a)
{
    double sum = 0;
    for (size_t s = 0; s < c->wanted[a]; s++)
        sum += log_of(p, c, a, s);
    return sum / (double)c->wanted[a];
}

/**
 * Reads the wanted results at a grid point. Algorithms can have different numbers of seeds.
 * Therefore, each algorithm is compared with the algorithm that has the most seeds, over the seeds
 * that both have.
 */
static void read_place(const dsgd_phase *p, dsgd_phase_place *c)
{
    const size_t *const n = c->wanted;
    size_t most = p->n_algorithms;
    for (size_t a = 0; a < p->n_algorithms; a++)
        if (!isnan(mean_of(p, c, a)) && (most == p->n_algorithms || n[a] > n[most]))
            most = a;
    for (size_t a = 0; a < p->n_algorithms; a++) {
        const double mean = mean_of(p, c, a);
        if (n[a] > 0)
            c->logs[a] = mean;
        for (size_t s = 0; !isnan(mean) && n[a] < n[most] && s < n[most]; s++)
            c->logs[a] +=
                log_of(p, c, most, s) * (1. / (double)n[most] - (s < n[a] ? 1. / (double)n[a] : 0));
    }
    rank(p, c);
    c->is_known = n[c->winner] > 0 && !isnan(c->logs[c->winner]);
    if (c->is_known)
        judge(p, c);
}

/**
 * Returns the standard deviation over seeds of the logarithm of a ratio of two algorithms. Uses the
 * pair of algorithms with the largest deviation. Returns 0 if the deviation is unknown.
 */
static double noise_of(const dsgd_phase *p, const dsgd_phase_place *c)
{
    double *const x = dsgd_keep(p->n_seeds, sizeof *x);
    double largest = 0;
    for (size_t a = 0; p->n_seeds > 1 && c->is_wanted && a < p->n_algorithms; a++)
        for (size_t b = 0; b < a; b++) {
            for (size_t s = 0; s < p->n_seeds; s++)
                x[s] = log_of(p, c, a, s) - log_of(p, c, b, s);
            largest = fmax(largest, gsl_stats_sd(x, 1, p->n_seeds));
        }
    return largest;
}

static void read_wanted(dsgd_phase *p)
{
    (void)dsgd_study_outcomes(p->results->folder, p->experiment->n_runs, p->out, NULL);
    const dsgd_phase_block whole = whole_grid(p);
    for (size_t k = 0; k < 4; k++)
        p->noise[k] = noise_of(p, corner_of(p, &whole, k));
    for (dsgd_phase_place *c = p->places; c < p->places + p->n_places; c++)
        if (c->is_wanted && !c->is_settled)
            read_place(p, c);
}

/* --- selection of runs ------------------------------------------------------------------------ */

static bool want(dsgd_phase_place *c, size_t a, size_t n_seeds)
{
    if (c->wanted[a] >= n_seeds)
        return false;
    c->wanted[a] = n_seeds;
    c->is_wanted = true;
    c->is_settled = false;
    return true;
}

/**
 * Marks the runs that are needed to determine the winner at a grid point. If an algorithm looked
 * too slow before but does not look too slow now, marks one run of it. If the distance of an
 * algorithm to the winner is within the noise, marks all of its seeds. If such a distance is a tie
 * anyway, marks no more seeds.
 */
static bool want_more(const dsgd_phase *p, dsgd_phase_place *c)
{
    const double *const x = c->logs;
    const double best = x[c->winner], noise = enough * noise_at(p, c);
    const double lead = best - x[c->second];
    const bool open = lead < noise && lead + noise > log(1 + DSGD_TIE);
    bool any = false;
    for (size_t a = 0; a < p->n_algorithms; a++) {
        const bool near = x[a] >= best - (open ? noise : 0);
        if (near && (open || c->wanted[a] == 0))
            any = want(c, a, c->wanted[a] == 0 ? 1 : p->n_seeds) || any;
    }
    c->is_settled = !any;
    return any;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/** Returns the position of a value between two other values, as a number from 0 to 1. */
static double share_of(const double *values, size_t from, size_t at, size_t to)
{
    if (from == to)
        return 0;
    /* If the values are positive, interpolate their logarithms, as in ranges with `log`. */
    if (values[from] > 0)
        return log(values[at] / values[from]) / log(values[to] / values[from]);
    return (values[at] - values[from]) / (values[to] - values[from]);
}

/** Interpolates the logarithm of an algorithm's throughput between the corners of a block. */
static double between(const dsgd_phase *p, const dsgd_phase_block *b, const dsgd_phase_place *c,
                      size_t a)
{
    double weights[4], x = 0;
    find_weights(share_of(p->values[0], b->from[0], c->at[0], b->to[0]),
                 share_of(p->values[1], b->from[1], c->at[1], b->to[1]), weights);
    for (size_t k = 0; k < 4; k++)
        if (weights[k] > 0)
            x += weights[k] * corner_of(p, b, k)->logs[a];
    return x;
}

/** Returns the error bound of the number that between() interpolates. */
static double error_of(const dsgd_phase *p, const dsgd_phase_block *b, size_t a)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t k = 0; k < 4; k++) {
        low = fmin(low, corner_of(p, b, k)->logs[a]);
        high = fmax(high, corner_of(p, b, k)->logs[a]);
    }
    return curved * (high - low);
}

/**
 * Marks the algorithms that can win at grid point @p c. This point becomes a corner when block @p b
 * is divided.
 */
static void want_rivals(const dsgd_phase *p, const dsgd_phase_block *b, dsgd_phase_place *c)
{
    const bool is_new = !c->is_wanted;
    double surely = -INFINITY; /* lower bound of the logarithm of the winner's throughput */
    for (size_t a = 0; a < p->n_algorithms; a++)
        surely = fmax(surely, between(p, b, c, a) - error_of(p, b, a));
    for (size_t a = 0; a < p->n_algorithms; a++) {
        const double x = between(p, b, c, a);
        if (!(x + error_of(p, b, a) < surely) && !c->is_known)
            want(c, a, 1);
        if (is_new)
            c->logs[a] = x;
    }
}

static void want_corners(const dsgd_phase *p, const dsgd_phase_block *b, size_t n_seeds)
{
    for (size_t k = 0; k < 4; k++)
        for (size_t a = 0; a < p->n_algorithms; a++)
            want(corner_of(p, b, k), a, n_seeds);
}

/**
 * Divides the grid into blocks that have @p stride steps along each side. Marks the runs at the
 * corners of these blocks.
 */
static void begin(dsgd_phase *p, const size_t stride[2], size_t n_seeds)
{
    const dsgd_phase_block whole = whole_grid(p);
    for (size_t y = 0; y < whole.to[1]; y += stride[1])
        for (size_t x = 0; x < whole.to[0]; x += stride[0]) {
            const size_t next[] = {x + stride[0], y + stride[1]};
            const dsgd_phase_block block = {{x, y},
                                            {next[0] < whole.to[0] ? next[0] : whole.to[0],
                                             next[1] < whole.to[1] ? next[1] : whole.to[1]}};
            p->blocks[p->n_blocks++] = block;
            want_corners(p, &block, n_seeds);
        }
}

void dsgd_phase_begin(dsgd_phase *phase)
{
    const dsgd_phase_block whole = whole_grid(phase);
    size_t stride[] = {1, 1}; /* for each side: the largest power of two for which the coarse grid
                               * has at least LEAST_STEPS steps */
    for (size_t side = 0; side < 2; side++)
        while (2 * stride[side] * LEAST_STEPS <= whole.to[side])
            stride[side] *= 2;
    begin(phase, stride, 1);
    want_corners(phase, &whole, phase->n_seeds);
}

/**
 * Returns true if no algorithm wins or ties at all known grid points of a block. The edges belong
 * to the block.
 */
static bool is_open(const dsgd_phase *p, const dsgd_phase_block *b)
{
    for (size_t a = 0; a < p->n_algorithms; a++) {
        bool wins = true;
        for (size_t y = b->from[1]; y <= b->to[1]; y++)
            for (size_t x = b->from[0]; x <= b->to[0]; x++) {
                const dsgd_phase_place *const c = place_at(p, x, y);
                if (c->is_known && !(c->logs[c->winner] - c->logs[a] < log(1 + DSGD_TIE)))
                    wins = false;
            }
        if (wins)
            return false;
    }
    return true;
}

/**
 * Divides block @p i into up to four blocks. Returns false if there are no grid points between the
 * corners of the block.
 */
static bool cut(dsgd_phase *p, size_t i)
{
    const dsgd_phase_block b = p->blocks[i];
    const size_t middle[] = {(b.from[0] + b.to[0]) / 2, (b.from[1] + b.to[1]) / 2};
    const bool cuts[] = {middle[0] > b.from[0], middle[1] > b.from[1]};
    if (!cuts[0] && !cuts[1])
        return false;
    p->blocks[i] = p->blocks[--p->n_blocks];
    const size_t ends[2][3] = {{b.from[0], cuts[0] ? middle[0] : b.to[0], b.to[0]},
                               {b.from[1], cuts[1] ? middle[1] : b.to[1], b.to[1]}};
    for (size_t y = 0; y < 1 + (size_t)cuts[1]; y++)
        for (size_t x = 0; x < 1 + (size_t)cuts[0]; x++) {
            const dsgd_phase_block part = {{ends[0][x], ends[1][y]},
                                           {ends[0][x + 1], ends[1][y + 1]}};
            p->blocks[p->n_blocks++] = part;
            for (size_t m = 0; m < 4; m++)
                want_rivals(p, &b, corner_of(p, &part, m));
        }
    return true;
}

bool dsgd_phase_refine(dsgd_phase *phase)
{
    bool any = false;
    read_wanted(phase);
    for (dsgd_phase_place *c = phase->places; c < phase->places + phase->n_places; c++)
        if (c->is_wanted && !c->is_settled)
            any = want_more(phase, c) || any;
    if (any)
        return true;
    for (size_t i = phase->n_blocks; i-- > 0;)
        if (is_open(phase, &phase->blocks[i]))
            any = cut(phase, i) || any;
    return any;
}

/** Reads the results. Interpolates unknown grid points between the corners of their blocks. */
static void interpolate(dsgd_phase *phase)
{
    read_wanted(phase);
    for (const dsgd_phase_block *b = phase->blocks; b < phase->blocks + phase->n_blocks; b++)
        for (size_t y = b->from[1]; y <= b->to[1]; y++)
            for (size_t x = b->from[0]; x <= b->to[0]; x++) {
                dsgd_phase_place *const c = place_at(phase, x, y);
                if (c->is_known)
                    continue;
                for (size_t a = 0; a < phase->n_algorithms; a++)
                    /* Keep NAN if the algorithm was simulated at this grid point and cannot win. */
                    if (c->wanted[a] == 0 || !isnan(c->logs[a]))
                        c->logs[a] = between(phase, b, c, a);
                rank(phase, c);
                judge(phase, c);
            }
}

/* --- phase.csv -------------------------------------------------------------------------------- */

dsgd_status dsgd_phase_write(dsgd_phase *phase, dsgd_error *error)
{
    if (phase->n_blocks == 0)
        /*
         * If no block exists, all runs have been executed. Each block then has one step along each
         * side.
         */
        begin(phase, (const size_t[]){1, 1}, phase->n_seeds);
    interpolate(phase);
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
    /*
     * The lead of an algorithm is log2 of its throughput divided by the best throughput of the
     * other algorithms.
     */
    for (const dsgd_phase_place *c = phase->places; c < phase->places + phase->n_places; c++) {
        /* Write a blank line between two lines of the grid, because gnuplot requires it. */
        if (c->at[0] == 0)
            fputc('\n', stream);
        dsgd_csv_number(stream, phase->values[0][c->at[0]]);
        dsgd_csv_numbers(stream, &phase->values[1][c->at[1]], 1);
        fprintf(stream, ",%d,%d,%s,%s", c->is_known, c->is_uncertain,
                isnan(c->logs[c->winner]) ? "" : phase->labels[c->winner],
                isnan(c->logs[c->second]) ? "" : phase->labels[c->second]);
        dsgd_csv_numbers(stream, (double[]){c->ratio, c->low, c->high}, 3);
        for (size_t a = 0; a < phase->n_algorithms; a++) {
            const double best = c->logs[a == c->winner ? c->second : c->winner];
            dsgd_csv_numbers(stream, (double[]){(c->logs[a] - best) / log(2)}, 1);
        }
        fputc('\n', stream);
    }
    return dsgd_whole_close(&file, error);
}
