/**
 * @file gossip.c
 * Weighted averaging with neighbours: each sends shares of its vector, and adds what it hears (D-PSGD, Lian et al. 2017; push-sum,
 * Assran et al. 2019).
 *
 * A message carries the whole value and the share that its receiver gets, so that a worker's new value is one linear combination, in the
 * order of ranks. Push-sum weights leave with the message and come with it: at any instant those at workers and on their way sum to P.
 */
#include "sim/engine/engine.h"

/** One piece's round of messages. */
typedef struct gossip_job {
    dsgd_job job; /* first */
    dsgd_piece mine; /* as it was when the exchange began */
    double keep;
    int n_to, n_from;
    double *share; /* [n_to] */
    int *to; /* [n_to] */
    int *from; /* [n_from] */
    dsgd_message **came; /* [n_from] */
} gossip_job;

static void send_all(dsgd_channel *channel, gossip_job *job)
{
    dsgd_worker *const w = channel->worker;
    const size_t k = job->job.piece;
    const double bytes = w->engine->piece_bytes[k];
    for (int i = 0; i < job->n_to; i++) {
        dsgd_message *const message = dsgd_message_new(w, channel->number, k, job->mine);
        message->share = job->share[i];
        message->content.weight = job->share[i] * job->mine.weight;
        dsgd_count_message(w->engine, bytes);
        /* Nobody waits for its end: a sender needs no handshake. */
        dsgd_send_detached(dsgd_mailbox_of(w->node.rank, job->to[i], 'g', channel->number), message,
                           bytes);
    }
}

static void run_gossip(dsgd_channel *channel, dsgd_job *any_job)
{
    dsgd_worker *const w = channel->worker;
    gossip_job *const job = (gossip_job *)any_job;
    const double since_s = dsgd_now_s();
    send_all(channel, job);
    dsgd_transfer **const coming = dsgd_run_alloc(w->engine, (size_t)job->n_from * sizeof *coming);
    for (int i = 0; i < job->n_from; i++)
        coming[i] = dsgd_irecv(dsgd_mailbox_of(job->from[i], w->node.rank, 'g', channel->number),
                               (void **)&job->came[i]);
    /* One pass over memory averages all: it reads n + 1 vectors and writes one, where adding two reads 2 and writes 1. */
    const double passes = (job->n_from + 2) / 3.0;
    const double reduced_bytes = passes * w->engine->piece_bytes[any_job->piece] / job->n_from;
    for (int i = 0; i < job->n_from; i++) {
        dsgd_transfer_wait(coming[i]);
        dsgd_message_received(w, job->came[i], since_s, reduced_bytes);
    }
    dsgd_run_free(coming);
    any_job->done = true;
}

/* --- one piece ------------------------------------------------------------------------------------------------------------ */

static int *copy_ranks(dsgd_engine *engine, const int *ranks, int n)
{
    int *const copy = dsgd_run_alloc(engine, (size_t)n * sizeof *copy);
    for (int i = 0; i < n; i++)
        copy[i] = ranks[i];
    return copy;
}

/** The messages of piece @p k; the push-sum weight of what is sent leaves at once. */
static gossip_job *begin_piece(dsgd_worker *w, dsgd_vector *x, size_t k, const dsgd_neighbours *n)
{
    dsgd_engine *const engine = w->engine;
    dsgd_piece_wait(x, k);
    gossip_job *const job = dsgd_run_alloc(engine, sizeof *job);
    *job = (gossip_job){.job = {.run = run_gossip, .piece = k},
                        .mine = x->piece[k],
                        .keep = n->keep,
                        .n_to = n->n_to,
                        .n_from = n->n_from,
                        .share = dsgd_run_alloc(engine, (size_t)n->n_to * sizeof *job->share),
                        .to = copy_ranks(engine, n->to, n->n_to),
                        .from = copy_ranks(engine, n->from, n->n_from),
                        .came = dsgd_run_alloc(engine, (size_t)n->n_from * sizeof *job->came)};
    dsgd_value_retain(job->mine.value);
    w->gossiped = x;
    x->piece[k].weight = n->keep * job->mine.weight;
    for (int i = 0; i < n->n_to; i++) {
        job->share[i] = n->share[i];
        engine->weight_in_flight += n->share[i] * job->mine.weight;
    }
    dsgd_channel_add(w, &job->job);
    return job;
}

/** The neighbours' shares and, in its place among them, what x holds times @p keep. */
static dsgd_value sum(dsgd_worker *w, const gossip_job *job, dsgd_value mine, double keep)
{
    const size_t n = (size_t)job->n_from + 1;
    dsgd_value *const operands = dsgd_run_alloc(w->engine, n * sizeof *operands);
    double *const weights = dsgd_run_alloc(w->engine, n * sizeof *weights);
    size_t at = 0;
    bool placed = false;
    for (int i = 0; i <= job->n_from; i++) {
        if (!placed && (i == job->n_from || job->from[i] > w->node.rank)) {
            operands[at] = mine;
            weights[at++] = keep;
            placed = true;
        }
        if (i < job->n_from) {
            operands[at] = job->came[i]->content.value;
            weights[at++] = job->came[i]->share;
        }
    }
    const dsgd_value result = dsgd_values_combine(w->engine->values, dsgd_origin_of(w),
                                                  job->job.piece, n, operands, weights, 1);
    dsgd_run_free(operands);
    dsgd_run_free(weights);
    return result;
}

