/**
 * @file plugin.h
 * Algorithms from outside the tree: shared objects that export a dsgd_plugin (sim/contract.h).
 */
#pragma once

#include "command/console/arguments.h"

/**
 * Loads shared objects for good, in order, and adds their algorithms. A path without a slash is a
 * file in the current folder.
 */
dsgd_status dsgd_plugins_load(const dsgd_texts *paths, dsgd_error *error);
