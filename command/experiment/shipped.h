/**
 * @file shipped.h
 * Finds files by name: those that come with the program in traces/, and those that a user's file
 * names.
 */
#pragma once

#include "command/console/data_folder.h"
#include "command/experiment/config.h"

/**
 * Returns dsgd_hint() for the names of the files in traces/@p kind and for @p also
 * (NULL-terminated, may be NULL).
 */
const char *dsgd_shipped_hint(const char *kind, const char *name, const char *const *also);

/** Opens traces/@p kind/@p name.yaml, or @p name as a path if it contains a slash or a dot. */
dsgd_status dsgd_shipped_open(const char *kind, const char *name, dsgd_config **config,
                              dsgd_error *error);

/**
 * Like dsgd_shipped_open(), for a name in @p entry of @p from. A path is relative to @p from. A
 * sweep in the file is rejected. @p also contains further names for the hint (may be NULL).
 */
dsgd_status dsgd_named_open(dsgd_config *from, dsgd_yaml *entry, const char *kind, const char *name,
                            const char *const *also, dsgd_config **config, dsgd_error *error);