/** x[k] <- keep mine + what came. */
static void end_piece(dsgd_worker *w, gossip_job *job, dsgd_vector *x, double keep)
{
    dsgd_engine *const engine = w->engine;
    const size_t k = job->job.piece;
    dsgd_job_wait(w, &job->job);
    dsgd_piece_wait(x, k);
    dsgd_piece_set(engine, &x->piece[k], sum(w, job, x->piece[k].value, keep),
                   dsgd_local_steps(w, k));
    const double weight = dsgd_piece_share(engine, k) / (job->n_from + 1);
    for (int i = 0; i < job->n_from; i++) {
        const dsgd_piece *const theirs = &job->came[i]->content;
        x->piece[k].weight += theirs->weight;
        engine->weight_in_flight -= theirs->weight;
        dsgd_count_staleness(w, job->from[i], k, theirs->stamp, weight);
        dsgd_message_free(w, job->came[i]);
    }
    dsgd_value_release(engine->values, job->mine.value);
    dsgd_run_free(job->share);
    dsgd_run_free(job->to);
    dsgd_run_free(job->from);
    dsgd_run_free(job->came);
    dsgd_run_free(job);
}

/* --- verbs ---------------------------------------------------------------------------------------------------------------- */

const dsgd_neighbours *dsgd_neighbours_of(dsgd_node *self, const dsgd_pick *graph, long round,
                                          dsgd_shares shares)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_neighbour_room *const room = &w->neighbour_room;
    const bool fixed = dsgd_graph_period(graph, self->n_workers) == 1;
    if (fixed && w->asked == graph && w->asked_shares == (int)shares)
        return &w->neighbours;
    w->asked = graph;
    w->asked_shares = (int)shares;
    const size_t p = (size_t)self->n_workers;
    if (room->to == NULL)
        *room = (dsgd_neighbour_room){dsgd_run_alloc(w->engine, p * sizeof(int)),
                                      dsgd_run_alloc(w->engine, p * sizeof(int)),
                                      dsgd_run_alloc(w->engine, p * sizeof(int)),
                                      dsgd_run_alloc(w->engine, p * sizeof(double))};
    w->neighbours =
        dsgd_graph_neighbours(graph, self->n_workers, w->engine->config->seed, self->rank, round,
                              shares == DSGD_DOUBLY_STOCHASTIC, room);
    return &w->neighbours;
}

typedef struct gossip_call {
    dsgd_vector *x;
    const dsgd_neighbours *neighbours;
    dsgd_request *request;
} gossip_call;

static void begin_gossip(dsgd_worker *w, size_t k, void *exchange)
{
    const gossip_call *const call = exchange;
    call->request->jobs[k] = &begin_piece(w, call->x, k, call->neighbours)->job;
}

static void end_gossip(dsgd_worker *w, size_t k, void *exchange)
{
    const gossip_call *const call = exchange;
    gossip_job *const job = (gossip_job *)call->request->jobs[k];
    end_piece(w, job, call->x, job->keep);
}

static void require_neighbours(const dsgd_node *self, const dsgd_neighbours *neighbours)
{
    for (int i = 0; i < neighbours->n_to; i++)
        dsgd_require_peer(self, neighbours->to[i]);
    for (int i = 0; i < neighbours->n_from; i++)
        dsgd_require_peer(self, neighbours->from[i]);
}

void dsgd_gossip(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours)
{
    require_neighbours(self, neighbours);
    dsgd_worker *const w = dsgd_worker_of(self);
    gossip_call call = {x, neighbours, dsgd_request_new(w, x)};
    dsgd_exchange_pieces(w, begin_gossip, end_gossip, &call);
    dsgd_run_free(call.request);
}

dsgd_request *dsgd_gossip_begin(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours)
{
    require_neighbours(self, neighbours);
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_request *const request = dsgd_request_new(w, x);
    for (size_t k = 0; k < w->engine->n_pieces; k++) {
        request->jobs[k] = &begin_piece(w, x, k, neighbours)->job;
        const dsgd_value kept = dsgd_values_combine(w->engine->values, dsgd_origin_of(w), k, 1,
                                                    &x->piece[k].value, &neighbours->keep, 1);
        dsgd_piece_set(w->engine, &x->piece[k], kept, x->piece[k].stamp);
    }
    return request;
}

bool dsgd_gossip_done(dsgd_node *self, const dsgd_request *request)
{
    const dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    for (size_t k = 0; k < engine->n_pieces; k++)
        if (!request->jobs[k]->done)
            return false;
    return true;
}

void dsgd_gossip_end(dsgd_node *self, dsgd_request *request, dsgd_vector *x)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    for (size_t k = 0; k < w->engine->n_pieces; k++)
        end_piece(w, (gossip_job *)request->jobs[k], x, 1);
    dsgd_run_free(request);
}

void dsgd_debias(dsgd_node *self, dsgd_vector *z, dsgd_vector *x)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const double one = 1;
    for (size_t k = 0; k < w->engine->n_pieces; k++) {
        dsgd_piece_wait(x, k);
        dsgd_piece_wait(z, k);
        const dsgd_value unbiased =
            dsgd_values_combine(w->engine->values, dsgd_origin_of(w), k, 1, &x->piece[k].value,
                                &one, x->piece[k].weight);
        dsgd_piece_set(w->engine, &z->piece[k], unbiased, x->piece[k].stamp);
    }
}
