/**
 * @file machine.c
 * From a platform to a cluster.
 */
#include "sim/network/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "sim/network/paths.h"
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

/* --- a user's file ---------------------------------------------------------------------------- */

/** Every host sends a byte to others, for what SimGrid finds missing then: routes, gateways, ... */
typedef struct greeting {
    int n_hosts, under_way;
    dsgd_semaphore *semaphore;
} greeting;

typedef struct greeter {
    greeting *all;
    int host;
} greeter;

/** Up to so many hosts each sends to each, else to those at distances that are powers of two. */
enum { MOST_PAIRED_HOSTS = 32 };

static void greet(void *argument)
{
    const greeter *const g = argument;
    const int n = g->all->n_hosts;
    for (int k = 1; k < n; k += n <= MOST_PAIRED_HOSTS ? 1 : k) {
        const int to = (g->host + k) % n, from = (g->host + n - k) % n;
        dsgd_sendrecv(dsgd_mailbox_of(g->host, to, DSGD_PORT_MEASUREMENT, 0), 1,
                      dsgd_mailbox_of(from, g->host, DSGD_PORT_MEASUREMENT, 0));
    }
    if (--g->all->under_way == 0)
        dsgd_semaphore_post(g->all->semaphore);
}

static void wait_for_greetings(void *argument)
{
    dsgd_semaphore_wait(((greeting *)argument)->semaphore);
}

static dsgd_status try_messages(const dsgd_machine *machine, dsgd_error *error)
{
    greeting all = {machine->n_hosts, machine->n_hosts, dsgd_semaphore_new()};
    greeter *const greeters = dsgd_xcalloc((size_t)machine->n_hosts, sizeof *greeters);
    for (int i = 0; i < machine->n_hosts; i++) {
        greeters[i] = (greeter){&all, i};
        dsgd_actor_start(i, "greeter", greet, &greeters[i]);
    }
    dsgd_cluster_run(wait_for_greetings, &all);
    free(greeters);
    return all.under_way == 0
               ? DSGD_OK
               : dsgd_fail(error, DSGD_EUSAGE, "%s: %d of %d hosts never get a byte from others",
                           machine->platform->file, all.under_way, machine->n_hosts);
}

/** What a child process tries, and where it says why SimGrid ended it. */
typedef struct trial {
    const dsgd_machine *machine;
    FILE *words;
} trial;

static dsgd_status try_to_open(const void *argument, void *nothing, dsgd_error *error)
{
    (void)nothing;
    const trial *const t = argument;
    dsgd_machine machine = *t->machine;
    machine.actors_per_host = 1;
    machine.one_at_a_time = false;
    if (dup2(fileno(t->words), STDERR_FILENO) < 0)
        _exit(1);
    const dsgd_status status = dsgd_cluster_open(&machine, 0, machine.platform->file, error);
    return status == DSGD_OK ? try_messages(&machine, error) : status;
}

/** Why SimGrid ended a process that wrote such words; NULL: it did not say. To be freed. */
static char *reason_in(FILE *words)
{
    char *line = NULL, *reason = NULL;
    size_t room = 0;
    rewind(words);
    while (reason == NULL && dsgd_read_line(words, &line, &room)) {
        const char *const text = dsgd_cluster_reason(line);
        if (text != NULL)
            reason = dsgd_xprintf("%.*s", (int)strcspn(text, "\n"), text);
    }
    free(line);
    return reason;
}

/** Opens the user's file in a child process: SimGrid ends the process on what it does not like. */
static dsgd_status probe(const dsgd_machine *machine, dsgd_error *error)
{
    const char *const path = machine->platform->file;
    if (machine->network == DSGD_NETWORK_NICS)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "network: nics takes NICs and latencies from a platform's numbers, but "
                         "%s is XML, which SimGrid alone reads; use network: flows",
                         path);
    if (access(path, R_OK) != 0)
        return dsgd_fail(error, DSGD_EIO, "%s: the platform file cannot be read: %m", path);
    const trial t = {machine, tmpfile()};
    if (t.words == NULL)
        return dsgd_fail(error, DSGD_EIO, "no temporary file can be made: %m");
    char nothing = 0;
    dsgd_status status = dsgd_in_child(try_to_open, &t, &nothing, 0, path, error);
    char *const reason = status == DSGD_EIO ? reason_in(t.words) : NULL;
    if (reason != NULL)
        status = dsgd_fail(error, DSGD_EUSAGE, "%s: SimGrid: %s", path, reason);
    else if (status == DSGD_EIO)
        status = dsgd_fail(error, DSGD_EIO,
                           "%s: SimGrid cannot load this platform; `xmllint "
                           "--valid` or SimGrid's own examples help",
                           path);
    fclose(t.words);
    free(reason);
    return status;
}

/* --- the cluster of a run --------------------------------------------------------------------- */

dsgd_status dsgd_machine_check(const dsgd_machine *machine, dsgd_error *error)
{
    const dsgd_platform *const platform = machine->platform;
    const dsgd_status status = dsgd_platform_check(platform, error);
    if (status != DSGD_OK)
        return status;
    if (platform->topology == DSGD_TOPOLOGY_XML)
        return probe(machine, error);
    int *places = NULL;
    int n_hosts = 0;
    const dsgd_status found = find_places(machine, &places, &n_hosts, error);
    free(places);
    return found;
}

/** Opens the cluster by an XML file in memory: of a run that is killed none stays. */
static dsgd_status open_written(const dsgd_machine *machine, const int *places, int n_hosts,
                                dsgd_error *error)
{
    const int file = memfd_create("platform", MFD_CLOEXEC);
    if (file < 0)
        return dsgd_fail(error, DSGD_EIO, "no file in memory can be made for the platform: %m");
    char *const path = dsgd_xprintf("/proc/self/fd/%d", file);
    const dsgd_platform_use use = {machine->n_hosts, places, machine->at_once};
    dsgd_status status = dsgd_platform_write(machine->platform, n_hosts, &use, path, error);
    if (status == DSGD_OK)
        status = dsgd_cluster_open(machine, n_hosts, path, error);
    close(file);
    free(path);
    return status;
}

dsgd_status dsgd_machine_open(const dsgd_machine *machine, dsgd_error *error)
{
    const dsgd_platform *const platform = machine->platform;
    dsgd_machine opened = *machine;
    opened.one_at_a_time = false;
    if (platform->topology == DSGD_TOPOLOGY_XML)
        return dsgd_cluster_open(&opened, 0, platform->file, error);
    int *places = NULL;
    int n_hosts = 0;
    dsgd_status status = find_places(machine, &places, &n_hosts, error);
    /* Then nics, which is faster, takes the times of flows. */
    opened.one_at_a_time = status == DSGD_OK && machine->one_at_a_time &&
                           dsgd_paths_are_apart(platform, machine->n_hosts, places);
    if (opened.one_at_a_time)
        opened.network = DSGD_NETWORK_NICS;
    if (status == DSGD_OK)
        status = opened.network == DSGD_NETWORK_NICS
                     ? dsgd_cluster_open(&opened, n_hosts, NULL, error)
                     : open_written(&opened, places, n_hosts, error);
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
    dsgd_machine machine = *all.machine;
    machine.one_at_a_time = false;
    machine.actors_per_host = 2; /* sender, receiver */
    const dsgd_status status = dsgd_machine_open(&machine, error);
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
