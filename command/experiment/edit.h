/**
 * @file edit.h
 * Files with other values, their comments kept.
 */
#ifndef DSGD_COMMAND_EXPERIMENT_EDIT_H
#define DSGD_COMMAND_EXPERIMENT_EDIT_H

#include <stddef.h>

#include "base/status.h"

/**
 * The text of a file after assignments as of `--set`, for the caller to free. Values are put into
 * its text, so that comments stay; there an element that is a name alone becomes {name: NAME, ...}.
 * Where that cannot be, such as behind an alias, the file is written anew, without comments.
 *
 * assignments[expands] makes every such element a mapping and is no change otherwise; it counts for
 * a file that is written anew.
 */
dsgd_status dsgd_config_edited(const char *path, const char *const *assignments, size_t n,
                               size_t expands, char **text, dsgd_error *error);

#endif
