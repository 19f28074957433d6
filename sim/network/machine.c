/**
 * @file machine.c
 * Opens the cluster of a platform, checks the platform, and measures messages on it.
 */
#include "sim/network/machine.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "sim/network/simgrid.h"

/**
 * Stores the places of the machine's hosts in *places, and the number of hosts of the platform in
 * *n_hosts. If a platform can have any number of hosts, it gets enough hosts for all places.
 */
static dsgd_status find_places(const dsgd_machine *machine, int **places, int *n_hosts,
                               dsgd_error *error)
{
    const int n = machine->n_hosts;
    const int most = dsgd_platform_most_hosts(machine->platform);
    const bool given = dsgd_placement_is_given(&machine->placement);
    const int n_there = machine->platform->n_there, there = given || n_there == 0 ? most : n_there;
    *n_hosts = most < DSGD_PLATFORM_ANY ? most : n;
    if (there < n)
        return dsgd_refuse(error, "platform: %s: %d hosts, but %d %s",
                           machine->platform->regions.n > 0 ? "regions" : "size", there, n,
                           machine->hosts_each > 1 ? "are needed by workers of several (inner)"
                                                   : "workers and servers need one each");
    *places = dsgd_keep((size_t)n, sizeof **places);
    DSGD_TRY(dsgd_placement_places(machine, given ? most : *n_hosts, NULL, *places, error));
    for (int i = 0; i < n; i++)
        *n_hosts = (*places)[i] < *n_hosts ? *n_hosts : (*places)[i] + 1;
    return DSGD_OK;
}

/* --- functions that check a user's file ------------------------------------------------------- */

/** A measurement of the time that messages take. */
typedef struct trial_run {
    const dsgd_machine *machine;
    const int *to; /* [n_hosts] receiver of each host; -1 if the host sends nothing */
    double bytes, arrived_s;
    int n_actors; /* number of receiving actors that have not ended */
    dsgd_semaphore *ended;
} trial_run;

/** A message of the measurement. An actor on host `from` sends it. */
typedef struct sender {
    trial_run *all;
    int from, to;
} sender;

static dsgd_mailbox *mailbox_between(int from, int to)
{
    return dsgd_mailbox_of(from, to, DSGD_PORT_MEASUREMENT, 0);
}

static void end_actor(trial_run *all)
{
    if (--all->n_actors == 0)
        dsgd_semaphore_post(all->ended);
}

static void wait_for_actors(void *argument)
{
    dsgd_semaphore_wait(((trial_run *)argument)->ended);
}

/**
 * With at most this number of hosts, the paths between all pairs of hosts are checked. With more
 * hosts, only paths to hosts at distances that are powers of two are checked.
 */
enum { MOST_PAIRED_HOSTS = 32 };

/**
 * Checks the routes between hosts. SimGrid ends the process if a route is wrong, for example if a
 * gateway is missing.
 */
static dsgd_status try_routes(const dsgd_machine *machine, dsgd_error *error)
{
    const int n = machine->n_hosts;
    for (int i = 0; i < n; i++)
        for (int k = 1; k < n; k += n <= MOST_PAIRED_HOSTS ? 1 : k)
            if (!(dsgd_route_of(i, (i + k) % n).bytes_per_s > 0))
                return dsgd_refuse(error, "%s: host %d has no connecting path to host %d of %d",
                                   machine->platform->file, i, (i + k) % n, n);
    return DSGD_OK;
}

/** The arguments of a child process, and the file to which SimGrid writes its messages. */
typedef struct trial {
    const dsgd_machine *machine;
    FILE *words;
} trial;

static dsgd_status try_to_open(const void *argument, void *nothing, dsgd_error *error)
{
    (void)nothing;
    const trial *const t = argument;
    dsgd_machine machine = *t->machine;
    if (dup2(fileno(t->words), STDERR_FILENO) < 0)
        _exit(1);
    DSGD_TRY(dsgd_cluster_open(&machine, 0, machine.platform->file, error));
    return try_routes(&machine, error);
}

/**
 * Returns the reason for which SimGrid ended a process, or NULL if its messages in @p words contain
 * no reason.
 */
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

/**
 * Returns whether all links of a user's file are shared by their flows and have constant bandwidths
 * and latencies; maxmin.c supports only such links. For other files, SimGrid itself computes the
 * times of messages.
 */
static bool is_plain(const char *path)
{
    static const char *const others[] = {"_file",  "fatpipe",  "wifi",    "vivaldi", "limiter",
                                         "<trace", "<config",  "<prop",   "<model",  "<peer",
                                         "<actor", "<process", "<!entity"};
    char *text = NULL;
    size_t length = 0;
    dsgd_error ignored;
    bool plain = dsgd_file_read(path, &text, &length, &ignored) == DSGD_OK;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        plain = plain && strcasestr(text, others[i]) == NULL;
    return plain;
}

/**
 * Checks the user's file by opening it in a child process, because SimGrid ends the process after
 * an error.
 */
