/**
 * @file messages.c
 * Implements messages: numbers and vectors that their receiver gets only as a whole, in the order
 * in which they become complete. Messages of one sender arrive in the order of sending.
 *
 * Each chunk of a vector is a packet, which the sender's channel of that chunk sends. If chunks
 * have their own channels, a packet is sent as soon as its chunk is ready. A worker has one
 * receiving actor per sender and lane, so that no message waits for a slower message. A server has
 * one receiving actor for all workers, and one per other server. A message between two workers, or
 * between two servers, needs no handshake, like gossip. A message between a worker and a server
 * waits for its turn (turns.c), like a push and its answer, and occupies its channel while its
 * bytes leave.
 */
#include "sim/exchange/channels.h"
#include "sim/failures/failures.h"

enum { ALL_WORKERS = -1 };

/**
 * Messages from one sender to one receiver, in the order of sending. As in MPI, a message cannot
 * overtake an earlier one.
 */
typedef struct stream {
    struct incoming *first, *last;
} stream;

/**
 * A message that is on its way or has been received. Its receiver keeps the memory, including the
 * vector, for later messages.
 */
typedef struct incoming {
    dsgd_message seen; /* message that the algorithm gets; must be the first member */
    struct incoming *next; /* next message in the stream, in the inbox, or in the list of unused
                            * messages */
    stream *stream; /* stream of the messages from the same sender to the same receiver */
    dsgd_vector *x; /* memory for a vector; NULL before the first message with a vector */
    double *numbers; /* array with the numbers of the message */
    size_t n_left; /* number of packets of the message that have not arrived */
    bool broken_off; /* true if the message is lost, because its sender failed before it had sent
                      * all chunks */
    double back_s; /* time at which the whole vector is in device memory */
    int64_t came; /* step of the receiver in which the message became complete */
    dsgd_worker *to;
    double since_s; /* time at which the message was sent */
    int64_t step; /* step of the sender in which the message was sent */
    double share; /* share of the sender's step that had been computed when the message was sent,
                   * for dsgd_message_drop() */
} incoming;

/** An actor that receives packets and stores their chunks in messages. */
typedef struct receiver {
    dsgd_steps steps;
    dsgd_worker *to;
    int from; /* host of the sender; ALL_WORKERS if the actor receives from all workers */
    int lane; /* lane of the sender's and the receiver's host: their index in their workers; 0 at
               * a server */
    dsgd_mailbox *mailbox; /* mailbox of the packets; NULL before the first receive */
    bool owns; /* true if packets may arrive in the mailbox while another packet is handled */
    dsgd_packet *message; /* packet that has arrived; NULL while the actor waits for a packet */
    bool paid; /* true if the time that the actor spends on the packet has passed */
    double since_s; /* time at which the actor's wait for a packet started; after an arrival, time
                     * at which both sides were ready */
    /*
     * Messages that are not complete, or that follow an incomplete message. There is one stream for
     * the sender, or one for each worker. Only actors of lane 0 have streams.
     */
    stream streams[];
} receiver;

/** The received messages of one host. */
struct dsgd_inbox {
    stream complete; /* queue of complete messages that the algorithm has not received yet */
    incoming *seen; /* message that the last dsgd_recv() returned; NULL if it returned none */
    incoming *unused;
};

static struct dsgd_inbox *inbox_of(const dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    const size_t n_hosts = (size_t)engine->n_workers + (size_t)engine->n_servers;
    if (engine->exchanges.inboxes == NULL)
        engine->exchanges.inboxes =
            dsgd_run_alloc(engine, n_hosts * sizeof *engine->exchanges.inboxes);
    return &engine->exchanges.inboxes[w->host];
}

/**
 * Returns the sender of the packets that a receiving actor gets: ALL_WORKERS, or only the host of
 * @p sender.
 */
static int sharing(const dsgd_worker *to, const dsgd_worker *sender)
{
    return dsgd_is_server(to) && !dsgd_is_server(sender) ? ALL_WORKERS : sender->host;
}

/* --- memory of messages ----------------------------------------------------------------------- */

