/**
 * @file imbalance_worker.c
 * What belongs to a worker rather than to a step: a GPU that is faster or slower than its like for good, and one that is slow for a
 * while.
 */
#include <gsl/gsl_cdf.h>
#include <math.h>

#include "traces/imbalance.h"

extern const dsgd_imbalance_kind dsgd_imbalance_persistent, dsgd_imbalance_fail_slow;

/* --- persistent -------------------------------------------------------------------------------------------------------------------- */

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

static double persistent_seconds(const void *params, const void *state, uint32_t purpose,
                                 dsgd_step_at at, double so_far_s)
{
    (void)state;
    const persistent_params *p = params;
    enum { IS_OUTLIER, FACTOR };
    at.step = 0; /* once for all */
    const double u = dsgd_imbalance_uniform(purpose, at, FACTOR);
    if (dsgd_imbalance_uniform(purpose, at, IS_OUTLIER) < p->outliers)
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

const dsgd_imbalance_kind dsgd_imbalance_persistent = {
    .about = {.name = "persistent",
              .summary = "every worker has a factor of its own, the same in all steps: identical "
                         "GPUs that are not",
              .params_size = sizeof(persistent_params),
              .options = persistent_options},
    .check = persistent_check,
    .seconds = persistent_seconds,
};

/* --- fail_slow --------------------------------------------------------------------------------------------------------------------- */

typedef struct fail_slow_params {
    double factor, slow_steps, healthy_steps;
} fail_slow_params;

/** Steps until the next renewal, 0 or more: geometric, by its inverse distribution function. */
static double gap(double renewal, double u)
{
    return floor(log(u) / log1p(-renewal));
}

/**
 * Whether the worker is slow: a Markov chain of two states, which leaves them with probabilities 1/slow_steps and 1/healthy_steps per
 * step. The same chain is: at each step, with the sum of the two as probability, the state is drawn anew whatever it was (a renewal),
 * slow with its long-run share; else it stays. So a step's state is that of the last renewal before it, and nothing further back need
 * be known. Time is cut into windows of one mean distance; the renewals of a window are drawn by themselves, one after the other.
 * Going back over windows without any, a question costs about four draws, whatever the durations and the step.
 */
static bool is_slow(const fail_slow_params *p, uint32_t purpose, dsgd_step_at at)
{
    const double renewal = 1 / p->slow_steps + 1 / p->healthy_steps;
    const double share = p->slow_steps / (p->slow_steps + p->healthy_steps);
    const long window = (long)ceil(1 / renewal);
    double upto = (double)(at.step % window);
    for (at.step /= window; at.step >= 0; at.step--, upto = (double)window - 1) {
        uint32_t n = 0; /* renewals of this window, up to the step */
        double next = gap(renewal, dsgd_imbalance_uniform(purpose, at, 0));
        for (; next <= upto; n++)
            next += 1 + gap(renewal, dsgd_imbalance_uniform(purpose, at, 2 * (n + 1)));
        if (n > 0)
            return dsgd_imbalance_uniform(purpose, at, 2 * n - 1) < share;
    }
    /* None since the run began: it began in its long-run state. */
    at.step = 0;
    return dsgd_imbalance_uniform(purpose, at, UINT32_MAX) < share;
}

static double fail_slow_seconds(const void *params, const void *state, uint32_t purpose,
                                dsgd_step_at at, double so_far_s)
{
    (void)state;
    const fail_slow_params *p = params;
    return is_slow(p, purpose, at) ? so_far_s * p->factor : so_far_s;
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

const dsgd_imbalance_kind dsgd_imbalance_fail_slow = {
    .about = {.name = "fail_slow",
              .summary = "workers that become slow for a while, each at times of its own, and "
                         "recover",
              .params_size = sizeof(fail_slow_params),
              .options = fail_slow_options},
    .seconds = fail_slow_seconds,
};
