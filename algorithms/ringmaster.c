/**
 * @file ringmaster.c
 * Ringmaster ASGD: an asynchronous server that cancels gradients before they become too stale.
 *
 * A. Maranjyan, A. Tyurin, P. Richtarik, "Ringmaster ASGD: the first asynchronous SGD with optimal
 * time complexity", ICML 2025, and released code.
 */
#include "sim/algorithm.h"

typedef struct ringmaster_params {
    int64_t delay; /* R, the largest staleness in updates; AS_MANY_AS_WORKERS and INFINITE are
                    * special values */
} ringmaster_params;

enum { AS_MANY_AS_WORKERS = -1, INFINITE = -2 };

/**
 * Receives the model that the server sends as the answer to a push. If a notice arrives instead,
 * asks the server for the model.
 */
static void get_model(dsgd_node *self, dsgd_vector *x)
{
    const dsgd_message *l = dsgd_recv(self, INFINITY);
    if (l->x == NULL) {
        dsgd_send(self, dsgd_server_address(self, 0), NULL, NULL, 0);
        l = dsgd_recv(self, INFINITY);
    }
    dsgd_copy(self, x, l->x);
}

static void ringmaster_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *u = dsgd_vector_new(self);
    dsgd_vector *fetched = dsgd_vector_new(self);
    dsgd_copy(self, fetched, x);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (dsgd_wait_any(self, DSGD_ON_MESSAGE | DSGD_ON_GRADIENT, INFINITY) & DSGD_ON_MESSAGE) {
            dsgd_cancel(self);
        } else {
            dsgd_local_step(self, x, g);
            dsgd_copy(self, u, x);
            dsgd_combine(self, u, 1, -1, fetched);
            dsgd_send(self, dsgd_server_address(self, 0), u, NULL, 0);
        }
        get_model(self, x);
        dsgd_copy(self, fetched, x);
    }
}

enum { NOTHING = -1 }; /* value of given[] for a worker that has received a notice */

/**
 * Notifies the workers that compute at models which are at least R updates old. Each notified
 * worker asks for the newest model.
 */
static void cancel_old(dsgd_node *self, int64_t *given, int64_t updates)
{
    const ringmaster_params *p = self->params;
    const int64_t most = p->delay == AS_MANY_AS_WORKERS ? self->n_workers : p->delay;
    for (int i = 0; i < self->n_workers && p->delay != INFINITE; i++) {
        if (given[i] == NOTHING || updates - given[i] < most)
            continue;
        given[i] = NOTHING;
        dsgd_send(self, i, NULL, NULL, 0);
    }
}

static void ringmaster_serve(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    /* number of updates in each worker's model, or NOTHING after a notice; P entries */
    int64_t *given = dsgd_memory_new(self, (size_t)self->n_workers, sizeof *given);
    int64_t updates = 0;
    for (;;) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        const int worker = l->from;
        /* The worker sent this push before the server's notice arrived. */
        if (l->x != NULL && given[worker] == NOTHING) {
            dsgd_message_drop(self, l);
            continue;
        }
        if (l->x != NULL) {
            dsgd_message_used(self, l, updates - given[worker]);
            dsgd_combine(self, x, 1, 1, l->x);
            updates++;
        }
        given[worker] = updates;
        dsgd_send(self, worker, x, NULL, 0);
        cancel_old(self, given, updates);
    }
}

static const char *const delay_words[] = {"workers", "infinite", NULL};

static const dsgd_option ringmaster_options[] = {
    DSGD_OPTION_LONG(ringmaster_params, delay, AS_MANY_AS_WORKERS, 1, 1e9, "updates",
                     "R: number of updates of the model after which a gradient at the older model "
                     "is not applied. workers: the number of workers. infinite: asynchronous SGD",
                     .words = delay_words),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_ringmaster = {
    .about = {.name = "ringmaster",
              .summary = "asynchronous server that cancels gradients before they become too stale",
              .reference = "Maranjyan, Tyurin, Richtarik, ICML 2025; released code",
              DSGD_PARAMS(ringmaster_params, ringmaster_options)},
    .doc = {.idea = "Apply each gradient when it arrives, but cancel a computation whose gradient "
                    "would be too stale.",
            .rule = "worker: u = U(g, x, t) at the x that it received.  server: x <- x + u; the "
                    "sender gets the new x with delay 0; the delays of all others grow by 1, and a "
                    "worker whose delay reaches R is cancelled and restarts at the new x",
            .sends = "N up and N down per gradient; per cancellation a notice, a request, and N "
                     "down; the server's link carries P times that.",
            .waits =
                "A worker waits for the server's link, never for another worker's computation."},
    .work = ringmaster_work,
    .serve = ringmaster_serve,
    .traits = DSGD_OUTPUT_SERVERS | DSGD_CANCELS,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"delay", INFINITE})}),
};
