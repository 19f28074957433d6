/**
 * @file alone.c
 * Messages between hosts that send one at a time and receive one at a time, where messages can meet
 * at the hosts' NICs only: then each takes, from the instant at which sender and receiver are there,
 * a time that is known. Whoever of the two came last sleeps it, and wakes the other. That is a third
 * of what SimGrid spends on a message; a sleep in place of a computation, which has its host's
 * processor to itself, also is a third.
 */
#include "sim/network/alone.h"

#include <math.h>
#include <stdlib.h>

/** Of a message, from its sending or receiving on, whichever is first. */
struct dsgd_transfer {
    dsgd_transfer *next; /* in its mailbox, or unused */
    dsgd_transfer *older; /* of all */
    int from, to; /* hosts; -1: has not come */
    double bytes, sent_s;
    double end_s; /* once both have come */
    void *payload, **place; /* place: where the receiver wants the payload, or NULL */
    int n_holders; /* ends that have yet to see its end */
    dsgd_semaphore *semaphore;
    bool waits; /* who came first, for the semaphore */
};

struct dsgd_mailbox {
    dsgd_mailbox *next; /* of all */
    dsgd_transfer *first, *last; /* either sent and not received, or the other way round */
};

static const dsgd_network *under;
static dsgd_paths *paths;
static double (*busy_until_s)[2]; /* [n_hosts]: sending, receiving */
static dsgd_mailbox *mailboxes;
static dsgd_transfer *transfers, *unused;

/* --- transfers -------------------------------------------------------------------------------- */

static dsgd_transfer *new_transfer(void)
{
    dsgd_transfer *t = unused;
    if (t != NULL) {
        unused = t->next;
    } else {
        t = dsgd_xcalloc(1, sizeof *t);
        t->semaphore = under->semaphore_new();
        t->older = transfers;
        transfers = t;
    }
    *t = (dsgd_transfer){
        .older = t->older, .from = -1, .to = -1, .n_holders = 2, .semaphore = t->semaphore};
    return t;
}

static void release(dsgd_transfer *t)
{
    if (--t->n_holders > 0)
        return;
    t->next = unused;
    unused = t;
}

/** A message of some bytes is over before another could notice it. */
static const double nothing_bytes = 8;
static const double same_instant_s = 1e-9; /* SimGrid tells nothing nearer apart */

static void occupy(int host, bool receiving, double end_s)
{
    double *const until_s = &busy_until_s[host][receiving];
    DSGD_ASSERT(*until_s <= under->now_s() + same_instant_s,
                "host %d %s two messages at once, but the algorithm says that no worker or server "
                "does (one_at_a_time)",
                host, receiving ? "receives" : "sends");
    *until_s = end_s;
}

/** Both sides have come. */
static void begin(dsgd_transfer *t)
{
    t->end_s = under->now_s() + dsgd_path_s(paths, t->from, t->to, t->bytes);
    if (t->bytes <= nothing_bytes)
        return;
    occupy(t->from, false, t->end_s);
    occupy(t->to, true, t->end_s);
}

/** The first transfer to which the other side has come, or a new one, to which it comes later. */
static dsgd_transfer *meet(dsgd_mailbox *mailbox, bool sending)
{
    dsgd_transfer *const first = mailbox->first;
    if (first != NULL && (first->from < 0) == sending) {
        mailbox->first = first->next;
        return first;
    }
    dsgd_transfer *const t = new_transfer();
    *(first == NULL ? &mailbox->first : &mailbox->last->next) = t;
    mailbox->last = t;
    return t;
}

static dsgd_transfer *put(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    dsgd_transfer *const t = meet(mailbox, true);
    t->from = under->here();
    t->payload = payload;
    t->bytes = bytes;
    t->sent_s = under->now_s();
    if (t->to >= 0)
        begin(t);
    return t;
}

static dsgd_transfer *get(dsgd_mailbox *mailbox, void **place)
{
    dsgd_transfer *const t = meet(mailbox, false);
    t->to = under->here();
    t->place = place;
    if (t->from >= 0)
        begin(t);
    return t;
}

