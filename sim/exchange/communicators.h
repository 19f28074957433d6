/**
 * @file communicators.h
 * Communicators: the groups of workers that a split makes.
 *
 * A split is made by the first worker that asks for it, and found by the others. It lives as long
 * as a worker has it among its last ones, or a collective on one of its communicators is under way.
 */
#ifndef DSGD_SIM_EXCHANGE_COMMUNICATORS_H
#define DSGD_SIM_EXCHANGE_COMMUNICATORS_H

#include "sim/engine/engine.h"

struct dsgd_comm {
    struct dsgd_partition *split;
    uint64_t id; /* from 1, in the order in which splits are made; 0: nobody's */
    int n;
    int *rank; /* [n] of the members, ascending */
    uint64_t *begun; /* [n] collectives that each has begun on it */
    bool known_in_island, in_island; /* closed.c's: whether all members are in one */
};

/** Index of a rank among the members; -1: it is none. */
int dsgd_comm_index(const dsgd_comm *comm, int rank);

/** What has a communicator under way. */
void dsgd_comm_retain(dsgd_comm *comm);
void dsgd_comm_release(dsgd_engine *engine, dsgd_comm *comm);

#endif
