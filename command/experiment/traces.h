/**
 * @file traces.h
 * What files describe: workloads, platforms, lists of imbalance.
 */
#pragma once

#include "command/experiment/shipped.h"
#include "traces/imbalance.h"
#include "traces/platform.h"
#include "traces/workload.h"

/** The keys of a file of imbalance, a dsgd_spec_set: the shipped picks there are. */
extern const dsgd_option dsgd_imbalance_set_options[];

/**
 * Reads a workload, platform or list of imbalance, a shipped one by its name or a file by its path
 * (of a platform also SimGrid XML, which leaves *config as it is), for `dsgd describe` and `dsgd
 * platform`.
 */
dsgd_status dsgd_workload_open(const char *name, dsgd_config **config, dsgd_workload *workload,
                               dsgd_error *error);
dsgd_status dsgd_platform_open(const char *name, dsgd_config **config, dsgd_platform *platform,
                               dsgd_error *error);
dsgd_status dsgd_imbalance_set_open(const char *name, dsgd_config **config, dsgd_spec_set *set,
                                    dsgd_error *error);

/** Reads the keys of a platform, or its name; one with `name` begins as that one. */
dsgd_status dsgd_platform_read(dsgd_config *config, dsgd_yaml *entry, dsgd_platform *platform,
                               dsgd_error *error);

/** Reads the keys of a workload, or its name; one with `like` begins as that one. */
dsgd_status dsgd_workload_read(dsgd_config *config, dsgd_yaml *entry, dsgd_workload *workload,
                               dsgd_error *error);
