/**
 * @file collectives.h
 * Verbs for all workers or a group of workers: groups, collectives, and partial collectives. In the
 * comments, x_i is the vector x of member i, as long as the model or a view of such a vector.
 */
#pragma once

#include "sim/contract.h"

DSGD_BEGIN_C

/* --- communicators ---------------------------------------------------------------------------- */

/**
 * A group of workers, like a communicator of MPI. Its members have numbers from 0, in the order of
 * their ranks.
 */
typedef struct dsgd_comm dsgd_comm;

#define DSGD_WORLD ((const dsgd_comm *)NULL) /* the group of all workers */

/**
 * Fills colour[n_workers] with the colour of each worker. Workers with the same colour form a
 * group. A worker with a negative colour is in no group. The function must be pure, because all
 * workers must get the same colours. @p params are the options of the algorithm.
 */
typedef void (*dsgd_colours)(const void *params, int n_workers, int *colour);

/**
 * Returns this worker's group, like MPI_Comm_split(). The call sends no message and takes no
 * virtual time, and not all workers need to call it. The group is valid until the run ends, and
 * later calls with the same @p colours return the same group. A worker without a group gets a group
 * of size 0, in which its rank is -1. Such a worker must not call collectives of the group.
 */
const dsgd_comm *dsgd_comm_split(dsgd_node *self, dsgd_colours colours);

/* --- collectives ------------------------------------------------------------------------------ */

/*
 * The n members of @p comm execute a collective together. As in MPI, all members must call the same
 * collectives of a group in the same order; they may call them in different steps. One rule is
 * stricter than in MPI. If several workers are members of two groups, they must call the
 * collectives of both groups in the same order, including non-blocking collectives. Otherwise they
 * wait for ever, and the run reports a deadlock.
 *
 * A non-blocking collective of a group is executed concurrently with all other collectives, unless
 * the algorithm has the trait DSGD_SENDS_COLLECTIVES. Members that get the same sum share one value
 * in memory, and the gradient at that value is computed once.
 */

/**
 * Computes x_i <- (1/n) sum_j x_j, like MPI_Allreduce() with a division by n. Waits for all
 * members, chunk by chunk.
 */
