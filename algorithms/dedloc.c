/**
 * @file dedloc.c
 * DeDLOC: peers compute one large batch of gradients at one model, each at its own speed. They
 * average the gradients, weighted by samples, and take a step. The bandwidth of a peer determines
 * the share of the vector that the peer averages.
 *
 * M. Diskin et al., "Distributed deep learning in open collaborations", NeurIPS 2021. The released
 * code is the source of several details: the batch is counted in samples, rounds have deadlines, a
 * sum omits late parts, and shares minimise the time of the slowest link. A server replaces the
 * distributed hash table by which peers find each other.
 *
 * This simulator makes two choices. A peer asks the server after each gradient; in the released
 * code, peers poll. A peer that missed a round receives the model of another peer, but its
 * optimizer does not make up for the missed round.
 */
#include "sim/algorithm.h"

typedef struct dedloc_params {
    int64_t batch, auxiliary;
    int shares;
    double matchmaking, timeout;
} dedloc_params;

enum { BY_BANDWIDTH, EQUAL };
enum { AS_MANY_AS_WORKERS = -1 };

/*
 * Kinds of messages. The first number of a message is its kind. The second number is a round; in a
 * message of kind ASK, it is the rank of the asking peer.
 */
enum { NOTHING, REPORT, GO_ON, START, ASK, STATE, PART, MEAN };

enum { FAILED = -1 }; /* round number in the report of a repaired peer, which has lost its model */

/** Returns true if a peer computes gradients. The last `auxiliary` peers only compute averages. */
static bool computes(const dsgd_node *self, int rank)
{
    const dedloc_params *p = self->params;
    return rank < self->n_workers - p->auxiliary;
}

/* --- shares by bandwidth ---------------------------------------------------------------------- */

/**
 * A peer that averages a share of the vector. It receives this share from the other peers and sends
 * them the mean.
 */
typedef struct reducer {
    double bandwidth; /* bandwidth of the peer's link in each direction, in any unit */
    bool contributes; /* true if the peer also computes a gradient and sends parts of it to the
                       * other reducers */
    int64_t pieces; /* number of chunks that this peer averages */
} reducer;

/**
 * Returns the time that the peer's link needs for a share. This time is the larger of the sent
 * volume and the received volume (in vectors), divided by the bandwidth.
 */
static double cost(const reducer *r, double share, int n, int n_contributing)
{
    const double up = r->contributes ? 1 + (n - 2) * share : (n - 1) * share;
    const double down = 1 + (n_contributing - (r->contributes ? 2 : 1)) * share;
    return fmax(up, down) / r->bandwidth;
}

/**
 * Distributes n_pieces equal chunks among n >= 1 reducers. The slowest link then finishes as early
 * as possible, if both directions of all links are always busy. Each chunk goes to a reducer with
 * which the largest cost of all reducers is smallest. If there are several such reducers, the chunk
 * goes to the reducer with the fewest chunks per bandwidth. This greedy choice is optimal. As long
 * as a reducer can take a chunk within the least possible maximum, the chunk goes to such a
 * reducer.
 */
static void share_out(reducer *reducers, int n, int64_t n_pieces)
{
    int n_contributing = 0;
    for (int i = 0; i < n; i++)
        n_contributing += reducers[i].contributes;
    double most = 0;
    for (int i = 0; i < n; i++) {
        reducers[i].pieces = 0;
        most = fmax(most, cost(&reducers[i], 0, n, n_contributing));
    }
    for (int64_t k = 0; k < n_pieces; k++) {
        reducer *best = reducers;
        double least = INFINITY, fewest = INFINITY;
        for (reducer *r = reducers; r < reducers + n; r++) {
            const double pieces = (double)r->pieces + 1, load = pieces / r->bandwidth;
            const double then = fmax(most, cost(r, pieces / (double)n_pieces, n, n_contributing));
            if (then > least || (then == least && load >= fewest))
                continue;
            best = r;
            least = then;
            fewest = load;
        }
        best->pieces++;
        most = least;
    }
}

