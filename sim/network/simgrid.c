/**
 * @file simgrid.c
 * The layer over SimGrid, whose C interface is the same in 3.32 (Debian 12) and 4.0 (Debian 13) for
 * the functions used here.
 *
 * The network model is CM02 without TCP's window limit and without cross-traffic: SimGrid's default
 * (LV08) multiplies latencies by 13, for the Internet, and would lengthen two-way exchanges by 5 %.
 *
 * There is one cluster of SimGrid per process: it is kept until the program ends. Where maxmin.c
 * times the messages, it only says which links there are and which a route has.
 */
#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <simgrid/mailbox.h>
#include <simgrid/semaphore.h>
#include <simgrid/version.h>
#include <xbt/dynar.h>

#include "base/sanitizers.h"
#include "sim/network/simgrid.h"
#include "traces/shapes/shape.h"

static sg_host_t *hosts; /* [machine->n_hosts] */
static sg_link_t *links; /* [n_links] all, each with its number, from 1 on, as data */
static size_t n_links; /* 0: there is no cluster */

static const char *version(void)
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

/** Whether the kernel lets every actor's stack have a page under it that catches overflows. */
static bool guard_pages_fit(double n_actors)
{
    int64_t n_mappings = 65530; /* Linux's default */
    FILE *const stream = fopen("/proc/sys/vm/max_map_count", "r");
    if (stream != NULL && fscanf(stream, "%jd", &n_mappings) != 1)
        n_mappings = 65530;
    if (stream != NULL)
        fclose(stream);
    const double others = 5000; /* libraries, heap */
    return 2 * n_actors + others < (double)n_mappings;
}

static void initialise(double n_actors)
{
    static char options[][48] = {
        "dsgd",
        "--cfg=network/model:CM02",
        "--cfg=network/TCP-gamma:0",
        "--cfg=network/crosstraffic:0",
        "--cfg=network/optim:Full",
        "--cfg=surf/precision:1e-12",
#if defined(DSGD_ADDRESS_SANITIZER) || defined(DSGD_THREAD_SANITIZER)
        "--cfg=contexts/factory:thread", /* sanitizers cannot follow raw stack switches */
#else
        "--cfg=contexts/stack-size:128", /* KiB; there are several actors per worker */
#endif
        "--log=root.thres:critical",
        "--log=ker_engine.app:file:/dev/null", /* deadlocks: run.c says who waits for whom */
        "--cfg=contexts/guard-size:0", /* last: not always */
    };
    enum { COUNT = sizeof options / sizeof options[0] };
    static char *arguments[COUNT + 1];
    for (size_t i = 0; i < COUNT; i++)
        arguments[i] = options[i];
    int count = guard_pages_fit(n_actors) ? COUNT - 1 : COUNT;
    arguments[count] = NULL;
    simgrid_init(&count, arguments);
}

static void number_links(void)
{
    links = sg_link_list();
    n_links = sg_link_count();
    dsgd_keep_for(free, links);
    for (size_t i = 0; i < n_links; i++)
        sg_link_set_data(links[i], (void *)(i + 1));
}

/** All hosts, and how many they are: for each count SimGrid sorts them. */
static sg_host_t *hosts_of_all(size_t *n)
{
    sg_host_t *const all = sg_host_list();
    *n = sg_host_count();
    dsgd_keep_for(free, all);
    return all;
}

static int by_natural_name(const void *a, const void *b)
{
    return strverscmp(sg_host_get_name(*(const sg_host_t *)a),
                      sg_host_get_name(*(const sg_host_t *)b));
}

/** Applies the hosts' qualities to the links that SimGrid has made; to a user's another speed, for
 * what-if. */
