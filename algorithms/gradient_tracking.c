/**
 * @file gradient_tracking.c
 * Gradient tracking and D2: gossip that converges to the optimum of all data, even if the workers
 * have different data.
 *
 * P. Di Lorenzo and G. Scutari, "NEXT: in-network nonconvex optimization", IEEE TSIPN 2016, and A.
 * Nedic et al., SIAM J. Optim. 2017 (DIGing), mix the models before the local step. This file mixes
 * the models after the local step, as T. Vogels et al., "RelaySum", NeurIPS 2021, do in their
 * comparison. D2 is from H. Tang et al., ICML 2018, Algorithm 1.
 */
#include "sim/algorithm.h"

typedef struct gradient_tracking_params {
    dsgd_spec graph;
    int form;
} gradient_tracking_params;

enum { TRACKING, D2 };

static void gradient_tracking_work(dsgd_node *self)
{
    const gradient_tracking_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    /* correction that is added to the update u; c + u tracks the mean update of all workers */
    dsgd_vector *c = dsgd_vector_new(self);
    dsgd_vector *u = dsgd_vector_new(self); /* update U of this step */
    /*
     * Copy of x for the exchange. During the exchange it contains partial sums, which evaluations
     * must not read.
     */
    dsgd_vector *mixed = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        const dsgd_neighbours *const neighbours =
            dsgd_neighbours_of(self, &p->graph, self->step, DSGD_DOUBLY_STOCHASTIC);
        dsgd_gradient(self, g, x);
        dsgd_copy(self, u, x);
        dsgd_local_step(self, x, g);
        if (p->form == TRACKING) {
            dsgd_combine(self, u, -1, 1, x); /* sets u to the update U, the new x minus the old x */
            dsgd_combine(self, x, 1, 1, c);
            dsgd_combine(self, c, 1, 1, u);
            dsgd_copy(self, mixed, x);
            dsgd_request *const models = dsgd_gossip_begin(self, mixed, neighbours);
            dsgd_request *const trackers = dsgd_gossip_begin(self, c, neighbours);
            dsgd_request_wait(self, models, mixed); /* mixed <- W (x + u + c) */
            dsgd_copy(self, x, mixed);
            dsgd_request_wait(self, trackers, c);
            dsgd_combine(self, c, 1, -1, u); /* new correction: c <- W (c + u) - u */
        } else {
            dsgd_copy(self, u, x); /* u <- x + U(g, x, t) */
            dsgd_combine(self, x, 1, 1, c);
            dsgd_gossip(self, x, neighbours); /* x' <- W (x + U + c), where x' is the new x */
            dsgd_copy(self, c, x);
            dsgd_combine(self, c, 1, -1, u); /* c <- x' - (x + U) */
        }
    }
}

/**
 * Computes y <- (I - W) x / about. Returns the Rayleigh quotient x (I - W) x / (x x). @p to
 * contains the receivers of each rank, and @p n contains the number of these receivers.
 */
static double apply_laplacian(int n_workers, const int *n, int *const *to, double about,
                              const double *x, double *y)
{
    double xy = 0, xx = 0;
    for (int i = 0; i < n_workers; i++) {
        y[i] = 0;
        for (int k = 0; k < n[i]; k++) {
            const int j = to[i][k];
            y[i] += (x[i] - x[j]) / (1 + (n[i] > n[j] ? n[i] : n[j]));
        }
        xy += x[i] * y[i];
        y[i] /= about;
        xx += x[i] * x[i];
    }
    return xx > 0 ? xy / xx : 0;
}

/**
 * Returns the smallest eigenvalue l of the doubly stochastic matrix W of an undirected graph that
 * does not change. The power iteration returns a value that is at least l. The value exceeds l by
 * less than 1 % of 1 - l.
 */
