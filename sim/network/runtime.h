/**
 * @file runtime.h
 * Runs the actors of cluster.h on any network.
 */
#pragma once

#include "sim/network/network.h"

/** Starts a run on @p network, at virtual time 0. */
void dsgd_runtime_open(const dsgd_network_ops *network);

/**
 * Returns zeroed memory that exists until the end of the run. The memory is for a struct whose
 * members are at most as wide as a pointer.
 */
void *dsgd_runtime_take(size_t size);

/**
 * Runs all actors until the actor clock(@p argument) returns. Returns false if the run ends in a
 * deadlock.
 */
bool dsgd_runtime_run(void (*clock)(void *argument), void *argument);
