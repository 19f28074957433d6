/**
 * @file local_sgd.c
 * Local SGD: every worker takes local steps, and every `period` steps all models are averaged.
 *
 * S. Stich, "Local SGD converges fast and communicates little", ICLR 2019; post-local: T. Lin et
 * al., "Don't use large mini-batches, use local SGD", ICLR 2020.
 */
#include "sim/algorithm.h"

typedef struct local_sgd_params {
    int64_t period; /* H, the number of local steps per average */
    int64_t post_local; /* number of steps at the start that each average the models; -1 if off */
    int order;
} local_sgd_params;

enum { ATC, CTA };

static void local_sgd_work(dsgd_node *self)
{
    const local_sgd_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        const bool every_step = self->step < p->post_local;
        dsgd_gradient(self, g, x);
        /* adds the update U of the optimizer to x */
        if (p->order == ATC)
            dsgd_local_step(self, x, g);
        else
            dsgd_follow(self, x, g); /* sends a chunk of the old x when the gradient of this chunk
                                      * is ready */
        if (every_step || (self->step + 1) % p->period == 0)
            dsgd_allreduce_mean(self, x, DSGD_WORLD); /* x <- mean of all models */
        if (p->order == CTA)
            dsgd_local_step(self, x, g);
    }
}

static const char *const off[] = {"off", NULL};
static const char *const order_words[] = {"atc", "cta", NULL};

static const dsgd_option local_sgd_options[] = {
    DSGD_OPTION_LONG(local_sgd_params, period, 8, 1, 1e9, "steps",
                     "H: number of local steps per average (WAGMA's paper calls H = 1 local SGD)"),
    DSGD_OPTION_LONG(
        local_sgd_params, post_local, -1, 1, 1e12, "steps",
        "post-local SGD: number of first steps after each of which models are averaged",
        .words = off),
    DSGD_OPTION_CHOICE(local_sgd_params, order, order_words,
                       "order of average and local step. atc: average the new models after the "
                       "local step (the paper). cta: average the old models during the backward "
                       "pass, then step (WAGMA's released code)"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_local_sgd = {
    .about = {.name = "local_sgd",
              .summary = "local steps; every `period` steps the models of all workers are averaged",
              .reference = "Stich, ICLR 2019; post-local: Lin et al., ICLR 2020",
              DSGD_PARAMS(local_sgd_params, local_sgd_options)},
    .doc = {.idea = "Communicate less often: workers train independently and average their models "
                    "every H steps.",
            .rule = "x <- x + U(g, x, t);  every H steps  x <- (1/P) sum of all x",
            .sends = "One allreduce of the model every H steps: about 2 N / H bytes per step.",
            .waits = "All workers wait for the slowest every H steps."},
    .work = local_sgd_work,
    .traits = DSGD_SENDS_ALLREDUCES | DSGD_AVERAGES_MODELS | DSGD_QUORUM,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"order", 1})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"period", 1})}, {DSGD_LAW_KEEPS_MEAN},
                      {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"order", 1}, {"period", 1})}),
};
