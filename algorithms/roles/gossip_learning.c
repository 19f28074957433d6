/**
 * @file gossip_learning.c
 * Gossip learning, in which each worker has three roles. The aggregator sums the models that arrive
 * and sends its worker's model to a random peer. The coordinator merges the sum with the worker's
 * own model. The trainer trains the merged model. There is no server.
 *
 * A peer of RoleML trains only after a model has arrived. If no other peer chooses it, the peer
 * never trains. In this file such a peer continues to train after the time `patience`.
 *
 * R. Ormandi et al., 2013, as in an example of RoleML (Y. Tan et al., Middleware 2024). Each worker
 * sends one model per `period`.
 */
#include "sim/algorithm.h"

typedef struct gossip_learning_params {
    int64_t period;
    double patience;
} gossip_learning_params;

/**
 * Does the aggregator's work: waits for the first model, at most until @p until_s. Sums all models
 * that have arrived. Returns the number of these models.
 */
static int collect(dsgd_node *self, dsgd_vector *sum, double until_s)
{
    int n = 0;
    const dsgd_message *m = dsgd_recv(self, until_s);
    for (; m != NULL; m = dsgd_recv(self, dsgd_time_s(self))) {
        dsgd_message_used(self, m, -1);
        dsgd_combine(self, sum, n++ > 0, 1, m->x);
    }
    return n;
}

/** Does the aggregator's work: sends x to a random peer. */
static void propagate(dsgd_node *self, dsgd_vector *x)
{
    const int peer = (int)dsgd_random_below(self, (uint64_t)self->n_workers - 1);
    dsgd_send(self, peer + (peer >= self->rank), x, NULL, 0);
}

/** Does the coordinator's work: sets x to the mean of x and of the models that have arrived. */
static void merge(dsgd_node *self, dsgd_vector *x, dsgd_vector *sum)
{
    const gossip_learning_params *p = self->params;
    const int n = collect(self, sum, dsgd_time_s(self) + p->patience);
    if (n > 0)
        dsgd_combine(self, x, 1.0 / (n + 1), 1.0 / (n + 1), sum);
}

static void gossip_learning_work(dsgd_node *self)
{
    const gossip_learning_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *sum = dsgd_vector_new(self); /* sum of the models that have arrived */

    while (dsgd_next_step(self)) {
        if (self->step > 0 && self->step % p->period == 0 && self->n_workers > 1)
            merge(self, x, sum);
        dsgd_gradient(self, g, x); /* Does the trainer's work: takes a local step. */
        dsgd_local_step(self, x, g);
        if ((self->step + 1) % p->period == 0 && self->n_workers > 1)
            propagate(self, x);
    }
}

static const dsgd_option gossip_learning_options[] = {
    DSGD_OPTION_LONG(gossip_learning_params, period, 8, 1, 1e9, "steps",
                     "number of local steps between two models that a peer sends"),
    DSGD_OPTION_DOUBLE(
        gossip_learning_params, patience, 0, 0, 1e9, "s",
        "longest time that a peer waits for another model before it trains on its own"),
    DSGD_OPTION_END,
};

static const dsgd_algorithm gossip_learning = {
    .about =
        {.name = "gossip_learning",
         .summary =
             "each worker merges models that arrive, trains, and sends its model to a random peer",
         .reference = "Ormandi et al. 2013; an example of RoleML",
         DSGD_PARAMS(gossip_learning_params, gossip_learning_options)},
    .work = gossip_learning_work,
    .traits = DSGD_DRAWS,
    .laws = DSGD_LAWS({.kind = DSGD_LAW_PLAIN_SGD}),
};

static const dsgd_algorithm *const list[] = {&gossip_learning, NULL};
const dsgd_plugin dsgd_plugin_algorithms = {DSGD_PLUGIN_ABI, list};
