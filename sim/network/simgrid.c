/**
 * @file simgrid.c
 * Implements the network `simgrid`: SimGrid computes the times of messages and computations. All
 * functions used in this file are the same in the C interfaces of SimGrid 3.32 (Debian 12) and 4.0
 * (Debian 13).
 *
 * The network model is CM02, without the window limit of TCP and without cross-traffic. The default
 * model of SimGrid (LV08) is meant for the Internet. It multiplies latencies by 13, and would make
 * exchanges in both directions 5 % longer.
 *
 * A process has only one cluster of SimGrid, which exists until the program ends. The network
 * `flows` uses SimGrid only for the links and routes of XML files.
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

static sg_host_t *hosts; /* [n_taken] host of SimGrid for each host of the run */
static int n_taken;
static sg_link_t *links; /* [n_links] all links; SimGrid stores the number of each link, from 1,
                          * as its data */
static size_t n_links; /* number of links; 0 if there is no SimGrid cluster */

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

static void initialise(void)
{
    static char options[][48] = {
        "dsgd",
        "--cfg=network/model:CM02",
        "--cfg=network/TCP-gamma:0",
        "--cfg=network/crosstraffic:0",
        "--cfg=network/optim:Full",
        "--cfg=surf/precision:1e-12",
#if defined(DSGD_ADDRESS_SANITIZER) || defined(DSGD_THREAD_SANITIZER)
        "--cfg=contexts/factory:thread", /* Each actor gets a thread, because sanitizers cannot
                                          * follow raw stack switches. */
#else
        "--cfg=contexts/stack-size:128", /* stack size of an actor in KiB */
#endif
        "--log=root.thres:critical",
        "--log=ker_engine.app:file:/dev/null", /* SimGrid's deadlock messages are not logged,
                                                * because run.c reports deadlocks */
        "--cfg=contexts/guard-size:0", /* no guard pages: a guard page would split a memory mapping,
                                        * and a process has a limited number of mappings */
    };
    enum { COUNT = sizeof options / sizeof options[0] };
    static char *arguments[COUNT + 1];
    for (size_t i = 0; i < COUNT; i++)
        arguments[i] = options[i];
    int count = COUNT;
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

/**
 * Returns all hosts, and stores their number in *n. Call it only once, because SimGrid sorts the
 * hosts in each call.
 */
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

/**
 * Applies the qualities of hosts to the links that SimGrid has made. In a user's file, multiplies
 * bandwidths and latencies by the factors of a what-if study instead.
 */
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

/**
 * Rejects values in a user's file that SimGrid accepts but cannot simulate: SimGrid would abort, or
 * messages would take no time or endless time.
 */
static dsgd_status check_values(const char *file, dsgd_error *error)
{
    size_t n_hosts = 0;
    for (size_t i = 0; i < n_links; i++) {
        const char *const name = sg_link_get_name(links[i]);
        const double bandwidth = sg_link_get_bandwidth(links[i]);
        const double latency = sg_link_get_latency(links[i]);
        if (!is_positive(bandwidth))
            return dsgd_refuse(
                error, "%s: the bandwidth of link %s must be greater than 0 and finite, got %g B/s",
                file, name, bandwidth);
        if (!(latency >= 0 && isfinite(latency)))
            return dsgd_refuse(error,
                               "%s: the latency of link %s must be at least 0 and finite, got %g s",
                               file, name, latency);
    }
    sg_host_t *const all = hosts_of_all(&n_hosts);
    for (size_t i = 0; i < n_hosts; i++)
        if (!is_positive(sg_host_get_speed(all[i])))
            return dsgd_refuse(
                error, "%s: the speed of host %s must be greater than 0 and finite, got %g flop/s",
                file, sg_host_get_name(all[i]), sg_host_get_speed(all[i]));
    return DSGD_OK;
}

dsgd_status dsgd_simgrid_check(dsgd_error *error)
{
    (void)error;
    return DSGD_OK;
}

static dsgd_status open(const dsgd_machine *machine, int n_written, const char *path, int *places,
                        void *(*take)(size_t bytes), dsgd_error *error)
{
    (void)n_written;
    (void)take;
    const int n_hosts = machine->n_hosts;
    initialise();
    simgrid_load_platform(path);
    number_links();
    const dsgd_shape *const shape = dsgd_shape_of(machine->platform);
    const bool is_users = !shape->has_numbers;
    DSGD_TRY(is_users ? check_values(path, error) : DSGD_OK);
    size_t count = 0;
    /* SimGrid sorts the names of hosts as texts: n0 n1 n10 n100 */
    sg_host_t *const all = hosts_of_all(&count);
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
    n_taken = n_hosts;
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

/**
 * Returns the REASON of a line of the form "[0.01] ./src/x.cpp:40: [root/CRITICAL] Uncaught
 * exception simgrid::E by a: REASON".
 */
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

#pragma GCC diagnostic push
/*
 * This warning is ignored, because SimGrid 3 does not have the function that SimGrid 4 recommends
 * instead.
 */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

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

/* --- messages and computations ---------------------------------------------------------------- */

/*
 * One actor of SimGrid, called the driver, runs runtime.c with all of its actors. The driver sends
 * every message itself, and moves to the sender's host to do so. A carrier is an actor on the
 * receiver's host that waits for a message. A processor is an actor that computes on its host.
 */

static struct {
    sg_actor_t actor;
    int host;
    size_t n_under_way; /* number of messages and computations that have not ended */
    sg_sem_t ends; /* semaphore that is released when a message or a computation ends while the
                    * driver waits */
    bool waits, has_ended; /* waits: true if the driver waits. has_ended: true if a message or a
                            * computation has ended since the wait started */
    void (*loop)(void);
} driver;

typedef struct carrier {
    struct carrier *next; /* next idle carrier on the same host */
    int host;
    bool listens; /* true if messages can be sent to this carrier */
    sg_mailbox_t mailbox;
} carrier;

static carrier **idle; /* [n_taken] list of the idle carriers on each host */

typedef struct processor {
    sg_sem_t begins;
    double flops;
    dsgd_event *end; /* event at the end of the computation; NULL if the processor is idle */
} processor;

static processor **processors; /* [n_taken] processor of each host; NULL before the first
                                * computation on the host */

static sg_actor_t start_actor(int host, void (*body)(int count, char *arguments[]), void *data)
{
    const sg_actor_t actor = sg_actor_init("", hosts[host]);
    sg_actor_set_data(actor, data);
    sg_actor_start_(actor, body, 0, NULL);
    return actor;
}

static void plan_now(dsgd_event *end)
{
    driver.n_under_way--;
    driver.has_ended = true;
    dsgd_event_plan(end, simgrid_get_clock());
    if (!driver.waits)
        return;
    driver.waits = false;
    sg_sem_release(driver.ends);
}

/**
 * Waits for a message. Stops the program if the message is lost, because a link in the user's file
 * is switched off by its `state_file`.
 */
static void await(sg_comm_t message)
{
    if (sg_comm_wait(message) != SG_OK)
        dsgd_give_up("a link in the platform's file fails, by its profile, and a message is lost: "
                     "leave out its state_file, or slow it by a bandwidth_file");
}

static void carry(int count, char *arguments[])
{
    (void)count;
    (void)arguments;
    carrier *const me = sg_actor_get_data(sg_actor_self());
    void *payload = NULL;
    sg_comm_t message = sg_mailbox_get_async(me->mailbox, &payload);
    me->listens = true;
    for (;;) {
        await(message);
        dsgd_flight *const flight = payload;
        /* The carrier receives again before another actor can send to it. */
        message = sg_mailbox_get_async(me->mailbox, &payload);
        me->next = idle[me->host];
        idle[me->host] = me;
        plan_now(&flight->arrival);
    }
}

static carrier *new_carrier(int host)
{
    char name[32];
    static size_t n;
    carrier *const new = dsgd_keep(1, sizeof *new);
    snprintf(name, sizeof name, "%zu", n++);
    *new = (carrier){.host = host, .mailbox = sg_mailbox_by_name(name)};
    sg_actor_daemonize(start_actor(host, carry, new));
    while (!new->listens)
        sg_actor_yield();
    return new;
}

static void send(dsgd_flight *flight, int from, int to)
{
    carrier *by = idle[to];
    if (by == NULL)
        by = new_carrier(to);
    else
        idle[to] = by->next;
    if (driver.host != from)
        sg_actor_set_host(driver.actor, hosts[from]);
    driver.host = from;
    driver.n_under_way++;
    sg_comm_detach(sg_mailbox_put_init(by->mailbox, flight, (int64_t)flight->bytes), NULL);
}

static void process(int count, char *arguments[])
{
    (void)count;
    (void)arguments;
    processor *const me = sg_actor_get_data(sg_actor_self());
    for (;;) {
        sg_sem_acquire(me->begins);
        sg_actor_execute(me->flops);
        dsgd_event *const end = me->end;
        me->end = NULL;
        plan_now(end);
    }
}

static void destroy_semaphore(void *semaphore)
{
    sg_sem_destroy(semaphore);
}

static sg_sem_t new_semaphore(void)
{
    const sg_sem_t new = sg_sem_init(0);
    dsgd_keep_for(destroy_semaphore, new);
    return new;
}

static void compute(dsgd_event *end, int host, double flops)
{
    processor *p = processors[host];
    if (p == NULL) {
        p = processors[host] = dsgd_keep(1, sizeof *p);
        p->begins = new_semaphore();
        sg_actor_daemonize(start_actor(host, process, p));
    }
    DSGD_ASSERT(p->end == NULL, "host %d computes twice at once", host);
    p->end = end;
    p->flops = flops;
    driver.n_under_way++;
    sg_sem_release(p->begins);
}

static bool advance(double until_s)
{
    if (driver.n_under_way == 0 && until_s == INFINITY)
        return false;
    driver.has_ended = false;
    for (double left_s = 0; !driver.has_ended && (left_s = until_s - simgrid_get_clock()) > 0;) {
        driver.waits = true;
        if (left_s == INFINITY)
            sg_sem_acquire(driver.ends);
        else
            sg_sem_acquire_timeout(driver.ends, left_s);
        driver.waits = false;
    }
    sg_actor_yield(); /* lets other carriers run if their messages arrive at this instant */
    return true;
}

static void drive(int count, char *arguments[])
{
    (void)count;
    (void)arguments;
    driver.loop();
}

/** Runs the driver. After a deadlock, SimGrid returns normally. */
static void run(void (*loop)(void))
{
    idle = dsgd_keep((size_t)n_taken, sizeof(carrier *));
    processors = dsgd_keep((size_t)n_taken, sizeof(processor *));
    driver.loop = loop;
    driver.host = 0;
    driver.ends = new_semaphore();
    driver.actor = start_actor(0, drive, NULL);
    simgrid_run();
}

const dsgd_network_ops dsgd_network_simgrid = {.version = version,
                                               .open = open,
                                               .speed = speed,
                                               .route = route,
                                               .send = send,
                                               .compute = compute,
                                               .run = run,
                                               .advance = advance};
