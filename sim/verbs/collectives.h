/**
 * @file collectives.h
 * What workers do together: communicators, collectives, and partial ones.
 */
#pragma once

#include "sim/contract.h"

DSGD_BEGIN_C

/* --- communicators ---------------------------------------------------------------------------- */

/** A group of workers, as in MPI. Its members are numbered from 0, in the order of ranks. */
typedef struct dsgd_comm dsgd_comm;

#define DSGD_WORLD ((const dsgd_comm *)NULL) /* all workers */

/**
 * Fills colour[n_workers] with the colour of each worker. Workers of the same colour are a group; a
 * worker with a negative colour is in no group. Pure: all workers must get the same colours. @p
 * params are those of the algorithm.
 */
typedef void (*dsgd_colours)(const void *params, int n_workers, int *colour);

/**
 * Returns this worker's group, like MPI_Comm_split(), but without a message: the call takes no
 * virtual time, and not all workers need to call it. The group is valid until the run ends, and
 * later calls with the same @p colours return the same group. For a worker in no group, the size is
 * 0 and the rank is -1; such a worker must not call collectives of the group.
 */
const dsgd_comm *dsgd_comm_split(dsgd_node *self, dsgd_colours colours);

/* --- collectives ------------------------------------------------------------------------------ */

/*
 * Of the members of @p comm; n is their number. As in MPI, all of them call the same collectives of
 * a communicator in the same order, at any steps of theirs. Stricter than in MPI: members that two
 * communicators have in common call the collectives of both in one order, non-blocking ones too.
 * Members of another order wait for ever, which the run reports. Non-blocking ones on a split-off
 * communicator go beside all others, unless it has DSGD_SENDS_COLLECTIVES. Members that get
 * the same sum hold one value, whose gradient is computed once.
 */

/** x_i <- (1/n) sum_j x_j. Like MPI_Allreduce: waits for all members, piece by piece. */
void dsgd_allreduce_mean(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/** x_i <- sum_j x_j. Like MPI_Allreduce(MPI_SUM). */
void dsgd_allreduce_sum(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/** A collective, by its name in MPI; @p root is the number of a member. */
typedef enum dsgd_collective_kind {
    DSGD_ALLREDUCE, /* x_i <- (1/n) sum_j x_j. Waits for all members */
    /*
     * x_i <- sum_j x_j, but each member has got only its n-th share of every piece: until it is
     * gathered the member may change x by verbs that act element by element (combinations, local
     * steps). Like MPI_Reduce_scatter_block(MPI_SUM)
     */
    DSGD_REDUCE_SCATTER,
    DSGD_ALLGATHER, /* the n-th share of every piece from member n, together, at all members */
    DSGD_REDUCE, /* x_root <- sum_j x_j; the others' x stay. Of models, take a copy */
    DSGD_BROADCAST /* x_i <- x_root. Waits for the members before it in a tree, not for all */
} dsgd_collective_kind;

/** A blocking collective of @p x, piece by piece. @p root is read by REDUCE and BROADCAST. */
void dsgd_collective_run(dsgd_node *self, dsgd_collective_kind part, dsgd_vector *x, int root,
                         const dsgd_comm *comm);

/** A non-blocking verb under way, like an MPI_Request. One dsgd_request_wait() consumes it. */
typedef struct dsgd_request dsgd_request;

/**
 * Begins an ALLREDUCE, REDUCE_SCATTER or ALLGATHER with x as it is now, and returns. Like
 * MPI_Iallreduce.
 */
dsgd_request *dsgd_collective_begin(dsgd_node *self, dsgd_collective_kind part, dsgd_vector *x,
                                    const dsgd_comm *comm);

/**
 * Waits for a request; x <- what the collective gives, or, of dsgd_gossip_begin(), x_i <- x_i +
 * sum_j a_ij x_j, weight included. Like MPI_Wait.
 */
void dsgd_request_wait(dsgd_node *self, dsgd_request *request, dsgd_vector *x);

/**
 * Returns all[n][m]: all[j] is mine[m] of member j. Like MPI_Allgather, but that all members read
 * the same memory; valid until this worker's next dsgd_allgather(). For control data.
 */
const double *dsgd_allgather(dsgd_node *self, const double *mine, size_t m, const dsgd_comm *comm);

/* --- partial collectives: they start without waiting for all workers -------------------------- */

/** Who activates a version. */
typedef enum dsgd_initiator {
    DSGD_FIRST_ARRIVER, /* the first worker to arrive */
    DSGD_RANDOM_WORKER, /* one worker per version, drawn alike at all workers */
    DSGD_EACH_IN_TURN /* worker (version mod P) */
} dsgd_initiator;

/** Address bits: two workers are in one group iff their ranks differ in these bits only. */
typedef uint32_t dsgd_group;

/** A standing allreduce with send buffers (eager-SGD; WAGMA-SGD). P is a power of two. */
typedef struct dsgd_partial_spec {
    dsgd_initiator initiator;
    /** The group of a version, a pure function; NULL: all workers. */
    dsgd_group (*group)(const void *params, int n_workers, int64_t version);
    /* The send buffer is set to 0 when sampled; else its contribution may be sent again. */
    bool draining;
    /* Each piece of the send buffer is set to 0 when dsgd_partial_sum() has its sum. */
    bool discarding;
    /* Every period-th step has no version (the algorithm synchronises there); 0: all have. */
    int64_t period;
} dsgd_partial_spec;

typedef struct dsgd_partial dsgd_partial;

/** Version t is the collective of step t. The send buffer begins as @p initial; NULL: as zeros. */
dsgd_partial *dsgd_partial_new(dsgd_node *self, dsgd_partial_spec spec, dsgd_vector *initial);

/** send buffer <- x. */
void dsgd_partial_publish(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x);

/** x <- send buffer; send buffer <- 0. */
void dsgd_partial_take(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x);

/**
 * Piece by piece: send buffer <- send buffer + g; arrive at version t = step; wait until version t
 * or a later one is complete; sum <- sum over the group of the buffers sampled for the latest
 * complete version. g and sum may be the same vector.
 */
void dsgd_partial_sum(dsgd_node *self, dsgd_partial *partial, dsgd_vector *g, dsgd_vector *sum);

/**
 * Piece by piece: send buffer <- x; arrive and wait as in dsgd_partial_sum(); then
 *     x <- sum / on_time       if on_time > 0, version t is the latest, and sampled this x,
 *     x <- (sum + x) / late    otherwise.
 */
void dsgd_partial_mix(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x, double on_time,
                      double late);

DSGD_END_C
