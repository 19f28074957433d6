/**
 * @file phase_refine.c
 * What is known of cells, and blocks of cells that are cut where the winner changes.
 */
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/analysis/frame.h"
#include "command/runs/results.h"
#include "command/studies/phase.h"

/** A coarse grid has at least as many steps along each side, or as many as there are. */
enum { LEAST_STEPS = 3 };

/** A single seed decides where the lead is as many standard deviations of its noise. */
static const double enough = 2;

/** Of what a throughput changes across a block: by how much it may miss its interpolation. */
static const double curved = 0.5;

/* --- results ---------------------------------------------------------------------------------- */

static size_t *wanted(const dsgd_phase *p, size_t c)
{
    return &p->wanted[c * p->n_algorithms];
}

static double *logs(const dsgd_phase *p, size_t c)
{
    return &p->logs[c * p->n_algorithms];
}

/** The logarithm of a run's throughput; NAN: it has no result that counts. */
static double log_of(const dsgd_phase *p, size_t c, size_t a, size_t s)
{
    const size_t run = p->runs[(c * p->n_algorithms + a) * p->n_seeds + s];
    return run > 0 ? log(dsgd_results_throughput(p->results, run - 1)) : NAN;
}

/** Winner and second; those that are not known come last. */
static void rank(const dsgd_phase *p, size_t c)
{
    dsgd_phase_cell *const cell = &p->cells[c];
    const double *const x = logs(p, c);
    cell->winner = 0;
    for (size_t a = 1; a < p->n_algorithms; a++)
        if (!(x[cell->winner] >= x[a]) && !isnan(x[a]))
            cell->winner = a;
    cell->second = cell->winner == 0 ? 1 : 0;
    for (size_t a = 0; a < p->n_algorithms; a++)
        if (a != cell->winner && !(x[cell->second] >= x[a]) && !isnan(x[a]))
            cell->second = a;
    cell->ratio = exp(x[cell->winner] - x[cell->second]);
    cell->low = NAN;
    cell->high = NAN;
    cell->is_uncertain = !(cell->ratio >= 1 + DSGD_TIE);
}

