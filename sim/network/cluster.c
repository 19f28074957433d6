/**
 * @file cluster.c
 * The layer over SimGrid, whose C interface is the same in 3.32 (Debian 12) and 4.0 (Debian 13) for
 * the functions used here.
 *
 * The network model is CM02 without TCP's window limit and without cross-traffic: SimGrid's default
 * (LV08) multiplies latencies by 13, for the Internet, and would lengthen two-way exchanges by 5 %.
 */
#include "sim/network/cluster.h"

#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <simgrid/mailbox.h>
#include <simgrid/semaphore.h>
#include <simgrid/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "sim/network/placement.h"

static sg_host_t *hosts; /* [n_hosts] taken */
static int *places; /* [n_hosts], of these among all */
static dsgd_machine opened;

const char *dsgd_simgrid_version(void)
{
    static char text[64];
    int major = 0;
    int minor = 0;
    int patch = 0;
    sg_version_get(&major, &minor, &patch);
    snprintf(text, sizeof text, "SimGrid %d.%d.%d, CM02, TCP-gamma 0, crosstraffic 0", major, minor,
             patch);
    return text;
}

/** Known mailboxes: to print a name and find it takes a tenth of a message's time. */
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

static void initialise(void)
{
    static char options[][48] = {
        "dsgd",
        "--cfg=network/model:CM02",
        "--cfg=network/TCP-gamma:0",
        "--cfg=network/crosstraffic:0",
#ifdef __SANITIZE_ADDRESS__
        "--cfg=contexts/factory:thread", /* the sanitizer cannot follow raw stack switches */
#else
        "--cfg=contexts/stack-size:128", /* KiB; there are several actors per worker */
#endif
        "--log=root.thres:critical",
        "--log=ker_engine.app:file:/dev/null", /* deadlocks: run.c says who waits for whom */
    };
    enum { COUNT = sizeof options / sizeof options[0] };
    static char *arguments[COUNT + 1];
    for (size_t i = 0; i < COUNT; i++)
        arguments[i] = options[i];
    int count = COUNT;
    simgrid_init(&count, arguments);
}

static int by_natural_name(const void *a, const void *b)
{
    return strverscmp(sg_host_get_name(*(const sg_host_t *)a),
                      sg_host_get_name(*(const sg_host_t *)b));
}

/** All hosts in natural order; the caller frees them. */
static sg_host_t *all_hosts(size_t *n)
{
    *n = sg_host_count();
    /* sg_host_list() is in lexicographic order: n0 n1 n10 n100. */
    sg_host_t *const all = sg_host_list();
    qsort(all, *n, sizeof(sg_host_t), by_natural_name);
    return all;
}

/** Applies the hosts' qualities to the links that SimGrid has made. */
static void change_links(const dsgd_platform *platform)
{
    sg_link_t *const links = sg_link_list();
    bool any = false;
    for (size_t i = 0; i < sg_link_count(); i++) {
        dsgd_host_quality q;
        if (!dsgd_platform_link(platform, sg_link_get_name(links[i]), &q))
            continue;
        any = true;
        if (q.bandwidth != 1)
            sg_link_set_bandwidth(links[i], sg_link_get_bandwidth(links[i]) * q.bandwidth);
        if (q.latency_s != 0)
            sg_link_set_latency(links[i], sg_link_get_latency(links[i]) + q.latency_s);
    }
    free(links);
    DSGD_ASSERT(any, "this SimGrid calls the links of hosts by other names");
}

dsgd_status dsgd_cluster_open(const dsgd_machine *machine, const char *path, dsgd_error *error)
{
    const int n_hosts = machine->n_hosts;
    opened = *machine;
    initialise();
    simgrid_load_platform(path);
    size_t count = 0;
    sg_host_t *const all = all_hosts(&count);
    if (count < (size_t)n_hosts) {
        free(all);
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: the platform has %zu hosts, but %d workers and servers need one each",
                         path, count, n_hosts);
    }
    const char **const names = dsgd_xcalloc(count, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = sg_host_get_name(all[i]);
    hosts = dsgd_xcalloc((size_t)n_hosts, sizeof *hosts);
    places = dsgd_xcalloc((size_t)n_hosts, sizeof *places);
    const dsgd_status status = dsgd_placement_places(&machine->placement, machine->seed, (int)count,
                                                     names, n_hosts, places, error);
    for (int i = 0; status == DSGD_OK && i < n_hosts; i++)
        hosts[i] = all[places[i]];
    if (status == DSGD_OK && dsgd_platform_has_links_to_change(machine->platform))
        change_links(machine->platform);
    free(names);
    free(all);
    return status;
}

