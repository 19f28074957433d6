/**
 * @file server.c
 * Implements parameter servers. They share one vector, and each server has an equal part of every
 * exchange (Dean et al. 2012, and the released code of EASGD).
 *
 * A push is a message with the bytes of the chunk, and its answer is an empty acknowledgement. A
 * fetch is an empty message, and its answer is the chunk. If a call pushes and fetches, the push is
 * also the request of the fetch, and the answer with the chunk also acknowledges the push. A server
 * receives messages in the order of sending. At the same time, its channels send answers. Queues
 * (turns.c) keep the link of a server busy in both directions, and no two messages share the link.
 * A worker sends to several servers one after another, so that the servers serve different workers
 * at one time. Parts that travelled together would share the worker's link, and all servers would
 * wait for it.
 */
#include "sim/exchange/channels.h"

typedef enum server_request { PUSH, FETCH, PUSH_AND_FETCH } server_request;

/**
 * Numbers of pushes for one chunk. The array has the dimensions [n_workers + n_servers][n_pieces].
 */
struct dsgd_server_state {
    int64_t version; /* at a server: number of pushes that it has added; at a worker: this number of
                      * the server at the worker's last fetch */
    int64_t own_pushes; /* at a worker: number of its own pushes since its last fetch; unused at
                         * a server */
};

static struct dsgd_server_state *server_state_of(const dsgd_worker *w, size_t k)
{
    dsgd_engine *const engine = w->engine;
    const size_t n_hosts = (size_t)engine->n_workers + (size_t)engine->n_servers;
    if (engine->exchanges.servers == NULL)
        engine->exchanges.servers = dsgd_run_alloc(engine, n_hosts * engine->layout.n_pieces *
                                                               sizeof *engine->exchanges.servers);
    return &engine->exchanges.servers[(size_t)w->host * engine->layout.n_pieces + k];
}

static int server_of(const dsgd_engine *engine, size_t k)
{
    DSGD_REQUIRE(engine->n_servers > 0, "the algorithm has %d servers", engine->n_servers);
    DSGD_REQUIRE(!(engine->config->algorithm->traits & DSGD_WHOLE_SERVERS),
                 "servers with DSGD_WHOLE_SERVERS accept only messages, not pushes and fetches");
    return dsgd_server_of(engine, k)->node.rank;
}

/* --- requests of workers ---------------------------------------------------------------------- */

typedef struct server_job {
    dsgd_job job; /* part that all jobs have; must be the first member, for casts */
    server_request kind;
    dsgd_piece mine; /* chunk that the worker pushes */
    dsgd_packet *reply; /* packet with the answer of the server */
    dsgd_transfer *answer; /* for PUSH_AND_FETCH: transfer that receives the answer and sets
                            * `reply` */
} server_job;

static const dsgd_port port_of_answer[] = {[PUSH] = DSGD_PORT_SERVER_ACK,
                                           [FETCH] = DSGD_PORT_SERVER_REPLY,
                                           [PUSH_AND_FETCH] = DSGD_PORT_SERVER_ANSWER};

/**
 * Sends a push or a fetch to a server, together with the version that the worker has. Waits for the
 * answer, except for PUSH_AND_FETCH.
 */
static void run_question(dsgd_channel *channel, dsgd_job *any_job)
{
    dsgd_worker *const w = channel->worker;
    dsgd_engine *const engine = w->engine;
    server_job *const job = (server_job *)any_job;
    const size_t k = any_job->piece;
    const int server = server_of(engine, k);
    const double bytes = job->kind == FETCH ? 0 : dsgd_encoded_bytes(engine, job->mine.encoded, k);
    const double since_s = dsgd_now_s();
    struct dsgd_server_state *const state = server_state_of(w, k);
    dsgd_packet *const message = dsgd_packet_new(w, channel->number, k, job->mine);
    message->kind = job->kind;
    message->version = state->version + state->own_pushes;
    state->own_pushes += job->kind != FETCH;
    message->span = dsgd_observe_sent(engine, w->host, engine->n_workers + server, bytes);
    dsgd_packet_send(channel, dsgd_server_of(engine, k),
                     dsgd_mailbox_of(-1, server, DSGD_PORT_SERVER_REQUEST, 0), message);
    /* The channel can send the next chunk, because only work() waits for the answer. */
    if (job->kind == PUSH_AND_FETCH) {
        dsgd_job_finish(any_job);
        return;
    }
    job->reply = dsgd_mailbox_recv(
        dsgd_mailbox_of(server, w->node.rank, port_of_answer[job->kind], channel->number));
    dsgd_packet_received(w, job->reply, since_s,
                         job->kind == PUSH ? dsgd_packet_cost_s(w)
                                           : dsgd_piece_cost_s(w, &job->reply->content, k, 1));
    dsgd_job_finish(any_job);
    /* for other kinds, end_fetch() handles the answer */
    if (job->kind == FETCH)
        return;
    dsgd_packet_free(w, job->reply);
    dsgd_value_release(engine->learning.values, job->mine.value);
    dsgd_run_free(job);
}

