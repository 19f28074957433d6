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

/** All that a colouring may depend on, so that it is the same at all workers. */
typedef struct dsgd_colouring {
    const void *params;
    int n_workers;
    uint64_t seed; /* of random groups: dsgd_shuffled() */
    int64_t round;
} dsgd_colouring;

/** Fills colour[n_workers]: workers of one colour are a group, of a negative one in none. */
typedef void dsgd_colours(const dsgd_colouring *at, int *colour);

/**
 * This worker's group in a round of a colouring, like MPI_Comm_split(), but without a message:
 * takes no time, and need not be called by all. Valid until this worker has split by the same
 * colours for 8 other rounds. In a group of no one size and rank are 0 and -1, and it takes part in
 * nothing.
 */
const dsgd_comm *dsgd_comm_split(dsgd_node *self, dsgd_colours *colours, int64_t round);

/**
 * The communicator of these workers, in any order, this one among them: like
 * MPI_Comm_create_group(), but without a message, and numbered in the order of ranks as of every
 * dsgd_comm. Takes no time; of the same members it is the same at all of them. For groups that are
 * found out at run time. Valid until this worker has asked for 8 others.
 */
const dsgd_comm *dsgd_comm_of(dsgd_node *self, const int *ranks, int n);

/** Number of this worker in it, and of its members; rank of a member among all workers. */
int dsgd_comm_rank(const dsgd_node *self, const dsgd_comm *comm);
int dsgd_comm_size(const dsgd_node *self, const dsgd_comm *comm);
int dsgd_comm_worker(const dsgd_node *self, const dsgd_comm *comm, int index);

/** Place in [0, n_workers) of a rank in a random order of all, a function of seed and round. */
int dsgd_shuffled(const dsgd_colouring *at, int rank);

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

/** A non-blocking verb under way, like an MPI_Request. One call of its _end() consumes it. */
typedef struct dsgd_request dsgd_request;

/** Begins dsgd_allreduce_mean() with x as it is now, and returns. Like MPI_Iallreduce. */
dsgd_request *dsgd_allreduce_begin(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/** mean <- (1/n) sum_j x_j of the request. Waits for all members, like MPI_Wait. */
void dsgd_allreduce_end(dsgd_node *self, dsgd_request *request, dsgd_vector *mean);

/**
 * x_root <- sum_j x_j, piece by piece: of models, take a copy; other x stay. Like
 * MPI_Reduce(MPI_SUM); @p root is a member's number.
 */
void dsgd_reduce_sum(dsgd_node *self, dsgd_vector *x, int root, const dsgd_comm *comm);

/** x_i <- x_root. Like MPI_Bcast: waits for who is before it in a tree, not for all. */
void dsgd_broadcast(dsgd_node *self, dsgd_vector *x, int root, const dsgd_comm *comm);

/**
 * x_i <- sum_j x_j, but each member has got its n-th share of every piece alone: until
 * dsgd_allgather_shares() it may change x by verbs that act element by element (combinations, local
 * steps). Like MPI_Reduce_scatter_block(MPI_SUM).
 */
void dsgd_reduce_scatter_sum(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/** Of every piece the n-th share of member n, together, at all. Like MPI_Allgather. */
void dsgd_allgather_shares(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/**
 * The same as dsgd_allreduce_begin() and _end() are of an allreduce: with x as it is at the begin.
 * Like MPI_Ireduce_scatter_block and MPI_Iallgather.
 */
dsgd_request *dsgd_reduce_scatter_begin(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);
void dsgd_reduce_scatter_end(dsgd_node *self, dsgd_request *request, dsgd_vector *sum);
dsgd_request *dsgd_allgather_shares_begin(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);
void dsgd_allgather_shares_end(dsgd_node *self, dsgd_request *request, dsgd_vector *x);

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
