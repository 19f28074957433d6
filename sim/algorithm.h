/**
 * @file algorithm.h
 * The contract of an algorithm and its verbs. The only header that a file in algorithms/ includes.
 *
 * work() is the life of one worker: blocking, straight-line code in virtual time. Verbs never fail.
 * Each waits, piece by piece, until the pieces that it reads are computed, or leaves its work to
 * that moment. Memory that a verb returns lives as long as the run. In the formulas P is the number
 * of workers, x a model, g a gradient, x_i the vector of worker i.
 */
#ifndef DSGD_SIM_ALGORITHM_H
#define DSGD_SIM_ALGORITHM_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/option.h"
#include "base/status.h"
#include "sim/abi.h" /* DSGD_PLUGIN_ABI; written by sim/abi.cmake */
#include "sim/graph.h"

/** One worker (or server), as its algorithm sees it. */
typedef struct dsgd_node {
    int rank; /* [0, n_workers); of a server, [0, n_servers) */
    int n_workers; /* P */
    long step; /* the step under way, from 0; -1 before the first */
    const void *params; /* the algorithm's own, filled from its option table; NULL without one */
} dsgd_node;

/** A vector as long as the model. Copying, sending and keeping one cost O(1) in wall time. */
typedef struct dsgd_vector dsgd_vector;

/** What `dsgd describe algorithm NAME` prints: lines without a final end of line. */
typedef struct dsgd_doc {
    const char *idea;
    const char *rule; /* the update of one step, as formulas */
    const char *sends; /* what is sent and how much, per worker and step; N: bytes of a model */
    const char *waits; /* who waits for whom */
} dsgd_doc;

/** Arguments of a traffic formula. */
typedef struct dsgd_scale {
    int n_workers, n_servers;
    size_t n_pieces;
    const double *piece_bytes; /* [n_pieces] */
    int collective, partial_collective; /* dsgd_collective */
} dsgd_scale;

/** Means over workers and over a whole number of the algorithm's periods (dsgd_algorithm). */
typedef struct dsgd_traffic {
    double messages, bytes;
} dsgd_traffic;

/** An algebraic law, under some options. The conformance suite tests every declared law. */
typedef enum dsgd_law_kind {
    DSGD_LAW_END,
    DSGD_LAW_PLAIN_SGD, /* with P = 1 it is its optimizer alone */
    DSGD_LAW_ALLREDUCE, /* equals allreduce, to rounding, if the optimizer is linear in g */
    DSGD_LAW_KEEPS_MEAN, /* g = 0, no message on its way: sum of x_i is constant */
    DSGD_LAW_KEEPS_SUM, /* like KEEPS_MEAN, for the sum over workers and servers */
    DSGD_LAW_KEEPS_WEIGHT /* push-sum weights, at workers or on their way, sum to P at any time */
} dsgd_law_kind;

/** An option that differs from its default. */
typedef struct dsgd_law_option {
    const char *option; /* NULL ends a list */
    double value; /* a number, or the index of a word */
    const char *pick; /* the name, for an option that picks from a registry */
} dsgd_law_option;
#define DSGD_WITH(...) ((const dsgd_law_option[]){__VA_ARGS__, {.option = NULL}})

typedef struct dsgd_law {
    dsgd_law_kind kind;
    const dsgd_law_option *with; /* any number, by DSGD_WITH(); NULL: all defaults */
} dsgd_law;
#define DSGD_LAWS(...) ((const dsgd_law[]){__VA_ARGS__, {.kind = DSGD_LAW_END}})