/** Spread between seeds at a cell: between the corners of the grid it changes by factors. */
static double noise_at(const dsgd_phase *p, size_t c)
{
    const size_t x = c % p->n[0], y = c / p->n[0];
    const double u = (double)x / (double)(p->n[0] - 1), v = (double)y / (double)(p->n[1] - 1);
    const double weights[] = {(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v};
    double sum = 0;
    for (size_t k = 0; k < 4; k++)
        sum += weights[k] * log(fmax(p->noise[k], 1e-9));
    return exp(sum);
}

/** The interval of winner over second, of the seeds of both; of one seed by the noise. */
static void judge(dsgd_phase *p, size_t c)
{
    dsgd_phase_cell *const cell = &p->cells[c];
    const size_t a = cell->winner, b = cell->second;
    const size_t n = wanted(p, c)[a] < wanted(p, c)[b] ? wanted(p, c)[a] : wanted(p, c)[b];
    double *const differences = dsgd_xcalloc(p->n_seeds, sizeof *differences);
    for (size_t s = 0; s < n; s++)
        differences[s] = log_of(p, c, a, s) - log_of(p, c, b, s);
    if (n > 1) {
        const dsgd_ratio ratio = dsgd_ratio_of(differences, n);
        cell->low = ratio.low;
        cell->high = ratio.high;
        cell->is_uncertain = cell->is_uncertain || !(ratio.n_settling == 0);
    } else {
        cell->is_uncertain = cell->is_uncertain || !(log(cell->ratio) >= enough * noise_at(p, c));
    }
    free(differences);
}

/** Mean of what is wanted of an algorithm; NAN: nothing is, or a run has no result. */
static double mean_of(const dsgd_phase *p, size_t c, size_t a)
{
    double sum = 0;
    for (size_t s = 0; s < wanted(p, c)[a]; s++)
        sum += log_of(p, c, a, s);
    return sum / (double)wanted(p, c)[a];
}

/**
 * Reads what is wanted of a cell. Means are of the differences to the algorithm with most seeds, over
 * the seeds of both, so that numbers of seeds may differ.
 */
static void read_cell(dsgd_phase *p, size_t c)
{
    const size_t *const n = wanted(p, c);
    double *const x = logs(p, c);
    size_t most = p->n_algorithms;
    for (size_t a = 0; a < p->n_algorithms; a++)
        if (!isnan(mean_of(p, c, a)) && (most == p->n_algorithms || n[a] > n[most]))
            most = a;
    for (size_t a = 0; a < p->n_algorithms; a++) {
        const double mean = mean_of(p, c, a);
        if (n[a] > 0)
            x[a] = mean;
        for (size_t s = 0; !isnan(mean) && n[a] < n[most] && s < n[most]; s++)
            x[a] +=
                log_of(p, c, most, s) * (1. / (double)n[most] - (s < n[a] ? 1. / (double)n[a] : 0));
    }
    rank(p, c);
    p->cells[c].is_known = n[p->cells[c].winner] > 0 && !isnan(x[p->cells[c].winner]);
    if (p->cells[c].is_known)
        judge(p, c);
}

/** The largest spread of the logarithm of a ratio of two algorithms. */
static double noise_of(const dsgd_phase *p, size_t c)
{
    double *const x = dsgd_xcalloc(p->n_seeds, sizeof *x);
    double largest = 0;
    for (size_t a = 0; p->n_seeds > 1 && a < p->n_algorithms; a++)
        for (size_t b = 0; b < a; b++) {
            for (size_t s = 0; s < p->n_seeds; s++)
                x[s] = log_of(p, c, a, s) - log_of(p, c, b, s);
            largest = fmax(largest, gsl_stats_sd(x, 1, p->n_seeds));
        }
    free(x);
    return largest;
}

static bool is_wanted(const dsgd_phase *p, size_t c)
{
    for (size_t a = 0; a < p->n_algorithms; a++)
        if (wanted(p, c)[a] > 0)
            return true;
    return false;
}

static void corners_of_grid(const dsgd_phase *p, size_t corners[4])
{
    for (size_t k = 0; k < 4; k++)
        corners[k] = dsgd_phase_at(p, k % 2 == 0 ? 0 : p->n[0] - 1, k / 2 == 0 ? 0 : p->n[1] - 1);
}

static void read_wanted(dsgd_phase *p)
{
    size_t corners[4];
    corners_of_grid(p, corners);
    for (size_t k = 0; k < 4; k++)
        p->noise[k] = is_wanted(p, corners[k]) ? noise_of(p, corners[k]) : 0;
    for (size_t c = 0; c < p->n[0] * p->n[1]; c++)
        if (is_wanted(p, c) && !p->cells[c].is_settled)
            read_cell(p, c);
}

/* --- wishes ----------------------------------------------------------------------------------- */

static bool want(dsgd_phase *p, size_t c, size_t a, size_t n_seeds)
{
    if (wanted(p, c)[a] >= n_seeds)
        return false;
    wanted(p, c)[a] = n_seeds;
    p->cells[c].is_settled = false;
    return true;
}

/**
 * Wants what would settle a cell: an algorithm that was thought too slow and is not, or all seeds of
 * those that noise does not tell from the winner, unless it is a tie at any rate.
 */
static bool want_more(dsgd_phase *p, size_t c)
{
    const double *const x = logs(p, c);
    const double best = x[p->cells[c].winner], noise = enough * noise_at(p, c);
    const double lead = best - x[p->cells[c].second];
    const bool open = lead < noise && lead + noise > log(1 + DSGD_TIE);
    bool any = false;
    for (size_t a = 0; a < p->n_algorithms; a++) {
        const bool near = x[a] >= best - (open ? noise : 0);
        if (near && wanted(p, c)[a] == 0)
            any = want(p, c, a, 1) || any;
        else if (near && open)
            any = want(p, c, a, p->n_seeds) || any;
    }
    p->cells[c].is_settled = !any;
    return any;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void corners_of(const dsgd_phase *p, const dsgd_phase_block *b, size_t corners[4])
{
    for (size_t k = 0; k < 4; k++)
        corners[k] = dsgd_phase_at(p, k % 2 == 0 ? b->from[0] : b->to[0],
                                   k / 2 == 0 ? b->from[1] : b->to[1]);
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

/** The logarithm of an algorithm's throughput between the corners of a block. */
static double between(const dsgd_phase *p, const dsgd_phase_block *b, size_t c, size_t a)
{
    const double u = share_of(p->values[0], b->from[0], c % p->n[0], b->to[0]);
    const double v = share_of(p->values[1], b->from[1], c / p->n[0], b->to[1]);
    const double weights[] = {(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v};
    size_t corners[4];
    corners_of(p, b, corners);
    double x = 0;
    for (size_t k = 0; k < 4; k++)
        if (weights[k] > 0)
            x += weights[k] * logs(p, corners[k])[a];
    return x;
}

/** By how much that may be wrong. */
static double error_of(const dsgd_phase *p, const dsgd_phase_block *b, size_t a)
{
    size_t corners[4];
    corners_of(p, b, corners);
    double low = INFINITY, high = -INFINITY;
    for (size_t k = 0; k < 4; k++) {
        low = fmin(low, logs(p, corners[k])[a]);
        high = fmax(high, logs(p, corners[k])[a]);
    }
    return curved * (high - low);
}

/** Wants the algorithms that can win at a cell of a block that is cut. */
static void want_rivals(dsgd_phase *p, const dsgd_phase_block *b, size_t c)
{
    const bool is_new = !is_wanted(p, c);
    double surely = -INFINITY; /* what the winner has at least */
    for (size_t a = 0; a < p->n_algorithms; a++)
        surely = fmax(surely, between(p, b, c, a) - error_of(p, b, a));
    for (size_t a = 0; a < p->n_algorithms; a++) {
        const double x = between(p, b, c, a);
        if (!(x + error_of(p, b, a) < surely) && !p->cells[c].is_known)
            want(p, c, a, 1);
        if (is_new)
            logs(p, c)[a] = x;
    }
}

static void add_block(dsgd_phase *p, dsgd_phase_block block)
{
    p->blocks = dsgd_xrealloc(p->blocks, p->n_blocks + 1, sizeof *p->blocks);
    p->blocks[p->n_blocks++] = block;
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

static void want_corners(dsgd_phase *p, const size_t corners[4], size_t n_seeds)
{
    for (size_t k = 0; k < 4; k++)
        for (size_t a = 0; a < p->n_algorithms; a++)
            want(p, corners[k], a, n_seeds);
}

void dsgd_phase_begin(dsgd_phase *phase)
{
    const size_t stride[] = {stride_of(phase, 0), stride_of(phase, 1)};
    size_t corners[4];
    for (size_t y = 0; y + 1 < phase->n[1]; y += stride[1])
        for (size_t x = 0; x + 1 < phase->n[0]; x += stride[0]) {
            const dsgd_phase_block block = {
                {x, y},
                {least(x + stride[0], phase->n[0] - 1), least(y + stride[1], phase->n[1] - 1)}};
            add_block(phase, block);
            corners_of(phase, &block, corners);
            want_corners(phase, corners, 1);
        }
    corners_of_grid(phase, corners);
    want_corners(phase, corners, phase->n_seeds);
}

/** Whether the known cells of a block, its edges included, have no winner in common, or tie with it. */
static bool is_open(const dsgd_phase *p, const dsgd_phase_block *b)
{
    for (size_t a = 0; a < p->n_algorithms; a++) {
        bool wins = true;
        for (size_t y = b->from[1]; y <= b->to[1]; y++)
            for (size_t x = b->from[0]; x <= b->to[0]; x++) {
                const size_t c = dsgd_phase_at(p, x, y);
                const double behind = logs(p, c)[p->cells[c].winner] - logs(p, c)[a];
                if (p->cells[c].is_known && !(behind < log(1 + DSGD_TIE)))
                    wins = false;
            }
        if (wins)
            return false;
    }
    return true;
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
        if ((high[0] && !cuts[0]) || (high[1] && !cuts[1]))
            continue;
        add_block(p, part);
        size_t corners[4];
        corners_of(p, &part, corners);
        for (size_t m = 0; m < 4; m++)
            want_rivals(p, &b, corners[m]);
    }
    return true;
}

bool dsgd_phase_refine(dsgd_phase *phase)
{
    bool any = false;
    read_wanted(phase);
    for (size_t c = 0; c < phase->n[0] * phase->n[1]; c++)
        if (is_wanted(phase, c) && !phase->cells[c].is_settled)
            any = want_more(phase, c) || any;
    if (any)
        return true;
    for (size_t i = phase->n_blocks; i-- > 0;)
        if (is_open(phase, &phase->blocks[i]))
            any = cut(phase, i) || any;
    return any;
}

void dsgd_phase_want_all(dsgd_phase *phase)
{
    for (size_t y = 0; y + 1 < phase->n[1]; y++)
        for (size_t x = 0; x + 1 < phase->n[0]; x++) {
            const dsgd_phase_block block = {{x, y}, {x + 1, y + 1}};
            size_t corners[4];
            add_block(phase, block);
            corners_of(phase, &block, corners);
            want_corners(phase, corners, phase->n_seeds);
        }
}

void dsgd_phase_interpolate(dsgd_phase *phase)
{
    read_wanted(phase);
    for (size_t i = 0; i < phase->n_blocks; i++) {
        const dsgd_phase_block *const b = &phase->blocks[i];
        for (size_t y = b->from[1]; y <= b->to[1]; y++)
            for (size_t x = b->from[0]; x <= b->to[0]; x++) {
                const size_t c = dsgd_phase_at(phase, x, y);
                if (phase->cells[c].is_known)
                    continue;
                for (size_t a = 0; a < phase->n_algorithms; a++)
                    logs(phase, c)[a] = between(phase, b, c, a);
                rank(phase, c);
                judge(phase, c);
            }
    }
}
