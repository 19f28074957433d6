/**
 * @file rennala.c
 * Rennala SGD: asynchronous workers compute gradients at one model until the server has received a
 * full batch of gradients. Then the server cancels the running computations.
 *
 * A. Tyurin, P. Richtarik, "Optimal time complexities of parallel stochastic optimization methods
 * under a fixed computation model", NeurIPS 2023, and released code.
 */
#include "sim/algorithm.h"

typedef struct rennala_params {
    int64_t batch; /* B, the number of gradients per round, or AS_MANY_AS_WORKERS */
} rennala_params;

enum { AS_MANY_AS_WORKERS = -1 };

/**
 * Receives the server's answer. After an empty message, the worker continues at the same x. A
 * message with a model replaces x. After a notice without a model, the worker asks for the next
 * model.
 */
static void receive_model(dsgd_node *self, dsgd_vector *x, double *round)
{
    const dsgd_message *l = dsgd_recv(self, INFINITY);
    if (l->n == 0)
        return;
    if (l->x == NULL) {
        dsgd_send(self, dsgd_server_address(self, 0), NULL, NULL, 0);
        l = dsgd_recv(self, INFINITY);
    }
    *round = l->numbers[0];
    dsgd_copy(self, x, l->x);
}

static void rennala_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    double round = 0;

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (dsgd_wait_any(self, DSGD_ON_MESSAGE | DSGD_ON_GRADIENT, INFINITY) & DSGD_ON_MESSAGE)
            dsgd_cancel(self);
        else
            dsgd_send(self, dsgd_server_address(self, 0), g, &round, 1);
        receive_model(self, x, &round);
    }
}

/**
 * Notifies all workers except @p maker that the next round has begun. A worker receives no second
 * notice until it has asked for the model.
 */
static void notify(dsgd_node *self, int maker, int64_t *notified, double round)
{
    for (int i = 0; i < self->n_workers; i++) {
        if (i == maker || notified[i])
            continue;
        notified[i] = true;
        dsgd_send(self, i, NULL, &round, 1);
    }
}

static void rennala_serve(dsgd_node *self)
{
    const rennala_params *p = self->params;
    const int64_t batch = p->batch == AS_MANY_AS_WORKERS ? self->n_workers : p->batch;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *sum = dsgd_vector_new(self);
    int64_t *notified = dsgd_memory_new(self, (size_t)self->n_workers, sizeof *notified);
    double round = 0;
    int64_t n = 0;
    for (;;) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        const int worker = l->from;
        /*
         * The gradient belongs to an older round, because the worker sent it before the notice
         * arrived.
         */
        if (l->x != NULL && l->numbers[0] < round) {
            dsgd_message_drop(self, l);
            continue;
        }
        if (l->x != NULL) {
            dsgd_message_used(self, l, 0);
            dsgd_combine(self, sum, n > 0, 1, l->x);
            if (++n < batch) {
                dsgd_send(self, worker, NULL, NULL, 0);
                continue;
            }
            dsgd_divide(self, sum, (double)batch);
            dsgd_local_step(self, x, sum);
            n = 0;
            notify(self, worker, notified, ++round);
        }
        notified[worker] = false;
        dsgd_send(self, worker, x, &round, 1);
    }
}

static const char *const batch_words[] = {"workers", NULL};

static const dsgd_option rennala_options[] = {
    DSGD_OPTION_LONG(
        rennala_params, batch, AS_MANY_AS_WORKERS, 1, 1e9, NULL,
        "B: number of gradients per round, from any workers. workers: the number of workers",
        .words = batch_words),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_rennala = {
    .about = {.name = "rennala",
              .summary = "asynchronous workers fill one batch at the same model; then all restart "
                         "at the next model",
              .reference = "Tyurin, Richtarik, NeurIPS 2023; released code",
              DSGD_PARAMS(rennala_params, rennala_options)},
    .doc = {.idea = "Fast workers compute more gradients of a batch and slow ones fewer; no "
                    "gradient is stale.",
            .rule = "worker: g at x_k, repeatedly.  server: g is the mean of the first B gradients "
                    "at x_k: x_{k+1} = x_k + U(g, x_k, k); then running computations are cancelled",
            .sends = "N up and a short reply per gradient; per round and worker a notice that "
                     "cancels (8 bytes), a request, and N down.",
            .waits = "A worker waits only for the new model at the end of a round."},
    .work = rennala_work,
    .serve = rennala_serve,
    .traits = DSGD_OUTPUT_SERVERS | DSGD_CANCELS,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}),
};
