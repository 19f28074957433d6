/**
 * @file plugin.h
 * Algorithms from outside the tree: shared objects that export a dsgd_plugin (sim/contract.h).
 */
#pragma once

#include "command/console/arguments.h"

/**
 * Loads shared objects in order, and adds their algorithms. They are never unloaded. A path without
 * a slash is a file in the working directory.
 */
dsgd_status dsgd_plugins_load(const dsgd_texts *paths, dsgd_error *error);
