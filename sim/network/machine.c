/**
 * @file machine.c
 * From a platform to a cluster.
 */
#include "sim/network/machine.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/child.h"
#include "sim/network/cluster.h"
#include "sim/network/placement.h"

/** Hosts to write, at least the machine's: of a shape of any size all that the placement lists. */
static dsgd_status count_hosts(const dsgd_machine *machine, int *n_hosts, dsgd_error *error)
{
    const int n = machine->n_hosts;
    const int most = dsgd_platform_most_hosts(machine->platform);
    const bool given = dsgd_placement_is_given(&machine->placement);
    *n_hosts = most < DSGD_PLATFORM_ANY ? most : n;
    if (*n_hosts < n)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "platform: size: %d hosts, but %d workers and servers need one each",
                         *n_hosts, n);
    int *const places = dsgd_xcalloc((size_t)n, sizeof *places);
    const dsgd_status status = dsgd_placement_places(
        &machine->placement, machine->seed, given ? most : *n_hosts, NULL, n, places, error);
    for (int i = 0; status == DSGD_OK && i < n; i++)
        *n_hosts = places[i] < *n_hosts ? *n_hosts : places[i] + 1;
    free(places);
    return status;
}

dsgd_status dsgd_machine_check(const dsgd_machine *machine, dsgd_error *error)
{
    const dsgd_platform *const platform = machine->platform;
    const dsgd_status status = dsgd_platform_check(platform, error);
    int n_hosts = 0;
    if (status != DSGD_OK)
        return status;
    if (platform->topology != DSGD_TOPOLOGY_XML)
        return count_hosts(machine, &n_hosts, error);
    return dsgd_cluster_probe(platform->file, machine->n_hosts, &machine->placement, machine->seed,
                              error);
}

/** Links to change. */
typedef struct changes {
    const dsgd_platform *platform;
    size_t n;
} changes;

static void change_link(void *argument, const char *name, double *bytes_per_s, double *latency_s)
{
    changes *const c = argument;
    dsgd_host_quality q;
    if (!dsgd_platform_link(c->platform, name, &q))
        return;
    *bytes_per_s *= q.bandwidth;
    *latency_s += q.latency_s;
    c->n++;
}

/** Applies the hosts' qualities to their links. */
static void change_links(const dsgd_platform *platform)
{
    changes c = {platform, 0};
    if (!dsgd_platform_has_links_to_change(platform))
        return;
    dsgd_cluster_each_link(change_link, &c);
    DSGD_ASSERT(c.n > 0, "this SimGrid calls the links of hosts by other names");
}

static dsgd_status load(const dsgd_machine *machine, const char *path, dsgd_error *error)
{
    return dsgd_cluster_open(path, machine->n_hosts, &machine->placement, machine->seed, error);
}

dsgd_status dsgd_machine_open(const dsgd_machine *machine, dsgd_error *error)
{
    const dsgd_platform *const platform = machine->platform;
    if (platform->topology == DSGD_TOPOLOGY_XML)
        return load(machine, platform->file, error);
    char *const path = dsgd_xprintf("%s/dsgd-%ld.xml", machine->scratch, (long)getpid());
    int n_hosts = 0;
    dsgd_status status = count_hosts(machine, &n_hosts, error);
    if (status == DSGD_OK)
        status = dsgd_platform_write(platform, n_hosts, path, error);
    if (status == DSGD_OK)
        status = load(machine, path, error);
    if (status == DSGD_OK)
        change_links(platform);
    unlink(path);
    free(path);
    return status;
}

/* --- how long messages take ------------------------------------------------------------------- */

/** All messages of a measurement. */
typedef struct volley {
    const int *to;
    int n_hosts;
    double bytes, arrived_s;
    int under_way;
    dsgd_semaphore *semaphore;
} volley;

typedef struct shot {
    volley *all;
    int from, to;
} shot;

static void send_shot(void *argument)
{
    const shot *const s = argument;
    dsgd_sendrecv(dsgd_mailbox_of(s->from, s->to, DSGD_PORT_MEASUREMENT, 0), s->all->bytes, NULL);
}

static void receive_shot(void *argument)
{
    const shot *const s = argument;
    dsgd_sendrecv(NULL, 0, dsgd_mailbox_of(s->from, s->to, DSGD_PORT_MEASUREMENT, 0));
    s->all->arrived_s = dsgd_now_s();
    if (--s->all->under_way == 0)
        dsgd_semaphore_post(s->all->semaphore);
}

static void wait_for_all(void *argument)
{
    dsgd_semaphore_wait(((volley *)argument)->semaphore);
}

static double time_here(volley *all)
{
    shot *const shots = dsgd_xcalloc((size_t)all->n_hosts, sizeof *shots);
    all->semaphore = dsgd_semaphore_new();
    for (int i = 0; i < all->n_hosts; i++) {
        if (all->to[i] < 0)
            continue;
        shots[i] = (shot){all, i, all->to[i]};
        all->under_way++;
        dsgd_actor_start(i, "sender", send_shot, &shots[i]);
        dsgd_actor_start(all->to[i], "receiver", receive_shot, &shots[i]);
    }
    if (all->under_way > 0)
        dsgd_cluster_run(wait_for_all, all);
    free(shots);
    return all->arrived_s;
}

/** Arguments of dsgd_machine_time(). */
typedef struct measurement {
    const dsgd_machine *machine;
    const int *to;
    double bytes;
} measurement;

static dsgd_status measure(const void *argument, void *seconds, dsgd_error *error)
{
    const measurement *const m = argument;
    volley all = {.to = m->to, .n_hosts = m->machine->n_hosts, .bytes = m->bytes};
    const dsgd_status status = dsgd_machine_open(m->machine, error);
    if (status == DSGD_OK)
        *(double *)seconds = time_here(&all);
    return status;
}

dsgd_status dsgd_machine_time(const dsgd_machine *machine, const int *to, double bytes,
                              double *seconds, dsgd_error *error)
{
    const measurement m = {machine, to, bytes};
    return dsgd_in_child(measure, &m, seconds, sizeof *seconds,
                         "a measurement got no process, or its process died", error);
}
