/**
 * @file async_local_sgd.c
 * Asynchronous local SGD: each worker takes local steps and sends its change to a server, which
 * applies it at once, with a momentum that moves once in `delay` arrivals (Delayed Nesterov).
 *
 * B. Liu et al., "Asynchronous local-SGD training for language modeling", 2024, arXiv 2401.09135;
 * the update is as in HALoS's released code (its servers of a region; 3.2, 0.9, period 8, delay
 * 16). The grace period, and the outer learning rate that 0.9 goes with, are those of the authors'
 * released notebook: 0.5 of its seconds, a 25th of its fastest worker's round.
 */
#include "sim/algorithm.h"

typedef struct async_local_sgd_params {
    int64_t period, delay; /* H; N, or a word */
    double outer_lr, momentum, c, grace;
    bool dylu;
} async_local_sgd_params;

enum { AS_MANY_AS_WORKERS = -1 };

static int64_t arrivals(const async_local_sgd_params *p, int n_workers)
{
    return p->delay == AS_MANY_AS_WORKERS ? n_workers : p->delay;
}

/** Dynamic local updates: fewer for slow workers, by what everyone's first step takes. */
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
    dsgd_vector *start = dsgd_vector_new(self); /* of the round */
    double updates = 0; /* of the server, in it */
    int64_t n = 0, n_done = 0;
    dsgd_copy(self, start, x);

    while (dsgd_next_step(self)) {
        if (n == 0)
            n = steps_of_round(self);
        const bool joins = dsgd_has_joined(self); /* it asks for a model alone */
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

/** Of the server. */
typedef struct arrived {
    dsgd_vector *m, *delta; /* momentum; what has come since it last moved */
    double updates;
    int n_wait;
    double *began_s; /* [P] when each worker's round began */
    bool *waits; /* [P] for its next */
} arrived;

/** Delayed Nesterov. */
static void apply(dsgd_node *self, arrived *a, dsgd_vector *change)
{
    const async_local_sgd_params *p = self->params;
    const double n = (double)arrivals(p, self->n_workers);
    const bool moves = fmod(++a->updates, n) == 0;
    dsgd_combine(self, a->delta, 1, 1, change);
    if (moves) {
        dsgd_combine(self, a->m, p->momentum, 1 / n, a->delta);
        dsgd_combine(self, a->delta, 0, 0, a->delta);
    }
    const double share = moves ? 1 - p->c * n + p->c : p->c; /* they add up to 1 */
    dsgd_combine(self, dsgd_model(self), 1, -p->outer_lr * share * p->momentum, a->m);
    dsgd_combine(self, dsgd_model(self), 1, -p->outer_lr / n, change);
}

/** Who waits begins its next round, all at one model. */
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
    for (double until_s = INFINITY;;) { /* the end of the grace period */
        const dsgd_message *l = dsgd_recv(self, until_s);
        if (l != NULL) {
            const double now_s = dsgd_time_s(self);
            if (l->x == NULL) {
                a.began_s[l->from] = now_s;
            } else {
                dsgd_message_used(self, l, (int64_t)(a.updates - l->numbers[0]));
                apply(self, &a, l->x);
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
        error, "async_local_sgd: c: %g is above 1 / %jd, one divided by delay; 0 to %g would do",
        p->c, n, 1 / (double)n);
}

static const char *const delay_words[] = {"workers", NULL};

static const dsgd_option async_local_sgd_options[] = {
    DSGD_OPTION_LONG(async_local_sgd_params, period, 50, 1, 1e9, "steps",
                     "H, local steps of a round; with dylu a round of the fastest worker"),
    DSGD_OPTION_LONG(async_local_sgd_params, delay, AS_MANY_AS_WORKERS, 1, 1e9, NULL,
                     "N, arrivals after which the momentum moves; 1: Nesterov's, at each; workers: "
                     "as many as workers, DiLoCo's step where all arrive in one grace period",
                     .words = delay_words),
    DSGD_OPTION_DOUBLE(async_local_sgd_params, outer_lr, 0.07, 0, 1e6, NULL,
                       "learning rate of the server; each arrival has 1 / delay of it. Changes "
                       "are as old as a round: outer_lr / (1 - momentum) above 1 may diverge"),
    DSGD_OPTION_DOUBLE(async_local_sgd_params, momentum, 0.9, 0, 1, NULL, "of the server, beta"),
    DSGD_OPTION_DOUBLE(async_local_sgd_params, c, 0, 0, 1, NULL,
                       "share of the momentum that each arrival applies, up to 1 / delay; the "
                       "arrival that moves it applies the rest"),
    DSGD_OPTION_DOUBLE(async_local_sgd_params, grace, 0.04, 0, 1, NULL,
                       "grace period after an arrival, as a share of the round that it ends: who "
                       "arrives within it goes on from the same model; 0: each at once"),
    DSGD_OPTION_BOOL(
        async_local_sgd_params, dylu, false,
        "dynamic local updates: slow workers make fewer steps per round, by what "
        "everyone's first step takes; rounded up, as HALoS does, where the paper rounds down"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_async_local_sgd = {
    .about = {.name = "async_local_sgd",
              .summary = "rounds of local steps, sent to a server that nobody waits at; its "
                         "momentum moves once in N arrivals",
              .reference = "Liu et al. 2024, arXiv 2401.09135; HALoS's released code",
              DSGD_PARAMS(async_local_sgd_params, async_local_sgd_options)},
    .doc = {.idea = "DiLoCo without its barrier: the outer momentum is what stale changes harm, so "
                    "it is moved by the mean of many.",
            .rule = "worker: H steps x <- x + U(g, x, t) from s, sends d = s - x, gets s, when the "
                    "grace period of the first arrival since the last is over.  server, "
                    "per arrival: D <- D + d, x <- x - lr (c beta m + d / N); at every N-th m <- "
                    "beta m + D / N, D <- 0, and 1 - c N + c in place of c",
            .sends = "N up and N down per round of H steps",
            .waits = "a worker for the server's link and a grace period, never longer for another; "
                     "with dylu once for everybody's time. If N workers arrive in one period, and "
                     "N is delay, this is a step of DiLoCo. One server: several would see other "
                     "orders of arrival. Schedules by shard are not modelled"},
    .check = async_local_sgd_check,
    .work = async_local_sgd_work,
    .serve = async_local_sgd_serve,
    .traits = DSGD_OUTPUT_SERVERS | DSGD_REJOINS,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD,
                       DSGD_WITH({"period", 4}, {"delay", 1}, {"outer_lr", 1}, {"momentum", 0})}),
};
