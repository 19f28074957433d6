/**
 * @file dedloc.c
 * DeDLOC: peers gather one big batch at one model, each at its own speed, average their gradients by
 * samples, and step. Who averages how much of the vector follows from bandwidths.
 *
 * M. Diskin et al., "Distributed deep learning in open collaborations", NeurIPS 2021, and released
 * code: the batch in samples, deadlines, what is left out of a sum, and the time that shares minimise. A
 * server stands for the distributed hash table in which peers find each other. This simulator's: a peer
 * asks it after each gradient, where the code polls; a part of a share follows when the reducer has the
 * one before of all; a peer that missed a round downloads the model, and its optimizer has missed it.
 */
#include "sim/algorithm.h"

typedef struct dedloc_params {
    int64_t batch, auxiliary;
    int shares;
    double matchmaking, timeout;
} dedloc_params;

enum { BY_BANDWIDTH, EQUAL };

/* What messages say: their first number; the second is a round. */
enum { NOTHING, REPORT, JOIN, GO_ON, START, LATE, ASK, STATE, PART, NEXT, MEAN };

/** Auxiliary peers are the last: they average, and compute no gradient. */
static bool computes(const dsgd_node *self, int rank)
{
    const dedloc_params *p = self->params;
    return rank < self->n_workers - p->auxiliary;
}

/* --- a peer ----------------------------------------------------------------------------------- */

typedef struct member {
    int rank;
    int64_t first, end, next; /* pieces that it averages; of these the next to be sent to it */
} member;

typedef struct peer {
    dsgd_vector *x, *g, *sum, *reduced, *mean;
    double round, samples; /* of the model; in the sum */
    size_t n_pieces;
    double *parts, *weight; /* [n_pieces] contributions to reduced, and their samples */
    member *group; /* [P] of the round */
    int n, n_computing;
    int64_t missing; /* pieces without a mean */
    int answer, source; /* of the server: a word; who is to be asked for the model */
    bool downloads; /* it has yet to get the model for which it asks */
    int *asks, n_asks; /* [P] who is to get its own at the end of the step */
} peer;

static void begin_round(peer *p, double round)
{
    p->round = round;
    p->samples = 0;
    p->n = 0;
    for (size_t k = 0; k < p->n_pieces; k++)
        p->parts[k] = p->weight[k] = 0;
}

static void send_piece(dsgd_node *self, const peer *p, int to, int word, dsgd_vector *of, int64_t k)
{
    const size_t piece = (size_t)k;
    dsgd_send(self, to, dsgd_range(self, of, piece, piece + 1),
              (double[]){word, p->round, (double)k, p->samples}, 4);
}

/** The next piece to who averages it. */
static void send_next(dsgd_node *self, peer *p, member *to)
{
    if (computes(self, self->rank) && to->next < to->end)
        send_piece(self, p, to->rank, PART, p->sum, to->next++);
}

static void add_part(dsgd_node *self, peer *p, size_t k, double samples, dsgd_vector *part)
{
    dsgd_combine(self, dsgd_range(self, p->reduced, k, k + 1), p->parts[k] > 0, samples, part);
    p->parts[k]++;
    p->weight[k] += samples;
}

/** The mean of a piece of its own, to all. */
static void end_piece(dsgd_node *self, peer *p, int64_t piece)
{
    const size_t k = (size_t)piece;
    dsgd_vector *const mean = dsgd_range(self, p->mean, k, k + 1);
    if (p->parts[k] > 0) {
        dsgd_copy(self, mean, dsgd_range(self, p->reduced, k, k + 1));
        dsgd_divide(self, mean, p->weight[k]);
    }
    for (int i = 0; i < p->n; i++) {
        const int rank = p->group[i].rank;
        if (rank == self->rank)
            continue;
        if (computes(self, rank))
            dsgd_send(self, rank, NULL, (double[]){NEXT, p->round}, 2);
        send_piece(self, p, rank, MEAN, p->mean, piece);
    }
    p->parts[k] = NAN; /* who comes now is late */
    p->missing--;
}

static member *member_of(peer *p, int rank)
{
    for (int i = 0; i < p->n; i++)
        if (p->group[i].rank == rank)
            return &p->group[i];
    return NULL;
}

/** The group and its shares, from the server. */
static void meet(dsgd_node *self, peer *p, const dsgd_message *m)
{
    int64_t piece = 0;
    p->n = (int)(m->n - 2) / 2;
    p->n_computing = 0;
    for (int i = 0; i < p->n; i++) {
        const int rank = (int)m->numbers[2 + 2 * i];
        const int64_t first = piece;
        piece += (int64_t)m->numbers[3 + 2 * i];
        p->group[i] = (member){rank, first, piece, first};
        p->n_computing += computes(self, rank);
    }
    p->missing = piece;
}

