/**
 * @file turns.c
 * Orders the messages to and from servers: they follow one after another, while their latencies
 * overlap.
 *
 * A message to a server leaves when the bytes of the previous message have passed at the bandwidth
 * of the path and the server has processed that message. A message from a server leaves when the
 * bytes of the previous message have passed. So NICs and the server's processor serve messages in
 * first-come, first-served order. No two messages have bytes on a NIC at the same time, and only
 * the latency of a path limits the number of messages on it. (A thousand flows that share a link
 * would all end at the same time, and SimGrid would take a thousand times as long.)
 *
 * If other flows slow the messages down, messages would accumulate. Therefore no message leaves
 * while an earlier message that should have passed is still on its way. After a message out of a
 * server was late by more than a latency, no message leaves the server while any other message is
 * on its way.
 */
#include "base/round.h"
#include "sim/exchange/channels.h"

typedef struct dsgd_passage {
    struct dsgd_passage *next;
    double due_s; /* time at which the bytes of the message have passed, if it meets no other
                   * traffic */
    bool over;
    dsgd_transfer *transfer; /* transfer of a message out of a server; NULL for a message into a
                              * server */
} dsgd_passage;

/**
 * Removes messages that are over from the head of the queue. A message into a server is over when
 * it has been processed, and a message out of a server when it has arrived.
 */
static void forget(struct dsgd_turns *turns)
{
    for (dsgd_passage *over; (over = turns->first) != NULL && over->over;) {
        turns->first = over->next;
        dsgd_run_free(over);
    }
}

/**
 * Waits until the first message of the queue is over: processed by a server, or arrived from a
 * server.
 */
static void await_first(struct dsgd_turns *turns)
{
    dsgd_passage *const first = turns->first;
    if (first->transfer == NULL) {
        turns->awaited = true;
        dsgd_semaphore_wait(turns->over);
        return;
    }
    const double late_s = dsgd_greater(dsgd_now_s(), first->due_s + turns->latency_s);
    dsgd_transfer_wait(first->transfer);
    turns->late = dsgd_now_s() > late_s;
    first->over = true;
    forget(turns);
}

static void sleep_until(double at_s)
{
    /* repeats the sleep if the end of the sleep was rounded down */
    while (dsgd_now_s() < at_s)
        dsgd_sleep(at_s - dsgd_now_s());
}

/**
 * Waits until all messages that should have passed by @p at_s have passed. If other messages are
 * still in the queue, waits until @p at_s.
 */
static void await_turn(struct dsgd_turns *turns, double at_s)
{
    while (turns->first != NULL &&
           (turns->late || turns->first->due_s <= dsgd_greater(at_s, dsgd_now_s())))
        await_first(turns);
    if (turns->first != NULL)
        sleep_until(at_s);
}

/**
 * Channels that arrive within this number of seconds arrive at one instant. The number is greater
 * than rounding errors and the resolution of SimGrid. A channel waits twice this time before it
 * sends. If it waited only this time, the arrivals of two channels could differ by this time only
 * because one of them has waited.
 */
static const double instant_s = 5e-12;

/** Returns whether the channel @p a, which is in the queue, sends before the new channel @p b. */
static bool goes_before(const dsgd_channel *a, const dsgd_channel *b)
{
    return a->came_s < b->came_s || a->worker->host < b->worker->host ||
           (a->worker == b->worker && a->number < b->number);
}

void dsgd_inbound_enter(dsgd_worker *to, dsgd_channel *channel)
{
    struct dsgd_inbound *const inbound = &to->wire.inbound;
    bool waits = inbound->first != NULL;
    if (dsgd_now_s() > inbound->instant_s + instant_s)
        inbound->instant_s = dsgd_now_s();
    channel->came_s = inbound->instant_s;
    dsgd_channel **place =
        waits && goes_before(inbound->last, channel) ? &inbound->last->behind : &inbound->first;
    while (*place != NULL && goes_before(*place, channel))
        place = &(*place)->behind;
    channel->behind = *place;
    *place = channel;
    if (channel->behind == NULL)
        inbound->last = channel;
    for (;; waits = true) {
        if (waits)
            dsgd_semaphore_wait(channel->semaphore);
        /* When this sleep ends, all channels of the same instant have arrived. */
        sleep_until(channel->came_s + 2 * instant_s);
        if (inbound->first == channel)
            return;
        dsgd_semaphore_post(inbound->first->semaphore);
    }
}

void dsgd_inbound_leave(dsgd_worker *to)
{
    to->wire.inbound.first = to->wire.inbound.first->behind;
    if (to->wire.inbound.first != NULL)
        dsgd_semaphore_post(to->wire.inbound.first->semaphore);
}

