/**
 * @file diloco.c
 * DiLoCo: long rounds of local steps. The mean change of a round serves as the gradient of an outer
 * optimizer.
 *
 * A. Douillard et al., "DiLoCo: distributed low-communication training of language models", 2023,
 * Algorithm 1. The default values are from OpenDiLoCo's released code.
 */
#include "sim/algorithm.h"

typedef struct diloco_params {
    int64_t period; /* H, the number of local steps per round */
    double outer_lr, outer_momentum;
} diloco_params;

static void diloco_work(dsgd_node *self)
{
    const diloco_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *start = dsgd_vector_new(self); /* model at the start of the round */
    dsgd_vector *change = dsgd_vector_new(self);
    dsgd_vector *u = dsgd_vector_new(self); /* outer momentum */
    dsgd_copy(self, start, x);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if ((self->step + 1) % p->period != 0)
            continue;
        dsgd_copy(self, change, start);
        dsgd_combine(self, change, 1, -1, x);
        dsgd_allreduce_mean(self, change, DSGD_WORLD); /* change <- D, the mean of all changes */
        dsgd_combine(self, u, p->outer_momentum, 1, change); /* outer momentum: u <- mu u + D */
        dsgd_combine(self, start, 1, -p->outer_lr, change);
        /* Completes Nesterov's step: start <- start - outer_lr (D + mu u) */
        dsgd_combine(self, start, 1, -p->outer_lr * p->outer_momentum, u);
        dsgd_copy(self, x, start);
    }
}

static const dsgd_option diloco_options[] = {
    DSGD_OPTION_LONG(diloco_params, period, 500, 1, 1e9, "steps",
                     "H: number of inner steps per round (50 and 125 are also in use)"),
    DSGD_OPTION_DOUBLE(diloco_params, outer_lr, 0.7, 0, 100, NULL,
                       "learning rate of the outer optimizer, which does not decay"),
    DSGD_OPTION_DOUBLE(diloco_params, outer_momentum, 0.9, 0, 1, NULL,
                       "Nesterov momentum of the outer optimizer"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_diloco = {
    .about = {.name = "diloco",
              .summary =
                  "hundreds of local steps; an outer Nesterov optimizer applies their mean change",
              .reference = "Douillard et al. 2023, arXiv 2311.08105, Algorithm 1; OpenDiLoCo",
              DSGD_PARAMS(diloco_params, diloco_options)},
    .doc = {.idea = "Treat the mean change of a long round of local steps as the gradient of an "
                    "optimizer with momentum.",
            .rule = "x <- x + U(g, x, t);  every H steps D = (1/P) sum of (s - x), u <- mu u + D, "
                    "s <- s - lr (D + mu u), x <- s",
            .sends =
                "One allreduce of the model's change every H steps: about 2 N / H bytes per step.",
            .waits = "All workers wait for the slowest every H steps."},
    .work = diloco_work,
    .traits = DSGD_SENDS_ALLREDUCES | DSGD_QUORUM,
    .laws = DSGD_LAWS(
        {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"period", 5}, {"outer_lr", 1}, {"outer_momentum", 0})},
        {DSGD_LAW_ALLREDUCE, DSGD_WITH({"period", 1}, {"outer_lr", 1}, {"outer_momentum", 0})},
        /*
         * The period is longer than the test, so the test checks the law before the first average.
         */
        {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"period", 1000})}),
};
