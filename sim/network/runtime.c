/**
 * @file runtime.c
 * Runs actors on any network. Contains coroutines, semaphores, mailboxes, and the loop over events.
 * The network computes the times of messages and computations (network.h).
 *
 * An actor that blocks finds the next actor itself. It lets events happen until an actor is ready,
 * and switches to this actor. If the blocked actor itself is ready first, it continues. A blocked
 * actor also executes the steps of step actors, on its own stack. All events of one time happen
 * before an actor runs. So if workers act at the same time, no worker uses a value that another
 * worker made at that time.
 */
#include "sim/network/runtime.h"

#include "base/round.h"
#include "sim/network/coroutine.h"

const dsgd_network_ops *dsgd_network_used;

/* --- functions that allocate memory of the run ------------------------------------------------ */

enum { BLOCK_BYTES = 1 << 18, LINE_BYTES = 64 /* bytes of a cache line */ };

/** A block of memory. Parts of it are given out, and the block is freed as a whole. */
static struct block {
    struct block *next;
    char memory[];
} * blocks;

/**
 * The unused remainders of the newest blocks. left[0] is for parts smaller than a cache line;
 * left[1] is for larger parts, which start at a cache line.
 */
static struct {
    char *memory;
    size_t n; /* number of unused bytes of the remainder */
} left[2];

