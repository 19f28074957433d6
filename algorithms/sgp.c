/**
 * @file sgp.c
 * Stochastic gradient push, and its overlapped form: gossip over directed graphs, unbiased by
 * push-sum weights.
 *
 * M. Assran, N. Loizou, N. Ballas, M. Rabbat, "Stochastic gradient push for distributed deep
 * learning", ICML 2019, Algorithms 1 and 2. x is the numerator, w its push-sum weight, z = x / w
 * the model.
 *
 * OSGP's `delay` bounds the steps for which a worker leaves a round open, not the age of the
 * shares: a round ends when its shares have arrived, and shares are matched by the number of the
 * round, which two workers may begin at different steps. With delay >= 2 staleness may therefore
 * exceed `delay` where steps differ in length; with delay = 1 every step is a round.
 */
#include "sim/algorithm.h"

typedef struct sgp_params {
    dsgd_spec graph;
    int64_t delay; /* of OSGP */
} sgp_params;

static void sgp_work(dsgd_node *self)
{
    const sgp_params *p = self->params;
    dsgd_vector *z = dsgd_model(self);
    dsgd_vector *x = dsgd_vector_new(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_copy(self, x, z);

    while (dsgd_next_step(self)) {
        if (dsgd_has_joined(self))
            dsgd_bias(self, x, z); /* x <- w z */
        dsgd_gradient(self, g, z);
        dsgd_local_step(self, x, g); /* on the numerator */
        dsgd_gossip(self, x,
                    dsgd_neighbours_of(self, &p->graph, self->step, DSGD_COLUMN_STOCHASTIC));
        dsgd_debias(self, z, x); /* z <- x / w */
    }
}

static void osgp_work(dsgd_node *self)
{
    const sgp_params *p = self->params;
    dsgd_vector *z = dsgd_model(self);
    dsgd_vector *x = dsgd_vector_new(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_request *round = NULL; /* under way */
    int64_t rounds = 0; /* begun */
    int64_t begun = 0; /* step of the last */
    dsgd_copy(self, x, z);

    while (dsgd_next_step(self)) {
        if (dsgd_has_joined(self))
            dsgd_bias(self, x, z);
        /* Shares are added before a forward pass, at the latest `delay` steps after their round
         * began. */
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
        dsgd_debias(self, z, x); /* for evaluations */
    }
}

#define GRAPH_HELP                                                                                 \
    "who sends to whom; exponential with its options peers and schedule is the papers'"

static const dsgd_option sgp_options[] = {
    DSGD_OPTION_GRAPH(sgp_params, graph, "exponential", GRAPH_HELP),
    DSGD_OPTION_END,
};

static const dsgd_option osgp_options[] = {
    DSGD_OPTION_GRAPH(sgp_params, graph, "exponential", GRAPH_HELP),
    DSGD_OPTION_LONG(
        sgp_params, delay, 1, 1, 1e9, "steps",
        "after which a worker waits for the shares it is to receive (released code: synch_freq)"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_sgp = {
    .about = {.name = "sgp",
              .summary = "pushes shares of the model to out-peers, unbiased by push-sum weights",
              .reference = "Assran et al., ICML 2019, Algorithm 1",
              DSGD_PARAMS(sgp_params, sgp_options)},
    .doc = {.idea = "Sending needs no handshake: push shares along a directed graph, and divide by "
                    "the weight that arrived with them.",
            .rule =
                "x <- x + U(g, x, t), g at z;  (x, w) <- own share + shares received;  z <- x / w",
            .sends = "the model to n out-peers: n N bytes",
            .waits = "a worker for its in-peers' shares of the same step"},
    .work = sgp_work,
    .traits = DSGD_QUORUM_COPIES,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_ALLREDUCE, DSGD_WITH({"graph=complete", 0})},
                      {DSGD_LAW_KEEPS_MEAN}, /* as many in-peers as out-peers */
                      {DSGD_LAW_REACHES_MEAN},
                      {DSGD_LAW_REACHES_MEAN, DSGD_WITH({"graph=matching", 0})}),
};

const dsgd_algorithm dsgd_algorithm_osgp = {
    .about = {.name = "osgp",
              .summary = "SGP whose messages travel beside the next steps",
              .reference = "Assran et al., ICML 2019, Algorithm 2, and its released code",
              DSGD_PARAMS(sgp_params, osgp_options)},
    .doc = {.idea = "SGP with the communication hidden: shares leave before the forward pass and "
                    "are added when they have come, a step or more later.",
            .rule = "x <- x + shares of an earlier step;  keep and send shares;  z <- x / w;  x <- "
                    "x + U(g, x, t), g at z",
            .sends = "the model to n out-peers: n N bytes, beside the computation",
            .waits =
                "a worker for its in-peers' shares of the round that it began `delay` steps ago; "
                "they may be older than that, because rounds that are complete end sooner"},
    .work = osgp_work,
    .traits = DSGD_QUORUM_COPIES,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_REACHES_MEAN},
                      {DSGD_LAW_REACHES_MEAN, DSGD_WITH({"delay", 3})}),
};
