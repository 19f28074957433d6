/**
 * @file imbalance_drawn.c
 * Implements imbalance from random distributions, independent for every worker and step: normal,
 * lognormal, gamma, quantiles, mixtures, and operating-system noise.
 */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>

#include "traces/family.h"
#include "traces/imbalance.h"

/* --- normal, lognormal, gamma: optionally shifted and truncated ------------------------------- */

typedef struct parametric_params {
    double mean, deviation, shift, min, max;
    int64_t draws;
    bool scale, common;
} parametric_params;

/** Constants of a distribution, computed once. */
typedef struct parametric_state {
    const dsgd_family *family;
    dsgd_natural natural;
    double low, high; /* low: probability of values below option min; high: probability of values
                       * below option max */
} parametric_state;

/**
 * Computes the constants of a distribution. Also checks its parameters, because the check needs the
 * constants.
 */
static dsgd_status parametric_load(const dsgd_family *family, const parametric_params *p,
                                   void **state, dsgd_error *error)
{
    if (family != &dsgd_family_normal && p->mean <= 0)
        return dsgd_refuse(error,
                           "%s: mean must be above 0, got %g. Use shift to move the distribution",
                           family->name, p->mean);
    /* Outside this range of shapes, GSL's function for the gamma distribution fails. */
    if (family == &dsgd_family_gamma &&
        (p->deviation < p->mean / 100 || p->deviation > p->mean * 5))
        return dsgd_refuse(error,
                           "gamma: deviation must be from %g to %g for a mean of %g, got %g. For "
                           "smaller ones use normal, which is practically the same",
                           p->mean / 100, p->mean * 5, p->mean, p->deviation);
    if (p->min >= p->max)
        return dsgd_refuse(error, "%s: min must be below max, got %g and %g", family->name, p->min,
                           p->max);
    const dsgd_natural natural = family->natural(p->mean, p->deviation);
    const parametric_state s = {family, natural, family->cumulative(p->min - p->shift, natural),
                                family->cumulative(p->max - p->shift, natural)};
    if (s.high - s.low < 1e-9)
        return dsgd_refuse(
            error,
            "%s: the range from min %g to max %g contains almost no values of a distribution with "
            "mean %g and deviation %g",
            family->name, p->min, p->max, p->mean + p->shift, p->deviation);
    *state = dsgd_xcalloc(1, sizeof s);
    *(parametric_state *)*state = s;
    return DSGD_OK;
}

static double parametric_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const parametric_params *const p = params;
    const parametric_state *const s = at.state;
    double sum = 0;
    at.worker = p->common ? 0 : at.worker;
    for (int64_t i = 0; i < p->draws; i++) {
        const double u = dsgd_imbalance_uniform(at, (uint32_t)i);
        const double x = p->shift + s->family->inverse(s->low + u * (s->high - s->low), s->natural);
        /* Only a rounding error can put a value outside the range from min to max. */
        sum += fmin(fmax(x, p->min), p->max);
    }
    return dsgd_imbalance_scaled(p->scale, so_far_s, sum / (double)p->draws);
}

static const dsgd_option parametric_options[] = {
    DSGD_OPTION_DOUBLE(parametric_params, mean, 0, -1e9, 1e9, "s",
                       "mean of the distribution, before shift and truncation", .required = true),
    DSGD_OPTION_DOUBLE(parametric_params, deviation, 0, 1e-12, 1e9, "s",
                       "standard deviation, before truncation", .required = true),
    DSGD_OPTION_DOUBLE(parametric_params, shift, 0, -1e9, 1e9, "s",
                       "value added to each random number"),
    DSGD_OPTION_DOUBLE(parametric_params, min, -1e9, -1e9, 1e9, "s",
                       "minimum of the distribution (truncation), after shift"),
    DSGD_OPTION_DOUBLE(parametric_params, max, 1e9, -1e9, 1e9, "s",
                       "maximum of the distribution (truncation), after shift"),
    DSGD_OPTION_LONG(
        parametric_params, draws, 1, 1, 4096, NULL,
        "number of random numbers whose mean is used, as in a step of that many micro-batches"),
    DSGD_OPTION_SCALE(parametric_params),
    DSGD_OPTION_BOOL(
        parametric_params, common, false,
        "true: all workers get the same random number in a step, so that no worker waits"),
    DSGD_OPTION_END,
};

#define KIND(name_, summary_)                                                                      \
    static dsgd_status name_##_load(const void *params, void **state, dsgd_error *error)           \
    {                                                                                              \
        return parametric_load(&dsgd_family_##name_, params, state, error);                        \
    }                                                                                              \
    const dsgd_imbalance_kind dsgd_imbalance_##name_ = {                                           \
        .about = {.name = #name_,                                                                  \
                  .summary = summary_,                                                             \
                  DSGD_PARAMS(parametric_params, parametric_options)},                             \
        .load = name_##_load,                                                                      \
        .seconds = parametric_seconds,                                                             \
    }

