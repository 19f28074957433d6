/**
 * @file imbalance_worker.c
 * Imbalance of a worker rather than of a step: a GPU that is always faster or slower than others
 * (persistent), and one that is slow for a while (fail_slow).
 */
#include <gsl/gsl_cdf.h>
#include <math.h>

#include "traces/imbalance.h"

/* --- persistent ------------------------------------------------------------------------------- */

typedef struct persistent_params {
    double deviation, outliers, outlier_min, outlier_max;
} persistent_params;

static dsgd_status persistent_check(const void *params, int n_workers, dsgd_error *error)
{
    (void)n_workers;
    const persistent_params *p = params;
    if (p->outlier_min > p->outlier_max)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "persistent: outlier_min %g is above outlier_max %g; it has to be below "
                         "or the same",
                         p->outlier_min, p->outlier_max);
    return DSGD_OK;
}

static double persistent_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const persistent_params *p = params;
    enum { IS_OUTLIER, FACTOR };
    at.step = 0; /* the same in all steps */
    const double u = dsgd_imbalance_uniform(at, FACTOR);
    if (dsgd_imbalance_uniform(at, IS_OUTLIER) < p->outliers)
        return so_far_s * (p->outlier_min + u * (p->outlier_max - p->outlier_min));
    return so_far_s * fmax(0, 1 + p->deviation * gsl_cdf_ugaussian_Pinv(u));
}

static const dsgd_option persistent_options[] = {
    DSGD_OPTION_DOUBLE(persistent_params, deviation, 0.04, 0, 0.25, NULL,
                       "standard deviation of the factor of a healthy worker, normal around 1"),
    DSGD_OPTION_DOUBLE(persistent_params, outliers, 0, 0, 1, NULL,
                       "probability that a worker is an outlier instead"),
    DSGD_OPTION_DOUBLE(persistent_params, outlier_min, 1.2, 0, 1e9, NULL,
                       "smallest factor of an outlier; uniform from there"),
    DSGD_OPTION_DOUBLE(persistent_params, outlier_max, 1.5, 0, 1e9, NULL, "up to this"),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(persistent,
               .about.summary =
                   "every worker has a factor of its own, the same in all steps: identical "
                   "GPUs that are not",
               .check = persistent_check);

/* --- fail_slow -------------------------------------------------------------------------------- */

typedef struct fail_slow_params {
    double factor, slow_steps, healthy_steps;
} fail_slow_params;

/** Steps until the next renewal, 0 or more: geometric, by its inverse distribution function. */
static double gap(double renewal, double u)
{
    return floor(log(u) / log1p(-renewal));
}

/**
 * Whether the worker is slow: a Markov chain of two states, left with probabilities 1/slow_steps
 * and 1/healthy_steps per step. Equivalently: with the sum of the two as probability, a step is a
 * renewal, which draws the state anew from its stationary distribution; else the state stays. So a
 * step's state is that of its last renewal. Renewals are drawn in windows of one mean distance,
 * searched backwards: about four draws per call, whatever the durations and the step.
 */
static bool is_slow(const fail_slow_params *p, dsgd_step_at at)
{
    const double renewal = 1 / p->slow_steps + 1 / p->healthy_steps;
    const double share = p->slow_steps / (p->slow_steps + p->healthy_steps);
    const long window = (long)ceil(1 / renewal);
    double upto = (double)(at.step % window);
    for (at.step /= window; at.step >= 0; at.step--, upto = (double)window - 1) {
        uint32_t n = 0; /* renewals of this window, up to the step */
        double next = gap(renewal, dsgd_imbalance_uniform(at, 0));
        for (; next <= upto; n++)
            next += 1 + gap(renewal, dsgd_imbalance_uniform(at, 2 * (n + 1)));
        if (n > 0)
            return dsgd_imbalance_uniform(at, 2 * n - 1) < share;
    }
    /* No renewal since the start, whose state is stationary. */
    at.step = 0;
    return dsgd_imbalance_uniform(at, UINT32_MAX) < share;
}

static double fail_slow_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const fail_slow_params *p = params;
    return is_slow(p, at) ? so_far_s * p->factor : so_far_s;
}

static const dsgd_option fail_slow_options[] = {
    DSGD_OPTION_DOUBLE(fail_slow_params, factor, 1.5, 0, 1e9, NULL,
                       "multiplies the time so far while a worker is slow"),
    DSGD_OPTION_DOUBLE(fail_slow_params, slow_steps, 0, 2, 1e9, "steps",
                       "mean duration of a slow time; geometric", .required = true),
    DSGD_OPTION_DOUBLE(fail_slow_params, healthy_steps, 0, 2, 1e9, "steps",
                       "mean duration between two of them; geometric", .required = true),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(fail_slow, .about.summary =
                              "workers that become slow for a while, each at times of its own, and "
                              "recover");
