/**
 * @file shipped.h
 * Files by name: what comes with the program under traces/, and what a user's file points to.
 */
#pragma once

#include "command/console/data_folder.h"
#include "command/experiment/config.h"

/** dsgd_hint() from the files in traces/@p kind and @p also (NULL-terminated, may be NULL). */
const char *dsgd_shipped_hint(const char *kind, const char *name, const char *const *also);

/** Opens traces/@p kind/@p name.yaml, or a path with a slash or dot. */
dsgd_status dsgd_shipped_open(const char *kind, const char *name, dsgd_config **config,
                              dsgd_error *error);

/**
 * Like dsgd_shipped_open(), for a name in @p entry of @p from. A path is relative to @p from; a
 * sweep is refused. @p also: further names for the hint (may be NULL).
 */
dsgd_status dsgd_named_open(dsgd_config *from, dsgd_yaml *entry, const char *kind, const char *name,
                            const char *const *also, dsgd_config **config, dsgd_error *error);
