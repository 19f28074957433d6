/**
 * @file registry.h
 * The algorithms by name: the built-in ones (algorithms/registry.c), then plug-ins'.
 */
#pragma once

#include "sim/algorithm.h"

/** NULL-terminated heads of dsgd_algorithm. Only dsgd_algorithm_add() writes to it. */
extern const dsgd_entry *dsgd_algorithms[];

/** Adds an algorithm, which must not be freed; refuses an incomplete one or a name in use. */
dsgd_status dsgd_algorithm_add(const dsgd_algorithm *algorithm, dsgd_error *error);
