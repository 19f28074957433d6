/**
 * @file imbalance_parametric.c
 * Step times out of a normal, lognormal or gamma distribution, shifted and truncated where asked,
 * drawn anew for every worker and step.
 */
#include <math.h>

#include "traces/family.h"
#include "traces/imbalance.h"

typedef struct parametric_params {
    double mean, deviation, shift, min, max;
    long draws;
    bool scale;
} parametric_params;

/** Constants of all draws. */
typedef struct parametric_state {
    const dsgd_family *family;
    dsgd_natural natural;
    double low, high; /* probabilities of all below min, and below max */
} parametric_state;

/** Checks the parameters, too, because they need the state. */
static dsgd_status parametric_load(const dsgd_family *family, const parametric_params *p,
                                   void **state, dsgd_error *error)
{
    if (family->positive && p->mean <= 0)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: mean: %g, but what is %s is positive; `shift` moves it", family->name,
                         p->mean, family->name);
    /* Beyond, GSL's distribution function of the gamma fails. */
    if (family == &dsgd_family_gamma &&
        (p->deviation < p->mean / 100 || p->deviation > p->mean * 5))
        return dsgd_fail(error, DSGD_EUSAGE,
                         "gamma: deviation: %g, but at a mean of %g it has to be from %g to %g; "
                         "below, `normal` is the same",
                         p->deviation, p->mean, p->mean / 100, p->mean * 5);
    if (p->min >= p->max)
        return dsgd_fail(error, DSGD_EUSAGE, "%s: min %g has to be below max %g", family->name,
                         p->min, p->max);
    const dsgd_natural natural = family->natural(p->mean, p->deviation);
    const parametric_state s = {family, natural, family->cumulative(p->min - p->shift, natural),
                                family->cumulative(p->max - p->shift, natural)};
    if (s.high - s.low < 1e-9)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: between min %g and max %g lies nothing of a mean of %g and a "
                         "deviation of %g",
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
    for (long i = 0; i < p->draws; i++) {
        const double u = dsgd_imbalance_uniform(at, (uint32_t)i);
        const double x = p->shift + s->family->inverse(s->low + u * (s->high - s->low), s->natural);
        sum += fmin(fmax(x, p->min), p->max); /* rounding alone could leave the range */
    }
    const double value = sum / (double)p->draws;
    return dsgd_imbalance_scaled(p->scale, so_far_s, value);
}

static const dsgd_option parametric_options[] = {
    DSGD_OPTION_DOUBLE(parametric_params, mean, 0, -1e9, 1e9, "s",
                       "of the distribution, before it is shifted and truncated", .required = true),
    DSGD_OPTION_DOUBLE(parametric_params, deviation, 0, 1e-12, 1e9, "s",
                       "standard deviation, before truncation", .required = true),
    DSGD_OPTION_DOUBLE(parametric_params, shift, 0, -1e9, 1e9, "s", "added to what is drawn"),
    DSGD_OPTION_DOUBLE(parametric_params, min, -1e9, -1e9, 1e9, "s",
                       "nothing below it is drawn, shift included"),
    DSGD_OPTION_DOUBLE(parametric_params, max, 1e9, -1e9, 1e9, "s", "nor above it"),
    DSGD_OPTION_LONG(parametric_params, draws, 1, 1, 4096, NULL,
                     "draws whose mean counts, as in a step of that many micro-batches"),
    DSGD_OPTION_SCALE(parametric_params),
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
                  .params_size = sizeof(parametric_params),                                        \
                  .options = parametric_options},                                                  \
        .load = name_##_load,                                                                      \
        .seconds = parametric_seconds,                                                             \
    }

KIND(normal, "normally distributed, drawn anew for every worker and step");
KIND(lognormal, "skewed, with a tail longer than gamma's; drawn like normal");
KIND(gamma, "skewed, as sums of waiting times are; drawn like normal");
