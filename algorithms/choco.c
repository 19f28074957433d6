/**
 * @file choco.c
 * CHOCO-SGD: decentralised SGD that sends encoded differences of models; all neighbours keep public
 * copies of each model.
 *
 * A. Koloskova, S. U. Stich, M. Jaggi, "Decentralized stochastic optimization and gossip algorithms
 * with compressed communication", ICML 2019, Algorithm 2 in the order of the paper. Public copies
 * begin as zeros, and a worker keeps the weighted sum of its neighbours' instead of each.
 */
#include "sim/algorithm.h"

typedef struct choco_params {
    double gamma;
    dsgd_spec graph, encoding;
} choco_params;

enum { BY_ENCODING = -1 };

/**
 * Where what is sent is drawn, a share w of all, an element's copy is 1 / w steps old in the mean,
 * and a mode of I - W with eigenvalue l keeps 1 - 2 a + a^2 (2 - w) of its square between two
 * sendings, a = gamma l / w. That is least for l = 1 at this value, and below 1 for all l < 2,
 * which I - W has.
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
    dsgd_vector *public = dsgd_vector_new(self); /* copy of x at the neighbours */
    dsgd_vector *sum = dsgd_vector_new(self); /* of W_ij times the public copies */
    dsgd_vector *q = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g); /* x <- x + U(g, x, t) */
        dsgd_copy(self, q, x);
        dsgd_combine(self, q, 1, -1, public);
        dsgd_encode(self, q, q, &p->encoding); /* q <- Q(x - public) */
        dsgd_combine(self, public, 1, 1, q);
        dsgd_gossip(self, q,
                    dsgd_neighbours_of(self, &p->graph, self->step, DSGD_DOUBLY_STOCHASTIC));
        dsgd_combine(self, sum, 1, 1, q); /* sum <- sum + sum of W_ij q_j */
        dsgd_combine(self, x, 1, gamma, sum);
        dsgd_combine(self, x, 1, -gamma, public); /* x <- x + gamma (sum - public) */
    }
}

static dsgd_status choco_check(const void *params, int n_workers, dsgd_error *error)
{
    const choco_params *p = params;
    if (dsgd_graph_period(&p->graph, n_workers) != 1)
        return dsgd_refuse(error, "choco: a worker keeps the sum of its neighbours' public copies, "
                                  "so these have to be the same in every round; a ring would do");
    if (dsgd_encoding_feeds_back(&p->encoding))
        return dsgd_refuse(
            error, "choco: what is not sent stays in x less its public copy; leave out feedback");
    DSGD_TRY(dsgd_encoding_check_contracts(&p->encoding, "choco", "so that public copies run away",
                                           error));
    if (isnan(step_of(p)))
        return dsgd_refuse(error,
                           "choco: what %s keeps of a vector depends on values, so that gamma has "
                           "no default; give it a number, the smaller the less is sent",
                           p->encoding.about->name);
    return dsgd_graph_check(&p->graph, n_workers, false, "choco", error);
}

static const char *const gamma_words[] = {"encoding", NULL};

static const dsgd_option choco_options[] = {
    DSGD_OPTION_DOUBLE(choco_params, gamma, BY_ENCODING, 0, 1, NULL,
                       "step of the mixing; twice that of `encoding` may diverge: w / (2 - w), w "
                       "the share of a vector's square that the encoding keeps in the mean: 0.015 "
                       "for the largest 1 % (the paper tuned 0.04), 0.47 for sign, 1 for none",
                       .words = gamma_words),
    DSGD_OPTION_GRAPH(choco_params, graph, "ring", "who exchanges with whom, always the same"),
    DSGD_OPTION_ENCODING(choco_params, encoding, "top_k", "of the differences that are sent"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_choco = {
    .about = {.name = "choco",
              .summary = "encoded differences to graph neighbours",
              .reference = "Koloskova, Stich and Jaggi, ICML 2019",
              DSGD_PARAMS(choco_params, choco_options)},
    .doc = {.idea = "Neighbours keep a copy of my model: send only how it has changed, encoded.",
            .rule = "x <- x + U(g, x, t);  q = Q(x - y);  y_j <- y_j + q_j at all who know y_j;\nx "
                    "<- x + gamma sum of W_ij (y_j - y_i)",
            .sends = "an encoded model to each neighbour",
            .waits = "for the neighbours' messages of this step"},
    .work = choco_work,
    .check = choco_check,
    .laws = DSGD_LAWS(
        {DSGD_LAW_KEEPS_MEAN}, {DSGD_LAW_PLAIN_SGD},
        {DSGD_LAW_ALLREDUCE, DSGD_WITH({"gamma", 1}, {"graph=complete", 0}, {"encoding=none", 0})}),
};
