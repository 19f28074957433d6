/**
 * @file e_tree.c
 * Learning along a tree with three roles. Trainers are the leaves. An aggregator is a server for
 * `group` trainers and averages their models. After every `rounds` averages, the coordinator,
 * another server, averages the aggregators' models.
 *
 * This file is E-Tree (L. Yang et al., arXiv 2008.01553) with given groups, an example of RoleML
 * (Y. Tan et al., Middleware 2024). Once per `period`, each trainer sends a model to its aggregator
 * and receives a model. After every `rounds` averages, each aggregator sends a model to the
 * coordinator and receives a model.
 */
#include "sim/algorithm.h"

typedef struct e_tree_params {
    int64_t period, rounds, group;
} e_tree_params;
/* numbers of the servers: the coordinator is server 0; the aggregators follow */
enum { COORDINATOR, AGGREGATORS };

static int e_tree_servers(const void *params, int n_workers)
{
    const e_tree_params *p = params;
    return AGGREGATORS + n_workers / dsgd_group_size(p->group, n_workers);
}

/** Executes the program of a trainer. */
static void e_tree_work(dsgd_node *self)
{
    const e_tree_params *p = self->params;
    const int parent = AGGREGATORS + self->rank / (int)p->group;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if ((self->step + 1) % p->period == 0) {
            dsgd_send(self, dsgd_server_address(self, parent), x, NULL, 0);
            dsgd_copy(self, x, dsgd_recv(self, INFINITY)->x);
        }
    }
}

/**
 * Executes the program of an aggregator or of the coordinator. It averages the models of its
 * children in the tree and sends them the mean.
 */
static void e_tree_serve(dsgd_node *self)
{
    const e_tree_params *p = self->params;
    const int group = dsgd_group_size(p->group, self->n_workers);
    const bool root = self->rank == COORDINATOR;
    const int n = root ? self->n_workers / group : group; /* number of children in the tree */
    const int first = root ? self->n_workers + AGGREGATORS : (self->rank - AGGREGATORS) * group;
    dsgd_vector *x = dsgd_vector_new(self);

    for (int64_t round = 1;; round++) {
        for (int i = 0; i < n; i++) {
            const dsgd_message *m = dsgd_recv(self, INFINITY);
            dsgd_message_used(self, m, 0);
            dsgd_combine(self, x, i > 0, 1, m->x);
        }
        dsgd_divide(self, x, n);
        if (!root && round % p->rounds == 0) {
            dsgd_send(self, dsgd_server_address(self, COORDINATOR), x, NULL, 0);
            dsgd_copy(self, x, dsgd_recv(self, INFINITY)->x);
        }
        for (int i = 0; i < n; i++)
            dsgd_send(self, first + i, x, NULL, 0);
    }
}

static dsgd_status e_tree_check(const void *params, int n_workers, dsgd_error *error)
{
    const e_tree_params *p = params;
    return dsgd_check_groups("e_tree: group", p->group, n_workers, error);
}

static int64_t e_tree_period(const void *params, int n_workers)
{
    const e_tree_params *p = params;
    (void)n_workers;
    return p->period * p->rounds;
}

static const dsgd_option e_tree_options[] = {
    DSGD_OPTION_LONG(e_tree_params, period, 4, 1, 1e6, "steps",
                     "number of local steps between two averages"),
    DSGD_OPTION_LONG(e_tree_params, rounds, 2, 1, 1e6, NULL,
                     "number of averages of a group per average of all"),
    DSGD_OPTION_LONG(e_tree_params, group, 2, 1, 1 << 20, "workers",
                     "number of trainers per aggregator"),
    DSGD_OPTION_END,
};

static const dsgd_algorithm e_tree = {
    .about =
        {.name = "e_tree",
         .summary =
             "aggregators average groups of trainers, and a coordinator averages the aggregators",
         .reference = "Yang et al., arXiv 2008.01553; an example of RoleML",
         DSGD_PARAMS(e_tree_params, e_tree_options)},
    .check = e_tree_check,
    .work = e_tree_work,
    .serve = e_tree_serve,
    .n_servers = e_tree_servers,
    .traits = DSGD_WHOLE_SERVERS,
    .period = e_tree_period,
    .laws =
        DSGD_LAWS({.kind = DSGD_LAW_PLAIN_SGD}, {.kind = DSGD_LAW_KEEPS_MEAN},
                  {.kind = DSGD_LAW_ALLREDUCE, .with = DSGD_WITH({"period", 1}, {"rounds", 1})}),
};

static const dsgd_algorithm *const list[] = {&e_tree, NULL};
const dsgd_plugin dsgd_plugin_algorithms = {DSGD_PLUGIN_ABI, list};
