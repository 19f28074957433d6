/**
 * @file traces.h
 * Reads files that describe workloads, platforms and lists of imbalance.
 */
#pragma once

#include "command/experiment/shipped.h"
#include "traces/imbalance.h"
#include "traces/platform.h"
#include "traces/workload.h"

/** The keys of a file of imbalance, a dsgd_spec_set. */
extern const dsgd_option dsgd_imbalance_set_options[];

/**
 * Reads a workload, a platform or a list of imbalance for `dsgd describe` and `dsgd platform`: a
 * shipped one by its name, or a file by its path. A platform may also be SimGrid XML, which does
 * not set *config.
 */
dsgd_status dsgd_workload_open(const char *name, dsgd_config **config, dsgd_workload *workload,
                               dsgd_error *error);
dsgd_status dsgd_platform_open(const char *name, dsgd_config **config, dsgd_platform *platform,
                               dsgd_error *error);
dsgd_status dsgd_imbalance_set_open(const char *name, dsgd_config **config, dsgd_spec_set *set,
                                    dsgd_error *error);

/**
 * Reads the keys of a platform, or its name. A platform with `name` starts from the platform of
 * that name.
 */
dsgd_status dsgd_platform_read(dsgd_config *config, dsgd_yaml *entry, dsgd_platform *platform,
                               dsgd_error *error);

/**
 * Reads the keys of a workload, or its name. A workload with `like` starts from the workload of
 * that name.
 */
dsgd_status dsgd_workload_read(dsgd_config *config, dsgd_yaml *entry, dsgd_workload *workload,
                               dsgd_error *error);
