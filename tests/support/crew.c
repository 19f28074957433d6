/**
 * @file crew.c
 * Trains workers through a store of values. Makes local steps with own or mean gradients, and
 * averages pairs of models.
 */
#include "tests/support/crew.h"

#include "models/zoo/network.h"

static void replace(const crew *c, dsgd_value *old, dsgd_value next)
{
    dsgd_value_release(c->values, *old);
    *old = next;
}

crew crew_open(const dsgd_values_config *config, const double *x)
{
    const dsgd_network *const network = config->problem.network;
    const size_t n_pieces = config->problem.n_pieces, n = config->stream.n_workers;
    crew c = {.problem = config->problem, .n = (uint32_t)n, .batch = config->stream.batch};
    dsgd_error error = {""};
    DSGD_ASSERT(dsgd_values_open(config, &c.values, &error) == DSGD_OK, "%s", error.text);
    c.x = dsgd_keep(n * n_pieces, sizeof *c.x);
    c.v = dsgd_keep(n * n_pieces, sizeof *c.v);
    c.state = dsgd_keep(n, sizeof *c.state);
    double *const state = dsgd_keep(network->n_state + 1, sizeof *state);
    for (uint32_t w = 0; w < n; w++) {
        dsgd_network_initial_state(network, 3, w, state);
        c.state[w] = dsgd_values_state(c.values, state);
        for (size_t k = 0; k < n_pieces; k++)
            c.x[w * n_pieces + k] =
                w == 0 ? dsgd_values_constant(c.values, k, x) : dsgd_value_retain(c.x[k]);
    }
    return c;
}

/**
 * Returns the mean of @p count values. The first value is *x. Each further value lies @p apart
 * values after the previous one.
 */
static dsgd_value mean(const crew *c, dsgd_origin where, size_t piece, uint32_t count,
                       const dsgd_value *x, size_t apart)
{
    dsgd_value *const all = dsgd_keep(count, sizeof *all);
    double *const ones = dsgd_keep(count, sizeof *ones);
    for (size_t i = 0; i < count; i++) {
        all[i] = x[i * apart];
        ones[i] = 1;
    }
    return dsgd_values_combine(c->values, where, piece, count, all, ones, count);
}

void crew_step(crew *c, uint64_t step, double lr, bool allreduce)
{
    const size_t n_pieces = c->problem.n_pieces, n = c->n * n_pieces;
    dsgd_value *const g = dsgd_keep(n, sizeof *g);
    for (uint32_t w = 0; w < c->n; w++)
        dsgd_values_gradient(c->values, (dsgd_origin){w, step}, c->batch, c->x + w * n_pieces,
                             &c->state[w], g + w * n_pieces);
    for (size_t i = 0; i < n; i++) {
        const dsgd_origin where = {(uint32_t)(i / n_pieces), step};
        const size_t k = i % n_pieces;
        const dsgd_value used =
            allreduce ? mean(c, where, k, c->n, g + k, n_pieces) : dsgd_value_retain(g[i]);
        replace(c, &c->x[i],
                dsgd_values_update(c->values, where, k, c->x[i], used, &c->v[i],
                                   (dsgd_rate){lr, step + 1}));
        dsgd_value_release(c->values, used);
    }
    for (size_t i = 0; i < n; i++)
        dsgd_value_release(c->values, g[i]);
}

void crew_gossip(crew *c, uint64_t step, uint32_t apart)
{
    const size_t n_pieces = c->problem.n_pieces;
    for (uint32_t w = 0; w < c->n; w++)
        for (size_t k = 0; k < n_pieces; k++) {
            dsgd_value *const own = &c->x[w * n_pieces + k];
            const dsgd_value both[] = {*own, c->x[(w + apart) % c->n * n_pieces + k]};
            replace(c, own, mean(c, (dsgd_origin){w, step}, k, 2, both, 1));
        }
}

double *crew_models(const crew *c)
{
    const size_t n_pieces = c->problem.n_pieces, n_params = c->problem.network->n_params;
    double *const out = dsgd_keep(c->n * n_params, sizeof *out);
    for (size_t i = 0; i < c->n * n_pieces; i++)
        dsgd_values_read(c->values, i % n_pieces, c->x[i],
                         out + i / n_pieces * n_params + c->problem.piece_begin[i % n_pieces]);
    DSGD_ASSERT(!dsgd_values_divergence(c->values).happened, "no model diverges");
    return out;
}

dsgd_evaluation crew_evaluation(const crew *c)
{
    return dsgd_values_result(c->values, dsgd_values_evaluate(c->values, c->n, 0, c->x, c->state));
}
