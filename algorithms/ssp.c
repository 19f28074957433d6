/**
 * @file ssp.c
 * SSP, stale synchronous parallel: an asynchronous parameter server that keeps fast workers at most
 * `slack` steps ahead of the slowest.
 *
 * Q. Ho et al., "More effective distributed ML via a stale synchronous parallel parameter server",
 * NeurIPS 2013.
 */
#include "sim/algorithm.h"

typedef struct ssp_params {
    int64_t slack; /* s */
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
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_copy(self, u, x);
        dsgd_combine(self, u, 1, -1, fetched);
        dsgd_send(self, dsgd_server_address(self, 0), u, NULL, 0);
        dsgd_copy(self, x, dsgd_recv(self, INFINITY)->x); /* it may begin its next step */
        dsgd_copy(self, fetched, x);
    }
}

/** Of the server. */
typedef struct clocks {
    int64_t *clock; /* [P] finished steps */
    int64_t *fetched; /* [P] updates in the model that each has; of who waits: WAITS */
    int64_t least, n_least; /* of the clocks, and how many are there */
    int64_t updates; /* in the model */
} clocks;

enum { WAITS = -1 };

/** The model to a worker that waits, if it may go on. */
static void answer(dsgd_node *self, clocks *c, int worker)
{
    const ssp_params *p = self->params;
    if (c->fetched[worker] != WAITS ||
        (p->slack != INFINITE && c->clock[worker] > c->least + p->slack))
        return;
    c->fetched[worker] = c->updates;
    dsgd_send(self, worker, dsgd_model(self), NULL, 0);
}

/** The slowest have all gone on by a step: others may, too. */
static void raise_least(dsgd_node *self, clocks *c)
{
    c->least++;
    for (int i = 0; i < self->n_workers; i++)
        c->n_least += c->clock[i] == c->least;
    for (int i = 0; i < self->n_workers; i++)
        answer(self, c, i);
}

static void ssp_serve(dsgd_node *self)
{
    const size_t n = (size_t)self->n_workers;
    clocks c = {dsgd_memory_new(self, n, sizeof(int64_t)),
                dsgd_memory_new(self, n, sizeof(int64_t)), 0, self->n_workers, 0};
    for (;;) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        const int worker = l->from;
        dsgd_message_used(self, l, c.updates - c.fetched[worker]);
        dsgd_combine(self, dsgd_model(self), 1, 1, l->x);
        c.updates++;
        c.fetched[worker] = WAITS;
        if (c.clock[worker]++ == c.least && --c.n_least == 0)
            raise_least(self, &c);
        else
            answer(self, &c, worker);
    }
}

static const char *const slack_words[] = {"infinite", NULL};

static const dsgd_option ssp_options[] = {
    DSGD_OPTION_LONG(ssp_params, slack, 3, 0, 1e9, "steps",
                     "s, how many steps more than the slowest a worker may have finished when it "
                     "begins another; 0: all in step; infinite: nobody waits for another",
                     .words = slack_words),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_ssp = {
    .about = {.name = "ssp",
              .summary =
                  "parameter server that lets fast workers be ahead of the slowest by a few steps",
              .reference = "Ho et al., NeurIPS 2013",
              DSGD_PARAMS(ssp_params, ssp_options)},
    .doc = {.idea = "Asynchronous as long as nobody is too far ahead: what a worker reads has all "
                    "updates, except some of the last steps.",
            .rule =
                "worker: x <- x + U(g, x, t), pushes u = x - fetched, fetches x.  server: x <- x + "
                "u; answers a worker that has finished c steps once the slowest has finished c - s",
            .sends =
                "N up and N down, in every step: a worker always fetches, where the paper's read "
                "a cache that may be as old as s; one server's link carries P times that",
            .waits = "a worker for the server's link, and for the slowest where it is s steps "
                     "ahead. One server: several, each with a part of the model, would let a "
                     "worker go at different times. Who is let go together is answered by rank"},
    .work = ssp_work,
    .serve = ssp_serve,
    .output = DSGD_OUTPUT_SERVERS,
    .traffic = dsgd_push_and_fetch_per_step,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"slack", 0})},
                      {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"slack", INFINITE})}),
};