static server_job *new_server_job(dsgd_worker *w, size_t k, server_request kind, dsgd_piece mine)
{
    dsgd_exchanges_otherwise(w, false);
    server_job *const job = dsgd_run_alloc(w->engine, sizeof *job);
    *job =
        (server_job){{.run = run_question, .piece = k, .verb = "dsgd_server_exchange"}, kind, mine};
    return job;
}

static void push(dsgd_worker *w, dsgd_vector *u)
{
    const double since_s = dsgd_now_s();
    const uint32_t call = w->clock.encodings++;
    DSGD_FOR_PIECES (k, u) {
        dsgd_piece_wait(u, k);
        if (w->presence.state == DSGD_DOWN)
            return;
        dsgd_observe_sends(w, &u->piece[k], "dsgd_server_exchange");
        const dsgd_piece sent = dsgd_piece_sent(w, u, k, call);
        dsgd_job *const job = &new_server_job(w, k, PUSH, sent)->job;
        job->not_before_s = dsgd_stage_out(w, u, k, &sent, since_s);
        dsgd_channel_add(w, job);
    }
}

static void begin_fetch(dsgd_worker *w, size_t k, dsgd_request *request)
{
    if (w->presence.state != DSGD_DOWN)
        dsgd_exchange_start(w, request, &new_server_job(w, k, FETCH, DSGD_NO_PIECE)->job);
}

static void end_fetch(dsgd_worker *w, size_t k, dsgd_request *request)
{
    const server_job *const job = (server_job *)dsgd_begun_of(request, k)->job;
    request->unchanged = job == NULL; /* true if this worker has failed */
    if (request->unchanged)
        return;
    dsgd_piece_wait(request->out, k);
    dsgd_vector_update(request->out, k, dsgd_value_retain(job->reply->content.value),
                       dsgd_local_steps(w, k));
    *server_state_of(w, k) = (struct dsgd_server_state){.version = job->reply->version};
    dsgd_packet_free(w, job->reply);
}

static bool lacks_reply(const dsgd_worker *w, const dsgd_job *job, int host)
{
    return host == w->engine->n_workers + server_of(w->engine, job->piece);
}

static const dsgd_exchange fetch = {begin_fetch, end_fetch, {"dsgd_server_exchange", lacks_reply}};

static void begin_push_and_fetch(dsgd_worker *w, size_t k, dsgd_request *request)
{
    if (w->presence.state == DSGD_DOWN)
        return;
    server_job *const job = new_server_job(w, k, PUSH_AND_FETCH, dsgd_begun_of(request, k)->sent);
    const int channel = dsgd_channel_of(w, &job->job)->number;
    job->answer = dsgd_irecv(
        dsgd_mailbox_of(server_of(w->engine, k), w->node.rank, DSGD_PORT_SERVER_ANSWER, channel),
        (void **)&job->reply);
    dsgd_exchange_start(w, request, &job->job);
}

static void end_push_and_fetch(dsgd_worker *w, size_t k, dsgd_request *request)
{
    server_job *const job = (server_job *)dsgd_begun_of(request, k)->job;
    const double since_s = dsgd_now_s();
    if (job == NULL) {
        end_fetch(w, k, request);
        return;
    }
    dsgd_wait *const wait = dsgd_wait_begin(w, &request->exchange->waiting, &job->job);
    dsgd_transfer_wait(job->answer);
    dsgd_wait_end(w, wait);
    dsgd_packet_received(w, job->reply, since_s, dsgd_piece_cost_s(w, &job->reply->content, k, 1));
    dsgd_job_finish(&job->job); /* sets the time at which the chunk arrived */
    end_fetch(w, k, request);
}