/** Of a round under way. */
static void hear_of_round(dsgd_node *self, peer *p, const dsgd_message *m)
{
    const int word = (int)m->numbers[0];
    const size_t k = word == NEXT ? 0 : (size_t)m->numbers[2];
    if (word == PART && !isnan(p->parts[k])) {
        dsgd_message_used(self, m, 0);
        add_part(self, p, k, m->numbers[3], m->x);
        if (p->parts[k] == p->n_computing && p->n > 0)
            end_piece(self, p, (int64_t)k);
    } else if (word == NEXT) {
        send_next(self, p, member_of(p, m->from));
    } else if (word == MEAN) {
        dsgd_copy(self, dsgd_range(self, p->mean, k, k + 1), m->x);
        p->missing--;
    }
}

/** Its model to who asks. */
static void answer(dsgd_node *self, peer *p)
{
    for (int i = 0; i < p->n_asks && i < self->n_workers; i++)
        dsgd_send(self, p->asks[i], p->x, (double[]){STATE, p->round}, 2);
    p->n_asks = 0;
}

/** Treats the next message. False: none has come by then, or it has failed. */
static bool hear(dsgd_node *self, peer *p, double until_s)
{
    const dsgd_message *m = dsgd_recv(self, until_s);
    if (m == NULL)
        return false;
    const int word = (int)m->numbers[0];
    if (word == LATE) {
        p->answer = word;
        p->source = (int)m->numbers[2];
        p->round = p->source < 0 ? m->numbers[1] : p->round;
    } else if (word == ASK) {
        p->asks[p->n_asks++ % self->n_workers] = m->from;
        if (p->downloads)
            answer(self, p);
    } else if (word == STATE && p->downloads) {
        dsgd_copy(self, p->x, m->x);
        begin_round(p, m->numbers[1]);
        p->downloads = false;
    } else if (m->numbers[1] == p->round && (word == GO_ON || word == START)) {
        p->answer = word;
        if (word == START)
            meet(self, p, m);
    } else if (m->numbers[1] == p->round) {
        hear_of_round(self, p, m);
    }
    return true;
}

/** Asks the server; false: it has failed before the answer. */
static bool ask(dsgd_node *self, peer *p, const double *numbers, size_t n)
{
    p->answer = NOTHING;
    dsgd_send(self, dsgd_server_address(self, 0), NULL, numbers, n);
    while (p->answer == NOTHING)
        if (!hear(self, p, INFINITY))
            return false;
    return true;
}

/** The model of a peer that is there, as the server says; its own where it is alone. */
static void download(dsgd_node *self, peer *p)
{
    const dedloc_params *params = self->params;
    for (p->downloads = true; p->downloads;) {
        if (!ask(self, p, (double[]){JOIN, p->round}, 2) || p->source < 0)
            break;
        dsgd_send(self, p->source, NULL, (double[]){ASK, p->round}, 2);
        const double until_s = dsgd_time_s(self) + params->timeout;
        while (p->downloads && hear(self, p, until_s))
            continue;
        if (p->downloads && dsgd_time_s(self) < until_s)
            break;
    }
    p->downloads = false;
    begin_round(p, p->round);
}

/** x by the mean of the group; what does not come in time is left out of it. */
static void average(dsgd_node *self, peer *p)
{
    const dedloc_params *params = self->params;
    const member *const own = member_of(p, self->rank);
    dsgd_divide(self, p->sum, p->samples > 0 ? p->samples : 1);
    dsgd_copy(self, p->mean, p->sum);
    for (int64_t k = own->first; k < own->end; k++) {
        if (computes(self, self->rank))
            add_part(self, p, (size_t)k, p->samples,
                     dsgd_range(self, p->sum, (size_t)k, (size_t)k + 1));
        if (p->parts[k] == p->n_computing)
            end_piece(self, p, k);
    }
    for (int i = 1; i < p->n; i++) /* each begins at another */
        send_next(self, p, &p->group[(own - p->group + i) % p->n]);
    for (int tries = 0; tries < 2 && p->missing > 0; tries++) {
        const double until_s = dsgd_time_s(self) + params->timeout;
        while (p->missing > 0 && hear(self, p, until_s))
            continue;
        for (int64_t k = own->first; k < own->end; k++)
            if (!isnan(p->parts[k]))
                end_piece(self, p, k);
    }
    dsgd_local_step(self, p->x, p->mean);
    begin_round(p, p->round + 1);
}

/** A gradient more. */
static void gather(dsgd_node *self, peer *p)
{
    if (!computes(self, self->rank)) {
        dsgd_gradient_until(self, p->g, p->x, 1, -1);
        return;
    }
    dsgd_gradient(self, p->g, p->x);
    dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
    dsgd_combine(self, p->sum, p->samples > 0, dsgd_step_samples(self), p->g);
    p->samples += dsgd_step_samples(self);
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
              .group = dsgd_memory_new(self, n, sizeof(member)),
              .asks = dsgd_memory_new(self, n, sizeof(int))};
    const double bandwidth = dsgd_bandwidth(self);

    while (dsgd_next_step(self)) {
        if (dsgd_has_joined(self)) /* and says so, to be waited for */
            download(self, &p);
        else
            gather(self, &p);
        if (!ask(self, &p, (double[]){REPORT, p.round, p.samples, bandwidth}, 4))
            continue;
        if (p.answer == START)
            average(self, &p);
        else if (p.answer == LATE)
            download(self, &p);
        answer(self, &p);
    }
}

