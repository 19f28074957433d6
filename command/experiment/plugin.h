/**
 * @file plugin.h
 * Loads algorithms from plug-ins, which are shared objects that export a dsgd_plugin
 * (sim/contract.h).
 */
#pragma once

#include "command/console/arguments.h"

/**
 * Loads plug-ins in order and registers their algorithms. Plug-ins are never unloaded. A path
 * without a slash is the name of a file in the working directory.
 */
dsgd_status dsgd_plugins_load(const dsgd_texts *paths, dsgd_error *error);