static incoming *new_incoming(dsgd_worker *from, dsgd_worker *to, const dsgd_vector *x,
                              const double *numbers, size_t n)
{
    struct dsgd_inbox *const state = inbox_of(to);
    incoming *l = state->unused;
    state->unused = l != NULL ? l->next : NULL;
    if (l == NULL)
        l = dsgd_run_alloc(to->engine, sizeof *l);
    if (x != NULL && l->x == NULL)
        l->x = dsgd_vector_new(&to->node);
    dsgd_run_free(l->numbers);
    l->numbers = dsgd_run_alloc(to->engine, n * sizeof *l->numbers);
    if (n > 0)
        memcpy(l->numbers, numbers, n * sizeof *numbers);
    l->seen = (dsgd_message){from->host, x != NULL ? dsgd_view_like(l->x, x) : NULL, n, l->numbers};
    l->next = NULL;
    l->n_left = x != NULL ? dsgd_count_pieces(x) : 1;
    l->broken_off = false;
    l->back_s = 0;
    l->to = to;
    l->since_s = dsgd_now_s();
    l->step = from->node.step;
    l->share = from->gpu.computation.share;
    return l;
}

/**
 * Makes the memory of the message @p l available for later messages. Does nothing if @p l is NULL.
 */
static void forget(const dsgd_worker *w, incoming *l)
{
    struct dsgd_inbox *const state = inbox_of(w);
    if (l == NULL)
        return;
    for (size_t k = 0; l->x != NULL && k < w->engine->layout.n_pieces; k++)
        dsgd_piece_set(w->engine, &l->x->piece[k], DSGD_ZERO_VALUE, -1);
    if (l->x != NULL)
        l->x->over = true;
    l->next = state->unused;
    state->unused = l;
}

/* --- receiving actors ------------------------------------------------------------------------- */

static void append(stream *to, incoming *l)
{
    l->next = NULL;
    if (to->first == NULL)
        to->first = l;
    else
        to->last->next = l;
    to->last = l;
}

/**
 * Moves the complete messages at the head of a stream to the inbox. Stops at the first incomplete
 * message.
 */
static void release(dsgd_worker *w, stream *s)
{
    for (incoming *whole; (whole = s->first) != NULL && whole->n_left == 0;) {
        s->first = whole->next;
        whole->came = w->node.step;
        if (whole->broken_off)
            forget(w, whole);
        else
            append(&inbox_of(w)->complete, whole);
        dsgd_work_wake(w);
    }
}

/** Stores the chunk of a packet in the packet's message. The last packet completes the message. */
static void put_in(dsgd_worker *w, dsgd_packet *message)
{
    incoming *const l = message->whole;
    const size_t k = message->piece;
    if (l->seen.x != NULL) {
        dsgd_piece *const piece = &l->x->piece[k];
        dsgd_piece_set(w->engine, piece, dsgd_value_retain(message->content.value),
                       message->content.stamp);
        piece->weight = message->content.weight;
        if (!dsgd_is_server(w))
            l->back_s = fmax(l->back_s, dsgd_stage_in(w, l->x, k, dsgd_now_s()));
    }
    dsgd_packet_free(w, message);
    l->n_left--;
    release(w, l->stream);
}

static dsgd_await next_of_receiver(void *argument)
{
    receiver *const r = argument;
    dsgd_worker *const w = r->to;
    if (r->message != NULL && !r->paid) {
        const double cost_s = dsgd_packet_treated_s(w, r->message);
        r->since_s = dsgd_packet_arrived(w, r->message, r->since_s);
        r->paid = true;
        if (cost_s > 0)
            return (dsgd_await){.kind = DSGD_AWAIT_SECONDS, .amount = cost_s};
    }
    if (r->message != NULL && w->clock.stopped) {
        dsgd_packet_free(w, r->message); /* the packet is dropped, because after the worker has
                                          * stopped no algorithm reads messages */
    } else if (r->message != NULL) {
        if (!dsgd_is_server(w))
            dsgd_count_communication(w, r->since_s);
        else if (r->from == ALL_WORKERS)
            dsgd_packet_treated(w, r->message);
        put_in(w, r->message);
    }
    r->message = NULL;
    r->paid = false;
    if (r->mailbox == NULL) {
        r->mailbox = dsgd_mailbox_of(r->from, w->host, DSGD_PORT_MESSAGE, r->lane);
        if (r->owns)
            dsgd_mailbox_own(r->mailbox);
    }
    r->since_s = r->from == ALL_WORKERS ? 0 : dsgd_now_s();
    return (dsgd_await){.kind = DSGD_AWAIT_TRANSFER,
                        .transfer = dsgd_irecv(r->mailbox, (void **)&r->message)};
}

