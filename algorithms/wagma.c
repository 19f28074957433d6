/**
 * @file wagma.c
 * WAGMA-SGD: models are averaged in rotating groups that do not wait for late members. Every
 * `period` steps the models of all workers are averaged.
 *
 * S. Li et al., "Breaking (global) barriers in parallel stochastic optimization with wait-avoiding
 * group averaging", TPDS 2021, Algorithms 1 and 2.
 */
#include "sim/algorithm.h"

typedef struct wagma_params {
    int64_t group; /* group size S; -1 selects the square root of P */
    int64_t period;
    int order;
    bool rotate, late_check;
} wagma_params;

enum { ATC, CTA };

/**
 * Returns log2 of the group size S. If S is the square root of P, it is rounded up to a power of
 * two.
 */
static int group_bits(const wagma_params *p, int n_workers)
{
    return p->group < 0 ? (dsgd_log2(n_workers) + 1) / 2 : dsgd_log2(p->group);
}

/**
 * Returns the rank bits in which the members of a group differ. In step t these are the bits (t g +
 * r) mod G for r = 0 .. g - 1, with g = log2 S and G = log2 P.
 */
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
        /* adds the update U of the optimizer to x */
        if (p->order == ATC)
            dsgd_local_step(self, x, g);
        /* requests a chunk of the old x when the gradient of this chunk is ready */
        else
            dsgd_follow(self, x, g);
        if ((self->step + 1) % p->period == 0) {
            /* Averages the models of all workers. Waits for all workers. */
            dsgd_allreduce_mean(self, x, DSGD_WORLD);
            dsgd_partial_publish(self, average, x);
        } else {
            /* x <- sum / S; if this worker is late, x <- (sum + x) / (S + 1) */
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
            error, "wagma: group must be a power of two up to the number of workers, %d, got %jd",
            n_workers, p->group);
    return dsgd_check_power_of_two("wagma", n_workers, error);
}

static const char *const group_words[] = {"sqrt", NULL};
static const char *const order_words[] = {"atc", "cta", NULL};

static const dsgd_option wagma_options[] = {
    DSGD_OPTION_LONG(wagma_params, group, -1, 1, 1 << 20, "workers",
                     "S: group size, a power of two. sqrt: the square root of P (the paper), "
                     "rounded up to a power of two (8 in the released code)",
                     .words = group_words),
    DSGD_OPTION_LONG(wagma_params, period, 10, 1, 1e9, "steps",
                     "number of steps between two averages of all models, which wait for all "
                     "workers (the released code's limiter of 10 means 11)"),
    DSGD_OPTION_CHOICE(wagma_params, order, order_words,
                       "order of average and local step. atc: average the new models after the "
                       "local step (the paper). cta: average the old models when the gradient is "
                       "ready, then step (released code)"),
    DSGD_OPTION_BOOL(
        wagma_params, rotate, true,
        "true: the groups change in every step. false: fixed groups (the paper's ablation)"),
    DSGD_OPTION_BOOL(wagma_params, late_check, true,
                     "true: a worker in time takes sum / S. false: every worker takes (sum + own) "
                     "/ (S + 1) (released code)"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_wagma = {
    .about = {.name = "wagma",
              .summary = "models are averaged in rotating groups that do not wait for late workers",
              .reference = "Li et al., TPDS 2021, Algorithms 1 and 2",
              DSGD_PARAMS(wagma_params, wagma_options)},
    .doc =
        {.idea = "Average models in small, changing groups, so that updates spread fast. Start "
                 "when the first worker arrives, and use old models of late workers.",
         .rule = "x <- x + U(g, x, t);  x <- sum of the group / S, or, if late, (sum + x) / (S + "
                 "1);  every `period` steps x <- the mean of all x",
         .sends =
             "One allreduce of the model in the group, activations of 4 bytes, and one allreduce "
             "of all per period: about 2 N bytes, or log2(S) N with recursive doubling.",
         .waits = "No worker waits for another's computation, except once per period: then all "
                  "wait for the slowest."},
    .check = wagma_check,
    .work = wagma_work,
    .traits = DSGD_SENDS_COLLECTIVES | DSGD_AVERAGES_MODELS | DSGD_QUORUM,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"order", CTA})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"period", 1})}),
};
