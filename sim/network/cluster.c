/**
 * @file cluster.c
 * Opens and runs the cluster of a run, and keeps the places of its hosts.
 */
#include "sim/network/cluster.h"

#include "sim/network/network.h"
#include "sim/network/runtime.h"

const char *const dsgd_network_names[] = {"flows", "simgrid", NULL};

const dsgd_network_ops *const dsgd_networks[] = {
    [DSGD_NETWORK_FLOWS] = &dsgd_network_flows, [DSGD_NETWORK_SIMGRID] = &dsgd_network_simgrid};

static int *places; /* [n_hosts] index of each host of the run among all hosts of the platform */

dsgd_status dsgd_cluster_open(const dsgd_machine *machine, int n_hosts, const char *path,
                              dsgd_error *error)
{
    const dsgd_network_ops *const network = dsgd_networks[machine->network];
    places = dsgd_xcalloc((size_t)machine->n_hosts, sizeof *places);
    dsgd_placement_open(machine);
    dsgd_runtime_open(network);
    return network->open(machine, n_hosts, path, places, dsgd_runtime_take, error);
}

const int *dsgd_cluster_places(void)
{
    return places;
}

bool dsgd_cluster_run(void (*clock)(void *argument), void *argument)
{
    const bool returned = dsgd_runtime_run(clock, argument);
    free(places);
    places = NULL;
    return returned;
}
