/**
 * @file point_to_point.h
 * Verbs between some workers: gossip with the neighbours in a graph, pairs of workers, parameter
 * servers, and messages. In the comments, x, y, z and u are vectors as long as the model (or views
 * of such vectors); x_i is the vector of worker i.
 */
#pragma once

#include "sim/graph.h"
#include "sim/verbs/collectives.h"

DSGD_BEGIN_C

/* --- neighbours ------------------------------------------------------------------------------- */

/** How the share a_ij of x_j that worker i receives is computed. */
typedef enum dsgd_shares {
    /* Metropolis weights: a_ij = 1 / (1 + max(neighbours of i, neighbours of j)) */
    DSGD_DOUBLY_STOCHASTIC,
    DSGD_COLUMN_STOCHASTIC /* a_ij = 1 / (1 + number of receivers of j) */
} dsgd_shares;

/**
 * Returns this worker's neighbours in a round of a graph. The engine owns the result, which is
 * valid until this worker's next call.
 */
const dsgd_neighbours *dsgd_neighbours_of(dsgd_node *self, const dsgd_spec *graph, int64_t round,
                                          dsgd_shares shares);

/*
 * An algorithm can also fill a dsgd_neighbours itself. The verbs read it before they return. They
 * check what it promises (sim/graph.h): if the shares of a worker do not sum to 1, the run stops
 * with an error.
 */

/**
 * Computes x_i <- a_ii x_i + sum_j a_ij x_j over the workers j that send to i, and waits for all of
 * them. Like MPI_Neighbor_allgather() and a weighted sum. The push-sum weight of x, which is 1 at
 * first, is averaged with the same shares (M. Assran et al., "Stochastic gradient push", 2019).
 */
void dsgd_gossip(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours);

/**
 * Sends the shares, computes x_i <- a_ii x_i, and returns. x_i is not a model until
 * dsgd_request_wait(). To gossip dsgd_model(), pass a copy of it. Like MPI_Ineighbor_allgather().
 */
dsgd_request *dsgd_gossip_begin(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours);

/** Computes z <- x / (push-sum weight of x). */
void dsgd_debias(dsgd_node *self, dsgd_vector *z, dsgd_vector *x);
/** Computes x <- (push-sum weight of x) z. */
void dsgd_bias(dsgd_node *self, dsgd_vector *x, dsgd_vector *z);

/* --- pairs ------------------------------------------------------------------------------------ */

/**
 * Averages x with the vector y of @p peer. The average is exact although messages take time. The
 * worker sends s = x. The peer replies with y and sets y <- y + (s - y) / 2. When the reply
 * arrives, the worker sets x <- x + (y - s) / 2. Changes that x gets in the meantime are therefore
 * kept. Waits for assist() of the peer, which calls dsgd_pair_answer(). (AD-PSGD: X. Lian et al.,
 * "Asynchronous decentralized parallel stochastic gradient descent", ICML 2018.)
 */
void dsgd_pair_average(dsgd_node *self, dsgd_vector *x, int peer);

/** Copies the vector of @p peer to y. Waits for assist() of the peer, like dsgd_pair_average(). */
void dsgd_pair_fetch(dsgd_node *self, dsgd_vector *y, int peer);

enum { DSGD_ANYONE = -1 };

/**
 * For assist(). Waits for the next request, an average or a fetch, and answers it with x. If @p
 * from is DSGD_ANYONE, answers one piece of a request of any worker. If @p from is a rank, answers
 * all pieces of that worker's request, while other workers wait for their turn. A worker must
 * always use DSGD_ANYONE or always use ranks.
 */
void dsgd_pair_answer(dsgd_node *self, dsgd_vector *x, int from);

/**
 * Computes x, y <- (x + y) / 2, where y is a copy in host memory. Takes the time to reduce a
 * received vector, and sends no message. Each piece changes at one instant.
 */
void dsgd_average(dsgd_node *self, dsgd_vector *x, dsgd_vector *y);

/* --- servers ---------------------------------------------------------------------------------- */

/* The servers share one vector z. Each server holds an equal part of every exchange. These verbs
 * are not for algorithms with DSGD_WHOLE_SERVERS. */

