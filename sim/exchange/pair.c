/**
 * @file pair.c
 * Averages the vectors of two workers, and fetches the vector of another worker. The average is
 * exact although messages take time (AD-PSGD, Lian et al. 2018, Algorithm 1, step 5). In the code,
 * a request is named question.
 */
#include "sim/exchange/channels.h"
#include "sim/failures/failures.h"

enum { AVERAGE, FETCH }; /* Kinds of requests. A fetch sends no chunk. */

/** The job that sends the request for one chunk and receives the answer. */
typedef struct pair_job {
    dsgd_job job; /* part that all jobs have; must be the first member, for casts */
    int peer, kind;
    dsgd_piece mine; /* value of the chunk that the request sends; compressed if `exchange:
                      * encoding` is set */
    dsgd_packet *reply;
} pair_job;

static dsgd_packet *receive_message(dsgd_worker *w, dsgd_mailbox *mailbox)
{
    const double since_s = dsgd_now_s();
    dsgd_packet *const message = dsgd_mailbox_recv(mailbox);
    dsgd_stay_if_stopped(w);
    dsgd_packet_received(w, message, since_s,
                         message->kind == FETCH
                             ? dsgd_packet_cost_s(w)
                             : dsgd_piece_cost_s(w, &message->content, message->piece, 1));
    return message;
}

/**
 * Computes x[k] <- x[k] + (theirs - mine) / 2 with the present value of x[k]. At both workers, the
 * first operand is the vector of the worker that sent the request. So if neither vector has changed
 * in the meantime, both workers get the same value, which is computed once.
 */
static void move_half_way(dsgd_worker *w, dsgd_vector *x, const dsgd_packet *theirs,
                          dsgd_value mine, bool i_sent)
{
    const size_t k = theirs->piece;
    const dsgd_value x_k = x->piece[k].value;
    const dsgd_value operands[3] = {i_sent ? x_k : theirs->content.value,
                                    i_sent ? theirs->content.value : x_k, mine};
    const double weights[3] = {i_sent ? 2 : 1, i_sent ? 1 : 2, -1};
    const dsgd_value moved = dsgd_values_combine(w->engine->learning.values, dsgd_origin_of(w), k,
                                                 3, operands, weights, 2);
    dsgd_vector_update(x, k, moved, dsgd_local_steps(w, k));
}

/* --- functions for requests; request->arguments is the rank of the peer ----------------------- */

/**
 * Returns the mailbox for requests to @p peer. If the peer answers any worker, all workers share
 * one mailbox. Otherwise each sender has its own mailbox. Waits until the peer has chosen one of
 * these by its first answer.
 */
static dsgd_mailbox *questions_to(dsgd_worker *peer, int asker)
{
    while (peer->wire.answers == 0)
        dsgd_work_sleep(peer);
    return dsgd_mailbox_of(peer->wire.answers == DSGD_ANYONE ? DSGD_ANYONE : asker, peer->node.rank,
                           DSGD_PORT_PAIR_QUESTION, 0);
}

static void run_pair(dsgd_channel *channel, dsgd_job *any_job)
{
    dsgd_worker *const w = channel->worker;
    pair_job *const job = (pair_job *)any_job;
    const bool fetch = job->kind == FETCH;
    dsgd_worker *const peer = &w->engine->workers[job->peer];
    if (dsgd_wait_failure_detected(w, peer)) {
        dsgd_job_finish(any_job);
        return;
    }
    const double bytes =
        fetch ? 0 : dsgd_encoded_bytes(w->engine, job->mine.encoded, any_job->piece);
    dsgd_packet *const question =
        dsgd_packet_new(w, channel->number, any_job->piece, fetch ? DSGD_NO_PIECE : job->mine);
    question->kind = job->kind;
    question->span = dsgd_observe_sent(w->engine, w->host, job->peer, bytes);
    dsgd_mailbox *const to = questions_to(peer, w->node.rank);
    dsgd_inbound_enter(peer, channel); /* The peer must answer requests in the order of sending. */
    dsgd_transfer *const sent = dsgd_isend(to, question, bytes);
    dsgd_inbound_leave(peer);
    dsgd_transfer_wait(sent);
    job->reply = receive_message(
        w, dsgd_mailbox_of(-1, w->node.rank, DSGD_PORT_PAIR_REPLY, channel->number));
    dsgd_job_finish(any_job);
}

