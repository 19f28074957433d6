/**
 * @file dedloc.c
 * DeDLOC: peers gather one big batch at one model, each at its own speed, average their gradients by
 * samples, and step. Who averages how much of the vector follows from bandwidths.
 *
 * M. Diskin et al., "Distributed deep learning in open collaborations", NeurIPS 2021, and released
 * code: the batch in samples, deadlines, what is left out of a sum, and the time that shares minimise.
 * A server stands for the distributed hash table by which peers find each other. This simulator's: a
 * peer asks it after each gradient, where the code polls; who missed a round gets the model of another,
 * and its optimizer has missed it.
 */
#include "sim/algorithm.h"

typedef struct dedloc_params {
    int64_t batch, auxiliary;
    int shares;
    double matchmaking, timeout;
} dedloc_params;

enum { BY_BANDWIDTH, EQUAL };

/* What messages say: their first number; the second is a round. */
enum { NOTHING, REPORT, GO_ON, START, ASK, STATE, PART, MEAN };

enum { FAILED = -1 }; /* the round of who has lost its model */

/** Auxiliary peers are the last: they average, and compute no gradient. */
static bool computes(const dsgd_node *self, int rank)
{
    const dedloc_params *p = self->params;
    return rank < self->n_workers - p->auxiliary;
}

/* --- a peer ----------------------------------------------------------------------------------- */

typedef struct peer {
    dsgd_vector *x, *g, *sum, *reduced, *mean;
    double round, samples; /* of the model; in the sum */
    size_t n_pieces;
    double *parts, *weight; /* [n_pieces] contributions to reduced, NAN: no more; their samples */
    double *group; /* [P + n_pieces] the members of the round, and who averages each piece */
    int n, n_computing; /* of the group; 0: it is not known */
    size_t missing; /* pieces without a mean */
    int answer; /* of the server */
    int *asks, n_asks; /* [P] who is to get its model at the end of the step */
} peer;

static void begin_round(peer *p, double round)
{
    p->round = round;
    p->samples = p->n = 0;
    for (size_t k = 0; k < p->n_pieces; k++)
        p->parts[k] = p->weight[k] = 0;
}

static void send_piece(dsgd_node *self, peer *p, int to, int word, size_t k)
{
    dsgd_send(self, to, dsgd_range(self, word == PART ? p->sum : p->mean, k, k + 1),
              (double[]){word, p->round, (double)k, p->samples}, 4);
}

static bool averages(const dsgd_node *self, const peer *p, size_t k)
{
    return p->group[p->n + (int)k] == self->rank;
}

/** The mean of a piece of its own, to all. */
static void end_piece(dsgd_node *self, peer *p, size_t k)
{
    if (p->parts[k] > 0) {
        dsgd_copy(self, dsgd_range(self, p->mean, k, k + 1),
                  dsgd_range(self, p->reduced, k, k + 1));
        dsgd_divide(self, dsgd_range(self, p->mean, k, k + 1), p->weight[k]);
    }
    for (int i = 0; i < p->n; i++)
        if (p->group[i] != self->rank)
            send_piece(self, p, (int)p->group[i], MEAN, k);
    p->parts[k] = NAN;
    p->missing--;
}

static void add_part(dsgd_node *self, peer *p, size_t k, double samples, dsgd_vector *part)
{
    if (isnan(p->parts[k])) /* it is late */
        return;
    dsgd_combine(self, dsgd_range(self, p->reduced, k, k + 1), p->parts[k] > 0, samples, part);
    p->weight[k] += samples;
    if (++p->parts[k] == p->n_computing && p->n > 0)
        end_piece(self, p, k);
}

/** The group and its shares, from the server. */
static void meet(dsgd_node *self, peer *p, const dsgd_message *m)
{
    p->n = (int)(m->n - 2 - p->n_pieces);
    memcpy(p->group, m->numbers + 2, (m->n - 2) * sizeof *p->group);
    p->n_computing = 0;
    for (int i = 0; i < p->n; i++)
        p->n_computing += computes(self, (int)p->group[i]);
    p->missing = p->n_pieces;
}

