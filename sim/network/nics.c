/**
 * @file nics.c
 * The cluster without SimGrid, for scale: actors are coroutines, messages take the times of
 * links.c, and all that happens later is an event.
 *
 * A fluid model with contention at NICs (and ways into islands) alone. It shares with LogGP
 * (Alexandrov et al., "LogGP: incorporating long messages into the LogP model", SPAA 1995) a
 * latency and a time per byte for each pair, and processors' overheads, which the exchanges spend
 * by dsgd_sleep(); but a message shares a busy NIC at once, where LogGP's waits for its turn and a
 * gap.
 *
 * An actor that blocks looks for the next one itself: it lets events happen until an actor is
 * ready, and switches to it; if that is itself, it just goes on. Of an actor in steps it takes the
 * next step meanwhile, on its own stack. All events of one time happen before an actor runs, as in
 * SimGrid: of workers that act at one time none uses what another made at that time.
 */
#include "base/round.h"
#include "sim/network/cluster.h"
#include "sim/network/coroutine.h"
#include "sim/network/events.h"
#include "sim/network/links.h"
#include "sim/network/simgrid.h"

static const char *version(void)
{
    return "nics: latency by pair, shared NICs, no contention behind them";
}

static const char *version_of_maxmin(void)
{
    return "maxmin: latency by pair, max-min shares of all links";
}

/* --- memory of the run ------------------------------------------------------------------------ */

enum { BLOCK_BYTES = 1 << 18, LINE_BYTES = 64 /* of a cache */ };

/** Memory that is taken in parts, and freed as a whole. */
static struct block {
    struct block *next;
    char memory[];
} * blocks;

/**
 * What is left of the newest blocks, of parts smaller than a line and of parts that begin at one.
 */
static struct {
    char *memory;
    size_t n; /* bytes */
} left[2];

/** Zeroed memory until the end of the run, for a struct whose members are as wide as a pointer at
 * most. */
static void *take(size_t size)
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

/** A step of an actor in steps reads the first line. */
typedef struct actor {
    dsgd_event alarm; /* first: ends a sleep, or a wait for a limited time */
    struct actor *next; /* in a queue */
    dsgd_steps *steps; /* it has no stack yet; else NULL */
    dsgd_semaphore *awaited; /* NULL: none, or it came */
    dsgd_transfer *sent, *received; /* awaited between two steps, or NULL */
    int n_awaited; /* transfers */
    int host, lane;

    double *started_s; /* of both */
    bool daemon;
    dsgd_coroutine coroutine;
    void (*body)(void *argument);
    void *argument;
    dsgd_await call; /* with which it gets a stack */
} actor;

/** First come, first served. */
typedef struct queue {
    actor *first, *last;
} queue;

static actor main_actor; /* what runs the simulation */
static actor *self = &main_actor;
static queue ready;
static bool ended;
static double unused_s; /* when messages began, where nobody asks */

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

/** The next to run: main, when the simulation is over or nothing can happen. */
static actor *next_actor(void)
{
    for (;;) {
        while (!ended && ready.first == NULL)
            if (!dsgd_events_next())
                return &main_actor;
        if (ended)
            return &main_actor;
        actor *const first = take_first(&ready);
        if (first->steps == NULL || !take_steps(first))
            return first;
    }
}

/** Until somebody appends the caller to `ready`. */
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
    if (a->awaited != NULL) /* now: an actor is in one queue at a time */
        leave(&a->awaited->waiting, a);
    append(&ready, a);
}

static void actor_main(void *argument)
{
    actor *const me = argument;
    me->body(me->argument);
    ended = ended || !me->daemon;
    self = next_actor();
    dsgd_coroutine_end(&me->coroutine, &self->coroutine);
}

static actor *new_actor(int host, bool daemon, void (*body)(void *argument), void *argument)
{
    actor *const a = take(sizeof *a);
    *a = (actor){.alarm = {.happen = wake},
                 .host = host,
                 .daemon = daemon,
                 .body = body,
                 .argument = argument,
                 .started_s = &unused_s};
    append(&ready, a);
    return a;
}

static void start(int host, const char *name, bool daemon, void (*body)(void *argument),
                  void *argument)
{
    (void)name;
    actor *const a = new_actor(host, daemon, body, argument);
    dsgd_coroutine_open(&a->coroutine, actor_main, a);
}

static const void *current_actor(void)
{
    return self;
}

static void set_alarm(double seconds)
{
    dsgd_event_plan(&self->alarm, dsgd_events_now_s() + dsgd_greater(seconds, 0));
}

static void sleep_for(double seconds)
{
    set_alarm(seconds);
    block();
}

static void use_lane(int lane)
{
    self->lane = lane;
}

static bool simgrids_hosts; /* which an XML file may give speeds of their own */

static double speed(int host)
{
    return simgrids_hosts ? dsgd_simulator_simgrid.speed(host) : dsgd_platform_nominal_flops;
}