static void begin_pair(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_exchanges_otherwise(w, false);
    if (w->presence.state == DSGD_DOWN)
        return;
    pair_job *const job = dsgd_run_alloc(w->engine, sizeof *job);
    *job = (pair_job){.job = {.run = run_pair, .piece = k},
                      .peer = *(const int *)request->arguments,
                      .kind = request->in == NULL ? FETCH : AVERAGE,
                      .mine = dsgd_begun_of(request, k)->sent};
    dsgd_exchange_start(w, request, &job->job);
}

/**
 * Ends a request that got no answer. For an average, x stays unchanged. For a fetch, the result is
 * the worker's own model.
 */
static void keep_own(dsgd_worker *w, size_t k, dsgd_request *request)
{
    if (request->in == NULL && request->out->whole != w->learner.model)
        dsgd_vector_update(request->out, k, dsgd_value_retain(w->learner.model->piece[k].value),
                           w->learner.model->piece[k].stamp);
}

static void end_pair(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_vector *const x = request->out;
    const pair_job *const job = (pair_job *)dsgd_begun_of(request, k)->job;
    /* true if this worker or the peer has failed */
    request->unchanged = job == NULL || job->reply == NULL;
    if (request->unchanged) {
        keep_own(w, k, request);
        return;
    }
    const dsgd_piece *const theirs = &job->reply->content;
    dsgd_piece_wait_until_set(x, k);
    if (job->kind == AVERAGE)
        move_half_way(w, x, job->reply, job->mine.value, true);
    else
        dsgd_vector_update(x, k, dsgd_value_retain(theirs->value), theirs->stamp);
    dsgd_observe_used(w, job->peer, k, theirs->stamp, dsgd_piece_share(w->engine, k));
    dsgd_packet_free(w, job->reply);
}

static bool lacks_reply(const dsgd_worker *w, const dsgd_job *job, int host)
{
    (void)w;
    return host == ((const pair_job *)job)->peer;
}

static const dsgd_exchange average = {begin_pair, end_pair, {"dsgd_pair_average", lacks_reply}};
static const dsgd_exchange fetch = {begin_pair, end_pair, {"dsgd_pair_fetch", lacks_reply}};

void dsgd_pair_average(dsgd_node *self, dsgd_vector *x, int peer)
{
    DSGD_OWN(self, x);
    dsgd_require_peer(self, peer);
    dsgd_exchange_run(dsgd_worker_of(self), &average, x, x, &peer);
}

void dsgd_pair_fetch(dsgd_node *self, dsgd_vector *y, int peer)
{
    DSGD_OWN(self, y);
    dsgd_require_peer(self, peer);
    dsgd_exchange_run(dsgd_worker_of(self), &fetch, NULL, y, &peer);
}

/* --- function that averages two vectors of one worker ----------------------------------------- */

void dsgd_average(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    DSGD_OWN(self, x, y);
    dsgd_worker *const w = dsgd_worker_of(self);
    const double begun_s = dsgd_now_s();
    double back_s = 0;
    dsgd_require_same_pieces(x, y);
    DSGD_FOR_PIECES (k, x) {
        dsgd_piece_wait(x, k);
        dsgd_staging_wait(w, dsgd_stage_out(w, x, k, &x->piece[k], begun_s));
        const double since_s = dsgd_now_s();
        dsgd_sleep_cost(w->engine->layout.piece_bytes[k] * w->wire.reduction_s_per_byte);
        dsgd_count_communication(w, since_s);
        dsgd_operate(w, x, k, 2); /* In host memory, the framework's operation needs two passes:
                                   * one writes x, the other writes y. */
        const dsgd_value mean = dsgd_combined(w, k, 1, x->piece[k].value, 1, y->piece[k].value, 2);
        dsgd_vector_update(x, k, dsgd_value_retain(mean), dsgd_local_steps(w, k));
        dsgd_vector_update(y, k, mean, dsgd_local_steps(w, k));
        back_s = dsgd_stage_in(w, x, k, dsgd_now_s());
    }
    dsgd_staging_wait(w, back_s);
}

/* --- answers ---------------------------------------------------------------------------------- */

static const dsgd_waiting answering = {"dsgd_pair_answer", lacks_reply};

