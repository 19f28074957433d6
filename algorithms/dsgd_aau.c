/**
 * @file dsgd_aau.c
 * DSGD-AAU: a worker that has finished its step waits until one of its neighbours has finished.
 * Then it mixes its model with the models of all finished neighbours. The number of partners
 * therefore adapts to the slow workers.
 *
 * G. Xiong, G. Yan, S. Wang, J. Li, "Straggler-resilient decentralized learning via adaptive
 * asynchronous updates", MobiHoc 2024, arXiv 2306.06559. This file follows the paper's abstract and
 * a recollection of its body.
 */
#include "sim/algorithm.h"

typedef struct dsgd_aau_params {
    dsgd_spec graph;
    double grace; /* time that an iteration waits for more finished workers before it ends, in
                   * seconds */
} dsgd_aau_params;

/**
 * Takes local steps and mixes the model with the partners that the server selects. For each partner
 * the server sends two numbers. The first number is the partner's rank. The second number is the
 * number of partners of this worker or of the partner, whichever is larger.
 */
static void dsgd_aau_work(dsgd_node *self)
{
    const dsgd_aau_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    const int most = dsgd_neighbours_of(self, &p->graph, 0, DSGD_DOUBLY_STOCHASTIC)->n_to;
    int *to = dsgd_memory_new(self, (size_t)most, sizeof *to);
    double *share = dsgd_memory_new(self, (size_t)most, sizeof(double));

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if (most == 0)
            continue;
        dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
        dsgd_send(self, dsgd_server_address(self, 0), NULL, NULL, 0);
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        const int n = (int)l->n / 2;
        double keep = 1;
        for (int i = 0; i < n; i++) {
            to[i] = (int)l->numbers[2 * i];
            share[i] = 1.0 / (1 + l->numbers[2 * i + 1]); /* Metropolis weight of partner i */
            keep -= share[i];
        }
        const unsigned promises = DSGD_PROMISE_COLUMNS | DSGD_PROMISE_ROWS;
        dsgd_gossip(self, x, &(dsgd_neighbours){n, n, to, to, keep, share, promises});
    }
}

/** State of the server: finished workers and the edges of the present epoch. */
typedef struct epoch {
    struct {
        bool finished; /* true if the worker has finished its step and waits to mix */
        int next; /* next worker on the path to the representative of the connected part that
                   * contains this worker */
        int64_t partners; /* number of finished neighbours; 0 if the worker has not finished */
    } * is; /* state of each worker; P entries */
    int n_parts; /* number of connected parts of the graph that this epoch's edges form */
    dsgd_neighbour_room room;
} epoch;

static int part_of(const epoch *e, int i)
{
    for (; e->is[i].next != i; i = e->is[i].next)
        e->is[i].next = e->is[e->is[i].next].next;
    return i;
}

static void begin_epoch(epoch *e, int n_workers)
{
    e->n_parts = n_workers;
    for (int i = 0; i < n_workers; i++)
        e->is[i].next = i;
}

static dsgd_neighbours neighbours_of(dsgd_node *self, const epoch *e, int i)
{
    const dsgd_aau_params *p = self->params;
    return dsgd_graph_neighbours(&p->graph, self->n_workers, 0, i, 0, true, &e->room);
}

/**
 * Returns the number of finished neighbours of worker i. If @p new is true, counts only neighbours
 * that are not in the connected part of worker i.
 */
static int64_t partners_of(dsgd_node *self, const epoch *e, int i, bool new)
{
    const dsgd_neighbours all = neighbours_of(self, e, i);
    int64_t n = 0;
    for (int k = 0; k < all.n_to; k++)
        if (e->is[all.to[k]].finished && (!new || part_of(e, i) != part_of(e, all.to[k])))
            n++;
    return n;
}

/**
 * Sends worker i its partners. The edges from worker i to its partners become edges of the epoch.
 */
static void send_partners(dsgd_node *self, epoch *e, int i, double *numbers)
{
    const dsgd_neighbours all = neighbours_of(self, e, i);
    const int64_t mine = e->is[i].partners;
    size_t n = 0;
    for (int k = 0; k < all.n_to; k++) {
        const int64_t theirs = e->is[all.to[k]].partners;
        if (!e->is[all.to[k]].finished)
            continue;
        const int from = part_of(e, i), into = part_of(e, all.to[k]);
        e->is[from].next = into;
        e->n_parts -= from != into;
        numbers[n++] = all.to[k];
        numbers[n++] = (double)(mine > theirs ? mine : theirs);
    }
    dsgd_send(self, i, NULL, numbers, n);
}