typedef struct dsgd_algorithm {
    dsgd_about about; /* name, summary, reference (required); params_size, options */
    dsgd_doc doc;
    /** Optional, pure. Refuses what no option table can; the message names a way out. */
    dsgd_status (*check)(const void *params, int n_workers, dsgd_error *error);
    /** Required. One worker's life. Returns only when dsgd_next_step() returns false, or never. */
    void (*work)(dsgd_node *self);
    /** Optional. A second actor of each worker, which answers or asks others meanwhile. */
    void (*assist)(dsgd_node *self);
    /** Optional. The life of one of n_servers() servers, on hosts behind the workers'. */
    void (*serve)(dsgd_node *self);
    int (*n_servers)(const void *params, int n_workers);
    /**
     * Optional, pure. Messages sent if no worker is late; {NAN, NAN} where that depends on time.
     * `dsgd describe` prints it, and the conformance suite counts. Without it nothing is counted.
     */
    dsgd_traffic (*traffic)(const void *params, const dsgd_scale *scale);
    /** Optional, pure. Steps after which what is sent repeats itself; NULL: 1. */
    long (*period)(const void *params, int n_workers);
    const dsgd_law *laws; /* DSGD_LAW_END ends them; NULL: none */
    /* Vectors travel by dsgd_allreduce_*() alone, so that `exchange: fusion` is possible. */
    bool only_allreduces;
    /* By collectives alone, of groups and partial ones too: a channel sends one message at a time,
     * and so does a worker with `exchange: blocking`. Simulates faster; only_allreduces says it. */
    bool only_collectives;
    /* By pairs of which one end never asks, or asks for vectors alone, or between a worker and
     * servers one at a time: with `exchange: blocking` a worker sends one vector's piece at a time,
     * and receives one. Simulates faster. */
    bool one_at_a_time;
} dsgd_algorithm;

/* --- steps and gradients ---------------------------------------------------------------------- */

/** Waits for this step's computation; begins the next step. False: work() has to return. */
bool dsgd_next_step(dsgd_node *self);

/** This worker's model x_i. All workers begin with the same values. */
dsgd_vector *dsgd_model(dsgd_node *self);

/** A new vector of zeros. */
dsgd_vector *dsgd_vector_new(dsgd_node *self);

/** n zeros, for an algorithm's counters. */
double *dsgd_numbers_new(dsgd_node *self, size_t n);

/** A second vector, the same in work() and assist() of a worker. It begins as the model. */
dsgd_vector *dsgd_shared(dsgd_node *self);

/** Mutual exclusion of work() and assist() of a worker, first come, first served. */
void dsgd_lock(dsgd_node *self);
void dsgd_unlock(dsgd_node *self);

/**
 * For loops of assist() that begin exchanges: waits until this worker has made @p local_steps. Two
 * turns are a microsecond apart or more, so that time passes where messages cost none. False: the
 * work() of every worker has returned.
 */
bool dsgd_next_turn(dsgd_node *self, long local_steps);

/** g <- gradient at x over this step's mini-batch. Does not wait: pieces become ready in turn. */
void dsgd_gradient(dsgd_node *self, dsgd_vector *g, dsgd_vector *x);

/**
 * Like dsgd_gradient(), split into n equal micro-batches; no forward or backward pass starts after
 * limit_s on its host (INFINITY: no limit). A dropped micro-batch counts as zeros in g. Returns how
 * many were computed.
 */
int dsgd_gradient_until(dsgd_node *self, dsgd_vector *g, dsgd_vector *x, int n_micro_batches,
                        double limit_s);

/** The part of a step that a limit leaves. */
typedef struct dsgd_cut {
    int done; /* micro-batches */
    double compute_s; /* forward passes without a backward pass included */
} dsgd_cut;

/** What dsgd_gradient_until() does in a step that would take @p step_s. Pure. */
dsgd_cut dsgd_cut_step(dsgd_node *self, double step_s, int n_micro_batches, double limit_s);

/** Seconds that this worker's computation of this step takes on its host, without a limit. */
double dsgd_compute_time_s(dsgd_node *self);

/** Virtual seconds since the run began, for an algorithm that measures its steps. Like MPI_Wtime. */
double dsgd_time_s(dsgd_node *self);

/** Each piece of x becomes ready when that piece of g does. For an x computed from g. */
void dsgd_follow(dsgd_node *self, dsgd_vector *x, dsgd_vector *g);

/** The optimizer's learning rate in this step. */
double dsgd_learning_rate(dsgd_node *self);

/**
 * x <- x + U(g, x, t), U the worker's optimizer, t its step. Does not wait: each piece is updated
 * when that piece of g is ready, from the value that x then has.
 */
void dsgd_local_step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g);

/* --- linear combinations ---------------------------------------------------------------------- */

/*
 * These do not wait: where y or x follows from the gradient that is being computed, each piece of y
 * changes when those of both are ready; an x that is ready counts as it is at the call.
 */

/** y <- x. */
void dsgd_copy(dsgd_node *self, dsgd_vector *y, dsgd_vector *x);

/** y <- a y + b x. */
void dsgd_combine(dsgd_node *self, dsgd_vector *y, double a, double b, dsgd_vector *x);

