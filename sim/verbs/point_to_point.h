/**
 * @file point_to_point.h
 * Verbs between some of the workers: gossip with the neighbours in a graph, exchanges between pairs
 * of workers, parameter servers, and messages. In the comments, x, y, z and u are vectors as long
 * as the model (or views of such vectors); x_i is the vector of worker i.
 */
#pragma once

#include "sim/graph.h"
#include "sim/verbs/collectives.h"

DSGD_BEGIN_C

/* --- gossip with neighbours ------------------------------------------------------------------- */

/** Selects the formula of the shares a_ij. Worker i receives a_ij x_j from worker j. */
typedef enum dsgd_shares {
    /*
     * Metropolis weights: a_ij = 1 / (1 + max(number of neighbours of i, number of neighbours of
     * j)).
     */
    DSGD_DOUBLY_STOCHASTIC,
    /* a_ij = 1 / (1 + number of receivers of j) */
    DSGD_COLUMN_STOCHASTIC
} dsgd_shares;

/**
 * Returns this worker's neighbours in a round of a graph. The engine owns the result, which is
 * valid until this worker calls the function again.
 */
const dsgd_neighbours *dsgd_neighbours_of(dsgd_node *self, const dsgd_spec *graph, int64_t round,
                                          dsgd_shares shares);

/*
 * An algorithm can also fill a dsgd_neighbours itself. The verbs read the struct before they
 * return. They check the properties in its field `promises` (sim/graph.h). If a property requires
 * that a worker's shares sum to 1 and they do not, the run stops with an error.
 */

/**
 * Computes x_i <- a_ii x_i + sum_j a_ij x_j over the workers j that send to worker i, and waits for
 * all of these workers. This is like MPI_Neighbor_allgather() and a weighted sum. The push-sum
 * weight of x, which is 1 at first, is averaged with the same shares (M. Assran et al., "Stochastic
 * gradient push", 2019).
 */
void dsgd_gossip(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours);

/**
 * Starts a gossip: sends the shares, computes x_i <- a_ii x_i, and returns, like
 * MPI_Ineighbor_allgather(). x_i is not a model until dsgd_request_wait(). To gossip dsgd_model(),
 * pass a copy of it.
 */
dsgd_request *dsgd_gossip_begin(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours);

/** Computes z <- x / w, where w is the push-sum weight of x. */
void dsgd_debias(dsgd_node *self, dsgd_vector *z, dsgd_vector *x);
/** Computes x <- w z, where w is the push-sum weight of x. */
void dsgd_bias(dsgd_node *self, dsgd_vector *x, dsgd_vector *z);

/* --- pairs of workers ------------------------------------------------------------------------- */

/**
 * Averages x with the vector y of the worker @p peer. The average is exact although messages take
 * time. The worker sends s = x. The peer replies with y and sets y <- y + (s - y) / 2. When the
 * reply arrives, the worker sets x <- x + (y - s) / 2. Therefore changes that x gets in the
 * meantime are kept. Waits until the assist() of the peer calls dsgd_pair_answer(). (AD-PSGD: X.
 * Lian et al., "Asynchronous decentralized parallel stochastic gradient descent", ICML 2018.)
 */
void dsgd_pair_average(dsgd_node *self, dsgd_vector *x, int peer);

/**
 * Copies the vector of the worker @p peer to y. Waits until the assist() of the peer calls
 * dsgd_pair_answer().
 */
void dsgd_pair_fetch(dsgd_node *self, dsgd_vector *y, int peer);

enum { DSGD_ANYONE = -1 };

/**
 * Waits for the next request of dsgd_pair_average() or dsgd_pair_fetch(), and answers it with x.
 * Only assist() may call this verb. If @p from is DSGD_ANYONE, answers one chunk of a request of
 * any worker. If @p from is a rank, answers all chunks of that worker's request, while other
 * workers wait for their turn. A worker must always use DSGD_ANYONE or always use ranks.
 */
void dsgd_pair_answer(dsgd_node *self, dsgd_vector *x, int from);

/**
 * Computes (x + y) / 2 and stores it in x and y, where y is a copy in host memory. Takes the time
 * to reduce a received vector, and sends no message. Each chunk changes at one instant.
 */
void dsgd_average(dsgd_node *self, dsgd_vector *x, dsgd_vector *y);

/* --- parameter servers ------------------------------------------------------------------------ */

/*
 * The servers share one vector z. Each server holds an equal part of every exchange. Algorithms
 * with the trait DSGD_WHOLE_SERVERS must not call these verbs.
 */

