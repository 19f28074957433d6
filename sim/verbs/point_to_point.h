/**
 * @file point_to_point.h
 * What a worker does with some others: neighbours in a graph, pairs, servers, messages.
 */
#pragma once

#include "sim/graph.h"
#include "sim/verbs/collectives.h"

DSGD_BEGIN_C

/* --- neighbours ------------------------------------------------------------------------------- */

/** The shares a_ij of x_j that i receives. */
typedef enum dsgd_shares {
    DSGD_DOUBLY_STOCHASTIC, /* Metropolis: a_ij = 1 / (1 + max(neighbours of i, neighbours of j)) */
    DSGD_COLUMN_STOCHASTIC /* a_ij = 1 / (1 + receivers of j) */
} dsgd_shares;

/** This worker's neighbours in a round of a graph. Valid until its next call. */
const dsgd_neighbours *dsgd_neighbours_of(dsgd_node *self, const dsgd_spec *graph, int64_t round,
                                          dsgd_shares shares);

/*
 * A list may also be made by hand, and is read before the verb returns. What it promises
 * (sim/graph.h) is checked: a worker whose shares do not sum to 1 stops the program.
 */

/**
 * x_i <- a_ii x_i + sum_j a_ij x_j over the j that send to i; waits for all of them. Like
 * MPI_Neighbor_allgather and a weighted sum. The push-sum weight of x, which begins as 1, is mixed
 * alike.
 */
void dsgd_gossip(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours);

/**
 * Sends the shares; x_i <- a_ii x_i, which is not a model until dsgd_request_wait(): to gossip
 * dsgd_model(), begin with a copy. Like MPI_Ineighbor_allgather.
 */
dsgd_request *dsgd_gossip_begin(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours);

/** z <- x / (push-sum weight of x). */
void dsgd_debias(dsgd_node *self, dsgd_vector *z, dsgd_vector *x);
/** x <- (push-sum weight of x) z. */
void dsgd_bias(dsgd_node *self, dsgd_vector *x, dsgd_vector *z);

/* --- pairs ------------------------------------------------------------------------------------ */

/**
 * Averages x with @p peer, exactly under message delay: sends s = x; the peer replies with its y
 * and sets y <- y + (s - y) / 2; then x <- x + (y - s) / 2. Changes of x meanwhile are kept. Waits
 * for the peer's assist(), which calls dsgd_pair_answer().
 */
void dsgd_pair_average(dsgd_node *self, dsgd_vector *x, int peer);

/** y <- x of @p peer. Waits for the peer's assist(), likewise. */
void dsgd_pair_fetch(dsgd_node *self, dsgd_vector *y, int peer);

enum { DSGD_ANYONE = -1 };

/**
 * For assist(): waits for the next question, an average or a fetch, and answers it with x: of
 * DSGD_ANYONE one piece, whoever asks; of a worker @p from all pieces of x, while others wait for
 * their turn. A worker answers either anyone or workers by name.
 */
void dsgd_pair_answer(dsgd_node *self, dsgd_vector *x, int from);

/**
 * x, y <- (x + y) / 2, y being a copy in host memory: costs the reduction of a received vector, and
 * no message. Each piece changes at one instant.
 */
void dsgd_average(dsgd_node *self, dsgd_vector *x, dsgd_vector *y);

/* --- servers ---------------------------------------------------------------------------------- */

/* The servers hold one vector z together, each an even part of each exchange. Not for
 * DSGD_WHOLE_SERVERS. */

/**
 * Pushes u (NULL: nothing): z <- z + u; and fetches x (NULL: nothing): x <- z as it is when the
 * request arrives, after this worker's earlier pushes. A push by itself does not wait for the
 * servers; a fetch waits for the answer. Of both a piece's answer leaves when its push has been
 * added, so that x has this worker's u in it, while later pieces of u arrive.
 */
void dsgd_server_exchange(dsgd_node *self, dsgd_vector *u, dsgd_vector *x);

/** For `.serve`: answers pushes and fetches with its model, its part of z, for ever. */
void dsgd_serve(dsgd_node *self);

/* --- messages --------------------------------------------------------------------------------- */

/*
 * From any worker or server to any other, which sees them whole, in the order in which they get
 * complete, from one sender in the order of sending, when it likes: for servers that decide by
 * themselves, for waiting for some of the neighbours, for control data. What a message is for is in
 * its numbers: late ones are told by a round in them. Their wire costs 8 bytes per number, and the
 * vector; nobody acknowledges them. For work() and serve(), not for assist().
 */

typedef struct dsgd_message {
    int from; /* a worker's rank; n_workers + rank: a server */
    dsgd_vector *x; /* as its sender had it, piece by piece, at the call; NULL: none */
    size_t n;
    const double *numbers; /* [n]; integers up to 2^53 are exact */
} dsgd_message;

/** Where messages to a server go. */
static inline int dsgd_server_address(const dsgd_node *self, int server)
{
    return self->n_workers + server;
}

/**
 * Sends x (NULL: none) and numbers[n]. Waits for nobody. Like MPI_Isend. Pieces of x leave as they
 * get ready; it waits for these, but not without `exchange: blocking`, unless the algorithm
 * cancels.
 */
void dsgd_send(dsgd_node *self, int to, dsgd_vector *x, const double *numbers, size_t n);

/**
 * The next message, which belongs to the run, with its vector, until this host's next call. Waits
 * until virtual time @p until_s (INFINITY: no limit), when it returns NULL; so it does for a worker
 * that has failed (DSGD_REJOINS). Like MPI_Recv of MPI_ANY_SOURCE.
 */
const dsgd_message *dsgd_recv(dsgd_node *self, double until_s);

/**
 * For a receiver that applies what is in a message. Counts how old that is: of a gradient or an
 * update @p missed, the updates of the receiver's model since the one at which it was computed; of
 * another worker's model (@p missed below 0) its local steps, as of gossip.
 */
void dsgd_message_used(dsgd_node *self, const dsgd_message *message, int64_t missed);

/** For one that comes too late to be used: the samples of its sender's step do not count. */
void dsgd_message_drop(dsgd_node *self, const dsgd_message *message);

/** What a worker or server can wait for. */
enum {
    DSGD_ON_MESSAGE = 1, /* there is one to receive */
    DSGD_ON_GRADIENT = 2, /* nothing is being computed */
    DSGD_ON_REQUEST = 4 /* one that is under way is done: dsgd_request_wait() would not wait */
};

/**
 * Sleeps until one of @p events holds, at most until virtual time @p until_s (INFINITY: no limit).
 * Returns all that hold; 0: it is until_s. Like MPI_Waitany.
 */
unsigned dsgd_wait_any(dsgd_node *self, unsigned events, double until_s);

/* --- bandwidth -------------------------------------------------------------------------------- */

/**
 * Bytes per second of the NIC of this worker's host, in each direction, as a speed test finds; of a
 * file's platform to the worker that it reaches best.
 */
double dsgd_bandwidth(dsgd_node *self);

DSGD_END_C