/**
 * Ends an iteration: all finished neighbours mix their models. If this epoch's edges connect all
 * workers, a new epoch begins.
 */
static void iterate(dsgd_node *self, epoch *e, double *numbers)
{
    for (int i = 0; i < self->n_workers; i++)
        e->is[i].partners = e->is[i].finished ? partners_of(self, e, i, false) : 0;
    for (int i = 0; i < self->n_workers; i++)
        if (e->is[i].partners > 0)
            send_partners(self, e, i, numbers);
    for (int i = 0; i < self->n_workers; i++)
        e->is[i].finished &= e->is[i].partners == 0;
    if (e->n_parts == 1)
        begin_epoch(e, self->n_workers);
}

static void dsgd_aau_serve(dsgd_node *self)
{
    const dsgd_aau_params *p = self->params;
    const size_t n = (size_t)self->n_workers;
    int *room = dsgd_memory_new(self, 3 * n, sizeof *room);
    double *numbers = dsgd_memory_new(self, 2 * n, sizeof(double));
    epoch e = {.is = dsgd_memory_new(self, n, sizeof *e.is),
               .room = {room, room + n, room + 2 * n, dsgd_memory_new(self, n, sizeof(double))}};
    begin_epoch(&e, self->n_workers);
    for (;; iterate(self, &e, numbers)) {
        /* end of the iteration in seconds; INFINITY until a new edge can connect two parts */
        double until_s = INFINITY;
        for (const dsgd_message *l; (l = dsgd_recv(self, until_s)) != NULL;) {
            e.is[l->from].finished = true;
            if (until_s == INFINITY && partners_of(self, &e, l->from, true) > 0)
                until_s = dsgd_time_s(self) + p->grace;
        }
    }
}

static dsgd_status dsgd_aau_check(const void *params, int n_workers, dsgd_error *error)
{
    const dsgd_aau_params *p = params;
    const dsgd_graph_kind *kind = (const dsgd_graph_kind *)p->graph.about;
    DSGD_TRY(dsgd_graph_check(&p->graph, n_workers, false, "dsgd_aau", error));
    if (!kind->directed && dsgd_graph_period(&p->graph, n_workers) == 1)
        return DSGD_OK;
    return dsgd_refuse(
        error,
        "dsgd_aau: graph must be undirected and the same in every round, got %s. Use graph: ring",
        kind->about.name);
}

static const dsgd_option dsgd_aau_options[] = {
    DSGD_OPTION_GRAPH(dsgd_aau_params, graph, "ring",
                      "communication graph; must be undirected and the same in every round"),
    DSGD_OPTION_DOUBLE(
        dsgd_aau_params, grace, 1e-3, 0, 1e9, "s",
        "time for which the end of an iteration waits for workers that finish at about the same "
        "time. 0: the first two finished neighbours mix by themselves"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_dsgd_aau = {
    .about = {.name = "dsgd_aau",
              .summary = "a finished worker mixes with its finished neighbours as soon as a new "
                         "edge connects them",
              .reference = "Xiong et al., MobiHoc 2024; a reading of its abstract",
              DSGD_PARAMS(dsgd_aau_params, dsgd_aau_options)},
    .doc =
        {.idea = "The number of neighbours that a worker waits for adapts to the stragglers: fast "
                 "workers continue among themselves and need a straggler once per epoch.",
         .rule =
             "x_i <- x_i + U(g_i, t), then i waits. An iteration ends when an edge between two "
             "finished neighbours connects parts that this epoch's edges do not: all finished "
             "neighbours mix, with Metropolis weights over their edges, which become the epoch's, "
             "and continue. When these connect all workers, a new epoch begins without edges",
         .sends = "N to each partner of an iteration; an empty message to the server, which "
                  "answers with 16 bytes per partner.",
         .waits = "A finished worker waits until an iteration has it among its partners. Workers "
                  "that finish within `grace` of the first take part."},
    .check = dsgd_aau_check,
    .work = dsgd_aau_work,
    .serve = dsgd_aau_serve,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_ALLREDUCE, DSGD_WITH({"graph=complete", 0})}),
};
