/**
 * @file registry.h
 * The list of all algorithms: first the built-in ones (algorithms/registry.c), then the algorithms
 * of plug-ins.
 */
#pragma once

#include "sim/algorithm.h"

/** All algorithms, NULL-terminated. Each entry is the first member of a dsgd_algorithm. Only
 * dsgd_algorithm_add() changes the list. */
extern const dsgd_entry *dsgd_algorithms[];

/**
 * Adds an algorithm to the list. The algorithm must exist until the program ends. Rejects an
 * algorithm without a required member, or with a name that is already in use.
 */
dsgd_status dsgd_algorithm_add(const dsgd_algorithm *algorithm, dsgd_error *error);
