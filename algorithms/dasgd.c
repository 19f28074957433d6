/**
 * @file dasgd.c
 * DaSGD: every tau local steps an allreduce of the models starts; its mean is mixed in d local
 * steps later, overlapped with them.
 *
 * Q. Zhou et al., "DaSGD: squeezing SGD parallelization performance in distributed training using
 * delayed averaging", 2020.
 */
#include "sim/algorithm.h"

typedef struct dasgd_params {
    int64_t tau, d;
    double xi;
} dasgd_params;

static void dasgd_work(dsgd_node *self)
{
    const dasgd_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *mean = dsgd_vector_new(self);
    dsgd_request *round = NULL; /* the allreduce under way */

    while (dsgd_next_step(self)) {
        const int64_t s = self->step % p->tau; /* local step of the round */
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if (p->d == 0 && s == p->tau - 1)
            round = dsgd_collective_begin(self, DSGD_ALLREDUCE, x, DSGD_WORLD);
        if (round != NULL && (p->d == 0 || s == p->d - 1)) {
            dsgd_request_wait(self, round, mean);
            dsgd_combine(self, x, p->xi, 1 - p->xi, mean);
            round = NULL;
        }
        if (p->d > 0 && s == p->tau - 1)
            round = dsgd_collective_begin(self, DSGD_ALLREDUCE, x, DSGD_WORLD);
    }
}

static dsgd_status dasgd_check(const void *params, int n_workers, dsgd_error *error)
{
    (void)n_workers;
    const dasgd_params *p = params;
    if (p->d > p->tau)
        return dsgd_refuse(error,
                           "dasgd: d: %jd, but an average may be at most tau = %jd steps late",
                           p->d, p->tau);
    if (p->d == p->tau && p->xi == 0)
        return dsgd_refuse(
            error,
            "dasgd: with d = tau = %jd and xi = 0 every step is undone; take xi > 0 or d < tau",
            p->tau);
    return DSGD_OK;
}

static int64_t dasgd_period(const void *params, int n_workers)
{
    (void)n_workers;
    return ((const dasgd_params *)params)->tau;
}

static const dsgd_option dasgd_options[] = {
    DSGD_OPTION_LONG(dasgd_params, tau, 4, 1, 1e9, "steps", "local steps per round"),
    DSGD_OPTION_LONG(dasgd_params, d, 1, 0, 1e9, "steps",
                     "local steps between the start of an average and its use"),
    DSGD_OPTION_DOUBLE(dasgd_params, xi, 0.25, 0, 1, NULL,
                       "weight of the worker's own model when the average comes in"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_dasgd = {
    .about =
        {.name = "dasgd",
         .summary =
             "local steps with a delayed average of all models that hides behind the next ones",
         .reference = "Zhou et al. 2020, arXiv 2006.00441, and the authors' released code",
         DSGD_PARAMS(dasgd_params, dasgd_options)},
    .doc =
        {.idea =
             "Hide the averaging: start it at the end of a round, use it some steps into the next.",
         .rule = "x <- x + U(g, x, t);  d steps into a round  x <- xi x + (1 - xi) mean of all x "
                 "at its start",
         .sends = "one allreduce of the model every tau steps: about 2 N / tau bytes",
         .waits = "no worker, as long as the average takes no longer than d steps of the slowest"},
    .check = dasgd_check,
    .work = dasgd_work,
    .traits = DSGD_SENDS_ALLREDUCES | DSGD_AVERAGES_MODELS,
    .period = dasgd_period,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"xi", 1})},
                      {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"d", 0})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"tau", 1}, {"d", 0}, {"xi", 0})},
                      {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"d", 0})}),
};
