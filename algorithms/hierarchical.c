/**
 * @file hierarchical.c
 * Hierarchical SGD: the workers of a cluster synchronise in every step, and all clusters
 * synchronise every `period` steps.
 *
 * T. Lin et al., "Don't use large mini-batches, use local SGD", ICLR 2020 (the hierarchical form),
 * and PyTorch's hierarchical model averager.
 */
#include "sim/algorithm.h"

typedef struct hierarchical_params {
    int64_t cluster; /* number of workers per cluster */
    int64_t period; /* H, the number of steps between two exchanges of the clusters */
    int inside, between;
} hierarchical_params;

enum { GRADIENTS, MODELS };
enum { ALLREDUCE, LEADERS, DELAYED };

static void clusters(const void *params, int n_workers, int *colour)
{
    const hierarchical_params *p = params;
    for (int i = 0; i < n_workers; i++)
        colour[i] = i / (int)p->cluster;
}

/** Forms one group of the leaders. The leader of a cluster is its first worker. */
static void leaders(const void *params, int n_workers, int *colour)
{
    const hierarchical_params *p = params;
    for (int i = 0; i < n_workers; i++)
        colour[i] = i % p->cluster == 0 ? 0 : -1;
}

/** State of a worker for the exchange between clusters. */
typedef struct bridge {
    const dsgd_comm *cluster, *leaders;
    bool leads;
    dsgd_request *round; /* running allreduce of the leaders' models; used only if option `between`
                          * is DELAYED */
    dsgd_vector *sent, *mean; /* sent: the model that this leader gave to the allreduce; mean: the
                               * result of the allreduce */
    dsgd_vector *meeting; /* copy of x for the exchange, because evaluations may read x during the
                           * exchange */
} bridge;

/**
 * Adds a correction to x: the mean of the leaders' models one period ago, minus this leader's model
 * at that time. Then starts an allreduce of the current models.
 */
static void add_delayed_mean(dsgd_node *self, bridge *b, dsgd_vector *x)
{
    if (b->round != NULL) {
        dsgd_request_wait(self, b->round, b->mean);
        dsgd_combine(self, x, 1, 1, b->mean);
        dsgd_combine(self, x, 1, -1, b->sent);
    }
    dsgd_copy(self, b->sent, x);
    b->round = dsgd_collective_begin(self, DSGD_ALLREDUCE, x, b->leaders);
}

static void average_between(dsgd_node *self, bridge *b, dsgd_vector *x)
{
    const hierarchical_params *p = self->params;
    if (p->between == ALLREDUCE) {
        dsgd_allreduce_mean(self, x, DSGD_WORLD);
        return;
    }
    dsgd_copy(self, b->meeting, x);
    if (p->inside == MODELS) { /* if option inside is GRADIENTS, all models of a cluster are already
                                * equal */
        dsgd_collective_run(self, DSGD_REDUCE, b->meeting, 0, b->cluster);
        if (b->leads)
            dsgd_divide(self, b->meeting, dsgd_group_size(p->cluster, self->n_workers));
    }
    if (b->leads && p->between == LEADERS)
        dsgd_allreduce_mean(self, b->meeting, b->leaders);
    else if (b->leads)
        add_delayed_mean(self, b, b->meeting);
    dsgd_collective_run(self, DSGD_BROADCAST, b->meeting, 0, b->cluster);
    dsgd_copy(self, x, b->meeting);
}

static void hierarchical_work(dsgd_node *self)
{
    const hierarchical_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    bridge b = {.cluster = dsgd_comm_split(self, clusters),
                .leaders = dsgd_comm_split(self, leaders),
                .leads = self->rank % p->cluster == 0,
                .sent = dsgd_vector_new(self),
                .mean = dsgd_vector_new(self),
                .meeting = dsgd_vector_new(self)};

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (p->inside == GRADIENTS)
            dsgd_allreduce_mean(self, g, b.cluster);
        dsgd_local_step(self, x, g);
        if ((self->step + 1) % p->period == 0)
            average_between(self, &b, x);
        else if (p->inside == MODELS)
            dsgd_allreduce_mean(self, x, b.cluster);
    }
}

static dsgd_status hierarchical_check(const void *params, int n_workers, dsgd_error *error)
{
    const hierarchical_params *p = params;
    return dsgd_check_groups("hierarchical: cluster", p->cluster, n_workers, error);
}

/**
 * Returns the traits of the algorithm. If option `between` is DELAYED, the leaders' allreduce
 * overlaps with the allreduces of the clusters.
 */
static unsigned hierarchical_traits(const void *params)
{
    const bool delayed = ((const hierarchical_params *)params)->between == DELAYED;
    return DSGD_AVERAGES_MODELS | DSGD_SENDS_THREE_VECTORS | (delayed ? 0 : DSGD_SENDS_COLLECTIVES);
}

static const char *const inside_words[] = {"gradients", "models", NULL};
static const char *const between_words[] = {"allreduce", "leaders", "delayed", NULL};

static const dsgd_option hierarchical_options[] = {
    DSGD_OPTION_LONG(
        hierarchical_params, cluster, 4, 1, 1048576, "workers",
        "number of workers per cluster, with consecutive ranks; must divide the number of workers"),
    DSGD_OPTION_LONG(hierarchical_params, period, 8, 1, 1e9, "steps",
                     "H: number of steps between two exchanges between clusters"),
    DSGD_OPTION_CHOICE(hierarchical_params, inside, inside_words,
                       "average of a cluster in every step. gradients: before the local step. "
                       "models: after the local step"),
    DSGD_OPTION_CHOICE(
        hierarchical_params, between, between_words,
        "exchange between clusters. allreduce: one allreduce of all models. leaders: an allreduce "
        "of the clusters' first workers, then a broadcast. delayed: like leaders, overlapped with "
        "the next H steps, and added as a correction"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_hierarchical = {
    .about = {.name = "hierarchical",
              .summary = "clusters synchronise in every step, all workers every `period` steps",
              .reference = "Lin et al., ICLR 2020; PyTorch's hierarchical model averager",
              DSGD_PARAMS(hierarchical_params, hierarchical_options)},
    .doc = {.idea = "Communicate often inside clusters, where the network is fast, and rarely "
                    "between them.",
            .rule = "g <- mean of g in the cluster, x <- x + U(g, x, t);  every H steps  x <- "
                    "(1/P) sum of all x",
            .sends = "One allreduce in the cluster of c workers in every step, about 2 (c-1)/c N "
                     "bytes, and about 2 N / H for all.",
            .waits = "A cluster waits for its slowest worker in every step, and all wait for the "
                     "slowest every H steps (delayed: for the slowest of the previous period)."},
    .check = hierarchical_check,
    .work = hierarchical_work,
    .traits = DSGD_AVERAGES_MODELS | DSGD_SENDS_THREE_VECTORS,
    .traits_with = hierarchical_traits,
    .laws =
        DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"cluster", 1})},
                  {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"cluster", 1}, {"between", 2})},
                  {DSGD_LAW_ALLREDUCE, DSGD_WITH({"period", 1})},
                  {DSGD_LAW_ALLREDUCE, DSGD_WITH({"period", 1}, {"between", 1})},
                  {DSGD_LAW_ALLREDUCE,
                   DSGD_WITH({"cluster", 2}, {"period", 1}, {"inside", 1}, {"between", 1})},
                  {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"cluster", 2})},
                  {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"cluster", 2}, {"inside", 1}, {"between", 1})},
                  {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"cluster", 2}, {"inside", 1}, {"between", 2})}),
};