/**
 * Pushes u and fetches x. A push computes z <- z + u; pass NULL for @p u to push nothing. A fetch
 * computes x <- z; pass NULL for @p x to fetch nothing. z is as it is when the request arrives,
 * after earlier pushes of this worker. Without a fetch, the call does not wait for the servers; a
 * fetch waits for the answer. If the call has both, the answer of a piece leaves when its push has
 * been added. So x contains u of this worker, and later pieces of u arrive in the meantime.
 */
void dsgd_server_exchange(dsgd_node *self, dsgd_vector *u, dsgd_vector *x);

/**
 * For serve(). Answers pushes and fetches with dsgd_model(), which is this server's part of z. Does
 * not return.
 */
void dsgd_serve(dsgd_node *self);

/* --- messages --------------------------------------------------------------------------------- */

/*
 * Any worker or server can send a message to any other. A message has numbers, a vector, or both.
 * The receiver gets a message only as a whole. It gets messages in the order in which they become
 * complete, and those of one sender in the order of sending. Use messages for servers that decide
 * when to answer, to wait for some of the neighbours only, and for control data. The numbers should
 * say what a message is for, and contain a round so that the receiver can recognise late messages.
 * On the network, a message has 8 bytes per number, plus the vector. It is not acknowledged. These
 * verbs are for work() and serve(), not for assist().
 */

/** A message that was received. */
typedef struct dsgd_message {
    int from; /* address of the sender: a worker's rank, or n_workers + a server's rank */
    dsgd_vector *x; /* the sender's vector, each piece as it was at the call; NULL without one */
    size_t n; /* number of numbers */
    const double *numbers; /* [n]; integers up to 2^53 are exact */
} dsgd_message;

/** Returns the address of a server, for dsgd_send(). */
static inline int dsgd_server_address(const dsgd_node *self, int server)
{
    return self->n_workers + server;
}

/**
 * Sends x and numbers[n] to the address @p to; pass NULL for @p x to send no vector. Like
 * MPI_Isend(), it does not wait for the receiver. Each piece of x leaves when it is ready. The call
 * returns when all pieces are ready; with `exchange: blocking: false` it returns at once, unless
 * the algorithm has DSGD_CANCELS.
 */
void dsgd_send(dsgd_node *self, int to, dsgd_vector *x, const double *numbers, size_t n);

/**
 * Waits for the next message of any sender and returns it, like MPI_Recv() from MPI_ANY_SOURCE. The
 * engine owns the message and its vector; both are valid until the next call of this worker or
 * server. Returns NULL at virtual time @p until_s (INFINITY: no limit), and NULL in a worker that
 * has failed (DSGD_REJOINS).
 */
const dsgd_message *dsgd_recv(dsgd_node *self, double until_s);

/**
 * Counts the staleness of a message that the receiver uses. If the message has a gradient or an
 * update, @p missed is the number of updates of the receiver's model since the model at which the
 * gradient was computed. If the message has another worker's model, @p missed is negative, and the
 * staleness is counted in local steps, as for gossip.
 */
void dsgd_message_used(dsgd_node *self, const dsgd_message *message, int64_t missed);

/** Marks a message as too late to be used: the samples of its sender's step do not count. */
void dsgd_message_drop(dsgd_node *self, const dsgd_message *message);

/** The events that a worker or server can wait for. */
enum {
    DSGD_ON_MESSAGE = 1, /* dsgd_recv() would return a message at once */
    DSGD_ON_GRADIENT = 2, /* no gradient is being computed */
    DSGD_ON_REQUEST = 4 /* a request is done: dsgd_request_wait() would return at once */
};

/**
 * Waits until one of @p events is true, at most until virtual time @p until_s (INFINITY: no limit).
 * Returns all of @p events that are true, or 0 at until_s. Like MPI_Waitany().
 */
unsigned dsgd_wait_any(dsgd_node *self, unsigned events, double until_s);

/* --- bandwidth -------------------------------------------------------------------------------- */

/**
 * Returns the bandwidth of the NIC of this worker's host, in bytes per second and direction, as a
 * speed test would measure it. On a platform from an XML file, returns the bandwidth of the route
 * to the worker that has the fastest route.
 */
double dsgd_bandwidth(dsgd_node *self);

DSGD_END_C
