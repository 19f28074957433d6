/**
 * @file adacomm.c
 * AdaComm: local SGD that averages more and more often as the loss falls.
 *
 * J. Wang, G. Joshi, "Adaptive communication strategies to achieve the best error-runtime trade-off
 * in local-update SGD", MLSys 2019. An interval ends at the first average after its time, when all
 * learn the others' losses: each of its last mini-batch. That the learning rate is lowered no
 * earlier than at tau = 1 is left to the experiment.
 */
#include "sim/algorithm.h"

typedef struct adacomm_params {
    int64_t tau; /* tau_0 */
    double interval; /* T_0, s */
    double gamma;
} adacomm_params;

enum { FIRST_LOSS, LOSS, TIME, N_TOLD };

/** Of the workers. */
static double mean_of(const dsgd_node *self, const double *all, int what)
{
    double sum = 0;
    for (int i = 0; i < self->n_workers; i++)
        sum += all[i * N_TOLD + what];
    return sum / self->n_workers;
}

/** @p ratio: of loss to first loss, and of first learning rate to learning rate. */
static int64_t next_tau(const adacomm_params *p, int64_t tau, double ratio)
{
    const double wanted = ceil(sqrt(ratio) * (double)p->tau);
    const double next = wanted < (double)tau ? wanted : floor(p->gamma * (double)tau);
    return next > 1 ? (int64_t)next : 1;
}

static void adacomm_work(dsgd_node *self)
{
    const adacomm_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    int64_t tau = p->tau, averaged = 0; /* steps by the last average */
    double mine[N_TOLD] = {0};
    double first_rate = 0, end_s = p->interval;

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if (self->step == 0) {
            mine[FIRST_LOSS] = dsgd_loss(self);
            first_rate = dsgd_learning_rate(self);
        }
        if (self->step + 1 < averaged + tau)
            continue;
        averaged = self->step + 1;
        dsgd_allreduce_mean(self, x, DSGD_WORLD);
        mine[LOSS] = dsgd_loss(self);
        mine[TIME] = dsgd_time_s(self);
        const double *all = dsgd_allgather(self, mine, N_TOLD, DSGD_WORLD);
        const double time_s = mean_of(self, all, TIME); /* the same at all */
        if (time_s < end_s)
            continue;
        end_s = (floor(time_s / p->interval) + 1) * p->interval;
        tau = next_tau(p, tau,
                       mean_of(self, all, LOSS) / mean_of(self, all, FIRST_LOSS) * first_rate /
                           dsgd_learning_rate(self));
    }
}

static const dsgd_option adacomm_options[] = {
    DSGD_OPTION_LONG(adacomm_params, tau, 10, 1, 1e9, "steps", "tau_0, local steps per average"),
    DSGD_OPTION_DOUBLE(adacomm_params, interval, 60, 1e-3, 1e9, "s",
                       "T_0, after which there is a new tau"),
    DSGD_OPTION_DOUBLE(adacomm_params, gamma, 0.5, 0, 1, NULL,
                       "factor of tau where the loss would not lower it"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_adacomm = {
    .about = {.name = "adacomm",
              .summary = "local SGD that averages more often as the loss falls",
              .reference = "Wang and Joshi, MLSys 2019",
              DSGD_PARAMS(adacomm_params, adacomm_options)},
    .doc = {.idea = "Few averages are fast at first, many are exact at last: go from one to the "
                    "other as the loss F falls.",
            .rule = "local SGD with period tau;  every T_0 s  t = ceil(sqrt(F / F_0 lr_0 / lr) "
                    "tau_0),  tau <- t if t < tau, else gamma tau; at least 1",
            .sends = "one allreduce of the model every tau steps, about 2 N / tau bytes, and then "
                     "an allgather of two losses and a time, 24 P bytes",
            .waits = "everyone for the slowest, every tau steps"},
    .work = adacomm_work,
    .averages_models = true,
    .traffic = dsgd_traffic_by_time,
    .sends = DSGD_SENDS_ALLREDUCES,
    .reads = DSGD_READS_TO_DECIDE,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_ALLREDUCE, DSGD_WITH({"tau", 1})},
                      {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"tau", 5}, {"interval", 1})}),
};
