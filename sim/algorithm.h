/**
 * @file algorithm.h
 * The contract of an algorithm, and the verbs it is written in. The only header that a file in algorithms/ includes.
 *
 * An algorithm's work() is the life of one worker: blocking, straight-line code in virtual time. A verb never fails. Every verb
 * waits, per piece of a vector, for what it reads. Memory that a verb hands out belongs to the run.
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

/** A vector as long as the model. Looks mutable; assigning, sending and keeping a copy cost O(1). */
typedef struct dsgd_vector dsgd_vector;

/** What a student is told (`dsgd describe algorithm NAME`). Each is one or a few lines without an end of line. */
typedef struct dsgd_story {
    const char *idea;
    const char *rule; /* the update of one step, as formulas */
    const char *sends; /* what is sent and how much, per worker and step; N: bytes of a model */
    const char *waits; /* who waits for whom */
} dsgd_story;

/** What a traffic formula may depend on. */
typedef struct dsgd_scale {
    int n_workers, n_servers;
    size_t n_pieces;
    const double *piece_bytes; /* [n_pieces] */
    int collective; /* dsgd_collective */
} dsgd_scale;

/** Mean over workers and over a whole number of the algorithm's periods. */
typedef struct dsgd_traffic {
    double messages, bytes; /* per worker and step */
} dsgd_traffic;

/** What holds of an algorithm, under some of its options. The conformance suite tests what is declared. */
typedef enum dsgd_law_kind {
    DSGD_LAW_END,
    DSGD_LAW_PLAIN_SGD, /* one worker alone does what its optimizer does */
    DSGD_LAW_ALLREDUCE, /* does what allreduce does, to rounding, with an optimizer that is linear in the gradient */
    DSGD_LAW_KEEPS_MEAN, /* without gradients the mean of the models is kept, once nothing is on its way */
    DSGD_LAW_KEEPS_SUM, /* the like of the sum of the workers' models and the servers' */
    DSGD_LAW_KEEPS_WEIGHT /* push-sum weights, at workers or on their way, always sum to P */
} dsgd_law_kind;

typedef struct dsgd_law {
    dsgd_law_kind kind;
    struct {
        const char *option;
        double value; /* of a number, or the place of a word */
        const char *pick; /* the name, for an option that picks one */
    } with[4]; /* options other than their defaults; the first without a name ends the list */
} dsgd_law;

typedef struct dsgd_algorithm {
    dsgd_about about; /* name, summary, reference (required); params_size, options */
    dsgd_story story;
    /** Optional. Refuses what the option table alone cannot, with a sentence that says what would work. Pure. */
    dsgd_status (*check)(const void *params, int n_workers, dsgd_error *error);
    /** Required. One worker's life. Returns only when dsgd_next_step() says so, or never. */
    void (*work)(dsgd_node *self);
    /** Optional. A second actor beside each worker, which answers while the worker computes. */
    void (*assist)(dsgd_node *self);
    /** Optional. The life of one of n_servers() servers, each on a host of its own behind the workers'. */
    void (*serve)(dsgd_node *self);
    int (*n_servers)(const void *params, int n_workers);
    /** Optional. What is sent, if nobody is late. Pure. */
    dsgd_traffic (*traffic)(const void *params, const dsgd_scale *scale);
    const dsgd_law *laws; /* NULL for none; DSGD_LAW_END ends them */
} dsgd_algorithm;

/* --- steps and gradients ------------------------------------------------------------------------------------------------- */

/**
 * Ends the step under way (waits for the rest of its computation) and begins the next. False: this worker is to stop, and work() has
 * to return.
 */
bool dsgd_next_step(dsgd_node *self);

/** This worker's model x, the same initial values at all workers. */
dsgd_vector *dsgd_model(dsgd_node *self);

/** A vector of zeros that lives as long as the run. */
dsgd_vector *dsgd_vector_new(dsgd_node *self);

/** n zeros that live as long as the run, for what an algorithm counts. */
double *dsgd_numbers_new(dsgd_node *self, size_t n);

/** A second vector that work() and assist() of a worker share. It begins as the model. */
dsgd_vector *dsgd_shared(dsgd_node *self);

/** g <- gradient at x over this step's mini-batch. Starts this step's computation; the pieces of g become ready in its course. */
void dsgd_gradient(dsgd_node *self, dsgd_vector *g, dsgd_vector *x);

/**
 * The like over micro-batches of equal length, one after another: none begins, and none goes on to its backward pass, once the step has
 * computed for more than @p limit_s (INFINITY: no limit). What is dropped counts as zeros in g. Returns how many were computed.
 */
int dsgd_gradient_until(dsgd_node *self, dsgd_vector *g, dsgd_vector *x, int n_micro_batches,
                        double limit_s);

/** What a limit leaves of a step. */
typedef struct dsgd_cut {
    int done; /* micro-batches */
    double compute_s; /* with what was begun in vain */
} dsgd_cut;