/* --- peers: gradients and averages ------------------------------------------------------------ */

typedef struct peer {
    dsgd_vector *x, *g, *sum, *reduced, *mean;
    double round, samples; /* round: round number of the model; samples: number of samples in sum */
    size_t n_pieces;
    double *parts, *weight; /* parts: number of contributions to each chunk, NAN if its mean is
                             * known; weight: their samples; [n_pieces] each */
    double *group; /* ranks of the round's members, followed by the reducer's rank for each chunk;
                    * up to P + n_pieces entries */
    int n, n_computing; /* n: number of members of the group, 0 if unknown; n_computing: number of
                         * members that compute gradients */
    size_t n_means; /* number of chunks whose mean is known */
    int answer; /* kind of the server's last answer */
    int *asks, n_asks; /* asks: ranks of the n_asks peers that need this peer's model after the
                        * step; P entries */
} peer;

static void begin_round(peer *p, double round)
{
    p->round = round;
    p->samples = p->n = 0;
    p->n_means = 0;
    for (size_t k = 0; k < p->n_pieces; k++)
        p->parts[k] = p->weight[k] = 0;
}

static dsgd_vector *piece(dsgd_node *self, dsgd_vector *x, size_t k)
{
    return dsgd_slice(self, x, k, k + 1, 1);
}

/** Sends the mean of chunk k, which this peer averages, to all other members of the group. */
static void end_piece(dsgd_node *self, peer *p, size_t k)
{
    dsgd_vector *const mean = piece(self, p->mean, k);
    if (p->parts[k] > 0)
        dsgd_copy(self, mean, piece(self, p->reduced, k));
    dsgd_divide(self, mean, p->parts[k] > 0 ? p->weight[k] : 1);
    for (int i = 0; i < p->n; i++)
        if (p->group[i] != self->rank)
            dsgd_send(self, (int)p->group[i], mean, (double[]){MEAN, p->round, (double)k}, 3);
    p->parts[k] = NAN;
    p->n_means++;
}

static void add_part(dsgd_node *self, peer *p, size_t k, double samples, dsgd_vector *part)
{
    /* the mean of the chunk is already known, so this part is late */
    if (isnan(p->parts[k]))
        return;
    dsgd_combine(self, piece(self, p->reduced, k), p->parts[k] > 0, samples, part);
    p->weight[k] += samples;
    if (++p->parts[k] == p->n_computing && p->n > 0)
        end_piece(self, p, k);
}

/**
 * Handles the next message. Returns false if no message arrives until @p until_s, or after a
 * failure.
 */
static bool receive(dsgd_node *self, peer *p, double until_s)
{
    const dsgd_message *m = dsgd_recv(self, until_s);
    if (m == NULL)
        return false;
    const int word = (int)m->numbers[0];
    const double round = m->numbers[1];
    const bool now = round == p->round;
    if (word == ASK) {
        p->asks[p->n_asks++ % self->n_workers] = (int)round;
    } else if (word == STATE && round > p->round) {
        dsgd_copy(self, p->x, m->x);
        begin_round(p, round);
        p->answer = word;
    } else if (word == GO_ON && round >= p->round) {
        p->round = round;
        p->answer = word;
    } else if (word == START && now) {
        memcpy(p->group, m->numbers + 2, (m->n - 2) * sizeof *p->group);
        p->n = (int)(m->n - 2 - p->n_pieces);
        p->n_computing = 0;
        for (int i = 0; i < p->n; i++)
            p->n_computing += computes(self, (int)p->group[i]);
        p->answer = word;
    } else if (word == PART && now) {
        dsgd_message_used(self, m, 0);
        add_part(self, p, (size_t)m->numbers[2], m->numbers[3], m->x);
    } else if (word == MEAN && now) {
        const size_t k = (size_t)m->numbers[2];
        dsgd_copy(self, piece(self, p->mean, k), m->x);
        p->parts[k] = NAN;
        p->n_means++;
    }
    return true;
}