/** Treats the next message. False: none has come by then, or it has failed. */
static bool hear(dsgd_node *self, peer *p, double until_s)
{
    const dsgd_message *m = dsgd_recv(self, until_s);
    if (m == NULL)
        return false;
    const int word = (int)m->numbers[0];
    const double round = m->numbers[1];
    const size_t k = m->n == 4 ? (size_t)m->numbers[2] : 0; /* of PART and MEAN */
    if (word == ASK) {
        p->asks[p->n_asks++ % self->n_workers] = (int)round;
    } else if (word == STATE && round > p->round) {
        dsgd_copy(self, p->x, m->x);
        begin_round(p, round);
        p->answer = word;
    } else if (word == GO_ON && round >= p->round) {
        p->round = round;
        p->answer = word;
    } else if (word == START && round == p->round) {
        meet(self, p, m);
        p->answer = word;
    } else if (word == PART && round == p->round) {
        dsgd_message_used(self, m, 0);
        add_part(self, p, k, m->numbers[3], m->x);
    } else if (word == MEAN && round == p->round) {
        dsgd_copy(self, dsgd_range(self, p->mean, k, k + 1), m->x);
        p->missing--;
    }
    return true;
}

/** Its model to who asks. */
static void answer(dsgd_node *self, peer *p)
{
    for (int i = 0; i < p->n_asks && i < self->n_workers; i++)
        dsgd_send(self, p->asks[i], p->x, (double[]){STATE, p->round}, 2);
    p->n_asks = 0;
}

/** Tells the server, and waits for an answer; once more where it stays away with who was to give one. */
static void report(dsgd_node *self, peer *p)
{
    const dedloc_params *params = self->params;
    const double wait_s = 1 + params->matchmaking + params->timeout;
    bool failed = false;
    for (p->answer = NOTHING; p->answer == NOTHING && !failed;) {
        const double until_s = dsgd_time_s(self) + wait_s;
        dsgd_send(self, dsgd_server_address(self, 0), NULL,
                  (double[]){REPORT, p->round, p->samples, dsgd_bandwidth(self)}, 4);
        while (p->answer == NOTHING && hear(self, p, until_s))
            if (p->round == FAILED) /* others may have, too, and ask for what it had */
                answer(self, p);
        failed = dsgd_time_s(self) < until_s;
    }
}

/** x by the mean of the group; what does not come in time is left out of it. */
static void average(dsgd_node *self, peer *p)
{
    const dedloc_params *params = self->params;
    dsgd_divide(self, p->sum, p->samples > 0 ? p->samples : 1);
    dsgd_copy(self, p->mean, p->sum);
    for (size_t k = 0; k < p->n_pieces; k++) {
        if (!averages(self, p, k) && computes(self, self->rank))
            send_piece(self, p, (int)p->group[p->n + (int)k], PART, k);
        else if (computes(self, self->rank))
            add_part(self, p, k, p->samples, dsgd_range(self, p->sum, k, k + 1));
        else if (averages(self, p, k) && p->parts[k] == p->n_computing)
            end_piece(self, p, k);
    }
    for (int tries = 0; tries < 2 && p->missing > 0; tries++) {
        const double until_s = dsgd_time_s(self) + params->timeout;
        while (p->missing > 0 && hear(self, p, until_s))
            continue;
        for (size_t k = 0; k < p->n_pieces; k++)
            if (averages(self, p, k) && !isnan(p->parts[k]))
                end_piece(self, p, k);
    }
    dsgd_local_step(self, p->x, p->mean);
    begin_round(p, p->round + 1);
}

/** A gradient more. */
static void gather(dsgd_node *self, peer *p)
{
    const bool all = computes(self, self->rank);
    dsgd_gradient_until(self, p->g, p->x, 1, all ? INFINITY : -1);
    dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
    dsgd_combine(self, p->sum, p->samples > 0, dsgd_step_samples(self), p->g);
    p->samples += all ? dsgd_step_samples(self) : 0;
}

