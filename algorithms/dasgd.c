/**
 * @file dasgd.c
 * DaSGD: every tau local steps a non-blocking allreduce of the models starts. The resulting mean is
 * mixed into the models d local steps later. The exchange overlaps with these d steps.
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
    dsgd_request *round = NULL; /* the running allreduce of the models, or NULL */

    while (dsgd_next_step(self)) {
        const int64_t s = self->step % p->tau; /* number of this local step within its round */
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
        return dsgd_refuse(error, "dasgd: d must be at most tau = %jd, got %jd", p->tau, p->d);
    if (p->d == p->tau && p->xi == 0)
        return dsgd_refuse(error,
                           "dasgd: xi must be above 0 if d = tau = %jd, because every local step "
                           "would be undone. Use xi > 0 or d < tau",
                           p->tau);
    return DSGD_OK;
}

static int64_t dasgd_period(const void *params, int n_workers)
{
    (void)n_workers;
    return ((const dasgd_params *)params)->tau;
}

static const dsgd_option dasgd_options[] = {
    DSGD_OPTION_LONG(dasgd_params, tau, 4, 1, 1e9, "steps", "number of local steps per round"),
    DSGD_OPTION_LONG(dasgd_params, d, 1, 0, 1e9, "steps",
                     "delay: number of local steps between the start of an average and its use"),
    DSGD_OPTION_DOUBLE(dasgd_params, xi, 0.25, 0, 1, NULL,
                       "weight of the worker's own model when the average is mixed in"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_dasgd = {
    .about =
        {.name = "dasgd",
         .summary =
             "local SGD with averages that are delayed by d steps, to overlap with computation",
         .reference = "Zhou et al. 2020, arXiv 2006.00441, and the authors' released code",
         DSGD_PARAMS(dasgd_params, dasgd_options)},
    .doc = {.idea = "Hide the averaging: start it at the end of a round and use the result d steps "
                    "into the next round.",
            .rule = "x <- x + U(g, x, t);  d steps into a round  x <- xi x + (1 - xi) a, a the "
                    "mean of all x at the end of the round before",
            .sends = "One allreduce of the model every tau steps: about 2 N / tau bytes per step.",
            .waits =
                "A worker waits in local step d of a round if the average is not complete. No "
                "worker waits if all are at most d steps apart and the allreduce is fast enough."},
    .check = dasgd_check,
    .work = dasgd_work,
    .traits = DSGD_SENDS_ALLREDUCES | DSGD_AVERAGES_MODELS,
    .period = dasgd_period,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"xi", 1})},
                      {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"d", 0})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"tau", 1}, {"d", 0}, {"xi", 0})},
                      {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"d", 0})}),
};
