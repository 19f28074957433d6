/**
 * @file fit.c
 * Fits distributions by maximum likelihood. Uses closed forms if they exist. Uses Newton's method
 * for the shape of the gamma distribution, and GSL's minimiser for the shift.
 */
#include "traces/fit.h"

#include <float.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_min.h>
#include <gsl/gsl_sf_psi.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/status.h"

/* --- fit of one distribution ------------------------------------------------------------------ */

typedef struct sample {
    const double *x; /* values in ascending order */
    size_t n;
    double mean, deviation; /* mean and standard deviation of x, with divisor n */
} sample;

/** Sets *mean and *variance to the mean and variance of the logarithms of x - shift. */
static void of_logarithms(const sample *s, double shift, double *mean, double *variance)
{
    double sum = 0, square = 0;
    const double middle = log(s->mean - shift);
    for (size_t i = 0; i < s->n; i++) {
        const double d = log(s->x[i] - shift) - middle;
        sum += d;
        square += d * d;
    }
    const double d = sum / (double)s->n;
    *mean = middle + d;
    *variance = square / (double)s->n - d * d;
}

/**
 * Limits a shape parameter to the range of the imbalance kind (0.04 to 10,000), with a margin for
 * rounding.
 */
static double sane_shape(double shape)
{
    return fmin(fmax(shape, 0.041), 9900);
}

/**
 * Fits a gamma distribution. Its shape k solves ln k - psi(k) = ln(mean) - mean of ln(x). Minka's
 * first estimate of k has an error of at most 2 %.
 */
static void fit_gamma(const sample *s, double log_mean, dsgd_fit *fit)
{
    const double gap = fmax(log(s->mean - fit->shift_s) - log_mean, DBL_EPSILON);
    double shape = sane_shape((3 - gap + sqrt(gsl_pow_2(gap - 3) + 24 * gap)) / (12 * gap));
    for (int i = 0; i < 8; i++) {
        const double excess = log(shape) - gsl_sf_psi(shape) - gap;
        const double slope = 1 / shape - gsl_sf_psi_1(shape);
        shape = sane_shape(1 / (1 / shape + excess / (gsl_pow_2(shape) * slope)));
    }
    fit->mean_s = s->mean - fit->shift_s;
    fit->deviation_s = fit->mean_s / sqrt(shape);
}

/** Fits mean and deviation for the given shift of @p fit, and computes the likelihood. */
static void fit_unshifted(const sample *s, dsgd_fit *fit)
{
    double mean = 0, variance = 0; /* mean and variance of the logarithms */
    if (fit->family != &dsgd_family_normal)
        of_logarithms(s, fit->shift_s, &mean, &variance);
    if (fit->family == &dsgd_family_normal) {
        fit->mean_s = s->mean;
        fit->deviation_s = s->deviation;
    } else if (fit->family == &dsgd_family_lognormal) {
        fit->mean_s = exp(mean + variance / 2);
        fit->deviation_s = fit->mean_s * sqrt(expm1(variance));
    } else {
        fit_gamma(s, mean, fit);
    }
    const dsgd_natural natural = fit->family->natural(fit->mean_s, fit->deviation_s);
    fit->log_likelihood = 0;
    for (size_t i = 0; i < s->n; i++)
        fit->log_likelihood += fit->family->log_density(s->x[i] - fit->shift_s, natural);
}

/* --- fit of the shift ------------------------------------------------------------------------- */

typedef struct profile {
    const sample *s;
    dsgd_fit *fit;
} profile;

/**
 * Returns minus the largest likelihood for a given shift. The shift is exp(@p log_distance) below
 * the smallest value.
 */
static double minus_likelihood(double log_distance, void *p)
{
    const profile *const of = p;
    of->fit->shift_s = of->s->x[0] - exp(log_distance);
    fit_unshifted(of->s, of->fit);
    return -of->fit->log_likelihood;
}

/**
 * Finds the minimum of minus_likelihood() between the points @p low and @p high, by Brent's method.
 */
static void refine(profile *of, double low, double at, double high)
{
    gsl_function f = {minus_likelihood, of};
    gsl_min_fminimizer *const brent = gsl_min_fminimizer_alloc(gsl_min_fminimizer_brent);
    gsl_min_fminimizer_set(brent, &f, at, low, high);
    for (int i = 0; i < 60; i++) {
        gsl_min_fminimizer_iterate(brent);
        if (gsl_min_fminimizer_x_upper(brent) - gsl_min_fminimizer_x_lower(brent) < 1e-7)
            break;
    }
    minus_likelihood(gsl_min_fminimizer_x_minimum(brent), of);
    gsl_min_fminimizer_free(brent);
}

/**
 * Fits the shift: selects the best local maximum of the profile likelihood. If no local maximum
 * exists, selects the better end of the range of shifts. For samples without skew (nearly normal),
 * this end is far below the values. For falling densities, this end is just below the smallest
 * value.
 */
static void fit_shifted(const sample *s, dsgd_fit *fit)
{
    enum { POINTS = 64 };
    profile of = {s, fit};
    const double low = log(1e-3 * s->deviation);
    const double step = (log(50 * s->deviation) - low) / (POINTS - 1);
    double f[POINTS];
    for (int i = 0; i < POINTS; i++)
        f[i] = minus_likelihood(low + step * i, &of);
    int best = -1;
    for (int i = 1; i < POINTS - 1; i++)
        if (f[i] < f[i - 1] && f[i] < f[i + 1] && (best < 0 || f[i] < f[best]))
            best = i;
    if (best >= 0)
        refine(&of, low + step * (best - 1), low + step * best, low + step * (best + 1));
    else
        minus_likelihood(f[0] < f[POINTS - 1] ? low : low + step * (POINTS - 1), &of);
}