/** Sends this peer's model to the peers that have asked for a model. */
static void send_model(dsgd_node *self, peer *p)
{
    for (int i = 0; i < p->n_asks && i < self->n_workers; i++)
        dsgd_send(self, p->asks[i], p->x, (double[]){STATE, p->round}, 2);
    p->n_asks = 0;
}

/**
 * Reports this peer's number of samples to the server and waits for an answer. Repeats the report
 * after a timeout, because the peer that sends the model may have failed.
 */
static void report_samples(dsgd_node *self, peer *p)
{
    const dedloc_params *params = self->params;
    double until_s;
    p->answer = NOTHING;
    do {
        until_s = dsgd_time_s(self) + 1 + params->matchmaking + params->timeout;
        dsgd_send(self, dsgd_server_address(self, 0), NULL,
                  (double[]){REPORT, p->round, p->samples, dsgd_bandwidth(self)}, 4);
        while (p->answer == NOTHING && receive(self, p, until_s))
            continue;
    } while (p->answer == NOTHING && dsgd_time_s(self) >= until_s);
}

/**
 * Averages the gradients of the group and updates x. Parts that do not arrive in time are left out
 * of the mean.
 */
static void average_and_step(dsgd_node *self, peer *p)
{
    const dedloc_params *params = self->params;
    const double *const by = &p->group[p->n];
    dsgd_divide(self, p->sum, p->samples > 0 ? p->samples : 1);
    for (size_t k = 0; k < p->n_pieces; k++) {
        dsgd_vector *const own = piece(self, p->sum, k);
        if (!isnan(p->parts[k]))
            dsgd_copy(self, piece(self, p->mean, k), own);
        const double numbers[] = {PART, p->round, (double)k, p->samples};
        if (computes(self, self->rank) && by[k] != self->rank)
            dsgd_send(self, (int)by[k], own, numbers, 4);
        else if (computes(self, self->rank))
            add_part(self, p, k, p->samples, own);
        else if (by[k] == self->rank && p->parts[k] == p->n_computing)
            end_piece(self, p, k);
    }
    for (int tries = 0; tries < 2 && p->n_means < p->n_pieces; tries++) {
        const double until_s = dsgd_time_s(self) + params->timeout;
        while (p->n_means < p->n_pieces && receive(self, p, until_s))
            continue;
        for (size_t k = 0; k < p->n_pieces; k++)
            if (by[k] == self->rank && !isnan(p->parts[k]))
                end_piece(self, p, k);
    }
    dsgd_local_step(self, p->x, p->mean);
    begin_round(p, p->round + 1);
}

/** Computes one more gradient and adds it to the sum. */
static void add_gradient(dsgd_node *self, peer *p)
{
    const bool all = computes(self, self->rank);
    dsgd_gradient_until(self, p->g, p->x, 1, all ? INFINITY : -1);
    dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
    dsgd_combine(self, p->sum, p->samples > 0, self->samples, p->g);
    p->samples += all ? self->samples : 0;
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
              .parts = dsgd_memory_new(self, n_pieces, sizeof(double)),
              .weight = dsgd_memory_new(self, n_pieces, sizeof(double)),
              .group = dsgd_memory_new(self, n + n_pieces, sizeof(double)),
              .asks = dsgd_memory_new(self, n, sizeof(int))};
    while (dsgd_next_step(self)) {
        /*
         * A repaired peer first receives a model. Its second report makes the other peers wait for
         * it.
         */
        if (dsgd_has_joined(self)) {
            begin_round(&p, FAILED);
            report_samples(self, &p);
        } else {
            add_gradient(self, &p);
        }
        report_samples(self, &p);
        if (p.answer == START)
            average_and_step(self, &p);
        send_model(self, &p);
    }
}