/** One actor of a host computes: no processor is shared. */
static void compute(double flops)
{
    sleep_for(flops / speed(self->host));
}

/* --- semaphores ------------------------------------------------------------------------------- */

static dsgd_semaphore *semaphore_new(void)
{
    return take(sizeof(dsgd_semaphore));
}

/** Whether the caller has to wait, in the queue: unless the count is above 0, which it takes. */
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

static void acquire(dsgd_semaphore *semaphore)
{
    if (has_to_queue(semaphore))
        block();
}

static void semaphore_post(dsgd_semaphore *semaphore)
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

static bool semaphore_wait_for(dsgd_semaphore *semaphore, double seconds)
{
    actor *const me = self;
    set_alarm(seconds);
    acquire(semaphore);
    dsgd_event_cancel(&me->alarm);
    const bool acquired = me->awaited == NULL;
    me->awaited = NULL;
    return acquired;
}

/* --- mailboxes and transfers ------------------------------------------------------------------ */

/** Of a message, from its sending or receiving on, whichever is first. */
struct dsgd_transfer {
    struct dsgd_transfer *next; /* in its mailbox */
    actor *sender, *receiver; /* who waits for the arrival, or may */
    bool sender_waits, receiver_waits, arrived;
    int n_holders; /* ends that have yet to see its end */
    int from, to; /* hosts; -1: not known yet */
    int lane; /* the sender's */
    double sent_s;
    void *payload, **place; /* place: where the receiver wants the payload, or NULL */
    dsgd_flight flight; /* last, with a flow in max-min shares alone */
};

struct dsgd_mailbox {
    dsgd_transfer *first, *last; /* either sent and not received, or the other way round */
    int owner; /* host; -1: none */
};

static size_t transfer_bytes; /* of this run */
static dsgd_transfer *unused; /* taken before */

static dsgd_mailbox *new_mailbox(int from, int to, dsgd_port port, int channel)
{
    (void)from;
    (void)to;
    (void)port;
    (void)channel;
    dsgd_mailbox *const mailbox = take(sizeof *mailbox);
    *mailbox = (dsgd_mailbox){.owner = -1};
    return mailbox;
}

static void own(dsgd_mailbox *mailbox)
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
    dsgd_transfer *const t = unused != NULL ? unused : take(transfer_bytes);
    unused = t->next;
    struct dsgd_room *const room = t->flight.room;
    memset(t, 0, transfer_bytes);
    t->flight.room = room;
    t->flight.arrival.happen = happen;
    return t;
}

/** The first transfer to which the other end has come, or a new one, to which it comes later. */
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
        dsgd_flight_begin(&t->flight, t->from, t->to);
    else
        dsgd_flight_begin(&t->flight, dsgd_cluster_host(t->from, t->lane),
                          dsgd_cluster_host(t->to, t->lane));
}

/** Begins to send; nothing by the mailbox NULL. */
static dsgd_transfer *put(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    if (mailbox == NULL)
        return NULL;
    dsgd_transfer *const t = meet(mailbox, true);
    t->from = self->host;
    t->lane = self->lane;
    t->payload = payload;
    t->flight.bytes = trunc(bytes); /* whole ones, as SimGrid sends them */
    t->sent_s = dsgd_events_now_s();
    if (t->to < 0)
        t->to = mailbox->owner;
    if (t->to >= 0)
        fly(t);
    return t;
}

/** Begins to receive; nothing by the mailbox NULL. */
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

/** Whether the caller has to wait until both have arrived, when it is woken; either may be NULL. */
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

/** Frees what has arrived; *started_s, when the caller was ready, becomes when both ends were. */
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

static double sendrecv(dsgd_mailbox *out, double out_bytes, dsgd_mailbox *in)
{
    double started_s = dsgd_events_now_s();
    dsgd_transfer *const sent = put(out, NULL, out_bytes);
    wait_for(sent, get(in, NULL), &started_s);
    return started_s;
}

static void send_message(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    wait_for(put(mailbox, payload, bytes), NULL, &unused_s);
}

static dsgd_transfer *irecv(dsgd_mailbox *mailbox, void **payload)
{
    dsgd_transfer *const t = get(mailbox, payload);
    t->receiver = self;
    return t;
}

static dsgd_transfer *isend(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    dsgd_transfer *const t = put(mailbox, payload, bytes);
    t->sender = self;
    return t;
}

static void transfer_wait(dsgd_transfer *transfer)
{
    const bool mine = transfer->sender == self;
    DSGD_ASSERT(mine || transfer->receiver == self,
                "a transfer is awaited by another actor than its own");
    wait_for(mine ? transfer : NULL, mine ? NULL : transfer, &unused_s);
}

static void send_detached(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    put(mailbox, payload, bytes)->n_holders--;
}

static void end_pass(dsgd_event *arrival)
{
    release(transfer_of(arrival));
}

static void pass_bytes(int from, int to, double bytes)
{
    dsgd_transfer *const t = new_transfer(end_pass);
    t->n_holders = 1;
    t->flight.bytes = trunc(bytes);
    dsgd_flight_begin(&t->flight, from, to);
}