/** Starts an actor with @p n streams that receives the messages of @p sender on a lane. */
static receiver *start_receiver(dsgd_worker *to, const dsgd_worker *sender, int lane, size_t n)
{
    receiver *const new = dsgd_run_alloc(to->engine, sizeof *new + n * sizeof new->streams[0]);
    const bool overlaps = dsgd_is_server(sender) && !dsgd_is_server(to) &&
                          dsgd_route_of(sender->host, to->host).latency_s > 0;
    *new = (receiver){
        .steps = {next_of_receiver, new}, .to = to, .from = sharing(to, sender), .lane = lane};
    new->owns = new->from == ALL_WORKERS || overlaps;
    dsgd_steps_start(to->host, &new->steps);
    return new;
}

/**
 * Returns the number of lanes between two workers: each host of the sender sends to one host of the
 * receiver. Returns 1 if one of them is a server.
 */
static int n_lanes(const dsgd_worker *to, const dsgd_worker *sender)
{
    return dsgd_is_server(to) || dsgd_is_server(sender) ? 1 : to->engine->layout.n_lanes;
}

/**
 * Returns the stream of messages from @p sender. Starts the actors that receive these messages,
 * unless they exist.
 */
static stream *open_receiver(dsgd_worker *to, const dsgd_worker *sender)
{
    const int from = sharing(to, sender);
    const bool of_all = from == ALL_WORKERS;
    receiver **const r =
        (receiver **)dsgd_mailbox_data(dsgd_mailbox_of(from, to->host, DSGD_PORT_MESSAGE, 0));
    if (*r == NULL) {
        for (int lane = 1; lane < n_lanes(to, sender); lane++)
            start_receiver(to, sender, lane, 0);
        *r = start_receiver(to, sender, 0, of_all ? (size_t)to->engine->n_workers : 1);
    }
    return &(*r)->streams[of_all ? sender->host : 0];
}

/* --- dsgd_send() ------------------------------------------------------------------------------ */

static const char sending[] = "dsgd_send";

typedef struct message_job {
    dsgd_job job; /* part that all jobs have; must be the first member, for casts */
    incoming *whole;
    dsgd_mailbox *mailbox;
    dsgd_piece mine;
    double bytes;
} message_job;

static void run_message(dsgd_channel *channel, dsgd_job *any_job)
{
    dsgd_worker *const w = channel->worker;
    message_job *const job = (message_job *)any_job;
    dsgd_packet *const message = dsgd_packet_new(w, channel->number, any_job->piece, job->mine);
    message->bytes = job->bytes;
    message->whole = job->whole;
    dsgd_worker *const to = job->whole->to;
    message->span = dsgd_observe_sent(w->engine, w->host, to->host, job->bytes);
    if (dsgd_is_server(w) != dsgd_is_server(to))
        dsgd_packet_send(channel, to, job->mailbox, message);
    else
        dsgd_mailbox_send_detached(job->mailbox, message, job->bytes);
    dsgd_value_release(w->engine->learning.values, job->mine.value);
    dsgd_run_free(job);
}

/**
 * Makes a job from @p part, which sends one packet of the message @p l, and puts the job on its
 * channel.
 */
static void add_message(dsgd_worker *w, incoming *l, message_job part)
{
    message_job *const job = dsgd_run_alloc(w->engine, sizeof *job);
    *job = part;
    job->job.run = run_message;
    job->job.verb = sending;
    job->whole = l;
    const int lane = n_lanes(l->to, w) > 1 ? dsgd_lane_of(w->engine, job->job.piece) : 0;
    job->mailbox = dsgd_mailbox_of(sharing(l->to, w), l->to->host, DSGD_PORT_MESSAGE, lane);
    dsgd_channel_add(w, &job->job);
}

/**
 * Sends a chunk of a message. If the sender is a worker, the chunk is compressed as in other
 * exchanges; a server does not compress it.
 */
