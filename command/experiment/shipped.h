/**
 * @file shipped.h
 * Finds files by name: shipped files in traces/, and files that a user's file names.
 */
#pragma once

#include "command/console/data_folder.h"
#include "command/experiment/config.h"

/**
 * Returns dsgd_hint() for a name. Valid names are the files in traces/@p kind and the names in the
 * list @p also, which ends with NULL and may be NULL.
 */
const char *dsgd_shipped_hint(const char *kind, const char *name, const char *const *also);

/**
 * Opens the shipped file traces/@p kind/@p name.yaml. If @p name contains a slash or a dot, opens
 * the file with this path instead.
 */
dsgd_status dsgd_shipped_open(const char *kind, const char *name, dsgd_config **config,
                              dsgd_error *error);

/**
 * Opens a file that the entry @p entry of file @p from names. As in dsgd_shipped_open(), this can
 * be a shipped file or a path. A path is relative to @p from. Rejects sweeps in the opened file. @p
 * also contains further names for hints and may be NULL.
 */
dsgd_status dsgd_named_open(dsgd_config *from, dsgd_yaml *entry, const char *kind, const char *name,
                            const char *const *also, dsgd_config **config, dsgd_error *error);