/** What dsgd_gradient_until() does in a step that would take @p step_s. Pure. */
dsgd_cut dsgd_cut_step(dsgd_node *self, double step_s, int n_micro_batches, double limit_s);

/** Seconds that the computation of this step takes this worker, without any limit. */
double dsgd_compute_time_s(dsgd_node *self);

/** From now on x waits, piece by piece, for g: its pieces can be used as those of g become ready. */
void dsgd_follow(dsgd_node *self, dsgd_vector *x, dsgd_vector *g);

/** The optimizer's learning rate in this step. */
double dsgd_learning_rate(dsgd_node *self);

/**
 * x <- x + U(g, x, t), the worker's own optimizer at its step t. Does not wait: a piece moves at the moment its gradient is ready,
 * applied to what the piece holds then; verbs that read x wait for that.
 */
void dsgd_local_step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g);

/* --- linear combinations ------------------------------------------------------------------------------------------------- */

/** y <- x. */
void dsgd_copy(dsgd_node *self, dsgd_vector *y, dsgd_vector *x);

/** y <- a y + b x. */
void dsgd_combine(dsgd_node *self, dsgd_vector *y, double a, double b, dsgd_vector *x);

/** x <- x / divisor. */
void dsgd_divide(dsgd_node *self, dsgd_vector *x, double divisor);

/* --- collectives of everyone --------------------------------------------------------------------------------------------- */

/** x <- (1/P) sum over all workers of their x. Waits for all, piece after piece in a fixed order. */
void dsgd_allreduce_mean(dsgd_node *self, dsgd_vector *x);

/** x <- sum over all workers of their x. */
void dsgd_allreduce_sum(dsgd_node *self, dsgd_vector *x);

/** An allreduce under way. */
typedef struct dsgd_request dsgd_request;

/** Starts averaging x as it is now; the worker goes on. */
dsgd_request *dsgd_allreduce_begin(dsgd_node *self, dsgd_vector *x);

/** mean <- the average that @p request started; waits where it is not there yet. The request is used up. */
void dsgd_allreduce_end(dsgd_node *self, dsgd_request *request, dsgd_vector *mean);

/* --- partial collectives: they start without you -------------------------------------------------------------------------- */

typedef enum dsgd_initiator {
    DSGD_FIRST_ARRIVER, /* whoever comes first activates a version */
    DSGD_RANDOM_WORKER, /* one worker per version, the same draw at all workers */
    DSGD_EACH_IN_TURN /* worker (version mod P) */
} dsgd_initiator;

/** A set of address bits: two workers are in one group iff their ranks differ in these bits only. */
typedef uint32_t dsgd_group;

/** A standing collective with a send buffer at each worker (eager-SGD section 4; WAGMA-SGD). P is a power of two. */
typedef struct dsgd_partial_spec {
    dsgd_initiator initiator;
    /** The group of a version, a pure function; NULL: everyone. */
    dsgd_group (*group)(const void *params, int n_workers, long version);
    bool
        draining; /* a contribution leaves the send buffer when it is sampled; else it stays and may be sent again */
    long
        period; /* every period-th step has no version, because the algorithm synchronises there; 0: every step has one */
} dsgd_partial_spec;

typedef struct dsgd_partial dsgd_partial;

/** Version t is the collective of step t. The send buffer begins as a copy of @p initial, or as zeros where that is NULL. */
dsgd_partial *dsgd_partial_new(dsgd_node *self, dsgd_partial_spec spec, dsgd_vector *initial);

/** send buffer <- x. */
void dsgd_partial_publish(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x);

/** x <- send buffer; send buffer <- 0. */
void dsgd_partial_take(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x);

/**
 * Piece after piece: send buffer <- send buffer + g; arrive at this step's version; sum <- the latest completed sum (of this
 * version or a later one). g and sum may be the same vector.
 */
void dsgd_partial_sum(dsgd_node *self, dsgd_partial *partial, dsgd_vector *g, dsgd_vector *sum);

/**
 * Piece after piece: send buffer <- x; arrive at this step's version; then x <- sum / on_time where this x went into the sum, else
 * x <- (sum + x) / late. With on_time 0 it is always the latter.
 */
void dsgd_partial_mix(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x, double on_time,
                      double late);

/* --- neighbours ------------------------------------------------------------------------------------------------------------ */

/** How much of a model goes where. */
typedef enum dsgd_shares {
    DSGD_DOUBLY_STOCHASTIC, /* Metropolis: 1 / (1 + the larger number of neighbours of the two) */
    DSGD_COLUMN_STOCHASTIC /* 1 / (1 + own number of receivers) */
} dsgd_shares;

/** This worker's neighbours in a round of a graph. Belongs to the worker until it is asked for again. */
const dsgd_neighbours *dsgd_neighbours_of(dsgd_node *self, const dsgd_pick *graph, long round,
                                          dsgd_shares shares);

