/**
 * @file gossip.c
 * Averages vectors with neighbours by weights: each worker sends shares of its vector, and adds the
 * shares that it receives (D-PSGD, Lian et al. 2017; push-sum, Assran et al. 2019).
 *
 * A message contains the whole value and the share that the receiver gets. So the new value of a
 * worker is one linear combination, in the order of ranks. Push-sum weights leave and arrive with
 * messages. At any instant, the weights of the workers and of the messages sum to P.
 */
#include "base/round.h"
#include "sim/exchange/channels.h"
#include "sim/failures/failures.h"

/** The gossip state of one worker. */
typedef struct gossip_node {
    dsgd_vector *last; /* vector that the worker exchanged last; NULL before the first gossip of the
                        * worker */
    dsgd_neighbours neighbours; /* neighbours of the worker in the round of `graph` that was
                                 * evaluated last */
    const dsgd_spec *graph;
    dsgd_shares shares;
    double *share; /* array of shares in `neighbours`; the arrays `to` and `from` follow in the
                    * same memory */
    /*
     * [n_pieces] shares that came back because their receiver had failed (policy quorum); NULL
     * before the first return of a share.
     */
    dsgd_piece *returned;
} gossip_node;

struct dsgd_gossip_state {
    double weight_in_flight; /* push-sum weight of all messages on their way, summed over all
                              * chunks */
    /*
     * Memory in which a graph is evaluated. All workers share it, because most workers have far
     * fewer neighbours than there are workers.
     */
    dsgd_neighbour_room room;
    gossip_node node[]; /* [n_workers] state of each worker */
};

static struct dsgd_gossip_state *gossip_state_of(dsgd_engine *engine)
{
    if (engine->exchanges.gossip == NULL)
        engine->exchanges.gossip = dsgd_run_alloc(
            engine, sizeof *engine->exchanges.gossip +
                        (size_t)engine->n_workers * sizeof engine->exchanges.gossip->node[0]);
    return engine->exchanges.gossip;
}

double dsgd_gossip_weight(const dsgd_engine *engine)
{
    const struct dsgd_gossip_state *const state = engine->exchanges.gossip;
    double sum = state == NULL ? 0 : state->weight_in_flight;
    for (int w = 0; w < engine->n_workers; w++)
        for (size_t k = 0; k < engine->layout.n_pieces; k++)
            sum += state == NULL || state->node[w].last == NULL
                       ? 1
                       : state->node[w].last->piece[k].weight;
    return sum / (double)engine->layout.n_pieces;
}

/* --- functions for the messages that gossip one chunk ----------------------------------------- */

/** The messages that one worker sends and receives to gossip one chunk. */
typedef struct gossip_job {
    dsgd_job job; /* part that all jobs have; must be the first member, for casts */
    dsgd_piece mine; /* value of the chunk at the start of the exchange; compressed if `exchange:
                      * encoding` is set */
    double keep; /* factor that multiplies the worker's own chunk in the result */
    double gives; /* factor of `mine` that is subtracted from the result if `mine` is compressed; 0
                   * if it is not compressed */
    dsgd_value unsent; /* for dsgd_gossip_begin(): values that compression did not send */
    double kept; /* share that the worker keeps, if this share and the received shares must sum to
                  * 1; otherwise NAN */
    bool begun;
    double since_s; /* time at which the exchange started */
    int n_to, n_from;
    /*
     * n_arrived: number of messages that have arrived. n_added: number of messages whose overhead
     * and reduction have also passed.
     */
    int n_arrived, n_added;
    struct {
        int to, from; /* rank of the i-th receiver, for i < n_to; rank of the i-th sender, for i
                       * < n_from */
        double share; /* share that the i-th receiver gets */
        dsgd_transfer *coming; /* transfer that receives the message of the i-th sender */
        dsgd_packet *received; /* message that has arrived from the i-th sender */
    } peer[]; /* number of entries: the larger of n_to and n_from */
} gossip_job;

