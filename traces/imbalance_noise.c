/**
 * @file imbalance_noise.c
 * Point noise of the operating system: detours begin at random instants of a step (Poisson) and
 * take lognormal times; the step lasts longer by their sum.
 *
 * Up to 16 (1 + (deviation / mean)^2)^3 expected detours, at most 2,000, they are drawn one by one.
 * Beyond, their sum is one draw: a normal with the sum's mean and variance, corrected for its
 * skewness (first term of the Cornish-Fisher expansion). The skewness is then at most 1/4, and the
 * error up to the 99.9th percentile is below 2 % of the sum's standard deviation.
 */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>
#include <math.h>

#include "traces/family.h"
#include "traces/imbalance.h"

typedef struct noise_params {
    double rate_per_s, mean_s, deviation_s;
} noise_params;

static dsgd_status noise_check(const void *params, int n_workers, dsgd_error *error)
{
    (void)n_workers;
    const noise_params *p = params;
    if (p->deviation_s > 2 * p->mean_s)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "noise: deviation: %g s, but it can be twice the mean of %g s at most; "
                         "rare long detours are an entry of their own",
                         p->deviation_s, p->mean_s);
    return DSGD_OK;
}

/** The detours one by one, until the step is over. */
static double exact_sum(const noise_params *p, dsgd_step_at at, double step_s)
{
    const dsgd_natural length = dsgd_family_lognormal.natural(p->mean_s, p->deviation_s);
    double sum = 0;
    double now_s = 0;
    for (uint32_t i = 0;; i += 2) {
        now_s -= log(dsgd_imbalance_uniform(at, i)) / p->rate_per_s;
        if (now_s > step_s)
            return sum;
        sum += dsgd_family_lognormal.inverse(dsgd_imbalance_uniform(at, i + 1), length);
    }
}

static double noise_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const noise_params *p = params;
    const double expected = p->rate_per_s * so_far_s; /* detours */
    const double spread = 1 + gsl_pow_2(p->deviation_s / p->mean_s); /* E[length^2] / E[length]^2 */
    if (expected < 16 * gsl_pow_3(spread))
        return so_far_s + exact_sum(p, at, so_far_s);
    const double skewness = sqrt(gsl_pow_3(spread) / expected);
    const double z = gsl_cdf_ugaussian_Pinv(dsgd_imbalance_uniform(at, 0));
    const double standard = z + skewness * (z * z - 1) / 6;
    const double sum = p->mean_s * (expected + sqrt(expected * spread) * standard);
    return so_far_s + fmax(0, sum);
}

static const dsgd_option noise_options[] = {
    DSGD_OPTION_AS("rate", DOUBLE, noise_params, rate_per_s,
                   "detours per second of the time so far", .min = 1e-9, .max = 1e9,
                   .required = true, .unit = "1/s"),
    DSGD_OPTION_AS("mean", DOUBLE, noise_params, mean_s,
                   "length of a detour; rate * mean is the share of the time that noise takes",
                   .min = 1e-12, .max = 1e9, .required = true, .unit = "s"),
    DSGD_OPTION_AS("deviation", DOUBLE, noise_params, deviation_s,
                   "standard deviation of the length, up to twice the mean", .min = 1e-12,
                   .max = 1e9, .required = true, .unit = "s"),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(
    noise,
    .about.summary = "point noise of the operating system: detours at random instants of a "
                     "step, each of lognormal length",
    .about.reference = "Hoefler, Schneider, Lumsdaine, Characterizing the influence of system "
                       "noise on large-scale applications by simulation (SC 2010)",
    .check = noise_check);