static void change_links(const dsgd_platform *platform, bool is_users)
{
    bool any = false;
    for (size_t i = 0; i < n_links; i++) {
        const double bandwidth = sg_link_get_bandwidth(links[i]);
        const double latency = sg_link_get_latency(links[i]);
        const dsgd_shape *const shape = dsgd_shape_of(platform);
        int host[2];
        const int n_hosts =
            is_users ? 0 : shape->hosts_of_link(platform, sg_link_get_name(links[i]), host);
        if (is_users) {
            sg_link_set_bandwidth(links[i], bandwidth * platform->file_links.bandwidth);
            sg_link_set_latency(links[i], latency * platform->file_links.latency);
        } else if (n_hosts > 0) {
            const dsgd_host_quality q = dsgd_platform_host(platform, host[0]),
                                    r = dsgd_platform_host(platform, host[n_hosts - 1]);
            any = true;
            sg_link_set_bandwidth(links[i], bandwidth * fmin(q.bandwidth, r.bandwidth));
            sg_link_set_latency(links[i], latency + fmax(q.latency_s, r.latency_s));
        }
    }
    DSGD_ASSERT(any || is_users, "this SimGrid calls the links of hosts by other names");
}

static bool is_positive(double value)
{
    return value > 0 && isfinite(value);
}

/** Refuses values that SimGrid loads, and with which it then dies, or takes no or endless time. */
static dsgd_status check_values(const char *file, dsgd_error *error)
{
    size_t n_hosts = 0;
    for (size_t i = 0; i < n_links; i++) {
        const char *const name = sg_link_get_name(links[i]);
        const double bandwidth = sg_link_get_bandwidth(links[i]);
        const double latency = sg_link_get_latency(links[i]);
        if (!is_positive(bandwidth))
            return dsgd_refuse(
                error, "%s: bandwidth of link %s is %g B/s, but has to be above 0 and finite", file,
                name, bandwidth);
        if (!(latency >= 0 && isfinite(latency)))
            return dsgd_refuse(
                error, "%s: latency of link %s is %g s, but has to be 0 or more, and finite", file,
                name, latency);
    }
    sg_host_t *const all = hosts_of_all(&n_hosts);
    for (size_t i = 0; i < n_hosts; i++)
        if (!is_positive(sg_host_get_speed(all[i])))
            return dsgd_refuse(
                error, "%s: speed of host %s is %g flop/s, but has to be above 0 and finite", file,
                sg_host_get_name(all[i]), sg_host_get_speed(all[i]));
    return DSGD_OK;
}