/** x <- x / divisor. */
void dsgd_divide(dsgd_node *self, dsgd_vector *x, double divisor);

/* --- collectives of all workers --------------------------------------------------------------- */

/* As in MPI, all workers call the same collectives in the same order, at any steps of theirs. */

/** x_i <- (1/P) sum_j x_j. Like MPI_Allreduce: waits for all workers, piece by piece. */
void dsgd_allreduce_mean(dsgd_node *self, dsgd_vector *x);

/** x_i <- sum_j x_j. Like MPI_Allreduce(MPI_SUM). */
void dsgd_allreduce_sum(dsgd_node *self, dsgd_vector *x);

/** A non-blocking verb under way, like an MPI_Request. One call of its _end() consumes it. */
typedef struct dsgd_request dsgd_request;

/** Begins dsgd_allreduce_mean() with x as it is now, and returns. Like MPI_Iallreduce. */
dsgd_request *dsgd_allreduce_begin(dsgd_node *self, dsgd_vector *x);

/** mean <- (1/P) sum_j x_j of the request. Waits for all workers, like MPI_Wait. */
void dsgd_allreduce_end(dsgd_node *self, dsgd_request *request, dsgd_vector *mean);

/**
 * Returns all[P][n]: all[j] is mine[n] of worker j. Like MPI_Allgather, but that all workers read
 * the same memory; valid until this worker's next dsgd_allgather(). For control data.
 */
const double *dsgd_allgather(dsgd_node *self, const double *mine, size_t n);

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
    dsgd_group (*group)(const void *params, int n_workers, long version);
    /* The send buffer is set to 0 when sampled; else its contribution may be sent again. */
    bool draining;
    /* Each piece of the send buffer is set to 0 when dsgd_partial_sum() has its sum. */
    bool discarding;
    /* Every period-th step has no version (the algorithm synchronises there); 0: all have. */
    long period;
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

/* --- neighbours ------------------------------------------------------------------------------- */

/** The shares a_ij of x_j that i receives. */
typedef enum dsgd_shares {
    DSGD_DOUBLY_STOCHASTIC, /* Metropolis: a_ij = 1 / (1 + max(neighbours of i, neighbours of j)) */
    DSGD_COLUMN_STOCHASTIC /* a_ij = 1 / (1 + receivers of j) */
} dsgd_shares;

/** This worker's neighbours in a round of a graph. Valid until its next call. */
const dsgd_neighbours *dsgd_neighbours_of(dsgd_node *self, const dsgd_pick *graph, long round,
                                          dsgd_shares shares);

/**
 * x_i <- a_ii x_i + sum_j a_ij x_j over the j that send to i; waits for all of them. Like
 * MPI_Neighbor_allgather and a weighted sum. The push-sum weight of x, which begins as 1, is mixed
 * alike.
 */
void dsgd_gossip(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours);

/** Sends the shares; x_i <- a_ii x_i. Like MPI_Ineighbor_allgather. */
dsgd_request *dsgd_gossip_begin(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours);

/**
 * Whether all messages of @p request have arrived. Like MPI_Request_get_status. Takes no time, so
 * that asking again is of use only behind a verb that takes some.
 */
bool dsgd_gossip_done(dsgd_node *self, const dsgd_request *request);

/** x_i <- x_i + sum_j a_ij x_j, weight included. Waits for all messages, like MPI_Wait. */
void dsgd_gossip_end(dsgd_node *self, dsgd_request *request, dsgd_vector *x);

/** z <- x / (push-sum weight of x). */
void dsgd_debias(dsgd_node *self, dsgd_vector *z, dsgd_vector *x);

/* --- pairs ------------------------------------------------------------------------------------ */

/**
 * Averages x with @p peer, exactly under message delay: sends s = x; the peer replies with its y
 * and sets y <- y + (s - y) / 2; then x <- x + (y - s) / 2. Changes of x meanwhile are kept. Waits
 * for the peer's assist(), which calls dsgd_pair_answer().
 */
void dsgd_pair_average(dsgd_node *self, dsgd_vector *x, int peer);

/** Begins dsgd_pair_average() with s = x as it is now, and returns. */
dsgd_request *dsgd_pair_begin(dsgd_node *self, dsgd_vector *x, int peer);
/** x <- x + (y - s) / 2. Waits for the reply, like MPI_Wait. */
void dsgd_pair_end(dsgd_node *self, dsgd_request *request, dsgd_vector *x);

