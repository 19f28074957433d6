/**
 * @file decoupled_diloco.c
 * Decoupled DiLoCo: learners take local steps and send their changes to a server. The server takes
 * an outer step when K changes have arrived and a grace period is over. Learners do not wait for
 * each other.
 *
 * "Decoupled DiLoCo for resilient distributed pre-training", 2026, arXiv 2604.21428. This file
 * follows the paper's abstract and summaries: a quorum, an adaptive grace period, and weights by
 * tokens. These texts leave several points open, so this simulator makes its own choices. Learners
 * exchange whole models. The outer optimizer is DiLoCo's optimizer. This file also chooses the
 * default values of K, the grace period and the delay.
 */
#include "sim/algorithm.h"

typedef struct decoupled_diloco_params {
    int64_t period, quorum, delay; /* period: H, in local steps; quorum: K, in changes, or MAJORITY;
                                    * delay: tau, in local steps */
    double grace, outer_lr, outer_momentum;
} decoupled_diloco_params;

enum { MAJORITY = -1 };

static int64_t quorum_of(const decoupled_diloco_params *p, int n_workers)
{
    const int64_t k = p->quorum == MAJORITY ? n_workers / 2 + 1 : p->quorum;
    return k < n_workers ? k : n_workers;
}

/**
 * State of a learner. start is the last model from the server. sent is the learner's x at the time
 * of its last request.
 */
typedef struct learner {
    dsgd_vector *x, *start, *sent, *change;
    int64_t n, n_sent; /* n: number of local steps since start; n_sent: value of n at the last
                        * request */
    double asked; /* number of requests to the server so far */
    bool waits;
} learner;

/**
 * Sends @p change to the server, or an empty request if @p change is NULL. The server answers with
 * a model.
 */
static void send_change(dsgd_node *self, learner *l, dsgd_vector *change)
{
    l->asked++;
    l->waits = true;
    l->n_sent = l->n;
    dsgd_copy(self, l->sent, l->x);
    dsgd_send(self, dsgd_server_address(self, 0), change, (double[]){l->asked, (double)l->n}, 2);
}

/**
 * Waits for the server's model until @p until_s. If the model arrives, adds to it the change of x
 * since the request, and copies the sum to x.
 */
static void receive_model(dsgd_node *self, learner *l, double until_s)
{
    const dsgd_message *answer = dsgd_recv(self, until_s);
    /* Skips answers to requests that were sent before a failure. */
    while (answer != NULL && answer->numbers[0] < l->asked)
        answer = dsgd_recv(self, until_s);
    if (answer == NULL)
        return;
    dsgd_copy(self, l->start, answer->x);
    dsgd_combine(self, l->x, 1, -1, l->sent);
    dsgd_combine(self, l->x, 1, 1, l->start);
    l->n -= l->n_sent;
    l->waits = false;
}

static void decoupled_diloco_work(dsgd_node *self)
{
    const decoupled_diloco_params *p = self->params;
    dsgd_vector *g = dsgd_vector_new(self);
    learner l = {dsgd_model(self), dsgd_vector_new(self), dsgd_vector_new(self),
                 dsgd_vector_new(self)};
    dsgd_copy(self, l.start, l.x);

    while (dsgd_next_step(self)) {
        if (dsgd_has_joined(self)) {
            l.n = 0;
            send_change(self, &l, NULL);
            receive_model(self, &l, INFINITY);
            continue;
        }
        /*
         * During the first `delay` steps after the request, the learner does not wait for the
         * answer.
         */
        if (l.waits)
            receive_model(self, &l, l.n - l.n_sent < p->delay ? dsgd_time_s(self) : INFINITY);
        dsgd_gradient(self, g, l.x);
        dsgd_local_step(self, l.x, g);
        if (++l.n < p->period || l.waits)
            continue;
        dsgd_copy(self, l.change, l.start);
        dsgd_combine(self, l.change, 1, -1, l.x);
        send_change(self, &l, l.change);
        if (p->delay == 0)
            receive_model(self, &l, INFINITY);
    }
}

/** State of the server: changes of the present round and waiting learners. */
typedef struct outer_round {
    dsgd_vector *sum, *u; /* sum: sum of the changes, weighted by their numbers of local steps; u:
                           * outer momentum */
    double steps; /* sum of the weights of all changes */
    int n; /* number of changes that sum contains */
    double *asked, *rounds; /* asked: request number of each waiting learner, else 0; rounds: value
                             * of done at each learner's last answer ([P] each) */
    double done; /* number of outer rounds so far */
} outer_round;

static void send_model(dsgd_node *self, outer_round *r, int worker)
{
    dsgd_send(self, worker, dsgd_model(self), &r->asked[worker], 1);
    r->rounds[worker] = r->done;
    r->asked[worker] = 0;
}