static dsgd_status probe(const dsgd_machine *machine, dsgd_error *error)
{
    const char *const path = machine->platform->file;
    if (access(path, R_OK) != 0)
        return dsgd_fail(error, DSGD_EIO, "%s: the platform file cannot be read: %m", path);
    const trial t = {machine, tmpfile()};
    if (t.words == NULL)
        return dsgd_fail(error, DSGD_EIO, "no temporary file can be made: %m");
    char nothing = 0;
    dsgd_status status = dsgd_in_child(try_to_open, &t, &nothing, 0, path, error);
    char *const reason = status == DSGD_EIO ? reason_in(t.words) : NULL;
    if (reason != NULL)
        status = dsgd_refuse(error, "%s: SimGrid: %s", path, reason);
    else if (status == DSGD_EIO)
        status = dsgd_fail(error, DSGD_EIO,
                           "%s: SimGrid cannot load this platform; `xmllint --valid` or SimGrid's "
                           "own examples help",
                           path);
    fclose(t.words);
    return status;
}

/* --- functions that open the cluster of a run ------------------------------------------------- */

dsgd_status dsgd_machine_check(const dsgd_machine *machine, dsgd_error *error)
{
    const dsgd_platform *const platform = machine->platform;
    DSGD_TRY(dsgd_platform_check(platform, error));
    const bool is_users = !dsgd_platform_has_numbers(platform);
    DSGD_TRY(is_users || machine->network == DSGD_NETWORK_SIMGRID ? dsgd_simgrid_check(error)
                                                                  : DSGD_OK);
    if (is_users)
        return probe(machine, error);
    int *places = NULL;
    int n_hosts = 0;
    void *const mark = dsgd_mark();
    const dsgd_status found = find_places(machine, &places, &n_hosts, error);
    dsgd_drop(mark);
    if (found == DSGD_OK && machine->network == DSGD_NETWORK_SIMGRID &&
        n_hosts > dsgd_platform_most_told(platform))
        return dsgd_refuse(
            error,
            "platform: network: simgrid supports at most %d hosts with this topology, "
            "but there are %d. Use network: flows",
            dsgd_platform_most_told(platform), n_hosts);
    return found;
}

/**
 * Opens the cluster from an XML file that exists only in memory, so that no file remains if the run
 * is killed.
 */
static dsgd_status open_written(const dsgd_machine *machine, int n_hosts, dsgd_error *error)
{
    const int file = memfd_create("platform", MFD_CLOEXEC);
    if (file < 0)
        return dsgd_fail(error, DSGD_EIO, "no file in memory can be made for the platform: %m");
    char *const path = dsgd_xprintf("/proc/self/fd/%d", file);
    dsgd_status status = dsgd_platform_write(machine->platform, n_hosts, path, error);
    if (status == DSGD_OK)
        status = dsgd_cluster_open(machine, n_hosts, path, error);
    close(file);
    return status;
}

dsgd_status dsgd_machine_open(const dsgd_machine *machine, dsgd_error *error)
{
    const dsgd_platform *const platform = machine->platform;
    dsgd_machine opened = *machine;
    const bool is_users = !dsgd_platform_has_numbers(platform);
    if (is_users && !is_plain(platform->file))
        opened.network = DSGD_NETWORK_SIMGRID;
    if (is_users)
        return dsgd_cluster_open(&opened, 0, platform->file, error);
    int *places = NULL;
    int n_hosts = 0;
    DSGD_TRY(find_places(machine, &places, &n_hosts, error));
    return machine->network == DSGD_NETWORK_SIMGRID
               ? open_written(&opened, n_hosts, error)
               : dsgd_cluster_open(&opened, n_hosts, NULL, error);
}

/* --- measurements of messages ----------------------------------------------------------------- */

static void send_one(void *argument)
{
    const sender *const s = argument;
    dsgd_sendrecv(mailbox_between(s->from, s->to), s->all->bytes, NULL);
}

static void receive_one(void *argument)
{
    const sender *const s = argument;
    dsgd_sendrecv(NULL, 0, mailbox_between(s->from, s->to));
    s->all->arrived_s = dsgd_now_s();
    end_actor(s->all);
}

static double time_here(trial_run *all)
{
    const int n_hosts = all->machine->n_hosts;
    sender *const senders = dsgd_keep((size_t)n_hosts, sizeof *senders);
    all->ended = dsgd_semaphore_new();
    for (int i = 0; i < n_hosts; i++) {
        if (all->to[i] < 0)
            continue;
        senders[i] = (sender){all, i, all->to[i]};
        all->n_actors++; /* counts only the receiver, because the sender ends first */
        dsgd_actor_start(i, send_one, &senders[i]);
        dsgd_actor_start(all->to[i], receive_one, &senders[i]);
    }
    if (all->n_actors > 0)
        dsgd_cluster_run(wait_for_actors, all);
    return all->arrived_s;
}

static dsgd_status measure(const void *argument, void *seconds, dsgd_error *error)
{
    trial_run all = *(const trial_run *)argument;
    dsgd_machine machine = *all.machine;
    DSGD_TRY(dsgd_machine_open(&machine, error));
    *(double *)seconds = time_here(&all);
    return DSGD_OK;
}

dsgd_status dsgd_machine_time(const dsgd_machine *machine, const int *to, double bytes,
                              double *seconds, dsgd_error *error)
{
    const trial_run all = {.machine = machine, .to = to, .bytes = bytes};
    return dsgd_in_child(measure, &all, seconds, sizeof *seconds,
                         "a measurement got no process, or its process died", error);
}
