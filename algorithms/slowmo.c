/**
 * @file slowmo.c
 * SlowMo: local SGD in which every average of the models passes through a slow momentum.
 *
 * J. Wang et al., "SlowMo: improving communication-efficient distributed SGD with slow momentum",
 * ICLR 2020, Algorithm 1. The base optimizer is local SGD, so this algorithm equals BMUF.
 */
#include "sim/algorithm.h"

typedef struct slowmo_params {
    int64_t period; /* tau, the number of local steps per average */
    double alpha, beta;
} slowmo_params;

static void slowmo_work(dsgd_node *self)
{
    const slowmo_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *start = dsgd_vector_new(self);
    /* slow momentum: the learning rate times the paper's u */
    dsgd_vector *u = dsgd_vector_new(self);
    double old_rate = 0;
    dsgd_copy(self, start, x);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if ((self->step + 1) % p->period != 0)
            continue;
        const double rate = dsgd_learning_rate(self);
        dsgd_allreduce_mean(self, x, DSGD_WORLD);
        /*
         * Computes lr u <- beta lr u + (start - x). If the learning rate lr has changed, first
         * adapts the old value of lr u to the new rate.
         */
        dsgd_combine(self, u, old_rate > 0 ? p->beta * rate / old_rate : 0, 1, start);
        dsgd_combine(self, u, 1, -1, x);
        dsgd_combine(self, start, 1, -p->alpha, u); /* start <- start - alpha lr u */
        dsgd_copy(self, x, start);
        old_rate = rate;
    }
}

static const dsgd_option slowmo_options[] = {
    DSGD_OPTION_LONG(slowmo_params, period, 12, 1, 1e9, "steps",
                     "tau: number of local steps per average"),
    DSGD_OPTION_DOUBLE(slowmo_params, alpha, 1, 0, 100, NULL, "slow learning rate"),
    DSGD_OPTION_DOUBLE(slowmo_params, beta, 0.7, 0, 1, NULL, "slow momentum"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_slowmo = {
    .about = {.name = "slowmo",
              .summary = "local SGD with a slow momentum on the averages of all models",
              .reference = "Wang et al., ICLR 2020, Algorithm 1",
              DSGD_PARAMS(slowmo_params, slowmo_options)},
    .doc = {.idea = "Local SGD loses momentum at every average. SlowMo adds a momentum of the "
                    "averages themselves.",
            .rule = "x <- x + U(g, x, t);  every tau steps a = (1/P) sum of all x, u <- beta u + "
                    "(s - a) / lr, s <- s - alpha lr u, x <- s",
            .sends = "One allreduce of the model every tau steps: about 2 N / tau bytes per step.",
            .waits = "All workers wait for the slowest every tau steps."},
    .work = slowmo_work,
    .traits = DSGD_SENDS_ALLREDUCES | DSGD_AVERAGES_MODELS | DSGD_QUORUM,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"period", 3}, {"alpha", 1}, {"beta", 0})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"period", 1}, {"alpha", 1}, {"beta", 0})}),
};