/**
 * x_i <- keep_i x_i + sum of share_j x_j, where each j sends its own: waits for all that send to this worker. The push-sum weight of x,
 * which begins as 1, goes the same way.
 */
void dsgd_gossip(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours);

/** Starts it: x <- keep x, and the shares leave. The worker goes on. */
dsgd_request *dsgd_gossip_begin(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours);

/** Whether what @p request waits for has come. */
bool dsgd_gossip_done(dsgd_node *self, const dsgd_request *request);

/** x <- x + what came, weight included; waits where it is not there yet. The request is used up. */
void dsgd_gossip_end(dsgd_node *self, dsgd_request *request, dsgd_vector *x);

/** z <- x / (push-sum weight of x). */
void dsgd_debias(dsgd_node *self, dsgd_vector *z, dsgd_vector *x);

/* --- pairs ---------------------------------------------------------------------------------------------------------------- */

/**
 * Averages x with @p peer, exactly under message delay: sends s = x; the peer replies with its own y and sets y <- (y + s) / 2; then
 * x <- x + (y - s) / 2. What either model gained in between is kept whole. The peer's assist() must call dsgd_pair_answer().
 */
void dsgd_pair_average(dsgd_node *self, dsgd_vector *x, int peer);

/** Starts it with x as it is; the worker goes on. */
dsgd_request *dsgd_pair_begin(dsgd_node *self, dsgd_vector *x, int peer);
/** Waits for the reply. The request is used up. */
void dsgd_pair_end(dsgd_node *self, dsgd_request *request, dsgd_vector *x);

/** y <- what @p peer hands out: its assist() must call dsgd_pair_give(). */
void dsgd_pair_fetch(dsgd_node *self, dsgd_vector *y, int peer);

/** Waits for one worker's dsgd_pair_average() and answers it with x as it is then. */
void dsgd_pair_answer(dsgd_node *self, dsgd_vector *x);

/** Waits for one worker's dsgd_pair_fetch() and answers it with x as it is then. */
void dsgd_pair_give(dsgd_node *self, dsgd_vector *x);

/* --- servers -------------------------------------------------------------------------------------------------------------- */

/* The servers hold one vector between them, an even part of each exchange at each. */

/** servers' vector <- itself + u. Does not wait. */
void dsgd_server_push(dsgd_node *self, dsgd_vector *u);

/** x <- servers' vector, as it is when the question arrives, after all that this worker pushed before. Waits for it. */
void dsgd_server_fetch(dsgd_node *self, dsgd_vector *x);

/** For serve(): waits for one worker's push or fetch and answers it with this server's part of x. */
void dsgd_serve(dsgd_node *self, dsgd_vector *x);

/* --- control data --------------------------------------------------------------------------------------------------------- */

/** all[P][n] <- everyone's mine[n], by an allreduce of the table. For times and counters that are really exchanged, never learned values. */
void dsgd_allgather(dsgd_node *self, const double *mine, size_t n, double *all);

/* --- choices -------------------------------------------------------------------------------------------------------------- */

/** A random whole number in [0, n): a pure function of seed, worker, step, and how often it was called in this step. */
uint64_t dsgd_random_below(dsgd_node *self, uint64_t n);

/* --- what verbs send -------------------------------------------------------------------------------------------------------- */

/** One allreduce of a vector: messages and bytes per worker. */
dsgd_traffic dsgd_allreduce_traffic(const dsgd_scale *scale);

/** @p times vectors sent whole, piece by piece. */
dsgd_traffic dsgd_vector_traffic(const dsgd_scale *scale, double times);

/** Activation and messages of a version of a partial collective in groups of 2^bits, activated by one worker. */
dsgd_traffic dsgd_partial_traffic(const dsgd_scale *scale, int bits);

/** @p times of it. */
static inline dsgd_traffic dsgd_traffic_times(dsgd_traffic t, double times)
{
    return (dsgd_traffic){t.messages * times, t.bytes * times};
}

static inline dsgd_traffic dsgd_traffic_sum(dsgd_traffic a, dsgd_traffic b)
{
    return (dsgd_traffic){a.messages + b.messages, a.bytes + b.bytes};
}

/* --- sets of address bits --------------------------------------------------------------------------------------------------- */

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

/** Refuses a number of workers that is no power of two, naming the two nearest that are. */
dsgd_status dsgd_check_power_of_two(const char *name, int n_workers, dsgd_error *error);

/* --- algorithms from outside the tree ---------------------------------------------------------------------------------------- */

/**
 * What a shared object exports, under this name: const dsgd_plugin dsgd_plugin_algorithms =
 * {DSGD_PLUGIN_ABI, list}; One built with other headers than the program's is refused.
 */
typedef struct dsgd_plugin {
    uint32_t abi;
    const dsgd_algorithm *const *algorithms; /* NULL-terminated */
} dsgd_plugin;

#define DSGD_PLUGIN_SYMBOL "dsgd_plugin_algorithms"

#endif
