/**
 * @file registry.h
 * The algorithms that can be named: those built in (algorithms/registry.c has the list), then those of plug-ins.
 */
#ifndef DSGD_SIM_REGISTRY_H
#define DSGD_SIM_REGISTRY_H

#include "sim/algorithm.h"

/** NULL-terminated; each is the head of a dsgd_algorithm. Only dsgd_algorithm_add() writes to it. */
extern const dsgd_about *dsgd_algorithms[];

/** Adds an algorithm, which must outlive the program's use of it; refuses one that is incomplete or whose name is taken. */
dsgd_status dsgd_algorithm_add(const dsgd_algorithm *algorithm, dsgd_error *error);

#endif
