/**
 * @file family.c
 * Implements the normal, lognormal and gamma distributions with functions of GSL.
 */
#include "traces/family.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stddef.h>

/* --- normal ----------------------------------------------------------------------------------- */

static dsgd_natural normal_natural(double mean, double deviation)
{
    return (dsgd_natural){mean, deviation};
}

static double normal_cumulative(double x, dsgd_natural of)
{
    return gsl_cdf_ugaussian_P((x - of.location) / of.scale);
}

static double normal_inverse(double p, dsgd_natural of)
{
    return of.location + of.scale * gsl_cdf_ugaussian_Pinv(p);
}

static double normal_log_density(double x, dsgd_natural of)
{
    const double z = (x - of.location) / of.scale;
    return -z * z / 2 - log(of.scale) - (M_LN2 + M_LNPI) / 2;
}

const dsgd_family dsgd_family_normal = {"normal", normal_natural, normal_cumulative, normal_inverse,
                                        normal_log_density};

/* --- lognormal -------------------------------------------------------------------------------- */

static dsgd_natural lognormal_natural(double mean, double deviation)
{
    /* variance of the logarithm of the values */
    const double variance = log1p(gsl_pow_2(deviation / mean));
    return (dsgd_natural){log(mean) - variance / 2, sqrt(variance)};
}

static double lognormal_cumulative(double x, dsgd_natural of)
{
    return x <= 0 ? 0 : normal_cumulative(log(x), of);
}

static double lognormal_inverse(double p, dsgd_natural of)
{
    return exp(normal_inverse(p, of));
}

static double lognormal_log_density(double x, dsgd_natural of)
{
    return x <= 0 ? -INFINITY : normal_log_density(log(x), of) - log(x);
}

const dsgd_family dsgd_family_lognormal = {"lognormal", lognormal_natural, lognormal_cumulative,
                                           lognormal_inverse, lognormal_log_density};

/* --- gamma ------------------------------------------------------------------------------------ */

static dsgd_natural gamma_natural(double mean, double deviation)
{
    return (dsgd_natural){gsl_pow_2(mean / deviation), gsl_pow_2(deviation) / mean};
}

static double gamma_cumulative(double x, dsgd_natural of)
{
    return x <= 0 ? 0 : gsl_cdf_gamma_P(x / of.scale, of.location, 1);
}

static double gamma_log_density(double x, dsgd_natural of)
{
    if (x <= 0)
        return -INFINITY;
    const double y = x / of.scale;
    return (of.location - 1) * log(y) - y - gsl_sf_lngamma(of.location) - log(of.scale);
}

/**
 * Returns a first estimate of the inverse gamma distribution. The estimate is the larger of two
 * numbers: the power law near 0, and the cube of a normal variate (Wilson, Hilferty).
 */
static double gamma_guess(double p, double shape)
{
    const double power = exp((log(p) + gsl_sf_lngamma(shape + 1)) / shape);
    const double cube =
        gsl_pow_3(1 - 1 / (9 * shape) + gsl_cdf_ugaussian_Pinv(p) / (3 * sqrt(shape))) * shape;
    return cube > power ? cube : power;
}

/**
 * Returns the inverse of the gamma distribution by Newton's method within a bracket.
 * gsl_cdf_gamma_Pinv() does not converge for some arguments if the shape is above 1,000 or below
 * 0.3. GSL then ends the program.
 */
static double gamma_inverse(double p, dsgd_natural of)
{
    const dsgd_natural unit = {of.location, 1};
    double low = 0, high = INFINITY;
    double x = gamma_guess(p, of.location);
    for (int i = 0; i < 200; i++) {
        const double excess = gamma_cumulative(x, unit) - p;
        if (excess > 0)
            high = x;
        else
            low = x;
        double next = x - excess / exp(gamma_log_density(x, unit));
        if (!(next > low && next < high))
            next = isinf(high) ? 2 * x : (low + high) / 2;
        if (fabs(next - x) <= 1e-12 * x)
            return of.scale * next;
        x = next;
    }
    return of.scale * x;
}

const dsgd_family dsgd_family_gamma = {"gamma", gamma_natural, gamma_cumulative, gamma_inverse,
                                       gamma_log_density};
