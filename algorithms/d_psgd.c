/**
 * @file d_psgd.c
 * D-PSGD: in every step each worker averages its model with its neighbours' models and waits only
 * for these neighbours.
 *
 * X. Lian et al., "Can decentralized algorithms outperform centralized algorithms?", NeurIPS 2017,
 * Algorithm 1. The gradient is computed at the model before the average.
 */
#include "sim/algorithm.h"

typedef struct d_psgd_params {
    dsgd_spec graph;
    int64_t rounds;
    int order;
} d_psgd_params;

enum { CTA, BESIDE, ATC };

static void d_psgd_work(dsgd_node *self)
{
    const d_psgd_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (p->order == CTA)
            dsgd_follow(self, x, g); /* sends a chunk of the old x when the gradient of this chunk
                                      * is ready */
        if (p->order == ATC)
            dsgd_local_step(self, x, g);
        for (int64_t i = 0; i < p->rounds; i++) /* x_i <- sum of W_ij x_j over all neighbours j; W
                                                 * is doubly stochastic */
            dsgd_gossip(self, x,
                        dsgd_neighbours_of(self, &p->graph, self->step * p->rounds + i,
                                           DSGD_DOUBLY_STOCHASTIC));
        if (p->order != ATC)
            /* Adds the update to x. The gradient g was computed before x was averaged. */
            dsgd_local_step(self, x, g);
    }
}

static const char *const order_words[] = {"cta", "beside", "atc", NULL};

static const dsgd_option d_psgd_options[] = {
    DSGD_OPTION_GRAPH(
        d_psgd_params, graph, "ring",
        "communication graph; SGP's released code uses {kind: exponential, schedule: bipartite}"),
    DSGD_OPTION_LONG(d_psgd_params, rounds, 1, 1, 1000, NULL,
                     "number of averages per step (2: the doubled mixing of WAGMA's paper)"),
    DSGD_OPTION_CHOICE(
        d_psgd_params, order, order_words,
        "order of average and local step. cta: average the old models when the gradient is ready "
        "(the paper's listing). beside: average them while the gradient is computed (the paper's "
        "remark). atc: average the new models after the local step"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_d_psgd = {
    .about = {.name = "d_psgd",
              .summary = "each worker averages its model with its neighbours' models in every "
                         "step, synchronously",
              .reference = "Lian et al., NeurIPS 2017, Algorithm 1",
              DSGD_PARAMS(d_psgd_params, d_psgd_options)},
    .doc = {.idea = "Replace the global average by averages along a graph: agreement spreads a "
                    "little in every step.",
            .rule = "x_i <- sum over j of W_ij x_j  +  U(g_i, t),  g_i at x_i before the average",
            .sends = "The model to every neighbour, `rounds` times per step: 2 N bytes on a ring.",
            .waits = "A worker waits for its neighbours' models of the same step."},
    .work = d_psgd_work,
    .laws = DSGD_LAWS(
        {DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"order", ATC}, {"rounds", 2})},
        {DSGD_LAW_ALLREDUCE, DSGD_WITH({"order", ATC}, {"graph=complete", 0})},
        {DSGD_LAW_KEEPS_MEAN}, {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"order", BESIDE}, {"rounds", 2})},
        {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"order", ATC}, {"graph=exponential", 0})},
        {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"graph=torus", 0})},
        {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"graph=matching", 0})}),
};
