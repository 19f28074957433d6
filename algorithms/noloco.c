/**
 * @file noloco.c
 * NoLoCo: long rounds of local steps; then a small random group of workers takes an outer step with
 * momentum to its mean. No collective of all.
 *
 * J. Kolehmainen et al., "NoLoCo: no-all-reduce low communication training method for large
 * models", 2025, and the released code, in which the paper's gamma is tied to the outer learning
 * rate and Adam's moments stay local. The code sends two vectors each way through the group's first
 * member, where one would do.
 */
#include "sim/algorithm.h"

typedef struct noloco_params {
    int64_t period; /* H */
    int64_t group; /* S */
    double outer_lr, outer_momentum;
} noloco_params;

/** A random order of all, cut into groups: entries a, a + P/S, a + 2 P/S, ... */
static void noloco_groups(const dsgd_colouring *at, int *colour)
{
    const noloco_params *p = at->params;
    const int n_groups = at->n_workers / dsgd_group_size(p->group, at->n_workers);
    for (int i = 0; i < at->n_workers; i++)
        colour[i] = dsgd_shuffled(at, i) % n_groups;
}

static void noloco_work(dsgd_node *self)
{
    const noloco_params *p = self->params;
    dsgd_vector *x = dsgd_model(self); /* fast weights theta */
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *slow = dsgd_vector_new(self); /* phi, this worker's own */
    dsgd_vector *m = dsgd_vector_new(self); /* outer momentum */
    dsgd_copy(self, slow, x);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if ((self->step + 1) % p->period != 0)
            continue;
        dsgd_allreduce_mean(self, x, dsgd_comm_split(self, noloco_groups, self->step / p->period));
        dsgd_combine(self, m, p->outer_momentum, p->outer_lr, x);
        dsgd_combine(self, m, 1, -p->outer_lr, slow); /* m <- mu m + lr (mean - phi) */
        dsgd_combine(self, slow, 1, 1, m);
        dsgd_copy(self, x, slow);
    }
}

static dsgd_status noloco_check(const void *params, int n_workers, dsgd_error *error)
{
    const noloco_params *p = params;
    return dsgd_check_groups("noloco: group", p->group, n_workers, error);
}

static dsgd_traffic noloco_traffic(const void *params, const dsgd_scale *scale)
{
    const noloco_params *p = params;
    const dsgd_scale group = dsgd_scale_of_comm(scale, dsgd_group_size(p->group, scale->n_workers));
    return dsgd_traffic_times(dsgd_allreduce_traffic(&group), 1.0 / (double)p->period);
}

static const dsgd_option noloco_options[] = {
    DSGD_OPTION_LONG(noloco_params, period, 50, 1, 1e9, "steps", "H, inner steps per round"),
    DSGD_OPTION_LONG(noloco_params, group, 2, 1, 1048576, "workers",
                     "S, workers per random group; divides the number of workers"),
    DSGD_OPTION_DOUBLE(noloco_params, outer_lr, 0.7, 0, 100, NULL,
                       "rate of the outer step towards the group's mean"),
    DSGD_OPTION_DOUBLE(noloco_params, outer_momentum, 0.5, 0, 1, NULL,
                       "its heavy-ball momentum; the constructor's default is 0.9"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_noloco = {
    .about = {.name = "noloco",
              .summary = "rounds of local steps; outer steps towards the mean of a random pair",
              .reference = "Kolehmainen et al. 2025, arXiv 2506.10911, and the released code",
              DSGD_PARAMS(noloco_params, noloco_options)},
    .doc = {.idea = "Replace the outer allreduce by means of small random groups, whose members "
                    "mix over the rounds.",
            .rule = "x <- x + U(g, x, t);  every H steps  m <- mu m + lr (group's mean of x - s), "
                    "s <- s + m, x <- s",
            .sends = "one allreduce of the model in a group of S every H steps: about 2 (S-1)/S N "
                     "/ H bytes",
            .waits = "the members of a group for its slowest, every H steps"},
    .check = noloco_check,
    .work = noloco_work,
    .averages_models = true,
    .traffic = noloco_traffic,
    .sends = DSGD_SENDS_COLLECTIVES,
    .draws = true,
    .laws = DSGD_LAWS(
        {DSGD_LAW_PLAIN_SGD,
         DSGD_WITH({"period", 5}, {"group", 1}, {"outer_lr", 1}, {"outer_momentum", 0})},
        {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"period", 2}, {"outer_lr", 1}, {"outer_momentum", 0})},
        {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"period", 2})}),
};