static dsgd_passage *enter(dsgd_engine *engine, struct dsgd_turns *turns, double latency_s,
                           double held_s)
{
    static const double least_s = 2e-9; /* resolution of SimGrid in seconds */
    dsgd_passage *const new = dsgd_run_alloc(engine, sizeof *new);
    turns->free_s = dsgd_now_s() + dsgd_greater(held_s, least_s);
    turns->there_s = new->due_s = turns->free_s + latency_s;
    turns->latency_s = latency_s;
    *(turns->first == NULL ? &turns->first : &turns->last->next) = new;
    return turns->last = new;
}

/** Sends a packet out of a server; @p channel is a channel of the server. */
static void send_out(dsgd_channel *channel, dsgd_worker *to, dsgd_mailbox *mailbox,
                     dsgd_packet *message, dsgd_route route)
{
    struct dsgd_turns *const turns = &channel->outlet;
    await_turn(turns, turns->there_s - route.latency_s);
    /*
     * If there is no latency, the receiver itself waits until it has processed the earlier packet.
     */
    if (turns->whose == to && route.latency_s > 0)
        sleep_until(turns->there_s - route.latency_s + turns->treated_s);
    const bool beside =
        /* true if several channels send to one mailbox */
        message->whole != NULL && to->engine->layout.n_channels > 1;
    if (beside)
        dsgd_inbound_enter(to, channel);
    turns->whose = to;
    turns->treated_s = message->whole != NULL ? dsgd_packet_treated_s(to, message) : 0;
    message->there_s = dsgd_now_s() + route.latency_s;
    enter(to->engine, turns, route.latency_s, trunc(message->bytes) / route.bytes_per_s)->transfer =
        dsgd_isend(mailbox, message, message->bytes);
    if (beside)
        dsgd_inbound_leave(to);
    await_turn(turns, turns->free_s);
}

void dsgd_packet_send(dsgd_channel *channel, dsgd_worker *to, dsgd_mailbox *mailbox,
                      dsgd_packet *message)
{
    const int lane = channel->steps.lane;
    const dsgd_route route = dsgd_route_of(dsgd_cluster_host(channel->worker->host, lane),
                                           dsgd_cluster_host(to->host, lane));
    if (!dsgd_is_server(to)) {
        send_out(channel, to, mailbox, message, route);
        return;
    }
    if (to->wire.inlet == NULL)
        to->wire.inlet = dsgd_run_alloc(to->engine, sizeof *to->wire.inlet);
    struct dsgd_turns *const turns = to->wire.inlet;
    dsgd_inbound_enter(to, channel);
    turns->over = channel->semaphore;
    /* true for dsgd_send(); false for a push or fetch, which waits for the arrival of its packet */
    const bool is_message = message->whole != NULL;
    /*
     * The channel sends pushes and fetches one at a time, so its previous push or fetch must be
     * over.
     */
    await_turn(turns, !is_message && turns->whose == channel
                          ? INFINITY
                          : dsgd_greater(turns->free_s, turns->there_s - route.latency_s));
    turns->whose = channel;
    message->passage =
        enter(to->engine, turns, route.latency_s,
              trunc(message->bytes) / route.bytes_per_s + dsgd_packet_treated_s(to, message));
    message->sent_s = dsgd_now_s();
    message->there_s = message->sent_s + route.latency_s;
    dsgd_inbound_leave(to);
    if (!is_message) {
        dsgd_mailbox_send(mailbox, message, message->bytes);
        return;
    }
    const double left_s = message->sent_s + trunc(message->bytes) / route.bytes_per_s;
    dsgd_mailbox_send_detached(mailbox, message, message->bytes);
    sleep_until(left_s);
}

double dsgd_packet_treated_s(const dsgd_worker *to, const dsgd_packet *message)
{
    /*
     * Seconds to wait for an empty message. In SimGrid, an empty message arrives as soon as a
     * receiver asks for it, even if it should still be on its way.
     */
    const double early_s = message->bytes < 1 ? message->there_s - dsgd_now_s() : 0;
    return (early_s > 1e-9 ? early_s : 0) +
           (message->content.stamp < 0
                ? dsgd_packet_cost_s(to)
                : dsgd_piece_cost_s(to, &message->content, message->piece, 1));
}

void dsgd_packet_treated(dsgd_worker *server, const dsgd_packet *message)
{
    struct dsgd_turns *const turns = server->wire.inlet;
    message->passage->over = true;
    forget(turns);
    if (turns->awaited) {
        turns->awaited = false;
        dsgd_semaphore_post(turns->over);
    }
}