void *dsgd_runtime_take(size_t size)
{
    const bool in_lines = size >= LINE_BYTES;
    size = in_lines ? (size + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES : size;
    if (left[in_lines].n < size) {
        const size_t n = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        struct block *const block = dsgd_xcalloc(1, sizeof *block + n + LINE_BYTES);
        block->next = blocks;
        blocks = block;
        left[in_lines].memory = block->memory + LINE_BYTES - (uintptr_t)block->memory % LINE_BYTES;
        left[in_lines].n = n;
    }
    return left[in_lines].memory + (left[in_lines].n -= size);
}

/* --- actors ----------------------------------------------------------------------------------- */

/** An actor. A step of a step actor reads only the first cache line of this struct. */
typedef struct actor {
    dsgd_event alarm; /* must be the first member; event that ends a sleep or a wait with a time
                       * limit */
    struct actor *next; /* next actor in the queue that contains this actor */
    dsgd_steps *steps; /* steps of the actor; NULL if the actor has a stack */
    dsgd_semaphore *awaited; /* semaphore that the actor waits for; NULL if it waits for no
                              * semaphore, or after the post */
    dsgd_transfer *sent, *received; /* transfers that the actor waits for between two steps; NULL
                                     * if it waits for no transfer */
    int n_awaited; /* number of transfers that the actor waits for */
    int host, lane;

    double *started_s; /* address that receives the time at which both sides of a message were
                        * ready */
    dsgd_coroutine coroutine;
    void (*body)(void *argument);
    void *argument;
    dsgd_await call; /* function call for which a step actor gets a stack */
} actor;

/** A queue of actors. The actor that joined the queue first leaves it first. */
typedef struct queue {
    actor *first, *last;
} queue;

static actor main_actor; /* actor that represents the function that runs the simulation */
static actor *self = &main_actor;
static queue ready;
static bool ended;
static double unused_s; /* memory for start times of messages that no caller needs */

static void append(queue *q, actor *a)
{
    a->next = NULL;
    if (q->first == NULL)
        q->first = a;
    else
        q->last->next = a;
    q->last = a;
}

static actor *take_first(queue *q)
{
    actor *const first = q->first;
    q->first = first->next;
    return first;
}

static bool take_steps(actor *a);

/**
 * Lets time pass until the next instant with events, and lets all events of that instant happen.
 * Returns false if there are no more events.
 */
static bool let_time_pass(void)
{
    if (dsgd_network_used->advance != NULL && !dsgd_network_used->advance(dsgd_events_next_s()))
        return false;
    return dsgd_events_next();
}

/**
 * Returns the actor that runs next. Returns main_actor if the simulation has ended or nothing can
 * happen any more.
 */
static actor *next_actor(void)
{
    for (;;) {
        while (!ended && ready.first == NULL)
            if (!let_time_pass())
                return &main_actor;
        if (ended)
            return &main_actor;
        actor *const first = take_first(&ready);
        if (first->steps == NULL || !take_steps(first))
            return first;
    }
}

/**
 * Runs other actors until the calling actor is ready again: another actor or an event appends it to
 * `ready`.
 */
static void block(void)
{
    actor *const me = self;
    DSGD_ASSERT(me->steps == NULL, "a step of an actor on host %d waits", me->host);
    self = next_actor();
    if (self != me)
        dsgd_coroutine_switch(&me->coroutine, &self->coroutine);
}

struct dsgd_semaphore {
    int64_t count;
    queue waiting;
};

static void leave(queue *q, const actor *a)
{
    queue others = {NULL, NULL};
    while (q->first != NULL) {
        actor *const other = take_first(q);
        if (other != a)
            append(&others, other);
    }
    *q = others;
}

static void wake(dsgd_event *alarm)
{
    actor *const a = (actor *)alarm;
    /*
     * The actor leaves the queue of the semaphore now, because an actor can be in only one queue.
     */
    if (a->awaited != NULL)
        leave(&a->awaited->waiting, a);
    append(&ready, a);
}

static void actor_main(void *argument)
{
    actor *const me = argument;
    me->body(me->argument);
    self = next_actor();
    dsgd_coroutine_end(&me->coroutine, &self->coroutine);
}

static actor *new_actor(int host, void (*body)(void *argument), void *argument)
{
    actor *const a = dsgd_runtime_take(sizeof *a);
    *a = (actor){.alarm = {.happen = wake},
                 .host = host,
                 .body = body,
                 .argument = argument,
                 .started_s = &unused_s};
    append(&ready, a);
    return a;
}

void dsgd_actor_start(int host, void (*body)(void *argument), void *argument)
{
    actor *const a = new_actor(host, body, argument);
    dsgd_coroutine_open(&a->coroutine, actor_main, a);
}

const void *dsgd_actor_self(void)
{
    return self;
}

void dsgd_use_lane(int lane)
{
    self->lane = lane;
}

/* --- virtual time ----------------------------------------------------------------------------- */

double dsgd_now_s(void)
{
    return dsgd_events_now_s();
}

double dsgd_cluster_speed(int host)
{
    return dsgd_network_used->speed(host);
}

dsgd_route dsgd_route_of(int from, int to)
{
    return dsgd_network_used->route(from, to);
}

static void set_alarm(double seconds)
{
    dsgd_event_plan(&self->alarm, dsgd_events_now_s() + dsgd_greater(seconds, 0));
}

void dsgd_sleep(double seconds)
{
    set_alarm(seconds);
    block();
}

/**
 * Plans the end of a computation by the current actor. Only one actor of a host computes, so actors
 * never share a processor.
 */
static void compute(double flops)
{
    if (dsgd_network_used->compute != NULL)
        dsgd_network_used->compute(&self->alarm, self->host, flops);
    else
        set_alarm(flops / dsgd_cluster_speed(self->host));
}

/* --- semaphores ------------------------------------------------------------------------------- */

dsgd_semaphore *dsgd_semaphore_new(void)
{
    return dsgd_runtime_take(sizeof(dsgd_semaphore));
}

/**
 * Decrements the count of a semaphore and returns false. If the count is 0, appends the calling
 * actor to the queue instead, and returns true.
 */
static bool has_to_queue(dsgd_semaphore *semaphore)
{
    if (semaphore->count > 0) {
        semaphore->count--;
        return false;
    }
    self->awaited = semaphore;
    append(&semaphore->waiting, self);
    return true;
}

void dsgd_semaphore_wait(dsgd_semaphore *semaphore)
{
    if (has_to_queue(semaphore))
        block();
}

void dsgd_semaphore_post(dsgd_semaphore *semaphore)
{
    if (semaphore->waiting.first == NULL) {
        semaphore->count++;
        return;
    }
    actor *const first = take_first(&semaphore->waiting);
    first->awaited = NULL;
    dsgd_event_cancel(&first->alarm);
    append(&ready, first);
}

bool dsgd_semaphore_wait_for(dsgd_semaphore *semaphore, double seconds)
{
    actor *const me = self;
    set_alarm(seconds);
    dsgd_semaphore_wait(semaphore);
    dsgd_event_cancel(&me->alarm);
    const bool acquired = me->awaited == NULL;
    me->awaited = NULL;
    return acquired;
}

/* --- mailboxes and transfers ------------------------------------------------------------------ */

/** A message. The struct is made by its send or by its receive, whichever comes first. */
struct dsgd_transfer {
    struct dsgd_transfer *next; /* next transfer in the mailbox, or in the list of unused
                                 * transfers */
    actor *sender, *receiver; /* sending actor and receiving actor, if they may wait for the
                               * arrival */
    bool sender_waits, receiver_waits, arrived;
    int n_holders; /* number of sides (sender, receiver) that still need the struct */
    int from, to; /* hosts of the sender and the receiver; -1 for a host that is not known yet */
    int lane; /* lane of the sender when it sent the message */
    double sent_s;
    void *payload, **place; /* payload of the message, and address at which the receiver wants the
                             * payload (may be NULL) */
    dsgd_flight flight;
};

struct dsgd_mailbox {
    dsgd_transfer *first, *last; /* list of transfers in which all transfers are sent but not
                                  * received, or all are received but not sent */
    int owner; /* host of the only receiver, set by dsgd_mailbox_own(); -1 before such a call */
    void *data; /* pointer for the user of the mailbox, see dsgd_mailbox_data() */
};

static dsgd_transfer *unused; /* list of transfers that can be reused */

/** The hash table of all mailboxes of the run. */
static struct {
    size_t n, room; /* number of mailboxes, and number of entries of the table, which is a power of
                     * two */
    struct known_mailbox {
        uint64_t key; /* sender, receiver, port and channel of the mailbox; 0 if the entry is
                       * free */
        dsgd_mailbox *mailbox;
    } * known;
} mailboxes;

static struct known_mailbox *place_of(uint64_t key)
{
    size_t i = (size_t)(key * 0x9e3779b97f4a7c15u >> 32) & (mailboxes.room - 1);
    while (mailboxes.known[i].key != 0 && mailboxes.known[i].key != key)
        i = (i + 1) & (mailboxes.room - 1);
    return &mailboxes.known[i];
}

static void grow_mailboxes(void)
{
    struct known_mailbox *const old = mailboxes.known;
    const size_t n = mailboxes.room;
    mailboxes.room = n == 0 ? 1024 : 2 * n;
    mailboxes.known = dsgd_xcalloc(mailboxes.room, sizeof *mailboxes.known);
    for (size_t i = 0; i < n; i++)
        if (old[i].key != 0)
            *place_of(old[i].key) = old[i];
    free(old);
}

dsgd_mailbox *dsgd_mailbox_of(int from, int to, dsgd_port port, int channel)
{
    /*
     * The key has 21 bits per rank, 16 bits for the channel, and 5 bits for the letter of the port.
     */
    const uint64_t key = (uint64_t)((unsigned char)port & 31) << 58 | (uint64_t)channel << 42 |
                         (uint64_t)to << 21 | (uint64_t)(from + 1);
    if (2 * mailboxes.n >= mailboxes.room)
        grow_mailboxes();
    struct known_mailbox *const place = place_of(key);
    if (place->key != key) {
        dsgd_mailbox *const mailbox = dsgd_runtime_take(sizeof *mailbox);
        mailbox->owner = -1;
        *place = (struct known_mailbox){key, mailbox};
        mailboxes.n++;
    }
    return place->mailbox;
}

void **dsgd_mailbox_data(dsgd_mailbox *mailbox)
{
    return &mailbox->data;
}

void dsgd_mailbox_own(dsgd_mailbox *mailbox)
{
    mailbox->owner = self->host;
}

static void release(dsgd_transfer *t)
{
    if (--t->n_holders > 0)
        return;
    t->next = unused;
    unused = t;
}

static void hear(actor *waiting)
{
    if (--waiting->n_awaited == 0)
        append(&ready, waiting);
}

static dsgd_transfer *transfer_of(dsgd_event *arrival)
{
    return (void *)((char *)arrival - offsetof(dsgd_transfer, flight.arrival));
}

static void arrive(dsgd_event *arrival)
{
    dsgd_transfer *const t = transfer_of(arrival);
    t->arrived = true;
    if (t->place != NULL)
        *t->place = t->payload;
    if (t->sender_waits)
        hear(t->sender);
    if (t->receiver_waits)
        hear(t->receiver);
}

static inline dsgd_transfer *new_transfer(void (*happen)(dsgd_event *arrival))
{
    dsgd_transfer *const t = unused != NULL ? unused : dsgd_runtime_take(sizeof *t);
    unused = t->next;
    struct dsgd_room *const room = t->flight.room;
    *t = (dsgd_transfer){.flight = {.room = room, .arrival = {.happen = happen}}};
    return t;
}

/**
 * Returns the first transfer of a mailbox that waits for this side. This side is the sender if @p
 * sending is true, else the receiver. If no transfer waits for it, returns a new transfer that
 * waits for the other side.
 */
static dsgd_transfer *meet(dsgd_mailbox *mailbox, bool sending)
{
    dsgd_transfer *const first = mailbox->first;
    const bool others_sent = first != NULL && first->from >= 0;
    if (first != NULL && others_sent != sending) {
        mailbox->first = first->next;
        return first;
    }
    dsgd_transfer *const t = new_transfer(arrive);
    t->from = t->to = -1;
    t->n_holders = 2;
    if (first == NULL)
        mailbox->first = t;
    else
        mailbox->last->next = t;
    mailbox->last = t;
    return t;
}

static inline void fly(dsgd_transfer *t)
{
    if (t->lane == 0)
        dsgd_network_used->send(&t->flight, t->from, t->to);
    else
        dsgd_network_used->send(&t->flight, dsgd_cluster_host(t->from, t->lane),
                                dsgd_cluster_host(t->to, t->lane));
}

/** Starts to send a message. Returns NULL if the mailbox is NULL. */
static dsgd_transfer *put(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    if (mailbox == NULL)
        return NULL;
    dsgd_transfer *const t = meet(mailbox, true);
    t->from = self->host;
    t->lane = self->lane;
    t->payload = payload;
    t->flight.bytes = trunc(bytes); /* SimGrid sends only whole bytes */
    t->sent_s = dsgd_events_now_s();
    if (t->to < 0)
        t->to = mailbox->owner;
    if (t->to >= 0)
        fly(t);
    return t;
}

/** Starts to receive a message. Returns NULL if the mailbox is NULL. */
static dsgd_transfer *get(dsgd_mailbox *mailbox, void **place)
{
    if (mailbox == NULL)
        return NULL;
    dsgd_transfer *const t = meet(mailbox, false);
    t->place = place;
    const bool flies = t->to >= 0;
    t->to = self->host;
    if (t->arrived && place != NULL)
        *place = t->payload;
    if (t->from >= 0 && !flies)
        fly(t);
    return t;
}

/**
 * Returns whether the calling actor must wait until the transfers @p sent and @p received have
 * arrived. If so, it is woken when both have arrived. Either transfer may be NULL.
 */
static bool has_to_await(dsgd_transfer *sent, dsgd_transfer *received)
{
    if (sent != NULL && !sent->arrived) {
        sent->sender = self;
        sent->sender_waits = true;
        self->n_awaited++;
    }
    if (received != NULL && !received->arrived) {
        received->receiver = self;
        received->receiver_waits = true;
        self->n_awaited++;
    }
    return self->n_awaited > 0;
}

/**
 * Releases transfers that have arrived. @p started_s points to the time at which the calling actor
 * was ready; this time becomes the time at which both sides were ready.
 */
static void end_both(dsgd_transfer *sent, dsgd_transfer *received, double *started_s)
{
    if (sent != NULL)
        release(sent);
    if (received != NULL) {
        *started_s = dsgd_greater(*started_s, received->sent_s);
        release(received);
    }
}

static void wait_for(dsgd_transfer *sent, dsgd_transfer *received, double *started_s)
{
    if (has_to_await(sent, received))
        block();
    end_both(sent, received, started_s);
}

double dsgd_sendrecv(dsgd_mailbox *out, double out_bytes, dsgd_mailbox *in)
{
    double started_s = dsgd_events_now_s();
    dsgd_transfer *const sent = put(out, NULL, out_bytes);
    wait_for(sent, get(in, NULL), &started_s);
    return started_s;
}

void dsgd_mailbox_send(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    wait_for(put(mailbox, payload, bytes), NULL, &unused_s);
}

dsgd_transfer *dsgd_irecv(dsgd_mailbox *mailbox, void **payload)
{
    dsgd_transfer *const t = get(mailbox, payload);
    t->receiver = self;
    return t;
}

dsgd_transfer *dsgd_isend(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    dsgd_transfer *const t = put(mailbox, payload, bytes);
    t->sender = self;
    return t;
}

void dsgd_transfer_wait(dsgd_transfer *transfer)
{
    const bool mine = transfer->sender == self;
    DSGD_ASSERT(mine || transfer->receiver == self,
                "a transfer is awaited by another actor than its own");
    wait_for(mine ? transfer : NULL, mine ? NULL : transfer, &unused_s);
}

void dsgd_mailbox_send_detached(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    put(mailbox, payload, bytes)->n_holders--;
}

static void end_pass(dsgd_event *arrival)
{
    release(transfer_of(arrival));
}

void dsgd_pass_bytes(int from, int to, double bytes)
{
    dsgd_transfer *const t = new_transfer(end_pass);
    t->n_holders = 1;
    t->flight.bytes = trunc(bytes);
    dsgd_network_used->send(&t->flight, from, to);
}

void *dsgd_mailbox_recv(dsgd_mailbox *mailbox)
{
    void *payload = NULL;
    wait_for(NULL, get(mailbox, &payload), &unused_s);
    return payload;
}

/* --- step actors ------------------------------------------------------------------------------ */

/**
 * Starts to wait for a condition. Returns false if the condition is already true. Otherwise,
 * returns true, and the current actor is woken later.
 */
static bool has_to_wait(dsgd_await for_what)
{
    switch (for_what.kind) {
    case DSGD_AWAIT_POST:
        return has_to_queue(for_what.semaphore);
    case DSGD_AWAIT_SECONDS:
        set_alarm(for_what.amount);
        return true;
    case DSGD_AWAIT_FLOPS:
        compute(for_what.amount);
        return true;
    case DSGD_AWAIT_TRANSFER:
        self->received = for_what.transfer;
        return has_to_await(NULL, self->received);
    case DSGD_AWAIT_SENDRECV:
        self->started_s = for_what.exchange.started_s;
        *self->started_s = dsgd_events_now_s();
        self->sent = put(for_what.exchange.out, NULL, for_what.amount);
        self->received = get(for_what.exchange.in, NULL);
        return has_to_await(self->sent, self->received);
    default:
        return false;
    }
}

static void call_and_take_steps(void *argument)
{
    actor *const me = argument;
    me->call.call.function(me->call.call.argument);
    me->body(me->argument);
}

/** Releases the transfers that an actor waited for between two steps. */
static void end_wait(actor *a)
{
    if (a->sent == NULL && a->received == NULL)
        return;
    end_both(a->sent, a->received, a->started_s);
    a->sent = a->received = NULL;
    a->started_s = &unused_s;
}

void dsgd_await_here(dsgd_await await)
{
    if (await.kind == DSGD_AWAIT_CALL) {
        await.call.function(await.call.argument);
        return;
    }
    if (has_to_wait(await))
        block();
    end_wait(self);
}

/** Executes the steps of an actor that has a stack. Does not return. */
static void steps_main(void *steps)
{
    dsgd_steps *const mine = steps;
    for (;;)
        dsgd_await_here(mine->next(mine->argument));
}

/**
 * Executes the steps of an actor until the actor waits. Returns false if the actor needs a stack
 * from now on.
 */
static bool take_steps(actor *a)
{
    self = a;
    for (;;) {
        end_wait(a);
        const dsgd_await next = a->steps->next(a->steps->argument);
        if (next.kind == DSGD_AWAIT_CALL) {
            a->call = next;
            a->steps = NULL;
            dsgd_coroutine_open(&a->coroutine, call_and_take_steps, a);
            return false;
        }
        if (has_to_wait(next))
            return true;
    }
}

void dsgd_steps_start(int host, dsgd_steps *steps)
{
    actor *const a = new_actor(host, steps_main, steps);
    a->steps = steps;
    a->lane = steps->lane;
}

/* --- functions that start and end a run ------------------------------------------------------- */

/**
 * Starts a run. A process may simulate one run after another, so the state of the last run is
 * reset.
 */
void dsgd_runtime_open(const dsgd_network_ops *network)
{
    dsgd_network_used = network;
    dsgd_events_open();
    self = &main_actor;
    ended = false;
}

static struct {
    void (*body)(void *argument);
    void *argument;
} the_clock;

static void clock_main(void *nothing)
{
    (void)nothing;
    the_clock.body(the_clock.argument);
    ended = true;
}

bool dsgd_runtime_run(void (*clock)(void *argument), void *argument)
{
    the_clock.body = clock;
    the_clock.argument = argument;
    dsgd_actor_start(0, clock_main, NULL);
    if (dsgd_network_used->run != NULL)
        dsgd_network_used->run(block);
    else
        block();
    dsgd_coroutines_close();
    dsgd_events_close();
    if (dsgd_network_used->close != NULL)
        dsgd_network_used->close();
    for (struct block *next = NULL; blocks != NULL; blocks = next) {
        next = blocks->next;
        free(blocks);
    }
    left[0].n = left[1].n = 0;
    unused = NULL;
    ready = (queue){NULL, NULL};
    free(mailboxes.known);
    mailboxes.known = NULL;
    mailboxes.n = mailboxes.room = 0;
    return ended;
}
