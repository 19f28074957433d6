/**
 * @file registry.h
 * The algorithms that are built in; algorithms/registry.c has the list.
 */
#ifndef DSGD_SIM_REGISTRY_H
#define DSGD_SIM_REGISTRY_H

#include "sim/algorithm.h"

extern const dsgd_about
    *const dsgd_algorithms[]; /* NULL-terminated; each is the head of a dsgd_algorithm */

#endif