static void send_all(dsgd_channel *channel, gossip_job *job)
{
    dsgd_worker *const w = channel->worker;
    const size_t k = job->job.piece;
    const double bytes = dsgd_encoded_bytes(w->engine, job->mine.encoded, k);
    for (int i = 0; i < job->n_to; i++) {
        /*
         * true if an empty message is sent. It tells a receiver without a share to stop waiting for
         * this worker.
         */
        const bool empty = w->engine->failures.by_quorum && job->peer[i].share == 0;
        dsgd_packet *const message =
            dsgd_packet_new(w, channel->number, k, empty ? DSGD_NO_PIECE : job->mine);
        message->share = job->peer[i].share;
        message->content.weight = job->peer[i].share * job->mine.weight;
        if (!empty)
            message->span = dsgd_observe_sent(w->engine, w->host, job->peer[i].to, bytes);
        /* The send is detached, so the sender waits for no handshake. */
        dsgd_mailbox_send_detached(
            dsgd_mailbox_of(w->node.rank, job->peer[i].to, DSGD_PORT_GOSSIP, channel->number),
            message, empty ? 0 : bytes);
    }
}

/** Waits for the message of the next sender. After the last message, finishes the job. */
static dsgd_await await_next(gossip_job *job)
{
    if (job->n_added < job->n_from)
        return (dsgd_await){.kind = DSGD_AWAIT_TRANSFER,
                            .transfer = job->peer[job->n_added].coming};
    dsgd_job_finish(&job->job);
    return (dsgd_await){DSGD_AWAIT_NOTHING};
}

/** Handles the messages one after another. Each message first arrives, and then its cost passes. */
static dsgd_await step_gossip(dsgd_channel *channel, dsgd_job *any_job)
{
    dsgd_worker *const w = channel->worker;
    gossip_job *const job = (gossip_job *)any_job;
    if (!job->begun) {
        job->begun = true;
        job->since_s = dsgd_now_s();
        send_all(channel, job);
        for (int i = 0; i < job->n_from; i++)
            job->peer[i].coming = dsgd_irecv(
                dsgd_mailbox_of(job->peer[i].from, w->node.rank, DSGD_PORT_GOSSIP, channel->number),
                (void **)&job->peer[i].received);
        return await_next(job);
    }
    const dsgd_packet *const message = job->peer[job->n_added].received;
    if (job->n_arrived == job->n_added && (message->share != 0 || !w->engine->failures.by_quorum)) {
        /*
         * One pass reads n + 1 vectors and writes one vector, where n is the number of messages. An
         * addition reads two vectors and writes one.
         */
        const double passes = (job->n_from + 2) / 3.0;
        job->n_arrived++;
        dsgd_packet_arrived(w, message, job->since_s);
        const double cost_s =
            dsgd_piece_cost_s(w, &message->content, any_job->piece, passes / job->n_from);
        if (cost_s > 0)
            return (dsgd_await){.kind = DSGD_AWAIT_SECONDS, .amount = cost_s};
    }
    dsgd_count_communication(w, dsgd_greater(message->sent_s, job->since_s));
    job->n_added++;
    return await_next(job);
}

/**
 * Stops the program if shares do not sum to 1 although a property DSGD_PROMISE_... requires this.
 * @p sum is the sum of the shares, or NAN if no property requires it.
 */
static void require_sum(const dsgd_worker *w, double sum, const char *what, const char *promise)
{
    static const double rounding = 1e-9;
    DSGD_REQUIRE(
        !(fabs(sum - 1) > rounding),
        "what worker %d keeps and %s in step %jd sums to %.10g, but its neighbours promise 1 "
        "(%s)",
        w->node.rank, what, w->node.step, sum, promise);
}

/* --- functions for failed workers under policy quorum ----------------------------------------- */

/*
 * The following functions handle shares of failed workers. A running worker sends a share to each
 * receiver. If it knows that the receiver has failed, it keeps the share. Other workers do not wait
 * for a failed worker when the failure is known. A share that arrives at a failed worker goes back
 * to its sender, so that no weight is lost. A failed worker keeps its own model, with which it
 * rejoins.
 */

/**
 * Waits until the other workers know of this worker's failure. Does nothing in a running worker.
 */
static void await_known(const dsgd_worker *w, const dsgd_neighbours *n)
{
    if (!w->engine->failures.by_quorum || w->presence.state == DSGD_HERE)
        return;
    if (w->presence.state == DSGD_DOWN && dsgd_failure_detected_s(w) > dsgd_now_s())
        dsgd_sleep(dsgd_failure_detected_s(w) - dsgd_now_s());
    dsgd_quorum_count_wait(w, n->to, n->n_to);
}

