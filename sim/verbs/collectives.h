/**
 * @file collectives.h
 * Verbs for all workers or a group of workers: groups, collectives, and partial collectives. In the
 * comments, x_i is the vector x of member i, as long as the model or a view of such a vector.
 */
#pragma once

#include "sim/contract.h"

DSGD_BEGIN_C

/* --- communicators ---------------------------------------------------------------------------- */

/** A group of workers, like a communicator of MPI. Members have numbers from 0, in order of ranks.
 */
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
 * A collective is executed by the n members of @p comm. As in MPI, all members must call the same
 * collectives of a group in the same order; they may call them in different steps. One rule is
 * stricter than in MPI. If several workers are members of two groups, they must call the
 * collectives of both groups in the same order, also non-blocking ones. If they do not, they wait
 * for ever, and the run reports a deadlock.
 *
 * A non-blocking collective of a group is executed concurrently with all other collectives, unless
 * the algorithm has DSGD_SENDS_COLLECTIVES. Members that get the same sum share one value in
 * memory, and the gradient at that value is computed once.
 */

/** Computes x_i <- (1/n) sum_j x_j. Like MPI_Allreduce(); waits for all members, piece by piece. */
void dsgd_allreduce_mean(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/** Computes x_i <- sum_j x_j. Like MPI_Allreduce() with MPI_SUM. */
void dsgd_allreduce_sum(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/** A collective, by its name in MPI. */
typedef enum dsgd_collective_kind {
    DSGD_ALLREDUCE, /* x_i <- (1/n) sum_j x_j. Waits for all members */
    /*
     * x_i <- sum_j x_j, but each member receives only its own n-th part of every piece. Until the
     * parts are gathered, a member may change x only by verbs that act element by element: linear
     * combinations and local steps. Like MPI_Reduce_scatter_block() with MPI_SUM
     */
    DSGD_REDUCE_SCATTER,
    DSGD_ALLGATHER, /* x_i <- the parts of all members, one part of every piece from each */
    DSGD_REDUCE, /* x_root <- sum_j x_j; other x_i do not change. Pass a copy of a model */
    DSGD_BROADCAST /* x_i <- x_root. Waits only for the members before it in a tree */
} dsgd_collective_kind;

/**
 * Executes a collective of @p x, piece by piece, and waits for its end. @p root is the number of a
 * member; only REDUCE and BROADCAST use it.
 */
void dsgd_collective_run(dsgd_node *self, dsgd_collective_kind part, dsgd_vector *x, int root,
                         const dsgd_comm *comm);

/** A non-blocking verb under way, like an MPI_Request. dsgd_request_wait() frees it. */
typedef struct dsgd_request dsgd_request;

/**
 * Starts an ALLREDUCE, REDUCE_SCATTER or ALLGATHER with the present values of x, and returns. Like
 * MPI_Iallreduce().
 */
dsgd_request *dsgd_collective_begin(dsgd_node *self, dsgd_collective_kind part, dsgd_vector *x,
                                    const dsgd_comm *comm);

/**
 * Waits for a request and frees it, like MPI_Wait(). For a collective, x becomes its result. For
 * dsgd_gossip_begin(), computes x_i <- x_i + sum_j a_ij x_j, and the same for the push-sum weight.
 */
void dsgd_request_wait(dsgd_node *self, dsgd_request *request, dsgd_vector *x);

/**
 * Gathers @p m numbers from each of the n members, for control data. Returns all[n][m]: all[j] is
 * mine[m] of member j. Like MPI_Allgather(), but all members read the same memory, which the engine
 * owns. The result is valid until this worker's next dsgd_allgather().
 */
const double *dsgd_allgather(dsgd_node *self, const double *mine, size_t m, const dsgd_comm *comm);

/* --- partial collectives: they start without waiting for all workers -------------------------- */

/*
 * A partial collective is an allreduce that is executed again and again. Each execution is a
 * version; version t belongs to step t. A version starts when a worker activates it. Each worker
 * then contributes the present contents of its send buffer, even if the worker has not arrived at
 * step t yet. (S. Li et al., "Taming unbalanced training workloads in deep learning with partial
 * collective operations", PPoPP 2020; S. Li et al., WAGMA-SGD, TPDS 2021.)
 */

/** Which worker activates a version. */
typedef enum dsgd_initiator {
    DSGD_FIRST_ARRIVER, /* the first worker that arrives */
    DSGD_RANDOM_WORKER, /* one worker per version, the same draw at all workers */
    DSGD_EACH_IN_TURN /* worker (version mod P) */
} dsgd_initiator;

/** Bits of ranks: two workers are in one group if their ranks differ in no other bits. */
typedef uint32_t dsgd_group;

/** The kind of a partial collective. P must be a power of two. */
typedef struct dsgd_partial_spec {
    dsgd_initiator initiator;
    /** Pure. Returns the group of a version. If it is NULL, a version covers all workers. */
    dsgd_group (*group)(const void *params, int n_workers, int64_t version);
    /* true: the send buffer is set to 0 when it is contributed. false: it keeps its contents, and
     * may be contributed again. */
    bool draining;
    /* true: each piece of the send buffer is set to 0 when dsgd_partial_sum() has its sum. */
    bool discarding;
    /* Steps t with (t + 1) mod period = 0 have no version, because the algorithm synchronises all
     * workers there. 0: every step has a version. */
    int64_t period;
} dsgd_partial_spec;

/** A worker's side of a partial collective. A worker can have only one. */
typedef struct dsgd_partial dsgd_partial;

/**
 * Returns this worker's partial collective, which the engine frees at the end of the run. The send
 * buffer begins with the values of @p initial, or with zeros if it is NULL.
 */
dsgd_partial *dsgd_partial_new(dsgd_node *self, dsgd_partial_spec spec, dsgd_vector *initial);

/** Computes send buffer <- x. */
void dsgd_partial_publish(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x);

/** Computes x <- send buffer, then send buffer <- 0. */
void dsgd_partial_take(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x);

/**
 * For each piece: computes send buffer <- send buffer + g, arrives at version t, where t is the
 * step, and waits until version t or a later version is complete. Then sum becomes the sum of the
 * contributions of the group to the latest complete version. g and sum may be the same vector.
 */
void dsgd_partial_sum(dsgd_node *self, dsgd_partial *partial, dsgd_vector *g, dsgd_vector *sum);

/**
 * For each piece: computes send buffer <- x, then arrives and waits as in dsgd_partial_sum(). Then
 * it computes
 *     x <- sum / on_time       if on_time > 0, version t is the latest, and it contains this x,
 *     x <- (sum + x) / late    otherwise.
 */
void dsgd_partial_mix(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x, double on_time,
                      double late);

DSGD_END_C
