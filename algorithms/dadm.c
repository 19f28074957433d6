/**
 * @file dadm.c
 * DADM, distributed alternating dual maximization: every worker increases the dual objective of its
 * own mini-batches, and the resulting models are averaged.
 *
 * S. Zheng, J. Wang, F. Xia, W. Xu, T. Zhang, "A general distributed dual coordinate optimization
 * framework for regularized loss minimization", JMLR 18, 2017. This file has no second regulariser.
 * The algorithm then equals CoCoA+ with sigma' = P (C. Ma et al., ICML 2015). It minimises the mean
 * loss + lambda/2 |x|^2.
 *
 * DADM allows any local solver that increases the local dual objective. This file uses the step of
 * Prox-SDCA with a given length s, for which DADM's rate is proved. The step is a <- a + s (u - a)
 * with u = - phi'(x . z). Let A_B = a z be the dual times its sample. Then the step is A_B <- A_B -
 * s (g + A_B). This step needs no margin, and it also works for models that are not linear. It
 * equals SDCA without duality (S. Shalev-Shwartz, ICML 2016). Each mini-batch has one A_B, a vector
 * as long as the model. If `batch` is 1, each sample has one A_B. This file does not use the exact
 * maximum in a, because the exact maximum exists only for linear models. It would also need
 * margins, which no other algorithm uses.
 *
 * Any optimizer U may take the step. A_B therefore changes by the change of the model instead of by
 * s (g + A_B). For plain SGD both changes are equal, with s = lr lambda n_l, where n_l is the
 * number of a worker's mini-batches. At the end of each round, x = (1/P) sum of (1 / (lambda n_l))
 * sum of A_B.
 */
#include "sim/algorithm.h"

typedef struct dadm_params {
    int64_t period;
    double lambda;
    int combine;
} dadm_params;

enum { AVERAGING, ADDING };

/**
 * Returns the dual vector A_B of this step's mini-batch. A_B starts as lambda x_0, because the
 * model must start as x_0.
 */
static dsgd_vector *dual_of(dsgd_node *self, dsgd_vector **duals, dsgd_vector *first)
{
    const dadm_params *p = self->params;
    dsgd_vector **dual = &duals[dsgd_own_batch(self, NULL)];
    if (*dual == NULL) {
        *dual = dsgd_vector_new(self);
        dsgd_combine(self, *dual, 0, p->lambda, first);
    }
    return *dual;
}

static void dadm_work(dsgd_node *self)
{
    const dadm_params *p = self->params;
    const double workers = p->combine == ADDING ? self->n_workers : 1;
    int64_t n_batches;
    dsgd_own_batch(self, &n_batches);
    const double scale = p->lambda * (double)n_batches * workers;
    dsgd_vector *y = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *x = dsgd_vector_new(self); /* model at the start of the round */
    dsgd_vector *change = dsgd_vector_new(self);
    dsgd_vector *first = dsgd_vector_new(self);
    dsgd_vector **duals = dsgd_memory_new(self, (size_t)n_batches, sizeof *duals);
    dsgd_copy(self, x, y);
    dsgd_copy(self, first, y);

    while (dsgd_next_step(self)) {
        dsgd_vector *dual = dual_of(self, duals, first);
        const double s = dsgd_learning_rate(self) * scale;
        /*
         * Limits the step length s to 1, because a longer step would decrease the dual objective.
         */
        const double shorter = s > 1 ? 1 / s : 1;
        dsgd_gradient(self, g, y);
        dsgd_combine(self, g, shorter, shorter, dual);
        dsgd_combine(self, dual, 1, -scale, y);
        dsgd_local_step(self, y, g); /* adds the update U(g + A_B, y, t) to y */
        dsgd_combine(self, dual, 1, scale, y); /* adds lambda n_l times the change of y to A_B */
        if ((self->step + 1) % p->period != 0)
            continue;
        dsgd_copy(self, change, y);
        dsgd_combine(self, change, 1, -1, x);
        dsgd_allreduce_mean(self, change, DSGD_WORLD);
        dsgd_combine(self, x, 1, workers, change);
        dsgd_copy(self, y, x);
    }
}

static const char *const combine_words[] = {"averaging", "adding", NULL};

static const dsgd_option dadm_options[] = {
    DSGD_OPTION_LONG(dadm_params, period, 10, 1, 1e9, "steps", "number of local steps per round"),
    DSGD_OPTION_DOUBLE(dadm_params, lambda, 1e-4, 0, 1e6, NULL,
                       "factor of the loss's lambda/2 |x|^2, in addition to the optimizer's "
                       "weight_decay. 0: local SGD without duals"),
    DSGD_OPTION_CHOICE(dadm_params, combine, combine_words,
                       "combination of the workers' changes. averaging: their mean, safe for any "
                       "data (sigma' = P). adding: their sum (sigma' = 1), for data that share few "
                       "features, or a learning rate P times as small"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_dadm = {
    .about = {.name = "dadm",
              .summary = "a dual variable per mini-batch removes the gradient noise at a constant "
                         "learning rate",
              .reference = "Zheng et al., JMLR 18, 2017; Shalev-Shwartz, ICML 2016",
              DSGD_PARAMS(dadm_params, dadm_options)},
    .doc = {.idea = "Store for each of a worker's mini-batches what it has added to the model, and "
                    "take back what it would no longer add: at the optimum nothing moves.",
            .rule = "y <- y + U(g + A_B, y, t),  A_B <- A_B + lambda n_l U;  every K steps  y <- x "
                    "<- x + the mean, or the sum, of all (y - x).  A_B belongs to the step's "
                    "mini-batch B, one of n_l of a worker",
            .sends = "One allreduce of model changes every K steps: about 2 N / K bytes per step.",
            .waits = "All workers wait for the slowest every K steps."},
    .work = dadm_work,
    .traits = DSGD_SENDS_ALLREDUCES | DSGD_OWN_BATCHES,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"lambda", 0})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"lambda", 0}, {"period", 1})},
                      {DSGD_LAW_KEEPS_MEAN}),
};
