/**
 * @file async_local_sgd.c
 * Asynchronous local SGD: each worker takes local steps and sends its change to a server. The
 * server applies each change at once. It updates its momentum after every `delay` changes (Delayed
 * Nesterov).
 *
 * B. Liu et al., "Asynchronous local-SGD training for language modeling", 2024, arXiv 2401.09135.
 * The update follows the released code of HALoS. HALoS's regional servers have an outer learning
 * rate of 3.2, a momentum of 0.9, a period of 8 and a delay of 16. Two defaults come from the
 * authors' released notebook: the grace period, and the outer learning rate for a momentum of 0.9.
 * The notebook's grace period of 0.5 s is 1/25 of the round time of its fastest worker.
 */
#include "sim/algorithm.h"

typedef struct async_local_sgd_params {
    int64_t period, delay; /* period: H, local steps per round; delay: N, number of changes per
                            * momentum update, or AS_MANY_AS_WORKERS */
    double outer_lr, momentum, c, grace;
    bool dylu;
} async_local_sgd_params;

enum { AS_MANY_AS_WORKERS = -1 };

static int64_t arrivals(const async_local_sgd_params *p, int n_workers)
{
    return p->delay == AS_MANY_AS_WORKERS ? n_workers : p->delay;
}

/**
 * Returns the number of local steps of a worker's round. If option dylu is true, slow workers take
 * fewer steps. The number then depends on the measured time of each worker's first step.
 */
static int64_t steps_of_round(dsgd_node *self)
{
    static const double rounding = 1e-9;
    const async_local_sgd_params *p = self->params;
    if (!p->dylu)
        return p->period;
    const double mine_s = dsgd_compute_time_s(self);
    const double *all_s = dsgd_allgather(self, &mine_s, 1, DSGD_WORLD);
    double least_s = mine_s;
    for (int i = 0; i < self->n_workers; i++)
        least_s = fmin(least_s, all_s[i]);
    const double n = mine_s > 0 ? (double)p->period * least_s / mine_s : (double)p->period;
    return (int64_t)fmax(1, ceil(n - rounding));
}

static void async_local_sgd_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *change = dsgd_vector_new(self);
    dsgd_vector *start = dsgd_vector_new(self); /* model at the start of the round */
    double updates = 0; /* number of the server's updates that the start model contains */
    int64_t n = 0, n_done = 0;
    dsgd_copy(self, start, x);

    while (dsgd_next_step(self)) {
        if (n == 0)
            n = steps_of_round(self);
        /* A repaired worker sends no change; it only requests a model. */
        const bool joins = dsgd_has_joined(self);
        if (!joins) {
            dsgd_gradient(self, g, x);
            dsgd_local_step(self, x, g);
            if (++n_done < n)
                continue;
            dsgd_copy(self, change, start);
            dsgd_combine(self, change, 1, -1, x);
        }
        n_done = 0;
        dsgd_send(self, dsgd_server_address(self, 0), joins ? NULL : change, &updates, 1);
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        if (l == NULL)
            continue;
        updates = l->numbers[0];
        dsgd_copy(self, x, l->x);
        dsgd_copy(self, start, x);
    }
}

/** State of the server: the changes that have arrived, and the workers that wait. */
typedef struct arrived {
    dsgd_vector *m, *delta; /* m: momentum; delta: sum of the changes since the last update of m */
    double updates;
    int n_wait;
    double *began_s; /* start time of each worker's round, in seconds; P entries */
    bool *waits; /* true for each worker that waits for its next round; P entries */
} arrived;

/** Applies the change of one worker by Delayed Nesterov. */
static void apply_change(dsgd_node *self, arrived *a, dsgd_vector *change)
{
    const async_local_sgd_params *p = self->params;
    const double n = (double)arrivals(p, self->n_workers);
    const bool moves = fmod(++a->updates, n) == 0;
    dsgd_combine(self, a->delta, 1, 1, change);
    if (moves) {
        dsgd_combine(self, a->m, p->momentum, 1 / n, a->delta);
        dsgd_combine(self, a->delta, 0, 0, a->delta);
    }
    /* The shares of N successive changes add up to 1. */
    const double share = moves ? 1 - p->c * n + p->c : p->c;
    dsgd_combine(self, dsgd_model(self), 1, -p->outer_lr * share * p->momentum, a->m);
    dsgd_combine(self, dsgd_model(self), 1, -p->outer_lr / n, change);
}

/** Starts the next round of all waiting workers. All these workers receive the same model. */
static void restart(dsgd_node *self, arrived *a)
{
    for (int i = 0; i < self->n_workers; i++) {
        if (!a->waits[i])
            continue;
        a->waits[i] = false;
        a->n_wait--;
        a->began_s[i] = dsgd_time_s(self);
        dsgd_send(self, i, dsgd_model(self), &a->updates, 1);
    }
}