/** y <- x of @p peer. Waits for the peer's assist(), which calls dsgd_pair_give(). */
void dsgd_pair_fetch(dsgd_node *self, dsgd_vector *y, int peer);

/** For assist(): answers the next dsgd_pair_average() of any worker with x; waits for it. */
void dsgd_pair_answer(dsgd_node *self, dsgd_vector *x);

/** For assist(): answers the next dsgd_pair_fetch() of any worker with x; waits for it. */
void dsgd_pair_give(dsgd_node *self, dsgd_vector *x);

/** dsgd_pair_average() with a peer that awaits this worker, in dsgd_pair_await(). */
void dsgd_pair_visit(dsgd_node *self, dsgd_vector *x, int peer);

/** For assist(): answers the next dsgd_pair_visit() of @p peer with x; others wait for their turn. */
void dsgd_pair_await(dsgd_node *self, dsgd_vector *x, int peer);

/**
 * x, y <- (x + y) / 2, y being a copy in host memory: costs the reduction of a received vector, and
 * no message. Each piece changes at one instant.
 */
void dsgd_average(dsgd_node *self, dsgd_vector *x, dsgd_vector *y);

/* --- servers ---------------------------------------------------------------------------------- */

/* The servers hold one vector z together, each an even part of each exchange. */

/** z <- z + u. Does not wait for the servers. */
void dsgd_server_push(dsgd_node *self, dsgd_vector *u);

/** x <- z as it is when the request arrives, after this worker's earlier pushes. Waits for it. */
void dsgd_server_fetch(dsgd_node *self, dsgd_vector *x);

/**
 * dsgd_server_push() of u and dsgd_server_fetch() into x, both posted at once, then waits for both.
 * A piece's answer leaves when its push has been added, so that x has this worker's u in it, while
 * later pieces of u arrive.
 */
void dsgd_server_push_and_fetch(dsgd_node *self, dsgd_vector *u, dsgd_vector *x);

/** For serve(): waits for a push or fetch of a piece, and answers it with x, its part of z. */
void dsgd_serve(dsgd_node *self, dsgd_vector *x);

/* --- draws ------------------------------------------------------------------------------------ */

/** A random integer in [0, n): a function of seed, worker, step, and earlier calls in this step. */
uint64_t dsgd_random_below(dsgd_node *self, uint64_t n);

/* --- traffic of verbs ------------------------------------------------------------------------- */

/** One allreduce of a vector: messages and bytes per worker. Without `exchange: fusion`. */
dsgd_traffic dsgd_allreduce_traffic(const dsgd_scale *scale);

/** @p times vectors, sent piece by piece. */
dsgd_traffic dsgd_vector_traffic(const dsgd_scale *scale, double times);

/** One version in groups of 2^bits, activated by one worker; activations included. */
dsgd_traffic dsgd_partial_traffic(const dsgd_scale *scale, int bits);

static inline dsgd_traffic dsgd_traffic_times(dsgd_traffic t, double times)
{
    return (dsgd_traffic){t.messages * times, t.bytes * times};
}

static inline dsgd_traffic dsgd_traffic_sum(dsgd_traffic a, dsgd_traffic b)
{
    return (dsgd_traffic){a.messages + b.messages, a.bytes + b.bytes};
}

/* --- sets of address bits --------------------------------------------------------------------- */

static inline bool dsgd_is_power_of_two(long n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/** floor(log2 n), n >= 1. */
static inline int dsgd_log2(long n)
{
    int bits = 0;
    while (n > 1) {
        n >>= 1;
        bits++;
    }
    return bits;
}

/** Refuses P unless it is a power of two; the sentence names the two nearest. */
dsgd_status dsgd_check_power_of_two(const char *name, int n_workers, dsgd_error *error);

/* --- algorithms from outside the tree --------------------------------------------------------- */

/**
 * The symbol that a shared object exports: const dsgd_plugin dsgd_plugin_algorithms =
 * {DSGD_PLUGIN_ABI, list}; One built with other headers than the program's is refused.
 */
typedef struct dsgd_plugin {
    uint32_t abi;
    const dsgd_algorithm *const *algorithms; /* NULL-terminated */
} dsgd_plugin;

#define DSGD_PLUGIN_SYMBOL "dsgd_plugin_algorithms"

#endif
