/**
 * @file sgp.c
 * Stochastic gradient push (SGP) and its overlapped form (OSGP): gossip over directed graphs, with
 * push-sum weights that remove the bias.
 *
 * M. Assran, N. Loizou, N. Ballas, M. Rabbat, "Stochastic gradient push for distributed deep
 * learning", ICML 2019, Algorithms 1 and 2. x is the numerator, w is its push-sum weight, and z = x
 * / w is the model.
 *
 * OSGP's `delay` limits the number of steps for which a worker leaves a round open. It does not
 * limit the age of the shares. A round ends when its shares have arrived. Shares are matched by the
 * number of their round, and two workers may begin the same round at different steps. If delay >= 2
 * and the steps differ in length, the staleness may therefore exceed `delay`. If delay = 1, every
 * step is a round.
 */
#include "sim/algorithm.h"

typedef struct sgp_params {
    dsgd_spec graph;
    int64_t delay; /* number of steps for which a round may stay open; used only by OSGP */
} sgp_params;

static void sgp_work(dsgd_node *self)
{
    const sgp_params *p = self->params;
    dsgd_vector *z = dsgd_model(self);
    dsgd_vector *x = dsgd_vector_new(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_copy(self, x, z);

    while (dsgd_next_step(self)) {
        /* sets x to w z, because a repaired worker has received the model z */
        if (dsgd_has_joined(self))
            dsgd_bias(self, x, z);
        dsgd_gradient(self, g, z);
        dsgd_local_step(self, x, g); /* applies the update to the numerator x */
        dsgd_gossip(self, x,
                    dsgd_neighbours_of(self, &p->graph, self->step, DSGD_COLUMN_STOCHASTIC));
        dsgd_debias(self, z, x); /* model z <- numerator x / weight w */
    }
}

static void osgp_work(dsgd_node *self)
{
    const sgp_params *p = self->params;
    dsgd_vector *z = dsgd_model(self);
    dsgd_vector *x = dsgd_vector_new(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_request *round = NULL; /* the running gossip round, or NULL */
    int64_t rounds = 0; /* number of rounds begun so far */
    int64_t begun = 0; /* number of the step in which the last round began */
    dsgd_copy(self, x, z);

    while (dsgd_next_step(self)) {
        if (dsgd_has_joined(self))
            dsgd_bias(self, x, z);
        /*
         * Adds the received shares to x before a forward pass. If the round began `delay` steps
         * ago, waits for its shares.
         */
        if (round != NULL && (self->step - begun >= p->delay ||
                              dsgd_wait_any(self, DSGD_ON_REQUEST, dsgd_time_s(self)))) {
            dsgd_request_wait(self, round, x);
            round = NULL;
        }
        if (round == NULL) {
            begun = self->step;
            round = dsgd_gossip_begin(
                self, x, dsgd_neighbours_of(self, &p->graph, rounds++, DSGD_COLUMN_STOCHASTIC));
        }
        dsgd_debias(self, z, x);
        dsgd_gradient(self, g, z);
        dsgd_local_step(self, x, g);
        dsgd_debias(self, z, x); /* recomputes the model z, which evaluations read */
    }
}

#define GRAPH_HELP                                                                                 \
    "communication graph; the paper uses exponential with its options peers and schedule"

static const dsgd_option sgp_options[] = {
    DSGD_OPTION_GRAPH(sgp_params, graph, "exponential", GRAPH_HELP),
    DSGD_OPTION_END,
};

static const dsgd_option osgp_options[] = {
    DSGD_OPTION_GRAPH(sgp_params, graph, "exponential", GRAPH_HELP),
    DSGD_OPTION_LONG(sgp_params, delay, 1, 1, 1e9, "steps",
                     "number of steps after which a worker waits for the shares of its open round "
                     "(released code: synch_freq)"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_sgp = {
    .about = {.name = "sgp",
              .summary = "each worker pushes shares of its model to out-neighbours; push-sum "
                         "weights remove the bias",
              .reference = "Assran et al., ICML 2019, Algorithm 1",
              DSGD_PARAMS(sgp_params, sgp_options)},
    .doc = {.idea = "Sending needs no handshake: push shares of the model along a directed graph, "
                    "and divide by the weight that arrives with them.",
            .rule =
                "x <- x + U(g, x, t), g at z;  (x, w) <- own share + received shares;  z <- x / w",
            .sends = "The model to n out-neighbours: n N bytes.",
            .waits = "A worker waits for the shares of its in-neighbours of the same step."},
    .work = sgp_work,
    .traits = DSGD_QUORUM_COPIES,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_ALLREDUCE, DSGD_WITH({"graph=complete", 0})},
                      {DSGD_LAW_KEEPS_MEAN}, /* The law holds because every worker has equal numbers
                                              * of in-peers and out-peers. */
                      {DSGD_LAW_REACHES_MEAN},
                      {DSGD_LAW_REACHES_MEAN, DSGD_WITH({"graph=matching", 0})}),
};

const dsgd_algorithm dsgd_algorithm_osgp = {
    .about = {.name = "osgp",
              .summary = "SGP whose communication overlaps with the next steps",
              .reference = "Assran et al., ICML 2019, Algorithm 2, and its released code",
              DSGD_PARAMS(sgp_params, osgp_options)},
    .doc = {.idea = "SGP with hidden communication: shares are sent before the forward pass and "
                    "added when they have arrived, one or more steps later.",
            .rule = "x <- x + shares of an earlier step;  keep one share and send the others;  z "
                    "<- x / w;  x <- x + U(g, x, t), g at z",
            .sends = "The model to n out-neighbours: n N bytes, overlapped with computation.",
            .waits = "A worker waits for the shares of the round that it began `delay` steps ago. "
                     "They may be older than `delay` steps, because complete rounds end sooner."},
    .work = osgp_work,
    .traits = DSGD_QUORUM_COPIES,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_REACHES_MEAN},
                      {DSGD_LAW_REACHES_MEAN, DSGD_WITH({"delay", 3})}),
};
