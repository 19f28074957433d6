/**
 * @file wagma.c
 * WAGMA-SGD: models are averaged within rotating groups, without waiting for late members; all
 * models every `period` steps.
 *
 * S. Li et al., "Breaking (global) barriers in parallel stochastic optimization with wait-avoiding
 * group averaging", TPDS 2021, Algorithms 1 and 2.
 */
#include "sim/algorithm.h"

typedef struct wagma_params {
    int64_t group; /* S; -1: sqrt */
    int64_t period;
    int order;
    bool rotate, late_check;
} wagma_params;

enum { ATC, CTA };

/** Address bits of a group: log2 of its size. `sqrt` rounds up where P is no square. */
static int group_bits(const wagma_params *p, int n_workers)
{
    return p->group < 0 ? (dsgd_log2(n_workers) + 1) / 2 : dsgd_log2(p->group);
}

/** Bits (t g + r) mod G, r = 0 .. g - 1; g = log2 S, G = log2 P. A group agrees on the others. */
static dsgd_group wagma_group(const void *params, int n_workers, int64_t t)
{
    const wagma_params *p = params;
    const int n_bits = dsgd_log2(n_workers);
    const int n_phases = group_bits(p, n_workers);
    const int64_t first = p->rotate ? t * n_phases : 0;
    dsgd_group bits = 0;
    for (int r = 0; r < n_phases; r++)
        bits |= (dsgd_group)1 << ((first + r) % n_bits);
    return bits;
}

static void wagma_work(dsgd_node *self)
{
    const wagma_params *p = self->params;
    const double size = (double)(1 << group_bits(p, self->n_workers));
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    const dsgd_partial_spec spec = {
        .initiator = DSGD_FIRST_ARRIVER, .group = wagma_group, .period = p->period};
    dsgd_partial *average = dsgd_partial_new(self, spec, x);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (p->order == ATC)
            dsgd_local_step(self, x, g); /* x <- x + U(g, x, t) */
        else
            dsgd_follow(self, x, g); /* a piece of the old x arrives when its gradient is ready */
        if ((self->step + 1) % p->period == 0) {
            dsgd_allreduce_mean(self, x, DSGD_WORLD); /* waits for all */
            dsgd_partial_publish(self, average, x);
        } else {
            /* x <- sum / S; if late, (sum + x) / (S + 1) */
            dsgd_partial_mix(self, average, x, p->late_check ? size : 0, size + 1);
        }
        if (p->order == CTA)
            dsgd_local_step(self, x, g);
    }
}

static dsgd_status wagma_check(const void *params, int n_workers, dsgd_error *error)
{
    const wagma_params *p = params;
    if (p->group > 0 && (!dsgd_is_power_of_two(p->group) || p->group > n_workers))
        return dsgd_refuse(
            error,
            "wagma: group: %jd, but a power of two up to the number of workers (%d) is needed",
            p->group, n_workers);
    return dsgd_check_power_of_two("wagma", n_workers, error);
}

static const char *const group_words[] = {"sqrt", NULL};
static const char *const order_words[] = {"atc", "cta", NULL};

static const dsgd_option wagma_options[] = {
    DSGD_OPTION_LONG(wagma_params, group, -1, 1, 1 << 20, "workers",
                     "group size S, a power of two; sqrt is the paper's sqrt(P), rounded up where "
                     "that is none (the released code has 8)",
                     .words = group_words),
    DSGD_OPTION_LONG(wagma_params, period, 10, 1, 1e9, "steps",
                     "between averages of all models, which wait for all (the released code's "
                     "limiter of 10 means 11)"),
    DSGD_OPTION_CHOICE(wagma_params, order, order_words,
                       "the new models are averaged after the local step (atc, the paper), or the "
                       "old ones when the gradient is ready, before it (cta, released code)"),
    DSGD_OPTION_BOOL(
        wagma_params, rotate, true,
        "other groups in every step; without it, the paper's ablation with fixed ones"),
    DSGD_OPTION_BOOL(
        wagma_params, late_check, true,
        "who is on time takes sum / S; without it, everyone (sum + own) / (S + 1) (released code)"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_wagma = {
    .about = {.name = "wagma",
              .summary = "models are averaged in rotating groups that do not wait for the late",
              .reference = "Li et al., TPDS 2021, Algorithms 1 and 2",
              DSGD_PARAMS(wagma_params, wagma_options)},
    .doc = {.idea = "Average models in small groups that change, so that news spread fast; start "
                    "when the first worker comes, and use old models of the late ones.",
            .rule = "x <- x + U(g, x, t);  x <- sum of the group / S, or, if late, (sum + x) / (S "
                    "+ 1);  every `period` steps the mean of all",
            .sends =
                "an allreduce of the model in the group, activations of 4 bytes, and an allreduce "
                "of all per period: about 2 N bytes, or log2(S) N by recursive doubling",
            .waits = "no worker for a computation, but everyone for the slowest once per period"},
    .check = wagma_check,
    .work = wagma_work,
    .traits = DSGD_SENDS_COLLECTIVES | DSGD_AVERAGES_MODELS | DSGD_QUORUM,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"order", CTA})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"period", 1})}),
};