void dsgd_allreduce_mean(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/**
 * Computes x_i <- sum_j x_j, like MPI_Allreduce() with MPI_SUM. Waits for all members, chunk by
 * chunk.
 */
void dsgd_allreduce_sum(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/** The kinds of collectives, named as in MPI. */
typedef enum dsgd_collective_kind {
    DSGD_ALLREDUCE, /* computes x_i <- (1/n) sum_j x_j, and waits for all members */
    /*
     * Computes x_i <- sum_j x_j, but each member receives only its own n-th part of every chunk,
     * like MPI_Reduce_scatter_block() with MPI_SUM. Before an allgather collects the parts, a
     * member may change x only by verbs that act element by element: linear combinations and local
     * steps.
     */
    DSGD_REDUCE_SCATTER,
    DSGD_ALLGATHER, /* assembles x_i from the parts of all members; each member sends its n-th part
                     * of every chunk */
    DSGD_REDUCE, /* computes x_root <- sum_j x_j, and changes no other x_i; if x is the model, pass
                  * a copy of the model */
    DSGD_BROADCAST /* computes x_i <- x_root; a member waits only for the members between it and the
                    * root of a tree */
} dsgd_collective_kind;

/**
 * Executes a collective on @p x, chunk by chunk, and waits until it is complete. @p root is the
 * number of a member; only DSGD_REDUCE and DSGD_BROADCAST use it.
 */
void dsgd_collective_run(dsgd_node *self, dsgd_collective_kind part, dsgd_vector *x, int root,
                         const dsgd_comm *comm);

/**
 * A non-blocking verb that has started, like an MPI_Request. dsgd_request_wait() frees the request.
 */
typedef struct dsgd_request dsgd_request;

/**
 * Starts an allreduce, reduce-scatter or allgather of the present values of x and returns at once,
 * like MPI_Iallreduce().
 */
dsgd_request *dsgd_collective_begin(dsgd_node *self, dsgd_collective_kind part, dsgd_vector *x,
                                    const dsgd_comm *comm);

/**
 * Waits for a request and frees it, like MPI_Wait(). If the request is a collective, x becomes its
 * result. If dsgd_gossip_begin() returned the request, computes x_i <- x_i + sum_j a_ij x_j, and
 * updates the push-sum weight in the same way.
 */
void dsgd_request_wait(dsgd_node *self, dsgd_request *request, dsgd_vector *x);

/**
 * Gathers @p m numbers of control data from each of the n members, like MPI_Allgather(). Returns
 * the array all[n][m], where all[j] is mine[m] of member j. All members read the same memory, which
 * the engine owns. The result is valid until this worker's next call of dsgd_allgather().
 */
const double *dsgd_allgather(dsgd_node *self, const double *mine, size_t m, const dsgd_comm *comm);

/* --- partial collectives: they start without waiting for all workers -------------------------- */

/*
 * A partial collective is an allreduce that the workers execute again and again. Each execution is
 * called a version, and version t belongs to step t. A version starts when a worker activates it.
 * Each worker then contributes the present contents of its send buffer, even if the worker has not
 * reached step t yet. (S. Li et al., "Taming unbalanced training workloads in deep learning with
 * partial collective operations", PPoPP 2020. S. Li et al., WAGMA-SGD, TPDS 2021.)
 */

/** Selects the worker that activates a version. */
typedef enum dsgd_initiator {
    DSGD_FIRST_ARRIVER, /* The first worker that arrives at the version activates it. */
    DSGD_RANDOM_WORKER, /* One worker, drawn at random for each version, activates it. All workers
                         * make the same draw. */
    /* Worker (version mod P) activates the version. */
    DSGD_EACH_IN_TURN
} dsgd_initiator;

/**
 * A set of bits of ranks. Two workers are in one group if their ranks differ only in these bits.
 */
typedef uint32_t dsgd_group;

/** The properties of a partial collective. P must be a power of two. */
typedef struct dsgd_partial_spec {
    dsgd_initiator initiator;
    /** Pure. Returns the group of a version. If `group` is NULL, a version includes all workers. */
    dsgd_group (*group)(const void *params, int n_workers, int64_t version);
    /*
     * true if the send buffer is set to 0 when it is contributed. false if the send buffer keeps
     * its contents, which may then be contributed again.
     */
    bool draining;
    /*
     * true if dsgd_partial_sum() sets a chunk of the send buffer to 0 when it has received the sum
     * of this chunk.
     */
    bool discarding;
    /*
     * Steps t with (t + 1) mod period = 0 have no version, because the algorithm synchronises all
     * workers in these steps. If period is 0, every step has a version.
     */
    int64_t period;
} dsgd_partial_spec;

/** One worker's part of a partial collective. A worker can have only one partial collective. */
typedef struct dsgd_partial dsgd_partial;

/**
 * Returns this worker's partial collective, which the engine frees at the end of the run. The send
 * buffer starts with the values of @p initial, or with zeros if @p initial is NULL.
 */
dsgd_partial *dsgd_partial_new(dsgd_node *self, dsgd_partial_spec spec, dsgd_vector *initial);

/** Computes send buffer <- x. */
void dsgd_partial_publish(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x);

/** Computes x <- send buffer, then send buffer <- 0. */
void dsgd_partial_take(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x);

/**
 * Let t be the current step. For each chunk, computes send buffer <- send buffer + g, arrives at
 * version t, and waits until version t or a later version is complete. Then @p sum becomes the sum
 * of the group's contributions to the latest complete version. @p g and @p sum may be the same
 * vector.
 */
void dsgd_partial_sum(dsgd_node *self, dsgd_partial *partial, dsgd_vector *g, dsgd_vector *sum);

/**
 * For each chunk, computes send buffer <- x, and then arrives and waits like dsgd_partial_sum().
 * Let sum be the result of dsgd_partial_sum(). Finally, this verb computes x <- sum / on_time if
 * on_time > 0, version t is the latest, and it contains this x, x <- (sum + x) / late    otherwise.
 */
void dsgd_partial_mix(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x, double on_time,
                      double late);

DSGD_END_C
