/**
 * @file machine.c
 * From a platform to a cluster.
 */
#include "sim/network/machine.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/child.h"
#include "sim/network/placement.h"

/**
 * Places of the machine's hosts, which the caller frees, and how many hosts to write: at least the
 * machine's; of a shape of any size all that the placement lists.
 */
static dsgd_status find_places(const dsgd_machine *machine, int **places, int *n_hosts,
                               dsgd_error *error)
{
    const int n = machine->n_hosts;
    const int most = dsgd_platform_most_hosts(machine->platform);
    const bool given = dsgd_placement_is_given(&machine->placement);
    *n_hosts = most < DSGD_PLATFORM_ANY ? most : n;
    *places = NULL;
    if (*n_hosts < n)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "platform: size: %d hosts, but %d workers and servers need one each",
                         *n_hosts, n);
    *places = dsgd_xcalloc((size_t)n, sizeof **places);
    const dsgd_status status = dsgd_placement_places(
        &machine->placement, machine->seed, given ? most : *n_hosts, NULL, n, *places, error);
    for (int i = 0; status == DSGD_OK && i < n; i++)
        *n_hosts = (*places)[i] < *n_hosts ? *n_hosts : (*places)[i] + 1;
    return status;
}

dsgd_status dsgd_machine_check(const dsgd_machine *machine, dsgd_error *error)
{
    const dsgd_platform *const platform = machine->platform;
    const dsgd_status status = dsgd_platform_check(platform, error);
    if (status != DSGD_OK)
        return status;
    if (platform->topology == DSGD_TOPOLOGY_XML)
        return dsgd_cluster_probe(machine, error);
    int *places = NULL;
    int n_hosts = 0;
    const dsgd_status found = find_places(machine, &places, &n_hosts, error);
    free(places);
    return found;
}

dsgd_status dsgd_machine_open(const dsgd_machine *machine, dsgd_error *error)
{
    const dsgd_platform *const platform = machine->platform;
    if (platform->topology == DSGD_TOPOLOGY_XML)
        return dsgd_cluster_open(machine, platform->file, error);
    char *const path = dsgd_xprintf("%s/dsgd-%ld.xml", machine->scratch, (long)getpid());
    int *places = NULL;
    int n_hosts = 0;
    dsgd_status status = find_places(machine, &places, &n_hosts, error);
    const dsgd_platform_use use = {machine->n_hosts, places, machine->at_once};
    if (status == DSGD_OK)
        status = dsgd_platform_write(platform, n_hosts, &use, path, error);
    if (status == DSGD_OK)
        status = dsgd_cluster_open(machine, path, error);
    unlink(path);
    free(path);
    free(places);
    return status;
}

/* --- how long messages take ------------------------------------------------------------------- */

/** All messages of a measurement. */
typedef struct volley {
    const dsgd_machine *machine;
    const int *to;
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
    const int n_hosts = all->machine->n_hosts;
    shot *const shots = dsgd_xcalloc((size_t)n_hosts, sizeof *shots);
    all->semaphore = dsgd_semaphore_new();
    for (int i = 0; i < n_hosts; i++) {
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

static dsgd_status measure(const void *argument, void *seconds, dsgd_error *error)
{
    volley all = *(const volley *)argument;
    const dsgd_status status = dsgd_machine_open(all.machine, error);
    if (status == DSGD_OK)
        *(double *)seconds = time_here(&all);
    return status;
}

dsgd_status dsgd_machine_time(const dsgd_machine *machine, const int *to, double bytes,
                              double *seconds, dsgd_error *error)
{
    const volley all = {.machine = machine, .to = to, .bytes = bytes};
    return dsgd_in_child(measure, &all, seconds, sizeof *seconds,
                         "a measurement got no process, or its process died", error);
}