static void dedloc_work(dsgd_node *self)
{
    const size_t n = (size_t)self->n_workers, n_pieces = dsgd_pieces(self, dsgd_model(self));
    peer p = {.x = dsgd_model(self),
              .g = dsgd_vector_new(self),
              .sum = dsgd_vector_new(self),
              .reduced = dsgd_vector_new(self),
              .mean = dsgd_vector_new(self),
              .n_pieces = n_pieces,
              .parts = dsgd_numbers_new(self, n_pieces),
              .weight = dsgd_numbers_new(self, n_pieces),
              .group = dsgd_numbers_new(self, n + n_pieces),
              .asks = dsgd_memory_new(self, n, sizeof(int))};
    while (dsgd_next_step(self)) {
        if (dsgd_has_joined(self)) { /* gets a model, and then says so, to be waited for */
            begin_round(&p, FAILED);
            report(self, &p);
        } else {
            gather(self, &p);
        }
        report(self, &p);
        if (p.answer == START)
            average(self, &p);
        answer(self, &p);
    }
}

/* --- the server, which has no model ------------------------------------------------------------- */

typedef struct tracker {
    bool *expected,
        *waits; /* [P] took part in the last round or has reported in this; has to wait */
    double *samples, *bandwidth; /* [P] of this round */
    double round, total,
        until_s; /* samples; when it begins at the latest, INFINITY: it is not full */
    double *start; /* [2 + P + pieces] of a message */
    dsgd_reducer *reducers; /* [P] */
} tracker;

/** Has the next that is there give it its model; where there is none it keeps its own. */
static void bring_in(dsgd_node *self, tracker *t, int worker)
{
    t->total -= t->samples[worker];
    t->expected[worker] = t->waits[worker] = false;
    t->samples[worker] = 0;
    for (int i = 1; i < self->n_workers; i++) {
        const int source = (worker + i) % self->n_workers;
        if (!t->expected[source])
            continue;
        dsgd_send(self, source, NULL, (double[]){ASK, worker}, 2);
        return;
    }
    dsgd_send(self, worker, NULL, (double[]){GO_ON, t->round}, 2);
}

/** The group of a round: who waits, with a share each. */
static void start_round(dsgd_node *self, tracker *t)
{
    const dedloc_params *p = self->params;
    const size_t n_pieces = dsgd_pieces(self, dsgd_model(self));
    size_t n = 0, at = 2;
    for (int i = 0; i < self->n_workers; i++) {
        t->expected[i] = t->waits[i];
        if (!t->waits[i])
            continue;
        t->reducers[n++] = (dsgd_reducer){t->bandwidth[i], computes(self, i), 0};
        t->start[at++] = i;
    }
    dsgd_share_out(t->reducers, (int)n, (int64_t)n_pieces);
    t->start[0] = START;
    t->start[1] = t->round;
    for (size_t i = 0; i < n; i++) {
        const size_t even = n_pieces * (i + 1) / n - n_pieces * i / n;
        const size_t own = p->shares == EQUAL ? even : (size_t)t->reducers[i].pieces;
        for (size_t k = 0; k < own; k++)
            t->start[at++] = t->start[2 + i];
    }
    for (int i = 0; i < self->n_workers; i++) {
        if (t->waits[i])
            dsgd_send(self, i, NULL, t->start, at);
        t->waits[i] = false;
        t->samples[i] = 0;
    }
    t->round++;
    t->total = 0;
    t->until_s = INFINITY;
}

/** A peer has so many samples of the round. */
static void take_report(dsgd_node *self, tracker *t, const dsgd_message *m)
{
    const dedloc_params *p = self->params;
    t->total += m->numbers[2] - t->samples[m->from];
    t->samples[m->from] = m->numbers[2];
    t->bandwidth[m->from] = m->numbers[3];
    t->expected[m->from] = true;
    const bool full = t->total >= (double)p->batch;
    t->waits[m->from] = full || !computes(self, m->from);
    if (full && t->until_s == INFINITY)
        t->until_s = dsgd_time_s(self) + p->matchmaking;
    if (!t->waits[m->from])
        dsgd_send(self, m->from, NULL, (double[]){GO_ON, t->round}, 2);
}