static bool gets_share(const dsgd_worker *from, const dsgd_worker *to)
{
    return !from->engine->failures.by_quorum ||
           (from->presence.state == DSGD_HERE &&
            (to->presence.state == DSGD_HERE ||
             (to->presence.state == DSGD_DOWN && dsgd_now_s() < dsgd_failure_detected_s(to))));
}

/** Returns the share in @p message to its sender, the worker @p from. */
static void give_back(const dsgd_worker *w, dsgd_packet *message, int from)
{
    dsgd_engine *const engine = w->engine;
    gossip_node *const node = &engine->exchanges.gossip->node[from];
    const size_t k = message->piece;
    if (node->returned == NULL) {
        node->returned = dsgd_run_alloc(engine, engine->layout.n_pieces * sizeof *node->returned);
        for (size_t i = 0; i < engine->layout.n_pieces; i++)
            node->returned[i] = (dsgd_piece){.value = DSGD_ZERO_VALUE};
    }
    dsgd_piece *const to = &node->returned[k];
    dsgd_piece_set(engine, to,
                   dsgd_combined(w, k, 1, to->value, message->share, message->content.value, 1),
                   -1);
    to->weight += message->content.weight;
    message->share = message->content.weight = 0;
}

/** Adds the shares that came back to chunk k of x. */
static void take_back(dsgd_worker *w, dsgd_vector *x, size_t k)
{
    gossip_node *const node = &w->engine->exchanges.gossip->node[w->node.rank];
    if (node->returned == NULL || node->returned[k].weight == 0)
        return;
    dsgd_piece *const back = &node->returned[k];
    w->engine->exchanges.gossip->weight_in_flight -= back->weight;
    x->piece[k].weight += back->weight;
    dsgd_vector_set(x, k, dsgd_combined(w, k, 1, x->piece[k].value, 1, back->value, 1),
                    x->piece[k].stamp);
    dsgd_piece_set(w->engine, back, DSGD_ZERO_VALUE, -1);
    back->weight = 0;
}

/**
 * Sends shares of chunk k. The push-sum weight of the shares leaves the worker at once.
 * request->arguments are the neighbours.
 */
static void begin_gossip(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_engine *const engine = w->engine;
    const dsgd_neighbours *const n = request->arguments;
    dsgd_vector *const x = request->in;
    struct dsgd_gossip_state *const state = gossip_state_of(engine);
    const size_t n_peers = (size_t)(n->n_to > n->n_from ? n->n_to : n->n_from);
    dsgd_exchanges_otherwise(w, false);
    gossip_job *const job = dsgd_run_alloc(engine, sizeof *job + n_peers * sizeof job->peer[0]);
    *job = (gossip_job){.job = {.step = step_gossip, .piece = k},
                        .mine = dsgd_begun_of(request, k)->sent,
                        .keep = n->keep,
                        .kept = (n->promises & DSGD_PROMISE_ROWS) != 0 ? n->keep : NAN,
                        .n_to = n->n_to,
                        .n_from = n->n_from};
    state->node[w->node.rank].last = x->whole;
    await_known(w, n);
    for (int i = 0; i < n->n_to; i++) {
        const bool given = gets_share(w, &engine->workers[n->to[i]]);
        job->peer[i].to = n->to[i];
        job->peer[i].share = given ? n->share[i] : 0;
        job->keep += given ? 0 : n->share[i];
        state->weight_in_flight += job->peer[i].share * job->mine.weight;
    }
    x->piece[k].weight = job->keep * job->mine.weight;
    if (dsgd_encoded_exchange(engine) != NULL && x->piece[k].encoded == NULL)
        job->gives = 1 - job->keep;
    for (int i = 0; i < n->n_from; i++)
        job->peer[i].from = n->from[i];
    dsgd_exchange_start(w, request, &job->job);
}

/**
 * Sends shares like begin_gossip(), and then multiplies chunk k of `in` and its push-sum weight by
 * the share that the worker keeps. The end of the exchange only adds to the chunk: received shares,
 * and values that compression did not send.
 */
static void begin_igossip(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_piece *const piece = &request->in->piece[k];
    begin_gossip(w, k, request);
    gossip_job *const job = (gossip_job *)dsgd_begun_of(request, k)->job;
    if (job->gives > 0)
        job->unsent =
            dsgd_combined(w, k, job->gives, piece->value, -job->gives, job->mine.value, 1);
    const double keep = job->keep;
    job->keep = 1;
    job->gives = 0;
    dsgd_vector_set(request->in, k,
                    dsgd_values_combine(w->engine->learning.values, dsgd_origin_of(w), k, 1,
                                        &piece->value, &keep, 1),
                    piece->stamp);
}

