/**
 * @file easgd.c
 * EASGD and EAMSGD, elastic averaging without and with momentum: workers train independently, but
 * elastic forces pull each worker and a common centre together.
 *
 * S. Zhang, A. Choromanska, Y. LeCun, "Deep learning with elastic averaging SGD", NeurIPS 2015,
 * Algorithms 1 and 2, and the released code.
 */
#include "sim/algorithm.h"

typedef struct easgd_params {
    double beta;
    int64_t period; /* tau, the number of local steps between two exchanges with the centre */
    int64_t servers;
    int centre;
    double delta; /* Nesterov momentum of a worker; only EAMSGD uses it */
} easgd_params;

enum { AT_SERVER, AT_ALL };

/**
 * The elastic connection of a worker to the centre. e is the elastic force. Only the synchronous
 * variant uses centre and sum. centre is the worker's replica of the centre and the output of the
 * worker. sum is scratch memory.
 */
typedef struct elastic {
    double alpha;
    dsgd_vector *e, *centre, *sum;
} elastic;

static elastic elastic_new(dsgd_node *self)
{
    const easgd_params *p = self->params;
    return (elastic){p->beta / self->n_workers, dsgd_vector_new(self), dsgd_shared(self),
                     dsgd_vector_new(self)};
}

/**
 * Computes the force e <- alpha (x - centre) and moves the centre by e. The synchronous variant
 * moves its centre by the sum of all forces e. The caller must then compute x <- x - e.
 */
static void pull_to_centre(dsgd_node *self, const elastic *tie, dsgd_vector *x)
{
    const easgd_params *p = self->params;
    if (p->centre == AT_SERVER) {
        dsgd_server_exchange(self, NULL, tie->e);
        dsgd_combine(self, tie->e, -tie->alpha, tie->alpha, x);
        /* sends the force e to the server without waiting */
        dsgd_server_exchange(self, tie->e, NULL);
        return;
    }
    dsgd_copy(self, tie->e, tie->centre);
    dsgd_combine(self, tie->e, -tie->alpha, tie->alpha, x);
    dsgd_copy(self, tie->sum, tie->e);
    dsgd_allreduce_sum(self, tie->sum, DSGD_WORLD);
    dsgd_combine(self, tie->centre, 1, 1, tie->sum);
}

static void easgd_work(dsgd_node *self)
{
    const easgd_params *p = self->params;
    const elastic tie = elastic_new(self);
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        const bool exchanges = self->step % p->period == 0;
        if (exchanges)
            pull_to_centre(self, &tie, x);
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if (exchanges)
            dsgd_combine(self, x, 1, -1, tie.e);
    }
}

static void eamsgd_work(dsgd_node *self)
{
    const easgd_params *p = self->params;
    const elastic tie = elastic_new(self);
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *v = dsgd_vector_new(self);
    dsgd_vector *ahead = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        const bool exchanges = self->step % p->period == 0;
        if (exchanges)
            pull_to_centre(self, &tie, x);
        dsgd_copy(self, ahead, x);
        /* ahead <- x + delta v, the point at which Nesterov's method computes the gradient */
        dsgd_combine(self, ahead, 1, p->delta, v);
        dsgd_gradient(self, g, ahead);
        dsgd_local_step(self, ahead, g); /* ahead <- x + delta v + U(g) */
        dsgd_copy(self, v, ahead);
        dsgd_combine(self, v, 1, -1, x); /* v <- ahead - x = delta v + U(g) */
        dsgd_copy(self, x, ahead);
        if (exchanges)
            dsgd_combine(self, x, 1, -1, tie.e);
    }
}

static int easgd_servers(const void *params, int n_workers)
{
    (void)n_workers;
    const easgd_params *p = params;
    return p->centre == AT_SERVER ? (int)p->servers : 0;
}

static const char *const centre_words[] = {"server", "allreduce", NULL};

