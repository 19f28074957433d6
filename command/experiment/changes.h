/**
 * @file changes.h
 * An experiment that departs from a given one only where it may.
 */
#ifndef DSGD_COMMAND_EXPERIMENT_CHANGES_H
#define DSGD_COMMAND_EXPERIMENT_CHANGES_H

#include "command/experiment/config.h"

/**
 * Demands that a file has the values of @p given, written alike, but at and below the paths in
 * @p free_paths (NULL-terminated), such as algorithms.0.period, and its `name` and `task`. A file
 * may be called by another path. DSGD_EUSAGE names the first other key and its place. After dsgd_config_spread() of both.
 */
dsgd_status dsgd_config_check_changes(dsgd_config *config, dsgd_config *given,
                                      const char *const *free_paths, dsgd_error *error);

#endif