/* --- the server: rounds and reports, without a model ------------------------------------------ */

/**
 * The server's knowledge of a peer. expected: true if the peer was in the last round or has
 * reported in this round. waits: true if the peer waits for the start of the averaging.
 */
typedef struct known {
    bool expected, waits;
    double samples, bandwidth;
} known;

typedef struct tracker {
    known *of; /* state of each peer; P entries */
    double round, samples; /* the present round, and the number of samples of all peers in it */
    double until_s; /* latest start of the averaging; INFINITY until the batch is full */
    double *start; /* numbers of a START message: its kind, the round, members, and the reducer of
                    * each chunk; 2 + P + n_pieces entries */
    reducer *reducers; /* reducers of the present round; P entries */
} tracker;

/**
 * Requests the next expected peer to send its model to @p worker. If there is no such peer, @p
 * worker keeps its own model.
 */
static void let_peer_send_model(dsgd_node *self, tracker *t, int worker)
{
    int source = worker;
    t->samples -= t->of[worker].samples;
    t->of[worker] = (known){0};
    do
        source = (source + 1) % self->n_workers;
    while (source != worker && !t->of[source].expected);
    const double word = source == worker ? GO_ON : ASK,
                 number = source == worker ? t->round : worker;
    dsgd_send(self, source, NULL, (double[]){word, number}, 2);
}

/**
 * Starts a round: forms the group of all waiting peers and gives each peer a share of the chunks.
 */
static void start_round(dsgd_node *self, tracker *t)
{
    const dedloc_params *p = self->params;
    const size_t n_pieces = dsgd_pieces(self, dsgd_model(self));
    size_t n = 0, at = 2;
    for (int i = 0; i < self->n_workers; i++) {
        known *const k = &t->of[i];
        k->expected = k->waits;
        k->samples = 0;
        if (!k->waits)
            continue;
        t->reducers[n++] = (reducer){k->bandwidth, computes(self, i), 0};
        t->start[at++] = i;
    }
    share_out(t->reducers, (int)n, (int64_t)n_pieces);
    for (size_t i = 0; i < n; i++) {
        const size_t even = n_pieces * (i + 1) / n - n_pieces * i / n;
        const size_t own = p->shares == EQUAL ? even : (size_t)t->reducers[i].pieces;
        for (size_t k = 0; k < own; k++)
            t->start[at++] = t->start[2 + i];
    }
    t->start[0] = START;
    t->start[1] = t->round++;
    for (size_t i = 0; i < n; i++) {
        t->of[(int)t->start[2 + i]].waits = false;
        dsgd_send(self, (int)t->start[2 + i], NULL, t->start, at);
    }
    t->samples = 0;
    t->until_s = INFINITY;
}

/** Handles a peer's report of its number of samples in this round. */
static void take_report(dsgd_node *self, tracker *t, const dsgd_message *m)
{
    const dedloc_params *p = self->params;
    known *const k = &t->of[m->from];
    t->samples += m->numbers[2] - k->samples;
    const double computing = (double)(self->n_workers - p->auxiliary);
    const bool full = t->samples >= (p->batch == AS_MANY_AS_WORKERS ? computing * self->samples
                                                                    : (double)p->batch);
    *k = (known){true, full || !computes(self, m->from), m->numbers[2], m->numbers[3]};
    if (full && t->until_s == INFINITY)
        t->until_s = dsgd_time_s(self) + p->matchmaking;
    if (!k->waits)
        dsgd_send(self, m->from, NULL, (double[]){GO_ON, t->round}, 2);
}

