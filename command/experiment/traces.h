/**
 * @file traces.h
 * Reads files that describe workloads, platforms and imbalance sets.
 */
#pragma once

#include "command/experiment/shipped.h"
#include "traces/imbalance.h"
#include "traces/platform.h"
#include "traces/workload.h"

/** keys of a file with an imbalance set, which is read as a dsgd_spec_set */
extern const dsgd_option dsgd_imbalance_set_options[];

/**
 * Reads a workload, a platform or an imbalance set for `dsgd describe` and `dsgd platform`. @p name
 * is the name of a shipped file or the path of a file. If a platform is a SimGrid XML file, *config
 * is not set.
 */
dsgd_status dsgd_workload_open(const char *name, dsgd_config **config, dsgd_workload *workload,
                               dsgd_error *error);
dsgd_status dsgd_platform_open(const char *name, dsgd_config **config, dsgd_platform *platform,
                               dsgd_error *error);
dsgd_status dsgd_imbalance_set_open(const char *name, dsgd_config **config, dsgd_spec_set *set,
                                    dsgd_error *error);

/**
 * Reads a platform from a mapping of its keys, or from its name. If the mapping has the key `name`,
 * starts from the platform that `name` names.
 */
dsgd_status dsgd_platform_read(dsgd_config *config, dsgd_yaml *entry, dsgd_platform *platform,
                               dsgd_error *error);

/**
 * Reads a workload from a mapping of its keys, or from its name. If the mapping has the key `like`,
 * starts from the workload that `like` names.
 */
dsgd_status dsgd_workload_read(dsgd_config *config, dsgd_yaml *entry, dsgd_workload *workload,
                               dsgd_error *error);