KIND(normal, "normally distributed time, independent for every worker and step");
KIND(lognormal, "lognormally distributed time: skewed, with a longer tail than gamma");
KIND(gamma, "gamma-distributed time: skewed, like sums of waiting times");

/* --- quantiles -------------------------------------------------------------------------------- */

typedef struct quantiles_params {
    dsgd_table table;
    bool scale;
} quantiles_params;

static dsgd_status quantiles_check(const void *params, int n_workers, dsgd_error *error)
{
    (void)n_workers;
    const dsgd_table *t = &((const quantiles_params *)params)->table;
    if (t->n < 2 || t->x[0] != 0 || t->x[t->n - 1] != 100)
        return dsgd_refuse(error, "quantiles: table must start at 0 and end at 100 percent");
    for (size_t i = 1; i < t->n; i++)
        if (t->y[i] < t->y[i - 1])
            return dsgd_refuse(
                error, "quantiles: table must not fall, but it has %g at %g %% after %g at %g %%",
                t->y[i], t->x[i], t->y[i - 1], t->x[i - 1]);
    return DSGD_OK;
}

static double quantiles_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const quantiles_params *p = params;
    const dsgd_table *const t = &p->table;
    const double percent = 100 * dsgd_imbalance_uniform(at, 0);
    size_t i = 1;
    while (t->x[i] < percent)
        i++;
    const double share = (percent - t->x[i - 1]) / (t->x[i] - t->x[i - 1]);
    const double value = t->y[i - 1] + share * (t->y[i] - t->y[i - 1]);
    return dsgd_imbalance_scaled(p->scale, so_far_s, value);
}

static const dsgd_option quantiles_options[] = {
    DSGD_OPTION_TABLE(
        quantiles_params, table, 0, 1e9, "s",
        "quantiles as PERCENT: SECONDS, from 0 to 100 percent, with linear interpolation",
        .required = true),
    DSGD_OPTION_SCALE(quantiles_params),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(quantiles,
               "time from an empirical distribution, independent for every worker and step",
               .check = quantiles_check);

/* --- mixture of truncated normals ------------------------------------------------------------- */

typedef struct component {
    double share, mean, deviation, min, max;
    double burst;
} component;

typedef struct mixture_params {
    dsgd_structs components;
    bool scale;
} mixture_params;

static dsgd_status mixture_check(const void *params, int n_workers, dsgd_error *error)
{
    (void)n_workers;
    const dsgd_structs *const records = &((const mixture_params *)params)->components;
    const component *const c = records->v;
    double total = 0, always = 0;
    for (size_t i = 0; i < records->n; i++) {
        total += c[i].share;
        always += c[i].burst >= 1 ? c[i].share : 0;
        if (c[i].min >= c[i].max)
            return dsgd_refuse(error,
                               "mixture: components: min must be below max, got %g s and %g s",
                               c[i].min, c[i].max);
        if (c[i].burst < 1 && c[i].share > c[i].burst)
            return dsgd_refuse(error,
                               "mixture: components: share must be at most burst, got %g and %g",
                               c[i].share, c[i].burst);
    }
    if (fabs(total - 1) > 1e-3)
        return dsgd_refuse(error, "mixture: components: the shares must sum to 1, got %g", total);
    if (always <= 0)
        return dsgd_refuse(error, "mixture: components: at least one component must have burst: 1");
    return DSGD_OK;
}

/**
 * Returns the value of a component of the mixture, in seconds, for a uniform number @p u in (0, 1).
 */
static double component_seconds(const component *c, double u)
{
    const dsgd_natural natural = {c->mean, c->deviation};
    const double low = dsgd_family_normal.cumulative(c->min, natural);
    const double high = dsgd_family_normal.cumulative(c->max, natural);
    return dsgd_family_normal.inverse(low + u * (high - low), natural);
}

static double mixture_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const mixture_params *const p = params;
    const component *const c = p->components.v;
    /* All workers use the same random number in a step. */
    const double burst = dsgd_draw_uniform(dsgd_imbalance_draw(at, 0, 0));
    double u = dsgd_imbalance_uniform(at, 1);
    double always = 0, bursting = 0;
    for (size_t i = 0; i < p->components.n; i++) {
        always += c[i].burst >= 1 ? c[i].share : 0;
        bursting += c[i].burst < 1 && burst < c[i].burst ? c[i].share / c[i].burst : 0;
    }
    size_t chosen = 0;
    for (size_t i = 0; i < p->components.n; i++) {
        double share = burst < c[i].burst ? c[i].share / c[i].burst : 0;
        if (c[i].burst >= 1)
            share = c[i].share / always * (1 - bursting);
        if (share > 0)
            chosen = i;
        if (u < share)
            break;
        u -= share;
    }
    const double value = component_seconds(&c[chosen], dsgd_imbalance_uniform(at, 2));
    return dsgd_imbalance_scaled(p->scale, so_far_s, value);
}