/* --- fit of all distributions ----------------------------------------------------------------- */

static double kolmogorov_smirnov(const sample *s, const dsgd_fit *fit)
{
    const dsgd_natural natural = fit->family->natural(fit->mean_s, fit->deviation_s);
    double distance = 0;
    for (size_t i = 0; i < s->n; i++) {
        const double p = fit->family->cumulative(s->x[i] - fit->shift_s, natural);
        distance = fmax(distance, p - (double)i / (double)s->n);
        distance = fmax(distance, (double)(i + 1) / (double)s->n - p);
    }
    return distance;
}

static int by_aic(const void *a, const void *b)
{
    const double left = ((const dsgd_fit *)a)->aic;
    const double right = ((const dsgd_fit *)b)->aic;
    return (left > right) - (left < right);
}

void dsgd_fit_all(const double *sorted_s, size_t n, dsgd_fit fits[DSGD_FITS])
{
    static const struct {
        const dsgd_family *family;
        bool shifted;
    } candidates[DSGD_FITS] = {{&dsgd_family_normal, false},
                               {&dsgd_family_lognormal, false},
                               {&dsgd_family_gamma, false},
                               {&dsgd_family_lognormal, true},
                               {&dsgd_family_gamma, true}};
    sample s = {sorted_s, n, gsl_stats_mean(sorted_s, 1, n), 0};
    s.deviation = sqrt(gsl_stats_variance_with_fixed_mean(sorted_s, 1, n, s.mean));
    for (int i = 0; i < DSGD_FITS; i++) {
        dsgd_fit *const fit = &fits[i];
        *fit = (dsgd_fit){.family = candidates[i].family, .shifted = candidates[i].shifted};
        if (fit->shifted)
            fit_shifted(&s, fit);
        else
            fit_unshifted(&s, fit);
        fit->aic = 2 * (fit->shifted ? 3 : 2) - 2 * fit->log_likelihood;
        fit->ks = kolmogorov_smirnov(&s, fit);
    }
    qsort(fits, DSGD_FITS, sizeof fits[0], by_aic);
}

double dsgd_fit_quantile(const dsgd_fit *fit, double p)
{
    const dsgd_natural natural = fit->family->natural(fit->mean_s, fit->deviation_s);
    return fit->shift_s + fit->family->inverse(p, natural);
}

/* --- variance between workers ----------------------------------------------------------------- */

dsgd_fit_groups dsgd_fit_group(const double *seconds, const double *worker, size_t n)
{
    dsgd_fit_groups g = {0, dsgd_keep(n, sizeof(double)), dsgd_keep(n, sizeof(double)),
                         dsgd_keep(n, sizeof(double)), dsgd_keep(n, sizeof(size_t))};
    size_t *const order = dsgd_keep(n, sizeof *order);
    gsl_sort_index(order, worker, 1, n);
    for (size_t i = 0; i < n; i++) {
        const size_t at = order[i];
        g.n += i == 0 || worker[at] != worker[order[i - 1]];
        g.of[at] = g.n - 1;
        g.worker[g.n - 1] = worker[at];
        g.mean[g.n - 1] += seconds[at];
        g.count[g.n - 1] += 1;
    }
    for (size_t i = 0; i < g.n; i++)
        g.mean[i] /= g.count[i];
    return g;
}

dsgd_variance_components dsgd_fit_components(const double *seconds, const double *worker, size_t n)
{
    const dsgd_fit_groups g = dsgd_fit_group(seconds, worker, n);
    const double mean = gsl_stats_mean(seconds, 1, n);
    double between = 0, within = 0,
           squares = 0; /* squares: sum, over all workers, of the squared number of values */
    for (size_t i = 0; i < g.n; i++) {
        between += g.count[i] * gsl_pow_2(g.mean[i] - mean);
        squares += gsl_pow_2(g.count[i]);
    }
    for (size_t i = 0; i < n; i++)
        within += gsl_pow_2(seconds[i] - g.mean[g.of[i]]);
    dsgd_variance_components c = {.n_workers = g.n, .p_value = 1};
    const double freedom = (double)(g.n - 1); /* degrees of freedom of the means of the workers */
    const double rest = (double)(n - g.n);
    c.passing_s = rest > 0 ? sqrt(within / rest) : 0;
    if (freedom > 0 && rest > 0) {
        /* effective number of values per worker */
        const double values = ((double)n - squares / (double)n) / freedom;
        const double excess = between / freedom - within / rest;
        c.persistent_s = sqrt(fmax(0, excess / values));
        c.p_value = gsl_cdf_fdist_Q((between / freedom) / (within / rest), freedom, rest);
    }
    return c;
}

void dsgd_fit_level(double *seconds, const double *worker, size_t n)
{
    const dsgd_fit_groups g = dsgd_fit_group(seconds, worker, n);
    const double mean = gsl_stats_mean(seconds, 1, n);
    for (size_t i = 0; i < n; i++)
        seconds[i] *= mean / g.mean[g.of[i]];
}