static dsgd_packet *next_question(dsgd_worker *w, int from)
{
    dsgd_mailbox *const mailbox = questions_to(w, from);
    /* true if other chunks may arrive while this chunk is handled */
    if (w->engine->layout.n_channels > 1)
        dsgd_mailbox_own(mailbox);
    /* job that only reports about workers that wait for ever read */
    pair_job *const awaited = dsgd_run_alloc(w->engine, sizeof *awaited);
    awaited->peer = from;
    dsgd_wait *const wait = dsgd_wait_begin_of_work(w, &answering, &awaited->job);
    dsgd_packet *const question = receive_message(w, mailbox);
    dsgd_wait_end(w, wait);
    dsgd_run_free(awaited);
    return question;
}

/**
 * Copies the requested chunk of x to host memory. Stops the program if the view x does not contain
 * this chunk.
 */
static void stage_answer(dsgd_worker *w, const dsgd_packet *question, dsgd_vector *x)
{
    const size_t k = question->piece;
    DSGD_REQUIRE(
        k < x->end && dsgd_piece_from(x, k) == k,
        "worker %d is asked for piece %zu by worker %d in step %jd, which the view that it "
        "answers with lacks",
        w->node.rank, k, question->from, w->node.step);
    dsgd_staging_wait(w, dsgd_stage_out(w, x, k, &x->piece[k], dsgd_now_s()));
}

static void reply_to(dsgd_worker *w, const dsgd_packet *question, dsgd_packet *reply)
{
    const double bytes = dsgd_encoded_bytes(w->engine, reply->content.encoded, reply->piece);
    /*
     * A channel waits for only one answer at a time, so all workers that answer it can use one
     * mailbox.
     */
    dsgd_mailbox *const mailbox =
        dsgd_mailbox_of(-1, question->from, DSGD_PORT_PAIR_REPLY, question->channel);
    reply->span = dsgd_observe_sent(w->engine, w->host, question->host, bytes);
    dsgd_use_lane(dsgd_lane_of(w->engine, question->piece));
    if (w->engine->layout.n_channels > 1)
        dsgd_mailbox_send_detached(mailbox, reply, bytes);
    else
        dsgd_mailbox_send(mailbox, reply, bytes);
    dsgd_use_lane(0);
}

/**
 * Moves the chunk of x half way to the chunk in the request. Returns the answer, which contains the
 * value of x before the move.
 */
static dsgd_packet *answer_average(dsgd_worker *w, const dsgd_packet *question, dsgd_vector *x)
{
    const size_t k = question->piece;
    const bool encodes = dsgd_encoded_exchange(w->engine) != NULL;
    const dsgd_piece sent = dsgd_piece_sent(w, x, k, encodes ? w->clock.encodings++ : 0);
    dsgd_packet *const reply = dsgd_packet_new(w, question->channel, k, sent);
    dsgd_value_release(w->engine->learning.values, sent.value);
    /* No other actor runs between the read of x and the change of x, so no update is lost. */
    move_half_way(w, x, question, reply->content.value, false);
    dsgd_observe_used(w, question->from, k, question->content.stamp,
                      dsgd_piece_share(w->engine, k));
    dsgd_stage_in(w, x, k, dsgd_now_s());
    return reply;
}

static void answer(dsgd_worker *w, dsgd_vector *x, int from)
{
    dsgd_packet *const question = next_question(w, from);
    const size_t k = question->piece;
    stage_answer(w, question, x);
    reply_to(w, question,
             question->kind == AVERAGE ? answer_average(w, question, x)
                                       : dsgd_packet_new(w, question->channel, k, x->piece[k]));
    dsgd_packet_free(w, question);
}

void dsgd_pair_answer(dsgd_node *self, dsgd_vector *x, int from)
{
    DSGD_OWN(self, x);
    dsgd_worker *const w = dsgd_worker_of(self);
    const bool anyone = from == DSGD_ANYONE;
    if (!anyone)
        dsgd_require_peer(self, from);
    const int answers = anyone ? DSGD_ANYONE : 1;
    DSGD_REQUIRE(
        w->wire.answers == 0 || w->wire.answers == answers,
        "worker %d calls dsgd_pair_answer() of %s in step %jd, but before of %s: questions "
        "wait for either, not for both",
        self->rank, anyone ? "DSGD_ANYONE" : "a worker", self->step,
        anyone ? "a worker" : "DSGD_ANYONE");
    if (w->wire.answers == 0) {
        w->wire.answers = answers;
        dsgd_work_wake(w); /* wakes actors that wait in questions_to() */
    }
    for (size_t n = anyone ? 1 : dsgd_count_pieces(x); n > 0; n--)
        answer(w, x, from);
}
