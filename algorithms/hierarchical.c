/**
 * @file hierarchical.c
 * Hierarchical SGD: clusters of workers that synchronise in every step, and meet now and then.
 *
 * T. Lin et al., "Don't use large mini-batches, use local SGD", ICLR 2020, its hierarchical form;
 * PyTorch's hierarchical model averager.
 */
#include "sim/algorithm.h"

typedef struct hierarchical_params {
    int64_t cluster; /* workers */
    int64_t period; /* H */
    int inside, between;
} hierarchical_params;

enum { GRADIENTS, MODELS };
enum { ALLREDUCE, LEADERS, DELAYED };

static void clusters(const dsgd_colouring *at, int *colour)
{
    const hierarchical_params *p = at->params;
    for (int i = 0; i < at->n_workers; i++)
        colour[i] = i / (int)p->cluster;
}

/** The first worker of each cluster. */
static void leaders(const dsgd_colouring *at, int *colour)
{
    const hierarchical_params *p = at->params;
    for (int i = 0; i < at->n_workers; i++)
        colour[i] = i % p->cluster == 0 ? 0 : -1;
}

/** What a worker has for the exchange between clusters. */
typedef struct bridge {
    const dsgd_comm *cluster, *leaders;
    bool leads;
    dsgd_request *round; /* of leaders, delayed: the mean under way */
    dsgd_vector *sent, *mean; /* of that */
    dsgd_vector *meeting; /* the model while it is exchanged: evaluations read x */
} bridge;

/** x <- x + mean of the leaders' models a period ago - this leader's; and the next such mean. */
static void correct(dsgd_node *self, bridge *b, dsgd_vector *x)
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
    if (p->inside == MODELS) { /* else they are equal */
        dsgd_collective_run(self, DSGD_REDUCE, b->meeting, 0, b->cluster);
        if (b->leads)
            dsgd_divide(self, b->meeting, dsgd_group_size(p->cluster, self->n_workers));
    }
    if (b->leads && p->between == LEADERS)
        dsgd_allreduce_mean(self, b->meeting, b->leaders);
    else if (b->leads)
        correct(self, b, b->meeting);
    dsgd_collective_run(self, DSGD_BROADCAST, b->meeting, 0, b->cluster);
    dsgd_copy(self, x, b->meeting);
}

static void hierarchical_work(dsgd_node *self)
{
    const hierarchical_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    bridge b = {.cluster = dsgd_comm_split(self, clusters, 0),
                .leaders = dsgd_comm_split(self, leaders, 0),
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

/** Delayed, the leaders' allreduce goes beside the clusters' allreduces. */
static unsigned hierarchical_traits(const void *params)
{
    const bool delayed = ((const hierarchical_params *)params)->between == DELAYED;
    return DSGD_AVERAGES_MODELS | DSGD_SENDS_THREE_VECTORS | (delayed ? 0 : DSGD_SENDS_COLLECTIVES);
}

static const char *const inside_words[] = {"gradients", "models", NULL};
static const char *const between_words[] = {"allreduce", "leaders", "delayed", NULL};

static const dsgd_option hierarchical_options[] = {
    DSGD_OPTION_LONG(hierarchical_params, cluster, 4, 1, 1048576, "workers",
                     "workers per cluster, of consecutive ranks; divides the number of workers"),
    DSGD_OPTION_LONG(hierarchical_params, period, 8, 1, 1e9, "steps",
                     "H, steps from one exchange between clusters to the next"),
    DSGD_OPTION_CHOICE(
        hierarchical_params, inside, inside_words,
        "what a cluster averages in every step: gradients, or, behind the local step, models"),
    DSGD_OPTION_CHOICE(
        hierarchical_params, between, between_words,
        "the mean of all models by one allreduce, by an allreduce of the clusters' leaders and a "
        "broadcast, or so beside the next H steps, to be added as a correction (delayed)"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_hierarchical = {
    .about = {.name = "hierarchical",
              .summary = "clusters that synchronise in every step, and all now and then",
              .reference = "Lin et al., ICLR 2020; PyTorch's hierarchical model averager",
              DSGD_PARAMS(hierarchical_params, hierarchical_options)},
    .doc = {.idea =
                "Talk much where the network is fast, inside clusters, and little between them.",
            .rule = "g <- cluster's mean of g, x <- x + U(g, x, t);  every H steps  x <- (1/P) sum "
                    "of all x",
            .sends = "one allreduce in the cluster of c in every step, about 2 (c-1)/c N bytes, "
                     "and about 2 N / H; by leaders about 2 N / H + 2 N / (c H)",
            .waits =
                "the cluster for its slowest in every step, everyone for the slowest every H "
                "steps; delayed: for the slowest of a round before. The paper also has local steps "
                "between the averages of a cluster, H for each of its H_b per average of all: here "
                "H is 1"},
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