static void end_round(dsgd_node *self, outer_round *r)
{
    const decoupled_diloco_params *p = self->params;
    dsgd_divide(self, r->sum, r->steps); /* sum <- D, the weighted mean of the changes */
    dsgd_combine(self, r->u, p->outer_momentum, 1, r->sum); /* outer momentum: u <- mu u + D */
    dsgd_combine(self, dsgd_model(self), 1, -p->outer_lr, r->sum);
    dsgd_combine(self, dsgd_model(self), 1, -p->outer_lr * p->outer_momentum, r->u);
    r->steps = r->n = 0;
    r->done++;
    for (int i = 0; i < self->n_workers; i++)
        if (r->asked[i] > 0)
            send_model(self, r, i);
}

static void decoupled_diloco_serve(dsgd_node *self)
{
    const decoupled_diloco_params *p = self->params;
    const size_t n = (size_t)self->n_workers;
    outer_round r = {.sum = dsgd_vector_new(self),
                     .u = dsgd_vector_new(self),
                     .asked = dsgd_memory_new(self, n, sizeof(double)),
                     .rounds = dsgd_memory_new(self, n, sizeof(double))};
    /* began_s: start of the outer round; until_s: end of the grace period */
    double began_s = 0, until_s = INFINITY;
    for (;;) {
        const dsgd_message *m = dsgd_recv(self, until_s);
        const double now_s = dsgd_time_s(self);
        if (m != NULL) {
            r.asked[m->from] = m->numbers[0];
            if (m->x == NULL) { /* An empty request means that the learner was repaired. */
                send_model(self, &r, m->from);
                continue;
            }
            dsgd_message_used(self, m, (int64_t)(r.done - r.rounds[m->from]));
            dsgd_combine(self, r.sum, r.n > 0, m->numbers[1], m->x);
            r.steps += m->numbers[1];
            if (++r.n == quorum_of(p, self->n_workers))
                until_s = now_s + p->grace * (now_s - began_s);
        }
        if (now_s < until_s && r.n < self->n_workers)
            continue;
        end_round(self, &r);
        began_s = now_s;
        until_s = INFINITY;
    }
}

static const char *const quorum_words[] = {"majority", NULL};

static const dsgd_option decoupled_diloco_options[] = {
    DSGD_OPTION_LONG(decoupled_diloco_params, period, 100, 1, 1e9, "steps",
                     "H: number of inner steps from one change that a learner sends to its next"),
    DSGD_OPTION_LONG(decoupled_diloco_params, quorum, MAJORITY, 1, 1 << 20, "workers",
                     "K: number of changes that an outer step needs. majority: P / 2 + 1. At most "
                     "the number of workers",
                     .words = quorum_words),
    DSGD_OPTION_LONG(
        decoupled_diloco_params, delay, 5, 0, 1e9, "steps",
        "tau: number of local steps after which a learner waits for the server's model"),
    DSGD_OPTION_DOUBLE(decoupled_diloco_params, grace, 0.04, 0, 1e6, NULL,
                       "grace period after the K-th change in which others may arrive, as a share "
                       "of the round so far"),
    DSGD_OPTION_DOUBLE(decoupled_diloco_params, outer_lr, 0.7, 0, 100, NULL,
                       "learning rate of the outer optimizer, which does not decay"),
    DSGD_OPTION_DOUBLE(decoupled_diloco_params, outer_momentum, 0.9, 0, 1, NULL,
                       "Nesterov momentum of the outer optimizer"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_decoupled_diloco = {
    .about = {.name = "decoupled_diloco",
              .summary =
                  "DiLoCo whose outer step takes the first K changes and those that follow soon",
              .reference = "Decoupled DiLoCo 2026, arXiv 2604.21428, by its abstract and summaries",
              DSGD_PARAMS(decoupled_diloco_params, decoupled_diloco_options)},
    .doc = {.idea = "DiLoCo without lock-step: the server merges the changes that have arrived, "
                    "and learners continue.",
            .rule = "learner: H steps x <- x + U(g, x, t), sends s - x and its number of steps w;  "
                    "continues from the next model s of the server, x <- s + (x - x when it sent). "
                    " server: when K changes have arrived and the grace period is over  D = sum of "
                    "w (s - x) / sum of w, u <- mu u + D, s <- s - lr (D + mu u), to the senders",
            .sends = "N up and N down per learner and round of H steps or more.",
            .waits = "A learner waits for the server's model tau steps after it has sent. The "
                     "server waits for K changes and a grace period."},
    .work = decoupled_diloco_work,
    .serve = decoupled_diloco_serve,
    .traits = DSGD_OUTPUT_SERVERS | DSGD_REJOINS,
    .laws =
        DSGD_LAWS({DSGD_LAW_PLAIN_SGD,
                   DSGD_WITH({"period", 4}, {"delay", 0}, {"outer_lr", 1}, {"outer_momentum", 0})},
                  {DSGD_LAW_ALLREDUCE, DSGD_WITH({"period", 1}, {"quorum", 1 << 20}, {"delay", 0},
                                                 {"outer_lr", 1}, {"outer_momentum", 0})}),
};