static dsgd_status try_to_open(const void *argument, void *nothing, dsgd_error *error)
{
    (void)nothing;
    const dsgd_machine *const machine = argument;
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(1);
    return dsgd_cluster_open(machine, machine->platform->file, error);
}

dsgd_status dsgd_cluster_probe(const dsgd_machine *machine, dsgd_error *error)
{
    const char *const path = machine->platform->file;
    if (access(path, R_OK) != 0)
        return dsgd_fail(error, DSGD_EIO, "%s: the platform file cannot be read: %m", path);
    char *const died = dsgd_xprintf("%s: SimGrid cannot load this platform; `xmllint --valid` or "
                                    "SimGrid's own examples help",
                                    path);
    char nothing = 0;
    const dsgd_status status = dsgd_in_child(try_to_open, machine, &nothing, 0, died, error);
    free(died);
    return status;
}

int dsgd_cluster_place(int host)
{
    return places[host];
}

dsgd_path dsgd_cluster_path(int from, int to)
{
    return (dsgd_path){sg_host_get_route_latency(hosts[from], hosts[to]),
                       sg_host_get_route_bandwidth(hosts[from], hosts[to])};
}

bool dsgd_cluster_meets_at_nics(const int *some, int n)
{
    const dsgd_platform_use use = {opened.n_hosts, places, opened.at_once};
    return dsgd_platform_meets_at_nics(opened.platform, &use, some, n);
}

double dsgd_cluster_speed(int host)
{
    return sg_host_get_speed(hosts[host]);
}

/** SimGrid hands actors argc and argv; ours get a function and its argument. */
typedef struct actor_start {
    void (*body)(void *argument);
    void *argument;
    bool *returned; /* NULL: a daemon */
} actor_start;

static void actor_main(int count, char *arguments[])
{
    (void)count;
    (void)arguments;
    actor_start *start = sg_actor_get_data(sg_actor_self());
    const actor_start copy = *start;
    free(start);
    copy.body(copy.argument);
    if (copy.returned != NULL)
        *copy.returned = true;
}

static sg_actor_t start_actor(int host, const char *name, actor_start of)
{
    actor_start *start = dsgd_xcalloc(1, sizeof *start);
    *start = of;
    sg_actor_t actor = sg_actor_init(name, hosts[host]);
    sg_actor_set_data(actor, start);
    sg_actor_start_(actor, actor_main, 0, NULL);
    return actor;
}

void dsgd_actor_start(int host, const char *name, void (*body)(void *argument), void *argument)
{
    sg_actor_daemonize(start_actor(host, name, (actor_start){body, argument, NULL}));
}

const void *dsgd_actor_self(void)
{
    return sg_actor_self();
}

bool dsgd_cluster_run(void (*clock)(void *argument), void *argument)
{
    bool returned = false;
    start_actor(0, "clock",
                (actor_start){clock, argument, &returned}); /* the one that is no daemon */
    /* On a deadlock SimGrid returns normally. */
    simgrid_run();
    free(hosts);
    free(places);
    hosts = NULL;
    places = NULL;
    free(mailboxes.known);
    mailboxes.known = NULL;
    mailboxes.n = mailboxes.room = 0;
    return returned;
}

double dsgd_now_s(void)
{
    return simgrid_get_clock();
}

void dsgd_sleep(double seconds)
{
    sg_actor_sleep_for(seconds);
}

void dsgd_compute(double flops)
{
    sg_actor_execute(flops);
}

dsgd_semaphore *dsgd_semaphore_new(void)
{
    return (dsgd_semaphore *)sg_sem_init(0);
}

void dsgd_semaphore_free(dsgd_semaphore *semaphore)
{
    sg_sem_destroy((sg_sem_t)semaphore);
}