static void dedloc_serve(dsgd_node *self)
{
    const size_t n = (size_t)self->n_workers, n_pieces = dsgd_pieces(self, dsgd_model(self));
    tracker t = {.of = dsgd_memory_new(self, n, sizeof(known)),
                 .until_s = INFINITY,
                 .start = dsgd_memory_new(self, 2 + n + n_pieces, sizeof(double)),
                 .reducers = dsgd_memory_new(self, n, sizeof(reducer))};
    for (size_t i = 0; i < n; i++)
        t.of[i].expected = true;
    for (;;) {
        const dsgd_message *m = dsgd_recv(self, t.until_s);
        if (m != NULL && m->numbers[1] == t.round) {
            take_report(self, &t, m);
        } else if (m != NULL) {
            if (m->numbers[2] > 0)
                dsgd_message_drop(self, m);
            let_peer_send_model(self, &t, m->from);
        }
        int n_late = 0;
        for (size_t i = 0; i < n; i++)
            n_late += t.of[i].expected && !t.of[i].waits;
        if (t.until_s < INFINITY && (n_late == 0 || dsgd_time_s(self) >= t.until_s))
            start_round(self, &t);
    }
}

static dsgd_status dedloc_check(const void *params, int n_workers, dsgd_error *error)
{
    const dedloc_params *p = params;
    if (p->auxiliary < n_workers)
        return DSGD_OK;
    return dsgd_refuse(error, "dedloc: auxiliary must be from 0 to %d with %d workers, got %jd",
                       n_workers - 1, n_workers, (intmax_t)p->auxiliary);
}

static const char *const batch_words[] = {"workers", NULL};
static const char *const shares_words[] = {"bandwidth", "equal", NULL};

static const dsgd_option dedloc_options[] = {
    DSGD_OPTION_LONG(dedloc_params, batch, AS_MANY_AS_WORKERS, 1, 1e12, "samples",
                     "number of samples of all peers that a round collects at least (4096 in the "
                     "paper). workers: the samples of one step of all workers",
                     .words = batch_words),
    DSGD_OPTION_CHOICE(dedloc_params, shares, shares_words,
                       "share of the average that each peer computes. bandwidth: as its link "
                       "allows. equal: the same"),
    DSGD_OPTION_LONG(dedloc_params, auxiliary, 0, 0, 1 << 20, "workers",
                     "number of last peers that average and compute no gradient"),
    DSGD_OPTION_DOUBLE(dedloc_params, matchmaking, 15, 0, 1e6, "s",
                       "longest time after a full batch for which a round waits for peers"),
    DSGD_OPTION_DOUBLE(dedloc_params, timeout, 60, 0, 1e6, "s",
                       "time after which an average leaves out peers that send nothing"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_dedloc = {
    .about = {.name = "dedloc",
              .summary =
                  "all peers collect one batch of samples and average it in shares by bandwidth",
              .reference = "Diskin et al., NeurIPS 2021, and released code",
              DSGD_PARAMS(dedloc_params, dedloc_options)},
    .doc = {.idea = "A synchronous step has a fixed number of samples, whichever peers compute "
                    "them: fast peers compute more, and peers with fast links average more. A peer "
                    "that leaves costs one round.",
            .rule = "peer i: G_i += n g at x, w_i += n samples, until sum of w >= batch;  x <- x + "
                    "U(sum of G / sum of w, x, t).  Peer i averages the share f_i of the chunks, "
                    "such that the maximum of (1 + (n - 2) f_i) / bandwidth_i is least",
            .sends = "(1 + (n - 2) f_i) N per round, 2 n - 2 messages per chunk; a report and an "
                     "answer (32 and 16 bytes) per gradient.",
            .waits = "All wait for each other once the batch is full, at most `matchmaking`, then "
                     "for parts and for means, at most `timeout` each. A peer that misses a round "
                     "drops its gradients and gets x from another peer."},
    .check = dedloc_check,
    .work = dedloc_work,
    .serve = dedloc_serve,
    .traits = DSGD_REJOINS,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"batch", 1})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"batch", 1})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"batch", 1}, {"shares", EQUAL})}),
};