/** Returns keep * mine + the sum of the received shares, added in the order of ranks. */
static dsgd_value weighted_sum(dsgd_worker *w, const gossip_job *job, dsgd_value mine)
{
    const size_t most = (size_t)job->n_from + 3;
    dsgd_value *const operands = dsgd_run_alloc(w->engine, most * sizeof *operands);
    double *const weights = dsgd_run_alloc(w->engine, most * sizeof *weights);
    size_t at = 0;
    bool placed = false;
    for (int i = 0; i <= job->n_from; i++) {
        if (!placed && (i == job->n_from || job->peer[i].from > w->node.rank)) {
            operands[at] = mine;
            weights[at++] = job->gives > 0 ? 1 : job->keep;
            placed = true;
            if (job->gives > 0) {
                operands[at] = job->mine.value;
                weights[at++] = -job->gives;
            }
        }
        if (i < job->n_from) {
            operands[at] = job->peer[i].received->content.value;
            weights[at++] = job->peer[i].received->share;
        }
    }
    if (job->unsent.node != NULL) {
        operands[at] = job->unsent;
        weights[at++] = 1;
    }
    const dsgd_value result = dsgd_values_combine(w->engine->learning.values, dsgd_origin_of(w),
                                                  job->job.piece, at, operands, weights, 1);
    dsgd_run_free(operands);
    dsgd_run_free(weights);
    return result;
}

/**
 * Computes x[k] <- keep * x[k] + received shares, where x is request->out, and updates the push-sum
 * weight in the same way.
 */
static void end_gossip(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_engine *const engine = w->engine;
    dsgd_vector *const x = request->out;
    gossip_job *const job = (gossip_job *)dsgd_begun_of(request, k)->job;
    dsgd_piece_wait(x, k);
    for (int i = 0; engine->failures.by_quorum && w->presence.state != DSGD_HERE && i < job->n_from;
         i++)
        if (job->peer[i].received->share != 0)
            give_back(w, job->peer[i].received, job->peer[i].from);
    dsgd_vector_update(x, k, weighted_sum(w, job, x->piece[k].value), dsgd_local_steps(w, k));
    const double weight = dsgd_piece_share(engine, k) / (job->n_from + 1);
    double row = job->kept;
    for (int i = 0; i < job->n_from; i++) {
        row += job->peer[i].received->share;
        const dsgd_piece *const theirs = &job->peer[i].received->content;
        DSGD_REQUIRE(job->peer[i].received->piece == k,
                     "worker %d gossips piece %zu in step %jd, but worker %d sends it piece %zu; "
                     "both ends of an edge exchange the same pieces in one order",
                     w->node.rank, k, w->node.step, job->peer[i].from,
                     job->peer[i].received->piece);
        x->piece[k].weight += theirs->weight;
        engine->exchanges.gossip->weight_in_flight -= theirs->weight;
        dsgd_observe_used(w, job->peer[i].from, k, theirs->stamp, weight);
        dsgd_packet_free(w, job->peer[i].received);
    }
    take_back(w, x, k);
    dsgd_value_release(engine->learning.values, job->unsent);
    require_sum(w, row, "gets", "DSGD_PROMISE_ROWS");
}

/* --- verbs ------------------------------------------------------------------------------------ */

/** Copies @p n and its arrays to node->neighbours. */
static void keep(dsgd_engine *engine, gossip_node *node, dsgd_neighbours n)
{
    const size_t n_to = (size_t)n.n_to, n_from = (size_t)n.n_from;
    dsgd_run_free(node->share);
    node->share = dsgd_run_alloc(engine, n_to * sizeof *n.share + (n_to + n_from) * sizeof *n.to);
    int *const to = (void *)(node->share + n_to);
    int *const from = to + n_to;
    memcpy(to, n.to, n_to * sizeof *to);
    memcpy(from, n.from, n_from * sizeof *from);
    memcpy(node->share, n.share, n_to * sizeof *node->share);
    n.to = to;
    n.from = from;
    n.share = node->share;
    node->neighbours = n;
}