static const dsgd_option component_options[] = {
    DSGD_OPTION_DOUBLE(component, share, 0, 0, 1, "share",
                       "share of all (worker, step) pairs; the shares sum to 1", .required = true),
    DSGD_OPTION_DOUBLE(component, mean, 0, 0, 1e9, "s",
                       "mean of the normal distribution before truncation", .required = true),
    DSGD_OPTION_DOUBLE(component, deviation, 0, 1e-12, 1e9, "s",
                       "standard deviation before truncation", .required = true),
    DSGD_OPTION_DOUBLE(component, min, 0, 0, 1e9, "s", "smallest value", .required = true),
    DSGD_OPTION_DOUBLE(component, max, 0, 0, 1e9, "s", "largest value", .required = true),
    DSGD_OPTION_DOUBLE(component, burst, 1, 1e-6, 1, NULL,
                       "share of the steps in which the component can occur, the same steps at all "
                       "workers; 1: every step"),
    DSGD_OPTION_END,
};

static const dsgd_option mixture_options[] = {
    DSGD_OPTION_STRUCTS(mixture_params, components, component, component_options,
                        "truncated normal distributions and their shares", .required = true),
    DSGD_OPTION_SCALE(mixture_params),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(mixture,
               "time from a mixture of truncated normal distributions; components can "
               "be restricted to bursts, the same steps at all workers",
               .check = mixture_check);

/* --- operating-system noise ------------------------------------------------------------------- */

typedef struct noise_params {
    double rate_per_s, mean_s, deviation_s;
} noise_params;

static dsgd_status noise_check(const void *params, int n_workers, dsgd_error *error)
{
    (void)n_workers;
    const noise_params *p = params;
    if (p->deviation_s > 2 * p->mean_s)
        return dsgd_refuse(error,
                           "noise: deviation must be at most twice the mean, %g s, got %g s. Add "
                           "rare long interruptions as a second entry",
                           2 * p->mean_s, p->deviation_s);
    return DSGD_OK;
}

/**
 * Returns the total length of the interruptions in a step, in seconds. Generates the interruptions
 * one by one until the step is over.
 */
static double exact_sum(const noise_params *p, dsgd_step_at at, double step_s)
{
    const dsgd_natural length = dsgd_family_lognormal.natural(p->mean_s, p->deviation_s);
    double sum = 0, now_s = 0;
    for (uint32_t i = 0;; i += 2) {
        now_s -= log(dsgd_imbalance_uniform(at, i)) / p->rate_per_s;
        if (now_s > step_s)
            return sum;
        sum += dsgd_family_lognormal.inverse(dsgd_imbalance_uniform(at, i + 1), length);
    }
}

/**
 * Computes operating-system noise: interruptions start at random times of a step (Poisson process)
 * and have lognormal lengths. The step becomes longer by the sum of these lengths.
 *
 * If at most 16 (1 + (deviation / mean)^2)^3 interruptions are expected, and this limit is at most
 * 2,000, the interruptions are generated one by one. Otherwise, their sum is a single random
 * number. This number is a normal variate with the mean and variance of the sum. It is corrected
 * for the skewness of the sum (first term of the Cornish-Fisher expansion). The skewness is then at
 * most 1/4. The error up to the 99.9th percentile is below 2 % of the standard deviation of the
 * sum.
 */
static double noise_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const noise_params *p = params;
    const double expected = p->rate_per_s * so_far_s; /* expected number of interruptions in the
                                                       * step */
    /* spread of the lengths of interruptions: E[length^2] / E[length]^2 */
    const double spread = 1 + gsl_pow_2(p->deviation_s / p->mean_s);
    if (expected < 16 * gsl_pow_3(spread))
        return so_far_s + exact_sum(p, at, so_far_s);
    const double skewness = sqrt(gsl_pow_3(spread) / expected);
    const double z = gsl_cdf_ugaussian_Pinv(dsgd_imbalance_uniform(at, 0));
    const double standard = z + skewness * (z * z - 1) / 6;
    const double sum = p->mean_s * (expected + sqrt(expected * spread) * standard);
    return so_far_s + fmax(0, sum);
}

static const dsgd_option noise_options[] = {
    DSGD_OPTION_DOUBLE_AS("rate", noise_params, rate_per_s, 0, 1e-9, 1e9, "1/s",
                          "interruptions per second of computation", .required = true),
    DSGD_OPTION_DOUBLE_AS(
        "mean", noise_params, mean_s, 0, 1e-12, 1e9, "s",
        "mean length of an interruption; rate * mean is the share of time lost to noise",
        .required = true),
    DSGD_OPTION_DOUBLE_AS("deviation", noise_params, deviation_s, 0, 1e-12, 1e9, "s",
                          "standard deviation of the length, at most twice the mean",
                          .required = true),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(noise,
               "operating-system noise: interruptions of lognormal length at random "
               "times of a step",
               .about.reference =
                   "Hoefler, Schneider, Lumsdaine, Characterizing the influence of system "
                   "noise on large-scale applications by simulation (SC 2010)",
               .check = noise_check);