#define ELASTIC_OPTIONS                                                                            \
    DSGD_OPTION_DOUBLE(easgd_params, beta, 0.9, 0, 1e6, NULL,                                      \
                       "strength of the elastic tie; the moving rate alpha is beta / P"),          \
        DSGD_OPTION_LONG(easgd_params, period, 10, 1, 1e9, "steps",                                \
                         "tau: number of local steps between two exchanges with the centre"),      \
        DSGD_OPTION_LONG(easgd_params, servers, 1, 1, 4096, NULL,                                  \
                         "number of servers; each has an equal part and its own host"),            \
        DSGD_OPTION_CHOICE(easgd_params, centre, centre_words,                                     \
                           "location of the centre. server: servers, which each worker "           \
                           "contacts at its own time. allreduce: a replica at every worker and "   \
                           "an allreduce of all forces (synchronous variant)")

static const dsgd_option easgd_options[] = {ELASTIC_OPTIONS, DSGD_OPTION_END};

static const dsgd_option eamsgd_options[] = {
    ELASTIC_OPTIONS,
    DSGD_OPTION_DOUBLE(easgd_params, delta, 0.99, 0, 1, NULL,
                       "Nesterov momentum of the worker; keep the optimizer's own momentum at 0"),
    DSGD_OPTION_END,
};

static void easgd_comes_back(dsgd_node *self, int peer)
{
    (void)peer;
    dsgd_server_exchange(self, NULL, dsgd_model(self)); /* copies the centre to the model x */
}

static unsigned easgd_traits(const void *params)
{
    const bool at_server = ((const easgd_params *)params)->centre == AT_SERVER;
    return DSGD_OUTPUT_SERVERS | (at_server ? 0 : DSGD_RESTARTS);
}

#define ELASTIC_SENDS "The centre down and the elastic force up: 2 N / tau bytes per step."
#define ELASTIC_WAITS "A worker waits for the server's answer every tau steps."

const dsgd_algorithm dsgd_algorithm_easgd = {
    .about = {.name = "easgd",
              .summary = "local steps, tied to a centre at a server by an elastic force",
              .reference = "Zhang, Choromanska, LeCun, NeurIPS 2015, Algorithm 1",
              DSGD_PARAMS(easgd_params, easgd_options)},
    .doc =
        {.idea =
             "Let workers explore: the centre pulls each worker, and each worker pulls the centre.",
         .rule = "every tau steps e = alpha (x - c), c <- c + e;  x <- x + U(g, x, t) - e",
         .sends = ELASTIC_SENDS,
         .waits = ELASTIC_WAITS},
    .work = easgd_work,
    .serve = dsgd_serve,
    .n_servers = easgd_servers,
    .traits = DSGD_OUTPUT_SERVERS,
    .comes_back = easgd_comes_back,
    .traits_with = easgd_traits,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"beta", 0})},
                      {DSGD_LAW_KEEPS_SUM, DSGD_WITH({"period", 1})},
                      {DSGD_LAW_KEEPS_SUM, DSGD_WITH({"period", 3}, {"servers", 2})}),
};

const dsgd_algorithm dsgd_algorithm_eamsgd = {
    .about = {.name = "eamsgd",
              .summary = "EASGD whose workers have Nesterov momentum",
              .reference = "Zhang, Choromanska, LeCun, NeurIPS 2015, Algorithm 2",
              DSGD_PARAMS(easgd_params, eamsgd_options)},
    .doc = {.idea =
                "EASGD for deep networks: workers with momentum explore further from the centre.",
            .rule =
                "every tau steps e = alpha (x - c), c <- c + e;  v <- delta v + U(g), g at x + "
                "delta v;  x <- x + v - e.  The optimizer's own momentum would be added to delta",
            .sends = ELASTIC_SENDS,
            .waits = ELASTIC_WAITS},
    .work = eamsgd_work,
    .serve = dsgd_serve,
    .n_servers = easgd_servers,
    .traits = DSGD_OUTPUT_SERVERS,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"beta", 0}, {"delta", 0})},
                      {DSGD_LAW_KEEPS_SUM, DSGD_WITH({"period", 1})}),
};
