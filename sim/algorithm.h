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

/** One worker, as its algorithm sees it. */
typedef struct dsgd_node {
    int rank; /* [0, n_workers) */
    int n_workers; /* P */
    long step; /* the step under way, from 0; -1 before the first */
    const void *params; /* the algorithm's own, filled from its option table; NULL without one */
} dsgd_node;

/** A vector as long as the model. Looks mutable; assigning, sending and keeping a copy cost O(1). */
typedef struct dsgd_vector dsgd_vector;

typedef struct dsgd_algorithm {
    dsgd_about about; /* name, summary, reference (required); params_size, options */
    /** Optional. Refuses what the option table alone cannot, with a sentence that says what would work. Pure. */
    dsgd_status (*check)(const void *params, int n_workers, dsgd_error *error);
    /** Required. One worker's life. Returns only when dsgd_next_step() says so, or never. */
    void (*work)(dsgd_node *self);
    /** Optional. A second actor beside each worker, which answers while the worker computes. */
    void (*assist)(dsgd_node *self);
} dsgd_algorithm;

/* --- steps and gradients ------------------------------------------------------------------------------------------------- */

/** Ends the step under way (waits for the rest of its computation) and begins the next. False: this worker is to stop. */
bool dsgd_next_step(dsgd_node *self);

/** This worker's model x, the same initial values at all workers. */
dsgd_vector *dsgd_model(dsgd_node *self);

/** A vector of zeros that lives as long as the run. */
dsgd_vector *dsgd_vector_new(dsgd_node *self);

/** g <- gradient at x over the next mini-batch. Starts this step's computation; the pieces of g become ready in its course. */
void dsgd_gradient(dsgd_node *self, dsgd_vector *g, dsgd_vector *x);

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
 * x <- (sum + x) / late.
 */
void dsgd_partial_mix(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x, double on_time,
                      double late);

/* --- pairs ---------------------------------------------------------------------------------------------------------------- */

/**
 * Averages x with @p peer, exactly under message delay: sends s = x; the peer replies with its own y and sets y <- (y + s) / 2; then
 * x <- x + (y - s) / 2. What either model gained in between is kept whole. The peer's assist() must call dsgd_pair_answer().
 */
void dsgd_pair_average(dsgd_node *self, dsgd_vector *x, int peer);

/** Waits for one worker's dsgd_pair_average() and answers it with x as it is then. */
void dsgd_pair_answer(dsgd_node *self, dsgd_vector *x);

/* --- choices -------------------------------------------------------------------------------------------------------------- */

/** A random whole number in [0, n): a pure function of seed, worker, step, and how often it was called in this step. */
uint64_t dsgd_random_below(dsgd_node *self, uint64_t n);

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

/** Grows when this file or base/option.h changes, so that a stale plug-in is refused. */
enum { DSGD_PLUGIN_ABI = 1 };

/** What a shared object exports, under this name: const dsgd_plugin dsgd_plugin_algorithms = {DSGD_PLUGIN_ABI, list}; */
typedef struct dsgd_plugin {
    uint32_t abi;
    const dsgd_algorithm *const *algorithms; /* NULL-terminated */
} dsgd_plugin;

#define DSGD_PLUGIN_SYMBOL "dsgd_plugin_algorithms"

#endif