static double least_eigenvalue(const dsgd_spec *pick, int n_workers)
{
    enum { MOST_ROUNDS = 1000 };
    /*
     * random start vector, which has none of the symmetries of the graph (Knuth's generator MMIX)
     */
    uint64_t random = 1;
    const size_t p = (size_t)n_workers;
    const dsgd_graph g = {pick->params, n_workers, 0};
    int *const n = dsgd_xcalloc(p, sizeof *n);
    int **const to = dsgd_xcalloc(p, sizeof *to);
    int *const room = dsgd_xcalloc(p, sizeof *room);
    double *x = dsgd_xcalloc(p, sizeof *x), *y = dsgd_xcalloc(p, sizeof *y);
    for (size_t i = 0; i < p; i++) {
        n[i] = ((const dsgd_graph_kind *)pick->about)->to(&g, (int)i, 0, room);
        to[i] = dsgd_xcalloc((size_t)n[i] + 1, sizeof *to[i]);
        memcpy(to[i], room, (size_t)n[i] * sizeof *room);
        random = random * 6364136223846793005 + 1442695040888963407;
        x[i] = (double)(random >> 11) / 0x1p53 - 0.5;
    }
    /*
     * most: largest eigenvalue of I - W, which is below 2; before: previous estimate of this
     * eigenvalue
     */
    double most = 0, before = -1;
    for (int round = 0; round < MOST_ROUNDS && most - before > 1e-15; round++) {
        /* Always run the first 10 rounds, because the estimate may not change at first. */
        before = round < 10 ? -1 : most;
        most = apply_laplacian(n_workers, n, to, most > 0 ? most : 1, x, y);
        double *const old = x;
        x = y;
        y = old;
    }
    for (size_t i = 0; i < p; i++)
        free(to[i]);
    free(n);
    free(to);
    free(room);
    free(x);
    free(y);
    return 1 - most;
}

static dsgd_status gradient_tracking_check(const void *params, int n_workers, dsgd_error *error)
{
    static const double bound = -1.0 / 3, rounding = 1e-9;
    const gradient_tracking_params *p = params;
    const dsgd_graph_kind *kind = (const dsgd_graph_kind *)p->graph.about;
    DSGD_TRY(dsgd_graph_check(&p->graph, n_workers, false, "gradient_tracking", error));
    if (p->form != D2 || kind->directed || dsgd_graph_period(&p->graph, n_workers) != 1)
        return DSGD_OK;
    const double least = least_eigenvalue(&p->graph, n_workers);
    if (least >= bound - rounding)
        return DSGD_OK;
    return dsgd_refuse(
        error,
        "gradient_tracking: form: d2 diverges if the smallest eigenvalue of W is below -1/3; graph "
        "%s of %d workers has %.3g. Use graph: ring or form: tracking",
        kind->about.name, n_workers, least);
}

static const char *const form_words[] = {"tracking", "d2", NULL};

static const dsgd_option gradient_tracking_options[] = {
    DSGD_OPTION_GRAPH(gradient_tracking_params, graph, "ring", "communication graph"),
    DSGD_OPTION_CHOICE(
        gradient_tracking_params, form, form_words,
        "source of the mean update. tracking: a vector that tracks it is exchanged with the model. "
        "d2: the last two models; rejected if W does not change and its smallest eigenvalue is "
        "below -1/3, which rings of even size just reach"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_gradient_tracking = {
    .about =
        {.name = "gradient_tracking",
         .summary =
             "gossip that corrects each worker's update towards the mean update of all workers",
         .reference = "Di Lorenzo, Scutari, IEEE TSIPN 2016; D2: Tang et al., ICML 2018",
         DSGD_PARAMS(gradient_tracking_params, gradient_tracking_options)},
    .doc = {.idea = "If data differ, gossip at a constant learning rate does not reach the "
                    "optimum. Mixing the updates too removes this error.",
            .rule = "u_i = U(g_i, t), c = 0 at first.  tracking: x <- W (x + u + c), c <- W (c + "
                    "u) - u.  d2: x' = W (x + u + c), c <- x' - x - u, x <- x'",
            .sends = "tracking: model and tracker to every neighbour, 4 N on a ring. d2: only the "
                     "model, 2 N.",
            .waits = "A worker waits for its neighbours' vectors of the same step; with tracking "
                     "for the model, then for the tracker (two latencies)."},
    .check = gradient_tracking_check,
    .work = gradient_tracking_work,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"form", D2})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"graph=complete", 0})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"graph=complete", 0}, {"form", D2})},
                      {DSGD_LAW_KEEPS_MEAN}, {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"form", D2})},
                      {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"graph=exponential", 0})}),
};
