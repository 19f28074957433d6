/**
 * @file gossiping.c
 * Helper functions for tests of graphs, gossip and pairs.
 */
#include "tests/sim/gossiping.h"

static long star[][2] = {{0, 1}, {0, 2}, {3, 0}, {0, 4}, {4, 5}, {5, 3}};

support_case *gossiping(const char *algorithm, const graph *g)
{
    support_case *c = support_new(algorithm, g->workers);
    void *const params = support_spec(c, "graph", g->kind);
    const dsgd_entry *const about = dsgd_entry_find(dsgd_graph_kinds, g->kind);
    if (g->option != NULL)
        support_set(about, params, g->option, g->value);
    if (g->second != NULL)
        support_set(about, params, g->second, g->second_value);
    if (strcmp(g->kind, "edges") == 0)
        *(dsgd_pairs *)params = (dsgd_pairs){sizeof star / sizeof star[0], star};
    return c;
}

const dsgd_spec *graph_of(const support_case *c)
{
    return c->config.params;
}

void mixing(const support_case *c, long round, bool doubly, double w[MOST][MOST])
{
    const int p = c->config.workers;
    int to[MOST], from[MOST], other[MOST];
    double share[MOST];
    const dsgd_neighbour_room room = {to, from, other, share};
    memset(w, 0, sizeof(double[MOST][MOST]));
    for (int j = 0; j < p; j++) {
        const dsgd_neighbours n =
            dsgd_graph_neighbours(graph_of(c), p, c->config.seed, j, round, doubly, &room);
        w[j][j] = n.keep;
        for (int i = 0; i < n.n_to; i++)
            w[n.to[i]][j] = n.share[i];
    }
}

double consensus_after(support_case *c, long steps)
{
    const size_t p = (size_t)c->config.workers;
    c->learning.optimizer.lr = 0;
    support_steps_each(c, steps);
    support_spread(c);
    const support_outcome *got = support_ok(c);
    double *const mean = support_mean_model(got, (int)p);
    double sum = 0;
    for (size_t w = 0; w < p; w++)
        for (size_t i = 0; i < got->n_params; i++)
            sum += pow(got->x[w * got->n_params + i] - mean[i], 2);
    return sqrt(sum);
}