static void dedloc_serve(dsgd_node *self)
{
    const size_t n = (size_t)self->n_workers, n_pieces = dsgd_pieces(self, dsgd_model(self));
    tracker t = {.expected = dsgd_memory_new(self, n, sizeof(bool)),
                 .waits = dsgd_memory_new(self, n, sizeof(bool)),
                 .samples = dsgd_numbers_new(self, n),
                 .bandwidth = dsgd_numbers_new(self, n),
                 .until_s = INFINITY,
                 .start = dsgd_numbers_new(self, 2 + n + n_pieces),
                 .reducers = dsgd_memory_new(self, n, sizeof(dsgd_reducer))};
    memset(t.expected, true, n);
    for (;;) {
        const dsgd_message *m = dsgd_recv(self, t.until_s);
        if (m != NULL && m->numbers[1] == t.round) {
            take_report(self, &t, m);
        } else if (m != NULL) {
            if (m->numbers[2] > 0)
                dsgd_message_drop(self, m);
            bring_in(self, &t, m->from);
        }
        int n_late = 0;
        for (size_t i = 0; i < n; i++)
            n_late += t.expected[i] && !t.waits[i];
        if (t.until_s < INFINITY && (n_late == 0 || dsgd_time_s(self) >= t.until_s))
            start_round(self, &t);
    }
}

static dsgd_status dedloc_check(const void *params, int n_workers, dsgd_error *error)
{
    const dedloc_params *p = params;
    if (p->auxiliary < n_workers)
        return DSGD_OK;
    return dsgd_refuse(error, "dedloc: auxiliary: %jd, but of %d workers 0 to %d would do",
                       (intmax_t)p->auxiliary, n_workers, n_workers - 1);
}

static const char *const shares_words[] = {"bandwidth", "equal", NULL};

static const dsgd_option dedloc_options[] = {
    DSGD_OPTION_LONG(dedloc_params, batch, 4096, 1, 1e12, "samples",
                     "of all peers together, which a round gathers at least"),
    DSGD_OPTION_CHOICE(dedloc_params, shares, shares_words,
                       "of the vector that each peer averages: such that the slowest link is done "
                       "first, or equal ones"),
    DSGD_OPTION_LONG(dedloc_params, auxiliary, 0, 0, 1 << 20, "workers",
                     "the last ones, which average and compute no gradient"),
    DSGD_OPTION_DOUBLE(dedloc_params, matchmaking, 15, 0, 1e6, "s",
                       "from a full batch on, in which a round waits for who is there"),
    DSGD_OPTION_DOUBLE(dedloc_params, timeout, 60, 0, 1e6, "s",
                       "after which a round leaves out who sends nothing"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_dedloc = {
    .about = {.name = "dedloc",
              .summary = "one batch of samples gathered by all, averaged in shares by bandwidth",
              .reference = "Diskin et al., NeurIPS 2021, and released code",
              DSGD_PARAMS(dedloc_params, dedloc_options)},
    .doc = {.idea = "A synchronous step of a fixed number of samples, whoever computes them: fast "
                    "peers more, peers with fast links average more, who leaves costs a round.",
            .rule = "peer i: G_i += n g at x, w_i += n samples, again and again until sum of w >= "
                    "batch;  g = sum of G / sum of w;  x <- x + U(g, x, t).  Peer i averages a "
                    "share f_i of the pieces, which minimise max over i of (1 + (n - 2) f_i) N / "
                    "bandwidth_i; of auxiliary ones max of (n - 1) f_i and 1 + (c - 1) f_i, c "
                    "compute",
            .sends = "per round and peer (1 + (n - 2) f_i) N, as many messages as pieces times n; "
                     "per gradient a report and an answer (32 and 16 bytes)",
            .waits =
                "all for each other once the batch is full, at most `matchmaking`, then at most "
                "`timeout` for parts, and as long for means: a part that does not come is left "
                "out, a mean that does not come is one's own. Who misses a round drops its "
                "gradients and downloads x, at the end of another's step; who comes back is then "
                "waited for. "
                "Who reports before the batch is full computes another gradient. Shares are "
                "whole pieces, taken for equal (`exchange: pieces`), and links share "
                "alike what meets on them, so that the least maximum is a bound"},
    .check = dedloc_check,
    .work = dedloc_work,
    .serve = dedloc_serve,
    .traffic = dsgd_traffic_by_time,
    .rejoins = true,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"batch", 1})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"batch", 1})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"batch", 1}, {"shares", EQUAL})}),
};
