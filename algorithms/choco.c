/**
 * @file choco.c
 * CHOCO-SGD: decentralised SGD that sends compressed differences of models. The neighbours of a
 * worker keep a public copy of its model.
 *
 * A. Koloskova, S. U. Stich, M. Jaggi, "Decentralized stochastic optimization and gossip algorithms
 * with compressed communication", ICML 2019, Algorithm 2. The steps have the order of the paper.
 * Public copies start as zeros. A worker does not store each neighbour's public copy; it stores
 * only their weighted sum.
 */
#include "sim/algorithm.h"

typedef struct choco_params {
    double gamma;
    dsgd_spec graph, encoding;
} choco_params;

enum { BY_ENCODING = -1 };

/**
 * Returns the consensus step size gamma, by default w / (2 - w). w is the share of the elements
 * that a message contains. If the elements are random, the public copy of an element is 1 / w steps
 * old on average. Consider an eigenvector of I - W with eigenvalue l, and let a = gamma l / w. From
 * one message to the next, the squared amplitude of this eigenvector is multiplied by 1 - 2 a + a^2
 * (2 - w). With the default gamma this factor is smallest for l = 1. The factor is below 1 for all
 * eigenvalues l < 2.
 */
static double step_of(const choco_params *p)
{
    const double w = dsgd_encoding_contraction(&p->encoding);
    return p->gamma == BY_ENCODING ? w / (2 - w) : p->gamma;
}

static void choco_work(dsgd_node *self)
{
    const choco_params *p = self->params;
    const double gamma = step_of(p);
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    /* public copy of this worker's x, which equals the copy at its neighbours */
    dsgd_vector *public = dsgd_vector_new(self);
    /* sum, over all neighbours j, of the weight W_ij times the public copy of j */
    dsgd_vector *sum = dsgd_vector_new(self);
    dsgd_vector *q = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g); /* adds the update U of the optimizer to x */
        dsgd_copy(self, q, x);
        dsgd_combine(self, q, 1, -1, public);
        dsgd_encode(self, q, q, &p->encoding); /* q <- the compressed difference Q(x - public) */
        dsgd_combine(self, public, 1, 1, q);
        dsgd_gossip(self, q,
                    dsgd_neighbours_of(self, &p->graph, self->step, DSGD_DOUBLY_STOCHASTIC));
        dsgd_combine(self, sum, 1, 1, q); /* adds the weighted differences W_ij q_j of all
                                           * neighbours j */
        dsgd_combine(self, x, 1, gamma, sum);
        dsgd_combine(self, x, 1, -gamma, public); /* x <- x + gamma (sum - public) */
    }
}

static dsgd_status choco_check(const void *params, int n_workers, dsgd_error *error)
{
    const choco_params *p = params;
    if (dsgd_graph_period(&p->graph, n_workers) != 1)
        return dsgd_refuse(error,
                           "choco: graph must be the same in every round, because a worker keeps "
                           "the sum of its neighbours' public copies. Use graph: ring");
    if (dsgd_encoding_feeds_back(&p->encoding))
        return dsgd_refuse(error,
                           "choco: encoding must be without feedback, because the difference of x "
                           "and its public copy keeps the error. Leave out feedback");
    DSGD_TRY(dsgd_encoding_check_contracts(&p->encoding, "choco", "so that public copies diverge",
                                           error));
    if (isnan(step_of(p)))
        return dsgd_refuse(
            error,
            "choco: gamma has no default with encoding %s, because the share that it keeps depends "
            "on the values. Set gamma to a number; the less is sent, the smaller it must be",
            p->encoding.about->name);
    return dsgd_graph_check(&p->graph, n_workers, false, "choco", error);
}

static const char *const gamma_words[] = {"encoding", NULL};

static const dsgd_option choco_options[] = {
    DSGD_OPTION_DOUBLE(
        choco_params, gamma, BY_ENCODING, 0, 1, NULL,
        "consensus step size. encoding: w / (2 - w), w the share of a vector's squared norm that "
        "the compression keeps on average. Twice this value may diverge",
        .words = gamma_words),
    DSGD_OPTION_GRAPH(choco_params, graph, "ring",
                      "communication graph; must be the same in every round"),
    DSGD_OPTION_ENCODING(choco_params, encoding, "top_k",
                         "compression of the differences that are sent"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_choco = {
    .about = {.name = "choco",
              .summary = "gossip with compressed differences of models",
              .reference = "Koloskova, Stich and Jaggi, ICML 2019",
              DSGD_PARAMS(choco_params, choco_options)},
    .doc = {.idea = "The neighbours of a worker keep a copy of its model, so it sends only a "
                    "compressed difference to this copy.",
            .rule = "x <- x + U(g, x, t);  q = Q(x - y);  y_j <- y_j + q_j at j and its "
                    "neighbours;\nx <- x + gamma sum of W_ij (y_j - y_i)",
            .sends = "A compressed model difference to each neighbour.",
            .waits = "A worker waits for its neighbours' messages of the same step."},
    .work = choco_work,
    .check = choco_check,
    .laws = DSGD_LAWS(
        {DSGD_LAW_KEEPS_MEAN}, {DSGD_LAW_PLAIN_SGD},
        {DSGD_LAW_ALLREDUCE, DSGD_WITH({"gamma", 1}, {"graph=complete", 0}, {"encoding=none", 0})}),
};