dsgd_status dsgd_simgrid_open(const dsgd_machine *machine, int n_written, const char *path,
                              int *places, dsgd_error *error)
{
    (void)n_written;
    const int n_hosts = machine->n_hosts;
    initialise((double)machine->actors_per_host * n_hosts);
    simgrid_load_platform(path);
    number_links();
    const dsgd_shape *const shape = dsgd_shape_of(machine->platform);
    const bool is_users = !shape->has_numbers;
    DSGD_TRY(is_users ? check_values(path, error) : DSGD_OK);
    size_t count = 0;
    sg_host_t *const all = hosts_of_all(&count); /* in lexicographic order: n0 n1 n10 n100 */
    qsort(all, count, sizeof *all, by_natural_name);
    if (count < (size_t)n_hosts)
        return dsgd_refuse(
            error, "%s: the platform has %zu hosts, but %d workers and servers need one each", path,
            count, n_hosts);
    const char **const names = dsgd_keep(count, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = sg_host_get_name(all[i]);
    DSGD_TRY(dsgd_placement_places(machine, (int)count, names, places, error));
    hosts = dsgd_keep((size_t)n_hosts, sizeof *hosts);
    for (int i = 0; i < n_hosts; i++)
        hosts[i] = all[places[i]];
    if (is_users ? machine->platform->file_links.scaled
                 : shape->hosts_of_link != NULL && machine->platform->hosts.n > 0)
        change_links(machine->platform, is_users);
    return DSGD_OK;
}

static double speed(int host)
{
    return sg_host_get_speed(hosts[host]);
}

static dsgd_route route(int from, int to)
{
    return (dsgd_route){sg_host_get_route_latency(hosts[from], hosts[to]),
                        sg_host_get_route_bandwidth(hosts[from], hosts[to])};
}

/** "[0.01] ./src/x.cpp:40: [root/CRITICAL] Uncaught exception simgrid::E by a: REASON" */
const char *dsgd_cluster_reason(const char *line)
{
    static const char critical[] = "/CRITICAL] ", uncaught[] = "Uncaught exception ";
    const char *reason = strstr(line, critical);
    if (reason == NULL || strstr(reason, "Backtrace") != NULL)
        return NULL;
    reason += strlen(critical);
    const char *const colon = strncmp(reason, uncaught, strlen(uncaught)) == 0
                                  ? strstr(reason + strlen(uncaught), ": ")
                                  : NULL;
    return colon == NULL ? reason : colon + 2;
}

/* --- links and routes ------------------------------------------------------------------------- */

double *dsgd_simgrid_bandwidths(size_t *n)
{
    double *const all = dsgd_xcalloc(n_links + 1, sizeof *all);
    *n = n_links;
    for (size_t i = 0; i < n_links; i++)
        all[i] = sg_link_get_bandwidth(links[i]);
    return all;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* SimGrid 4's other is not in 3 */

const size_t *dsgd_simgrid_route(int from, int to, size_t *n, double *latency_s)
{
    static xbt_dynar_t route;
    static size_t *numbers, room;
    if (route == NULL)
        route = xbt_dynar_new(sizeof(sg_link_t), NULL);
    xbt_dynar_reset(route);
    sg_host_get_route(hosts[from], hosts[to], route);
    *n = xbt_dynar_length(route);
    if (*n > room)
        numbers = dsgd_xrealloc(numbers, room = *n, sizeof *numbers);
    *latency_s = 0;
    for (size_t k = 0; k < *n; k++) {
        sg_link_t link = NULL;
        xbt_dynar_get_cpy(route, k, &link);
        numbers[k] = (size_t)sg_link_get_data(link) - 1;
        *latency_s += sg_link_get_latency(link);
    }
    return numbers;
}

#pragma GCC diagnostic pop

size_t dsgd_simgrid_links(dsgd_load **loads)
{
    *loads = dsgd_xcalloc(n_links + 1, sizeof **loads);
    for (size_t i = 0; i < n_links; i++)
        (*loads)[i] = (dsgd_load){.link = dsgd_xstrdup(sg_link_get_name(links[i])),
                                  .bytes_per_s = sg_link_get_bandwidth(links[i])};
    return n_links;
}

/* --- actors, time, semaphores, mailboxes ------------------------------------------------------ */

/** SimGrid hands actors argc and argv; ours get a function and its argument. */
typedef struct actor_start {
    void (*body)(void *argument);
    void *argument;
} actor_start;

static void actor_main(int count, char *arguments[])
{
    (void)count;
    (void)arguments;
    const actor_start *const start = sg_actor_get_data(sg_actor_self());
    start->body(start->argument);
}

static void start_actor(int host, const char *name, bool daemon, void (*body)(void *argument),
                        void *argument)
{
    actor_start *const start = dsgd_keep(1, sizeof *start);
    *start = (actor_start){body, argument};
    sg_actor_t actor = sg_actor_init(name, hosts[host]);
    sg_actor_set_data(actor, start);
    sg_actor_start_(actor, actor_main, 0, NULL);
    if (daemon)
        sg_actor_daemonize(actor);
}

static void use_lane(int lane)
{
    DSGD_ASSERT(lane == 0, "SimGrid's actors have no lane %d", lane);
}

static const void *self(void)
{
    return sg_actor_self();
}

static void destroy_semaphore(void *semaphore)
{
    sg_sem_destroy(semaphore);
}

static dsgd_semaphore *semaphore_new(void)
{
    const sg_sem_t semaphore = sg_sem_init(0);
    dsgd_keep_for(destroy_semaphore, semaphore);
    return (dsgd_semaphore *)semaphore;
}

static void semaphore_wait(dsgd_semaphore *semaphore)
{
    sg_sem_acquire((sg_sem_t)semaphore);
}

static bool semaphore_wait_for(dsgd_semaphore *semaphore, double seconds)
{
    return sg_sem_acquire_timeout((sg_sem_t)semaphore, seconds) == 0;
}

static void semaphore_post(dsgd_semaphore *semaphore)
{
    sg_sem_release((sg_sem_t)semaphore);
}

static dsgd_mailbox *mailbox_with(int from, int to, dsgd_port port, int channel)
{
    char name[60];
    snprintf(name, sizeof name, "%c%d:%d<%d", (char)port, channel, to, from);
    return (dsgd_mailbox *)sg_mailbox_by_name(name);
}

static void own_mailbox(dsgd_mailbox *mailbox)
{
    sg_mailbox_set_receiver(sg_mailbox_get_name((sg_mailbox_t)mailbox));
}

/* --- messages --------------------------------------------------------------------------------- */

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

/** Waits for a transfer; a link of the user's file may be off, by its `state_file`. */
static void await(sg_comm_t transfer)
{
    if (sg_comm_wait(transfer) != SG_OK)
        dsgd_give_up("a link in the platform's file fails, by its profile, and a message is lost: "
                     "leave out its state_file, or slow it by a bandwidth_file");
}

static double sendrecv(dsgd_mailbox *out, double out_bytes, dsgd_mailbox *in)
{
    const double sent_s = simgrid_get_clock();
    double started_s = sent_s;
    sg_comm_t put = NULL;
    if (out != NULL)
        put = sg_mailbox_put_async((sg_mailbox_t)out, payload_of_time(sent_s), (int64_t)out_bytes);
    if (in != NULL) {
        void *payload = NULL;
        await(sg_mailbox_get_async((sg_mailbox_t)in, &payload));
        const double peer_s = time_of_payload(payload);
        if (peer_s > started_s)
            started_s = peer_s;
    }
    if (put != NULL)
        await(put);
    return started_s;
}

static void send_message(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    await(sg_mailbox_put_async((sg_mailbox_t)mailbox, payload, (int64_t)bytes));
}

static dsgd_transfer *irecv(dsgd_mailbox *mailbox, void **payload)
{
    return (dsgd_transfer *)sg_mailbox_get_async((sg_mailbox_t)mailbox, payload);
}

static dsgd_transfer *isend(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    return (dsgd_transfer *)sg_mailbox_put_async((sg_mailbox_t)mailbox, payload, (int64_t)bytes);
}

static void transfer_wait(dsgd_transfer *transfer)
{
    await((sg_comm_t)transfer);
}

static void send_detached(dsgd_mailbox *mailbox, void *payload, double bytes)
{
    sg_comm_detach(sg_mailbox_put_init((sg_mailbox_t)mailbox, payload, (int64_t)bytes), NULL);
}

static void *receive(dsgd_mailbox *mailbox)
{
    void *payload = NULL;
    await(sg_mailbox_get_async((sg_mailbox_t)mailbox, &payload));
    return payload;
}

const dsgd_simulator dsgd_simulator_simgrid = {
    .version = version,
    .open = dsgd_simgrid_open,
    .speed = speed,
    .route = route,
    .start = start_actor,
    .use_lane = use_lane,
    .self = self,
    .run = simgrid_run, /* on a deadlock it returns normally */
    .now_s = simgrid_get_clock,
    .sleep = sg_actor_sleep_for,
    .compute = sg_actor_execute,
    .semaphore_new = semaphore_new,
    .semaphore_wait = semaphore_wait,
    .semaphore_wait_for = semaphore_wait_for,
    .semaphore_post = semaphore_post,
    .mailbox = mailbox_with,
    .own = own_mailbox,
    .sendrecv = sendrecv,
    .send = send_message,
    .irecv = irecv,
    .isend = isend,
    .wait = transfer_wait,
    .send_detached = send_detached,
    .recv = receive,
};