static void *receive(dsgd_mailbox *mailbox)
{
    void *payload = NULL;
    wait_for(NULL, get(mailbox, &payload), &unused_s);
    return payload;
}

/* --- actors in steps -------------------------------------------------------------------------- */

/** Whether it has to wait, for which it is woken. */
static bool has_to_wait(actor *a, dsgd_await for_what)
{
    switch (for_what.kind) {
    case DSGD_AWAIT_POST:
        return has_to_queue(for_what.semaphore);
    case DSGD_AWAIT_SECONDS:
        set_alarm(for_what.amount);
        return true;
    case DSGD_AWAIT_FLOPS:
        set_alarm(for_what.amount / speed(a->host));
        return true;
    case DSGD_AWAIT_TRANSFER:
        a->received = for_what.transfer;
        return has_to_await(NULL, a->received);
    case DSGD_AWAIT_SENDRECV:
        a->started_s = for_what.exchange.started_s;
        *a->started_s = dsgd_events_now_s();
        a->sent = put(for_what.exchange.out, NULL, for_what.amount);
        a->received = get(for_what.exchange.in, NULL);
        return has_to_await(a->sent, a->received);
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

/** Until it waits. False: it is to run on a stack from now on. */
static bool take_steps(actor *a)
{
    self = a;
    for (;;) {
        if (a->sent != NULL || a->received != NULL) {
            end_both(a->sent, a->received, a->started_s);
            a->sent = a->received = NULL;
            a->started_s = &unused_s;
        }
        const dsgd_await next = a->steps->next(a->steps->argument);
        if (next.kind == DSGD_AWAIT_CALL) {
            a->call = next;
            a->steps = NULL;
            dsgd_coroutine_open(&a->coroutine, call_and_take_steps, a);
            return false;
        }
        if (has_to_wait(a, next))
            return true;
    }
}

static void start_steps(int host, dsgd_steps *steps, void (*on_a_stack)(void *steps))
{
    actor *const a = new_actor(host, true, on_a_stack, steps);
    a->steps = steps;
    a->lane = steps->lane;
}

/* --- the run ---------------------------------------------------------------------------------- */

/** One run after another may be in a process. */
static void begin(size_t size_of_transfer)
{
    dsgd_events_open();
    ended = simgrids_hosts = false;
    transfer_bytes = size_of_transfer;
}

static dsgd_status open_links(const dsgd_machine *machine, int n_hosts, int *places, bool maxmin,
                              dsgd_error *error)
{
    DSGD_TRY(dsgd_placement_places(machine, n_hosts, NULL, places, error));
    dsgd_links_open(machine, places, maxmin ? take : NULL);
    begin(sizeof(dsgd_transfer) - (maxmin ? 0 : sizeof(dsgd_flow)));
    return DSGD_OK;
}

static dsgd_status open_each(const dsgd_machine *machine, int n_hosts, const char *none,
                             int *places, dsgd_error *error)
{
    (void)none;
    return open_links(machine, n_hosts, places, false, error);
}

static dsgd_status open_maxmin(const dsgd_machine *machine, int n_hosts, const char *path,
                               int *places, dsgd_error *error)
{
    if (path == NULL)
        return open_links(machine, n_hosts, places, true, error);
    DSGD_TRY(dsgd_simgrid_open(machine, n_hosts, path, places, error));
    dsgd_links_open_simgrids(take);
    begin(sizeof(dsgd_transfer));
    simgrids_hosts = true;
    return DSGD_OK;
}

static void run(void)
{
    block();
    dsgd_coroutines_close();
    dsgd_events_close();
    dsgd_links_close();
    for (struct block *next = NULL; blocks != NULL; blocks = next) {
        next = blocks->next;
        free(blocks);
    }
    left[0].n = left[1].n = 0;
    unused = NULL;
    ready = (queue){NULL, NULL};
}

#define OWN_NETWORK                                                                                \
    .speed = speed, .route = dsgd_links_route, .slow = dsgd_links_slow, .start = start,            \
    .start_steps = start_steps, .use_lane = use_lane, .pass_bytes = pass_bytes,                    \
    .self = current_actor, .run = run, .now_s = dsgd_events_now_s, .sleep = sleep_for,             \
    .compute = compute, .semaphore_new = semaphore_new, .semaphore_wait = acquire,                 \
    .semaphore_wait_for = semaphore_wait_for, .semaphore_post = semaphore_post,                    \
    .mailbox = new_mailbox, .own = own, .sendrecv = sendrecv, .send = send_message,                \
    .irecv = irecv, .isend = isend, .wait = transfer_wait, .send_detached = send_detached,         \
    .recv = receive

const dsgd_simulator dsgd_simulator_nics = {.version = version, .open = open_each, OWN_NETWORK};
const dsgd_simulator dsgd_simulator_maxmin = {
    .version = version_of_maxmin, .open = open_maxmin, OWN_NETWORK};