static void send_piece(dsgd_worker *w, const dsgd_update *update, size_t k, const dsgd_piece *piece)
{
    dsgd_vector *const x = update->x;
    incoming *const l = update->message;
    dsgd_observe_sends(w, piece, sending);
    message_job part = {.job.piece = k, .mine = dsgd_piece_sent(w, x, k, update->call)};
    part.bytes = dsgd_encoded_bytes(w->engine, part.mine.encoded, k);
    if (k == x->first)
        part.bytes += (double)(l->seen.n * sizeof *l->seen.numbers);
    if (!dsgd_is_server(w))
        part.job.not_before_s = dsgd_stage_out(w, x, k, &part.mine, l->since_s);
    add_message(w, l, part);
}

void dsgd_send(dsgd_node *self, int to, dsgd_vector *x, const double *numbers, size_t n)
{
    if (x != NULL)
        DSGD_OWN(self, x);
    dsgd_worker *const w = dsgd_worker_of(self);
    const int n_hosts = w->engine->n_workers + w->engine->n_servers;
    DSGD_REQUIRE(to >= 0 && to < n_hosts && to != w->host,
                 "rank %d sends a message to %d in step %jd, but others are 0 to %d (workers, then "
                 "%d servers)",
                 self->rank, to, self->step, n_hosts - 1, w->engine->n_servers);
    DSGD_REQUIRE(
        x != NULL || w->gpu.computation.first_deferred == NULL || !dsgd_computing(w),
        "worker %d sends a message without a vector in step %jd behind an update that its "
        "gradient has yet to make: send it before, or behind dsgd_wait_any() of DSGD_ON_GRADIENT",
        self->rank, self->step);
    dsgd_stay_if_endless(w);
    dsgd_exchanges_otherwise(w, false);
    w->wire.unsent = w->presence.state == DSGD_DOWN;
    if (w->wire.unsent)
        return;
    dsgd_worker *const receives = &w->engine->workers[to];
    stream *const s = open_receiver(receives, w);
    incoming *const l = new_incoming(w, receives, x, numbers, n);
    l->stream = s;
    append(s, l);
    if (x == NULL) {
        add_message(w, l,
                    (message_job){.mine = DSGD_NO_PIECE, .bytes = (double)(n * sizeof *numbers)});
        return;
    }
    dsgd_update update = {send_piece, x, x, .call = w->clock.encodings++, .message = l};
    if (w->engine->layout.n_channels > 1 &&
        !(w->engine->config->algorithm->traits & DSGD_CANCELS) &&
        !w->engine->failures.others_continue) {
        dsgd_update_when_ready(w, update);
        return;
    }
    DSGD_FOR_PIECES (k, x) {
        dsgd_piece_wait(x, k);
        w->wire.unsent = w->presence.state == DSGD_DOWN;
        if (w->wire.unsent)
            l->n_left--;
        else
            send_piece(w, &update, k, &x->piece[k]);
    }
    if (w->wire.unsent) {
        l->broken_off = true;
        release(receives, s);
    }
}

/* --- functions of dsgd_recv() and dsgd_wait_any() --------------------------------------------- */

/**
 * Returns the next failed worker for which the server must get a notification, after all messages
 * of this worker have arrived. Returns NULL if no such worker exists. Stores the time of the
 * notification in *known_s.
 */
static dsgd_worker *next_failure(const dsgd_worker *server, double *known_s)
{
    dsgd_engine *const engine = server->engine;
    dsgd_worker *first = NULL;
    *known_s = INFINITY;
    for (int i = 0;
         i < engine->n_workers && dsgd_is_server(server) && engine->failures.n_unnotified > 0;
         i++) {
        dsgd_worker *const w = &engine->workers[i];
        if (!w->presence.unnotified || dsgd_failure_notice_s(w) >= *known_s ||
            open_receiver(&engine->workers[server->host], w)->first != NULL)
            continue;
        first = w;
        *known_s = dsgd_failure_notice_s(w);
    }
    return first;
}

/**
 * Returns whether a report may name @p host as a host for which @p w waits. Only servers are named,
 * because the sender of the next message is not known.
 */
static bool lacks_message(const dsgd_worker *w, const dsgd_job *none, int host)
{
    (void)none;
    return host >= w->engine->n_workers;
}

static unsigned happened(const dsgd_worker *w, unsigned events)
{
    unsigned all = 0;
    double known_s;
    next_failure(w, &known_s);
    if (inbox_of(w)->complete.first != NULL || known_s <= dsgd_now_s())
        all |= DSGD_ON_MESSAGE;
    if (!dsgd_computing(w))
        all |= DSGD_ON_GRADIENT;
    for (const dsgd_request *r = w->wire.requests; r != NULL; r = r->next)
        if (dsgd_request_undone(r) == NULL)
            all |= DSGD_ON_REQUEST;
    return all & events;
}