/** Who came first and waits goes on. */
static void wake_first(dsgd_transfer *t)
{
    if (!t->waits)
        return;
    t->waits = false;
    under->semaphore_post(t->semaphore);
}

/** Until the message has arrived. */
static void await(dsgd_transfer *t)
{
    const bool is_first = t->from < 0 || t->to < 0;
    if (is_first) {
        t->waits = true;
        under->semaphore_wait(t->semaphore);
    }
    const double left_s = t->end_s - under->now_s();
    if (left_s > 0)
        under->sleep(left_s);
    if (!is_first)
        wake_first(t);
}

/* --- the network's functions ------------------------------------------------------------------ */

static void send_message(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    dsgd_transfer *const t = put(mailbox, payload, bytes);
    await(t);
    release(t);
}

/** The sender does not stay until the end: a receiver that waits has to count the time itself. */
static void send_detached(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    dsgd_transfer *const t = put(mailbox, payload, bytes);
    wake_first(t);
    release(t);
}

static void *receive(dsgd_mailbox *mailbox)
{
    dsgd_transfer *const t = get(mailbox, NULL);
    await(t);
    void *const payload = t->payload;
    release(t);
    return payload;
}

static dsgd_transfer *irecv(dsgd_mailbox *mailbox, void **place)
{
    dsgd_transfer *const t = get(mailbox, place);
    wake_first(t);
    return t;
}

static void transfer_wait(dsgd_transfer *t)
{
    await(t);
    *t->place = t->payload;
    release(t);
}

static double sendrecv(dsgd_mailbox *out, double out_bytes, dsgd_mailbox *in)
{
    double started_s = under->now_s();
    void *nothing = NULL;
    dsgd_transfer *const sent = out == NULL ? NULL : put(out, NULL, out_bytes);
    if (sent != NULL)
        wake_first(sent);
    if (in != NULL) {
        dsgd_transfer *const received = irecv(in, &nothing);
        await(received);
        started_s = fmax(started_s, received->sent_s);
        release(received);
    }
    if (sent != NULL) {
        await(sent);
        release(sent);
    }
    return started_s;
}

static void compute(double flops)
{
    under->sleep(flops / under->speed(under->here()));
}

static dsgd_mailbox *new_mailbox(int from, int to, dsgd_port port, int channel)
{
    (void)from;
    (void)to;
    (void)port;
    (void)channel;
    dsgd_mailbox *const mailbox = dsgd_xcalloc(1, sizeof *mailbox);
    mailbox->next = mailboxes;
    mailboxes = mailbox;
    return mailbox;
}

static void own(dsgd_mailbox *mailbox)
{
    (void)mailbox;
    DSGD_ASSERT(false, "messages that travel before their receiver comes may meet others");
}

static void run(void)
{
    under->run();
    for (dsgd_mailbox *next = NULL; mailboxes != NULL; mailboxes = next) {
        next = mailboxes->next;
        free(mailboxes);
    }
    for (dsgd_transfer *older = NULL; transfers != NULL; transfers = older) {
        older = transfers->older;
        under->semaphore_free(transfers->semaphore);
        free(transfers);
    }
    unused = NULL;
    free(busy_until_s);
    free(paths);
}

const dsgd_network *dsgd_network_alone(const dsgd_network *the_network, dsgd_paths *the_paths,
                                       int n_hosts)
{
    static dsgd_network alone;
    under = the_network;
    paths = the_paths;
    busy_until_s = dsgd_xcalloc((size_t)n_hosts, sizeof *busy_until_s);
    alone = *under;
    alone.run = run;
    alone.compute = compute;
    alone.mailbox = new_mailbox;
    alone.own = own;
    alone.sendrecv = sendrecv;
    alone.send = send_message;
    alone.irecv = irecv;
    alone.wait = transfer_wait;
    alone.send_detached = send_detached;
    alone.recv = receive;
    return &alone;
}