static const dsgd_exchange push_and_fetch = {
    begin_push_and_fetch, end_push_and_fetch, {"dsgd_server_exchange", lacks_reply}};

void dsgd_server_exchange(dsgd_node *self, dsgd_vector *u, dsgd_vector *x)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    DSGD_ASSERT(u != NULL || x != NULL, "dsgd_server_exchange() of nothing");
    if (u != NULL)
        DSGD_OWN(self, u);
    if (x != NULL)
        DSGD_OWN(self, x);
    if (x == NULL)
        push(w, u);
    else if (u == NULL)
        dsgd_exchange_run(w, &fetch, NULL, x, NULL);
    else
        dsgd_exchange_end(w, dsgd_exchange_begin(w, &push_and_fetch, u, NULL), x);
}

/* --- answers of servers ----------------------------------------------------------------------- */

/**
 * Adds the pushed chunk to chunk k of x. The age of the pushed chunk is the number of pushes of
 * other workers since its worker's last fetch.
 */
static void add(dsgd_worker *server, dsgd_vector *x, const dsgd_packet *message)
{
    dsgd_engine *const engine = server->engine;
    const size_t k = message->piece;
    const dsgd_worker *const from = &engine->workers[message->from];
    dsgd_vector_set(x, k,
                    dsgd_combined(from, k, 1, x->piece[k].value, 1, message->content.value, 1), 0);
    const int64_t version = server_state_of(server, k)->version++;
    dsgd_observe_gradient_used(
        server, message->from, (double)(version - message->version), dsgd_piece_share(engine, k),
        (dsgd_span){.piece = (int64_t)k, .version = message->version, .made = version});
}

typedef struct answer_job {
    dsgd_job job; /* part that all jobs have; must be the first member, for casts */
    dsgd_worker *to;
    dsgd_mailbox *mailbox;
    dsgd_packet *message;
} answer_job;

static void run_answer(dsgd_channel *channel, dsgd_job *any_job)
{
    answer_job *const job = (answer_job *)any_job;
    dsgd_packet_send(channel, job->to, job->mailbox, job->message);
    dsgd_run_free(job);
}

/** Waits for the next push or fetch, and answers it with a chunk of x. */
static void answer_next(dsgd_node *self, dsgd_mailbox *questions, dsgd_vector *x)
{
    dsgd_worker *const server = dsgd_worker_of(self);
    dsgd_packet *const message = dsgd_mailbox_recv(questions);
    const size_t k = message->piece;
    dsgd_packet_arrived(server, message, 0);
    dsgd_sleep_cost(dsgd_packet_treated_s(server, message));
    dsgd_packet_treated(server, message);
    if (message->kind != FETCH)
        add(server, x, message);
    dsgd_packet *const reply = dsgd_packet_new(server, message->channel, k,
                                               message->kind == PUSH ? DSGD_NO_PIECE : x->piece[k]);
    reply->version = server_state_of(server, k)->version;
    dsgd_mailbox *const to =
        dsgd_mailbox_of(self->rank, message->from, port_of_answer[message->kind], message->channel);
    const double bytes =
        message->kind == PUSH ? 0 : dsgd_encoded_bytes(server->engine, reply->content.encoded, k);
    reply->span = dsgd_observe_sent(server->engine, server->host, message->host, bytes);
    /* An acknowledgement has no chunk, so it overtakes chunks that wait for their turn. */
    if (message->kind == PUSH) {
        dsgd_mailbox_send_detached(to, reply, 0);
    } else {
        answer_job *const job = dsgd_run_alloc(server->engine, sizeof *job);
        *job = (answer_job){{.run = run_answer, .piece = k, .verb = "dsgd_serve"},
                            &server->engine->workers[message->host],
                            to,
                            reply};
        dsgd_channel_add(server, &job->job);
    }
    dsgd_packet_free(server, message);
}

void dsgd_serve(dsgd_node *self)
{
    dsgd_mailbox *const questions = dsgd_mailbox_of(-1, self->rank, DSGD_PORT_SERVER_REQUEST, 0);
    dsgd_mailbox_own(questions);
    for (;;)
        answer_next(self, questions, dsgd_model(self));
}
