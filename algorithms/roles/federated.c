/**
 * @file federated.c
 * Federated learning with three roles. Trainers train. A coordinator keeps the model and chooses
 * the trainers of the next round. An aggregator averages the models of these trainers. Coordinator
 * and aggregator are functions of one server.
 *
 * B. McMahan et al., AISTATS 2017, as in an example of RoleML (Y. Tan et al., Middleware 2024). In
 * each round the server sends the model to each chosen trainer and receives one model from each
 * chosen trainer.
 */
#include "sim/algorithm.h"

typedef struct federated_params {
    int64_t period;
    double ratio;
} federated_params;

/** Executes the program of a trainer. */
static void federated_work(dsgd_node *self)
{
    const federated_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);

    /* Wait until the coordinator chooses this trainer. */
    dsgd_copy(self, x, dsgd_recv(self, INFINITY)->x);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if ((self->step + 1) % p->period == 0) {
            dsgd_send(self, dsgd_server_address(self, 0), x, NULL, 0);
            dsgd_copy(self, x, dsgd_recv(self, INFINITY)->x);
        }
    }
    /* An empty message informs the server that this trainer leaves. */
    dsgd_send(self, dsgd_server_address(self, 0), NULL, NULL, 0);
}

typedef struct clients {
    bool *away; /* true for each trainer that is training or has left; P entries */
    int n, chosen; /* n: number of trainers that have not left; chosen: number of trainers in this
                    * round */
} clients;

/** Does the coordinator's work: sends the model to random trainers. */
static void choose(dsgd_node *self, clients *c)
{
    const federated_params *p = self->params;
    const uint64_t n = (uint64_t)self->n_workers;
    const int wanted = (int)fmax(1, p->ratio * self->n_workers);
    for (c->chosen = 0; c->chosen < c->n && c->chosen < wanted; c->chosen++) {
        uint64_t client = dsgd_random_below(self, n);
        for (; c->away[client]; client = dsgd_random_below(self, n))
            continue;
        c->away[client] = true;
        dsgd_send(self, (int)client, dsgd_model(self), NULL, 0);
    }
}

/** Does the aggregator's work: computes the mean of the chosen trainers' models. */
static void aggregate(dsgd_node *self, clients *c, dsgd_vector *sum)
{
    int n = 0;
    for (int i = 0; i < c->chosen; i++) {
        const dsgd_message *m = dsgd_recv(self, INFINITY);
        c->away[m->from] = m->x == NULL; /* an empty message means that the trainer has left */
        c->n -= m->x == NULL;
        if (m->x != NULL) {
            dsgd_message_used(self, m, 0);
            dsgd_combine(self, sum, n++ > 0, 1, m->x);
        }
    }
    if (n > 0) {
        dsgd_divide(self, sum, n);
        dsgd_copy(self, dsgd_model(self), sum);
    }
}

static void federated_serve(dsgd_node *self)
{
    clients c = {dsgd_memory_new(self, (size_t)self->n_workers, 1), self->n_workers, 0};
    dsgd_vector *sum = dsgd_vector_new(self);
    while (c.n > 0) {
        choose(self, &c);
        aggregate(self, &c, sum);
    }
}

static const dsgd_option federated_options[] = {
    DSGD_OPTION_LONG(federated_params, period, 8, 1, 1e9, "steps",
                     "number of local steps per round"),
    DSGD_OPTION_DOUBLE(federated_params, ratio, 0.5, 0, 1, NULL,
                       "share of the trainers that are chosen per round"),
    DSGD_OPTION_END,
};

static const dsgd_algorithm federated = {
    .about = {.name = "federated",
              .summary =
                  "FedAvg: a coordinator chooses trainers, and an aggregator averages their models",
              .reference = "McMahan et al. 2017; an example of RoleML",
              DSGD_PARAMS(federated_params, federated_options)},
    .work = federated_work,
    .serve = federated_serve,
    .traits = DSGD_OUTPUT_SERVERS | DSGD_DRAWS,
    .laws = DSGD_LAWS({.kind = DSGD_LAW_PLAIN_SGD},
                      {.kind = DSGD_LAW_ALLREDUCE, .with = DSGD_WITH({"period", 1}, {"ratio", 1})}),
};

static const dsgd_algorithm *const list[] = {&federated, NULL};
const dsgd_plugin dsgd_plugin_algorithms = {DSGD_PLUGIN_ABI, list};
