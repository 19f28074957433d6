/**
 * @file moshpit.c
 * Moshpit SGD: workers lie at random places of a grid, and average models along one axis after the
 * other. No collective of all, and who is away is left out of its row alone.
 *
 * M. Ryabinin, E. Gorbunov, V. Plokhotnyuk, G. Pekhimenko, "Moshpit SGD: communication-efficient
 * decentralized training on heterogeneous unreliable devices", NeurIPS 2021, and the released
 * emulation. There peers find each other's rows by a distributed hash table; here all know them.
 */
#include "sim/algorithm.h"

typedef struct moshpit_params {
    int64_t period, side;
} moshpit_params;

/** Axes of the smallest grid that has a cell for each worker. */
static int64_t axes_of(const moshpit_params *p, int n_workers)
{
    int64_t axes = 1;
    for (int64_t cells = p->side; cells < n_workers; cells *= p->side)
        axes++;
    return axes;
}

static int64_t to_the(int64_t side, int64_t n)
{
    int64_t cells = 1;
    for (; n > 0; n--)
        cells *= side;
    return cells;
}

/** Rows along an axis, the round: by all other coordinates of a worker's cell. */
static void rows_along(const dsgd_colouring *at, int *colour)
{
    const moshpit_params *p = at->params;
    const int64_t cells = to_the(p->side, axes_of(p, at->n_workers));
    const int64_t below = to_the(p->side, at->round);
    const dsgd_colouring grid = {.n_workers = (int)cells, .seed = at->seed};
    for (int i = 0; i < at->n_workers; i++) {
        const int64_t cell = dsgd_shuffled(&grid, i);
        colour[i] = (int)(cell / (below * p->side) * below + cell % below);
    }
}

static void moshpit_work(dsgd_node *self)
{
    const moshpit_params *p = self->params;
    const int64_t axes = axes_of(p, self->n_workers);
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        const int64_t round = self->step / p->period;
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if ((self->step + 1) % p->period == 0)
            dsgd_allreduce_mean(self, x, dsgd_comm_split(self, rows_along, round % axes));
    }
}

static dsgd_status moshpit_check(const void *params, int n_workers, dsgd_error *error)
{
    const moshpit_params *p = params;
    if (axes_of(p, n_workers) <= 8)
        return DSGD_OK;
    return dsgd_refuse(error, "moshpit: side: %jd, but a grid for %d workers has 8 axes at most",
                       p->side, n_workers);
}

static int64_t moshpit_period(const void *params, int n_workers)
{
    const moshpit_params *p = params;
    return p->period * axes_of(p, n_workers);
}

static bool is_full(const void *params, int n_workers)
{
    const moshpit_params *p = params;
    return to_the(p->side, axes_of(p, n_workers)) == n_workers;
}

static const dsgd_option moshpit_options[] = {
    DSGD_OPTION_LONG(moshpit_params, period, 1, 1, 1e9, "steps", "local steps per average"),
    DSGD_OPTION_LONG(moshpit_params, side, 8, 2, 4096, "workers",
                     "of the grid, the longest that a row can be; it has as many axes as all need"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_moshpit = {
    .about = {.name = "moshpit",
              .summary = "means along the rows of a grid, one axis after the other",
              .reference = "Ryabinin et al., NeurIPS 2021, and the released emulation",
              DSGD_PARAMS(moshpit_params, moshpit_options)},
    .doc = {.idea = "A mean of all in D rounds of small groups: who is late or away holds up one "
                    "row.",
            .rule = "x <- x + U(g, x, t);  every `period` steps x <- mean of x over its row along "
                    "axis r mod D, r the round.  In a full grid all have the mean after D rounds",
            .sends = "one allreduce of the model in a row of `side` workers per round: about 2 N",
            .waits = "the members of a row for its slowest, in every round. The grid is made once; "
                     "the released library makes new groups of those who have not just met"},
    .check = moshpit_check,
    .work = moshpit_work,
    .traits = DSGD_SENDS_COLLECTIVES | DSGD_AVERAGES_MODELS | DSGD_QUORUM,
    .period = moshpit_period,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_KEEPS_MEAN},
                      {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"side", 3}, {"period", 2})},
                      {DSGD_LAW_REACHES_MEAN, DSGD_WITH({"side", 2}), is_full}),
};
