/**
 * @file ssp.c
 * SSP, stale synchronous parallel: an asynchronous parameter server that keeps fast workers at most
 * `slack` steps ahead of the slowest worker.
 *
 * Q. Ho et al., "More effective distributed ML via a stale synchronous parallel parameter server",
 * NeurIPS 2013.
 */
#include "sim/algorithm.h"

typedef struct ssp_params {
    /* s, the largest number of steps by which a worker may lead the slowest worker */
    int64_t slack;
} ssp_params;

enum { INFINITE = -1 };

static void ssp_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *u = dsgd_vector_new(self);
    dsgd_vector *fetched = dsgd_vector_new(self);
    dsgd_copy(self, fetched, x);

    while (dsgd_next_step(self)) {
        /* A repaired worker sends an empty push to get the model. */
        const bool joins = dsgd_has_joined(self);
        if (!joins) {
            dsgd_gradient(self, g, x);
            dsgd_local_step(self, x, g);
            dsgd_copy(self, u, x);
            dsgd_combine(self, u, 1, -1, fetched);
        }
        dsgd_send(self, dsgd_server_address(self, 0), joins ? NULL : u, &(double){0}, joins);
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        /* If no model arrives, this worker has failed. */
        if (l == NULL || l->x == NULL)
            continue;
        dsgd_copy(self, x, l->x); /* The server's answer allows the next step. */
        dsgd_copy(self, fetched, x);
    }
}

/** State of the server: the clocks of the workers. */
typedef struct clocks {
    int64_t *clock; /* number of finished steps of each worker, GONE after the worker has failed; P
                     * entries */
    int64_t *fetched; /* number of updates in each worker's model, WAITS if the worker waits for a
                       * model; P entries */
    int64_t least, n_least; /* least: smallest clock; n_least: number of workers with this clock */
    int64_t updates; /* number of updates in the server's model */
} clocks;

enum { WAITS = -1 };
static const int64_t GONE = INT64_MAX;

/** Sends the model to @p worker if the worker waits and its lead is at most the slack. */
static void send_if_allowed(dsgd_node *self, clocks *c, int worker)
{
    const ssp_params *p = self->params;
    if (c->fetched[worker] != WAITS ||
        (p->slack != INFINITE && c->clock[worker] > c->least + p->slack))
        return;
    c->fetched[worker] = c->updates;
    dsgd_send(self, worker, dsgd_model(self), NULL, 0);
}

/**
 * Handles that a worker with the smallest clock has advanced or failed. If no worker has this clock
 * any more, the smallest clock increases, and waiting workers may continue.
 */
static void advance_least(dsgd_node *self, clocks *c)
{
    if (--c->n_least > 0)
        return;
    int64_t least = GONE;
    for (int i = 0; i < self->n_workers; i++)
        least = c->clock[i] < least ? c->clock[i] : least;
    /* If all workers have failed, the first repaired worker continues from the smallest clock. */
    if (least == GONE)
        return;
    c->least = least;
    for (int i = 0; i < self->n_workers; i++)
        c->n_least += c->clock[i] == least;
    for (int i = 0; i < self->n_workers; i++)
        send_if_allowed(self, c, i);
}

/** Removes a failed worker. The other workers do not wait for it any more. */
static void remove_failed(dsgd_node *self, clocks *c, int worker)
{
    const bool was_least = c->clock[worker] == c->least;
    if (c->fetched[worker] == WAITS)
        dsgd_send(self, worker, NULL, NULL, 0);
    c->fetched[worker] = c->updates;
    c->clock[worker] = GONE;
    if (was_least)
        advance_least(self, c);
}

/**
 * Readmits a repaired worker. If the server had noticed the failure, the worker gets the smallest
 * clock.
 */
static void readmit_repaired(dsgd_node *self, clocks *c, int worker)
{
    const bool was_missed = c->clock[worker] == GONE;
    c->clock[worker] = was_missed ? c->least : c->clock[worker];
    c->n_least += was_missed;
    c->fetched[worker] = WAITS;
    send_if_allowed(self, c, worker);
}

static void ssp_serve(dsgd_node *self)
{
    const size_t n = (size_t)self->n_workers;
    clocks c = {dsgd_memory_new(self, n, sizeof(int64_t)),
                dsgd_memory_new(self, n, sizeof(int64_t)), 0, self->n_workers, 0};
    for (;;) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        const int worker = l->from;
        if (l->x == NULL) {
            (l->n > 0 ? readmit_repaired : remove_failed)(self, &c, worker);
            continue;
        }
        dsgd_message_used(self, l, c.updates - c.fetched[worker]);
        dsgd_combine(self, dsgd_model(self), 1, 1, l->x);
        c.updates++;
        c.fetched[worker] = WAITS;
        if (c.clock[worker]++ == c.least)
            advance_least(self, &c);
        send_if_allowed(self, &c, worker);
    }
}

static const char *const slack_words[] = {"infinite", NULL};

static const dsgd_option ssp_options[] = {
    DSGD_OPTION_LONG(
        ssp_params, slack, 3, 0, 1e9, "steps",
        "s: largest number of finished steps by which a worker may lead the slowest when it begins "
        "another. 0: all in step. infinite: no worker waits for another",
        .words = slack_words),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_ssp = {
    .about = {.name = "ssp",
              .summary =
                  "parameter server that limits by how many steps fast workers lead the slowest",
              .reference = "Ho et al., NeurIPS 2013",
              DSGD_PARAMS(ssp_params, ssp_options)},
    .doc = {.idea = "Asynchronous, but no worker is too far ahead: the model that a worker reads "
                    "has all updates except some of the last steps.",
            .rule =
                "worker: x <- x + U(g, x, t), pushes u = x - fetched, fetches x.  server: x <- x + "
                "u; answers a worker that has finished c steps once the slowest has finished c - s",
            .sends = "N up and N down in every step; the server's link carries P times that.",
            .waits =
                "A worker waits for the server's link, and for the slowest if it is more than s "
                "steps ahead. A failed worker does not count as slowest once its failure is "
                "detected; a repaired one fetches the model and counts as one of the slowest."},
    .work = ssp_work,
    .serve = ssp_serve,
    .traits = DSGD_OUTPUT_SERVERS | DSGD_REJOINS | DSGD_NOTIFIES_SERVER,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"slack", 0})},
                      {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"slack", INFINITE})}),
};
