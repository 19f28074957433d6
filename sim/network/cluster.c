/**
 * @file cluster.c
 * The cluster of a run: its hosts' places, its mailboxes by their ends, and calls of the network
 * that simulates it.
 */
#include "sim/network/cluster.h"

#include <stdlib.h>

#include "sim/network/network.h"

const char *const dsgd_network_names[] = {"flows", "nics", NULL};

static const dsgd_network *const networks[] = {
    [DSGD_NETWORK_FLOWS] = &dsgd_network_simgrid, [DSGD_NETWORK_NICS] = &dsgd_network_nics};

static const dsgd_network *network; /* of this process */
static int *places; /* [n_hosts] of those taken, among all */
static int at_once; /* of the machine */

const char *dsgd_network_version(int kind)
{
    return networks[kind]->version();
}

dsgd_network_kind dsgd_cluster_network(void)
{
    return network == &dsgd_network_nics ? DSGD_NETWORK_NICS : DSGD_NETWORK_FLOWS;
}

dsgd_status dsgd_cluster_open(const dsgd_machine *machine, int n_hosts, const char *path,
                              dsgd_error *error)
{
    network = networks[machine->network];
    at_once = machine->at_once;
    places = dsgd_xcalloc((size_t)machine->n_hosts, sizeof *places);
    return network->open(machine, n_hosts, path, places, error);
}

int dsgd_cluster_place(int host)
{
    return places[host];
}

/* --- mailboxes -------------------------------------------------------------------------------- */

/** Known mailboxes: to print a name and let SimGrid find it takes a tenth of a message's time. */
static struct {
    size_t n, room; /* a power of two */
    struct known_mailbox {
        uint64_t key; /* of from, to, port, channel; 0: free */
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
    /* 21 bits for a rank, 16 for a channel, the rest for the port, whose letters differ in 5. */
    const uint64_t key = (uint64_t)((unsigned char)port & 31) << 58 | (uint64_t)channel << 42 |
                         (uint64_t)to << 21 | (uint64_t)(from + 1);
    if (mailboxes.n > 0 && place_of(key)->key == key)
        return place_of(key)->mailbox;
    dsgd_mailbox *const mailbox = network->mailbox(from, to, port, channel);
    /* Only now, because the call above lets other actors insert. */
    if (2 * mailboxes.n >= mailboxes.room)
        grow_mailboxes();
    struct known_mailbox *const place = place_of(key);
    mailboxes.n += place->key == 0;
    *place = (struct known_mailbox){key, mailbox};
    return mailbox;
}

/* --- the run ---------------------------------------------------------------------------------- */

static struct {
    void (*body)(void *argument);
    bool returned;
} the_clock;

static void clock_main(void *argument)
{
    the_clock.body(argument);
    the_clock.returned = true;
}

bool dsgd_cluster_run(void (*clock)(void *argument), void *argument)
{
    the_clock.body = clock;
    network->start(0, "clock", false, clock_main, argument);
    network->run();
    free(places);
    places = NULL;
    free(mailboxes.known);
    mailboxes.known = NULL;
    mailboxes.n = mailboxes.room = 0;
    return the_clock.returned;
}

/* --- calls of the network --------------------------------------------------------------------- */

void dsgd_cluster_carry(int from, int to, double bytes)
{
    if (network->carry != NULL)
        network->carry(from, to, bytes);
}

size_t dsgd_cluster_loads(dsgd_load **loads)
{
    *loads = NULL;
    return network->loads == NULL ? 0 : network->loads(loads);
}

double dsgd_cluster_speed(int host)
{
    return network->speed(host);
}

void dsgd_actor_start(int host, const char *name, void (*body)(void *argument), void *argument)
{
    network->start(host, name, true, body, argument);
}

const void *dsgd_actor_self(void)
{
    return network->self();
}

double dsgd_now_s(void)
{
    return network->now_s();
}

void dsgd_sleep(double seconds)
{
    network->sleep(seconds);
}

dsgd_semaphore *dsgd_semaphore_new(void)
{
    return network->semaphore_new();
}

void dsgd_semaphore_free(dsgd_semaphore *semaphore)
{
    network->semaphore_free(semaphore);
}

void dsgd_semaphore_wait(dsgd_semaphore *semaphore)
{
    network->semaphore_wait(semaphore);
}

bool dsgd_semaphore_wait_for(dsgd_semaphore *semaphore, double seconds)
{
    return network->semaphore_wait_for(semaphore, seconds);
}

void dsgd_semaphore_post(dsgd_semaphore *semaphore)
{
    network->semaphore_post(semaphore);
}

void dsgd_mailbox_own(dsgd_mailbox *mailbox)
{
    network->own(mailbox);
}

double dsgd_sendrecv(dsgd_mailbox *out, double out_bytes, dsgd_mailbox *in)
{
    return network->sendrecv(out, out_bytes, in);
}

static void check_promise(double bytes)
{
    DSGD_ASSERT(at_once == 0 || bytes <= DSGD_NOTHING_BYTES,
                "%g bytes beside the messages that a host sends at once at most", bytes);
}

void dsgd_mailbox_send(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    check_promise(bytes);
    network->send(mailbox, payload, bytes);
}

dsgd_transfer *dsgd_irecv(dsgd_mailbox *mailbox, void **payload)
{
    return network->irecv(mailbox, payload);
}

void dsgd_transfer_wait(dsgd_transfer *transfer)
{
    network->wait(transfer);
}

void dsgd_mailbox_send_detached(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    check_promise(bytes);
    network->send_detached(mailbox, payload, bytes);
}

void *dsgd_mailbox_recv(dsgd_mailbox *mailbox)
{
    return network->recv(mailbox);
}

/* --- actors in steps -------------------------------------------------------------------------- */

void dsgd_await_here(dsgd_await await)
{
    switch (await.kind) {
    case DSGD_AWAIT_NOTHING:
        break;
    case DSGD_AWAIT_POST:
        network->semaphore_wait(await.semaphore);
        break;
    case DSGD_AWAIT_SECONDS:
        network->sleep(await.amount);
        break;
    case DSGD_AWAIT_FLOPS:
        network->compute(await.amount);
        break;
    case DSGD_AWAIT_TRANSFER:
        network->wait(await.transfer);
        break;
    case DSGD_AWAIT_SENDRECV:
        *await.exchange.started_s =
            network->sendrecv(await.exchange.out, await.amount, await.exchange.in);
        break;
    case DSGD_AWAIT_CALL:
        await.call.function(await.call.argument);
        break;
    }
}

/** Takes the steps on a stack; does not return. */
static void steps_main(void *steps)
{
    dsgd_steps *const mine = steps;
    for (;;)
        dsgd_await_here(mine->next(mine->argument));
}

void dsgd_steps_start(int host, const char *name, dsgd_steps *steps)
{
    if (network->start_steps != NULL)
        network->start_steps(host, steps, steps_main);
    else
        network->start(host, name, true, steps_main, steps);
}