static void async_local_sgd_serve(dsgd_node *self)
{
    const async_local_sgd_params *p = self->params;
    const size_t n = (size_t)self->n_workers;
    arrived a = {dsgd_vector_new(self),
                 dsgd_vector_new(self),
                 0,
                 0,
                 dsgd_memory_new(self, n, sizeof(double)),
                 dsgd_memory_new(self, n, sizeof *a.waits)};
    /* until_s: end of the grace period, INFINITY if no worker waits for a model */
    for (double until_s = INFINITY;;) {
        const dsgd_message *l = dsgd_recv(self, until_s);
        if (l != NULL) {
            const double now_s = dsgd_time_s(self);
            if (l->x == NULL) {
                a.began_s[l->from] = now_s;
            } else {
                dsgd_message_used(self, l, (int64_t)(a.updates - l->numbers[0]));
                apply_change(self, &a, l->x);
            }
            a.waits[l->from] = true;
            a.n_wait++;
            if (a.n_wait == 1)
                until_s = now_s + p->grace * (now_s - a.began_s[l->from]);
        }
        if (l == NULL || p->grace == 0 || a.n_wait == self->n_workers) {
            restart(self, &a);
            until_s = INFINITY;
        }
    }
}

static dsgd_status async_local_sgd_check(const void *params, int n_workers, dsgd_error *error)
{
    const async_local_sgd_params *p = params;
    const int64_t n = arrivals(p, n_workers);
    if (p->c * (double)n <= 1)
        return DSGD_OK;
    return dsgd_refuse(
        error, "async_local_sgd: c must be from 0 to %g, one divided by delay = %jd, got %g",
        1 / (double)n, n, p->c);
}

static const char *const delay_words[] = {"workers", NULL};

static const dsgd_option async_local_sgd_options[] = {
    DSGD_OPTION_LONG(async_local_sgd_params, period, 50, 1, 1e9, "steps",
                     "H: number of local steps per round; with dylu, of the fastest worker"),
    DSGD_OPTION_LONG(async_local_sgd_params, delay, AS_MANY_AS_WORKERS, 1, 1e9, NULL,
                     "N: number of arrivals per update of the momentum. 1: Nesterov at each "
                     "arrival. workers: the number of workers",
                     .words = delay_words),
    DSGD_OPTION_DOUBLE(async_local_sgd_params, outer_lr, 0.07, 0, 1e6, NULL,
                       "learning rate of the server, of which each arrival has 1 / delay. Changes "
                       "are as old as a round: outer_lr / (1 - momentum) above 1 may diverge"),
    DSGD_OPTION_DOUBLE(async_local_sgd_params, momentum, 0.9, 0, 1, NULL,
                       "momentum of the server, beta"),
    DSGD_OPTION_DOUBLE(async_local_sgd_params, c, 0, 0, 1, NULL,
                       "share of the momentum that each arrival applies, up to 1 / delay; the "
                       "arrival that updates the momentum applies the rest"),
    DSGD_OPTION_DOUBLE(async_local_sgd_params, grace, 0.04, 0, 1, NULL,
                       "grace period after an arrival, as a share of the round that it ends: "
                       "workers that arrive within it continue from the same model. 0: none"),
    DSGD_OPTION_BOOL(async_local_sgd_params, dylu, false,
                     "dynamic local updates: slow workers take fewer steps per round, by the times "
                     "of all first steps; rounded up as in HALoS (the paper rounds down)"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_async_local_sgd = {
    .about = {.name = "async_local_sgd",
              .summary = "asynchronous rounds of local steps; the server's momentum is updated "
                         "once per N arrivals",
              .reference = "Liu et al. 2024, arXiv 2401.09135; HALoS's released code",
              DSGD_PARAMS(async_local_sgd_params, async_local_sgd_options)},
    .doc = {.idea = "DiLoCo without its barrier: stale changes harm the outer momentum, so the "
                    "mean of many changes updates it.",
            .rule = "worker: H steps x <- x + U(g, x, t) from s, sends d = s - x, gets s when the "
                    "grace period of the first arrival since the last has ended.  server, per "
                    "arrival: D <- D + d, x <- x - lr (c beta m + d / N); at every N-th m <- beta "
                    "m + D / N, D <- 0, and 1 - c N + c instead of c",
            .sends = "N up and N down per round of H steps.",
            .waits = "A worker waits for the server's link and a grace period, never longer for "
                     "another worker; with dylu once for the first steps of all."},
    .check = async_local_sgd_check,
    .work = async_local_sgd_work,
    .serve = async_local_sgd_serve,
    .traits = DSGD_OUTPUT_SERVERS | DSGD_REJOINS,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD,
                       DSGD_WITH({"period", 4}, {"delay", 1}, {"outer_lr", 1}, {"momentum", 0})}),
};