/**
 * Pushes u to the servers and fetches x from them. A push computes z <- z + u. If u is NULL,
 * nothing is pushed. A fetch computes x <- z. If x is NULL, nothing is fetched. The value of z is
 * the value at the arrival of the request, and includes earlier pushes of this worker. A call with
 * a fetch waits for the answer; a call without a fetch does not wait for the servers. If the call
 * pushes and fetches, the answer for a chunk leaves after the push of this chunk has been added. So
 * x includes u of this worker, and later chunks of u may still be on their way.
 */
void dsgd_server_exchange(dsgd_node *self, dsgd_vector *u, dsgd_vector *x);

/**
 * Answers pushes and fetches with dsgd_model(), which is this server's part of z. Only serve() may
 * call this verb. It does not return.
 */
void dsgd_serve(dsgd_node *self);

/* --- messages --------------------------------------------------------------------------------- */

/*
 * Any worker or server can send a message to any other worker or server. A message contains
 * numbers, a vector, or both. The receiver gets a message only as a whole. It gets messages in the
 * order in which they become complete; messages of one sender arrive in the order of sending. Use
 * messages if a server decides when to answer, if a worker waits only for some of its neighbours,
 * and for control data. The numbers should state the purpose of a message, and contain the number
 * of a round, so that the receiver can recognise late messages. On the network, a message has 8
 * bytes per number, plus the bytes of the vector. Messages are not acknowledged. Only work() and
 * serve() may call these verbs, not assist().
 */

/** A message that dsgd_recv() returns. */
typedef struct dsgd_message {
    int from; /* address of the sender: the rank of a worker, or n_workers + the rank of a server */
    dsgd_vector *x; /* vector of the sender, each chunk with its value at the call of
                     * dsgd_send(); NULL if the message has no vector */
    size_t n; /* number of entries of `numbers` */
    const double *numbers; /* [n] numbers of the message; integers up to 2^53 are exact */
} dsgd_message;

/** Returns the address of a server, which dsgd_send() accepts as a receiver. */
static inline int dsgd_server_address(const dsgd_node *self, int server)
{
    return self->n_workers + server;
}

/**
 * Sends x and numbers[n] to the worker or server with the address @p to; if x is NULL, sends no
 * vector. Like MPI_Isend(), the verb does not wait for the receiver. Each chunk of x leaves when it
 * is ready. The call returns when all chunks are ready. With `exchange: blocking: false` it returns
 * at once, unless the algorithm has the trait DSGD_CANCELS.
 */
void dsgd_send(dsgd_node *self, int to, dsgd_vector *x, const double *numbers, size_t n);

/**
 * Waits for the next message of any sender and returns it, like MPI_Recv() from MPI_ANY_SOURCE. The
 * engine owns the message and its vector. Both are valid until this worker or server calls
 * dsgd_recv() again. Returns NULL at virtual time @p until_s. If @p until_s is INFINITY, there is
 * no time limit. Also returns NULL in a worker that has failed (DSGD_REJOINS).
 */
const dsgd_message *dsgd_recv(dsgd_node *self, double until_s);

/**
 * Counts the staleness of a message that the receiver uses. If the message contains a gradient or
 * an update, @p missed is the number of updates of the receiver's model since the model at which
 * the gradient was computed. If the message contains the model of another worker, @p missed is
 * negative, and the staleness is counted in local steps, as for gossip.
 */
void dsgd_message_used(dsgd_node *self, const dsgd_message *message, int64_t missed);

/** Marks a message as too late to be used. The samples of the sender's step then do not count. */
void dsgd_message_drop(dsgd_node *self, const dsgd_message *message);

/** Events for which a worker or server can wait with dsgd_wait_any(). */
enum {
    DSGD_ON_MESSAGE = 1, /* event: a message has arrived, so dsgd_recv() would return it at once */
    DSGD_ON_GRADIENT = 2, /* event: no gradient is being computed */
    /* event: a request is done, so dsgd_request_wait() would return at once */
    DSGD_ON_REQUEST = 4
};

/**
 * Waits until one of @p events is true, like MPI_Waitany(), but at most until virtual time @p
 * until_s. INFINITY means no time limit. Returns all of @p events that are true. Returns 0 if @p
 * until_s comes first.
 */
unsigned dsgd_wait_any(dsgd_node *self, unsigned events, double until_s);

/* --- bandwidth -------------------------------------------------------------------------------- */

/**
 * Returns the bandwidth of the NIC of this worker's host in one direction, in bytes per second. A
 * speed test would measure this bandwidth. On a platform from an XML file, returns the bandwidth of
 * the fastest route from this worker to another worker.
 */
double dsgd_bandwidth(dsgd_node *self);

DSGD_END_C
