/**
 * @file traces.h
 * What files describe: workloads, platforms, lists of imbalance.
 */
#ifndef DSGD_COMMAND_EXPERIMENT_TRACES_H
#define DSGD_COMMAND_EXPERIMENT_TRACES_H

#include "command/experiment/shipped.h"
#include "traces/imbalance.h"
#include "traces/platform.h"
#include "traces/workload.h"

/**
 * Reads a workload, platform or list of imbalance, a shipped one by its name or a file by its path
 * (of a platform also SimGrid XML, which leaves *config as it is), for `dsgd describe` and `dsgd
 * platform`.
 */
dsgd_status dsgd_workload_open(const char *name, dsgd_config **config, dsgd_workload *workload,
                               dsgd_error *error);
dsgd_status dsgd_platform_open(const char *name, dsgd_config **config, dsgd_platform *platform,
                               dsgd_error *error);
dsgd_status dsgd_imbalance_set_open(const char *name, dsgd_config **config, dsgd_pick_set *set,
                                    dsgd_error *error);

/** Reads the keys of a workload; one with `like` begins as that one. */
dsgd_status dsgd_workload_read(dsgd_config *config, dsgd_entry *mapping, dsgd_workload *workload,
                               dsgd_error *error);

#endif