const dsgd_neighbours *dsgd_neighbours_of(dsgd_node *self, const dsgd_spec *graph, int64_t round,
                                          dsgd_shares shares)
{
    dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    struct dsgd_gossip_state *const state = gossip_state_of(engine);
    gossip_node *const node = &state->node[self->rank];
    const bool fixed = dsgd_graph_period(graph, self->n_workers) == 1;
    if (fixed && node->graph == graph && node->shares == shares)
        return &node->neighbours;
    node->graph = graph;
    node->shares = shares;
    const bool both = shares == DSGD_DOUBLY_STOCHASTIC;
    const size_t p = (size_t)engine->n_workers;
    if (state->room.to == NULL)
        state->room = (dsgd_neighbour_room){
            dsgd_run_alloc(engine, p * sizeof(int)), dsgd_run_alloc(engine, p * sizeof(int)),
            dsgd_run_alloc(engine, p * sizeof(int)), dsgd_run_alloc(engine, p * sizeof(double))};
    dsgd_neighbours n = dsgd_graph_neighbours(graph, self->n_workers, engine->config->seed,
                                              self->rank, round, both, &state->room);
    n.promises = DSGD_PROMISE_COLUMNS | (both ? DSGD_PROMISE_ROWS : 0);
    keep(engine, node, n);
    return &node->neighbours;
}

static void require_neighbours(const dsgd_node *self, const dsgd_neighbours *neighbours)
{
    double column = neighbours->keep;
    for (int i = 0; i < neighbours->n_to; i++) {
        dsgd_require_peer(self, neighbours->to[i]);
        column += neighbours->share[i];
    }
    for (int i = 0; i < neighbours->n_from; i++)
        dsgd_require_peer(self, neighbours->from[i]);
    if ((neighbours->promises & DSGD_PROMISE_COLUMNS) != 0)
        require_sum(dsgd_worker_of((dsgd_node *)self), column, "gives", "DSGD_PROMISE_COLUMNS");
}

/** Returns whether a message of the worker @p host to this worker has not arrived yet. */
static bool lacks_message(const dsgd_worker *w, const dsgd_job *any_job, int host)
{
    (void)w;
    const gossip_job *const job = (const gossip_job *)any_job;
    for (int i = 0; i < job->n_from; i++)
        if (job->peer[i].from == host && job->peer[i].received == NULL)
            return true;
    return false;
}

static const dsgd_exchange gossip = {begin_gossip, end_gossip, {"dsgd_gossip", lacks_message}};
static const dsgd_exchange igossip = {
    begin_igossip, end_gossip, {"dsgd_request_wait", lacks_message}};

void dsgd_gossip(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours)
{
    DSGD_OWN(self, x);
    require_neighbours(self, neighbours);
    dsgd_exchange_run(dsgd_worker_of(self), &gossip, x, x, neighbours);
}

dsgd_request *dsgd_gossip_begin(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours)
{
    DSGD_OWN(self, x);
    require_neighbours(self, neighbours);
    return dsgd_exchange_begin(dsgd_worker_of(self), &igossip, x, neighbours);
}

/**
 * Let w be the push-sum weight of @p weighted. Computes y <- x / w if @p weighted is x, and y <- w
 * x if @p weighted is y.
 */
static void scale(dsgd_node *self, dsgd_vector *y, dsgd_vector *x, const dsgd_vector *weighted)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_require_same_pieces(x, y);
    DSGD_FOR_PIECES (k, x) {
        dsgd_piece_wait(x, k);
        dsgd_piece_wait(y, k);
        const double weight = weighted->piece[k].weight;
        const double times = weighted == y ? weight : 1;
        const dsgd_value scaled =
            dsgd_values_combine(w->engine->learning.values, dsgd_origin_of(w), k, 1,
                                &x->piece[k].value, &times, weighted == x ? weight : 1);
        dsgd_vector_set(y, k, scaled, x->piece[k].stamp);
        y->history[k] = x->history[k];
    }
}

void dsgd_debias(dsgd_node *self, dsgd_vector *z, dsgd_vector *x)
{
    DSGD_OWN(self, z, x);
    scale(self, z, x, x);
}

void dsgd_bias(dsgd_node *self, dsgd_vector *x, dsgd_vector *z)
{
    DSGD_OWN(self, z, x);
    scale(self, x, z, x);
}
