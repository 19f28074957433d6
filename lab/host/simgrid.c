/**
 * @file simgrid.c
 * sim/network/simgrid.c where there is no SimGrid: what it would simulate is refused.
 */
#include "sim/network/simgrid.h"

#include <sys/mman.h>

static const char *version(void)
{
    return "no SimGrid";
}

static dsgd_status open(const dsgd_machine *machine, int n_written, const char *path, int *places,
                        void *(*take)(size_t bytes), dsgd_error *error)
{
    return dsgd_refuse(error,
                       "this platform needs SimGrid, which the lab does not have: install dsgd");
}

const char *dsgd_cluster_reason(const char *line)
{
    return NULL;
}

size_t dsgd_simgrid_links(dsgd_load **loads)
{
    *loads = NULL;
    return 0;
}

double *dsgd_simgrid_bandwidths(size_t *n)
{
    *n = 0;
    return NULL;
}

const size_t *dsgd_simgrid_route(int from, int to, size_t *n, double *latency_s)
{
    *n = 0;
    return NULL;
}

/** For the XML that SimGrid would read. */
int memfd_create(const char *name, unsigned flags)
{
    errno = ENOSYS;
    return -1;
}

const dsgd_network_ops dsgd_network_simgrid = {.version = version, .open = open};