static unsigned wait_for(dsgd_worker *w, const dsgd_waiting *in, unsigned events, double until_s)
{
    unsigned got = happened(w, events);
    if (got != 0)
        return got;
    if (until_s <= dsgd_now_s()) {
        dsgd_count_poll(w, in->lacks, NULL);
        return 0;
    }
    /*
     * True if the wait is not recorded. A worker that waits for its own computation does not wait
     * for other workers. Waits of servers are never recorded.
     */
    const bool alone = dsgd_is_server(w) || ((events & DSGD_ON_GRADIENT) != 0 && dsgd_computing(w));
    dsgd_wait *const wait = alone ? NULL : dsgd_wait_begin(w, in, NULL);
    bool more = true;
    while (got == 0 && more) {
        double known_s;
        next_failure(w, &known_s);
        more = dsgd_work_sleep_until(w, fmin(until_s, known_s)) || known_s < until_s;
        got = happened(w, events);
    }
    dsgd_wait_end(w, wait);
    return got;
}

const dsgd_message *dsgd_recv(dsgd_node *self, double until_s)
{
    static const dsgd_waiting receiving = {"dsgd_recv", lacks_message};
    dsgd_worker *const w = dsgd_worker_of(self);
    struct dsgd_inbox *const state = inbox_of(w);
    dsgd_stay_if_endless(w);
    forget(w, state->seen);
    state->seen = NULL;
    if (w->wire.unsent) {
        w->wire.unsent = false;
        return NULL;
    }
    if (wait_for(w, &receiving, DSGD_ON_MESSAGE, until_s) == 0)
        return NULL;
    incoming *const first = state->seen = state->complete.first;
    if (first == NULL) {
        double known_s;
        dsgd_worker *const failed = next_failure(w, &known_s);
        dsgd_clear_failure_notice(failed);
        state->seen = new_incoming(failed, w, NULL, NULL, 0);
        return &state->seen->seen;
    }
    state->complete.first = first->next;
    if (first->x != NULL)
        first->x->over = false;
    dsgd_staging_wait(w, first->back_s);
    return &first->seen;
}

unsigned dsgd_wait_any(dsgd_node *self, unsigned events, double until_s)
{
    static const dsgd_waiting waiting = {"dsgd_wait_any", lacks_message};
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_stay_if_endless(w);
    return wait_for(w, &waiting, events, until_s);
}

size_t dsgd_messages_left(const dsgd_worker *w, int64_t *step)
{
    const incoming *const oldest = w->engine->exchanges.inboxes == NULL
                                       ? NULL
                                       : w->engine->exchanges.inboxes[w->host].complete.first;
    size_t n = 0;
    for (const incoming *l = oldest; l != NULL; l = l->next, n++)
        *step = oldest->came;
    return n;
}

/* --- verbs that use received messages --------------------------------------------------------- */

/** Stops the program if @p l is not the message that this worker or server received last. */
static void require_seen(const dsgd_worker *w, const dsgd_message *l, const char *verb)
{
    DSGD_REQUIRE(l != NULL && inbox_of(w)->seen == (const incoming *)l,
                 "%d calls %s() in step %jd of a message that is not the one that it received last",
                 w->node.rank, verb, w->node.step);
}

void dsgd_message_used(dsgd_node *self, const dsgd_message *l, int64_t missed)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    require_seen(w, l, __func__);
    if (missed < 0) {
        if (l->x == NULL || dsgd_is_server(w))
            return;
        DSGD_FOR_PIECES (k, l->x)
            dsgd_observe_used(w, l->from, k, l->x->piece[k].stamp, dsgd_piece_share(w->engine, k));
        return;
    }
    dsgd_observe_gradient_used(w, l->from, (double)missed, 1,
                               (dsgd_span){.piece = -1, .version = -1});
}

void dsgd_message_drop(dsgd_node *self, const dsgd_message *l)
{
    require_seen(dsgd_worker_of(self), l, __func__);
    dsgd_worker *const sender = &dsgd_worker_of(self)->engine->workers[l->from];
    const incoming *const own = (const incoming *)l;
    if (!dsgd_is_server(sender))
        dsgd_count_dropped(sender, own->step, own->share);
}
