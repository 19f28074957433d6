/**
 * @file scaffold.c
 * SCAFFOLD: local SGD with control variates. A correction is added to each local step. The
 * correction is the difference between the mean gradient of all workers and this worker's mean
 * gradient. Both mean gradients are from the previous round.
 *
 * S. P. Karimireddy et al., "SCAFFOLD: stochastic controlled averaging for federated learning",
 * ICML 2020, Algorithm 1 with all workers in every round. The paper's option II is c_i+ = c_i - c +
 * (x - y_i) / (K lr). If the optimizer is plain SGD, this expression is the mean of the round's
 * gradients. This file always uses that mean, which is a gradient under any optimizer. Therefore, c
 * is the mean of all c_i.
 */
#include "sim/algorithm.h"

typedef struct scaffold_params {
    int64_t period; /* K, the number of local steps per round */
    double global_lr;
} scaffold_params;

static void scaffold_work(dsgd_node *self)
{
    const scaffold_params *p = self->params;
    dsgd_vector *y = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *x = dsgd_vector_new(self); /* model at the start of the round */
    dsgd_vector *change = dsgd_vector_new(self);
    dsgd_vector *sum = dsgd_vector_new(self); /* sum of the round's gradients */
    /* c_i, this worker's mean gradient of the previous round. */
    dsgd_vector *mine = dsgd_vector_new(self);
    dsgd_vector *c = dsgd_vector_new(self);
    dsgd_copy(self, x, y);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, y);
        dsgd_combine(self, sum, self->step % p->period != 0, 1, g);
        dsgd_combine(self, g, 1, 1, c);
        dsgd_combine(self, g, 1, -1, mine);
        dsgd_local_step(self, y, g); /* adds the update U(g - c_i + c, y, t) to y */
        if ((self->step + 1) % p->period != 0)
            continue;
        dsgd_copy(self, change, y);
        dsgd_combine(self, change, 1, -1, x);
        dsgd_allreduce_mean(self, change, DSGD_WORLD); /* mean change of all workers */
        dsgd_combine(self, x, 1, p->global_lr, change);
        dsgd_copy(self, y, x);
        dsgd_combine(self, mine, 0, 1.0 / (double)p->period, sum);
        dsgd_copy(self, c, mine);
        dsgd_allreduce_mean(self, c, DSGD_WORLD); /* c <- mean of all c_i */
    }
}

static const dsgd_option scaffold_options[] = {
    DSGD_OPTION_LONG(scaffold_params, period, 10, 1, 1e9, "steps",
                     "K: number of local steps per round"),
    DSGD_OPTION_DOUBLE(scaffold_params, global_lr, 1, 0, 100, NULL,
                       "eta_g: factor of the mean change of a round"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_scaffold = {
    .about = {.name = "scaffold",
              .summary = "local SGD with control variates, for workers with different data",
              .reference = "Karimireddy et al., ICML 2020",
              DSGD_PARAMS(scaffold_params, scaffold_options)},
    .doc = {.idea = "If data differ, local steps drift apart. SCAFFOLD subtracts the worker's own "
                    "mean gradient and adds that of all workers, both of the previous round.",
            .rule = "y <- y + U(g - c_i + c, y, t);  every K steps  x <- x + eta_g (1/P) sum of "
                    "(y - x), c_i <- the mean of the K gradients, c <- (1/P) sum of c_i, y <- x",
            .sends = "Two allreduces every K steps, of model changes and of control variates: "
                     "about 4 N / K bytes per step.",
            .waits = "All workers wait for the slowest every K steps."},
    .work = scaffold_work,
    .traits = DSGD_SENDS_ALLREDUCES,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_ALLREDUCE, DSGD_WITH({"period", 1})},
                      {DSGD_LAW_KEEPS_MEAN}),
};
