/**
 * @file ratio.c
 * Intervals of ratios, and where they pass a level.
 */
#include "command/analysis/ratio.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "command/analysis/summary.h"

/** Two results of the same arithmetic differ by less. */
static const double rounding = 1e-9;

static double half_width(double deviation, size_t n)
{
    return gsl_cdf_tdist_Pinv(0.975, (double)(n - 1)) * deviation / sqrt((double)n);
}

static size_t settling(double mean, double deviation, size_t n)
{
    size_t more = n;
    while (more <= DSGD_MOST_SEEDS && half_width(deviation, more) >= fabs(mean) - rounding)
        more++;
    return more == n ? 0 : more;
}

dsgd_ratio dsgd_ratio_of(const double *logs, size_t n)
{
    dsgd_ratio r = {.n = n, .ratio = NAN, .low = NAN, .high = NAN};
    double mean = 0;
    double ci = 0;
    dsgd_mean(logs, n, &mean, &ci);
    r.ratio = exp(mean);
    r.low = exp(mean - ci);
    r.high = exp(mean + ci);
    if (n > 1)
        r.n_settling = settling(mean, gsl_stats_sd(logs, 1, n), n);
    return r;
}

/** The place of x on the scale of interpolation. */
static double scaled(const dsgd_ladder *l, size_t i)
{
    const bool log_scale = l->x[0] > 0 && l->x[l->n_places - 1] >= 10 * l->x[0];
    return log_scale ? log(l->x[i]) : l->x[i];
}

static double unscaled(const dsgd_ladder *l, double place)
{
    return scaled(l, 0) == l->x[0] ? place : exp(place);
}

static double mean_at(const dsgd_ladder *l, size_t i)
{
    double sum = 0;
    for (size_t s = 0; s < l->n_seeds; s++)
        sum += l->logs[i * l->n_seeds + s];
    return sum / (double)l->n_seeds;
}

/** Where a line between two places passes 0, on the scale; NAN: nowhere, or in the other direction. */
static double passes(const dsgd_ladder *l, size_t i, double before, double after, bool rises)
{
    if (rises ? !(before < 0 && after >= 0) : !(before >= 0 && after < 0))
        return NAN;
    return scaled(l, i) + (scaled(l, i + 1) - scaled(l, i)) * before / (before - after);
}

/** Where a seed passes in that direction, nearest to a place; NAN: nowhere. */
static double seed_passes(const dsgd_ladder *l, size_t s, double level, bool rises, double near)
{
    double nearest = NAN;
    for (size_t i = 0; i + 1 < l->n_places; i++) {
        const double at = passes(l, i, l->logs[i * l->n_seeds + s] - level,
                                 l->logs[(i + 1) * l->n_seeds + s] - level, rises);
        if (!isnan(at) && !(fabs(nearest - near) <= fabs(at - near)))
            nearest = at;
    }
    return nearest;
}

static dsgd_crossing crossing_at(const dsgd_ladder *l, double level, bool rises, double at)
{
    dsgd_crossing c = {.rises = rises, .at = unscaled(l, at), .low = NAN, .high = NAN};
    double *const places = dsgd_xcalloc(l->n_seeds, sizeof *places);
    for (size_t s = 0; s < l->n_seeds; s++) {
        const double place = seed_passes(l, s, level, rises, at);
        if (!isnan(place))
            places[c.n++] = place;
    }
    if (c.n == l->n_seeds) {
        double mean = 0;
        double ci = 0;
        dsgd_mean(places, c.n, &mean, &ci);
        c.at = unscaled(l, mean);
        c.low = unscaled(l, mean - ci);
        c.high = unscaled(l, mean + ci);
    }
    free(places);
    return c;
}

size_t dsgd_crossings_of(const dsgd_ladder *ladder, double level, dsgd_crossing *crossings)
{
    size_t n = 0;
    for (size_t i = 0; i + 1 < ladder->n_places; i++) {
        const double before = mean_at(ladder, i) - log(level);
        const double after = mean_at(ladder, i + 1) - log(level);
        for (int rises = 0; rises < 2; rises++) {
            const double at = passes(ladder, i, before, after, rises);
            if (!isnan(at))
                crossings[n++] = crossing_at(ladder, log(level), rises, at);
        }
    }
    return n;
}
