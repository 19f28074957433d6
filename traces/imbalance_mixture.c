/**
 * @file imbalance_mixture.c
 * A mixture of truncated normals. Some come in bursts: steps in which they may befall
 * every worker, and none in between.
 */
#include <math.h>

#include "traces/family.h"
#include "traces/imbalance.h"

typedef struct component {
    double share, mean, deviation, min, max;
    double burst;
} component;

typedef struct mixture_params {
    dsgd_records components;
    bool scale;
} mixture_params;

static dsgd_status mixture_check(const void *params, int n_workers, dsgd_error *error)
{
    (void)n_workers;
    const dsgd_records *const records = &((const mixture_params *)params)->components;
    const component *const c = records->v;
    double total = 0;
    double always = 0;
    for (size_t i = 0; i < records->n; i++) {
        total += c[i].share;
        always += c[i].burst >= 1 ? c[i].share : 0;
        if (c[i].min >= c[i].max)
            return dsgd_fail(error, DSGD_EUSAGE,
                             "mixture: components: min %g s has to be below max %g s", c[i].min,
                             c[i].max);
        if (c[i].burst < 1 && c[i].share > c[i].burst)
            return dsgd_fail(
                error, DSGD_EUSAGE,
                "mixture: components: a share of %g cannot fall into a share of %g of the steps",
                c[i].share, c[i].burst);
    }
    if (fabs(total - 1) > 1e-3)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "mixture: components: the shares sum to %g, but have to sum to 1", total);
    if (always <= 0)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "mixture: components: at least one has to occur in every step (burst: 1)");
    return DSGD_OK;
}

/** Seconds of a component, by the inverse distribution function of the normal between its ends. */
static double truncated_normal(const component *c, double u)
{
    const dsgd_natural natural = {c->mean, c->deviation};
    const double low = dsgd_family_normal.cumulative(c->min, natural);
    const double high = dsgd_family_normal.cumulative(c->max, natural);
    return dsgd_family_normal.inverse(low + u * (high - low), natural);
}

/** Probability of a component in a step whose burst draw is @p burst. */
static double share_now(const component *c, double burst, double always, double bursting)
{
    if (c->burst >= 1)
        return c->share / always * (1 - bursting);
    return burst < c->burst ? c->share / c->burst : 0;
}

static double mixture_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const dsgd_records *const records = &((const mixture_params *)params)->components;
    const component *const c = records->v;
    /* Of the step: the same for all workers. */
    const double burst = dsgd_draw_uniform(dsgd_imbalance_draw(at, 0, 0));
    double u = dsgd_imbalance_uniform(at, 1);
    double always = 0;
    double bursting = 0;
    for (size_t i = 0; i < records->n; i++) {
        always += c[i].burst >= 1 ? c[i].share : 0;
        bursting += c[i].burst < 1 && burst < c[i].burst ? c[i].share / c[i].burst : 0;
    }
    size_t chosen = 0;
    for (size_t i = 0; i < records->n; i++) {
        const double share = share_now(&c[i], burst, always, bursting);
        if (share > 0)
            chosen = i;
        if (u < share)
            break;
        u -= share;
    }
    const double value = truncated_normal(&c[chosen], dsgd_imbalance_uniform(at, 2));
    return dsgd_imbalance_scaled(((const mixture_params *)params)->scale, so_far_s, value);
}

static const dsgd_option component_options[] = {
    DSGD_OPTION_DOUBLE(component, share, 0, 0, 1, NULL,
                       "of all (worker, step); the shares sum to 1", .required = true),
    DSGD_OPTION_DOUBLE(component, mean, 0, 0, 1e9, "s", "of the normal before truncation",
                       .required = true),
    DSGD_OPTION_DOUBLE(component, deviation, 0, 1e-12, 1e9, "s", "of the normal before truncation",
                       .required = true),
    DSGD_OPTION_DOUBLE(component, min, 0, 0, 1e9, "s", "smallest value", .required = true),
    DSGD_OPTION_DOUBLE(component, max, 0, 0, 1e9, "s", "largest value", .required = true),
    DSGD_OPTION_DOUBLE(
        component, burst, 1, 1e-6, 1, NULL,
        "share of the steps in which it can occur at all, at every worker alike; 1: in every step"),
    DSGD_OPTION_END,
};

static const dsgd_option mixture_options[] = {
    DSGD_OPTION_RECORDS(mixture_params, components, component, component_options,
                        "truncated normals and their shares", .required = true),
    DSGD_OPTION_SCALE(mixture_params),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(mixture,
               .about.summary =
                   "one of several truncated normals per worker and step; some occur in "
                   "bursts, at all workers in the same steps",
               .check = mixture_check);
