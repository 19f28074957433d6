/**
 * @file a_psgd.c
 * A-PSGD: an asynchronous parameter server. Each worker pushes its update and fetches the model,
 * independently of the other workers.
 *
 * J. Dean et al., "Large scale distributed deep networks", NeurIPS 2012. This file is the paper's
 * Downpour SGD if `period` > 1. The worker's loop follows the code released with EASGD, which
 * starts the push and the fetch together. The staleness of an update is the number of pushes of
 * other workers since the worker's last fetch. If all workers are equally fast, the staleness is P
 * - 1.
 *
 * With one sample per step and plain SGD, A-PSGD computes the same values as Hogwild! (Niu et al.,
 * NeurIPS 2011). Hogwild! updates single weights atomically. If samples are sparse, Hogwild! writes
 * only a few weights per step. The messages of A-PSGD are always dense.
 */
#include "sim/algorithm.h"

typedef struct a_psgd_params {
    int64_t period; /* number of local steps between two exchanges with the server */
    int64_t servers;
} a_psgd_params;

static void a_psgd_work(dsgd_node *self)
{
    const a_psgd_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *u = dsgd_vector_new(self);
    dsgd_vector *fetched = dsgd_shared(self);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if ((self->step + 1) % p->period != 0)
            continue;
        dsgd_copy(self, u, x);
        /* u is the update since the last fetch: u <- x - fetched. */
        dsgd_combine(self, u, 1, -1, fetched);
        dsgd_server_exchange(self, u, x);
        dsgd_copy(self, fetched, x);
    }
}

/**
 * Makes a repaired worker fetch the model. The worker has lost the updates that it had not pushed.
 */
static void a_psgd_comes_back(dsgd_node *self, int peer)
{
    (void)peer;
    dsgd_server_exchange(self, NULL, dsgd_model(self));
    dsgd_copy(self, dsgd_shared(self), dsgd_model(self));
}

static const dsgd_option a_psgd_options[] = {
    DSGD_OPTION_LONG(a_psgd_params, period, 1, 1, 1e9, "steps",
                     "number of local steps per push and fetch; above 1 this is Downpour"),
    DSGD_OPTION_LONG(a_psgd_params, servers, 1, 1, 4096, NULL,
                     "number of servers; each has an equal part of the model and its own host"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_a_psgd = {
    .about = {.name = "a_psgd",
              .summary = "asynchronous parameter server: push a change, fetch the model, wait for "
                         "no other worker",
              .reference = "Dean et al., NeurIPS 2012; with a period: Downpour SGD",
              DSGD_PARAMS(a_psgd_params, a_psgd_options)},
    .doc = {.idea = "The servers hold the only model. Workers push changes when they have them.",
            .rule = "worker: x <- x + U(g, x, t); every `period` steps push u = x - fetched and "
                    "fetch x.  server: x <- x + u",
            .sends = "N up and N down per period; a server's link carries P / servers times that.",
            .waits =
                "A worker waits for the server's link, never for another worker's computation."},
    .work = a_psgd_work,
    .serve = dsgd_serve,
    .traits = DSGD_OUTPUT_SERVERS,
    .comes_back = a_psgd_comes_back,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD},
                      {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"period", 4}, {"servers", 3})}),
};
