/**
 * @file backup_workers.c
 * Synchronous SGD with backup workers: a server averages the first P - `backups` gradients of a
 * step and drops late gradients.
 *
 * J. Chen, X. Pan, R. Monga, S. Bengio, R. Jozefowicz, "Revisiting distributed synchronous SGD",
 * 2016. `release: tokens` follows TensorFlow's SyncReplicasOptimizer.
 */
#include "sim/algorithm.h"

typedef struct backup_workers_params {
    int64_t backups; /* b, the number of gradients that a step does not wait for; PUBLISHED selects
                      * the paper's number */
    int release;
} backup_workers_params;

enum { PUBLISHED = -1, PUBLISHED_WORKERS = 25 };
enum { NEWEST, TOKENS };

static int64_t backups(const backup_workers_params *p, int n_workers)
{
    const int64_t least = n_workers > 1;
    const int64_t published = n_workers / PUBLISHED_WORKERS;
    return p->backups != PUBLISHED ? p->backups : published > least ? published : least;
}

static void backup_workers_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    double token = 0; /* step of the server for which the worker computes its gradient */

    while (dsgd_next_step(self)) {
        /* A repaired worker pushes no gradient; the server treats its empty push as late. */
        const bool joins = dsgd_has_joined(self);
        if (!joins)
            dsgd_gradient(self, g, x);
        token = joins ? -1 : token;
        dsgd_send(self, dsgd_server_address(self, 0), joins ? NULL : g, &token, 1);
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        if (l == NULL)
            continue;
        token = l->numbers[0];
        dsgd_copy(self, x, l->x);
    }
}

/**
 * State of the server. Each step has P tokens, which the server gives to workers in order. Token n
 * belongs to step 1 + n / P.
 */
typedef struct tokens {
    double step;
    int64_t n_taken;
    int64_t *queue; /* ring of P entries: ranks of the workers that wait for their next step */
    int64_t n_came, n_gone; /* n_came: number of workers that entered the queue; n_gone: number that
                             * left it */
} tokens;

/**
 * Lets waiting workers begin their next step. If option release is TOKENS, each worker needs a
 * token of a step that has begun.
 */
static void hand_out(dsgd_node *self, tokens *t)
{
    const backup_workers_params *p = self->params;
    for (; t->n_gone < t->n_came; t->n_taken++) {
        const int64_t of_token = 1 + t->n_taken / self->n_workers;
        const double token = p->release == TOKENS ? (double)of_token : t->step;
        if (token > t->step)
            return;
        const int worker = (int)t->queue[t->n_gone++ % self->n_workers];
        dsgd_send(self, worker, dsgd_model(self), &token, 1);
    }
}

static void backup_workers_serve(dsgd_node *self)
{
    const backup_workers_params *p = self->params;
    const int64_t wanted = self->n_workers - backups(p, self->n_workers);
    dsgd_vector *sum = dsgd_vector_new(self);
    tokens t = {.queue = dsgd_memory_new(self, (size_t)self->n_workers, sizeof(int64_t))};
    int64_t n = 0; /* number of gradients in the sum */
    for (;;) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        const bool late = l->numbers[0] < t.step;
        if (late) {
            dsgd_message_drop(self, l);
        } else {
            dsgd_message_used(self, l, 0);
            dsgd_combine(self, sum, n > 0, 1, l->x);
            n++;
        }
        if (n == wanted) {
            dsgd_divide(self, sum, (double)n);
            dsgd_local_step(self, dsgd_model(self), sum);
            t.step++;
            n = 0;
        }
        if (late && p->release == NEWEST) {
            dsgd_send(self, l->from, dsgd_model(self), &t.step, 1);
            continue;
        }
        t.queue[t.n_came++ % self->n_workers] = l->from;
        /* if n is 0 here, the step has just ended */
        if (p->release == TOKENS || n == 0)
            hand_out(self, &t);
    }
}

static dsgd_status backup_workers_check(const void *params, int n_workers, dsgd_error *error)
{
    const backup_workers_params *p = params;
    if (p->backups < n_workers)
        return DSGD_OK;
    return dsgd_refuse(error,
                       "backup_workers: backups must be from 0 to %d with %d workers, got %jd",
                       n_workers - 1, n_workers, p->backups);
}

/**
 * Returns the traits of the algorithm. If option release is TOKENS, a failed worker keeps its
 * token, so all workers must restart.
 */
static unsigned backup_workers_traits(const void *params)
{
    const bool rejoins = ((const backup_workers_params *)params)->release == NEWEST;
    return DSGD_OUTPUT_SERVERS | (rejoins ? DSGD_REJOINS : 0);
}

static const char *const backups_words[] = {"published", NULL};
static const char *const release_words[] = {"newest", "tokens", NULL};

static const dsgd_option backup_workers_options[] = {
    DSGD_OPTION_LONG(backup_workers_params, backups, PUBLISHED, 0, 1 << 20, NULL,
                     "b: number of gradients for which a step does not wait. 0: synchronous. "
                     "published: one in 25 workers (4 of 100), but at least 1 of several workers",
                     .words = backups_words),
    DSGD_OPTION_CHOICE(backup_workers_params, release, release_words,
                       "next gradient of a worker. newest: at the newest model, at most one per "
                       "step (the paper). tokens: for the step of the oldest of P tokens per step, "
                       "even if that step is over (TensorFlow)"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_backup_workers = {
    .about = {.name = "backup_workers",
              .summary = "synchronous server that averages the first gradients and drops late ones",
              .reference = "Chen et al. 2016, arXiv 1604.00981; TensorFlow's SyncReplicasOptimizer",
              DSGD_PARAMS(backup_workers_params, backup_workers_options)},
    .doc = {.idea = "Use a few more workers than a step needs, and do not wait for the slowest.",
            .rule =
                "server: g is the mean of the first P - b gradients of its step t: x <- x + U(g, "
                "x, t), t <- t + 1; a gradient of an older step is dropped.  worker: after its "
                "push of step t it waits for a newer step and continues with the newest model.  "
                "tokens: P for each t; after its push a worker takes the oldest one and the model",
            .sends = "N up and N down per gradient, dropped or not; the server's link carries P "
                     "times that.",
            .waits = "All workers wait for the first P - b gradients of their step. A late worker "
                     "waits for no other worker and is not interrupted."},
    .check = backup_workers_check,
    .work = backup_workers_work,
    .serve = backup_workers_serve,
    .traits = DSGD_OUTPUT_SERVERS | DSGD_REJOINS,
    .traits_with = backup_workers_traits,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"backups", 0})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"backups", 0})}),
};
