/**
 * @file shipped.h
 * Files by name: what comes with the program under traces/, and what a user's file points to.
 */
#ifndef DSGD_COMMAND_EXPERIMENT_SHIPPED_H
#define DSGD_COMMAND_EXPERIMENT_SHIPPED_H

#include "command/experiment/config.h"

/** Folder of the shipped files: the environment's DSGD_DATA, else ../share/dsgd seen from the program, else where it was built. */
const char *dsgd_data_folder(void);

/**
 * "; did you mean `x`?" about the nearest name of a file in traces/@p kind or out of @p also (NULL-terminated, may be NULL), or "". The
 * caller frees it.
 */
char *dsgd_shipped_hint(const char *kind, const char *name, const char *const *also);

/** Opens the file traces/@p kind/@p name.yaml, or the file at the path @p name where it has a slash or a dot. The caller closes *config. */
dsgd_status dsgd_shipped_open(const char *kind, const char *name, dsgd_config **config,
                              dsgd_error *error);

/**
 * Opens what @p name, which stands in @p entry of @p from, means: the path of a file where it has a slash or a dot, else a shipped one.
 * *config belongs to @p from. Names in @p also (NULL-terminated, may be NULL) could have been meant as well. A sweep in it is refused.
 */
dsgd_status dsgd_named_open(dsgd_config *from, dsgd_entry *entry, const char *kind,
                            const char *name, const char *const *also, dsgd_config **config,
                            dsgd_error *error);

#endif
