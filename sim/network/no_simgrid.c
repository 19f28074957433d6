/**
 * @file no_simgrid.c
 * Replaces simgrid.c in a build without SimGrid (DSGD_SIMGRID=OFF). Rejects everything that only
 * SimGrid can simulate.
 */
#include "sim/network/simgrid.h"

static const char *version(void)
{
    return "no SimGrid";
}

dsgd_status dsgd_simgrid_check(dsgd_error *error)
{
    return dsgd_refuse(error,
                       "this build of dsgd has no SimGrid, which XML platforms and `network: "
                       "simgrid` need: give a platform by its numbers, use network: flows, "
                       "or build with -DDSGD_SIMGRID=ON");
}

static dsgd_status open(const dsgd_machine *machine, int n_written, const char *path, int *places,
                        void *(*take)(size_t bytes), dsgd_error *error)
{
    (void)machine;
    (void)n_written;
    (void)path;
    (void)places;
    (void)take;
    return dsgd_simgrid_check(error);
}

const char *dsgd_cluster_reason(const char *line)
{
    (void)line;
    return NULL;
}

size_t dsgd_simgrid_links(dsgd_load **loads)
{
    *loads = NULL;
    return 0;
}

const size_t *dsgd_simgrid_route(int from, int to, size_t *n, double *latency_s)
{
    (void)from;
    (void)to;
    *n = 0;
    *latency_s = 0;
    return NULL;
}

const dsgd_network_ops dsgd_network_simgrid = {.version = version, .open = open};
