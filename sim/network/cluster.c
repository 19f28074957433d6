/**
 * @file cluster.c
 * The cluster of a run: its hosts' places, its mailboxes by their ends, its actors in steps.
 */
#include "sim/network/cluster.h"

const char *const dsgd_network_names[] = {"flows", "nics", NULL};

const dsgd_simulator *const dsgd_simulators[] = {
    [DSGD_NETWORK_FLOWS] = &dsgd_simulator_simgrid, [DSGD_NETWORK_NICS] = &dsgd_simulator_nics};
const dsgd_simulator *dsgd_simulator_used;

static int *places; /* [n_hosts] of the hosts that are taken, among all */

dsgd_status dsgd_cluster_open(const dsgd_machine *machine, int n_hosts, const char *path,
                              dsgd_error *error)
{
    dsgd_simulator_used =
        machine->maxmin ? &dsgd_simulator_maxmin : dsgd_simulators[machine->network];
    places = dsgd_xcalloc((size_t)machine->n_hosts, sizeof *places);
    dsgd_placement_open(machine);
    return dsgd_simulator_used->open(machine, n_hosts, path, places, error);
}

const int *dsgd_cluster_places(void)
{
    return places;
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
    struct known_mailbox *place = mailboxes.n > 0 ? place_of(key) : NULL;
    if (place != NULL && place->key == key)
        return place->mailbox;
    dsgd_mailbox *const mailbox = dsgd_simulator_used->mailbox(from, to, port, channel);
    /* Only now, because the call above lets other actors insert. */
    if (2 * mailboxes.n >= mailboxes.room)
        grow_mailboxes();
    place = place_of(key);
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
    the_clock.returned = false;
    dsgd_simulator_used->start(0, "clock", false, clock_main, argument);
    dsgd_simulator_used->run();
    free(places);
    places = NULL;
    free(mailboxes.known);
    mailboxes.known = NULL;
    mailboxes.n = mailboxes.room = 0;
    return the_clock.returned;
}

/* --- calls of the network --------------------------------------------------------------------- */

void dsgd_actor_start(int host, const char *name, void (*body)(void *argument), void *argument)
{
    dsgd_simulator_used->start(host, name, true, body, argument);
}

/* --- actors in steps -------------------------------------------------------------------------- */

void dsgd_await_here(dsgd_await await)
{
    switch (await.kind) {
    case DSGD_AWAIT_NOTHING:
        break;
    case DSGD_AWAIT_POST:
        dsgd_simulator_used->semaphore_wait(await.semaphore);
        break;
    case DSGD_AWAIT_SECONDS:
        dsgd_simulator_used->sleep(await.amount);
        break;
    case DSGD_AWAIT_FLOPS:
        dsgd_simulator_used->compute(await.amount);
        break;
    case DSGD_AWAIT_TRANSFER:
        dsgd_simulator_used->wait(await.transfer);
        break;
    case DSGD_AWAIT_SENDRECV:
        *await.exchange.started_s =
            dsgd_simulator_used->sendrecv(await.exchange.out, await.amount, await.exchange.in);
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
    if (dsgd_simulator_used->start_steps != NULL)
        dsgd_simulator_used->start_steps(host, steps, steps_main);
    else
        dsgd_simulator_used->start(host, name, true, steps_main, steps);
}
