/**
 * @file placement.c
 * Implements the order of hosts (natural, random, or as listed) and assigns hosts to each worker.
 */
#include "sim/network/cluster.h"

#include "base/draw.h"

static bool is_word(const dsgd_lines *placement, const char *word)
{
    return placement->n == 1 && strcmp(placement->v[0], word) == 0;
}

bool dsgd_placement_is_given(const dsgd_lines *placement)
{
    return placement->n > 0 && !is_word(placement, DSGD_PLACEMENT_NATURAL) &&
           !is_word(placement, DSGD_PLACEMENT_RANDOM) && !is_word(placement, DSGD_PLACEMENT_OUTER);
}

/** Returns the index of the host with the name or index @p text, or -1 if there is no such host. */
static int find(const char *text, int n_hosts, const char *const *names)
{
    for (int i = 0; names != NULL && i < n_hosts; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    const char *const digits = names == NULL && text[0] == 'n' ? text + 1 : text;
    const unsigned long i = strtoul(digits, NULL, 10);
    const bool is_number = *digits != '\0' && digits[strspn(digits, "0123456789")] == '\0';
    return is_number && i < (unsigned long)n_hosts ? (int)i : -1;
}

static dsgd_status list(const dsgd_lines *placement, int n_hosts, const char *const *names,
                        int n_wanted, int *places, dsgd_error *error)
{
    if (placement->n < (size_t)n_wanted)
        return dsgd_refuse(
            error, "placement: %zu hosts are listed, but %d workers and servers need one each",
            placement->n, n_wanted);
    /* [n_hosts] 1 + position of each host in the list; 0 if the list does not contain the host */
    size_t *const listed = dsgd_keep((size_t)n_hosts, sizeof *listed);
    for (size_t i = 0; i < placement->n; i++) {
        const char *const text = placement->v[i];
        const int host = find(text, n_hosts, names);
        if (host < 0)
            return dsgd_refuse(error,
                               "placement: entry %zu is `%.60s`, but the platform's hosts are 0 "
                               "to %d, or %.60s to %.60s",
                               i + 1, text, n_hosts - 1, names == NULL ? "n0" : names[0],
                               names == NULL ? dsgd_xprintf("n%d", n_hosts - 1)
                                             : names[n_hosts - 1]);
        if (listed[host] > 0)
            return dsgd_refuse(
                error,
                "placement: entry %zu is `%.60s`, which is entry %zu too; a host takes one worker",
                i + 1, text, listed[host]);
        listed[host] = i + 1;
        if (i < (size_t)n_wanted)
            places[i] = host;
    }
    return DSGD_OK;
}

static int n_workers, n_servers; /* numbers of workers and servers in the cluster */

void dsgd_placement_open(const dsgd_machine *machine)
{
    n_workers = machine->n_workers;
    n_servers = machine->n_hosts - n_workers * (machine->hosts_each > 1 ? machine->hosts_each : 1);
}

int dsgd_cluster_host(int host, int lane)
{
    return lane == 0 || host >= n_workers ? host : n_servers + lane * n_workers + host;
}

/**
 * Rearranges an order of hosts. In the old order, the hosts of each worker are consecutive, and the
 * servers follow. In the new order, the first hosts of all workers come first, then the servers,
 * and then the other hosts of all workers, lane by lane.
 */
static void group_hosts(const dsgd_machine *machine, int *places)
{
    const int n = machine->n_hosts, p = machine->n_workers, each = machine->hosts_each;
    const int servers = n - p * each;
    const bool outer = is_word(&machine->placement, DSGD_PLACEMENT_OUTER);
    int *const order = dsgd_xcalloc((size_t)n, sizeof *order);
    memcpy(order, places, (size_t)n * sizeof *order);
    for (int lane = 0; lane < each; lane++)
        for (int w = 0; w < p; w++)
            places[w + lane * p + (lane > 0 ? servers : 0)] =
                order[outer ? lane * p + w : w * each + lane];
    for (int i = 0; i < servers; i++)
        places[p + i] = order[p * each + i];
    free(order);
}

static dsgd_status order_hosts(const dsgd_machine *machine, int n_hosts, const char *const *names,
                               int *places, dsgd_error *error)
{
    const dsgd_lines *const placement = &machine->placement;
    if (dsgd_placement_is_given(placement))
        return list(placement, n_hosts, names, machine->n_hosts, places, error);
    const dsgd_draw at = {.seed = machine->seed, .purpose = DSGD_DRAW_PLACEMENT};
    const bool random = is_word(placement, DSGD_PLACEMENT_RANDOM);
    const dsgd_platform *const p = machine->platform;
    const uint32_t n = (uint32_t)(p->n_there > 0 ? p->n_there : n_hosts);
    for (int i = 0; i < machine->n_hosts; i++)
        places[i] =
            dsgd_platform_there(p, random ? (int)dsgd_draw_permuted(at, n, (uint32_t)i) : i);
    return DSGD_OK;
}

dsgd_status dsgd_placement_places(const dsgd_machine *machine, int n_hosts,
                                  const char *const *names, int *places, dsgd_error *error)
{
    DSGD_TRY(order_hosts(machine, n_hosts, names, places, error));
    if (machine->hosts_each > 1)
        group_hosts(machine, places);
    return DSGD_OK;
}
