/**
 * @file plugin.h
 * Algorithms from outside the tree: shared objects that export a dsgd_plugin (sim/algorithm.h).
 */
#ifndef DSGD_COMMAND_EXPERIMENT_PLUGIN_H
#define DSGD_COMMAND_EXPERIMENT_PLUGIN_H

#include <argp.h>
#include <stddef.h>

#include "base/status.h"

/** Loads a shared object for good and adds its algorithms. A path without a slash means a file in the current folder. */
dsgd_status dsgd_plugin_load(const char *path, dsgd_error *error);

enum { DSGD_MOST_PLUGINS = 32 };

/** What --plugin named on a command line. */
typedef struct dsgd_plugin_paths {
    size_t n;
    const char *v[DSGD_MOST_PLUGINS];
} dsgd_plugin_paths;

/** The option --plugin FILE, as a child of a sub-command's parser; its input is a dsgd_plugin_paths. */
extern const struct argp_child dsgd_plugin_option[];

/** Loads them in the order in which they were given. */
dsgd_status dsgd_plugins_load(const dsgd_plugin_paths *paths, dsgd_error *error);

#endif