/* --- the server, which has no model ------------------------------------------------------------- */

/** What it knows of a peer. */
typedef struct known {
    bool expected,
        waits; /* took part in the last round, or has reported in this one; asks for it */
    double samples, bandwidth;
} known;

typedef struct tracker {
    known *of; /* [P] */
    double round, samples,
        until_s; /* when it begins, whoever is there; INFINITY: the batch is not full */
    double *numbers; /* [2 + 2 P] of a message */
    dsgd_reducer *reducers; /* [P] */
} tracker;

/** The next that is there, to be asked for the model; -1: none. */
static void tell_late(dsgd_node *self, tracker *t, int worker)
{
    int source = -1;
    for (int i = 1; i < self->n_workers && source < 0; i++)
        if (t->of[(worker + i) % self->n_workers].expected)
            source = (worker + i) % self->n_workers;
    t->samples -= t->of[worker].samples;
    t->of[worker] = (known){0};
    dsgd_send(self, worker, NULL, (double[]){LATE, t->round, source}, 3);
}

/** The group of a round: who waits, with a share each. */
static void start_round(dsgd_node *self, tracker *t)
{
    const dedloc_params *p = self->params;
    const int64_t n_pieces = (int64_t)dsgd_pieces(self, dsgd_model(self));
    int n = 0;
    for (int i = 0; i < self->n_workers; i++) {
        t->of[i].expected = t->of[i].waits;
        if (!t->of[i].waits)
            continue;
        t->numbers[2 + 2 * n] = i;
        t->reducers[n++] = (dsgd_reducer){t->of[i].bandwidth, computes(self, i)};
    }
    dsgd_share_out(t->reducers, n, n_pieces);
    t->numbers[0] = START;
    t->numbers[1] = t->round;
    for (int i = 0; i < n; i++)
        t->numbers[3 + 2 * i] = p->shares == EQUAL
                                    ? (double)(n_pieces * (i + 1) / n - n_pieces * i / n)
                                    : (double)t->reducers[i].pieces;
    for (int i = 0; i < self->n_workers; i++) {
        if (t->of[i].waits)
            dsgd_send(self, i, NULL, t->numbers, 2 + 2 * (size_t)n);
        t->of[i].waits = false;
        t->of[i].samples = 0;
    }
    t->round++;
    t->samples = 0;
    t->until_s = INFINITY;
}

static bool all_wait(const dsgd_node *self, const tracker *t)
{
    for (int i = 0; i < self->n_workers; i++)
        if (t->of[i].expected && !t->of[i].waits)
            return false;
    return true;
}

/** A peer has so many samples of the round. */
static void take_report(dsgd_node *self, tracker *t, const dsgd_message *m)
{
    const dedloc_params *p = self->params;
    known *const k = &t->of[m->from];
    t->samples += m->numbers[2] - k->samples;
    const bool full = t->samples >= (double)p->batch;
    *k = (known){true, full || !computes(self, m->from), m->numbers[2], m->numbers[3]};
    if (full && t->until_s == INFINITY)
        t->until_s = dsgd_time_s(self) + p->matchmaking;
    if (!k->waits)
        dsgd_send(self, m->from, NULL, (double[]){GO_ON, t->round}, 2);
}

static void dedloc_serve(dsgd_node *self)
{
    const size_t n = (size_t)self->n_workers;
    tracker t = {.of = dsgd_memory_new(self, n, sizeof(known)),
                 .until_s = INFINITY,
                 .numbers = dsgd_numbers_new(self, 2 + 2 * n),
                 .reducers = dsgd_memory_new(self, n, sizeof(dsgd_reducer))};
    for (size_t i = 0; i < n; i++)
        t.of[i].expected = true;
    for (;;) {
        const dsgd_message *m = dsgd_recv(self, t.until_s);
        if (m != NULL && m->numbers[0] == REPORT && m->numbers[1] == t.round) {
            take_report(self, &t, m);
        } else if (m != NULL) {
            if (m->numbers[0] == REPORT)
                dsgd_message_drop(self, m);
            tell_late(self, &t, m->from);
        }
        if (t.until_s < INFINITY && (all_wait(self, &t) || dsgd_time_s(self) >= t.until_s))
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
                "gradients and downloads x. Pieces count as equal: `exchange: pieces`"},
    .check = dedloc_check,
    .work = dedloc_work,
    .serve = dedloc_serve,
    .traffic = dsgd_traffic_by_time,
    .rejoins = true,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"batch", 1})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"batch", 1})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"batch", 1}, {"shares", EQUAL})}),
};