void dsgd_semaphore_wait(dsgd_semaphore *semaphore)
{
    sg_sem_acquire((sg_sem_t)semaphore);
}

bool dsgd_semaphore_wait_for(dsgd_semaphore *semaphore, double seconds)
{
    return sg_sem_acquire_timeout((sg_sem_t)semaphore, seconds) == 0;
}

void dsgd_semaphore_post(dsgd_semaphore *semaphore)
{
    sg_sem_release((sg_sem_t)semaphore);
}

dsgd_mailbox *dsgd_mailbox_of(int from, int to, dsgd_port port, int channel)
{
    /* 24 bits for a rank, 7 for a channel (DSGD_MAX_CHANNELS), the rest for the port. */
    const uint64_t key = (uint64_t)(unsigned char)port << 55 | (uint64_t)channel << 48 |
                         (uint64_t)to << 24 | (uint64_t)(from + 1);
    if (mailboxes.n > 0 && place_of(key)->key == key)
        return place_of(key)->mailbox;
    char name[60];
    snprintf(name, sizeof name, "%c%d:%d<%d", (char)port, channel, to, from);
    dsgd_mailbox *const mailbox = (dsgd_mailbox *)sg_mailbox_by_name(name);
    /* Only now, because the call above lets other actors insert. */
    if (2 * mailboxes.n >= mailboxes.room)
        grow_mailboxes();
    struct known_mailbox *const place = place_of(key);
    mailboxes.n += place->key == 0;
    *place = (struct known_mailbox){key, mailbox};
    return mailbox;
}

void dsgd_mailbox_own(dsgd_mailbox *mailbox)
{
    sg_mailbox_set_receiver(sg_mailbox_get_name((sg_mailbox_t)mailbox));
}

/** The payload is the time of sending, negated: SimGrid refuses the payload NULL, which is 0.0. */
static void *payload_of_time(double sent_s)
{
    const double negative = -sent_s;
    void *payload = NULL;
    _Static_assert(sizeof payload == sizeof negative, "a pointer holds a double");
    memcpy(&payload, &negative, sizeof payload);
    return payload;
}

static double time_of_payload(void *payload)
{
    double negative = 0;
    memcpy(&negative, &payload, sizeof negative);
    return -negative;
}

double dsgd_sendrecv(dsgd_mailbox *out, double out_bytes, dsgd_mailbox *in)
{
    const double sent_s = simgrid_get_clock();
    double started_s = sent_s;
    sg_comm_t put = NULL;
    if (out != NULL)
        put = sg_mailbox_put_async((sg_mailbox_t)out, payload_of_time(sent_s), (long)out_bytes);
    if (in != NULL) {
        void *payload = NULL;
        sg_comm_wait(sg_mailbox_get_async((sg_mailbox_t)in, &payload));
        const double peer_s = time_of_payload(payload);
        if (peer_s > started_s)
            started_s = peer_s;
    }
    if (put != NULL)
        sg_comm_wait(put);
    return started_s;
}

/** So many bytes travel in less than SimGrid's precision, and do not count as a message at once. */
static const double nothing_bytes = 8;

static void check_promise(double bytes)
{
    DSGD_ASSERT(opened.at_once == 0 || bytes <= nothing_bytes,
                "%g bytes beside the messages that a host sends at once at most", bytes);
}

void dsgd_send(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    check_promise(bytes);
    sg_mailbox_put((sg_mailbox_t)mailbox, payload, (long)bytes);
}

dsgd_transfer *dsgd_irecv(dsgd_mailbox *mailbox, void **payload)
{
    return (dsgd_transfer *)sg_mailbox_get_async((sg_mailbox_t)mailbox, payload);
}

void dsgd_transfer_wait(dsgd_transfer *transfer)
{
    sg_comm_wait((sg_comm_t)transfer);
}

void dsgd_send_detached(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    check_promise(bytes);
    sg_comm_detach(sg_mailbox_put_init((sg_mailbox_t)mailbox, payload, (long)bytes), NULL);
}

void *dsgd_recv(dsgd_mailbox *mailbox)
{
    return sg_mailbox_get((sg_mailbox_t)mailbox);
}
